/* lines.h - filterFile of a run: its lines, and what they mean for each item. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_LINES_H
#define RRMPSIM_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "rates/rates.h"

#define LINES_MAX      6
#define LINES_TEXT_MAX 2048
#define ALL_TYPES      0xFFu

struct world;

enum line_kind {
    LINE_FIELDS,
    LINE_TYPES,
    LINE_INTERVAL,
};

enum line_pattern {
    PATTERN_ALL,
    PATTERN_FIRST, /* the first digit of the item's number */
    PATTERN_LAST,
    PATTERN_SHORT, /* numbers of one digit */
};

struct line {
    enum line_kind kind;
    enum line_pattern pattern;
    uint32_t digit;
    int service;       /* -1: all */
    bool has_domain;   /* that of the items */
    bool drops;        /* as the line is written: the others */
    uint32_t drop;     /* bits of fields that are left out: enum line_field */
    uint32_t types;    /* bits of types that pass */
    uint32_t interval; /* ms */
};

/* Fields that a line may leave out; those by which a message is judged always stay. */
enum line_field {
    DROP_PERMISSION = 1,
    DROP_EIGHTH = 2,
    DROP_PART = 4, /* and the next two bits */
};

/* The lines for one item. All zero but for `types`: everything goes out as it comes. */
struct item_rate {
    uint32_t drop;
    uint32_t types;
    uint32_t interval; /* ms */
};

struct lines {
    bool is_on;
    uint32_t count;
    struct line lines[LINES_MAX];
    uint32_t exempt_types; /* bits */
    bool is_eighth_exempt;
    uint64_t pending_bytes; /* 0: as the core has it */
};

/* Draws them from numbers of their own, so that a seed means the same events with and without. */
void lines_draw(struct world *world);
/* Once the items are known. */
void lines_settle(struct world *world);
/* For the core of one src_dist, which destroys them; NULL: none. */
struct rates *lines_rules(struct world *world);
/* No lines, but what is never merged. */
struct rates *lines_exempt_rules(const struct world *world);

const struct item_rate *lines_of(const struct world *world, uint32_t item);
uint8_t lines_type(const struct world *world, uint32_t item, uint32_t counter);
/* An update of that counter goes out. */
bool lines_pass(const struct world *world, uint32_t item, uint32_t counter);
/* It is never merged: by src_dist, which looks before it leaves fields out, or by p2ps. */
bool lines_exempt(const struct world *world, uint32_t item, uint32_t counter, bool is_at_p2ps);

#endif
