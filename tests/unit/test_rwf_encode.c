/* test_rwf_encode.c - the encoder: nesting, rollback, splitting, set data, limits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rmds/rwf.h"

#define ROWS 500

static const struct rwf_map_info book = {
    .key_type = RWF_TYPE_UINT,
    .container = RWF_TYPE_FIELD_LIST,
};

static const struct rwf_msg refresh = {
    .msg_class = RWF_CLASS_REFRESH,
    .domain = RWF_DOMAIN_MARKET_BY_ORDER,
    .flags = RWF_REFRESH_HAS_PART_NUM,
    .stream_id = 5,
    .container = RWF_TYPE_MAP,
    .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
};

/* A row of a book: key n, two fields, and a text that makes rows of different length. */
static int add_row(struct rwf_encoder *enc, unsigned n)
{
    static const char text[300] = "x";
    struct rwf_real price = { .value = 1000 + n, .hint = 12 };
    uint8_t key_bytes[8];
    struct rwf_value key = rwf_value_uint(n);
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD };
    size_t length;

    assert_int_equal(rwf_value_encode(&key, key_bytes, sizeof(key_bytes), &length), RWF_OK);
    entry.key = rwf_bytes(key_bytes, length);
    rwf_map_entry_start(enc, &entry);
    rwf_field_list_start(enc, NULL);
    rwf_field_add_real(enc, 22, &price);
    rwf_field_add_bytes(enc, 3, rwf_bytes(text, n % 7 == 0 ? 260 : n % 40));
    rwf_field_list_finish(enc);
    return rwf_map_entry_finish(enc);
}

/* One part: as many rows from `first` on as fit. Returns the row the next part starts with. */
static unsigned encode_part(struct rwf_encoder *enc, unsigned first, unsigned part)
{
    struct rwf_msg msg = refresh;
    unsigned row = first;

    msg.part_num = (uint16_t)part;
    rwf_msg_start(enc, &msg);
    rwf_map_start(enc, &book);
    for (; row < ROWS; row++) {
        struct rwf_mark mark = rwf_encoder_mark(enc);

        if (add_row(enc, row) < 0) {
            assert_int_equal(rwf_encoder_error(enc), RWF_ERR_FULL);
            rwf_encoder_rollback(enc, &mark);
            break;
        }
    }
    assert_int_equal(rwf_map_finish(enc), RWF_OK);
    assert_int_equal(rwf_msg_finish(enc), RWF_OK);
    return row;
}

/* All rows of a part must come out, whole and in order. */
static unsigned check_part(struct rwf_bytes bytes, unsigned row)
{
    struct rwf_msg msg;
    struct rwf_map map;
    struct rwf_map_entry entry;
    uint64_t key;
    int rc;

    assert_int_equal(rwf_check(RWF_TYPE_MSG, bytes, NULL), RWF_OK);
    assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
    assert_int_equal(rwf_map_decode(msg.payload, &map), RWF_OK);
    while ((rc = rwf_map_next(&map, &entry)) > 0) {
        assert_int_equal(rwf_uint_decode(entry.key, &key), RWF_OK);
        assert_int_equal(key, row++);
    }
    assert_int_equal(rc, 0);
    return row;
}

static void a_map_is_split_over_as_many_messages_as_it_needs(void **state)
{
    (void)state;
    for (size_t size = 400; size < 3000; size += 97) {
        uint8_t *buffer = malloc(size);
        unsigned parts = 0;
        unsigned row = 0;

        while (row < ROWS) {
            struct rwf_encoder enc;

            rwf_encoder_init(&enc, buffer, size);
            unsigned next = encode_part(&enc, row, parts++);
            assert_true(next > row);
            assert_int_equal(check_part(rwf_encoder_bytes(&enc), row), next);
            row = next;
        }
        assert_true(parts > 1);
        free(buffer);
    }
}

/* A map that ends in the middle of any byte of a row, inside an element of a list: it closes. */
static void containers_close_whenever_the_buffer_is_full(void **state)
{
    (void)state;
    for (size_t size = 40; size < 1500; size++) {
        uint8_t *buffer = malloc(size);
        struct rwf_encoder enc;
        struct rwf_msg msg = refresh;
        unsigned row = 0;

        msg.container = RWF_TYPE_ELEMENT_LIST;
        rwf_encoder_init(&enc, buffer, size);
        rwf_msg_start(&enc, &msg);
        rwf_element_list_start(&enc, NULL);
        rwf_element_start(&enc, rwf_text("book"), RWF_TYPE_MAP);
        rwf_map_start(&enc, &book);
        for (;; row++) {
            struct rwf_mark mark = rwf_encoder_mark(&enc);

            if (add_row(&enc, row) < 0) {
                rwf_encoder_rollback(&enc, &mark);
                break;
            }
        }
        rwf_map_finish(&enc);
        rwf_element_finish(&enc);
        rwf_element_list_finish(&enc);
        assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
        assert_int_equal(rwf_check(RWF_TYPE_MSG, rwf_encoder_bytes(&enc), NULL), RWF_OK);
        free(buffer);
    }
}

static void a_field_list_keeps_the_fields_that_fitted(void **state)
{
    uint8_t buffer[40];
    struct rwf_encoder enc;
    struct rwf_field_list list;
    struct rwf_field field;
    int16_t id = 1;
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start(&enc, NULL);
    for (;; id++) {
        struct rwf_mark mark = rwf_encoder_mark(&enc);

        if (rwf_field_add_uint(&enc, id, 0x123456) < 0) {
            rwf_encoder_rollback(&enc, &mark);
            break;
        }
    }
    assert_int_equal(rwf_field_list_finish(&enc), RWF_OK);
    assert_int_equal(id, 1 + (40 - 3) / 6);
    assert_int_equal(rwf_field_list_decode(rwf_encoder_bytes(&enc), NULL, &list), RWF_OK);
    while (rwf_field_list_next(&list, &field) > 0)
        id--;
    assert_int_equal(id, 1);
    assert_int_equal(list.err, RWF_OK);
}

static void a_failed_encoder_stays_failed_until_it_is_rolled_back(void **state)
{
    uint8_t buffer[16];
    struct rwf_encoder enc;
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start(&enc, NULL);
    struct rwf_mark mark = rwf_encoder_mark(&enc);
    assert_int_equal(rwf_field_add_bytes(&enc, 1, rwf_text("far too long for it")), RWF_ERR_FULL);
    assert_int_equal(rwf_field_add_int(&enc, 2, 1), RWF_ERR_FULL);
    assert_int_equal(rwf_field_list_finish(&enc), RWF_ERR_FULL);
    rwf_encoder_rollback(&enc, &mark);
    assert_int_equal(rwf_field_add_int(&enc, 2, 1), RWF_OK);
    assert_int_equal(rwf_field_list_finish(&enc), RWF_OK);
}

static void a_rollback_gives_all_the_room_back(void **state)
{
    uint8_t buffer[200];
    struct rwf_encoder enc;
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_text("k") };
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    size_t left = rwf_encoder_left(&enc);
    for (unsigned i = 0; i < 100; i++) {
        struct rwf_mark mark = rwf_encoder_mark(&enc);

        rwf_map_entry_start(&enc, &entry);
        rwf_field_list_start(&enc, NULL);
        rwf_field_start(&enc, 1, RWF_TYPE_ARRAY);
        rwf_encoder_rollback(&enc, &mark);
        assert_int_equal(rwf_encoder_left(&enc), left);
    }
    assert_int_equal(rwf_map_finish(&enc), RWF_OK);
}

static void a_map_entry_has_a_key(void **state)
{
    static const uint8_t keyless[] = { 0x00, 0x04, 0x00, 0x00, 0x01, 0x02, 0x00 };
    struct rwf_map_entry entry = { .action = RWF_MAP_DELETE };
    uint8_t buffer[100];
    struct rwf_encoder enc;
    struct rwf_map map;
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    assert_int_equal(rwf_map_add(&enc, &entry), RWF_ERR_RANGE);
    assert_int_equal(rwf_map_decode(rwf_bytes(keyless, sizeof(keyless)), &map), RWF_OK);
    assert_int_equal(rwf_map_next(&map, &entry), RWF_ERR_MALFORMED);
    assert_int_equal(rwf_map_next(&map, &entry), RWF_ERR_MALFORMED); /* it stays so */
}

static void calls_out_of_order_are_refused(void **state)
{
    uint8_t buffer[200];
    struct rwf_encoder enc;
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_text("k") };
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    assert_int_equal(rwf_field_add_int(&enc, 1, 1), RWF_ERR_STATE);

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    rwf_map_entry_start(&enc, &entry);
    assert_int_equal(rwf_element_list_start(&enc, NULL), RWF_ERR_STATE); /* it holds field lists */

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    rwf_map_entry_start(&enc, &entry);
    assert_int_equal(rwf_map_finish(&enc), RWF_ERR_STATE); /* an entry is open */

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    rwf_map_entry_start(&enc, &entry);
    rwf_field_list_start(&enc, NULL);
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_field_list_start(&enc, NULL), RWF_ERR_STATE); /* one is there already */
}

static void nesting_ends_at_the_limit_with_an_error_of_its_own(void **state)
{
    uint8_t buffer[4000];
    struct rwf_encoder enc;
    unsigned depth = 0;
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    while (rwf_encoder_error(&enc) == RWF_OK && depth < 100) {
        rwf_element_list_start(&enc, NULL);
        rwf_element_start(&enc, rwf_text("e"), RWF_TYPE_ELEMENT_LIST);
        depth++;
    }
    assert_int_equal(rwf_encoder_error(&enc), RWF_ERR_DEPTH);
    assert_int_equal(depth, RWF_DEPTH_MAX + 1);
    assert_string_equal(rwf_err_name(RWF_ERR_DEPTH), "nested too deep");
}

/* One element list inside the other, `depth` of them. */
static size_t nest(uint8_t *out, unsigned depth)
{
    uint8_t inner[4000];
    size_t length = 0;

    for (unsigned i = 0; i < depth; i++) {
        struct rwf_encoder enc;

        rwf_encoder_init(&enc, out, sizeof(inner));
        rwf_element_list_start(&enc, NULL);
        rwf_element_add_bytes(&enc, rwf_text("e"), RWF_TYPE_ELEMENT_LIST, rwf_bytes(inner, length));
        assert_int_equal(rwf_element_list_finish(&enc), RWF_OK);
        length = rwf_encoder_bytes(&enc).length;
        memcpy(inner, out, length);
    }
    return length;
}

static void the_check_stops_at_the_same_depth(void **state)
{
    uint8_t bytes[4000];
    (void)state;

    size_t length = nest(bytes, RWF_DEPTH_MAX);
    assert_int_equal(rwf_check(RWF_TYPE_ELEMENT_LIST, rwf_bytes(bytes, length), NULL), RWF_OK);
    length = nest(bytes, RWF_DEPTH_MAX + 1);
    assert_int_equal(rwf_check(RWF_TYPE_ELEMENT_LIST, rwf_bytes(bytes, length), NULL),
                     RWF_ERR_DEPTH);
}

static void lengths_that_the_wire_cannot_carry_are_refused(void **state)
{
    static uint8_t big[70000];
    static uint8_t buffer[80000];
    struct rwf_encoder enc;
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_bytes(big, 32768) };
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start(&enc, NULL);
    struct rwf_mark mark = rwf_encoder_mark(&enc);
    assert_int_equal(rwf_field_add_bytes(&enc, 1, rwf_bytes(big, 65535)), RWF_OK);
    rwf_encoder_rollback(&enc, &mark);
    assert_int_equal(rwf_field_add_bytes(&enc, 1, rwf_bytes(big, 65536)), RWF_ERR_RANGE);

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    assert_int_equal(rwf_map_entry_start(&enc, &entry), RWF_ERR_RANGE);

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start(&enc, NULL);
    rwf_field_start(&enc, 1, RWF_TYPE_OPAQUE);
    rwf_raw_add(&enc, rwf_bytes(big, 65536));
    assert_int_equal(rwf_field_finish(&enc), RWF_ERR_RANGE);
}

static void a_list_has_at_most_65535_entries(void **state)
{
    uint8_t *buffer = malloc(400000);
    struct rwf_encoder enc;
    struct rwf_field_list list;
    (void)state;

    rwf_encoder_init(&enc, buffer, 400000);
    rwf_field_list_start(&enc, NULL);
    for (unsigned i = 0; i < 65535; i++)
        assert_int_equal(rwf_field_add_uint(&enc, 1, i & 1), RWF_OK);
    struct rwf_mark mark = rwf_encoder_mark(&enc);
    assert_int_equal(rwf_field_add_uint(&enc, 1, 1), RWF_ERR_RANGE);
    rwf_encoder_rollback(&enc, &mark);
    assert_int_equal(rwf_field_list_finish(&enc), RWF_OK);
    assert_int_equal(rwf_field_list_decode(rwf_encoder_bytes(&enc), NULL, &list), RWF_OK);
    assert_int_equal(list.count, 65535);
    free(buffer);
}

static void an_array_has_at_most_65535_states(void **state)
{
    const struct rwf_value ok = { .type = RWF_TYPE_STATE,
                                  .state = { .stream_state = RWF_STREAM_OPEN } };
    uint8_t *buffer = malloc(400000);
    struct rwf_encoder enc;
    struct rwf_array array;
    (void)state;

    rwf_encoder_init(&enc, buffer, 400000);
    rwf_array_start(&enc, RWF_TYPE_STATE, 0);
    for (unsigned i = 0; i < 65535; i++)
        assert_int_equal(rwf_array_add(&enc, &ok), RWF_OK);
    struct rwf_mark mark = rwf_encoder_mark(&enc);
    assert_int_equal(rwf_array_add(&enc, &ok), RWF_ERR_RANGE);
    rwf_encoder_rollback(&enc, &mark);
    assert_int_equal(rwf_array_finish(&enc), RWF_OK);
    assert_int_equal(rwf_array_decode(rwf_encoder_bytes(&enc), &array), RWF_OK);
    assert_int_equal(array.count, 65535);
    free(buffer);
}

/* ---- set data ---- */

static struct rwf_bytes quote_definition(uint8_t *buffer, size_t size)
{
    struct rwf_set_writer writer;
    int rc;

    rwf_set_writer_init(&writer, buffer, size);
    rwf_set_writer_def(&writer, 0);
    rwf_set_writer_field(&writer, 22, RWF_TYPE_REAL);
    rwf_set_writer_field(&writer, 30, RWF_TYPE_UINT_4);
    rwf_set_writer_field(&writer, 5, RWF_TYPE_TIME_3);
    struct rwf_bytes block = rwf_set_writer_bytes(&writer, &rc);
    assert_int_equal(rc, RWF_OK);
    return block;
}

static void set_data_travels_without_ids_and_types(void **state)
{
    const struct rwf_field_list_info info = { .flags = RWF_LIST_HAS_SET_DATA };
    uint8_t block_bytes[100];
    uint8_t buffer[100];
    struct rwf_set_db db;
    struct rwf_sets sets = { .local = &db };
    struct rwf_encoder enc;
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_real price = { 4225, 10 };
    struct rwf_time time = { .hour = 9, .minute = 30, .second = 15 };
    uint64_t size;
    (void)state;

    assert_int_equal(
        rwf_set_db_decode(quote_definition(block_bytes, sizeof(block_bytes)), RWF_SET_FIELDS, &db),
        RWF_OK);
    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start_set(&enc, &info, &sets, NULL);
    rwf_field_add_real(&enc, 22, &price);
    rwf_field_add_uint(&enc, 30, 100);
    rwf_field_add_time(&enc, 5, &time);
    assert_int_equal(rwf_field_list_finish(&enc), RWF_OK);
    assert_int_equal(rwf_encoder_bytes(&enc).length, 1 + (1 + 3) + 4 + 3);

    assert_int_equal(rwf_field_list_decode(rwf_encoder_bytes(&enc), &sets, &list), RWF_OK);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_true(field.id == 22 && field.type == RWF_TYPE_REAL);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_true(field.id == 30 && field.type == RWF_TYPE_UINT);
    assert_int_equal(rwf_uint_decode(field.content, &size), RWF_OK);
    assert_int_equal(size, 100);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_true(field.id == 5 && field.type == RWF_TYPE_TIME);
    assert_int_equal(rwf_field_list_next(&list, &field), 0);
}

static void set_data_in_another_order_is_refused(void **state)
{
    const struct rwf_field_list_info info = { .flags = RWF_LIST_HAS_SET_DATA };
    uint8_t block_bytes[100];
    uint8_t buffer[100];
    struct rwf_set_db db;
    struct rwf_sets sets = { .local = &db };
    struct rwf_encoder enc;
    struct rwf_real price = { 4225, 10 };
    (void)state;

    rwf_set_db_decode(quote_definition(block_bytes, sizeof(block_bytes)), RWF_SET_FIELDS, &db);
    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start_set(&enc, &info, &sets, NULL);
    assert_int_equal(rwf_field_add_uint(&enc, 30, 100), RWF_ERR_STATE);

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start_set(&enc, &info, &sets, NULL);
    rwf_field_add_real(&enc, 22, &price);
    assert_int_equal(rwf_field_list_finish(&enc), RWF_ERR_STATE); /* two are missing */

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_field_list_start_set(&enc, &info, &sets, NULL);
    rwf_field_add_real(&enc, 22, &price);
    assert_int_equal(rwf_field_add_uint(&enc, 30, UINT64_C(1) << 32), RWF_ERR_RANGE);
}

static void set_data_without_its_definition_is_skipped(void **state)
{
    static const uint8_t bytes[] = { 0x0a, 0x02, 0xaa, 0xbb, 0x00, 0x01, 0x00, 0x1e, 0x01, 0x07 };
    struct rwf_field_list list;
    struct rwf_field field;
    (void)state;

    assert_int_equal(rwf_field_list_decode(rwf_bytes(bytes, sizeof(bytes)), NULL, &list), RWF_OK);
    assert_false(list.set_is_known);
    assert_int_equal(list.set_data.length, 2);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_int_equal(field.id, 30);
    assert_int_equal(rwf_field_list_next(&list, &field), 0);
}

static void the_flag_of_entry_permissions_comes_with_the_first_one(void **state)
{
    struct rwf_map_entry entry = {
        .action = RWF_MAP_DELETE, .key = rwf_text("k"), .has_perm = true, .perm = rwf_text("p")
    };
    uint8_t buffer[100];
    struct rwf_encoder enc;
    struct rwf_map map;
    (void)state;

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_map_start(&enc, &book);
    rwf_map_add(&enc, &entry);
    assert_int_equal(rwf_map_finish(&enc), RWF_OK);
    assert_int_equal(rwf_map_decode(rwf_encoder_bytes(&enc), &map), RWF_OK);
    assert_int_equal(map.info.flags, RWF_MAP_HAS_ENTRY_PERM);
    assert_int_equal(rwf_map_next(&map, &entry), 1);
    assert_true(entry.has_perm && rwf_bytes_equal(entry.perm, rwf_text("p")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_split_over_as_many_messages_as_it_needs),
        cmocka_unit_test(containers_close_whenever_the_buffer_is_full),
        cmocka_unit_test(a_field_list_keeps_the_fields_that_fitted),
        cmocka_unit_test(a_failed_encoder_stays_failed_until_it_is_rolled_back),
        cmocka_unit_test(a_rollback_gives_all_the_room_back),
        cmocka_unit_test(a_map_entry_has_a_key),
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(nesting_ends_at_the_limit_with_an_error_of_its_own),
        cmocka_unit_test(the_check_stops_at_the_same_depth),
        cmocka_unit_test(lengths_that_the_wire_cannot_carry_are_refused),
        cmocka_unit_test(a_list_has_at_most_65535_entries),
        cmocka_unit_test(an_array_has_at_most_65535_states),
        cmocka_unit_test(set_data_travels_without_ids_and_types),
        cmocka_unit_test(set_data_in_another_order_is_refused),
        cmocka_unit_test(set_data_without_its_definition_is_skipped),
        cmocka_unit_test(the_flag_of_entry_permissions_comes_with_the_first_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
