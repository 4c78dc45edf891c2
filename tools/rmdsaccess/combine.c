/* combine.c - several permission data as one: what all of them need. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/options.h"
#include "entitle/lock.h"
#include "rules.h"

#define CLAUSES_MAX 1024u
#define CODES_MAX   1024u

/* One of these codes is needed, of this service. */
struct clause {
    uint16_t service;
    uint16_t count; /* 0: the service is named, and needs nothing */
    uint32_t codes[CODES_MAX];
};

struct sum {
    struct clause clauses[CLAUSES_MAX];
    size_t count;
};

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int by_clause(const void *a, const void *b)
{
    const struct clause *x = a, *y = b;

    if (x->service != y->service)
        return x->service < y->service ? -1 : 1;
    for (unsigned i = 0; i < x->count && i < y->count; i++) {
        if (x->codes[i] != y->codes[i])
            return x->codes[i] < y->codes[i] ? -1 : 1;
    }
    return (x->count > y->count) - (x->count < y->count);
}

/* "(456|985)" or "1027" at *at. */
static bool add_clause(struct sum *sum, uint16_t service, const char **at)
{
    bool is_group = **at == '(';
    struct clause *clause = &sum->clauses[sum->count];

    if (sum->count == CLAUSES_MAX)
        return false;
    *clause = (struct clause){ .service = service };
    *at += is_group;
    do {
        char *end;
        if (clause->count == CODES_MAX)
            return false;
        *at += clause->count > 0;
        clause->codes[clause->count++] = (uint32_t)strtoul(*at, &end, 10);
        if (end == *at)
            return false;
        *at = end;
    } while (**at == '|');
    *at += is_group;
    qsort(clause->codes, clause->count, sizeof(clause->codes[0]), by_number);
    sum->count++;
    return true;
}

/* "257: (456|985)&1027; 258: " as entitle_lock_read() has it. */
static bool add_text(struct sum *sum, const char *at)
{
    while (*at) {
        char *end;
        uint16_t service = (uint16_t)strtoul(at, &end, 10);

        at = end + 1 + (end[1] == ' ');
        if (*at == 0 || *at == ';') {
            if (sum->count == CLAUSES_MAX)
                return false;
            sum->clauses[sum->count++] = (struct clause){ .service = service };
        }
        while (*at && *at != ';') {
            if (!add_clause(sum, service, &at))
                return false;
            at += *at == '&';
        }
        at += *at == ';' ? 2 : 0;
    }
    return true;
}

static bool contains(const struct clause *all, const struct clause *part)
{
    unsigned k = 0;

    for (unsigned i = 0; i < all->count && k < part->count; i++)
        k += all->codes[i] == part->codes[k];
    return k == part->count;
}

/* 62 & (62|144) is 62: a clause that holds another one adds nothing. */
static bool is_absorbed(const struct sum *sum, size_t at)
{
    const struct clause *clause = &sum->clauses[at];

    for (size_t i = 0; i < sum->count; i++) {
        const struct clause *other = &sum->clauses[i];

        if (i == at || other->service != clause->service)
            continue;
        if (clause->count == 0 && (other->count > 0 || i < at))
            return true;
        if (other->count > 0 && clause->count > 0 && contains(clause, other) &&
            (other->count < clause->count || i < at))
            return true;
    }
    return false;
}

static void reduce(struct sum *sum)
{
    struct sum *kept = calloc(1, sizeof(*kept));

    for (size_t i = 0; kept && i < sum->count; i++) {
        if (!is_absorbed(sum, i))
            kept->clauses[kept->count++] = sum->clauses[i];
    }
    if (kept)
        *sum = *kept;
    free(kept);
    qsort(sum->clauses, sum->count, sizeof(sum->clauses[0]), by_clause);
}

/* ---- printing ---- */

struct nibbles {
    FILE *out;
    bool is_half;
};

static void put_nibble(struct nibbles *nibbles, char digit)
{
    fputc(digit, nibbles->out);
    nibbles->is_half = !nibbles->is_half;
}

static void put_end(struct nibbles *nibbles, char letter)
{
    put_nibble(nibbles, letter);
    if (nibbles->is_half)
        put_nibble(nibbles, '0');
}

static void print(const struct sum *sum, FILE *out)
{
    struct nibbles nibbles = { .out = out };

    fputs("03", out);
    for (size_t i = 0; i < sum->count; i++) {
        const struct clause *clause = &sum->clauses[i];
        bool is_first = i == 0 || clause[-1].service != clause->service;

        if (is_first && i > 0)
            put_end(&nibbles, 'd');
        if (is_first)
            fprintf(out, "%04x", clause->service);
        else
            put_nibble(&nibbles, 'a');
        for (unsigned k = 0; k < clause->count; k++) {
            char digits[12];
            snprintf(digits, sizeof(digits), "%u", clause->codes[k]);
            if (k > 0)
                put_nibble(&nibbles, 'b');
            for (const char *digit = digits; *digit; digit++)
                put_nibble(&nibbles, *digit);
        }
    }
    put_end(&nibbles, 'c');
}

static bool holds_nothing(void *self, uint16_t service, uint32_t code)
{
    (void)self;
    (void)service;
    (void)code;
    return false;
}

static bool add_lock(struct sum *sum, const char *word)
{
    static char lock[32768], text[262144];
    struct entitle_lock_reader reader = { .holds = holds_nothing,
                                          .text = text,
                                          .text_size = sizeof(text) };
    size_t length = access_lock_read(word, lock, sizeof(lock));
    enum entitle_lock_kind kind = entitle_lock_read((struct entitle_view){ lock, length }, &reader);

    if (length && kind == ENTITLE_LOCK_FINE && (uint8_t)lock[0] == 3)
        return add_text(sum, text);
    fprintf(stderr, "rmdsaccess: %s: %s\n", word,
            !length                     ? "neither hexadecimal digits nor base64"
            : kind == ENTITLE_LOCK_FINE ? "only permission data of version 3 can be combined"
                                        : entitle_lock_kind_name(kind));
    return false;
}

int access_combine(const char *const words[], size_t count)
{
    struct sum *sum = calloc(1, sizeof(*sum));
    char *hex = NULL;
    size_t length;
    bool is_fine = sum != NULL;

    for (size_t i = 0; is_fine && i < count; i++)
        is_fine = add_lock(sum, words[i]);
    FILE *out = is_fine ? open_memstream(&hex, &length) : NULL;
    if (out) {
        reduce(sum);
        print(sum, out);
        fclose(out);
        const char *const one[] = { hex };
        access_lock(one, 1);
    }
    free(hex);
    free(sum);
    return out ? MD_EXIT_OK : MD_EXIT_FILE;
}
