/* test_p2ps_pace.c - rates that consumers choose by the QoS of their request. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "base/prng.h"
#include "p2ps/core/places.h"
#include "rates/rates.h"

#define EACH P2PS_PACES_MAX /* no rate: each update */

enum {
    JIT,
    FAST, /* 100 ms */
    SLOW, /* 1 s */
};

static struct rates *exempt;

static struct p2ps_core_config paced(void)
{
    return (struct p2ps_core_config){
        .keeps_images = true,
        .owed_fill_percent = 50,
        .paces = { { .rate = RWF_RATE_JIT_CONFLATED },
                   { .rate = RWF_RATE_TIME_CONFLATED, .interval_ms = 100 },
                   { .rate = RWF_RATE_TIME_CONFLATED, .interval_ms = 1000 } },
        .pace_count = 3,
        .exempt = exempt,
    };
}

static int setup(void **state)
{
    return pair_setup(state, paced());
}

static int setup_without_cache(void **state)
{
    struct p2ps_core_config config = paced();

    config.keeps_images = false;
    return pair_setup(state, config);
}

static int setup_without_rates(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .keeps_images = true });
}

static int setup_with_small_images(void **state)
{
    struct p2ps_core_config config = paced();

    config.image_bytes_max = 600;
    return pair_setup(state, config);
}

static int setup_short_of_memory(void **state)
{
    struct p2ps_core_config config = paced();

    config.pending_bytes_max = 250; /* room for one */
    return pair_setup(state, config);
}

static int make_exempt(void **state)
{
    (void)state;
    assert_int_equal(rates_create("", 0, NULL, NULL, NULL, &exempt), MD_OK);
    assert_int_equal(rates_exempt(exempt, "2 6 7 9 11", "6", NULL, NULL, NULL), MD_OK);
    return 0;
}

static int free_exempt(void **state)
{
    (void)state;
    rates_destroy(exempt);
    return 0;
}

static const struct p2ps_core_stats *stats(const struct pair *pair)
{
    return p2ps_core_stats(pair->sink);
}

static struct rwf_qos qos_of(unsigned rate)
{
    static const struct rwf_qos list[] = {
        [JIT] = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_JIT_CONFLATED },
        [FAST] = { .timeliness = RWF_TIMELINESS_REALTIME,
                   .rate = RWF_RATE_TIME_CONFLATED,
                   .rate_info = 100 },
        [SLOW] = { .timeliness = RWF_TIMELINESS_REALTIME,
                   .rate = RWF_RATE_TIME_CONFLATED,
                   .rate_info = 1000 },
        [EACH] = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
    };

    return list[rate];
}

static struct omm_item_request request_at(int32_t stream_id, const char *name, unsigned rate)
{
    struct omm_item_request request = pair_request(stream_id, name);

    request.has_qos = true;
    request.qos = qos_of(rate);
    return request;
}

static void open_at(struct pair_client *c, int32_t stream_id, const char *name, unsigned rate)
{
    struct omm_item_request request = request_at(stream_id, name, rate);

    pair_ask_item(c, &request);
}

/* An update of that type and these flags; field 6 with the counter, if it is a trade by its field.
 */
static void say(struct pair *pair, const char *name, uint8_t type, uint16_t flags, bool has_field_6)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .flags = flags,
                           .domain = it->domain,
                           .stream_id = it->stream_id,
                           .update_type = type,
                           .container = RWF_TYPE_FIELD_LIST };

    it->counter++;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, PAIR_FIELD, it->counter);
    if (has_field_6)
        rwf_field_add_uint(&enc, 6, it->counter);
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    pair_say(&pair->provider, &enc);
}

static void updates(struct pair *pair, const char *name, int count)
{
    while (count-- > 0) {
        pair_update(pair, name);
        pair_settle(pair);
    }
}

static void assert_qos(const struct rwf_qos *qos, unsigned rate)
{
    struct rwf_qos expected = qos_of(rate);

    assert_int_equal(qos->timeliness, expected.timeliness);
    assert_int_equal(qos->rate, expected.rate);
    assert_int_equal(qos->rate_info, expected.rate_info);
}

static void ask_directory(struct pair_client *c)
{
    const struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

/* ---- what is offered, and what a request gets ---- */

static void nothing_is_offered_that_is_not_configured(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    assert_int_equal(c->offered_count, 0);
    assert_false(c->offers_range);
    open_at(c, 5, "IBM.N", FAST);
    assert_string_equal(pair_heard(c, 5), "X");
    open_at(c, 6, "IBM.N", EACH);
    updates(pair, "IBM.N", 3);
    assert_string_equal(pair_heard(c, 6), "IUUU");
}

static void the_directory_lists_the_rates_behind_what_the_provider_offers(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    assert_int_equal(c->offered_count, 4);
    assert_qos(&c->offered[0], EACH);
    assert_qos(&c->offered[1], JIT);
    assert_qos(&c->offered[2], FAST);
    assert_qos(&c->offered[3], SLOW);
    assert_true(c->offers_range);
}

static void a_request_without_a_quality_gets_each_update(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    assert_qos(&pair_stream(c, 5)->qos, EACH);
    updates(pair, "IBM.N", 3);
    assert_string_equal(pair_heard(c, 5), "IUUU");
    assert_int_equal(stats(pair)->updates_merged, 0);
}

static void a_request_for_a_rate_gets_one_update_in_the_interval(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", FAST);
    assert_qos(&pair_stream(c, 5)->qos, FAST);
    updates(pair, "IBM.N", 10);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(stats(pair)->pending_updates_now, 1);
    assert_true(stats(pair)->pending_bytes_now > 0);
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair_stream(c, 5)->counter, 110);
    assert_int_equal(pair_stream(c, 5)->conf_count, 0);
    assert_int_equal(stats(pair)->updates_merged, 9);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IU");
}

static void a_range_gets_the_best_in_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = request_at(5, "IBM.N", EACH);

    request.has_worst_qos = true;
    request.worst_qos = qos_of(SLOW);
    pair_ask_item(c, &request);
    assert_qos(&pair_stream(c, 5)->qos, EACH);
    request.stream_id = 6;
    request.qos = qos_of(FAST);
    request.qos.rate_info = 50;
    pair_ask_item(c, &request);
    assert_qos(&pair_stream(c, 6)->qos, FAST);
    request.stream_id = 7;
    request.qos.rate_info = 101;
    pair_ask_item(c, &request);
    assert_qos(&pair_stream(c, 7)->qos, SLOW);
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 1020 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUU");
    assert_string_equal(pair_heard(c, 6), "IU");
    assert_string_equal(pair_heard(c, 7), "IU");
    assert_int_equal(pair->provider.requests, 1); /* all of them are one item of the source */
}

static void a_rate_that_is_not_listed_is_refused_and_the_others_named(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = request_at(5, "IBM.N", FAST);

    request.qos.rate_info = 250;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_USAGE_ERROR);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
    assert_non_null(strstr(pair_stream(c, 5)->text, "REALTIME/TICK_BY_TICK"));
    assert_non_null(strstr(pair_stream(c, 5)->text, "TIME_CONFLATED:1000"));
    assert_int_equal(pair->provider.requests, 0);
}

static void a_user_of_conflated_data_sees_nothing_else(void **state)
{
    struct pair *pair = *state;

    pair->authority_qualities = ENTITLE_QUALITY_CONFLATED;
    struct pair_client *c = pair_client(pair, 0);
    ask_directory(c);
    assert_int_equal(c->offered_count, 3);
    assert_qos(&c->offered[0], JIT);
    pair_open(c, 5, "IBM.N"); /* the best of what it may have */
    assert_qos(&pair_stream(c, 5)->qos, JIT);
    open_at(c, 6, "IBM.N", EACH);
    assert_string_equal(pair_heard(c, 6), "X");
    assert_int_equal(pair_stream(c, 6)->code, RWF_CODE_NOT_ENTITLED);
    open_at(c, 7, "IBM.N", FAST);
    open_at(c, 7, "IBM.N", EACH);
    assert_string_equal(pair_heard(c, 7), "IX");
    pair_provider_goes(pair);
    pair->provider.names_no_domains = true; /* so the directory says all of it again */
    c->offered_count = 0;
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_int_equal(c->offered_count, 3);
}

static void a_user_of_delayed_data_gets_none_in_real_time(void **state)
{
    struct pair *pair = *state;

    pair->authority_qualities = ENTITLE_QUALITY_DELAYED;
    struct pair_client *c = pair_client(pair, 0);
    ask_directory(c);
    assert_int_equal(c->offered_count, 0);
    pair_open(c, 5, "IBM.N");
    open_at(c, 6, "IBM.N", SLOW);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_string_equal(pair_heard(c, 6), "X");
    assert_int_equal(pair_stream(c, 6)->code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(pair->provider.requests, 0);
}

/* ---- who shares what ---- */

static void each_rate_of_an_item_has_its_own_pending_update(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    open_at(a, 6, "IBM.N", FAST);
    open_at(b, 5, "IBM.N", SLOW);
    for (int i = 0; i < 50; i++) {
        updates(pair, "IBM.N", 1);
        pair_pass(pair, 20 * PAIR_MS);
    }
    assert_in_range(pair_stream(a, 6)->count, 9, 12);
    assert_in_range(pair_stream(b, 5)->count, 2, 3);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair_stream(a, 5)->count, 51);
    assert_int_equal(pair_stream(a, 5)->counter, 150);
    assert_int_equal(pair_stream(a, 6)->counter, 150);
    assert_int_equal(pair_stream(b, 5)->counter, 150);
}

static void watches_of_one_rate_share_one_merged_update(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    open_at(a, 5, "IBM.N", FAST);
    open_at(b, 5, "IBM.N", FAST);
    updates(pair, "IBM.N", 5);
    uint32_t made = pair_makes;
    pair_pass(pair, 120 * PAIR_MS);
    assert_int_equal(pair_makes - made, 1);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 5), "IU");
    assert_int_equal(stats(pair)->updates_merged, 4);
}

static void only_those_that_ask_are_told_of_how_many_an_update_is(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = request_at(5, "IBM.N", FAST);

    request.conf_info_in_updates = true;
    pair_ask_item(c, &request);
    open_at(c, 6, "IBM.N", FAST);
    updates(pair, "IBM.N", 7);
    pair_pass(pair, 120 * PAIR_MS);
    assert_int_equal(pair_stream(c, 5)->conf_count, 7);
    assert_int_equal(pair_stream(c, 6)->conf_count, 0);
}

static void items_have_their_turns_at_different_times_of_the_interval(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    uint64_t most = 0;
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        open_at(c, 5 + i, name, SLOW);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        updates(pair, name, 1);
    }
    for (int i = 0; i < 52; i++) {
        uint64_t before = stats(pair)->updates_out;

        pair_pass(pair, 20 * PAIR_MS);
        if (stats(pair)->updates_out - before > most)
            most = stats(pair)->updates_out - before;
    }
    assert_int_equal(stats(pair)->updates_out, 40);
    assert_true(most <= 8);
}

/* The shell flushes every 20 ms: a few large writes cost less than many small ones. */
static void with_flushes_of_a_timer_they_have_them_in_lots(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    unsigned flushes = 0;
    char name[16];

    p2ps_core_pace_waits(pair->sink, true);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        open_at(c, 5 + i, name, FAST);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++) {
            snprintf(name, sizeof(name), "R%d", i);
            updates(pair, name, 2);
        }
        for (int i = 0; i < 6; i++) {
            uint64_t before = stats(pair)->updates_out;

            pair_pass(pair, 20 * PAIR_MS);
            p2ps_core_pace(pair->sink, pair->now_ns);
            pair_settle(pair);
            flushes += stats(pair)->updates_out > before;
        }
    }
    assert_int_equal(stats(pair)->updates_out, 3 * 40);
    assert_int_equal(flushes, 3);
    p2ps_core_pace_waits(pair->sink, false);
}

/* Two updates of each of the items, and flushes each 20 ms for as long as their interval is: the
 * most updates that go out in one of them, and how many of them have any. */
static uint64_t most_of_a_flush(struct pair *pair, int items, unsigned steps, unsigned *flushes)
{
    uint64_t first = stats(pair)->updates_out;
    uint64_t most = 0;
    char name[16];

    *flushes = 0;
    for (int i = 0; i < items; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        updates(pair, name, 2);
    }
    for (unsigned i = 0; i < steps; i++) {
        uint64_t before = stats(pair)->updates_out;

        pair_pass(pair, 20 * PAIR_MS);
        p2ps_core_pace(pair->sink, pair->now_ns);
        pair_settle(pair);
        most = stats(pair)->updates_out - before > most ? stats(pair)->updates_out - before : most;
        *flushes += stats(pair)->updates_out > before;
    }
    assert_int_equal(stats(pair)->updates_out - first, items);
    return most;
}

static void open_many(struct pair_client *c, int items, unsigned rate)
{
    char name[16];

    p2ps_core_pace_waits(c->pair->sink, true);
    for (int i = 0; i < items; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        open_at(c, 5 + i, name, rate);
    }
}

/* Not all of the interval at once: that has room in no queue that is measured by the rate. */
static void a_lot_is_a_tenth_of_a_second_of_the_interval(void **state)
{
    struct pair *pair = *state;
    unsigned flushes;

    open_many(pair_client(pair, 0), 60, SLOW);
    assert_in_range(most_of_a_flush(pair, 60, 51, &flushes), 3, 20);
    assert_in_range(flushes, 8, 10);
    p2ps_core_pace_waits(pair->sink, false);
}

/* With outputRate there is room for a share of a second of it. */
static void for_a_client_with_a_ceiling_there_are_no_lots(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    unsigned flushes;

    c->has_ceiling = true;
    open_many(c, 60, FAST);
    assert_in_range(most_of_a_flush(pair, 60, 6, &flushes), 5, 30);
    assert_in_range(flushes, 5, 6);
    c->has_ceiling = false; /* a reload */
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(most_of_a_flush(pair, 60, 6, &flushes), 60);
    c->has_ceiling = true;
    pair_pass(pair, PAIR_SEC);
    assert_in_range(most_of_a_flush(pair, 60, 6, &flushes), 5, 30);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_settle(pair);
    assert_int_equal(pair->sink->ceilings_now, 0);
    p2ps_core_pace_waits(pair->sink, false);
}

static uint64_t next_turn(const struct p2ps_core *core, uint32_t item, uint8_t pace)
{
    const struct place place = { .item = item, .pace = pace };

    return p2ps_phase_next(core, &place);
}

/* Each worker has its own random number: they do not all send in the same moment. */
static void workers_and_rates_begin_their_intervals_at_different_times(void **state)
{
    struct p2ps_core *core = ((struct pair *)*state)->sink;
    uint64_t times[4];

    p2ps_core_pace_waits(core, true);
    for (int i = 0; i < 4; i++) {
        core->idmap_key[0] = (uint64_t)(i + 1) << 40;
        times[i] = next_turn(core, 0, FAST + 1);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(times[i], times[k]);
        assert_int_not_equal(times[i], next_turn(core, 0, SLOW + 1));
        assert_in_range(times[i], core->now_ns + 1, core->now_ns + 100 * PAIR_MS);
    }
    p2ps_core_pace_waits(core, false);
}

/* Items keep their times, whatever is opened: else many of them would send twice. */
static void more_lots_are_halves_of_those_before(void **state)
{
    struct p2ps_core *core = ((struct pair *)*state)->sink;
    uint64_t half_ns = 50 * PAIR_MS, moved = 0, before[64];

    p2ps_core_pace_waits(core, true);
    for (unsigned i = 0; i < P2PS_LOT_PLACES; i++) /* of another rate */
        p2ps_phase_add(core, SLOW + 1);
    for (uint32_t item = 0; item < 64; item++) {
        before[item] = next_turn(core, item, FAST + 1);
        assert_int_equal(before[item], before[0]);
    }
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < P2PS_LOT_PLACES - (round == 0); i++)
            p2ps_phase_add(core, FAST + 1);
        for (uint32_t item = 0; item < 64 && round == 0; item++)
            assert_int_equal(next_turn(core, item, FAST + 1), before[0]);
    }
    for (uint32_t item = 0; item < 64; item++) {
        uint64_t after = next_turn(core, item, FAST + 1);

        moved += after != before[item];
        assert_true(after == before[item] || after == before[item] + half_ns ||
                    after + half_ns == before[item]);
    }
    assert_in_range(moved, 16, 48);
    p2ps_core_pace_waits(core, false);
}

static void jit_merges_what_comes_in_one_turn(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", JIT);
    assert_qos(&pair_stream(c, 5)->qos, JIT);
    for (int i = 0; i < 5; i++)
        pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair_stream(c, 5)->counter, 105);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUU");
}

/* ---- what is not merged ---- */

static void a_trade_passes_at_once_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    say(pair, "IBM.N", RWF_UPDATE_TRADE, 0, false);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUU");
    assert_int_equal(pair_stream(c, 5)->counter, 103);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    say(pair, "IBM.N", 0, 0, true); /* by its field */
    say(pair, "IBM.N", 0, RWF_UPDATE_DO_NOT_CONFLATE, false);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUUUU");
}

static void an_update_with_permission_data_is_not_merged(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    pair->provider.perm_data = "q";
    pair->authority_denies_data = "q";
    updates(pair, "IBM.N", 1);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_int_equal(stats(pair)->updates_withheld, 1);
}

static void a_status_comes_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    0);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU!");
    updates(pair, "IBM.N", 2);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU!UX");
    assert_int_equal(pair_stream(c, 5)->counter, 104);
    assert_int_equal(stats(pair)->pending_bytes_now, 0);
}

static void an_unasked_refresh_comes_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    pair_item(pair, "IBM.N")->counter++;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUi");
    assert_int_equal(pair_stream(c, 5)->counter, 103);
    assert_qos(&pair_stream(c, 5)->qos, SLOW);
}

static void a_group_status_comes_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    c->room = 1;
    c->room_max = 10;
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
}

static void a_provider_that_goes_leaves_nothing_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    pair_provider_goes(pair);
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IU!");
    assert_int_equal(stats(pair)->pending_updates_now, 0);
}

static void a_gap_is_told_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    pair->lose_down = true;
    updates(pair, "IBM.N", 1);
    pair->lose_down = false;
    updates(pair, "IBM.N", 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IU!i");
    assert_int_equal(pair_stream(c, 5)->counter, 104);
    assert_qos(&pair_stream(c, 5)->qos, SLOW);
}

/* ---- who comes and goes ---- */

static void who_joins_has_what_is_pending_in_its_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    open_at(a, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 3);
    open_at(b, 5, "IBM.N", SLOW);
    assert_int_equal(pair_stream(b, 5)->counter, 103);
    assert_string_equal(pair_heard(a, 5), "I");
    updates(pair, "IBM.N", 1); /* what is pending goes out, to those that do not have it */
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(pair_stream(a, 5)->counter, 103);
    assert_string_equal(pair_heard(b, 5), "I");
    pair_pass(pair, 1020 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IUU");
    assert_string_equal(pair_heard(b, 5), "IU");
    assert_int_equal(pair_stream(a, 5)->counter, 104);
    assert_int_equal(pair_stream(b, 5)->counter, 104);
}

static void who_joins_by_an_image_of_the_source_sends_the_others_on_first(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    open_at(a, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 3);
    open_at(b, 5, "IBM.N", SLOW);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 5), "I");
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 1020 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IUU");
    assert_string_equal(pair_heard(b, 5), "IU");
}

static void a_stream_that_is_closed_takes_what_was_pending_with_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    pair_open(c, 6, "IBM.N");
    updates(pair, "IBM.N", 2);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_settle(pair);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    assert_int_equal(stats(pair)->pending_bytes_now, 0);
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_string_equal(pair_heard(c, 6), "IUU");
}

static void a_client_that_hangs_up_takes_its_rate_along(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    open_at(a, 5, "IBM.N", SLOW);
    open_at(b, 5, "IBM.N", FAST);
    updates(pair, "IBM.N", 2);
    p2ps_client_gone(pair->sink, pair->now_ns, a->id);
    pair_pass(pair, 200 * PAIR_MS);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    assert_string_equal(pair_heard(b, 5), "IU");
}

static void a_reissue_with_another_rate_gets_an_image_at_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", SLOW);
    updates(pair, "IBM.N", 2);
    open_at(c, 5, "IBM.N", FAST);
    assert_string_equal(pair_heard(c, 5), "II");
    assert_qos(&pair_stream(c, 5)->qos, FAST);
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IIU");
    open_at(c, 5, "IBM.N", EACH);
    assert_qos(&pair_stream(c, 5)->qos, EACH);
    updates(pair, "IBM.N", 2);
    assert_string_equal(pair_heard(c, 5), "IIUIUU");
    assert_int_equal(pair->provider.requests, 1);
}

static void a_reissue_that_wants_no_image_gets_one_if_its_rate_changes(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = request_at(5, "IBM.N", FAST);

    open_at(c, 5, "IBM.N", SLOW);
    request.no_refresh = true;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_qos(&pair_stream(c, 5)->qos, FAST);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "Ii");
}

static void a_reissue_without_a_quality_keeps_the_rate(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = request_at(5, "IBM.N", SLOW);

    open_at(c, 5, "IBM.N", SLOW);
    pair_open(c, 5, "IBM.N");
    assert_qos(&pair_stream(c, 5)->qos, SLOW);
    request.qos.rate_info = 700;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "IIX");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_USAGE_ERROR);
    assert_int_equal(stats(pair)->watches_now, 0);
}

/* ---- who does not take updates ---- */

static void a_paused_stream_gets_an_image_when_it_goes_on(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = request_at(5, "IBM.N", FAST);

    pair_ask_item(c, &request);
    request.pause = request.no_refresh = true;
    pair_ask_item(c, &request);
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 200 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "I");
    request.pause = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_int_equal(pair_stream(c, 5)->counter, 102);
}

static void say_long(struct pair *pair, const char *name, size_t length)
{
    static const uint8_t filler[1000];
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = it->domain,
                           .stream_id = it->stream_id,
                           .container = RWF_TYPE_FIELD_LIST };
    uint8_t bytes[1200];
    struct rwf_encoder enc;

    it->counter++;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, PAIR_FIELD, it->counter);
    rwf_field_add_bytes(&enc, 1000, rwf_bytes(filler, length));
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

/* The values of what is pending are in the image, and that finds no memory any more. */
static void without_the_image_of_what_is_pending_a_new_one_comes(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", FAST);
    updates(pair, "IBM.N", 2);
    say_long(pair, "IBM.N", 1000);
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJij");
    assert_int_equal(pair_stream(c, 5)->counter, 103);
    assert_int_equal(stats(pair)->conflated, 1);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 120 * PAIR_MS);
    assert_int_equal(pair_stream(c, 5)->counter, 105);
}

static void a_client_without_room_gets_the_merged_update_later(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "IBM.N", FAST);
    c->room = 0;
    c->room_max = 10;
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "I");
    updates(pair, "IBM.N", 1);
    c->room = 10;
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUU");
    assert_int_equal(pair_stream(c, 5)->counter, 103);
    updates(pair, "IBM.N", 1);
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUU");
    assert_int_equal(pair_stream(c, 5)->counter, 104);
}

static void an_update_without_room_to_be_pending_is_sent_at_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    open_at(c, 5, "A", SLOW);
    open_at(c, 6, "B", SLOW);
    open_at(c, 7, "C", SLOW);
    updates(pair, "A", 2);
    updates(pair, "B", 2);
    updates(pair, "C", 2);
    assert_true(stats(pair)->pending_refused > 0);
    assert_true(stats(pair)->pending_bytes_now <= 250);
    assert_string_equal(pair_heard(c, 7), "IUU");
    pair_pass(pair, 1020 * PAIR_MS);
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_int_equal(pair_stream(c, 6)->counter, 102);
}

/* ---- any order of all of it ---- */

struct crowd {
    struct pair *pair;
    struct pair_client *clients[3];
    struct md_prng prng;
    uint32_t last[9]; /* by client and stream: the counter that it had last */
};

static struct pair_stream *stream_of(struct crowd *crowd, unsigned i, bool *is_open)
{
    struct pair_stream *s = pair_stream(crowd->clients[i / 3], 5 + (int32_t)(i % 3));

    *is_open = p2ps_client_has_stream(crowd->pair->sink, crowd->clients[i / 3]->id, s->id);
    return s;
}

/* No stream goes back to an older value. */
static void look(struct crowd *crowd)
{
    for (unsigned i = 0; i < 9; i++) {
        bool is_open;
        const struct pair_stream *s = stream_of(crowd, i, &is_open);

        if (is_open)
            assert_true(s->counter >= crowd->last[i]);
        crowd->last[i] = s->counter;
    }
}

static void ask_or_close(struct crowd *crowd, uint32_t what)
{
    struct pair_client *c = crowd->clients[md_prng_below(&crowd->prng, 3)];
    int32_t id = 5 + (int32_t)md_prng_below(&crowd->prng, 3);
    unsigned rate = md_prng_below(&crowd->prng, 4);
    struct omm_item_request request = request_at(id, "IBM.N", rate == 3 ? EACH : rate);

    request.no_refresh = what == 1 && p2ps_client_has_stream(crowd->pair->sink, c->id, id);
    request.pause = what == 2;
    if (what < 4)
        pair_ask_item(c, &request);
    else
        p2ps_client_close(crowd->pair->sink, crowd->pair->now_ns, c->id, id);
}

static void act(struct crowd *crowd)
{
    struct pair *pair = crowd->pair;
    uint32_t what = md_prng_below(&crowd->prng, 20);

    if (what < 5)
        ask_or_close(crowd, what);
    else if (what == 5)
        pair_pass(pair, 20 * PAIR_MS);
    else if (what == 6)
        say(pair, "IBM.N", RWF_UPDATE_TRADE, 0, false);
    else if (what == 7)
        pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    else if (what == 8)
        pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_OK, 0);
    else if (what == 9)
        pair_say_group(pair, 1, 0, RWF_DATA_OK);
    else
        pair_update(pair, "IBM.N");
    if (md_prng_below(&crowd->prng, 2))
        pair_settle(pair);
    look(crowd);
}

/* All of them go on, and get what they have missed. */
static void end_round(struct crowd *crowd)
{
    struct omm_item_request go_on = pair_request(0, "IBM.N");
    struct pair *pair = crowd->pair;
    bool is_open;

    go_on.no_refresh = true;
    for (unsigned i = 0; i < 9; i++) {
        go_on.stream_id = stream_of(crowd, i, &is_open)->id;
        if (is_open)
            pair_ask_item(crowd->clients[i / 3], &go_on);
    }
    pair_pass(pair, 1100 * PAIR_MS);
    look(crowd);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    for (unsigned i = 0; i < 9; i++) {
        struct pair_stream *s = stream_of(crowd, i, &is_open);
        if (is_open)
            assert_int_equal(s->counter, pair_item(pair, "IBM.N")->counter);
        s->count = 0; /* letters have an end: PAIR_LETTERS */
        memset(s->letters, 0, sizeof(s->letters));
    }
}

static void whatever_happens_the_last_value_comes_and_none_comes_again(void **state)
{
    struct pair *pair = *state;
    struct crowd crowd = { .pair = pair, .prng = md_prng_init(4711) };
    struct pair_client *keeper = pair_client(pair, 3);

    for (unsigned i = 0; i < 3; i++)
        crowd.clients[i] = pair_client(pair, i);
    pair_open(keeper, 5, "IBM.N");
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 40; i++)
            act(&crowd);
        end_round(&crowd);
        pair_stream(keeper, 5)->count = 0;
    }
    for (unsigned i = 0; i < 9; i++)
        p2ps_client_close(pair->sink, pair->now_ns, crowd.clients[i / 3]->id, 5 + (int32_t)(i % 3));
    pair_settle(pair);
    assert_int_equal(stats(pair)->pending_bytes_now, 0);
}

#define WITH(test, how) cmocka_unit_test_setup_teardown(test, how, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(nothing_is_offered_that_is_not_configured, setup_without_rates),
        WITH(the_directory_lists_the_rates_behind_what_the_provider_offers, setup),
        WITH(a_request_without_a_quality_gets_each_update, setup),
        WITH(a_request_for_a_rate_gets_one_update_in_the_interval, setup),
        WITH(a_request_for_a_rate_gets_one_update_in_the_interval, setup_without_cache),
        WITH(a_range_gets_the_best_in_it, setup),
        WITH(a_rate_that_is_not_listed_is_refused_and_the_others_named, setup),
        WITH(a_user_of_conflated_data_sees_nothing_else, setup),
        WITH(a_user_of_delayed_data_gets_none_in_real_time, setup),
        WITH(each_rate_of_an_item_has_its_own_pending_update, setup),
        WITH(watches_of_one_rate_share_one_merged_update, setup),
        WITH(only_those_that_ask_are_told_of_how_many_an_update_is, setup),
        WITH(items_have_their_turns_at_different_times_of_the_interval, setup),
        WITH(with_flushes_of_a_timer_they_have_them_in_lots, setup),
        WITH(a_lot_is_a_tenth_of_a_second_of_the_interval, setup),
        WITH(for_a_client_with_a_ceiling_there_are_no_lots, setup),
        WITH(workers_and_rates_begin_their_intervals_at_different_times, setup),
        WITH(more_lots_are_halves_of_those_before, setup),
        WITH(jit_merges_what_comes_in_one_turn, setup),
        WITH(a_trade_passes_at_once_behind_what_is_pending, setup),
        WITH(an_update_with_permission_data_is_not_merged, setup),
        WITH(a_status_comes_behind_what_is_pending, setup),
        WITH(an_unasked_refresh_comes_behind_what_is_pending, setup),
        WITH(a_group_status_comes_behind_what_is_pending, setup),
        WITH(a_provider_that_goes_leaves_nothing_pending, setup),
        WITH(a_gap_is_told_behind_what_is_pending, setup),
        WITH(who_joins_has_what_is_pending_in_its_image, setup),
        WITH(who_joins_by_an_image_of_the_source_sends_the_others_on_first, setup_without_cache),
        WITH(a_stream_that_is_closed_takes_what_was_pending_with_it, setup),
        WITH(a_client_that_hangs_up_takes_its_rate_along, setup),
        WITH(a_reissue_with_another_rate_gets_an_image_at_it, setup),
        WITH(a_reissue_with_another_rate_gets_an_image_at_it, setup_without_cache),
        WITH(a_reissue_that_wants_no_image_gets_one_if_its_rate_changes, setup),
        WITH(a_reissue_without_a_quality_keeps_the_rate, setup),
        WITH(a_paused_stream_gets_an_image_when_it_goes_on, setup),
        WITH(a_client_without_room_gets_the_merged_update_later, setup),
        WITH(without_the_image_of_what_is_pending_a_new_one_comes, setup_with_small_images),
        WITH(an_update_without_room_to_be_pending_is_sent_at_once, setup_short_of_memory),
        WITH(whatever_happens_the_last_value_comes_and_none_comes_again, setup),
        WITH(whatever_happens_the_last_value_comes_and_none_comes_again, setup_without_cache),
    };
    return cmocka_run_group_tests(tests, make_exempt, free_exempt);
}
