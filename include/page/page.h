/* page/page.h - ANSI pages: 25 rows of 80 cells, changed by bytes for a terminal. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf_types.h"

/*
 * The payload of an ANSI page (container type 134) is bytes for a terminal; an update is more bytes
 * for the same page. So whoever gives a page to somebody who comes later keeps the page and the
 * state of its terminal. docs/pages-and-marketfeed.md says which sequences there are.
 *
 * Nothing here allocates or fails but by a buffer that is too small; any bytes are a payload.
 */
enum {
    PAGE_ROWS = 25,
    PAGE_COLUMNS = 80,
    PAGE_REGION_BOTTOM = 24, /* without a scroll region of its own */
    PAGE_BUILT_MAX = 131072, /* no page is built longer */
};

enum page_attribute {
    PAGE_BLINK = 0x01,
    PAGE_REVERSE = 0x02,
    PAGE_DIM = 0x04,
    PAGE_UNDERLINE = 0x08,
    PAGE_BRIGHT = 0x10,
};

/* How characters are written. Colours: low half foreground 0 to 7, high half background, F: the
 * default; black red green yellow blue magenta cyan white. The fading ones hold for a while after
 * the cell has changed. */
struct page_pen {
    uint8_t attributes;
    uint8_t fade_attributes;
    uint8_t colour;
    uint8_t fade_colour;
};

struct page_cell {
    uint8_t character; /* 20 to 7E, A0 to FE */
    uint8_t set;       /* graphic set, 'B' is ASCII */
    struct page_pen pen;
};

/* The state that ESC 7 saves. */
struct page_cursor {
    uint8_t row; /* from 0 */
    uint8_t column;
    uint8_t sets[2]; /* G0 and G1 */
    uint8_t shift;   /* which of them is in use */
    bool wraps;
    struct page_pen pen;
};

struct page {
    struct page_cursor cursor;
    struct page_cursor saved;
    uint8_t region_top; /* rows from 0, both included */
    uint8_t region_bottom;
    bool wrap_is_pending; /* within a payload: the next character begins a row */
    struct page_cell cells[PAGE_ROWS][PAGE_COLUMNS];
};

void page_reset(struct page *page); /* an empty page; as ESC c */

/* One payload. A sequence that it cuts off is forgotten with it. */
void page_apply(struct page *page, struct rwf_bytes payload);

/* A payload that makes this page, with its state, from any page. MD_ERR_FULL: `size` is too small;
 * PAGE_BUILT_MAX is always enough. */
int page_build(const struct page *page, uint8_t *out, size_t size, size_t *length);

/* Cells of the row up to the last one that is not plain: a blank without attribute or colour. */
unsigned page_row_length(const struct page *page, unsigned row);
bool page_cell_is_plain(const struct page_cell *cell);

/*
 * The row as text in UTF-8, less trailing blanks, terminated; returns its length. Characters of the
 * line drawing sets become + - and |, others what they are in Latin-1. `out` has PAGE_TEXT_MAX.
 */
enum { PAGE_TEXT_MAX = 2 * PAGE_COLUMNS + 1 };
size_t page_row_text(const struct page *page, unsigned row, char out[PAGE_TEXT_MAX]);

#endif
