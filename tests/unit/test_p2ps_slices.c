/* test_p2ps_slices.c - what one client asks for holds up no other: a turn does a counted amount. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#define NAMES_MAX 5000
#define PARTS     200 /* of each dictionary */
#define PART_SIZE 8192

static int encode(void *self, const struct omm_dictionary_request *request,
                  struct p2ps_dictionary_reading *reading, uint8_t *out, size_t size,
                  size_t *length)
{
    (void)self;
    (void)request;
    assert_true(size >= PART_SIZE);
    memset(out, 0, PART_SIZE);
    *length = PART_SIZE;
    reading->is_last = ++reading->cursor.part == PARTS;
    return MD_OK;
}

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .keeps_images = true,
                                                        .dictionaries = { .encode = encode } });
}

/* ---- requests ---- */

static void a_turn_opens_a_counted_number_of_names(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    batch(c, 10, 0, NAMES_MAX);
    assert_true(watches(pair) <= P2PS_SHARE_ASKS);
    assert_true(p2ps_core_has_work(pair->sink));
    assert_int_equal(p2ps_core_deadline(pair->sink), 0);
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = watches(pair);

        turn(pair);
        assert_true(watches(pair) - before <= P2PS_TURN_ASKS);
        assert_true(watches(pair) > before || !p2ps_core_has_work(pair->sink));
    }
    assert_int_equal(watches(pair), NAMES_MAX);
    assert_int_equal(c->statuses, 1); /* of the batch */
    free(c);
}

/* Something is put for the client; a turn. True: it went out at the end of that turn. */
static bool goes_out(struct crowd *c)
{
    uint32_t before = c->flushes;

    p2ps_client_touch(c->pair->sink, c->id);
    turn(c->pair);
    return c->flushes > before;
}

static void who_has_requests_left_gets_fewer_and_larger_writes(void **state)
{
    struct pair *pair = *state;
    struct crowd *greedy = come(pair);
    struct crowd *modest = come(pair);

    turn(pair);
    batch(greedy, 10, 0, NAMES_MAX);
    assert_false(goes_out(greedy));
    assert_true(goes_out(modest));
    assert_false(goes_out(greedy));
    greedy->is_full = true;
    assert_true(goes_out(greedy));
    greedy->is_full = false;
    assert_false(goes_out(greedy));
    uint32_t before = greedy->flushes;
    pair->now_ns += 2000000;
    turn(pair); /* nothing more came */
    assert_int_equal(greedy->flushes, before + 1);
    assert_false(goes_out(greedy));
    turns_until_done(pair);
    assert_true(goes_out(greedy));
    free(greedy);
    free(modest);
}

static void who_hangs_up_with_output_that_waits_leaves_nothing(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct crowd *next;

    turn(pair);
    batch(c, 10, 0, NAMES_MAX);
    assert_false(goes_out(c));
    uint32_t before = c->flushes;
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    turns_until_done(pair);
    next = come(pair);
    pair->now_ns += 2000000;
    turn(pair);
    assert_int_equal(c->flushes, before);
    assert_true(goes_out(next));
    free(c);
    free(next);
}

static void clients_with_work_left_take_turns(void **state)
{
    struct pair *pair = *state;
    struct crowd *many[3];

    for (int i = 0; i < 3; i++)
        many[i] = come(pair);
    turn(pair);
    for (int i = 0; i < 3; i++)
        batch(many[i], 10, 1000 * i, 600);
    for (unsigned turns = 0; turns < 40; turns++) {
        turn(pair);
        uint32_t least = UINT32_MAX, most = 0;
        for (int i = 0; i < 3; i++) {
            least = streams(many[i]) < least ? streams(many[i]) : least;
            most = streams(many[i]) > most ? streams(many[i]) : most;
        }
        assert_true(most - least <= P2PS_SHARE_ASKS + P2PS_LONG_ASKS);
    }
    turns_until_done(pair);
    assert_int_equal(watches(pair), 1800);
    for (int i = 0; i < 3; i++)
        free(many[i]);
}

static void a_single_request_waits_for_a_share_and_not_for_a_batch(void **state)
{
    struct pair *pair = *state;
    struct crowd *greedy = come(pair);
    struct crowd *modest = come(pair);

    turn(pair);
    batch(greedy, 10, 0, NAMES_MAX);
    turn(pair);
    say(modest, (struct kept){ .stream_id = 5, .name = "MODEST" });
    turn(pair);
    assert_int_equal(streams(modest), 1);
    assert_true(streams(greedy) < NAMES_MAX / 10);
    free(greedy);
    free(modest);
}

static void requests_behind_a_batch_are_done_behind_it(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    batch(c, 10, 0, 500);
    say(c, (struct kept){ .is_close = true, .stream_id = 400 });
    say(c, (struct kept){ .stream_id = 400, .name = "AGAIN" });
    say(c, (struct kept){ .is_close = true, .stream_id = 401 });
    turn(pair);
    assert_int_equal(c->kept_next, 0);
    turns_until_done(pair);
    assert_int_equal(c->kept_next, 3);
    assert_int_equal(streams(c), 499);
    free(c);
}

static void who_hangs_up_in_the_middle_of_a_batch_leaves_nothing(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct crowd *next;

    turn(pair);
    batch(c, 10, 0, NAMES_MAX);
    for (int i = 0; i < 20; i++)
        turn(pair);
    assert_true(watches(pair) > 0 && watches(pair) < NAMES_MAX);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    memset(c->names, 0xee, sizeof(c->names)); /* its input is given back */
    turns_until_done(pair);
    assert_int_equal(watches(pair), 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    next = come(pair);
    turn(pair);
    assert_int_equal(streams(next), 0);
    free(c);
    free(next);
}

/* ---- services and dictionaries ---- */

static void ask_directory(struct crowd *c)
{
    const struct omm_directory_request request = { .stream_id = 2, .filter = OMM_FILTER_INFO };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
}

static void ask_dictionary(struct crowd *c, int32_t stream_id)
{
    const struct omm_dictionary_request request = {
        .stream_id = stream_id,
        .name = rwf_text("RWFFld"),
        .filter = RWF_DICTIONARY_NORMAL,
    };

    p2ps_client_dictionary(c->pair->sink, c->pair->now_ns, c->id, &request);
}

static void a_turn_answers_a_counted_number_of_directories(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    for (unsigned i = 0; i < 1000 && p2ps_client_takes(pair->sink, c->id); i++)
        ask_directory(c);
    assert_in_range(c->directories, 1, P2PS_TURN_ASKS);
    free(c);
}

static void a_dictionary_costs_a_turn_what_it_is_long(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    ask_dictionary(c, 3);
    assert_int_equal(c->parts_all, PARTS);
    assert_false(p2ps_client_takes(pair->sink, c->id));
    free(c);
}

static void a_dictionary_that_finds_no_room_is_given_up(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    c->takes_no_parts = true;
    turn(pair);
    ask_dictionary(c, 3);
    for (unsigned i = 0; i < 95; i++) { /* slowTimeout is 10 s */
        turns_for(pair, 100 * PAIR_MS);
        p2ps_client_writable(pair->sink, pair->now_ns, c->id); /* its socket takes other bytes */
    }
    assert_int_equal(c->statuses, 0);
    assert_true(p2ps_client_has_stream(pair->sink, c->id, 3));
    for (unsigned i = 0; i < 10; i++) {
        turns_for(pair, 100 * PAIR_MS);
        p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    }
    assert_int_equal(c->statuses, 1);
    assert_int_equal(c->stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(c->code, RWF_CODE_NO_RESOURCES);
    assert_false(p2ps_client_has_stream(pair->sink, c->id, 3));
    assert_false(c->closed);
    free(c);
}

static void a_dictionary_longer_than_the_queue_goes_out_as_room_comes(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    c->parts_room = 20;
    turn(pair);
    ask_dictionary(c, 3);
    assert_in_range(c->parts_all, 1, c->parts_room);
    for (unsigned i = 0; i < 200 && c->parts_all < PARTS; i++) {
        pair->now_ns += PAIR_MS;
        turn(pair);
    }
    assert_int_equal(c->parts_all, PARTS);
    assert_false(c->closed);
    ask_dictionary(c, 3); /* the stream is free again */
    turn(pair);
    assert_true(c->parts_all > PARTS);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 3);
    uint32_t before = c->parts_all;
    turn(pair);
    assert_int_equal(c->parts_all, before);
    free(c);
}

static void who_overflowed_is_asked_for_nothing_more(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    p2ps_client_doom(pair->sink, c->id);
    assert_false(p2ps_client_takes(pair->sink, c->id));
    turn(pair);
    assert_true(c->closed);
    free(c);
}

/* ---- a pause of everything ---- */

static void a_turn_takes_a_counted_number_of_streams_up_again(void **state)
{
    enum { ITEMS = 40, STREAMS = 200 };
    static char names[ITEMS][8];
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct omm_login_request login = pair_login_request();

    pair_settle(pair);
    for (int i = 0; i < STREAMS; i++) {
        char *name = names[i % ITEMS];

        snprintf(name, sizeof(names[0]), "I%d", i % ITEMS);
        ask(c, &(struct kept){ .stream_id = 5 + i, .name = name });
        pair_settle(pair);
    }
    pair_pass(pair, 100 * PAIR_MS);
    assert_int_equal(c->puts, STREAMS);
    login.pause = true;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    for (int i = 0; i < ITEMS; i++)
        pair_update(pair, names[i]);
    pair_settle(pair);
    assert_int_equal(c->puts, STREAMS);
    login.pause = false;
    turn(pair);
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    assert_true(c->puts <= STREAMS + P2PS_TURN_ASKS);
    assert_false(p2ps_client_takes(pair->sink, c->id));
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = c->puts;

        turn(pair);
        assert_true(c->puts - before <= P2PS_TURN_ASKS);
    }
    assert_int_equal(c->puts, 2 * STREAMS);
    assert_true(p2ps_client_takes(pair->sink, c->id));
    pair_update(pair, names[7]);
    pair_settle(pair);
    assert_int_equal(c->puts, 2 * STREAMS + STREAMS / ITEMS);
    free(c);
}

/* ---- two p2ps ---- */

static void say_role(struct crowd *c, uint64_t role)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_id = 1,
        .container = RWF_TYPE_MAP,
        .flags = RWF_GENERIC_HAS_KEY,
        .key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("ConsumerConnectionStatus") },
    };
    const struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_ELEMENT_LIST };
    const struct rwf_map_entry entry = { .action = RWF_MAP_ADD,
                                         .key = rwf_text("WarmStandbyInfo") };
    uint8_t bytes[256];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
    rwf_map_entry_start(&enc, &entry);
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, "WarmStandbyMode", role);
    rwf_element_list_finish(&enc);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    struct rwf_bytes whole = rwf_encoder_bytes(&enc);
    assert_int_equal(rwf_msg_decode(whole, &msg), RWF_OK);
    p2ps_client_generic(c->pair->sink, c->pair->now_ns, c->id, &msg, whole);
}

static void a_turn_tells_a_counted_number_of_streams_that_they_are_followed(void **state)
{
    enum { ITEMS = 40, STREAMS = 200 };
    static char names[ITEMS][8];
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    pair_settle(pair);
    for (int i = 0; i < STREAMS; i++) {
        char *name = names[i % ITEMS];

        snprintf(name, sizeof(names[0]), "I%d", i % ITEMS);
        ask(c, &(struct kept){ .stream_id = 5 + i, .name = name });
        pair_settle(pair);
    }
    pair_pass(pair, 100 * PAIR_MS);
    say_role(c, OMM_STANDBY_STANDBY);
    turns_until_done(pair);
    for (int i = 0; i < ITEMS; i++)
        pair_update(pair, names[i]);
    pair_settle(pair);
    assert_int_equal(c->puts, STREAMS); /* no update */
    turn(pair);
    say_role(c, OMM_STANDBY_ACTIVE);
    assert_true(c->puts <= STREAMS + P2PS_TURN_ASKS);
    assert_false(p2ps_client_takes(pair->sink, c->id));
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = c->puts;

        turn(pair);
        assert_true(c->puts - before <= P2PS_TURN_ASKS);
    }
    assert_int_equal(c->puts, 2 * STREAMS);
    assert_true(p2ps_client_takes(pair->sink, c->id));
    free(c);
}

/* No update comes before the image that it is later than. */
static void a_stream_that_missed_something_gets_its_image_first(void **state)
{
    enum { ITEMS = 40 };
    static char names[ITEMS][8];
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct omm_login_request login = pair_login_request();

    pair_settle(pair);
    for (int i = 0; i < ITEMS; i++) {
        snprintf(names[i], sizeof(names[i]), "I%d", i);
        ask(c, &(struct kept){ .stream_id = 5 + i, .name = names[i] });
        pair_settle(pair);
    }
    pair_pass(pair, 100 * PAIR_MS);
    login.pause = true;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    for (int i = 0; i < ITEMS; i++)
        pair_update(pair, names[i]);
    pair_settle(pair);
    uint32_t before = c->puts;
    login.pause = false;
    turn(pair);
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    uint32_t resumed = c->puts - before;
    assert_in_range(resumed, 1, ITEMS - 1);
    for (int i = 0; i < ITEMS; i++)
        pair_update(pair, names[i]);
    srcdist_core_settle(pair->source, pair->now_ns);
    pair_move(pair, &pair->down, 1, false);
    assert_int_equal(c->puts - before, 2 * resumed); /* an update for those alone */
    turns_until_done(pair);
    assert_int_equal(c->puts - before, ITEMS + resumed);
    free(c);
}

/* ---- streams that are let go ---- */

static void a_turn_lets_a_counted_number_of_streams_go(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct crowd *other = come(pair);
    unsigned turns = 0;

    turn(pair);
    batch(c, 10, 0, NAMES_MAX);
    turns_until_done(pair);
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_now, 2);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_now, 1);
    assert_true(watches(pair) >= NAMES_MAX - P2PS_TURN_WATCHES);
    for (; watches(pair) > 0; turns++) {
        uint32_t before = watches(pair);

        if (turns == 2)
            say(other, (struct kept){ .stream_id = 5, .name = "N4999" });
        turn(pair);
        assert_true(before - watches(pair) <= P2PS_TURN_WATCHES);
        if (turns > 2 && watches(pair) == 1)
            break;
    }
    assert_true(turns >= NAMES_MAX / P2PS_TURN_WATCHES - 1);
    assert_int_equal(streams(other), 1);
    free(c);
    free(other);
}

static void nothing_goes_to_a_client_that_is_being_let_go(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    pair_settle(pair);
    for (int i = 0; i < 40; i++) {
        static char names[40][8];

        snprintf(names[i], sizeof(names[i]), "I%d", i);
        ask(c, &(struct kept){ .stream_id = 5 + i, .name = names[i] });
        pair_settle(pair);
    }
    pair_pass(pair, 100 * PAIR_MS);
    assert_int_equal(c->puts, 40);
    batch(c, 1000, 0, 2 * P2PS_TURN_WATCHES);
    turns_until_done(pair);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 1); /* logs out */
    assert_true(watches(pair) > 0);
    uint32_t puts = c->puts, statuses = c->statuses;
    for (int i = 0; i < 40; i++) {
        char name[8];

        snprintf(name, sizeof(name), "I%d", i);
        pair_update(pair, name);
    }
    pair_provider_goes(pair); /* a status for each item that is left */
    srcdist_core_settle(pair->source, pair->now_ns);
    pair_move(pair, &pair->down, 1, false);
    assert_int_equal(c->puts, puts);
    assert_int_equal(c->statuses, statuses);
    turns_until_done(pair);
    assert_int_equal(watches(pair), 0);
    free(c);
}

static void room_that_comes_soon_is_worth_another_try(void **state)
{
    const struct p2ps_item_limits limits = { .aggregate = NAMES_MAX };
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct crowd *again = come(pair);

    p2ps_core_item_limits_set(pair->sink, &limits);
    turn(pair);
    batch(c, 10, 0, NAMES_MAX);
    turns_until_done(pair);
    ask(again, &(struct kept){ .stream_id = 5, .name = "NEW" });
    assert_int_equal(again->stream_state, RWF_STREAM_CLOSED);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    free(c);
    c = come(pair);
    for (int i = 0; i < 1000 && p2ps_core_has_work(pair->sink); i++) {
        char name[16];

        snprintf(name, sizeof(name), "MORE%d", i);
        c->stream_state = RWF_STREAM_OPEN;
        ask(c, &(struct kept){ .stream_id = 100 + i, .name = name });
        assert_int_not_equal(c->stream_state, RWF_STREAM_CLOSED);
        if (c->stream_state == RWF_STREAM_CLOSED_RECOVER)
            break;
    }
    assert_int_equal(c->stream_state, RWF_STREAM_CLOSED_RECOVER);
    turns_until_done(pair);
    ask(c, &(struct kept){ .stream_id = 5000, .name = "AT LAST" });
    assert_int_equal(p2ps_client_has_stream(pair->sink, c->id, 5000), true);
    free(c);
    free(again);
}

static void a_login_that_waits_for_its_turn_is_not_late(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = connect_from(pair, "10.1.1.1:5");

    p2ps_work_wait(pair->sink, c->id);
    for (int i = 0; i < 70; i++) { /* loginTimeout is 60 s */
        pair->now_ns += PAIR_SEC;
        p2ps_core_tick(pair->sink, pair->now_ns, 0);
    }
    assert_false(c->closed);
    turns_until_done(pair); /* its turn came, and it had nothing to say */
    pair->now_ns += PAIR_SEC;
    p2ps_core_tick(pair->sink, pair->now_ns, 0);
    assert_true(c->closed);
    free(c);
}

/* ---- a reload of the rules ---- */

static void a_turn_asks_the_authority_a_counted_number_of_questions(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct crowd *other = come(pair);

    turn(pair);
    batch(c, 10, 0, 1000);
    batch(other, 10, 500, 1000);
    turns_until_done(pair);
    pair->authority_asked = 0;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    assert_true(pair->authority_asked <= P2PS_TURN_CHECKS);
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = pair->authority_asked;

        turn(pair);
        assert_true(pair->authority_asked - before <= P2PS_TURN_CHECKS);
    }
    assert_int_equal(pair->authority_asked, 2000);
    free(c);
    free(other);
}

/* Each turn brings one, and a walk over the clients lasts longer than a turn. */
static void notices_without_end_keep_nobody_from_being_asked_for(void **state)
{
    enum { MANY = 3 };
    struct pair *pair = *state;
    struct crowd *many[MANY];
    char user[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(user, sizeof(user), "u%d", i);
        many[i] = come_as(pair, "10.1.0.1", user);
        turn(pair);
    }
    uint64_t before = p2ps_core_stats(pair->sink)->login_rejected;
    pair->authority_rules = 2 * P2PS_TURN_CHECKS * P2PS_ASK_RULES; /* a turn asks once */
    pair->authority_ends_user = user;
    for (int i = 0; i < 4 * MANY; i++) {
        pair->authority_news = ENTITLE_NEWS_LOGINS;
        p2ps_core_answers(pair->sink, pair->now_ns);
        turn(pair);
    }
    assert_int_equal(p2ps_core_stats(pair->sink)->login_rejected, before + 1);
    turns_until_done(pair);
    for (int i = 0; i < MANY; i++)
        free(many[i]);
}

/* Fifty thousand lines of an access file that fit nobody else. */
static void questions_that_cost_more_leave_a_turn_fewer_of_them(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    pair->authority_rules = 50000;
    batch(c, 10, 0, 300);
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = pair->authority_asked;

        turn(pair);
        assert_true(pair->authority_asked - before <= 1);
    }
    assert_int_equal(streams(c), 300);
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = pair->authority_asked;

        turn(pair);
        assert_true(pair->authority_asked - before <= 1);
    }
    free(c);
}

static void a_reload_reaches_streams_that_change_places_meanwhile(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);
    struct crowd *other = come(pair);

    turn(pair);
    batch(c, 10, 0, 600);
    batch(other, 10, 0, 600);
    turns_until_done(pair);
    pair->authority_denies_item = "N599";
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    for (int i = 0; i < 3; i++) {
        ask(c, &(struct kept){ .is_close = true, .stream_id = 11 + i });
        turn(pair);
    }
    turns_until_done(pair);
    assert_int_equal(streams(c), 596);
    assert_int_equal(streams(other), 599);
    free(c);
    free(other);
}

/* ---- permission data that change ---- */

/* One item on streams 10 and up of the client. */
static void watch_many(struct crowd *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct omm_item_request request = pair_request(10 + (int32_t)i, "BIG");

        p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, &request);
    }
    pair_settle(c->pair);
    pair_pass(c->pair, PAIR_SEC);
}

/* The number of questions that other permission data of so many watches take; none comes twice. */
static uint32_t questions_of_a_change(struct pair *pair, struct crowd *c, uint32_t watchers)
{
    watch_many(c, watchers);
    assert_int_equal(streams(c), watchers);
    pair->provider.perm_data = "B";
    pair->authority_asked = 0;
    c->puts = c->statuses = 0;
    pair_say_image(&pair->provider, pair_item(pair, "BIG"), false);
    srcdist_core_settle(pair->source, pair->now_ns);
    pair_move(pair, &pair->down, pair_session(pair), false);
    p2ps_core_tick(pair->sink, pair->now_ns, 1);
    assert_true(pair->authority_asked > 0);
    assert_true(pair->authority_asked <= P2PS_LOCK_WATCHES);
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t before = pair->authority_asked;

        turn(pair);
        assert_true(pair->authority_asked - before <= P2PS_TURN_CHECKS);
    }
    return pair->authority_asked;
}

static void new_permission_data_of_an_item_with_many_watches_cost_a_question_each(void **state)
{
    enum { MANY = 10000 };
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    pair_settle(pair);
    pair->provider.perm_data = "A";
    assert_int_equal(questions_of_a_change(pair, c, MANY), MANY);
    assert_int_equal(streams(c), MANY);
    assert_int_equal(c->puts, MANY); /* each has the image once */
    assert_null(p2ps_core_check(pair->sink));
    free(c);
}

static void all_watches_are_denied_by_new_permission_data_in_slices(void **state)
{
    enum { MANY = 3000 };
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    pair_settle(pair);
    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    assert_int_equal(questions_of_a_change(pair, c, MANY), MANY);
    assert_int_equal(streams(c), 0);
    assert_int_equal(c->puts, 0); /* nobody has the image */
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            new_permission_data_of_an_item_with_many_watches_cost_a_question_each, setup,
            pair_teardown),
        cmocka_unit_test_setup_teardown(all_watches_are_denied_by_new_permission_data_in_slices,
                                        setup, pair_teardown),
        cmocka_unit_test_setup_teardown(room_that_comes_soon_is_worth_another_try, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(
            a_turn_tells_a_counted_number_of_streams_that_they_are_followed, setup, pair_teardown),
        cmocka_unit_test_setup_teardown(a_dictionary_that_finds_no_room_is_given_up, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_login_that_waits_for_its_turn_is_not_late, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_turn_answers_a_counted_number_of_directories, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_dictionary_costs_a_turn_what_it_is_long, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_dictionary_longer_than_the_queue_goes_out_as_room_comes,
                                        setup, pair_teardown),
        cmocka_unit_test_setup_teardown(who_overflowed_is_asked_for_nothing_more, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_turn_takes_a_counted_number_of_streams_up_again, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_stream_that_missed_something_gets_its_image_first, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_turn_opens_a_counted_number_of_names, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(who_has_requests_left_gets_fewer_and_larger_writes, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(who_hangs_up_with_output_that_waits_leaves_nothing, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(clients_with_work_left_take_turns, setup, pair_teardown),
        cmocka_unit_test_setup_teardown(a_single_request_waits_for_a_share_and_not_for_a_batch,
                                        setup, pair_teardown),
        cmocka_unit_test_setup_teardown(requests_behind_a_batch_are_done_behind_it, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(who_hangs_up_in_the_middle_of_a_batch_leaves_nothing, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_turn_lets_a_counted_number_of_streams_go, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(nothing_goes_to_a_client_that_is_being_let_go, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_turn_asks_the_authority_a_counted_number_of_questions,
                                        setup, pair_teardown),
        cmocka_unit_test_setup_teardown(notices_without_end_keep_nobody_from_being_asked_for, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(questions_that_cost_more_leave_a_turn_fewer_of_them, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_reload_reaches_streams_that_change_places_meanwhile,
                                        setup, pair_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
