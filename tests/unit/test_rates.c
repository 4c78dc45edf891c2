/* test_rates.c - the lines of filterFile: what they say of an item, and what is wrong with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rates/rates.h"

static char found[1024];

static void find(void *arg, int line, const char *text)
{
    size_t at = strlen(found);

    (void)arg;
    snprintf(found + at, sizeof(found) - at, "%d %s\n", line, text);
}

static struct rwf_dictionary *dictionary(void)
{
    static const char text[] = "TRDPRC_1 \"\" 6 NULL PRICE 17 REAL64 7\n"
                               "BID \"\" 22 NULL PRICE 17 REAL64 7\n";
    struct rwf_dictionary_error error;
    struct rwf_dictionary *out;

    assert_int_equal(rwf_dictionary_create(&out), MD_OK);
    assert_int_equal(rwf_dictionary_load_fields(out, "f", text, sizeof(text) - 1, &error), MD_OK);
    return out;
}

static struct rates *rates_of(const char *text)
{
    struct rwf_dictionary *fields = dictionary();
    struct rates *rates;

    found[0] = 0;
    if (rates_create(text, strlen(text), fields, find, NULL, &rates) != MD_OK)
        fail_msg("%s", found);
    rwf_dictionary_destroy(fields);
    return rates;
}

static struct rates_choice choose(const struct rates *rates, const char *service, const char *name,
                                  uint8_t domain)
{
    struct rates_choice choice;

    rates_choose(rates, rwf_text(service), rwf_text(name), domain, &choice);
    return choice;
}

static void the_first_line_that_fits_decides_for_each_kind(void **state)
{
    struct rates *rates = rates_of("# what goes out\n"
                                   "interval FEED *.N   6            100ms\n"
                                   "interval FEED 0#*   *            0  # a chain: # in a name\n"
                                   "interval *    *     MARKET_PRICE 1s\n"
                                   "keep     FEED IBM.? *            BID, 25\n"
                                   "drop     FEED *     6            6 7\n"
                                   "types    *    IBM.N *            TRADE 1\n");

    (void)state;
    struct rates_choice ibm = choose(rates, "FEED", "IBM.N", 6);
    assert_int_equal(ibm.interval_ms, 100);
    assert_true(rates_fields_keep(ibm.fields, 22));
    assert_true(rates_fields_keep(ibm.fields, 25));
    assert_false(rates_fields_keep(ibm.fields, 6));
    assert_true(rates_types_have(ibm.types, RWF_UPDATE_TRADE));
    assert_true(rates_types_have(ibm.types, RWF_UPDATE_QUOTE));
    assert_false(rates_types_have(ibm.types, RWF_UPDATE_UNSPECIFIED));
    struct rates_choice chain = choose(rates, "FEED", "0#.FTSE", 6);
    assert_int_equal(chain.interval_ms, 0);
    assert_false(rates_fields_keep(chain.fields, 7));
    assert_true(rates_fields_keep(chain.fields, 22));
    assert_null(chain.types);
    struct rates_choice other = choose(rates, "NEWS", "MSFT.O", 6);
    assert_int_equal(other.interval_ms, 1000);
    assert_null(other.fields);
    assert_int_equal(choose(rates, "NEWS", "MSFT.O", 7).interval_ms, 0);
    rates_destroy(rates);
}

static void a_line_of_all_fields_or_types_makes_an_exception(void **state)
{
    struct rates *rates = rates_of("keep * IBM.N * *\ntypes * IBM.N * *\ndrop * * * 6\n"
                                   "types * * * QUOTE\n");

    (void)state;
    assert_null(choose(rates, "FEED", "IBM.N", 6).fields);
    assert_null(choose(rates, "FEED", "IBM.N", 6).types);
    assert_non_null(choose(rates, "FEED", "IBM.O", 6).fields);
    rates_destroy(rates);
}

static void a_mistake_is_told_with_its_line(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "\nhold * * * 5\n", "2 hold: expected keep, drop, types or interval\n" },
        { "keep * *\n",
          "1 keep: expected a service, a pattern of item names, a domain and more\n" },
        { "keep * * * BIDD\n", "1 field BIDD is not in the dictionary\n" },
        { "drop * * *\n", "1 no field is named\n" },
        { "types * * * SALE\n",
          "1 update type SALE: expected a number up to 255, or a name as TRADE\n" },
        { "types * * 300 1\n",
          "1 domain 300: expected a number up to 255, a name as MARKET_PRICE, or *\n" },
        { "interval * * * 90s\n", "1 time 90s: expected milliseconds up to 60000, or with a unit "
                                  "as 100ms or 1s\n" },
        { "interval * * * 5 6\n", "1 6: expected nothing behind the time\n" },
    };
    struct rwf_dictionary *fields = dictionary();
    struct rates *rates;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        found[0] = 0;
        assert_int_equal(
            rates_create(cases[i].text, strlen(cases[i].text), fields, find, NULL, &rates),
            MD_ERR_MALFORMED);
        assert_null(rates);
        assert_string_equal(found, cases[i].says);
    }
    found[0] = 0;
    assert_int_equal(rates_create("keep * * * BID", 14, NULL, find, NULL, &rates),
                     MD_ERR_MALFORMED);
    assert_string_equal(found, "1 field BID: a name needs a field dictionary (dictionaryPath); "
                               "write its number\n");
    rwf_dictionary_destroy(fields);
}

static void a_line_of_a_parameter_stands_behind_all_others(void **state)
{
    struct rates *rates = rates_of("interval * IBM.N * 0\n");

    (void)state;
    assert_int_equal(rates_add(rates, "interval * * * 250", NULL, find, NULL), MD_OK);
    assert_int_equal(choose(rates, "FEED", "IBM.N", 6).interval_ms, 0);
    assert_int_equal(choose(rates, "FEED", "IBM.O", 6).interval_ms, 250);
    rates_destroy(rates);
}

/* ---- messages ---- */

static struct rwf_bytes update_of(uint8_t *out, size_t size, const int16_t *ids, uint8_t type)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .flags = RWF_UPDATE_HAS_SEQ_NUM,
                           .seq_num = 4711,
                           .update_type = type,
                           .container = RWF_TYPE_FIELD_LIST };

    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (; *ids; ids++)
        rwf_field_add_uint(&enc, *ids, (uint64_t)*ids);
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void a_field_list_loses_what_is_not_kept(void **state)
{
    struct rates *rates = rates_of("keep * * * 22 25\n");
    struct rates_choice choice = choose(rates, "FEED", "IBM.N", 6);
    uint8_t bytes[256], out[256 + RATES_FILTER_MORE];
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_msg msg;
    size_t length = 0;

    (void)state;
    struct rwf_bytes update =
        update_of(bytes, sizeof(bytes), (const int16_t[]){ 6, 22, 7, 25, 0 }, 1);
    assert_int_equal(rates_filter(choice.fields, update, out, sizeof(out), &length), RATES_LESS);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_int_equal(msg.seq_num, 4711);
    assert_true(rwf_field_list_decode(msg.payload, NULL, &list) >= 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_int_equal(field.id, 22);
    update = update_of(bytes, sizeof(bytes), (const int16_t[]){ 22, 25, 0 }, 1);
    assert_int_equal(rates_filter(choice.fields, update, out, sizeof(out), &length),
                     RATES_AS_IT_IS);
    update = update_of(bytes, sizeof(bytes), (const int16_t[]){ 6, 7, 0 }, 1);
    assert_int_equal(rates_filter(choice.fields, update, out, sizeof(out), &length), RATES_NOTHING);
    rates_destroy(rates);
}

static void rows_and_summary_of_a_map_lose_it_too(void **state)
{
    struct rates *rates = rates_of("drop * * * 6\n");
    struct rates_choice choice = choose(rates, "FEED", "IBM.N", 7);
    uint8_t bytes[256], out[256 + RATES_FILTER_MORE];
    struct rwf_encoder enc;
    struct rwf_field_list list;
    struct rwf_map map;
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_text("A") };
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = RWF_DOMAIN_MARKET_BY_ORDER,
                           .container = RWF_TYPE_MAP };
    const struct rwf_map_info info = { .flags = RWF_MAP_HAS_SUMMARY | RWF_MAP_HAS_HINT,
                                       .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_FIELD_LIST,
                                       .hint = 9 };
    size_t length = 0;

    (void)state;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, 6, 1);
    rwf_field_list_finish(&enc);
    rwf_summary_finish(&enc);
    rwf_map_entry_start(&enc, &entry);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, 22, 1);
    rwf_field_add_uint(&enc, 6, 1);
    rwf_field_list_finish(&enc);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(
        rates_filter(choice.fields, rwf_encoder_bytes(&enc), out, sizeof(out), &length),
        RATES_LESS);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_true(rwf_map_decode(msg.payload, &map) >= 0);
    assert_int_equal(map.info.hint, 9);
    assert_true(rwf_field_list_decode(map.info.summary, NULL, &list) >= 0);
    assert_int_equal(list.count, 0);
    assert_int_equal(rwf_map_next(&map, &entry), 1);
    assert_true(rwf_field_list_decode(entry.data, NULL, &list) >= 0);
    assert_int_equal(list.count, 1);
    rates_destroy(rates);
}

static void exempt_are_the_named_types_and_updates_with_a_named_field(void **state)
{
    struct rates *rates = rates_of("");
    struct rwf_dictionary *fields = dictionary();
    uint8_t bytes[256];
    struct rwf_msg msg;

    (void)state;
    assert_int_equal(rates_exempt(rates, "2, 6,7 QUOTES_TRADE", "TRDPRC_1", fields, find, NULL),
                     MD_OK);
    rwf_msg_decode(update_of(bytes, sizeof(bytes), (const int16_t[]){ 22, 0 }, 9), &msg);
    assert_true(rates_is_exempt(rates, &msg));
    rwf_msg_decode(update_of(bytes, sizeof(bytes), (const int16_t[]){ 22, 0 }, 0), &msg);
    assert_false(rates_is_exempt(rates, &msg));
    rwf_msg_decode(update_of(bytes, sizeof(bytes), (const int16_t[]){ 22, 6, 0 }, 0), &msg);
    assert_true(rates_is_exempt(rates, &msg));
    rwf_dictionary_destroy(fields);
    rates_destroy(rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_that_fits_decides_for_each_kind),
        cmocka_unit_test(a_line_of_all_fields_or_types_makes_an_exception),
        cmocka_unit_test(a_mistake_is_told_with_its_line),
        cmocka_unit_test(a_line_of_a_parameter_stands_behind_all_others),
        cmocka_unit_test(a_field_list_loses_what_is_not_kept),
        cmocka_unit_test(rows_and_summary_of_a_map_lose_it_too),
        cmocka_unit_test(exempt_are_the_named_types_and_updates_with_a_named_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
