/* test_p2ps_fields.c - fields that a user may not see are in nothing that he gets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static struct entitle_rules *rules_of(const char *text)
{
    struct entitle_rules *rules = NULL;

    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &rules), MD_OK);
    return rules;
}

static void reload(struct pair *pair, const char *text)
{
    entitle_rules_destroy(pair->rules);
    pair->rules = rules_of(text);
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, PAIR_SEC);
}

static int setup_with(void **state, bool keeps_images, const char *rules)
{
    int rc = pair_setup(state, (struct p2ps_core_config){ .keeps_images = keeps_images });

    ((struct pair *)*state)->rules = rules_of(rules);
    return rc;
}

/* joe sees all, ann one of the two fields of an item. */
static const char ann_sees_32[] = "user *\nfields ann * * keep 32\n";

static int setup(void **state)
{
    return setup_with(state, false, ann_sees_32);
}

static int setup_with_images(void **state)
{
    return setup_with(state, true, ann_sees_32);
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    entitle_rules_destroy(pair->rules);
    pair->rules = NULL;
    return pair_teardown(state);
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

static bool has_field_in(struct pair_client *c, int16_t id)
{
    const struct pair_stream *s = pair_stream(c, 5);
    struct rwf_field_list list;
    struct rwf_field field;

    assert_int_equal(s->container, RWF_TYPE_FIELD_LIST);
    assert_true(rwf_field_list_decode(rwf_bytes(s->payload, s->payload_length), NULL, &list) >= 0);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == id)
            return true;
    }
    return false;
}

/* Asks for IBM.N on stream 5 with a view of these fields; with a key in updates, if so. */
static void open_view(struct pair_client *c, const int16_t *fields, size_t count, bool no_refresh)
{
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint8_t bytes[256];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, ":ViewType", 1);
    rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_INT, 2);
    for (size_t i = 0; i < count; i++) {
        uint8_t id[2] = { (uint8_t)(fields[i] >> 8), (uint8_t)fields[i] };
        rwf_array_add_bytes(&enc, rwf_bytes(id, 2));
    }
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    request.has_view = true;
    request.no_refresh = no_refresh;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = rwf_encoder_bytes(&enc);
    pair_ask_item(c, &request);
}

static void update(struct pair *pair)
{
    pair_update(pair, "IBM.N");
    pair_settle(pair);
}

static void nothing_of_a_field_that_may_not_be_seen_goes_out(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");

    pair_open(joe, 5, "IBM.N");
    pair_open(ann, 5, "IBM.N");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pair_stream(joe, 5)->fields, 2);
        assert_int_equal(pair_stream(ann, 5)->fields, 1);
        assert_true(has_field_in(ann, PAIR_FIELD));
        assert_int_equal(pair_stream(ann, 5)->counter, pair_stream(joe, 5)->counter);
        update(pair);
    }
    assert_string_equal(pair_heard(ann, 5), "IUU");
    assert_null(p2ps_core_check(pair->sink));
}

static void fields_that_are_dropped_leave_the_others(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");

    reload(pair, "user *\nfields ann * * drop 22\n");
    pair_open(ann, 5, "IBM.N");
    update(pair);
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_true(has_field_in(ann, PAIR_FIELD));
}

static void a_view_is_cut_to_what_may_be_seen(void **state)
{
    static const int16_t both[] = { 22, 32 }, other[] = { 22 };
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *bob = client_of(pair, 1, "ann");

    open_view(ann, both, 2, false);
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_true(has_field_in(ann, PAIR_FIELD));
    open_view(bob, other, 1, false); /* no field is left: an image without one */
    assert_string_equal(pair_heard(bob, 5), "I");
    assert_int_equal(pair_stream(bob, 5)->fields, 0);
    assert_int_equal(pair_stream(bob, 5)->stream_state, RWF_STREAM_OPEN);
    assert_int_equal(pair_stream(bob, 5)->data_state, RWF_DATA_OK);
    update(pair);
    assert_string_equal(pair_heard(ann, 5), "IU");
    assert_string_equal(pair_heard(bob, 5), "I");
    reload(pair, "user *\nfields ann * * drop 32\n");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_true(has_field_in(ann, 22));
    assert_true(has_field_in(bob, 22));
    assert_null(p2ps_core_check(pair->sink));
}

static void consumers_that_see_the_same_share_what_is_made(void **state)
{
    static const int16_t both[] = { 22, 32 }, one[] = { 32, 99 };
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");
    struct pair_client *amy = client_of(pair, 2, "amy");
    struct pair_client *eve = client_of(pair, 3, "ann");

    reload(pair, "user *\nfields a* * * keep 32\nfields joe * * drop 31\n");
    pair_open(ann, 5, "IBM.N");
    pair_open(amy, 5, "IBM.N");
    open_view(eve, both, 2, false);
    open_view(joe, one, 2, false);
    pair_makes = 0;
    update(pair);
    assert_string_equal(pair_heard(amy, 5), "IU");
    assert_int_equal(pair_stream(joe, 5)->fields, 1);
    assert_int_equal(pair_makes, 2); /* 32 of {32}, and 32 of {32, 99} */
    p2ps_client_close(pair->sink, pair->now_ns, joe->id, 5);
    open_view(joe, both, 2, false);
    reload(pair, "user *\nfields a* * * keep 32\nfields joe * * keep 32\n");
    pair_makes = 0;
    update(pair);
    assert_int_equal(pair_makes, 1); /* whatever each of them has asked for */
    assert_int_equal(pair_stream(joe, 5)->fields, 1);
    assert_int_equal(pair_stream(eve, 5)->fields, 1);
    assert_null(p2ps_core_check(pair->sink));
}

static void a_reload_that_changes_the_line_brings_an_image_of_the_new_view(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");

    pair_open(ann, 5, "IBM.N");
    reload(pair, ann_sees_32); /* the same: nothing happens */
    assert_string_equal(pair_heard(ann, 5), "I");
    reload(pair, "user *\nfields ann * * keep 22\n");
    assert_string_equal(pair_heard(ann, 5), "Ii");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_true(has_field_in(ann, 22));
    reload(pair, "user *\n");
    assert_string_equal(pair_heard(ann, 5), "Iii");
    assert_int_equal(pair_stream(ann, 5)->fields, 2);
    reload(pair, ann_sees_32);
    assert_string_equal(pair_heard(ann, 5), "Iiii");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    update(pair);
    assert_string_equal(pair_heard(ann, 5), "IiiiU");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_null(p2ps_core_check(pair->sink));
}

static void a_new_view_on_an_open_stream_is_cut_too(void **state)
{
    static const int16_t both[] = { 22, 32 }, other[] = { 22 };
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");

    pair_open(ann, 5, "IBM.N");
    open_view(ann, both, 2, false);
    assert_string_equal(pair_heard(ann, 5), "II");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    open_view(ann, other, 1, true);
    update(pair);
    assert_string_equal(pair_heard(ann, 5), "II");
    pair_open(ann, 5, "IBM.N"); /* no view any more */
    assert_string_equal(pair_heard(ann, 5), "III");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_true(has_field_in(ann, PAIR_FIELD));
    assert_null(p2ps_core_check(pair->sink));
}

/* ---- other payloads ---- */

static void add_fields(struct rwf_encoder *enc)
{
    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, 22, 2222);
    rwf_field_add_uint(enc, 32, 3232);
    rwf_field_list_finish(enc);
}

/* Rows of fields 22 and 32 that are set data; as standard data, too, where a summary allows. */
static struct rwf_bytes define_set(uint8_t *bytes, size_t size, struct rwf_set_db *db)
{
    struct rwf_set_writer writer;
    int err;

    rwf_set_writer_init(&writer, bytes, size);
    rwf_set_writer_def(&writer, 0);
    rwf_set_writer_field(&writer, 22, RWF_TYPE_UINT_2);
    rwf_set_writer_field(&writer, 32, RWF_TYPE_UINT_2);
    struct rwf_bytes defs = rwf_set_writer_bytes(&writer, &err);
    assert_int_equal(err, RWF_OK);
    assert_int_equal(rwf_set_db_decode(defs, RWF_SET_FIELDS, db), RWF_OK);
    return defs;
}

static void add_set_row(struct rwf_encoder *enc, const struct rwf_set_db *db)
{
    const struct rwf_sets sets = { .local = db };
    const struct rwf_field_list_info info = { .flags = RWF_LIST_HAS_SET_DATA };

    rwf_field_list_start_set(enc, &info, &sets, NULL);
    rwf_field_add_uint(enc, 22, 2222);
    rwf_field_add_uint(enc, 32, 3232);
    rwf_field_list_finish(enc);
}

static void make_map(struct rwf_encoder *enc, unsigned container, bool has_sets)
{
    uint8_t defs[64];
    struct rwf_set_db db;
    struct rwf_map_info info = { .flags = RWF_MAP_HAS_SUMMARY,
                                 .key_type = RWF_TYPE_ASCII,
                                 .container = (uint16_t)container };
    struct rwf_map_entry row = { .action = RWF_MAP_ADD, .key = rwf_text("a") };

    if (has_sets) {
        info.flags |= RWF_MAP_HAS_SET_DEFS;
        info.set_defs = define_set(defs, sizeof(defs), &db);
    }
    rwf_map_start(enc, &info);
    for (int i = 0; i < 2; i++) {
        if (i)
            rwf_map_entry_start(enc, &row);
        if (container == RWF_TYPE_ELEMENT_LIST) {
            rwf_element_list_start(enc, NULL);
            rwf_element_add_uint(enc, "A", 3232);
            rwf_element_list_finish(enc);
        } else if (has_sets && i) {
            add_set_row(enc, &db);
        } else {
            add_fields(enc);
        }
        if (i)
            rwf_map_entry_finish(enc);
        else
            rwf_summary_finish(enc);
    }
    rwf_map_finish(enc);
}

static void make_vector(struct rwf_encoder *enc)
{
    const struct rwf_vector_info info = { .container = RWF_TYPE_FIELD_LIST };
    struct rwf_vector_entry row = { .action = RWF_VECTOR_SET };

    rwf_vector_start(enc, &info);
    rwf_vector_entry_start(enc, &row);
    add_fields(enc);
    rwf_vector_entry_finish(enc);
    rwf_vector_finish(enc);
}

static void make_series(struct rwf_encoder *enc)
{
    uint8_t defs[64];
    struct rwf_set_db db;
    const struct rwf_series_info info = { .flags = RWF_SERIES_HAS_SET_DEFS,
                                          .container = RWF_TYPE_FIELD_LIST,
                                          .set_defs = define_set(defs, sizeof(defs), &db) };

    rwf_series_start(enc, &info);
    rwf_series_entry_start(enc);
    add_set_row(enc, &db);
    rwf_series_entry_finish(enc);
    rwf_series_finish(enc);
}

static void make_filter_list(struct rwf_encoder *enc, bool has_elements)
{
    const struct rwf_filter_list_info info = { .container = RWF_TYPE_FIELD_LIST };
    struct rwf_filter_entry entry = { .action = RWF_FILTER_SET, .id = 1 };

    rwf_filter_list_start(enc, &info);
    entry.container = RWF_TYPE_FIELD_LIST;
    rwf_filter_entry_start(enc, &entry);
    add_fields(enc);
    rwf_filter_entry_finish(enc);
    entry.id = 2;
    entry.has_container = true;
    entry.container = has_elements ? RWF_TYPE_ELEMENT_LIST : RWF_TYPE_MAP;
    rwf_filter_entry_start(enc, &entry);
    if (has_elements) {
        rwf_element_list_start(enc, NULL);
        rwf_element_list_finish(enc);
    } else {
        make_map(enc, RWF_TYPE_FIELD_LIST, true);
    }
    rwf_filter_entry_finish(enc);
    rwf_filter_list_finish(enc);
}

enum payload {
    PAYLOAD_MAP,
    PAYLOAD_SETS,
    PAYLOAD_VECTOR,
    PAYLOAD_SERIES,
    PAYLOAD_FILTERS,
    PAYLOADS_CUT, /* from here on none can be cut */
    PAYLOAD_ELEMENTS = PAYLOADS_CUT,
    PAYLOAD_FILTERED_ELEMENTS,
    PAYLOAD_OPAQUE,
    PAYLOAD_BROKEN,
    PAYLOAD_SET_ROW,
    PAYLOADS,
};

static uint16_t make_payload(struct rwf_encoder *enc, enum payload payload)
{
    uint8_t defs[64];
    struct rwf_set_db db;

    switch (payload) {
    case PAYLOAD_MAP:
    case PAYLOAD_SETS:
        make_map(enc, RWF_TYPE_FIELD_LIST, payload == PAYLOAD_SETS);
        return RWF_TYPE_MAP;
    case PAYLOAD_VECTOR:
        make_vector(enc);
        return RWF_TYPE_VECTOR;
    case PAYLOAD_SERIES:
        make_series(enc);
        return RWF_TYPE_SERIES;
    case PAYLOAD_FILTERS:
    case PAYLOAD_FILTERED_ELEMENTS:
        make_filter_list(enc, payload == PAYLOAD_FILTERED_ELEMENTS);
        return RWF_TYPE_FILTER_LIST;
    case PAYLOAD_ELEMENTS:
        make_map(enc, RWF_TYPE_ELEMENT_LIST, false);
        return RWF_TYPE_MAP;
    case PAYLOAD_SET_ROW: /* of a set that p2ps does not know */
        define_set(defs, sizeof(defs), &db);
        add_set_row(enc, &db);
        return RWF_TYPE_FIELD_LIST;
    default:
        fail();
        return 0;
    }
}

static struct rwf_bytes payload_of(uint8_t *bytes, size_t size, enum payload payload,
                                   uint16_t *container)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    if (payload < PAYLOAD_OPAQUE || payload == PAYLOAD_SET_ROW) {
        *container = make_payload(&enc, payload);
        assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
        return rwf_encoder_bytes(&enc);
    }
    *container = payload == PAYLOAD_OPAQUE ? RWF_TYPE_OPAQUE : RWF_TYPE_FIELD_LIST;
    return payload == PAYLOAD_OPAQUE ? rwf_text("\x0c\xa0")
                                     : rwf_bytes((const uint8_t *)"\x08\0\x05\0\x16\2\x0c\xa0", 8);
}

/* 2222 or 3232, as they are encoded in rows and in sets. */
static bool has_value(const struct pair_stream *s, unsigned value)
{
    assert_true(s->payload_length > 0);
    for (size_t i = 0; i + 1 < s->payload_length; i++) {
        if (md_be16(s->payload + i) == value)
            return true;
    }
    return false;
}

static void field_lists_in_any_container_are_cut(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");

    for (unsigned i = 0; i < PAYLOADS_CUT; i++) {
        uint8_t bytes[512];
        char name[16];
        struct pair_stream *s;

        pair->provider.payload =
            payload_of(bytes, sizeof(bytes), (enum payload)i, &pair->provider.container);
        snprintf(name, sizeof(name), "CUT%u", i);
        pair_open(joe, 10 + (int32_t)i, name);
        pair_open(ann, 10 + (int32_t)i, name);
        s = pair_stream(joe, 10 + (int32_t)i);
        assert_true(has_value(s, 2222) && has_value(s, 3232));
        s = pair_stream(ann, 10 + (int32_t)i);
        assert_string_equal(pair_heard(ann, 10 + (int32_t)i), "I");
        assert_int_equal(s->container, pair->provider.container);
        if (has_value(s, 2222) || !has_value(s, 3232))
            fail_msg("payload %u is not cut", i);
    }
}

static void what_cannot_be_cut_is_refused(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");

    for (unsigned i = PAYLOADS_CUT; i < PAYLOADS; i++) {
        uint8_t bytes[512];
        char name[16];
        int32_t id = 10 + (int32_t)i;

        pair->provider.payload =
            payload_of(bytes, sizeof(bytes), (enum payload)i, &pair->provider.container);
        snprintf(name, sizeof(name), "UNCUT%u", i);
        pair_open(joe, id, name);
        pair_open(ann, id, name);
        assert_string_equal(pair_heard(joe, id), "I");
        assert_string_equal(pair_heard(ann, id), "X");
        assert_int_equal(pair_stream(ann, id)->code, RWF_CODE_NOT_ENTITLED);
        assert_string_equal(pair_stream(ann, id)->text,
                            "not all fields of the item may be seen, and they cannot be taken out "
                            "of its data");
    }
    assert_int_equal(p2ps_core_stats(pair->sink)->not_entitled, PAYLOADS - PAYLOADS_CUT);
    assert_null(p2ps_core_check(pair->sink));
}

static void an_update_that_cannot_be_cut_ends_the_stream(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");
    uint8_t bytes[256];
    struct rwf_encoder enc;

    pair_open(joe, 5, "IBM.N");
    pair_open(ann, 5, "IBM.N");
    const struct pair_item *it = pair_item(pair, "IBM.N");
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = it->domain,
                                 .stream_id = it->stream_id,
                                 .container = RWF_TYPE_OPAQUE,
                                 .payload = rwf_text("\x0c\xa0") };
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_encode(&enc, &msg);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
    assert_string_equal(pair_heard(joe, 5), "IU");
    assert_string_equal(pair_heard(ann, 5), "IX");
    assert_int_equal(pair_stream(ann, 5)->code, RWF_CODE_NOT_ENTITLED);
}

static void a_generic_message_with_data_is_left_out(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");
    uint8_t bytes[256], fields[64];
    struct rwf_encoder enc;

    pair_open(joe, 5, "IBM.N");
    pair_open(ann, 5, "IBM.N");
    rwf_encoder_init(&enc, fields, sizeof(fields));
    add_fields(&enc);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_GENERIC,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .stream_id = pair_item(pair, "IBM.N")->stream_id,
                           .flags = RWF_GENERIC_COMPLETE,
                           .container = RWF_TYPE_FIELD_LIST,
                           .payload = rwf_encoder_bytes(&enc) };
    for (int i = 0; i < 2; i++) {
        rwf_encoder_init(&enc, bytes, sizeof(bytes));
        rwf_msg_encode(&enc, &msg);
        pair_say(&pair->provider, &enc);
        pair_settle(pair);
        msg.container = RWF_TYPE_NO_DATA;
        msg.payload = rwf_text("");
    }
    assert_string_equal(pair_heard(joe, 5), "IGG");
    assert_string_equal(pair_heard(ann, 5), "ISG");
}

static void the_image_of_the_cache_is_cut(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 0, "joe");
    struct pair_client *ann = client_of(pair, 1, "ann");

    pair_open(joe, 5, "IBM.N");
    update(pair);
    pair_open(ann, 5, "IBM.N");
    assert_int_equal(p2ps_core_stats(pair->sink)->images_from_cache, 1);
    assert_string_equal(pair_heard(ann, 5), "I");
    assert_int_equal(pair_stream(ann, 5)->fields, 1);
    assert_true(has_field_in(ann, PAIR_FIELD));
    assert_int_equal(pair_stream(ann, 5)->counter, pair_stream(joe, 5)->counter);
}

static void records_as_they_come_are_refused_to_whom_they_are_not_all_for(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request request = pair_login_request();

    request.user = rwf_text("ann");
    request.marketfeed_data = true;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
    assert_non_null(strstr(pair_stream(c, 5)->text, "Marketfeed records cannot be cut"));
}

/* Far more different ones than there are places, one after the other. */
static void what_is_made_for_imposed_views_is_given_back(void **state)
{
    static char text[200000];
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    size_t used = (size_t)snprintf(text, sizeof(text), "user *\n");
    unsigned refused = 0;

    for (unsigned i = 0; i < 3000; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "fields ann * I%u keep %u\n", i,
                                 i + 1);
    reload(pair, text);
    pair_open(ann, 5, "I0");
    for (unsigned i = 1; i < 3000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "I%u", i);
        struct omm_item_request request = pair_request(6, name);
        p2ps_client_item(pair->sink, pair->now_ns, ann->id, &request);
        if (!p2ps_client_has_stream(pair->sink, ann->id, 6)) {
            refused++;
            continue;
        }
        p2ps_client_close(pair->sink, pair->now_ns, ann->id, 6);
        pair_stream(ann, 6)->count = 0;
    }
    assert_int_equal(refused, 0); /* their forms are given back */
    assert_null(p2ps_core_check(pair->sink));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_of_a_field_that_may_not_be_seen_goes_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(fields_that_are_dropped_leave_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_view_is_cut_to_what_may_be_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(consumers_that_see_the_same_share_what_is_made, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_reload_that_changes_the_line_brings_an_image_of_the_new_view, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_view_on_an_open_stream_is_cut_too, setup, teardown),
        cmocka_unit_test_setup_teardown(field_lists_in_any_container_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_cut_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(an_update_that_cannot_be_cut_ends_the_stream, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_generic_message_with_data_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(the_image_of_the_cache_is_cut, setup_with_images, teardown),
        cmocka_unit_test_setup_teardown(
            records_as_they_come_are_refused_to_whom_they_are_not_all_for, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_made_for_imposed_views_is_given_back, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
