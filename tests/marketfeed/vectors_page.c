/* vectors_page.c - ansi.tsv: payloads, the page after them, and a payload that makes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "page/page.h"
#include "vectors.h"

#define TEXT_MAX 65536

/* ---- the page as the column says it ---- */

static size_t describe_row(const struct page *page, unsigned row, char *out, size_t size)
{
    unsigned length = PAGE_COLUMNS;
    size_t at = 0;

    while (length > 0 && page->cells[row][length - 1].character == ' ')
        length--;
    if (length == 0)
        return 0;
    at += (size_t)snprintf(out, size, "r%u=", row + 1);
    for (unsigned column = 0; column < length; column++)
        at += (size_t)snprintf(out + at, size - at, "%02x", page->cells[row][column].character);
    at += (size_t)snprintf(out + at, size - at, " ");
    return at;
}

static bool looks_alike(const struct page_cell *a, const struct page_cell *b)
{
    return a->set == b->set && memcmp(&a->pen, &b->pen, sizeof(a->pen)) == 0;
}

static size_t describe_runs(const struct page *page, unsigned row, char *out, size_t size)
{
    const struct page_cell plain = { .character = ' ',
                                     .set = 'B',
                                     .pen = { .colour = 0xff, .fade_colour = 0xff } };
    const struct page_cell *cells = page->cells[row];
    size_t at = 0;

    for (unsigned from = 0, to; from < PAGE_COLUMNS; from = to) {
        for (to = from + 1; to < PAGE_COLUMNS && looks_alike(&cells[from], &cells[to]);)
            to++;
        if (looks_alike(&cells[from], &plain))
            continue;
        const struct page_pen *pen = &cells[from].pen;
        at += (size_t)snprintf(out + at, size - at, "a%u,%u-%u=%c,%02x,%02x,%02x,%02x ", row + 1,
                               from + 1, to, cells[from].set, pen->attributes, pen->fade_attributes,
                               pen->colour, pen->fade_colour);
    }
    return at;
}

static void describe(const struct page *page, char *out, size_t size)
{
    size_t at = 0;

    for (unsigned row = 0; row < PAGE_ROWS; row++)
        at += describe_row(page, row, out + at, size - at);
    for (unsigned row = 0; row < PAGE_ROWS; row++)
        at += describe_runs(page, row, out + at, size - at);
    if (at == 0)
        snprintf(out, size, "-");
    else
        out[at - 1] = '\0';
}

static bool is_page(struct vector *vector, const char *what, const struct page *page)
{
    static char text[TEXT_MAX];

    describe(page, text, sizeof(text));
    if (strcmp(text, vector->columns[2]) == 0)
        return true;
    return vector_fail(vector, "%s: found %.1500s, expected %.1500s", what, text,
                       vector->columns[2]);
}

/* Some page that is nothing like an empty one. */
static void make_other(struct page *page)
{
    static const char mess[] = "\x1b[3;9r\x1b[?7h\x1b)0\x1b(A\x0e\x1b[1;5;33;44m\x1b[>2;31m\x1b"
                               "7";

    page_reset(page);
    page_apply(page, rwf_text(mess));
    for (unsigned i = 0; i < 90; i++)
        page_apply(
            page, rwf_text("\x1b[3;1Hsomething that stood here before\n\n\n lines \x1b[25;70Hend"));
}

bool vector_ansi(struct vector *vector)
{
    static uint8_t built[PAGE_BUILT_MAX];
    static struct page page;
    static struct page other;
    char *payloads = vector->columns[1];
    size_t length;

    page_reset(&page);
    while (payloads) {
        const char *hex = strsep(&payloads, "|");
        struct vector_bytes payload = vector_hex(hex, strlen(hex));
        page_apply(&page, payload.bytes);
        vector_free(&payload);
    }
    struct vector_bytes given = vector_hex(vector->columns[3], strlen(vector->columns[3]));
    if (!is_page(vector, "the page", &page))
        return false;
    make_other(&other);
    page_apply(&other, given.bytes);
    if (!is_page(vector, "the page by the given payload", &other))
        return false;
    if (memcmp(&page, &other, sizeof(page)) != 0)
        return vector_fail(vector, "the state by the given payload is another one");
    make_other(&other);
    if (page_build(&page, built, sizeof(built), &length) != 0)
        return vector_fail(vector, "the page cannot be built");
    page_apply(&other, rwf_bytes(built, length));
    if (memcmp(&page, &other, sizeof(page)) != 0)
        return vector_fail(vector, "the page that is built is another one");
    bool passed = vector_equals(vector, "built", rwf_bytes(built, length), given.bytes);
    vector_free(&given);
    return passed;
}
