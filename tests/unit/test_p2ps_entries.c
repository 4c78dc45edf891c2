/* test_p2ps_entries.c - rows with permission data of their own go to whom they are for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "rates/rates.h"

/* Codes 1 and 2 of service id 1. */
#define LOCK_1 rwf_bytes((const uint8_t *)"\x03\0\1\x1c", 4)
#define LOCK_2 rwf_bytes((const uint8_t *)"\x03\0\1\x2c", 4)

static const char rules[] = "peset P ids=1\n"
                            "content RDFD lock nolock=allow\n"
                            "user *\n"
                            "grant ann P 1\n"
                            "grant bob P 2\n"
                            "grant joe P *\n"
                            "fields cut * * keep 32\n"
                            "grant cut P 1\n";

static int setup_with(void **state, struct p2ps_core_config config)
{
    int rc = pair_setup(state, config);

    assert_int_equal(
        entitle_rules_create(rules, strlen(rules), NULL, NULL, &((struct pair *)*state)->rules),
        MD_OK);
    return rc;
}

static int setup(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ 0 });
}

static int setup_with_images(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ .keeps_images = true });
}

static int setup_to_close(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ .entry_locks = P2PS_ENTRY_LOCKS_CLOSE });
}

static int setup_to_pass(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ .entry_locks = P2PS_ENTRY_LOCKS_PASS });
}

static struct rates *exempt;

/* No update of these is ever merged, and there is no room for one to wait. */
static int setup_without_room(void **state)
{
    assert_int_equal(rates_create("", 0, NULL, NULL, NULL, &exempt), MD_OK);
    assert_int_equal(rates_exempt(exempt, "0", "", NULL, NULL, NULL), MD_OK);
    return setup_with(state, (struct p2ps_core_config){
                                 .keeps_images = true, .exempt = exempt, .trade_backlog = 1 });
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    entitle_rules_destroy(pair->rules);
    pair->rules = NULL;
    int rc = pair_teardown(state);
    rates_destroy(exempt);
    exempt = NULL;
    return rc;
}

static struct pair_client *client_of(struct pair *pair, unsigned n, const char *user)
{
    struct pair_client *c = pair_client_comes(pair, n);
    struct omm_login_request request = pair_login_request();

    request.user = rwf_text(user);
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    return c;
}

/* ---- what is sent ---- */

/* A row for each letter: "ab." is one with lock 1, one with lock 2, and one without. */
static struct rwf_bytes lock_of(char letter)
{
    return letter == 'a' ? LOCK_1 : letter == 'b' ? LOCK_2 : rwf_bytes(NULL, 0);
}

static void add_fields(struct rwf_encoder *enc, unsigned value)
{
    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, 22, value);
    rwf_field_add_uint(enc, 32, value);
    rwf_field_list_finish(enc);
}

static struct rwf_bytes make_map(uint8_t *bytes, size_t size, const char *rows, unsigned action,
                                 bool has_summary)
{
    const struct rwf_map_info info = {
        .flags = has_summary ? RWF_MAP_HAS_SUMMARY : 0,
        .key_type = RWF_TYPE_ASCII,
        .container = RWF_TYPE_FIELD_LIST,
    };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_map_start(&enc, &info);
    if (has_summary) {
        add_fields(&enc, 9);
        rwf_summary_finish(&enc);
    }
    for (size_t i = 0; rows[i]; i++) {
        struct rwf_map_entry entry = { .action = (uint8_t)action,
                                       .perm = lock_of(rows[i]),
                                       .key = rwf_bytes((const uint8_t *)rows + i, 1) };
        entry.has_perm = entry.perm.data != NULL;
        rwf_map_entry_start(&enc, &entry);
        add_fields(&enc, (unsigned)i);
        rwf_map_entry_finish(&enc);
    }
    rwf_map_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static struct rwf_bytes make_vector(uint8_t *bytes, size_t size, const char *rows, unsigned action)
{
    const struct rwf_vector_info info = { .container = RWF_TYPE_FIELD_LIST };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_vector_start(&enc, &info);
    for (size_t i = 0; rows[i]; i++) {
        struct rwf_vector_entry entry = { .action = (uint8_t)action,
                                          .perm = lock_of(rows[i]),
                                          .index = (uint32_t)i };
        entry.has_perm = entry.perm.data != NULL;
        rwf_vector_entry_start(&enc, &entry);
        add_fields(&enc, (unsigned)i);
        rwf_vector_entry_finish(&enc);
    }
    rwf_vector_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static struct rwf_bytes make_filters(uint8_t *bytes, size_t size, const char *rows)
{
    const struct rwf_filter_list_info info = { .container = RWF_TYPE_FIELD_LIST };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_filter_list_start(&enc, &info);
    for (size_t i = 0; rows[i]; i++) {
        struct rwf_filter_entry entry = { .action = RWF_FILTER_SET,
                                          .perm = lock_of(rows[i]),
                                          .id = (uint8_t)(i + 1),
                                          .container = RWF_TYPE_FIELD_LIST };
        entry.has_perm = entry.perm.data != NULL;
        rwf_filter_entry_start(&enc, &entry);
        add_fields(&enc, (unsigned)i);
        rwf_filter_entry_finish(&enc);
    }
    rwf_filter_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void say_update(struct pair *pair, unsigned container, struct rwf_bytes payload)
{
    uint8_t bytes[1024];
    struct rwf_encoder enc;
    const struct pair_item *it = pair_item(pair, "BOOK");
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = it->domain,
                                 .stream_id = it->stream_id,
                                 .container = (uint16_t)container,
                                 .payload = payload };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    assert_true(rwf_msg_encode(&enc, &msg) >= 0);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

static uint8_t image_bytes[4096];

static void image_is_map(struct pair *pair, const char *rows)
{
    pair->provider.container = RWF_TYPE_MAP;
    pair->provider.payload = make_map(image_bytes, sizeof(image_bytes), rows, RWF_MAP_ADD, true);
}

static void update_map(struct pair *pair, const char *rows)
{
    uint8_t bytes[512];

    say_update(pair, RWF_TYPE_MAP, make_map(bytes, sizeof(bytes), rows, RWF_MAP_UPDATE, false));
}

/* ---- what is heard ---- */

/* The keys of the rows of the last message, 's' before them for a summary. */
static const char *rows_of(struct pair_client *c)
{
    static char text[80];
    const struct pair_stream *s = pair_stream(c, 5);
    struct rwf_bytes payload = rwf_bytes(s->payload, s->payload_length);
    struct rwf_map map;
    struct rwf_map_entry entry;
    size_t used = 0;

    assert_int_equal(s->container, RWF_TYPE_MAP);
    assert_true(rwf_map_decode(payload, &map) >= 0);
    if (map.info.flags & RWF_MAP_HAS_SUMMARY)
        text[used++] = 's';
    while (rwf_map_next(&map, &entry) > 0)
        text[used++] = (char)entry.key.data[0];
    text[used] = 0;
    return text;
}

static void rows_go_to_whom_they_are_for(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *bob = client_of(pair, 1, "bob");
    struct pair_client *joe = client_of(pair, 2, "joe");

    image_is_map(pair, "ab.");
    pair_open(ann, 5, "BOOK");
    pair_open(bob, 5, "BOOK");
    pair_open(joe, 5, "BOOK");
    assert_string_equal(rows_of(ann), "sa.");
    assert_string_equal(rows_of(bob), "sb.");
    assert_string_equal(rows_of(joe), "sab.");
    assert_int_equal(p2ps_core_stats(pair->sink)->entries_removed, 2);
    update_map(pair, "ab");
    assert_string_equal(rows_of(ann), "a");
    assert_string_equal(rows_of(bob), "b");
    assert_string_equal(rows_of(joe), "ab");
    assert_int_equal(p2ps_core_stats(pair->sink)->entries_removed, 4);
    update_map(pair, "b"); /* of which nothing is left for ann */
    assert_string_equal(pair_heard(ann, 5), "IU");
    assert_string_equal(pair_heard(bob, 5), "IUU");
    assert_string_equal(pair_heard(joe, 5), "IUU");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 0);
    assert_null(p2ps_core_check(pair->sink));
}

static void consumers_who_may_see_the_same_share_what_is_made(void **state)
{
    struct pair *pair = *state;

    image_is_map(pair, "ab.");
    for (unsigned i = 0; i < 4; i++)
        pair_open(client_of(pair, i, i < 3 ? "ann" : "bob"), 5, "BOOK");
    uint32_t asked = pair->authority_asked;
    pair_makes = 0;
    update_map(pair, "ab");
    assert_int_equal(pair_makes, 2);
    assert_int_equal(pair->authority_asked - asked, 4); /* two users, two locks */
    assert_string_equal(rows_of(&pair->clients[2]), "a");
    assert_string_equal(rows_of(&pair->clients[3]), "b");
}

static void messages_without_the_flag_are_not_looked_into(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");

    image_is_map(pair, "...");
    pair_open(ann, 5, "BOOK");
    uint32_t asked = pair->authority_asked;
    pair_makes = 0;
    update_map(pair, "..");
    assert_string_equal(pair_heard(ann, 5), "IU");
    assert_int_equal(pair->authority_asked, asked);
    assert_int_equal(pair_makes, 1);
}

static void an_image_of_the_cache_has_the_rows_of_the_one_who_gets_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");
    struct pair_client *bob = client_of(pair, 2, "bob");

    image_is_map(pair, "ab.");
    pair_open(joe, 5, "BOOK");
    /* The update of a row without a lock leaves the lock that the row has. */
    struct rwf_map_entry row = { .action = RWF_MAP_UPDATE, .key = rwf_text("b") };
    const struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_FIELD_LIST };
    uint8_t bytes[256];
    struct rwf_encoder enc;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_map_start(&enc, &info);
    rwf_map_entry_start(&enc, &row);
    add_fields(&enc, 7);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    say_update(pair, RWF_TYPE_MAP, rwf_encoder_bytes(&enc));
    pair_open(ann, 5, "BOOK");
    pair_open(bob, 5, "BOOK");
    assert_int_equal(p2ps_core_stats(pair->sink)->images_from_cache, 2);
    assert_string_equal(rows_of(ann), "sa.");
    assert_string_equal(rows_of(bob), "sb.");
}

/* Rows of the last message, which is a vector or a filter list. */
static unsigned lines_of(struct pair_client *c)
{
    const struct pair_stream *s = pair_stream(c, 5);
    struct rwf_bytes payload = rwf_bytes(s->payload, s->payload_length);
    struct rwf_vector vector;
    struct rwf_vector_entry line;
    struct rwf_filter_list list;
    struct rwf_filter_entry filter;
    unsigned lines = 0;

    if (s->container == RWF_TYPE_VECTOR) {
        assert_true(rwf_vector_decode(payload, &vector) >= 0);
        while (rwf_vector_next(&vector, &line) > 0)
            lines |= 1u << line.index;
    } else {
        assert_int_equal(s->container, RWF_TYPE_FILTER_LIST);
        assert_true(rwf_filter_list_decode(payload, &list) >= 0);
        while (rwf_filter_list_next(&list, &filter) > 0)
            lines |= 1u << (filter.id - 1);
    }
    return lines;
}

static void vectors_and_filter_lists_are_treated_alike(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *joe = client_of(pair, 1, "joe");
    uint8_t bytes[512];

    pair->provider.container = RWF_TYPE_VECTOR;
    pair->provider.payload = make_vector(image_bytes, sizeof(image_bytes), "ab.", RWF_VECTOR_SET);
    pair_open(joe, 5, "BOOK");
    say_update(pair, RWF_TYPE_VECTOR, make_vector(bytes, sizeof(bytes), "..", RWF_VECTOR_UPDATE));
    pair_open(ann, 5, "BOOK"); /* row b has its lock still */
    assert_int_equal(p2ps_core_stats(pair->sink)->images_from_cache, 1);
    assert_int_equal(lines_of(ann), 5);
    say_update(pair, RWF_TYPE_VECTOR, make_vector(bytes, sizeof(bytes), ".ba", RWF_VECTOR_SET));
    assert_int_equal(lines_of(ann), 5);
    assert_int_equal(lines_of(joe), 7);
    say_update(pair, RWF_TYPE_FILTER_LIST, make_filters(bytes, sizeof(bytes), "ba.b"));
    assert_int_equal(lines_of(ann), 6);
    assert_int_equal(lines_of(joe), 15);
}

static void an_item_with_a_denied_row_may_be_closed_instead(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *joe = client_of(pair, 1, "joe");

    image_is_map(pair, "a.");
    pair_open(ann, 5, "BOOK");
    pair_open(joe, 5, "BOOK");
    assert_string_equal(rows_of(ann), "sa.");
    update_map(pair, "ab");
    assert_string_equal(pair_heard(ann, 5), "IX");
    assert_int_equal(pair_stream(ann, 5)->code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(pair_heard(joe, 5), "IU");
    image_is_map(pair, "ab");
    pair_open(ann, 6, "BOOK2");
    assert_string_equal(pair_heard(ann, 6), "X");
}

static void or_nobody_looks_at_rows(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");

    image_is_map(pair, "ab.");
    pair_open(ann, 5, "BOOK");
    assert_string_equal(rows_of(ann), "sab.");
}

static void a_row_that_is_kept_has_only_the_fields_that_may_be_seen(void **state)
{
    struct pair *pair = *state;
    struct pair_client *cut = client_of(pair, 0, "cut");
    const struct pair_stream *s = pair_stream(cut, 5);
    struct rwf_map map;
    struct rwf_map_entry row;
    struct rwf_field_list list;
    struct rwf_field field;

    image_is_map(pair, "ab.");
    pair_open(cut, 5, "BOOK");
    assert_string_equal(rows_of(cut), "sa.");
    assert_true(rwf_map_decode(rwf_bytes(s->payload, s->payload_length), &map) >= 0);
    while (rwf_map_next(&map, &row) > 0) {
        assert_true(rwf_field_list_decode(row.data, NULL, &list) >= 0);
        while (rwf_field_list_next(&list, &field) > 0)
            assert_int_equal(field.id, 32);
    }
}

/* Different locks, all of code 1: the padding behind the end differs. */
static struct rwf_bytes make_many(uint8_t *bytes, size_t size, unsigned count)
{
    const struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII, .container = RWF_TYPE_NO_DATA };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_map_start(&enc, &info);
    for (unsigned i = 0; i < count; i++) {
        uint8_t lock[5] = { 3, 0, 1, 0x1c, (uint8_t)i };
        uint8_t key = (uint8_t)('0' + i);
        const struct rwf_map_entry row = { .action = RWF_MAP_UPDATE,
                                           .has_perm = true,
                                           .perm = rwf_bytes(lock, sizeof(lock)),
                                           .key = rwf_bytes(&key, 1) };
        rwf_map_add(&enc, &row);
    }
    rwf_map_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void locks_beyond_the_most_count_as_unreadable(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    uint8_t bytes[900];

    image_is_map(pair, "a");
    pair_open(ann, 5, "BOOK");
    uint64_t before = p2ps_core_stats(pair->sink)->entries_removed;
    say_update(pair, RWF_TYPE_MAP, make_many(bytes, sizeof(bytes), 63));
    assert_int_equal(p2ps_core_stats(pair->sink)->entries_removed, before);
    say_update(pair, RWF_TYPE_MAP, make_many(bytes, sizeof(bytes), 70));
    assert_int_equal(p2ps_core_stats(pair->sink)->entries_removed, before + 7);
    assert_string_equal(pair_heard(ann, 5), "IUU");
}

/* Its flag says that rows have locks, and the first row has no end. */
#define BROKEN_MAP rwf_bytes((const uint8_t *)"\4\x11\x04\0\1\x12\x7f\3", 8)

static void rows_that_cannot_be_read_are_for_nobody(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");

    image_is_map(pair, "a");
    pair_open(ann, 5, "BOOK");
    say_update(pair, RWF_TYPE_MAP, BROKEN_MAP);
    assert_string_equal(pair_heard(ann, 5), "I");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 1);
    pair->provider.payload = BROKEN_MAP;
    pair_open(ann, 6, "BROKEN");
    assert_string_equal(pair_heard(ann, 6), "X");
    assert_int_equal(pair_stream(ann, 6)->code, RWF_CODE_NOT_ENTITLED);
}

/* The message of each set of consumers passes it by: it is one update all the same. */
static void an_update_that_a_slow_consumer_loses_counts_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *bob = client_of(pair, 1, "bob");
    struct pair_client *joe = client_of(pair, 2, "joe");

    image_is_map(pair, "ab.");
    pair_open(ann, 5, "BOOK");
    pair_open(bob, 5, "BOOK");
    pair_open(joe, 5, "BOOK");
    joe->room_max = 100;
    joe->room = 0;
    for (int i = 0; i < 4; i++)
        update_map(pair, "ab");
    assert_string_equal(pair_heard(bob, 5), "IUUUU");
    assert_int_equal(p2ps_core_stats(pair->sink)->backlog_lost, 4);
    assert_null(p2ps_core_check(pair->sink));
}

static void a_paused_stream_gets_an_image_for_the_rows_that_it_missed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct omm_item_request request = pair_request(5, "BOOK");

    image_is_map(pair, "ab.");
    pair_open(ann, 5, "BOOK");
    request.pause = true;
    request.no_refresh = true;
    pair_ask_item(ann, &request);
    update_map(pair, "ab");
    assert_string_equal(pair_heard(ann, 5), "I");
    request.pause = false;
    pair_ask_item(ann, &request);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(ann, 5), "Ii");
    assert_string_equal(rows_of(ann), "sa.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_go_to_whom_they_are_for, setup, teardown),
        cmocka_unit_test_setup_teardown(consumers_who_may_see_the_same_share_what_is_made, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(messages_without_the_flag_are_not_looked_into, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_image_of_the_cache_has_the_rows_of_the_one_who_gets_it,
                                        setup_with_images, teardown),
        cmocka_unit_test_setup_teardown(vectors_and_filter_lists_are_treated_alike,
                                        setup_with_images, teardown),
        cmocka_unit_test_setup_teardown(an_item_with_a_denied_row_may_be_closed_instead,
                                        setup_to_close, teardown),
        cmocka_unit_test_setup_teardown(or_nobody_looks_at_rows, setup_to_pass, teardown),
        cmocka_unit_test_setup_teardown(a_row_that_is_kept_has_only_the_fields_that_may_be_seen,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(locks_beyond_the_most_count_as_unreadable, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_cannot_be_read_are_for_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(an_update_that_a_slow_consumer_loses_counts_once,
                                        setup_without_room, teardown),
        cmocka_unit_test_setup_teardown(a_paused_stream_gets_an_image_for_the_rows_that_it_missed,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
