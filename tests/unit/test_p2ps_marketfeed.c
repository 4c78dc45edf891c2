/* test_p2ps_marketfeed.c - records of Marketfeed, pages and ripples through both cores. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/cache.h"
#include "core_pair.h"
#include "marketfeed/marketfeed.h"
#include "page/page.h"

static const char dictionary_text[] = "TRDPRC_1 \"\" 6 TRDPRC_2 PRICE 17 REAL64 7\n"
                                      "TRDPRC_2 \"\" 7 NULL PRICE 17 REAL64 7\n"
                                      "BID \"\" 22 NULL PRICE 17 REAL64 7\n";

static struct mf_table *table;
static struct cache_ripples *ripples;

static const struct mf_table *table_of(void *context)
{
    (void)context;
    return table;
}

static int setup(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    struct rwf_dictionary *dictionary;
    struct rwf_dictionary_error error;

    assert_non_null(pair);
    assert_int_equal(rwf_dictionary_create(&dictionary), MD_OK);
    assert_int_equal(rwf_dictionary_load_fields(dictionary, "f", dictionary_text,
                                                strlen(dictionary_text), &error),
                     MD_OK);
    assert_int_equal(mf_table_create(dictionary, &MF_OPTIONS_DEFAULT, &table), MD_OK);
    assert_int_equal(cache_ripples_create(&ripples), MD_OK);
    cache_ripples_learn(ripples, dictionary);
    rwf_dictionary_destroy(dictionary);
    pair_create(pair, (struct p2ps_core_config){
                          .marketfeed = table_of,
                          .keeps_images = true,
                          .rules = {
                              .allows_native = true,
                              .keeps_pages = true,
                              .ripples = ripples,
                          },
                      });
    *state = pair;
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    pair_destroy(pair);
    mf_table_destroy(table);
    cache_ripples_destroy(ripples);
    free(pair);
    return 0;
}

/* Text with F G R U for the separators of a record. */
static struct rwf_bytes record(const char *text)
{
    static const char letters[] = "FGRU";
    static uint8_t out[256];
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        const char *at = strchr(letters, text[i]);
        out[i] = (uint8_t)(at ? 0x1c + (at - letters) : text[i]);
    }
    return rwf_bytes(out, length);
}

static void encode_update(struct pair *pair, const char *name, uint16_t container,
                          struct rwf_bytes payload, struct rwf_encoder *enc)
{
    static uint8_t bytes[512];
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = 6,
        .stream_id = pair_item(pair, name)->stream_id,
        .flags = pair->provider.perm_data ? RWF_UPDATE_HAS_PERM_DATA : 0,
        .perm_data =
            pair->provider.perm_data ? rwf_text(pair->provider.perm_data) : (struct rwf_bytes){ 0 },
        .container = container,
        .payload = payload,
    };

    rwf_encoder_init(enc, bytes, sizeof(bytes));
    assert_int_equal(rwf_msg_encode(enc, &msg), RWF_OK);
}

static void say_update(struct pair *pair, const char *name, uint16_t container,
                       struct rwf_bytes payload)
{
    struct rwf_encoder enc;

    encode_update(pair, name, container, payload, &enc);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

/* Images of the provider carry this record from now on. */
static void give_image(struct pair *pair, const char *text)
{
    static uint8_t image[256];
    struct rwf_bytes bytes = record(text);

    memcpy(image, bytes.data, bytes.length);
    pair->provider.container = MF_CONTAINER;
    pair->provider.payload = rwf_bytes(image, bytes.length);
}

static struct pair_client *client_with(struct pair *pair, unsigned n, bool native, bool marketfeed)
{
    struct pair_client *c = pair_client_comes(pair, n);
    struct omm_login_request request = pair_login_request();

    request.disable_data_conversion = native;
    request.marketfeed_data = marketfeed;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    return c;
}

/* Values are hundredths. -1: the last message has no such field; -2: it is no field list. */
static int64_t value_of(struct pair_client *c, int32_t stream, int16_t id)
{
    const struct pair_stream *s = pair_stream(c, stream);
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_real real;

    if (s->container != RWF_TYPE_FIELD_LIST ||
        rwf_field_list_decode(rwf_bytes(s->payload, s->payload_length), NULL, &list) != RWF_OK)
        return -2;
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == id && rwf_real_decode(field.content, &real) == RWF_OK)
            return real.value;
    }
    return -1;
}

static bool heard_record(struct pair_client *c, int32_t stream, const char *text)
{
    const struct pair_stream *s = pair_stream(c, stream);

    return s->container == MF_CONTAINER &&
           rwf_bytes_equal(rwf_bytes(s->payload, s->payload_length), record(text));
}

static void records_reach_consumers_as_field_lists_and_late_ones_see_the_same(void **state)
{
    struct pair *pair = *state;
    struct pair_client *early = client_with(pair, 0, false, false);

    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00R7U+0.90F");
    pair_open(early, 5, "IBM.N");
    assert_int_equal(value_of(early, 5, 6), 100);
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6U+1.10F"));
    assert_string_equal(pair_heard(early, 5), "IU");
    assert_int_equal(value_of(early, 5, 6), 110);
    struct pair_client *late = client_with(pair, 1, false, false);
    pair_open(late, 5, "IBM.N");
    assert_string_equal(pair_heard(late, 5), "I");
    assert_int_equal(pair->provider.requests + pair->provider.reissues, 1);
    assert_int_equal(value_of(late, 5, 6), 110);
    assert_int_equal(value_of(late, 5, 7), 100); /* the trade before rippled */
    struct pair_client *native = client_with(pair, 2, true, false);
    pair_open(native, 5, "IBM.N");
    assert_true(heard_record(native, 5, "F340UXXGIBM.NU62U2R6U+1.10R7U+1.00F"));
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU3R6U+1.20F"));
    assert_true(heard_record(native, 5, "F316UXXGIBM.NU3R6U+1.20F"));
    assert_int_equal(value_of(late, 5, 6), 120);
}

static void a_record_that_cannot_be_read_makes_its_item_suspect_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_with(pair, 0, false, false);
    struct pair_client *native = client_with(pair, 1, true, false);

    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00F");
    pair_open(c, 5, "IBM.N");
    pair_open(native, 5, "IBM.N");
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6"));
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6"));
    say_update(pair, "IBM.N", MF_CONTAINER, record("F407UXXG1F")); /* a status, which is none */
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
    assert_int_equal(strlen(pair_heard(c, 5)), 2);
    assert_string_equal(pair_heard(native, 5), "IUUU");
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6U"));
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
    const struct p2ps_core_stats *stats = p2ps_core_stats(pair->sink);
    assert_int_equal(stats->marketfeed.refused, 3);
    assert_int_equal(stats->marketfeed.control, 1);
}

/* The stream that ends in the batch is still in the item's list when the record is refused. */
static void an_unreadable_record_that_takes_a_right_away_ends_that_stream_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_with(pair, 0, false, false);
    struct pair_client *denied = pair_client_comes(pair, 1);
    struct omm_login_request request = pair_login_request();

    request.user = rwf_text("mallory");
    request.single_open = request.allow_suspect_data = false;
    p2ps_client_login(pair->sink, pair->now_ns, denied->id, &request);
    pair_settle(pair);
    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00F");
    pair->provider.perm_data = "A";
    pair_open(c, 5, "IBM.N");
    pair_open(denied, 5, "IBM.N");
    pair->authority_denies_data = "B";
    pair->authority_denies_user = "mallory";
    pair->provider.perm_data = "B";
    give_image(pair, "F340UXXGIBM.NU62U1R6");
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_string_equal(pair_heard(denied, 5), "IX");
    assert_string_equal(pair_heard(c, 5), "I!");
    /* Nothing comes for a stream that no client has: the ended watch has a client's place no more.
     */
    for (int i = 2; i < PAIR_STREAMS; i++)
        assert_int_equal(c->streams[i].count + denied->streams[i].count, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 1);
}

static void market_price_goes_as_marketfeed_to_who_asked_for_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *plain = client_with(pair, 0, false, false);
    struct pair_client *c = client_with(pair, 1, false, true);
    static const uint8_t image[] = { 8, 0, 2, 0, 6, 2, 12, 100, 0, 22, 2, 12, 50 };
    static const uint8_t update[] = { 8, 0, 1, 0, 6, 2, 12, 110 };

    pair->provider.container = RWF_TYPE_FIELD_LIST;
    pair->provider.payload = rwf_bytes(image, sizeof(image));
    pair_open(plain, 5, "IBM.N");
    pair_open(c, 5, "IBM.N");
    assert_true(heard_record(c, 5, "F340UXXGIBM.NU0UR6U+1.00R22U+0.50F"));
    say_update(pair, "IBM.N", RWF_TYPE_FIELD_LIST, rwf_bytes(update, sizeof(update)));
    assert_true(heard_record(c, 5, "F316UXXGIBM.NR6U+1.10F"));
    assert_int_equal(value_of(plain, 5, 6), 110);
    assert_int_equal(p2ps_core_stats(pair->sink)->marketfeed.out, 2);
}

static void who_opens_a_page_late_sees_what_the_first_one_sees(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_with(pair, 0, false, false);
    static struct page early;
    static struct page late;
    char text[40];

    pair->provider.container = RWF_TYPE_ANSI_PAGE;
    pair->provider.payload = rwf_text("\x1b[2;10HFOREX");
    pair_open(c, 5, "PAGE");
    page_reset(&early);
    page_apply(&early, rwf_bytes(pair_stream(c, 5)->payload, pair_stream(c, 5)->payload_length));
    for (unsigned i = 0; i < 5; i++) {
        snprintf(text, sizeof(text), "\x1b[%um\x1b[%u;3H1.%u", i, 5 + i, i);
        say_update(pair, "PAGE", RWF_TYPE_ANSI_PAGE, rwf_text(text));
        page_apply(&early, rwf_text(text));
    }
    struct pair_client *other = client_with(pair, 1, false, false);
    pair_open(other, 5, "PAGE");
    assert_int_equal(pair->provider.requests + pair->provider.reissues, 1);
    const struct pair_stream *s = pair_stream(other, 5);
    assert_true(s->payload_length > 0);
    page_reset(&late);
    page_apply(&late, rwf_bytes(s->payload, s->payload_length));
    assert_memory_equal(&late, &early, sizeof(early));
}

/* ---- convertMarketfeed of src_dist ---- */

static struct rwf_dictionary *load_fields(void)
{
    struct rwf_dictionary_error error;
    struct rwf_dictionary *fields;

    assert_int_equal(rwf_dictionary_create(&fields), MD_OK);
    assert_int_equal(
        rwf_dictionary_load_fields(fields, "f", dictionary_text, strlen(dictionary_text), &error),
        MD_OK);
    return fields;
}

static struct rwf_dictionary *fields_of_source;

static int setup_source(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    fields_of_source = load_fields();
    pair->source_caches = true;
    pair->fields = fields_of_source;
    pair->converts_marketfeed = true;
    pair_create(pair, (struct p2ps_core_config){ .rules = { .allows_native = true } });
    *state = pair;
    return 0;
}

static int teardown_source(void **state)
{
    struct pair *pair = *state;

    pair_destroy(pair);
    rwf_dictionary_destroy(fields_of_source);
    free(pair);
    return 0;
}

static const struct mf_counts *source_counts(const struct pair *pair)
{
    return &srcdist_core_stats(pair->source)->marketfeed;
}

static void a_source_that_converts_sends_and_keeps_field_lists(void **state)
{
    struct pair *pair = *state;
    struct pair_client *native = client_with(pair, 0, true, false);

    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00R7U+0.90R99U1F");
    pair_open(native, 5, "IBM.N");
    assert_int_equal(value_of(native, 5, 6), 100);
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGXOX.NU2R6U+1.10F"));
    assert_int_equal(value_of(native, 5, 6), 110);
    assert_string_equal(pair_heard(native, 5), "IU");
    struct pair_client *late = client_with(pair, 1, false, false);
    pair_open(late, 5, "IBM.N");
    assert_int_equal(pair->provider.requests + pair->provider.reissues, 1);
    assert_int_equal(value_of(late, 5, 6), 110);
    assert_int_equal(value_of(late, 5, 7), 100);
    say_update(pair, "IBM.N", MF_CONTAINER, record("F407UXXG1F")); /* a status, which is none */
    assert_int_equal(source_counts(pair)->in, 2);
    assert_int_equal(source_counts(pair)->control, 1);
    assert_int_equal(source_counts(pair)->refused, 0);
    assert_int_equal(source_counts(pair)->other_name, 1);
    assert_int_equal(source_counts(pair)->losses.by_reason[MF_UNKNOWN], 1);
}

static void a_source_that_cannot_read_a_record_says_suspect_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_with(pair, 0, false, false);

    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00F");
    pair_open(c, 5, "IBM.N");
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6"));
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6"));
    assert_string_equal(pair_heard(c, 5), "I!");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6U+1.20F"));
    assert_int_equal(value_of(c, 5, 6), 120);
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_string_equal(pair_heard(c, 5), "I!Ui");
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6"));
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
    assert_int_equal(source_counts(pair)->refused, 3);
}

static void a_record_that_finds_no_room_is_converted_again_and_counted_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_with(pair, 0, false, false);
    struct rwf_encoder enc;

    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00F");
    pair_open(c, 5, "IBM.N");
    encode_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6U+1.10R99U1F"), &enc);
    pair->down.is_full = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(srcdist_provider_message(pair->source, pair->now_ns, pair->provider.id,
                                                  rwf_encoder_bytes(&enc)),
                         MD_ERR_FULL);
    pair->down.is_full = false;
    assert_int_equal(source_counts(pair)->in, 1);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
    assert_int_equal(value_of(c, 5, 6), 110);
    assert_int_equal(source_counts(pair)->in, 2);
    assert_int_equal(source_counts(pair)->losses.by_reason[MF_UNKNOWN], 1);
}

/* ---- rules of a reload ---- */

static bool only_joe_is_native(void *self, const char *user)
{
    (void)self;
    return strcmp(user, "joe") == 0;
}

static void a_reload_changes_what_the_next_login_and_the_next_update_mean(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_with(pair, 0, false, false);
    struct p2ps_rules rules = { .allows_native = true, .is_native = only_joe_is_native };

    give_image(pair, "F340UXXGIBM.NU62U1R6U+1.00R7U+0.90F");
    pair_open(c, 5, "IBM.N");
    p2ps_core_rules_set(pair->sink, &rules); /* no ripples */
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU2R6U+1.10F"));
    assert_int_equal(value_of(c, 5, 6), 110); /* a login that was there stays as it was */
    struct pair_client *native = client_with(pair, 1, false, false);
    pair_open(native, 5, "IBM.N");
    assert_true(heard_record(native, 5, "F340UXXGIBM.NU62U2R6U+1.10R7U+0.90F"));
    rules.allows_native = false;
    rules.ripples = ripples;
    p2ps_core_rules_set(pair->sink, &rules);
    say_update(pair, "IBM.N", MF_CONTAINER, record("F316UXXGIBM.NU3R6U+1.20F"));
    struct pair_client *last = client_with(pair, 2, true, false);
    pair_open(last, 5, "IBM.N");
    assert_int_equal(value_of(last, 5, 6), 120);
    assert_int_equal(value_of(last, 5, 7), 110);
    assert_int_equal(pair->provider.requests + pair->provider.reissues, 1);
}

static void src_dist_ripples_by_its_files_where_a_provider_has_no_dictionary(void **state)
{
    static const uint8_t image[] = { 8, 0, 2, 0, 6, 2, 12, 100, 0, 7, 2, 12, 90 };
    static const uint8_t update[] = { 8, 0, 1, 0, 6, 2, 12, 110 };
    struct pair *pair = calloc(1, sizeof(*pair));
    struct rwf_dictionary *fields = load_fields();

    (void)state;
    pair->source_caches = true;
    pair->fields = fields;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    pair->provider.container = RWF_TYPE_FIELD_LIST;
    pair->provider.payload = rwf_bytes(image, sizeof(image));
    struct pair_client *early = client_with(pair, 0, false, false);
    pair_open(early, 5, "IBM.N");
    say_update(pair, "IBM.N", RWF_TYPE_FIELD_LIST, rwf_bytes(update, sizeof(update)));
    struct pair_client *late = client_with(pair, 1, false, false);
    pair_open(late, 5, "IBM.N");
    assert_int_equal(pair->provider.requests + pair->provider.reissues, 1);
    assert_int_equal(value_of(late, 5, 6), 110);
    assert_int_equal(value_of(late, 5, 7), 100);
    pair_destroy(pair);
    rwf_dictionary_destroy(fields);
    free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            records_reach_consumers_as_field_lists_and_late_ones_see_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(a_record_that_cannot_be_read_makes_its_item_suspect_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_unreadable_record_that_takes_a_right_away_ends_that_stream_once, setup, teardown),
        cmocka_unit_test_setup_teardown(market_price_goes_as_marketfeed_to_who_asked_for_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_source_that_converts_sends_and_keeps_field_lists,
                                        setup_source, teardown_source),
        cmocka_unit_test_setup_teardown(a_source_that_cannot_read_a_record_says_suspect_once,
                                        setup_source, teardown_source),
        cmocka_unit_test_setup_teardown(
            a_record_that_finds_no_room_is_converted_again_and_counted_once, setup_source,
            teardown_source),
        cmocka_unit_test_setup_teardown(
            a_reload_changes_what_the_next_login_and_the_next_update_mean, setup, teardown),
        cmocka_unit_test(src_dist_ripples_by_its_files_where_a_provider_has_no_dictionary),
        cmocka_unit_test_setup_teardown(who_opens_a_page_late_sees_what_the_first_one_sees, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
