/* bench_page.c - a payload of 40 bytes applied to a page, and a page built. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "page/page.h"

#define ROUNDS   1000000
#define PAYLOADS 64

static void fail(const char *what)
{
    fprintf(stderr, "bench_page: %s\n", what);
    exit(1);
}

/* CPU time: nothing here waits. */
static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* A page of rates: a head in colour, twenty rows of text. */
static void fill(struct page *page)
{
    char text[256];

    page_reset(page);
    page_apply(page, rwf_text("\x1b[1;1H\x1b[1;37;44m FOREIGN EXCHANGE        LONDON       "
                              "\x1b[0m\x1b[2;1H\x1b[4mBANK              CITY      RATE\x1b[0m"));
    for (unsigned row = 3; row <= 22; row++) {
        snprintf(
            text, sizeof(text),
            "\x1b[%u;1HBANK NUMBER %02u    ZUERICH   \x1b[33m1.23%02u/%02u\x1b[0m   14:33:%02u",
            row, row, row, row + 5, row);
        page_apply(page, rwf_text(text));
    }
}

/* An update as a feed sends one: a position, bright, a rate and a time; 40 bytes. */
static void make_payload(char *out, size_t size, unsigned i)
{
    snprintf(out, size, "\x1b[%02u;31H\x1b[1;33m1.2%03u/%02u\x1b[0m  14:34:%02u", 3 + i % 20,
             i % 1000, i % 100, i % 60);
    size_t length = strlen(out);
    memset(out + length, 'X', 40 - length);
    out[40] = '\0';
}

static double apply_ns(struct page *page)
{
    static char payloads[PAYLOADS][64];

    for (unsigned i = 0; i < PAYLOADS; i++) {
        make_payload(payloads[i], sizeof(payloads[i]), i);
        if (strlen(payloads[i]) != 40)
            fail("a payload has not 40 bytes");
    }
    double start = now_ns();
    for (unsigned i = 0; i < ROUNDS; i++)
        page_apply(page, rwf_bytes((const uint8_t *)payloads[i % PAYLOADS], 40));
    return (now_ns() - start) / ROUNDS;
}

static double build_ns(const struct page *page, size_t *length)
{
    static uint8_t out[PAGE_BUILT_MAX];
    double start = now_ns();

    for (unsigned i = 0; i < ROUNDS / 20; i++) {
        if (page_build(page, out, sizeof(out), length) != MD_OK)
            fail("a page cannot be built");
    }
    return (now_ns() - start) / (ROUNDS / 20);
}

int main(int argc, char **argv)
{
    static struct page page;
    size_t length = 0;

    if (argc > 1) {
        printf("bench_page: a payload applied to a page, and a page built; nanoseconds of CPU.\n");
        return strcmp(argv[1], "-h") == 0 ? 0 : 2;
    }
    fill(&page);
    double apply = apply_ns(&page);
    double build = build_ns(&page, &length);
    printf("page of 22 rows, built as %zu bytes\n", length);
    printf("  payload of 40 bytes  %7.1f ns\n", apply);
    printf("  page built           %7.1f ns\n", build);
    return 0;
}
