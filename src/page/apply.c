/* apply.c - what each byte of a payload does to a page. See page/page.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "page/page.h"

#define NUMBER_MAX     9999
#define PARAMETERS_MAX 32 /* further ones are passed over */

enum {
    ESC = 0x1b,
    BOTTOM_ROW = PAGE_ROWS - 1,
    LAST_COLUMN = PAGE_COLUMNS - 1,
};

static const struct page_pen plain_pen = { .colour = 0xff, .fade_colour = 0xff };
static const struct page_cell plain_cell = {
    .character = ' ',
    .set = 'B',
    .pen = { .colour = 0xff, .fade_colour = 0xff },
};

/* The numbers of a control sequence; one that is not written is -1. */
struct sequence {
    int numbers[PARAMETERS_MAX];
    unsigned count; /* at least 1 */
    uint8_t mark;   /* '>' or '?' in front of them, or 0 */
    bool is_other;  /* it has bytes that no sequence of this dialect has */
};

/* ---- cells ---- */

static void clear_cells(struct page *page, unsigned row, unsigned from, unsigned to)
{
    for (unsigned column = from; column < to; column++)
        page->cells[row][column] = plain_cell;
}

static void clear_rows(struct page *page, unsigned from, unsigned to)
{
    for (unsigned row = from; row < to; row++)
        clear_cells(page, row, 0, PAGE_COLUMNS);
}

/* Rows from `top` to `bottom` move; those that become free are plain. */
static void scroll_up(struct page *page, unsigned top, unsigned bottom, unsigned count)
{
    unsigned rows = bottom - top + 1;

    if (count > rows)
        count = rows;
    memmove(page->cells[top], page->cells[top + count], (rows - count) * sizeof(page->cells[0]));
    clear_rows(page, bottom + 1 - count, bottom + 1);
}

static void scroll_down(struct page *page, unsigned top, unsigned bottom, unsigned count)
{
    unsigned rows = bottom - top + 1;

    if (count > rows)
        count = rows;
    memmove(page->cells[top + count], page->cells[top], (rows - count) * sizeof(page->cells[0]));
    clear_rows(page, top, top + count);
}

/* ---- moves ---- */

static void move(struct page *page, unsigned row, unsigned column)
{
    page->cursor.row = (uint8_t)row;
    page->cursor.column = (uint8_t)column;
    page->wrap_is_pending = false;
}

static void line_down(struct page *page)
{
    unsigned row = page->cursor.row;

    page->wrap_is_pending = false;
    if (row == page->region_bottom)
        scroll_up(page, page->region_top, page->region_bottom, 1);
    else if (row < BOTTOM_ROW)
        page->cursor.row = (uint8_t)(row + 1);
}

static void line_up(struct page *page)
{
    unsigned row = page->cursor.row;

    page->wrap_is_pending = false;
    if (row == page->region_top)
        scroll_down(page, page->region_top, page->region_bottom, 1);
    else if (row > 0)
        page->cursor.row = (uint8_t)(row - 1);
}

static void cursor_up(struct page *page, unsigned count)
{
    unsigned row = page->cursor.row;
    unsigned stop = row >= page->region_top ? page->region_top : 0;

    move(page, count > row - stop ? stop : row - count, page->cursor.column);
}

static void cursor_down(struct page *page, unsigned count)
{
    unsigned row = page->cursor.row;
    unsigned stop = row <= page->region_bottom ? page->region_bottom : BOTTOM_ROW;

    move(page, count > stop - row ? stop : row + count, page->cursor.column);
}

static void cursor_right(struct page *page, unsigned count)
{
    unsigned left = LAST_COLUMN - page->cursor.column;

    page->cursor.column = (uint8_t)(page->cursor.column + (count < left ? count : left));
}

static void cursor_left(struct page *page, unsigned count)
{
    unsigned column = page->cursor.column;

    move(page, page->cursor.row, count > column ? 0 : column - count);
}

static void tabulate(struct page *page)
{
    unsigned next = (page->cursor.column / 8u + 1) * 8;

    page->cursor.column = (uint8_t)(next > LAST_COLUMN ? LAST_COLUMN : next);
}

/* ---- characters ---- */

static void put_character(struct page *page, uint8_t character)
{
    struct page_cursor *cursor = &page->cursor;

    if (page->wrap_is_pending && cursor->wraps) {
        page->wrap_is_pending = false;
        if (cursor->row != BOTTOM_ROW) {
            line_down(page);
            cursor->column = 0;
        }
    }
    page->cells[cursor->row][cursor->column] = (struct page_cell){
        .character = character,
        .set = cursor->sets[cursor->shift],
        .pen = cursor->pen,
    };
    if (cursor->column < LAST_COLUMN)
        cursor->column++;
    else
        page->wrap_is_pending = cursor->wraps;
}

static void put_control(struct page *page, uint8_t control)
{
    switch (control) {
    case '\b':
        cursor_left(page, 1);
        break;
    case '\t':
        tabulate(page);
        break;
    case '\n':
        line_down(page);
        break;
    case '\r':
        move(page, page->cursor.row, 0);
        break;
    case 0x0e:
    case 0x0f:
        page->cursor.shift = control == 0x0e;
        break;
    default:
        break;
    }
}

/* ---- control sequences ---- */

/* The number at that place; `absent` if it is not written, or 0 where 0 means that. */
static unsigned number_at(const struct sequence *s, unsigned at, unsigned absent)
{
    return at < s->count && s->numbers[at] > 0 ? (unsigned)s->numbers[at] : absent;
}

static void set_position(struct page *page, const struct sequence *s)
{
    unsigned row = number_at(s, 0, 1);
    unsigned column = number_at(s, 1, 1);

    if (s->count <= 2 && row <= PAGE_ROWS && column <= PAGE_COLUMNS)
        move(page, row - 1, column - 1);
}

static void erase_page(struct page *page, unsigned what)
{
    unsigned row = page->cursor.row;
    unsigned column = page->cursor.column;

    if (what == 0) {
        clear_cells(page, row, column, PAGE_COLUMNS);
        clear_rows(page, row + 1, PAGE_ROWS);
    } else if (what == 1) {
        clear_rows(page, 0, row);
        clear_cells(page, row, 0, column + 1);
    } else if (what == 2) {
        clear_rows(page, 0, PAGE_ROWS);
    }
}

static void erase_row(struct page *page, unsigned what)
{
    unsigned row = page->cursor.row;
    unsigned column = page->cursor.column;

    if (what <= 2)
        clear_cells(page, row, what == 0 ? column : 0, what == 1 ? column + 1 : PAGE_COLUMNS);
}

static void shift_cells(struct page *page, unsigned count, bool inserts)
{
    unsigned row = page->cursor.row;
    unsigned column = page->cursor.column;
    unsigned cells = PAGE_COLUMNS - column;
    struct page_cell *at = &page->cells[row][column];

    if (count > cells)
        count = cells;
    if (inserts) {
        memmove(at + count, at, (cells - count) * sizeof(*at));
        clear_cells(page, row, column, column + count);
    } else {
        memmove(at, at + count, (cells - count) * sizeof(*at));
        clear_cells(page, row, PAGE_COLUMNS - count, PAGE_COLUMNS);
    }
}

/* Rows from the cursor's to the bottom of the region, if the cursor is in it. */
static bool shift_rows(struct page *page, unsigned count, bool up)
{
    unsigned row = page->cursor.row;

    if (row < page->region_top || row > page->region_bottom)
        return false;
    if (up)
        scroll_up(page, row, page->region_bottom, count);
    else
        scroll_down(page, row, page->region_bottom, count);
    return true;
}

static void set_region(struct page *page, const struct sequence *s)
{
    unsigned top = number_at(s, 0, 1);
    unsigned bottom = number_at(s, 1, PAGE_REGION_BOTTOM);

    if (bottom > PAGE_ROWS)
        bottom = PAGE_REGION_BOTTOM;
    if (s->count > 2 || top >= bottom)
        return;
    page->region_top = (uint8_t)(top - 1);
    page->region_bottom = (uint8_t)(bottom - 1);
    move(page, 0, 0);
}

static void set_colour(uint8_t *colour, unsigned number)
{
    if (number >= 30 && number <= 37)
        *colour = (uint8_t)((*colour & 0xf0) | (number - 30));
    else if (number >= 40 && number <= 47)
        *colour = (uint8_t)((*colour & 0x0f) | (number - 40) << 4);
}

static void set_look(uint8_t *attributes, uint8_t *colour, unsigned number)
{
    static const uint8_t on[] = { [1] = PAGE_BRIGHT,
                                  [2] = PAGE_DIM,
                                  [4] = PAGE_UNDERLINE,
                                  [5] = PAGE_BLINK,
                                  [7] = PAGE_REVERSE };

    if (number == 0) {
        *attributes = 0;
        *colour = 0xff;
    } else if (number < sizeof(on)) {
        *attributes |= on[number];
    } else if (number == 22) {
        *attributes &= (uint8_t) ~(PAGE_BRIGHT | PAGE_DIM);
    } else if (number == 24 || number == 25 || number == 27) {
        *attributes &= (uint8_t)~on[number - 20];
    } else {
        set_colour(colour, number);
    }
}

static void set_pen(struct page *page, const struct sequence *s)
{
    struct page_pen *pen = &page->cursor.pen;

    for (unsigned i = 0; i < s->count; i++) {
        unsigned number = number_at(s, i, 0);
        if (s->mark == '>')
            set_look(&pen->fade_attributes, &pen->fade_colour, number);
        else if (s->mark == 0)
            set_look(&pen->attributes, &pen->colour, number);
    }
}

static void set_mode(struct page *page, const struct sequence *s, bool is_on)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (s->mark == '?' && s->numbers[i] == 7)
            page->cursor.wraps = is_on;
    }
}

static void obey_cursor(struct page *page, const struct sequence *s, uint8_t final)
{
    unsigned count = number_at(s, 0, 1);

    if (final == 'A')
        cursor_up(page, count);
    else if (final == 'B')
        cursor_down(page, count);
    else if (final == 'C')
        cursor_right(page, count);
    else if (final == 'D')
        cursor_left(page, count);
    else
        set_position(page, s);
}

static void obey_cells(struct page *page, const struct sequence *s, uint8_t final)
{
    unsigned count = number_at(s, 0, 1);

    switch (final) {
    case 'J':
        erase_page(page, number_at(s, 0, 0));
        break;
    case 'K':
        erase_row(page, number_at(s, 0, 0));
        break;
    case '@':
    case 'P':
        shift_cells(page, count, final == '@');
        break;
    case 'L':
    case 'M':
        if (shift_rows(page, count, final == 'M'))
            move(page, page->cursor.row, 0);
        break;
    default: /* S T */
        shift_rows(page, count, final == 'S');
        break;
    }
}

static void obey(struct page *page, const struct sequence *s, uint8_t final)
{
    if (s->is_other)
        return;
    if (final == 'm')
        set_pen(page, s);
    else if (final == 'h' || final == 'l')
        set_mode(page, s, final == 'h');
    else if (s->mark != 0)
        return;
    else if (final == 'r')
        set_region(page, s);
    else if (final != 0 && strchr("ABCDHf", final))
        obey_cursor(page, s, final);
    else if (final != 0 && strchr("JK@PLMST", final))
        obey_cells(page, s, final);
}

/* ---- sequences in the payload ---- */

static void take_digit(struct sequence *s, unsigned digit)
{
    if (s->count > PARAMETERS_MAX)
        return;
    int *number = &s->numbers[s->count - 1];
    *number = (*number < 0 ? 0 : *number) * 10 + (int)digit;
    if (*number > NUMBER_MAX)
        *number = NUMBER_MAX;
}

/* Behind ESC [. Returns where the sequence ends; an ESC in it is left to begin another one. */
static const uint8_t *take_sequence(struct page *page, const uint8_t *p, const uint8_t *end)
{
    struct sequence s = { .count = 1, .numbers = { -1 } };

    for (bool is_first = true; p < end; is_first = false, p++) {
        uint8_t c = *p;

        if (c >= '0' && c <= '9') {
            take_digit(&s, c - (unsigned)'0');
        } else if (c == ';') {
            if (s.count < PARAMETERS_MAX)
                s.numbers[s.count] = -1;
            s.count += s.count <= PARAMETERS_MAX;
        } else if ((c == '>' || c == '?') && is_first) {
            s.mark = c;
        } else if (c >= 0x40 && c <= 0x7e) {
            if (s.count > PARAMETERS_MAX)
                s.count = PARAMETERS_MAX;
            obey(page, &s, c);
            return p + 1;
        } else if ((c & 0x7f) == ESC) {
            return p;
        } else {
            s.is_other = true;
        }
    }
    return p;
}

/* ESC and one byte. */
static void obey_escape(struct page *page, uint8_t final)
{
    switch (final) {
    case '7':
        page->saved = page->cursor;
        break;
    case '8':
        page->cursor = page->saved;
        break;
    case 'D':
        line_down(page);
        break;
    case 'E':
        line_down(page);
        page->cursor.column = 0;
        break;
    case 'M':
        line_up(page);
        break;
    case 'c':
        page_reset(page);
        break;
    default:
        break;
    }
}

/* Behind an ESC. */
static const uint8_t *take_escape(struct page *page, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *begin = p;

    if (p < end && *p == '[')
        return take_sequence(page, p + 1, end);
    while (p < end && *p >= 0x20 && *p <= 0x2f)
        p++;
    if (p == end || (*p & 0x7f) == ESC)
        return p;
    if (p == begin)
        obey_escape(page, *p);
    else if (p == begin + 1 && (*begin == '(' || *begin == ')') && *p >= 0x30 && *p <= 0x7e)
        page->cursor.sets[*begin == ')'] = *p;
    return p + 1;
}

void page_reset(struct page *page)
{
    clear_rows(page, 0, PAGE_ROWS);
    page->cursor = (struct page_cursor){ .sets = { 'B', 'B' }, .pen = plain_pen };
    page->saved = page->cursor;
    page->region_top = 0;
    page->region_bottom = PAGE_REGION_BOTTOM - 1;
    page->wrap_is_pending = false;
}

void page_apply(struct page *page, struct rwf_bytes payload)
{
    const uint8_t *p = payload.data;
    const uint8_t *end = p + payload.length;

    while (p < end) {
        uint8_t c = *p++;

        if ((c & 0x7f) >= 0x20 && (c & 0x7f) != 0x7f)
            put_character(page, c);
        else if ((c & 0x7f) == ESC)
            p = take_escape(page, p, end);
        else
            put_control(page, c & 0x7f);
    }
    page->wrap_is_pending = false;
}
