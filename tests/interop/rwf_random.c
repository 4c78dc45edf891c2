/* rwf_random.c - prints what our encoder makes of random messages: number, mode, hex. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree_random.h"

enum {
    ENCODED_MAX = 1 << 18,
    TEXT_MAX = 1 << 20,
};

static const struct scope no_scope;

/* The public Java library reads state codes from 128 up as 0. */
static bool has_high_code(const char *text, const char *head)
{
    unsigned stream, data, code;

    for (const char *at = text; (at = strstr(at, head)); at++)
        if (sscanf(at + strlen(head), "%u %u %u", &stream, &data, &code) == 3 && code > 127)
            return true;
    return false;
}

/*
 * What that library cannot read, by its own fault: set definitions of fields with another id than
 * 0, reals of the kinds 4RB and 8RB, and high state codes.
 */
static bool is_readable(const char *text)
{
    if (has_high_code(text, "(s ") || has_high_code(text, "(state "))
        return false;
    if (strstr(text, "REAL4RB") || strstr(text, "REAL8RB"))
        return false;
    for (const char *def = text; (def = strstr(def, "(FDB (def ")); def++)
        if (strncmp(def, "(FDB (def 0 ", 12) != 0)
            return false;
    return true;
}

static bool print_one(uint64_t seed, uint8_t *bytes, char *text)
{
    struct arena arena = { 0 };
    struct tree_random g = { .prng = md_prng_init(seed), .arena = &arena };
    enum rwf_lengths lengths = seed % 2 ? RWF_LENGTHS_SHORTEST : RWF_LENGTHS_RESERVED;
    struct node *node = tree_random_msg(&g);
    size_t length;
    bool is_good;

    is_good = tree_print(node, text, TEXT_MAX) < TEXT_MAX && is_readable(text) &&
              tree_encode(node, RWF_TYPE_MSG, &no_scope, lengths, &arena, bytes, ENCODED_MAX,
                          &length) == RWF_OK;
    if (is_good) {
        printf("%llu\t%s\t", (unsigned long long)seed, seed % 2 ? "min" : "rsv");
        for (size_t i = 0; i < length; i++)
            printf("%02x", bytes[i]);
        putchar('\n');
    }
    arena_fini(&arena);
    return is_good;
}

int main(int argc, char **argv)
{
    uint8_t *bytes = malloc(ENCODED_MAX);
    char *text = malloc(TEXT_MAX);
    uint64_t seed;
    unsigned long left;

    if (argc != 3 || !bytes || !text) {
        fputs("usage: rwf_random SEED COUNT\n", stderr);
        return 2;
    }
    seed = strtoull(argv[1], NULL, 10) * 1000000;
    for (left = strtoul(argv[2], NULL, 10); left > 0; seed++)
        left -= print_one(seed, bytes, text);
    free(bytes);
    free(text);
    return 0;
}
