/* bench_access.c - an access file of a large firm: how long it takes to read, what a question
 * costs. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_access [USERS CODES RULES [LINES [QUESTIONS]]]
 *
 * 1,000,000 users, 20,000 codes and 10,000 rules unless told otherwise; and LINES rules more, of
 * single users and items, 0 unless told. Each kind of question is asked 1,000,000 times, or as
 * often as QUESTIONS says. One thread, no file: the text is made in memory.
 */
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/prng.h"
#include "entitle/entitle.h"

#define ROLES  100u
#define NAMES  200u /* subservices */
#define HOT    64u  /* users and items that are asked about in turn */
#define ROUNDS 5

static unsigned asks = 1000000;

struct text {
    char *bytes;
    size_t length, room;
};

static struct text text;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...)
{
    va_list arguments;

    if (text.room - text.length < 256) {
        text.room = text.room ? 2 * text.room : 1u << 20;
        text.bytes = realloc(text.bytes, text.room);
        if (!text.bytes)
            exit(2);
    }
    va_start(arguments, format);
    text.length += (size_t)vsnprintf(text.bytes + text.length, 256, format, arguments);
    va_end(arguments);
}

/* Exact names, beginnings, ends, and a few in the middle, as real files have them. */
static void add_rule(unsigned i)
{
    unsigned role = i % ROLES;

    switch (i % 20) {
    case 0:
        add("allow @role%u RDFD A%u*\n", role, i);
        break;
    case 1:
        add("deny @role%u RDFD *.X%u\n", role, i);
        break;
    default:
        add("allow @role%u RDFD ITEM%u.N\n", role, i);
        break;
    }
}

static void make(unsigned users, unsigned codes, unsigned rules, unsigned lines)
{
    add("default items deny\npeset IDN ids=257\ncontent RDFD lock\n");
    for (unsigned i = 0; i < codes; i++)
        add("pe IDN %u N%u & (N%u | N%u)\n", i + 1, i % NAMES, (i + 7) % NAMES, (i + 11) % NAMES);
    for (unsigned i = 0; i < ROLES; i++) {
        add("role role%u mounts=5 items=20000\n", i);
        add("grant @role%u IDN N%u,N%u,N%u,100-199\n", i, i % NAMES, (i + 7) % NAMES,
            (i + 11) % NAMES);
    }
    for (unsigned i = 0; i < rules; i++)
        add_rule(i);
    for (unsigned i = 0; i < lines; i++)
        add("allow user%u RDFD OWN%u.N\n", i % users, i);
    for (unsigned i = 0; i < users; i++)
        add("user user%u role=role%u\n", i, i % ROLES);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct entitle_view view(const char *text_of)
{
    return (struct entitle_view){ text_of, strlen(text_of) };
}

/* Each user asks for an item that a line of a role of his allows, which has permission data. */
struct question {
    char user[32], item[32];
    char lock[16];
    size_t lock_length;
};

/* Code `code` of service 257, as version 3 has it. */
static size_t make_lock(unsigned code, char out[16])
{
    char digits[16];
    int count = snprintf(digits, sizeof(digits), "%uc", code);

    out[0] = 3;
    out[1] = out[2] = 1;
    for (int i = 0; i < count; i += 2) {
        unsigned high = digits[i] == 'c' ? 12u : (unsigned)(digits[i] - '0');
        unsigned low = i + 1 == count         ? 0u
                       : digits[i + 1] == 'c' ? 12u
                                              : (unsigned)(digits[i + 1] - '0');
        out[3 + i / 2] = (char)(high << 4 | low);
    }
    return 3 + ((size_t)count + 1) / 2;
}

static void choose(struct question questions[HOT], unsigned users, unsigned rules)
{
    struct md_prng prng = md_prng_init(20);

    for (unsigned i = 0; i < HOT; i++) {
        unsigned role = 2 + md_prng_below(&prng, 17); /* of lines with an exact name */
        unsigned rule = role + ROLES * md_prng_below(&prng, rules / ROLES);
        unsigned user = role + ROLES * md_prng_below(&prng, users / ROLES);

        snprintf(questions[i].user, sizeof(questions[i].user), "user%u", user);
        snprintf(questions[i].item, sizeof(questions[i].item), "ITEM%u.N", rule);
        questions[i].lock_length = make_lock(100 + i, questions[i].lock);
    }
}

static double ask(const struct entitle_rules *rules, const struct question questions[HOT],
                  enum entitle_kind kind, bool has_lock)
{
    struct entitle_answer answer;
    unsigned allowed = 0;
    double start = seconds();

    for (unsigned i = 0; i < asks; i++) {
        const struct question *one = &questions[i % HOT];
        const struct entitle_query query = {
            .kind = kind,
            .domain = 6,
            .user = view(one->user),
            .service = { "RDFD", 4 },
            .item = view(one->item),
            .permission_data = { one->lock, has_lock ? one->lock_length : 0 },
            .is_lock_known = true,
        };
        allowed += entitle_rules_judge(rules, &query, &answer) == ENTITLE_ALLOW;
    }
    double each_ns = (seconds() - start) / asks * 1e9;
    if (allowed != asks) {
        fprintf(stderr, "bench_access: %u of %u are allowed\n", allowed, asks);
        exit(1);
    }
    return each_ns;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void row(const char *name, const struct entitle_rules *rules,
                const struct question questions[HOT], enum entitle_kind kind, bool has_lock)
{
    double ns[ROUNDS];

    for (int i = 0; i < ROUNDS; i++)
        ns[i] = ask(rules, questions, kind, has_lock);
    qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
    printf("  %-34s %10.1f ns\n", name, ns[ROUNDS / 2]);
}

static unsigned number(int argc, char **argv, int at, unsigned fallback)
{
    return argc > at ? (unsigned)strtoul(argv[at], NULL, 10) : fallback;
}

int main(int argc, char **argv)
{
    unsigned users = number(argc, argv, 1, 1000000), codes = number(argc, argv, 2, 20000);
    unsigned rules_count = number(argc, argv, 3, 10000), lines = number(argc, argv, 4, 0);
    struct question questions[HOT];
    struct entitle_rules *rules;

    asks = number(argc, argv, 5, asks);
    if (users < 2 * ROLES || rules_count < 2 * ROLES || codes < 200) {
        fputs("usage: bench_access [USERS CODES RULES [LINES [QUESTIONS]]], the first three at "
              "least 200\n",
              stderr);
        return 1;
    }
    make(users, codes, rules_count, lines);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    double start = seconds();
    int err = entitle_rules_create(text.bytes, text.length, NULL, NULL, &rules);
    double took = seconds() - start;
    if (err != MD_OK) {
        fprintf(stderr, "bench_access: %s\n", md_err_name(err));
        return 1;
    }
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    printf("%u users, %u codes, %u rules, %.1f MB of text\n", users, codes, rules_count + lines,
           (double)text.length / 1e6);
    printf("  %-34s %10.3f s\n", "read", took);
    printf("  %-34s %10.1f MB\n", "memory", (double)(after - before) / 1e6);
    choose(questions, users, rules_count);
    row("a login", rules, questions, ENTITLE_LOGIN, false);
    row("an item by its name", rules, questions, ENTITLE_ITEM, false);
    row("an item with permission data", rules, questions, ENTITLE_ITEM, true);
    entitle_rules_destroy(rules);
    free(text.bytes);
    return 0;
}
