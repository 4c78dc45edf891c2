/* test_page.c - pages that are built again behave as the original does; what is shown of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "page/page.h"

static uint64_t random_state;

static unsigned random_below(unsigned bound)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % bound;
}

/* Text, sequences of the dialect with any numbers, and bytes of all kinds. */
static struct rwf_bytes random_payload(uint8_t *out, size_t size)
{
    static const char finals[] = "HfABCDJK@PLMSTrmmmhl";
    static const char *const others[] = { "\x1b"
                                          "7",
                                          "\x1b"
                                          "8",
                                          "\x1b"
                                          "D",
                                          "\x1b"
                                          "E",
                                          "\x1b"
                                          "M",
                                          "\x1b(0",
                                          "\x1b)A",
                                          "\x1b(B",
                                          "\x0e",
                                          "\x0f",
                                          "\n",
                                          "\r",
                                          "\t",
                                          "\b",
                                          "\x1b[?7h" };
    size_t at = 0;

    for (unsigned i = 1 + random_below(12); i > 0 && at + 64 < size; i--) {
        unsigned kind = random_below(10);
        if (kind < 4) {
            for (unsigned n = random_below(30); n > 0; n--)
                out[at++] = (uint8_t)(' ' + random_below(95));
        } else if (kind < 7) {
            at += (size_t)sprintf((char *)out + at, "\x1b[%s%u;%u%c",
                                  random_below(6) == 0 ? ">" : "", random_below(50),
                                  random_below(90), finals[random_below(sizeof(finals) - 1)]);
        } else if (kind < 9) {
            const char *other = others[random_below(sizeof(others) / sizeof(others[0]))];
            at += (size_t)sprintf((char *)out + at, "%s", other);
        } else {
            out[at++] = (uint8_t)random_below(256);
        }
    }
    return rwf_bytes(out, at);
}

static void a_page_built_again_behaves_as_the_original(void **state)
{
    static uint8_t built[PAGE_BUILT_MAX];
    static struct page page;
    static struct page late;
    uint8_t bytes[1024];
    size_t length;

    (void)state;
    for (unsigned seed = 1; seed <= 2000; seed++) {
        random_state = seed;
        page_reset(&page);
        for (unsigned i = random_below(20); i > 0; i--)
            page_apply(&page, random_payload(bytes, sizeof(bytes)));
        assert_int_equal(page_build(&page, built, sizeof(built), &length), MD_OK);
        page_reset(&late);
        page_apply(&late, random_payload(bytes, sizeof(bytes)));
        page_apply(&late, rwf_bytes(built, length));
        assert_memory_equal(&late, &page, sizeof(page));
        for (unsigned i = 0; i < 5; i++) {
            struct rwf_bytes payload = random_payload(bytes, sizeof(bytes));
            page_apply(&page, payload);
            page_apply(&late, payload);
            assert_memory_equal(&late, &page, sizeof(page));
        }
    }
}

static void the_worst_page_fits_the_room_that_is_promised(void **state)
{
    static uint8_t built[PAGE_BUILT_MAX];
    static struct page page;
    size_t length;

    (void)state;
    page_reset(&page);
    for (unsigned row = 0; row < PAGE_ROWS; row++) {
        for (unsigned column = 0; column < PAGE_COLUMNS; column++) {
            uint8_t all = column % 2 ? 0x1f : 0x0f;
            page.cells[row][column] = (struct page_cell){
                .character = 'x',
                .set = column % 2 ? '0' : 'A',
                .pen = { all, all, column % 2 ? 0x12 : 0x34, column % 2 ? 0x12 : 0x34 },
            };
        }
    }
    assert_int_equal(page_build(&page, built, sizeof(built), &length), MD_OK);
    assert_true(length > 80000);
    assert_int_equal(page_build(&page, built, length - 1, &length), MD_ERR_FULL);
}

static void rows_are_shown_as_text(void **state)
{
    char text[PAGE_TEXT_MAX];
    static struct page page;

    (void)state;
    page_reset(&page);
    page_apply(&page, rwf_text("\x1b[2;3HEUR \xe9\x1b[7m  \x1b[0m\x1b[3;1H\x1b(0lqqk\x1b(B"));
    assert_int_equal(page_row_text(&page, 0, text), 0);
    assert_int_equal(page_row_text(&page, 1, text), 8);
    assert_string_equal(text, "  EUR \xc3\xa9");
    assert_int_equal(page_row_length(&page, 1), 9); /* the reversed blanks are not plain */
    page_row_text(&page, 2, text);
    assert_string_equal(text, "+--+");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_built_again_behaves_as_the_original),
        cmocka_unit_test(the_worst_page_fits_the_room_that_is_promised),
        cmocka_unit_test(rows_are_shown_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
