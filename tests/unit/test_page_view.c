/* test_page_view.c - what rmdstestclient -page shows of pages and their updates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "page_view.h"

static char shown[4096];

static void show(struct page_view_set *set, uint8_t msg_class, uint8_t container,
                 struct rwf_bytes payload)
{
    const struct rwf_msg msg = {
        .msg_class = msg_class,
        .container = container,
        .payload = payload,
        .flags = msg_class == RWF_CLASS_REFRESH ? RWF_REFRESH_CLEAR_CACHE : 0,
    };

    assert_true(page_view_message(set, "PAGE", &msg));
}

static void an_update_of_an_ansi_page_shows_its_rows_and_marks_the_cells(void **state)
{
    struct page_view_set *set;
    FILE *out = fmemopen(shown, sizeof(shown), "w");

    (void)state;
    assert_int_equal(page_view_create(out, &set), MD_OK);
    show(set, RWF_CLASS_REFRESH, RWF_TYPE_ANSI_PAGE, rwf_text("\x1b[1;1HEUR 1.0740"));
    show(set, RWF_CLASS_UPDATE, RWF_TYPE_ANSI_PAGE, rwf_text("\x1b[1;9H41"));
    fclose(out);
    page_view_destroy(set);
    assert_ptr_equal(strstr(shown, "PAGE PAGE\n  1 |EUR 1.0740\n  2 |\n"), shown);
    assert_non_null(strstr(shown, "CHANGE PAGE\n"
                                  "  1 |EUR 1.0741\n"
                                  "    |         ^\n"));
}

static void partial_updates_of_rows_show_the_whole_row(void **state)
{
    static const char image[] = "\x08\x00\x02\x01\x3b\x05"
                                "ABCDE\x01\x3d\x02ZZ";
    static const char update[] = "\x08\x00\x01\x01\x3b\x05\x1b[2`x";
    struct page_view_set *set;
    FILE *out = fmemopen(shown, sizeof(shown), "w");

    (void)state;
    assert_int_equal(page_view_create(out, &set), MD_OK);
    show(set, RWF_CLASS_REFRESH, RWF_TYPE_FIELD_LIST, rwf_bytes(image, sizeof(image) - 1));
    show(set, RWF_CLASS_UPDATE, RWF_TYPE_FIELD_LIST, rwf_bytes(update, sizeof(update) - 1));
    const struct rwf_msg other = { .msg_class = RWF_CLASS_UPDATE,
                                   .container = RWF_TYPE_FIELD_LIST,
                                   .payload = rwf_bytes("\x08\x00\x01\x00\x16\x01\x07", 7) };
    assert_false(page_view_message(set, "IBM.N", &other));
    fclose(out);
    page_view_destroy(set);
    assert_string_equal(shown, "PAGE PAGE\n"
                               "  1 |ABCDE\n"
                               "  3 |ZZ\n"
                               "CHANGE PAGE\n"
                               "  1 |ABxDE\n"
                               "    |  ^\n");
}

static void a_row_is_no_longer_than_its_cells(void **state)
{
    uint8_t image[5 + 3 + 80] = { 8, 0, 1, 0, 215, 80 };
    char line[128] = "PAGE PAGE\n  1 |";
    struct page_view_set *set;
    FILE *out = fmemopen(shown, sizeof(shown), "w");

    (void)state;
    memset(image + 6, 'x', 80);
    image[6] = 'a';
    assert_int_equal(page_view_create(out, &set), MD_OK);
    show(set, RWF_CLASS_REFRESH, RWF_TYPE_FIELD_LIST, rwf_bytes(image, 86));
    fclose(out);
    page_view_destroy(set);
    size_t length = strlen(line);
    memset(line + length, 'x', 64);
    line[length] = 'a';
    line[length + 64] = '\n';
    assert_string_equal(shown, line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_of_an_ansi_page_shows_its_rows_and_marks_the_cells),
        cmocka_unit_test(partial_updates_of_rows_show_the_whole_row),
        cmocka_unit_test(a_row_is_no_longer_than_its_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
