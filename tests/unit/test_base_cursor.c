/* test_base_cursor.c - reading and writing wire bytes: every edge, nothing past the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/copy.h"
#include "base/cursor.h"
#include "base/writer.h"

static void what_is_written_is_read_again(void **state)
{
    uint8_t bytes[64];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    (void)state;
    md_wr_u8(&wr, 0xfe);
    md_wr_u16(&wr, 0x1234);
    md_wr_u32(&wr, 0xdeadbeef);
    md_wr_u64(&wr, 0x0123456789abcdefull);
    md_wr_bytes(&wr, "tick", 4);
    assert_true(md_wr_ok(&wr));

    struct md_rd rd = md_rd_init(bytes, md_wr_length(&wr));
    assert_int_equal(md_rd_u8(&rd), 0xfe);
    assert_int_equal(md_rd_u16(&rd), 0x1234);
    assert_true(md_rd_u32(&rd) == 0xdeadbeef);
    assert_true(md_rd_u64(&rd) == 0x0123456789abcdefull);
    assert_memory_equal(md_rd_bytes(&rd, 4), "tick", 4);
    assert_true(md_rd_ok(&rd));
    assert_int_equal(md_rd_left(&rd), 0);
}

static void a_read_past_the_end_fails_and_stays_failed(void **state)
{
    static const uint8_t bytes[3] = { 1, 2, 3 };
    struct md_rd rd = md_rd_init(bytes, sizeof(bytes));

    (void)state;
    assert_int_equal(md_rd_u32(&rd), 0);
    assert_false(md_rd_ok(&rd));
    assert_int_equal(md_rd_left(&rd), 0);
    assert_int_equal(md_rd_u8(&rd), 0);
    assert_null(md_rd_bytes(&rd, 0));
}

static void an_empty_cursor_reads_nothing(void **state)
{
    struct md_rd rd = md_rd_init(NULL, 0);

    (void)state;
    assert_int_equal(md_rd_left(&rd), 0);
    assert_int_equal(md_rd_u8(&rd), 0);
    assert_false(md_rd_ok(&rd));
}

static void a_sub_cursor_ends_where_it_was_told(void **state)
{
    static const uint8_t bytes[4] = { 1, 2, 3, 4 };
    struct md_rd rd = md_rd_init(bytes, sizeof(bytes));

    (void)state;
    struct md_rd sub = md_rd_sub(&rd, 3);
    assert_int_equal(md_rd_left(&sub), 3);
    assert_int_equal(md_rd_u8(&rd), 4);
    assert_int_equal(md_rd_u16(&sub), 0x0102);
    assert_int_equal(md_rd_u16(&sub), 0);
    assert_false(md_rd_ok(&sub));
    sub = md_rd_sub(&rd, 1);
    assert_false(md_rd_ok(&sub));
    assert_false(md_rd_ok(&rd));
}

static void a_write_that_does_not_fit_changes_nothing(void **state)
{
    uint8_t bytes[4] = { 9, 9, 9, 9 };
    struct md_wr wr = md_wr_init(bytes, 3);

    (void)state;
    md_wr_u8(&wr, 1);
    md_wr_u32(&wr, 5);
    assert_false(md_wr_ok(&wr));
    md_wr_u8(&wr, 7);
    assert_int_equal(bytes[1], 9);
    assert_int_equal(md_wr_length(&wr), 1);
    assert_int_equal(bytes[3], 9);
}

/* From and to the very ends of memory of its own: a sanitizer would see a step beyond. */
static void a_copy_is_whole_and_nothing_more_at_every_length(void **state)
{
    (void)state;
    for (size_t length = 0; length <= 2 * MD_COPY_MOST; length++) {
        if (!md_copy_can(length))
            continue;
        uint8_t *from = malloc(length);
        uint8_t *to = malloc(length + 2);
        assert_true(from && to);
        for (size_t i = 0; i < length; i++)
            from[i] = (uint8_t)(i + length);
        to[0] = to[length + 1] = 0xee;
        md_copy(to + 1, from, length);
        assert_memory_equal(to + 1, from, length);
        assert_int_equal(to[0], 0xee);
        assert_int_equal(to[length + 1], 0xee);
        free(from);
        free(to);
    }
    assert_false(md_copy_can(0));
    assert_false(md_copy_can(MD_COPY_LEAST - 1));
    assert_true(md_copy_can(MD_COPY_LEAST));
    assert_true(md_copy_can(MD_COPY_MOST));
    assert_false(md_copy_can(MD_COPY_MOST + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_read_past_the_end_fails_and_stays_failed),
        cmocka_unit_test(an_empty_cursor_reads_nothing),
        cmocka_unit_test(a_sub_cursor_ends_where_it_was_told),
        cmocka_unit_test(a_write_that_does_not_fit_changes_nothing),
        cmocka_unit_test(a_copy_is_whole_and_nothing_more_at_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
