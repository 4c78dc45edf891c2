/* page_view.c - see page_view.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "page_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "page/page.h"
#include "rmds/rwf_rmtes.h"

#define ROW_BYTES 128 /* of the longest row of a record, 99 cells, with its escapes */

/* The rows of page records, of 64, 80 and 99 cells: their fields. */
static const struct row_fields {
    int16_t first;
    int16_t last;
    uint8_t cells;
} row_fields[] = { { 215, 228, 64 }, { 315, 339, 80 }, { 1359, 1378, 99 } };

struct row {
    uint8_t bytes[ROW_BYTES];
    size_t length;
    uint8_t cells; /* 0: the record has no such row */
};

struct page_view {
    const char *name;
    struct page page;
    struct page before; /* what was shown last */
    struct row rows[PAGE_ROWS];
    struct row rows_before[PAGE_ROWS];
};

struct page_view_set {
    FILE *out;
    unsigned count;
    struct page_view *views[PAGE_VIEWS];
};

int page_view_create(FILE *out, struct page_view_set **set)
{
    *set = calloc(1, sizeof(**set));
    if (!*set)
        return MD_ERR_NOMEM;
    (*set)->out = out;
    return MD_OK;
}

void page_view_destroy(struct page_view_set *set)
{
    for (unsigned i = 0; set && i < set->count; i++)
        free(set->views[i]);
    free(set);
}

static struct page_view *view_of(struct page_view_set *set, const char *name)
{
    unsigned i = 0;

    while (i < set->count && set->views[i]->name != name)
        i++;
    if (i < set->count)
        return set->views[i];
    if (i == PAGE_VIEWS || !(set->views[i] = calloc(1, sizeof(struct page_view))))
        return NULL;
    set->views[i]->name = name;
    page_reset(&set->views[i]->page);
    set->count++;
    return set->views[i];
}

/* ---- rows out ---- */

static void print_row(FILE *out, unsigned number, const char *text, const char *marks)
{
    fprintf(out, "%3u |%s\n", number, text);
    if (marks[0])
        fprintf(out, "    |%s\n", marks);
}

/* `marks` under `cells` cells: as many as it is long without trailing blanks. */
static void end_marks(char *marks, unsigned cells)
{
    while (cells > 0 && marks[cells - 1] == ' ')
        cells--;
    marks[cells] = '\0';
}

static bool mark_page_row(const struct page_view *view, unsigned row, char *marks)
{
    for (unsigned i = 0; i < PAGE_COLUMNS; i++)
        marks[i] = memcmp(&view->page.cells[row][i], &view->before.cells[row][i],
                          sizeof(struct page_cell)) == 0
                       ? ' '
                       : '^';
    end_marks(marks, PAGE_COLUMNS);
    return marks[0] != '\0';
}

static void show_page(FILE *out, struct page_view *view, bool is_whole)
{
    char text[PAGE_TEXT_MAX];
    char marks[PAGE_COLUMNS + 1];

    for (unsigned row = 0; row < PAGE_ROWS; row++) {
        bool is_changed = mark_page_row(view, row, marks);

        if (!is_whole && !is_changed)
            continue;
        page_row_text(&view->page, row, text);
        print_row(out, row + 1, text, is_whole ? "" : marks);
    }
    view->before = view->page;
}

static bool mark_row(const struct row *row, const struct row *before, char *marks)
{
    unsigned cells = (unsigned)(row->length > before->length ? row->length : before->length);

    for (unsigned i = 0; i < cells; i++) {
        bool was = i < before->length;
        bool is = i < row->length;
        marks[i] = was && is && row->bytes[i] == before->bytes[i] ? ' ' : '^';
    }
    end_marks(marks, cells);
    return marks[0] != '\0';
}

/* Of UTF-8: as long as so many characters are, at most `length`. */
static size_t cut_at(const char *text, size_t length, unsigned characters)
{
    for (size_t i = 0; i < length; i++) {
        bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;
        if (begins && characters-- == 0)
            return i;
    }
    return length;
}

static void show_rows(FILE *out, struct page_view *view, bool is_whole)
{
    char text[3 * ROW_BYTES + 1];
    char marks[ROW_BYTES + 1];
    size_t length;

    for (unsigned i = 0; i < PAGE_ROWS; i++) {
        const struct row *row = &view->rows[i];
        bool is_changed = mark_row(row, &view->rows_before[i], marks);

        if (row->cells == 0 || (!is_whole && !is_changed))
            continue;
        (void)rwf_rmtes_to_utf8(row->bytes, row->length, text, sizeof(text) - 1, &length);
        text[cut_at(text, length, row->cells)] = '\0';
        print_row(out, i + 1, text, is_whole ? "" : marks);
    }
    memcpy(view->rows_before, view->rows, sizeof(view->rows));
}

/* ---- rows in ---- */

/* The number of the row, from 0, and its cells; -1: the field is none. */
static int row_number(int16_t id, uint8_t *cells)
{
    for (size_t i = 0; i < sizeof(row_fields) / sizeof(row_fields[0]); i++) {
        *cells = row_fields[i].cells;
        if (id >= row_fields[i].first && id <= row_fields[i].last)
            return id - row_fields[i].first;
    }
    return -1;
}

/* How many rows the list has; into `view`, if it is not NULL. */
static unsigned take_rows(struct page_view *view, struct rwf_bytes payload)
{
    struct rwf_field_list list;
    struct rwf_field field;
    unsigned count = 0;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        uint8_t cells;
        int number = row_number(field.id, &cells);
        if (number < 0)
            continue;
        count++;
        if (!view)
            continue;
        struct row *row = &view->rows[number];
        row->cells = cells;
        (void)rwf_rmtes_apply(row->bytes, sizeof(row->bytes), &row->length, field.content.data,
                              field.content.length);
    }
    return count;
}

bool page_view_message(struct page_view_set *set, const char *name, const struct rwf_msg *msg)
{
    bool is_whole = msg->msg_class == RWF_CLASS_REFRESH;
    bool is_ansi = msg->container == RWF_TYPE_ANSI_PAGE;

    if (!is_ansi && (msg->container != RWF_TYPE_FIELD_LIST || take_rows(NULL, msg->payload) == 0))
        return false;
    struct page_view *view = view_of(set, name);
    if (!view)
        return false;
    if (is_whole && msg->flags & RWF_REFRESH_CLEAR_CACHE) {
        page_reset(&view->page);
        memset(view->rows, 0, sizeof(view->rows));
    }
    fprintf(set->out, "%s %s\n", is_whole ? "PAGE" : "CHANGE", name);
    if (is_ansi) {
        page_apply(&view->page, msg->payload);
        show_page(set->out, view, is_whole);
    } else {
        take_rows(view, msg->payload);
        show_rows(set->out, view, is_whole);
    }
    return true;
}
