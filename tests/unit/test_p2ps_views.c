/* test_p2ps_views.c - batches of items, and views of their fields and rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ 0 });
}

/* A payload with what is asked for: names, a view of one field. */
static struct rwf_bytes asks(uint8_t *bytes, size_t size, const char *const *names, size_t count,
                             int16_t field)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_element_list_start(&enc, NULL);
    if (count) {
        rwf_element_start(&enc, rwf_text(":ItemList"), RWF_TYPE_ARRAY);
        rwf_array_start(&enc, RWF_TYPE_ASCII, 0);
        for (size_t i = 0; i < count; i++)
            rwf_array_add_bytes(&enc, rwf_text(names[i]));
        rwf_array_finish(&enc);
        rwf_element_finish(&enc);
    }
    if (field) {
        uint8_t id[2] = { (uint8_t)(field >> 8), (uint8_t)field };
        rwf_element_add_uint(&enc, ":ViewType", 1);
        rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
        rwf_array_start(&enc, RWF_TYPE_INT, 2);
        rwf_array_add_bytes(&enc, rwf_bytes(id, 2));
        rwf_array_finish(&enc);
        rwf_element_finish(&enc);
    }
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void a_batch_opens_each_item_on_a_stream_of_its_own(void **state)
{
    static const char *const names[] = { "A.N", "VOID.N", "C.N" };
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(10, "");
    uint8_t bytes[256];

    request.key.flags = RWF_KEY_HAS_SERVICE_ID;
    request.is_batch = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), names, 3, 0);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 10), "X");
    assert_int_equal(pair_stream(c, 10)->data_state, RWF_DATA_OK);
    assert_string_equal(pair_heard(c, 11), "I");
    assert_string_equal(pair_heard(c, 12), "X");
    assert_string_equal(pair_heard(c, 13), "I");
}

static void an_item_of_a_batch_that_is_denied_leaves_the_others(void **state)
{
    static const char *const names[] = { "A.N", "B.N", "C.N" };
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(10, "");
    uint8_t bytes[256];

    pair->authority_denies_item = "B.N";
    request.key.flags = RWF_KEY_HAS_SERVICE_ID;
    request.is_batch = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), names, 3, 0);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 12), "X");
    assert_int_equal(pair_stream(c, 12)->code, RWF_CODE_NOT_ENTITLED);
    pair_update(pair, "A.N");
    pair_update(pair, "C.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 11), "IU");
    assert_string_equal(pair_heard(c, 13), "IU");
    assert_string_equal(pair_heard(c, 12), "X");
    assert_null(pair_item(pair, "B.N")); /* the provider was not even asked */
}

static void a_batch_without_a_list_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(10, "");

    request.is_batch = true;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 10), "X");
    assert_int_equal(pair_stream(c, 10)->code, RWF_CODE_UNABLE_TO_REQUEST_AS_BATCH);
}

/* Asks on stream 5 for a view of this type, whose data are one element of `element`. */
static uint8_t code_of_view(struct pair_client *c, uint64_t type, const char *element)
{
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint8_t bytes[64];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, ":ViewType", type);
    rwf_element_add_uint(&enc, element, 22);
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    request.has_view = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = rwf_encoder_bytes(&enc);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    *pair_stream(c, 5)->letters = '\0';
    pair_stream(c, 5)->count = 0;
    return pair_stream(c, 5)->code;
}

static void a_view_that_cannot_be_given_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);

    assert_int_equal(code_of_view(c, 77, ":ViewData"), RWF_CODE_UNSUPPORTED_VIEW_TYPE);
    assert_int_equal(code_of_view(c, 1, ":ViewData"), RWF_CODE_INVALID_VIEW); /* no array */
    assert_int_equal(code_of_view(c, 1, ":Other"), RWF_CODE_INVALID_VIEW);
    assert_int_equal(code_of_view(c, 2, ":ViewData"), RWF_CODE_INVALID_VIEW);
    pair_open(c, 5, "IBM.N"); /* the stream and the connection are as good as before */
    assert_string_equal(pair_heard(c, 5), "I");
}

static void a_view_gives_its_fields_and_no_others(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint8_t bytes[256];

    pair_open(a, 5, "IBM.N");
    assert_int_equal(pair_stream(a, 5)->fields, 2);
    request.has_view = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), NULL, 0, PAIR_FIELD);
    pair_ask_item(b, &request);
    assert_int_equal(pair_stream(b, 5)->fields, 1);
    assert_int_equal(pair_stream(b, 5)->counter, 100);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair_stream(a, 5)->fields, 2);
    assert_int_equal(pair_stream(b, 5)->fields, 1);
    request.payload = asks(bytes, sizeof(bytes), NULL, 0, 999);
    pair_ask_item(b, &request);
    assert_string_equal(pair_heard(b, 5), "IUI");
    assert_int_equal(pair_stream(b, 5)->fields, 0);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(b, 5), "IUI"); /* nothing of it is in the view */
}

static void map_rows(struct rwf_encoder *enc, bool whole)
{
    const struct rwf_map_info info = { .flags = RWF_MAP_HAS_SUMMARY,
                                       .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_map_entry rows[] = {
        { .action = RWF_MAP_ADD, .key = rwf_text("a") },
        { .action = RWF_MAP_DELETE, .key = rwf_text("b") },
        { .action = RWF_MAP_UPDATE, .key = rwf_text("c") },
    };

    rwf_map_start(enc, &info);
    pair_fields(enc, 5, whole);
    rwf_summary_finish(enc);
    for (uint32_t i = 0; i < 3; i++) {
        if (rows[i].action == RWF_MAP_DELETE) {
            rwf_map_add(enc, &rows[i]);
            continue;
        }
        rwf_map_entry_start(enc, &rows[i]);
        pair_fields(enc, i, whole);
        rwf_map_entry_finish(enc);
    }
    rwf_map_finish(enc);
}

static void vector_rows(struct rwf_encoder *enc, bool whole)
{
    const struct rwf_vector_info info = { .flags = RWF_VECTOR_HAS_SUMMARY,
                                          .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_vector_entry rows[] = {
        { .action = RWF_VECTOR_INSERT, .index = 0 },
        { .action = RWF_VECTOR_DELETE, .index = 4 },
        { .action = RWF_VECTOR_CLEAR, .index = 2 },
        { .action = RWF_VECTOR_SET, .index = 3 },
    };

    rwf_vector_start(enc, &info);
    pair_fields(enc, 5, whole);
    rwf_summary_finish(enc);
    for (uint32_t i = 0; i < 4; i++) {
        if (rows[i].action == RWF_VECTOR_DELETE || rows[i].action == RWF_VECTOR_CLEAR) {
            rwf_vector_add(enc, &rows[i]);
            continue;
        }
        rwf_vector_entry_start(enc, &rows[i]);
        pair_fields(enc, i, whole);
        rwf_vector_entry_finish(enc);
    }
    rwf_vector_finish(enc);
}

static void series_rows(struct rwf_encoder *enc, bool whole)
{
    const struct rwf_series_info info = { .flags = RWF_SERIES_HAS_SUMMARY,
                                          .container = RWF_TYPE_FIELD_LIST };

    rwf_series_start(enc, &info);
    pair_fields(enc, 5, whole);
    rwf_summary_finish(enc);
    for (uint32_t i = 0; i < 3; i++) {
        rwf_series_entry_start(enc);
        pair_fields(enc, i, whole);
        rwf_series_entry_finish(enc);
    }
    rwf_series_finish(enc);
}

static void a_view_cuts_the_rows_of_containers(void **state)
{
    static const struct {
        uint16_t container;
        void (*rows)(struct rwf_encoder *enc, bool whole);
    } cases[] = {
        { RWF_TYPE_MAP, map_rows },
        { RWF_TYPE_VECTOR, vector_rows },
        { RWF_TYPE_SERIES, series_rows },
    };
    int16_t fields[] = { PAIR_FIELD };
    const struct p2ps_form form = { .flags = P2PS_FORM_VIEW, .field_count = 1, .fields = fields };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                     .domain = 7,
                                     .container = cases[i].container };
        uint8_t bytes[2][512];
        uint8_t out[512];
        struct rwf_encoder enc[2];
        struct p2ps_made made;

        for (int whole = 0; whole < 2; whole++) {
            rwf_encoder_init(&enc[whole], bytes[whole], sizeof(bytes[whole]));
            rwf_msg_start(&enc[whole], &msg);
            cases[i].rows(&enc[whole], whole);
            assert_int_equal(rwf_msg_finish(&enc[whole]), RWF_OK);
        }
        struct p2ps_record record = { .message = rwf_encoder_bytes(&enc[1]) };
        assert_int_equal(rwf_peek(record.message, &record.peek), RWF_OK);
        assert_int_equal(p2ps_rwf_make(&form, &record, out, sizeof(out), &made), MD_OK);
        assert_true(
            rwf_bytes_equal(rwf_bytes(made.bytes, made.length), rwf_encoder_bytes(&enc[0])));
    }
}

static void ask_for_field(struct pair_client *c, int32_t stream_id, int16_t field)
{
    struct omm_item_request request = pair_request(stream_id, "IBM.N");
    uint8_t bytes[256];

    request.has_view = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), NULL, 0, field);
    pair_ask_item(c, &request);
}

static int setup_few_views(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .views_max = 10 });
}

static void a_client_has_so_many_views_and_no_more(void **state)
{
    struct pair *pair = *state;
    struct pair_client *greedy = pair_client(pair, 0);
    struct pair_client *other = pair_client(pair, 1);

    for (int16_t i = 0; i < 12; i++)
        ask_for_field(greedy, 5 + i, (int16_t)(100 + i));
    assert_string_equal(pair_heard(greedy, 14), "I");
    assert_string_equal(pair_heard(greedy, 15), "X");
    assert_int_equal(pair_stream(greedy, 15)->code, RWF_CODE_NO_RESOURCES);
    assert_int_equal(p2ps_core_stats(pair->sink)->refused_limit, 2);
    ask_for_field(other, 5, 111); /* the same as was refused */
    assert_string_equal(pair_heard(other, 5), "I");
    ask_for_field(greedy, 20, 111); /* and now it is there: that costs nothing */
    assert_string_equal(pair_heard(greedy, 20), "I");
    p2ps_client_close(pair->sink, pair->now_ns, greedy->id, 5);
    ask_for_field(greedy, 21, 200); /* in place of the one that it gave up */
    assert_string_equal(pair_heard(greedy, 21), "I");
    p2ps_client_gone(pair->sink, pair->now_ns, greedy->id);
    pair_settle(pair);
    for (int16_t i = 0; i < 9; i++)
        ask_for_field(other, 30 + i, (int16_t)(300 + i));
    assert_string_equal(pair_heard(other, 38), "I");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_has_so_many_views_and_no_more, setup_few_views,
                                        pair_teardown),
        TEST(a_batch_opens_each_item_on_a_stream_of_its_own),
        TEST(an_item_of_a_batch_that_is_denied_leaves_the_others),
        TEST(a_batch_without_a_list_is_refused),
        TEST(a_view_gives_its_fields_and_no_others),
        TEST(a_view_that_cannot_be_given_is_refused),
        TEST(a_view_cuts_the_rows_of_containers),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
