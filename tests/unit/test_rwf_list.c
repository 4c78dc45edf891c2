/* test_rwf_list.c - every way to add a field, an element, an item, and to read it back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rmds/rwf.h"

#define VALUES 12

static const struct rwf_date date = { 2024, 2, 29 };
static const struct rwf_time time_of_day = { 9, 30, 15, 250, 1, 0 };
static const struct rwf_datetime datetime = { { 2024, 2, 29 }, { 9, 30, 15, 0, 0, 0 } };
static const struct rwf_real real = { 39810, 12 };
static const struct rwf_real infinite = { 0, RWF_HINT_INFINITY };

/* One value of each primitive. */
static void values(struct rwf_value *v)
{
    v[0] = rwf_value_int(-70000);
    v[1] = rwf_value_uint(UINT64_MAX);
    v[2] = (struct rwf_value){ .type = RWF_TYPE_FLOAT, .f = 1.5f };
    v[3] = (struct rwf_value){ .type = RWF_TYPE_DOUBLE, .d = -0.1 };
    v[4] = rwf_value_real(-5, RWF_HINT_EXP_0);
    v[5] = (struct rwf_value){ .type = RWF_TYPE_DATE, .date = date };
    v[6] = (struct rwf_value){ .type = RWF_TYPE_TIME, .time = time_of_day };
    v[7] = (struct rwf_value){ .type = RWF_TYPE_DATETIME, .datetime = datetime };
    v[8] = (struct rwf_value){ .type = RWF_TYPE_QOS, .qos = { 3, 3, true, 10, 500 } };
    v[9] = (struct rwf_value){ .type = RWF_TYPE_STATE,
                               .state = { RWF_STREAM_OPEN, RWF_DATA_OK, 0, rwf_text("fine") } };
    v[10] = rwf_value_enum(840);
    v[11] = rwf_value_bytes(RWF_TYPE_RMTES, rwf_text("text"));
}

static void every_value_comes_back_equal_and_unlike_the_others(void **state)
{
    struct rwf_value v[VALUES];
    struct rwf_value got;
    uint8_t bytes[64];
    size_t length;
    (void)state;

    values(v);
    for (unsigned i = 0; i < VALUES; i++) {
        assert_int_equal(rwf_value_encode(&v[i], bytes, sizeof(bytes), &length), RWF_OK);
        assert_int_equal(rwf_value_decode(v[i].type, rwf_bytes(bytes, length), &got), RWF_OK);
        for (unsigned j = 0; j < VALUES; j++)
            assert_int_equal(rwf_value_equal(&got, &v[j]), i == j);
        got = rwf_value_blank(v[i].type);
        assert_false(rwf_value_equal(&got, &v[i]));
        assert_int_equal(rwf_value_encode(&got, bytes, 0, &length), RWF_OK);
        assert_int_equal(length, 0);
    }
}

static void typed_and_general_ways_write_the_same_fields(void **state)
{
    struct rwf_value v[VALUES];
    uint8_t typed[200];
    uint8_t general[200];
    struct rwf_encoder a;
    struct rwf_encoder b;
    (void)state;

    values(v);
    v[9] = rwf_value_real(0, RWF_HINT_INFINITY);
    rwf_encoder_init(&a, typed, sizeof(typed));
    rwf_field_list_start(&a, NULL);
    rwf_field_add_int(&a, 0, v[0].i);
    rwf_field_add_uint(&a, 1, v[1].u);
    rwf_field_add_real(&a, 4, &v[4].real);
    rwf_field_add_date(&a, 5, &date);
    rwf_field_add_time(&a, 6, &time_of_day);
    rwf_field_add_datetime(&a, 7, &datetime);
    rwf_field_add_real(&a, 9, &infinite);
    rwf_field_add_enum(&a, 10, 840);
    rwf_field_add_bytes(&a, 11, rwf_text("text"));
    assert_int_equal(rwf_field_list_finish(&a), RWF_OK);

    rwf_encoder_init(&b, general, sizeof(general));
    rwf_field_list_start(&b, NULL);
    for (int16_t i = 0; i < VALUES; i++) {
        if (i == 2 || i == 3 || i == 8)
            continue;
        rwf_field_add(&b, i, &v[i]);
    }
    assert_int_equal(rwf_field_list_finish(&b), RWF_OK);
    assert_true(rwf_bytes_equal(rwf_encoder_bytes(&a), rwf_encoder_bytes(&b)));
}

/* The short way of adding needs room to spare; the last bytes of a buffer are filled all the same.
 */
static void typed_fields_fill_a_buffer_to_its_last_byte(void **state)
{
    uint8_t bytes[200];
    struct rwf_encoder enc;
    size_t length = 0;
    (void)state;

    for (unsigned round = 0; round < 2; round++) {
        rwf_encoder_init(&enc, bytes, round == 0 ? sizeof(bytes) : length);
        rwf_field_list_start(&enc, NULL);
        rwf_field_add_int(&enc, 1, -1);
        rwf_field_add_uint(&enc, 2, 1);
        rwf_field_add_enum(&enc, 3, 1);
        rwf_field_add_real(&enc, 4, &real);
        rwf_field_add_date(&enc, 5, &date);
        rwf_field_add_time(&enc, 6, &time_of_day);
        rwf_field_add_datetime(&enc, 7, &datetime);
        assert_int_equal(rwf_field_list_finish(&enc), RWF_OK);
        length = rwf_encoder_bytes(&enc).length;
    }
    assert_int_equal(rwf_encoder_left(&enc), 0);
}

static void elements_are_found_by_name(void **state)
{
    const struct rwf_qos qos = { .timeliness = 1, .rate = 1 };
    const struct rwf_state st = { RWF_STREAM_OPEN, RWF_DATA_OK, 0, rwf_text("OK") };
    struct rwf_element_list list;
    struct rwf_element element;
    struct rwf_encoder enc;
    uint8_t bytes[300];
    unsigned seen = 0;
    (void)state;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_int(&enc, "Type", 1);
    rwf_element_add_uint(&enc, "ServiceState", 1);
    rwf_element_add_ascii(&enc, "Name", rwf_text("DIRECT_FEED"));
    rwf_element_add_qos(&enc, "QoS", &qos);
    rwf_element_add_state(&enc, "Status", &st);
    assert_int_equal(rwf_element_list_finish(&enc), RWF_OK);

    assert_int_equal(rwf_element_list_decode(rwf_encoder_bytes(&enc), NULL, &list), RWF_OK);
    while (rwf_element_list_next(&list, &element) > 0) {
        if (rwf_element_is(&element, "Name")) {
            assert_true(rwf_bytes_equal(element.content, rwf_text("DIRECT_FEED")));
            seen++;
        }
        assert_false(rwf_element_is(&element, "Nam"));
    }
    assert_int_equal(seen, 1);
    assert_int_equal(list.count, 5);
}

/* A state of more than 253 bytes takes the long form of the length, wherever it stands. */
static void a_long_state_is_carried_in_fields_elements_and_arrays(void **state)
{
    static const char text[400] = "x";
    struct rwf_value v = { .type = RWF_TYPE_STATE,
                           .state = { RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, 3,
                                      rwf_bytes(text, sizeof(text)) } };
    struct rwf_element_list list;
    struct rwf_element element;
    struct rwf_array array;
    struct rwf_bytes item;
    struct rwf_value got;
    struct rwf_encoder enc;
    uint8_t bytes[1200];
    (void)state;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add(&enc, rwf_text("one"), &v);
    rwf_element_start(&enc, rwf_text("array"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_STATE, 0);
    rwf_array_add(&enc, &v);
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    assert_int_equal(rwf_element_list_finish(&enc), RWF_OK);

    assert_int_equal(rwf_element_list_decode(rwf_encoder_bytes(&enc), NULL, &list), RWF_OK);
    assert_int_equal(rwf_element_list_next(&list, &element), 1);
    assert_int_equal(rwf_value_decode(element.type, element.content, &got), RWF_OK);
    assert_true(rwf_value_equal(&got, &v));
    assert_int_equal(rwf_element_list_next(&list, &element), 1);
    assert_int_equal(rwf_array_decode(element.content, &array), RWF_OK);
    assert_int_equal(rwf_array_next(&array, &item), 1);
    assert_int_equal(rwf_value_decode(array.item_type, item, &got), RWF_OK);
    assert_true(rwf_value_equal(&got, &v));
    assert_int_equal(rwf_array_next(&array, &item), 0);
}

static struct rwf_bytes array_of(uint8_t *bytes, size_t size, unsigned type, uint16_t length,
                                 const struct rwf_value *value)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_array_start(&enc, type, length);
    rwf_array_add(&enc, value);
    if (rwf_array_finish(&enc) < 0)
        return (struct rwf_bytes){ 0 };
    return rwf_encoder_bytes(&enc);
}

static void items_of_a_fixed_length_have_that_length(void **state)
{
    struct rwf_value v[VALUES];
    static const struct {
        uint8_t value;
        uint16_t length;
        bool fits;
    } cases[] = {
        { 0, 4, true },  { 0, 2, false }, { 1, 8, true },  { 2, 4, true },   { 2, 8, false },
        { 3, 8, true },  { 4, 4, false }, { 5, 4, true },  { 6, 7, true },   { 6, 5, false },
        { 7, 7, true },  { 7, 6, false }, { 10, 2, true }, { 10, 1, false }, { 11, 2, true },
        { 11, 9, true }, { 9, 8, false },
    };
    uint8_t bytes[64];
    struct rwf_array array;
    struct rwf_bytes item;
    (void)state;

    values(v);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rwf_value *value = &v[cases[i].value];
        struct rwf_bytes got = array_of(bytes, sizeof(bytes), value->type, cases[i].length, value);

        assert_int_equal(got.length > 0, cases[i].fits);
        if (!cases[i].fits)
            continue;
        assert_int_equal(rwf_array_decode(got, &array), RWF_OK);
        assert_int_equal(rwf_array_next(&array, &item), 1);
        assert_int_equal(item.length, cases[i].length);
    }
}

static void a_blank_date_or_time_of_fixed_length_is_all_sentinels(void **state)
{
    const struct rwf_value no_time = rwf_value_blank(RWF_TYPE_TIME);
    const struct rwf_value no_date = rwf_value_blank(RWF_TYPE_DATE);
    const struct rwf_value no_int = rwf_value_blank(RWF_TYPE_INT);
    uint8_t bytes[32];
    (void)state;

    struct rwf_bytes got = array_of(bytes, sizeof(bytes), RWF_TYPE_TIME, 3, &no_time);
    assert_memory_equal(got.data + got.length - 3, "\xff\xff\xff", 3);
    got = array_of(bytes, sizeof(bytes), RWF_TYPE_DATE, 4, &no_date);
    assert_memory_equal(got.data + got.length - 4, "\0\0\0\0", 4);
    assert_int_equal(array_of(bytes, sizeof(bytes), RWF_TYPE_INT, 4, &no_int).length, 0);
}

/* Content that is encoded already finds the form of its definition. */
static void encoded_content_fits_into_set_data(void **state)
{
    static const uint8_t seven[] = { 7 };
    const struct rwf_element_list_info info = { .flags = RWF_LIST_HAS_SET_DATA |
                                                         RWF_LIST_HAS_STANDARD_DATA };
    uint8_t block_bytes[100];
    uint8_t bytes[100];
    struct rwf_set_writer writer;
    struct rwf_set_db db;
    struct rwf_sets sets = { .local = &db };
    struct rwf_encoder enc;
    struct rwf_element_list list;
    struct rwf_element element;
    uint64_t number;
    int rc;
    (void)state;

    rwf_set_writer_init(&writer, block_bytes, sizeof(block_bytes));
    rwf_set_writer_def(&writer, 0);
    rwf_set_writer_element(&writer, rwf_text("n"), RWF_TYPE_UINT_4);
    rwf_set_writer_element(&writer, rwf_text("s"), RWF_TYPE_ASCII);
    struct rwf_bytes block = rwf_set_writer_bytes(&writer, &rc);
    assert_int_equal(rwf_set_db_decode(block, RWF_SET_ELEMENTS, &db), RWF_OK);

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start_set(&enc, &info, &sets, NULL);
    rwf_element_add_bytes(&enc, rwf_text("n"), RWF_TYPE_UINT, rwf_bytes(seven, 1));
    rwf_element_add_ascii(&enc, "s", rwf_text("abc"));
    rwf_element_add_uint(&enc, "more", 9);
    assert_int_equal(rwf_element_list_finish(&enc), RWF_OK);

    assert_int_equal(rwf_element_list_decode(rwf_encoder_bytes(&enc), &sets, &list), RWF_OK);
    assert_int_equal(rwf_element_list_next(&list, &element), 1);
    assert_int_equal(element.content.length, 4);
    assert_int_equal(rwf_uint_decode(element.content, &number), RWF_OK);
    assert_int_equal(number, 7);
    assert_int_equal(rwf_element_list_next(&list, &element), 1);
    assert_true(rwf_element_is(&element, "s"));
    assert_int_equal(rwf_element_list_next(&list, &element), 1);
    assert_true(rwf_element_is(&element, "more"));
    assert_int_equal(rwf_element_list_next(&list, &element), 0);
}

static void a_definition_block_refuses_what_cannot_be(void **state)
{
    uint8_t bytes[2000];
    struct rwf_set_writer writer;
    int rc;
    (void)state;

    rwf_set_writer_init(&writer, bytes, sizeof(bytes));
    assert_int_equal(rwf_set_writer_field(&writer, 1, RWF_TYPE_INT), RWF_ERR_STATE);
    rwf_set_writer_init(&writer, bytes, sizeof(bytes));
    assert_int_equal(rwf_set_writer_def(&writer, 16), RWF_ERR_RANGE); /* 15 is the last local id */
    rwf_set_writer_init(&writer, bytes, sizeof(bytes));
    rwf_set_writer_def(&writer, 15);
    assert_int_equal(rwf_set_writer_field(&writer, 1, RWF_TYPE_STATE), RWF_ERR_RANGE);
    rwf_set_writer_init(&writer, bytes, sizeof(bytes));
    rwf_set_writer_def(&writer, 0);
    for (int16_t i = 0; i < 255; i++)
        assert_int_equal(rwf_set_writer_field(&writer, i, RWF_TYPE_INT), RWF_OK);
    assert_int_equal(rwf_set_writer_field(&writer, 255, RWF_TYPE_INT), RWF_ERR_RANGE);
    rwf_set_writer_init(&writer, bytes, 6);
    rwf_set_writer_def(&writer, 0);
    assert_int_equal(rwf_set_writer_field(&writer, 1, RWF_TYPE_INT), RWF_ERR_FULL);
    assert_int_equal(rwf_set_writer_bytes(&writer, &rc).length, 0);
    assert_int_equal(rc, RWF_ERR_FULL);
}

/* ---- a list less some of its fields ---- */

static uint64_t bits[1024];

static void set_bit(int16_t id, bool is_set)
{
    uint64_t bit = 1ull << (uint16_t)id % 64;

    bits[(uint16_t)id / 64] &= ~bit;
    bits[(uint16_t)id / 64] |= is_set ? bit : 0;
}

/* Fields of contents of 0, 40, 80, ... bytes, long and short forms, in a list of its own. */
static struct rwf_bytes list_of(uint8_t *out, size_t size, bool has_info, const int16_t ids[],
                                unsigned count)
{
    static const uint8_t text[400];
    const struct rwf_field_list_info info = {
        .flags = (uint8_t)(RWF_LIST_HAS_STANDARD_DATA | (has_info ? RWF_LIST_HAS_INFO : 0)),
        .dictionary_id = 300,
        .list_num = 7,
    };
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .container = RWF_TYPE_FIELD_LIST };
    struct rwf_encoder enc;
    struct rwf_peek peek;

    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, &info);
    for (unsigned i = 0; i < count; i++)
        rwf_field_add_bytes(&enc, ids[i], rwf_bytes(text, (uint16_t)ids[i] % 10 * 40u));
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(rwf_peek(rwf_encoder_bytes(&enc), &peek), RWF_OK);
    return rwf_bytes(out + peek.payload_at, peek.payload_length);
}

/* Each of these fields is lost or stays: all ways, with the list that has the others beside it. */
static void a_list_is_cut_byte_for_byte(void **state)
{
    static const int16_t ids[] = { 22, -7, 6, 22, 25, 1709, 9 };
    uint8_t whole[2000], rest[2000], out[2000];
    struct rwf_field_cut cut;
    (void)state;

    for (unsigned lost = 0; lost < 128; lost++) {
        int16_t kept[7];
        unsigned left = 0;
        bool is_known = !(lost & 1) == !(lost >> 3 & 1); /* 22 is there twice */
        for (unsigned i = 0; i < 7; i++) {
            set_bit(ids[i], lost >> i & 1);
            if (!(lost >> i & 1))
                kept[left++] = ids[i];
        }
        if (!is_known)
            continue;
        for (int has_info = 0; has_info < 2; has_info++) {
            struct rwf_bytes list = list_of(whole, sizeof(whole), has_info, ids, 7);
            struct rwf_bytes expected = list_of(rest, sizeof(rest), has_info, kept, left);
            const struct rwf_field_choice choice = { bits, false };
            assert_int_equal(rwf_field_list_cut(list, &choice, out, &cut), RWF_OK);
            assert_int_equal(cut.left, left);
            assert_int_equal(cut.lost, 7 - left);
            if (cut.lost == 0)
                continue;
            assert_int_equal(cut.length, expected.length);
            assert_memory_equal(out, expected.data, expected.length);
            assert_int_equal(rwf_field_list_cut(list, &choice, NULL, &cut), RWF_OK);
            assert_int_equal(cut.length, expected.length);
        }
    }
}

static void fields_are_kept_by_their_bits_and_the_first_that_are_lost_are_named(void **state)
{
    int16_t ids[20];
    uint8_t whole[4000], out[4000];
    struct rwf_field_cut cut;
    const struct rwf_field_choice keeps = { bits, true };
    (void)state;

    for (int16_t i = 0; i < 20; i++) {
        ids[i] = (int16_t)(100 + i * 10);
        set_bit(ids[i], i == 3);
    }
    struct rwf_bytes list = list_of(whole, sizeof(whole), false, ids, 20);
    assert_int_equal(rwf_field_list_cut(list, &keeps, out, &cut), RWF_OK);
    assert_int_equal(cut.left, 1);
    assert_int_equal(cut.lost, 19);
    assert_int_equal(cut.ids[0], 100);
    assert_int_equal(cut.ids[3], 140);
    assert_int_equal(cut.ids[RWF_CUT_IDS - 1], 260);
}

/* Wherever it ends too early: an error, and no byte is read behind it. */
static void a_short_list_is_not_cut(void **state)
{
    static const int16_t ids[] = { 22, 27, 6 };
    static const uint8_t set_data[] = { RWF_LIST_HAS_SET_DATA | RWF_LIST_HAS_STANDARD_DATA, 0, 0,
                                        0 };
    uint8_t whole[1000], out[1000];
    struct rwf_field_cut cut;
    const struct rwf_field_choice choice = { bits, false };
    (void)state;

    set_bit(22, true);
    set_bit(27, true);
    struct rwf_bytes list = list_of(whole, sizeof(whole), true, ids, 3);
    for (size_t length = 1; length < list.length; length++)
        assert_true(rwf_field_list_cut(rwf_bytes(list.data, length), &choice, out, &cut) < 0);
    assert_int_equal(rwf_field_list_cut(rwf_bytes(NULL, 0), &choice, out, &cut), RWF_OK);
    assert_int_equal(cut.lost + cut.left, 0);
    assert_int_equal(rwf_field_list_cut(rwf_bytes(set_data, sizeof(set_data)), &choice, out, &cut),
                     RWF_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_comes_back_equal_and_unlike_the_others),
        cmocka_unit_test(typed_and_general_ways_write_the_same_fields),
        cmocka_unit_test(typed_fields_fill_a_buffer_to_its_last_byte),
        cmocka_unit_test(elements_are_found_by_name),
        cmocka_unit_test(a_long_state_is_carried_in_fields_elements_and_arrays),
        cmocka_unit_test(items_of_a_fixed_length_have_that_length),
        cmocka_unit_test(a_blank_date_or_time_of_fixed_length_is_all_sentinels),
        cmocka_unit_test(encoded_content_fits_into_set_data),
        cmocka_unit_test(a_definition_block_refuses_what_cannot_be),
        cmocka_unit_test(a_list_is_cut_byte_for_byte),
        cmocka_unit_test(fields_are_kept_by_their_bits_and_the_first_that_are_lost_are_named),
        cmocka_unit_test(a_short_list_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
