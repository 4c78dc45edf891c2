/* test_tools_data.c - what the tools send and how they judge it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "itemlist.h"
#include "latency.h"
#include "sample.h"
#include "schedule.h"
#include "seqdata.h"

/* The stock update of the published tests, as the vendor's encoder writes it. */
static const char stock[] =
    "08000c0016040c009b820019040c009b87001e020e01001f020e010006040c009b8400b2020e640020050e00850aa8"
    "000b030c02170012030f340c000e0101001004100b07d500830101";

static size_t unhex(const char *text, uint8_t *out)
{
    size_t n = 0;

    for (; text[0] && text[1]; text += 2) {
        unsigned byte = 0;
        assert_int_equal(sscanf(text, "%2x", &byte), 1);
        out[n++] = (uint8_t)byte;
    }
    return n;
}

static void the_first_update_of_the_sample_file_is_the_stock_update(void **state)
{
    struct sample sample;
    char error[256];
    uint8_t wanted[128];

    (void)state;
    int rc = sample_load(&sample, NULL, RMDS_SOURCE_DIR "/conf/sample.xml", error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(rc, MD_OK);
    const struct sample_item *item = sample_find(&sample, "GOOG.O");
    assert_non_null(item);
    assert_int_equal(unhex(stock, wanted), 74);
    assert_int_equal(item->updates[0].length, 74);
    assert_memory_equal(item->updates[0].payload, wanted, 74);
    assert_int_equal(item->update_count, 8);
    for (uint32_t i = 0; i < item->update_count; i++)
        assert_int_equal(item->updates[i].length, 74);
    sample_fini(&sample);
}

static void an_update_of_the_convention_is_a_stock_update(void **state)
{
    uint8_t wanted[128], update[SEQDATA_UPDATE_BYTES];
    uint64_t item = seqdata_item("GOOG.O", 6);

    (void)state;
    unhex(stock, wanted);
    for (uint32_t count = 0; count < 20000; count++) {
        struct rwf_field_list a, b;
        struct rwf_field mine, theirs;
        seqdata_update(item, count, update);
        assert_int_equal(rwf_field_list_decode(rwf_bytes(update, sizeof(update)), NULL, &a),
                         RWF_OK);
        assert_int_equal(rwf_field_list_decode(rwf_bytes(wanted, 74), NULL, &b), RWF_OK);
        while (rwf_field_list_next(&b, &theirs) > 0) {
            assert_int_equal(rwf_field_list_next(&a, &mine), 1);
            assert_int_equal(mine.id, theirs.id);
        }
        assert_int_equal(rwf_field_list_next(&a, &mine), 0);
    }
}

static void every_value_of_the_convention_is_in_its_shortest_form(void **state)
{
    static const int16_t reals[] = { 22, 25, 30, 31, 6, 178, 32, 11 };
    uint8_t update[SEQDATA_UPDATE_BYTES], again[16];
    uint64_t item = seqdata_item("X", 1);

    (void)state;
    for (uint32_t count = 0; count < 50000; count += 7) {
        struct rwf_field_list list;
        struct rwf_field field;
        seqdata_update(item, count * 131, update);
        (void)rwf_field_list_decode(rwf_bytes(update, sizeof(update)), NULL, &list);
        while (rwf_field_list_next(&list, &field) > 0) {
            for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
                struct rwf_value value;
                size_t length;
                if (field.id != reals[i])
                    continue;
                assert_int_equal(rwf_value_decode(RWF_TYPE_REAL, field.content, &value), RWF_OK);
                assert_true(value.real.value > 0 || field.id == 11);
                assert_int_equal(rwf_value_encode(&value, again, sizeof(again), &length), RWF_OK);
                assert_int_equal(length, field.content.length);
            }
        }
    }
}

/* The value of a field of a field list; 0: it is not there. */
static int64_t field_of(struct rwf_bytes payload, int16_t fid)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_value value;

    (void)rwf_field_list_decode(payload, NULL, &list);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == fid && rwf_value_decode(RWF_TYPE_REAL, field.content, &value) == RWF_OK)
            return value.real.value;
    }
    return 0;
}

static void prices_of_the_convention_walk_between_low_and_high(void **state)
{
    static const char *names[] = { "X", "DEMO1.O", "VEGA.O", "LYRA.N" };
    uint8_t image[SEQDATA_IMAGE_MAX];
    uint8_t update[SEQDATA_UPDATE_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i]);
        uint64_t item = seqdata_item(names[i], length);
        struct rwf_bytes first = rwf_bytes(image, seqdata_image(item, names[i], length, 0, image));
        int64_t before = field_of(first, 22);
        int64_t high = field_of(first, 12), low = field_of(first, 13), close = field_of(first, 21);
        for (uint32_t count = 1; count < 20000; count++) {
            struct rwf_bytes one = rwf_bytes(update, sizeof(update));
            seqdata_update(item, count, update);
            int64_t bid = field_of(one, 22), ask = field_of(one, 25), last = field_of(one, 6);
            assert_in_range(bid - before + 8, 0, 16);
            assert_true(low <= bid && bid <= last && last <= ask && ask <= high);
            assert_int_equal(field_of(one, 11), last - close);
            before = bid;
        }
    }
}

static void the_sequence_number_is_carried_modulo_two_to_the_22nd(void **state)
{
    uint8_t update[SEQDATA_UPDATE_BYTES];
    uint64_t item = seqdata_item("X", 1);
    uint32_t count;
    int fid;

    (void)state;
    static const uint32_t counts[] = { 0, 1, 0x3fffff, 0x400000, 0x400001, 0x7fffff, UINT32_MAX };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        seqdata_update(item, counts[i], update);
        assert_int_equal(
            seqdata_update_check(item, rwf_bytes(update, sizeof(update)), false, &count, &fid),
            SEQDATA_GOOD);
        assert_int_equal(count, counts[i] & 0x3fffff);
    }
}

static void each_byte_of_an_update_matters(void **state)
{
    uint8_t update[SEQDATA_UPDATE_BYTES];
    uint64_t item = seqdata_item("IBM.N", 5);
    uint32_t count;
    int fid;

    (void)state;
    for (size_t at = 0; at < sizeof(update); at++) {
        seqdata_update(item, 77, update);
        update[at] ^= 1;
        assert_int_not_equal(
            seqdata_update_check(item, rwf_bytes(update, sizeof(update)), false, &count, &fid),
            SEQDATA_GOOD);
    }
    seqdata_update(item, 77, update);
    assert_int_equal(
        seqdata_update_check(item, rwf_bytes(update, sizeof(update)), false, &count, &fid),
        SEQDATA_GOOD);
    assert_int_not_equal(seqdata_update_check(seqdata_item("IBM.M", 5),
                                              rwf_bytes(update, sizeof(update)), false, &count,
                                              &fid),
                         SEQDATA_GOOD);
}

static void an_image_of_seventy_fields_follows_the_updates(void **state)
{
    uint8_t image[SEQDATA_IMAGE_MAX], later[SEQDATA_IMAGE_MAX], update[SEQDATA_UPDATE_BYTES];
    uint64_t item = seqdata_item("VOD.L", 5);
    struct rwf_field_list list;
    struct rwf_field field;
    size_t fields = 0;
    uint32_t count;
    int fid;

    (void)state;
    size_t length = seqdata_image(item, "VOD.L", 5, 100, image);
    (void)rwf_field_list_decode(rwf_bytes(image, length), NULL, &list);
    while (rwf_field_list_next(&list, &field) > 0)
        fields++;
    assert_int_equal(fields, 70);
    assert_int_equal(
        seqdata_image_check(item, "VOD.L", 5, rwf_bytes(image, length), false, &count, &fid),
        SEQDATA_GOOD);
    assert_int_equal(count, 100);
    /* A cache puts the fields of update 101 into image 100: that is image 101. */
    seqdata_update(item, 101, update);
    memcpy(image + 3, update + 3, sizeof(update) - 3);
    assert_int_equal(seqdata_image(item, "VOD.L", 5, 101, later), length);
    assert_memory_equal(image, later, length);
}

static void an_image_that_lacks_a_field_or_has_a_wrong_one_is_found_out(void **state)
{
    uint8_t image[SEQDATA_IMAGE_MAX];
    uint64_t item = seqdata_item("VOD.L", 5);
    size_t length = seqdata_image(item, "VOD.L", 5, 9, image);
    uint32_t count;
    int fid;

    (void)state;
    image[2]--; /* one field fewer */
    assert_int_equal(
        seqdata_image_check(item, "VOD.L", 5, rwf_bytes(image, length - 4), false, &count, &fid),
        SEQDATA_MISSING);
    image[2]++;
    image[length - 1] ^= 1;
    assert_int_equal(
        seqdata_image_check(item, "VOD.L", 5, rwf_bytes(image, length), false, &count, &fid),
        SEQDATA_WRONG_VALUE);
    assert_int_equal(fid, 3859);
}

static void steps_between_counts_are_told_apart(void **state)
{
    uint32_t by;

    (void)state;
    assert_int_equal(seqdata_step(5, 6, &by), SEQDATA_NEXT);
    assert_int_equal(seqdata_step(0x3fffff, 0, &by), SEQDATA_NEXT);
    assert_int_equal(seqdata_step(5, 5, &by), SEQDATA_DUPLICATE);
    assert_int_equal(seqdata_step(5, 9, &by), SEQDATA_GAP);
    assert_int_equal(by, 3);
    assert_int_equal(seqdata_step(0x3ffffe, 1, &by), SEQDATA_GAP);
    assert_int_equal(by, 2);
    assert_int_equal(seqdata_step(9, 5, &by), SEQDATA_REORDER);
    assert_int_equal(by, 4);
}

static void bursts_are_even_and_add_up_to_the_rate(void **state)
{
    static const struct {
        uint64_t rate;
        uint32_t ticks;
    } cases[] = { { 1000, 1000 },    { 10, 500 }, { 7, 3 },    { 1000003, 500 },
                  { 3000000, 1000 }, { 0, 500 },  { 1, 1000 }, { 999, 1000 } };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct schedule schedule;
        uint64_t sum = 0, low = UINT64_MAX, high = 0;
        schedule_start(&schedule, cases[c].rate, cases[c].ticks, 1000);
        for (uint32_t i = 0; i < 10 * cases[c].ticks; i++) {
            uint64_t share = schedule_share(&schedule, cases[c].rate);
            sum += share;
            low = share < low ? share : low;
            high = share > high ? share : high;
            schedule_advance(&schedule);
        }
        assert_int_equal(sum, 10 * cases[c].rate);
        assert_true(high - low <= 1);
        assert_int_equal(schedule_due_ns(&schedule),
                         1000 + 1000000000ull / cases[c].ticks + 10000000000ull);
    }
}

static void a_schedule_gives_up_only_what_is_long_overdue(void **state)
{
    struct schedule schedule;

    (void)state;
    schedule_start(&schedule, 1000, 100, 0);
    assert_int_equal(schedule_skip(&schedule, 900000000, 1000000000), 0);
    assert_int_equal(schedule_skip(&schedule, 3010000000, 1000000000), 3000);
    assert_int_equal(schedule_due_ns(&schedule), 3010000000);
}

static void moments_and_percentiles_are_exact(void **state)
{
    struct latency *latency;
    struct latency_summary s;

    (void)state;
    assert_int_equal(latency_create(&latency), MD_OK);
    for (int i = 1; i <= 1000; i++)
        latency_record(latency, i);
    latency_record(latency, -5);
    latency_record(latency, 250000);
    latency_summary(latency, &s);
    assert_int_equal(s.count, 1002);
    assert_int_equal(s.negative, 1);
    assert_int_equal(s.min_us, 0);
    assert_int_equal(s.max_us, 250000);
    assert_int_equal(s.p50_us, 500);
    assert_int_equal(s.p90_us, 901);
    assert_int_equal(s.p9999_us, 250000);
    assert_true(fabs(s.mean_us - (500500.0 + 250000.0) / 1002) < 1e-6);
    latency_destroy(latency);
}

static void item_lists_of_both_forms_are_read(void **state)
{
    static const char plain[] = "# list\n! too\n\nA\n  B  domain=7 service=X\nA\r\nC";
    static const char xml[] = "<itemList>\n <item domain=\"MarketPrice\" name=\"A\"/>\n"
                              " <item domain=\"MarketByOrder\" name=\"B\" generate=\"true\"/>\n"
                              "</itemList>";
    struct itemlist list;
    char error[256];

    (void)state;
    itemlist_init(&list);
    assert_int_equal(itemlist_parse(&list, "f", plain, strlen(plain), error, sizeof(error)), MD_OK);
    assert_int_equal(list.count, 4);
    assert_int_equal(itemlist_deduplicate(&list), MD_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.duplicate_count, 1);
    assert_string_equal(list.entries[1].name, "B");
    assert_int_equal(list.entries[1].domain, 7);
    assert_string_equal(list.entries[1].service, "X");
    itemlist_fini(&list);
    assert_int_equal(itemlist_parse(&list, "f", xml, strlen(xml), error, sizeof(error)), MD_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.entries[1].domain, 7);
    itemlist_fini(&list);
    assert_int_equal(itemlist_parse(&list, "f", "A domain=999\n", 13, error, sizeof(error)),
                     MD_ERR_MALFORMED);
    assert_non_null(strstr(error, "f:1: "));
    itemlist_fini(&list);
}

static void sample_files_that_are_wrong_are_refused_with_a_place(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        { "", "f:1: no <sample>" },
        { "<!DOCTYPE x><sample/>", "f:1: document types" },
        { "<sample>\n<item name=\"A\">\n<update><field id=\"99999\" type=\"INT\" value=\"1\"/>",
          "f:3: a field needs id" },
        { "<sample><item name=\"A\"><update><field id=\"1\" type=\"REAL\" value=\"x\"/>",
          "f:1: the value does not fit" },
        { "<sample><item name=\"A\"><update><field id=\"1\" value=\"1\"/>", "f:1: unknown type" },
        { "<sample><item name=\"&bad;\"/></sample>", "f:1: a value" },
        { "<sample><item name=\"A\"></sample>", "f:1: a closing tag" },
        { "<sample><item name='A'/></sample>", "f:1: expected a value in double quotes" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample sample;
        char error[256];
        assert_int_not_equal(sample_parse(&sample, NULL, "f", cases[i].text, strlen(cases[i].text),
                                          error, sizeof(error)),
                             MD_OK);
        if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", error, cases[i].error);
    }
}

static void the_format_of_the_performance_tools_is_read(void **state)
{
    static const char text[] =
        "<?xml version=\"1.0\"?><msgFormat><marketPriceMsgList><refreshMsg><dataBody>"
        "<fieldList entryCount=\"2\"><fieldEntry fieldId=\"22\" dataType=\"RSSL_DT_REAL\" "
        "data=\"398.10\"/><fieldEntry fieldId=\"16\" dataType=\"RSSL_DT_DATE\" "
        "data=\"11/16/2005\"/></fieldList></dataBody></refreshMsg><updateMsg><dataBody><fieldList>"
        "<fieldEntry fieldId=\"18\" dataType=\"RSSL_DT_TIME\" data=\"15:52:12:000\"/>"
        "</fieldList></dataBody></updateMsg></marketPriceMsgList></msgFormat>";
    struct sample sample;
    char error[256];

    (void)state;
    int rc = sample_parse(&sample, NULL, "f", text, strlen(text), error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(rc, MD_OK);
    assert_int_equal(sample.count, 1);
    assert_int_equal(sample.items[0].image_length, 3 + 7 + 7);
    assert_int_equal(sample.items[0].update_count, 1);
    sample_fini(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_update_of_the_sample_file_is_the_stock_update),
        cmocka_unit_test(an_update_of_the_convention_is_a_stock_update),
        cmocka_unit_test(every_value_of_the_convention_is_in_its_shortest_form),
        cmocka_unit_test(prices_of_the_convention_walk_between_low_and_high),
        cmocka_unit_test(the_sequence_number_is_carried_modulo_two_to_the_22nd),
        cmocka_unit_test(each_byte_of_an_update_matters),
        cmocka_unit_test(an_image_of_seventy_fields_follows_the_updates),
        cmocka_unit_test(an_image_that_lacks_a_field_or_has_a_wrong_one_is_found_out),
        cmocka_unit_test(steps_between_counts_are_told_apart),
        cmocka_unit_test(bursts_are_even_and_add_up_to_the_rate),
        cmocka_unit_test(a_schedule_gives_up_only_what_is_long_overdue),
        cmocka_unit_test(moments_and_percentiles_are_exact),
        cmocka_unit_test(item_lists_of_both_forms_are_read),
        cmocka_unit_test(sample_files_that_are_wrong_are_refused_with_a_place),
        cmocka_unit_test(the_format_of_the_performance_tools_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
