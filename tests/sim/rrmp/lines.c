/* lines.c - see lines.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"

#define SALT UINT64_C(0x66696c746572)

static const struct item_rate plain = { .types = ALL_TYPES };

/* ---- what they mean ---- */

static bool fits(const struct world *world, const struct line *line, uint32_t item)
{
    uint32_t first = item;

    while (first >= 10)
        first /= 10;
    if (!line->has_domain || (line->service >= 0 && line->service != world->items[item].service))
        return false;
    switch (line->pattern) {
    case PATTERN_FIRST:
        return first == line->digit;
    case PATTERN_LAST:
        return item % 10 == line->digit;
    case PATTERN_SHORT:
        return item < 10;
    default:
        return true;
    }
}

/* The first line of each kind decides. */
static struct item_rate rate_of(const struct world *world, uint32_t item)
{
    struct item_rate rate = plain;
    bool has[3] = { false };

    for (uint32_t i = 0; i < world->lines.count; i++) {
        const struct line *line = &world->lines.lines[i];
        if (has[line->kind] || !fits(world, line, item))
            continue;
        has[line->kind] = true;
        if (line->kind == LINE_FIELDS)
            rate.drop = line->drop;
        else if (line->kind == LINE_TYPES)
            rate.types = line->types;
        else
            rate.interval = line->interval;
    }
    return rate;
}

const struct item_rate *lines_of(const struct world *world, uint32_t item)
{
    return world->lines.is_on && is_item(world, item) ? &world->items[item].rate : &plain;
}

void lines_settle(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.item_count; i++)
        world->items[i].rate = rate_of(world, i);
}

uint8_t lines_type(const struct world *world, uint32_t item, uint32_t counter)
{
    static const uint8_t types[8] = { 0, 0, 0, 0, 1, 1, 1, RWF_UPDATE_TRADE };

    return world->lines.is_on || world->paces.is_on ? types[content_mix(item, counter) % 8] : 0;
}

bool lines_pass(const struct world *world, uint32_t item, uint32_t counter)
{
    uint32_t type = lines_type(world, item, counter);

    return is_item(world, item) &&
           (GUARDED(item) || lines_of(world, item)->types >> type & 1); /* permission data pass */
}

bool lines_exempt(const struct world *world, uint32_t item, uint32_t counter, bool is_at_p2ps)
{
    bool has_eighth =
        counter % 8 == 0 && !(is_at_p2ps && lines_of(world, item)->drop & DROP_EIGHTH);

    return GUARDED(item) || world->lines.exempt_types >> lines_type(world, item, counter) & 1 ||
           (world->lines.is_eighth_exempt && has_eighth);
}

/* ---- drawing ---- */

static struct line line_draw(struct world *world, struct md_prng *random)
{
    static const uint32_t intervals[] = { 0, 20, 100, 300, 1000 };
    struct line line = {
        .kind = (enum line_kind)md_prng_below(random, 3),
        .pattern = (enum line_pattern)md_prng_below(random, 4),
        .digit = md_prng_below(random, 10),
        .service = (int)md_prng_below(random, world->plan.service_count + 2) - 2,
        .has_domain = md_prng_below(random, 8) != 0,
        .drops = md_prng_below(random, 2),
        .drop = md_prng_below(random, 4) ? md_prng_below(random, 32) : 0,
        .types = md_prng_below(random, 4) ? md_prng_below(random, 8) : ALL_TYPES,
        .interval = intervals[md_prng_below(random, 5)],
    };

    line.service = line.service < 0 ? -1 : line.service;
    line.types = line.types ? line.types : 1;
    return line;
}

void lines_draw(struct world *world)
{
    struct lines *lines = &world->lines;
    struct md_prng random = md_prng_init(world->options.seed ^ SALT);
    static const uint32_t exempt[] = { 1u << RWF_UPDATE_TRADE, 1u << RWF_UPDATE_TRADE, 0, 2 };

    lines->is_on = true;
    lines->count = 1 + md_prng_below(&random, LINES_MAX - 1);
    for (uint32_t i = 0; i < lines->count; i++)
        lines->lines[i] = line_draw(world, &random);
    if (md_prng_below(&random, 4)) /* most runs merge most items */
        lines->lines[lines->count++] =
            (struct line){ .kind = LINE_INTERVAL,
                           .service = -1,
                           .has_domain = true,
                           .interval = 20 + md_prng_below(&random, 500) };
    lines->exempt_types = exempt[md_prng_below(&random, 4)];
    lines->is_eighth_exempt = md_prng_below(&random, 4) == 0;
    if (md_prng_below(&random, 4) == 0)
        lines->pending_bytes = 100 + md_prng_below(&random, 3000);
}

/* ---- as text ---- */

struct text {
    char bytes[LINES_TEXT_MAX];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text->length += (size_t)vsnprintf(text->bytes + text->length,
                                      sizeof(text->bytes) - text->length, format, args);
    va_end(args);
}

/* Those that are left out, or all others: `keep` names also those that always stay. */
static void fields_put(struct text *text, const struct line *line)
{
    static const int optional[] = { FIELD_PERMISSION, FIELD_EIGHTH, FIELD_PART, FIELD_PART + 1,
                                    FIELD_PART + 2 };

    if (line->drop == 0) {
        put(text, " *");
        return;
    }
    if (!line->drops)
        put(text, " %d, %d %d,%d", FIELD_ITEM, FIELD_MAKER, FIELD_MIX, FIELD_COUNTER);
    for (uint32_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if ((line->drop >> i & 1) == line->drops)
            put(text, " %d", optional[i]);
    }
}

static void line_put(struct text *text, const struct line *line)
{
    static const char *const verbs[] = { "keep", "types", "interval" };
    char pattern[16] = "*";

    if (line->pattern == PATTERN_FIRST)
        snprintf(pattern, sizeof(pattern), "I%u*", line->digit);
    else if (line->pattern == PATTERN_LAST)
        snprintf(pattern, sizeof(pattern), "*%u", line->digit);
    else if (line->pattern == PATTERN_SHORT)
        snprintf(pattern, sizeof(pattern), "I?");
    put(text, "%s",
        line->kind == LINE_FIELDS && line->drops && line->drop ? "drop" : verbs[line->kind]);
    if (line->service < 0)
        put(text, " SVC?");
    else
        put(text, " SVC%d", line->service);
    put(text, " %s %s", pattern, line->has_domain ? "MARKET_PRICE" : "7");
    if (line->kind == LINE_FIELDS)
        fields_put(text, line);
    for (uint32_t i = 0; line->kind == LINE_TYPES && i < 3; i++)
        if (line->types >> i & 1)
            put(text, " %u", i);
    if (line->kind == LINE_INTERVAL)
        put(text, " %ums", line->interval);
    put(text, "\n");
}

static struct rates *rules_make(const struct world *world, const struct text *text)
{
    const struct lines *lines = &world->lines;
    struct text exempt = { .length = 0 };
    struct rates *rules;

    for (uint32_t i = 0; i < 8; i++)
        if (lines->exempt_types >> i & 1)
            put(&exempt, " %u", i);
    if (rates_create(text->bytes, text->length, NULL, NULL, NULL, &rules) != 0 ||
        rates_exempt(rules, exempt.bytes, lines->is_eighth_exempt ? "25" : "", NULL, NULL, NULL) !=
            0)
        abort();
    return rules;
}

struct rates *lines_rules(struct world *world)
{
    const struct lines *lines = &world->lines;
    struct text text = { .length = 0 };

    if (!lines->is_on)
        return NULL;
    for (uint32_t i = 0; i < lines->count; i++)
        line_put(&text, &lines->lines[i]);
    world_trace(world, "filterFile:\n%.*s", (int)text.length, text.bytes);
    return rules_make(world, &text);
}

struct rates *lines_exempt_rules(const struct world *world)
{
    const struct text none = { .length = 0 };

    return rules_make(world, &none);
}
