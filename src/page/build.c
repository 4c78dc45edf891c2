/* build.c - a payload that makes a page with its state, and its rows as text. See page/page.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "page/page.h"

struct output {
    uint8_t *bytes;
    size_t size;
    size_t length;
    bool is_full;
};

static const struct page_cursor fresh = {
    .sets = { 'B', 'B' },
    .pen = { .colour = 0xff, .fade_colour = 0xff },
};

static void put(struct output *out, const void *bytes, size_t length)
{
    if (out->is_full || length > out->size - out->length) {
        out->is_full = true;
        return;
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static void put_byte(struct output *out, uint8_t byte)
{
    put(out, &byte, 1);
}

/* Row and column from 0. */
static void put_position(struct output *out, unsigned row, unsigned column)
{
    const uint8_t bytes[] = { 0x1b,
                              '[',
                              (uint8_t)('0' + (row + 1) / 10),
                              (uint8_t)('0' + (row + 1) % 10),
                              ';',
                              (uint8_t)('0' + (column + 1) / 10),
                              (uint8_t)('0' + (column + 1) % 10),
                              'H' };

    put(out, bytes, sizeof(bytes));
}

static void put_set(struct output *out, uint8_t slot, uint8_t set)
{
    const uint8_t bytes[] = { 0x1b, slot, set };

    put(out, bytes, sizeof(bytes));
}

/* All of it, from nothing: `start` is ESC [ 0 or ESC [ > 0. */
static void put_look(struct output *out, const char *start, uint8_t attributes, uint8_t colour)
{
    static const struct {
        uint8_t bit;
        char number;
    } bits[] = { { PAGE_BRIGHT, '1' },
                 { PAGE_DIM, '2' },
                 { PAGE_UNDERLINE, '4' },
                 { PAGE_BLINK, '5' },
                 { PAGE_REVERSE, '7' } };

    put(out, start, strlen(start));
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        if (attributes & bits[i].bit)
            put(out, (const uint8_t[]){ ';', (uint8_t)bits[i].number }, 2);
    }
    if ((colour & 0x0f) != 0x0f)
        put(out, (const uint8_t[]){ ';', '3', (uint8_t)('0' + (colour & 7)) }, 3);
    if ((colour & 0xf0) != 0xf0)
        put(out, (const uint8_t[]){ ';', '4', (uint8_t)('0' + (colour >> 4 & 7)) }, 3);
    put_byte(out, 'm');
}

/* From the pen that holds to another one. */
static void put_pen(struct output *out, struct page_pen *now, const struct page_pen *wanted)
{
    if (now->attributes != wanted->attributes || now->colour != wanted->colour)
        put_look(out, "\x1b[0", wanted->attributes, wanted->colour);
    if (now->fade_attributes != wanted->fade_attributes || now->fade_colour != wanted->fade_colour)
        put_look(out, "\x1b[>0", wanted->fade_attributes, wanted->fade_colour);
    *now = *wanted;
}

static void put_row(struct output *out, const struct page *page, unsigned row,
                    struct page_cursor *now)
{
    unsigned length = page_row_length(page, row);

    if (length > 0)
        put_position(out, row, 0);
    for (unsigned column = 0; column < length; column++) {
        const struct page_cell *cell = &page->cells[row][column];

        if (cell->set != now->sets[0])
            put_set(out, '(', cell->set);
        now->sets[0] = cell->set;
        if (memcmp(&now->pen, &cell->pen, sizeof(now->pen)) != 0)
            put_pen(out, &now->pen, &cell->pen);
        put_byte(out, cell->character);
    }
}

/* Everything of the cursor but its position. */
static void put_manner(struct output *out, struct page_cursor *now,
                       const struct page_cursor *wanted)
{
    for (unsigned i = 0; i < 2; i++) {
        if (now->sets[i] != wanted->sets[i])
            put_set(out, i == 0 ? '(' : ')', wanted->sets[i]);
    }
    if (now->shift != wanted->shift)
        put_byte(out, wanted->shift ? 0x0e : 0x0f);
    put_pen(out, &now->pen, &wanted->pen);
    if (now->wraps != wanted->wraps)
        put(out, wanted->wraps ? "\x1b[?7h" : "\x1b[?7l", 5);
    *now = *wanted;
}

static bool is_fresh(const struct page_cursor *cursor)
{
    return cursor->row == 0 && cursor->column == 0 && cursor->sets[0] == 'B' &&
           cursor->sets[1] == 'B' && cursor->shift == 0 && !cursor->wraps &&
           memcmp(&cursor->pen, &fresh.pen, sizeof(fresh.pen)) == 0;
}

/* Later updates rely on it. */
static void put_state(struct output *out, const struct page *page, struct page_cursor *now)
{
    if (!is_fresh(&page->saved)) {
        put_manner(out, now, &page->saved);
        put_position(out, page->saved.row, page->saved.column);
        put(out,
            "\x1b"
            "7",
            2);
    }
    if (page->region_top != 0 || page->region_bottom != PAGE_REGION_BOTTOM - 1) {
        char region[16];
        int length = snprintf(region, sizeof(region), "\x1b[%u;%ur", page->region_top + 1u,
                              page->region_bottom + 1u);
        put(out, region, (size_t)length);
    }
    put_manner(out, now, &page->cursor);
    put_position(out, page->cursor.row, page->cursor.column);
}

int page_build(const struct page *page, uint8_t *out, size_t size, size_t *length)
{
    struct output output = { .bytes = out, .size = size };
    struct page_cursor now = fresh;

    put(&output,
        "\x1b"
        "c"
        "\x1b[?7l",
        7);
    for (unsigned row = 0; row < PAGE_ROWS; row++)
        put_row(&output, page, row, &now);
    put_state(&output, page, &now);
    *length = output.is_full ? 0 : output.length;
    return output.is_full ? MD_ERR_FULL : MD_OK;
}

/* ---- text ---- */

bool page_cell_is_plain(const struct page_cell *cell)
{
    return cell->character == ' ' && cell->set == 'B' &&
           memcmp(&cell->pen, &fresh.pen, sizeof(fresh.pen)) == 0;
}

unsigned page_row_length(const struct page *page, unsigned row)
{
    unsigned length = PAGE_COLUMNS;

    while (length > 0 && page_cell_is_plain(&page->cells[row][length - 1]))
        length--;
    return length;
}

/* Of the DEC line drawing set, which feeds use for frames. */
static uint8_t drawn(uint8_t character)
{
    if (character == 'q')
        return '-';
    if (character == 'x')
        return '|';
    return strchr("jklmntuvw", character) ? '+' : character;
}

size_t page_row_text(const struct page *page, unsigned row, char out[PAGE_TEXT_MAX])
{
    uint8_t *at = (uint8_t *)out;
    uint8_t *end = at; /* behind the last one that is no blank */

    for (unsigned column = 0; column < PAGE_COLUMNS; column++) {
        const struct page_cell *cell = &page->cells[row][column];
        uint8_t c = cell->set == '0' ? drawn(cell->character) : cell->character;

        at = md_utf8_put(at, c);
        if (c != ' ')
            end = at;
    }
    *end = '\0';
    return (size_t)((char *)end - out);
}
