/* fuzz_page.c - any payloads: the page stays a page, and its built form makes it again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "page/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cursor(const struct page_cursor *cursor)
{
    if (cursor->row >= PAGE_ROWS || cursor->column >= PAGE_COLUMNS || cursor->shift > 1)
        abort();
}

static void check(const struct page *page)
{
    static uint8_t built[PAGE_BUILT_MAX];
    static struct page again;
    size_t length;

    check_cursor(&page->cursor);
    check_cursor(&page->saved);
    if (page->region_top >= page->region_bottom || page->region_bottom >= PAGE_ROWS)
        abort();
    if (page_build(page, built, sizeof(built), &length) != 0)
        abort();
    memset(&again, 0x41, sizeof(again)); /* from any page: the built form begins with ESC c */
    page_reset(&again);
    page_apply(&again, rwf_text("\x1b[2;20r\x1b[5m\x1b)0\x0e\x1b"
                                "7some\nthing"));
    page_apply(&again, rwf_bytes(built, length));
    if (memcmp(page, &again, sizeof(again)) != 0)
        abort();
}

/* The first byte says where the rest is split into two payloads. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct page page;
    char text[PAGE_TEXT_MAX];

    if (size < 1)
        return 0;
    size_t first = data[0] < size - 1 ? data[0] : size - 1;
    page_reset(&page);
    page_apply(&page, rwf_bytes(data + 1, first));
    check(&page);
    page_apply(&page, rwf_bytes(data + 1 + first, size - 1 - first));
    check(&page);
    for (unsigned row = 0; row < PAGE_ROWS; row++) {
        if (page_row_text(&page, row, text) >= sizeof(text))
            abort();
    }
    return 0;
}
