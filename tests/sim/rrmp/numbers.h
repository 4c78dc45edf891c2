/* numbers.h - how the providers of mirrored sources number what they say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_NUMBERS_H
#define RRMPSIM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct provider;
struct world;

enum numbers_kind {
    NUMBERS_PLAIN, /* the item's counter */
    NUMBERS_WRAP,  /* from 2^32 - 1 to 0 during the run */
    NUMBERS_HOLES,
    NUMBERS_REPEAT,  /* several messages with one number */
    NUMBERS_SELDOM,  /* most updates without one */
    NUMBERS_MERGED,  /* plain, src_dist merges and leaves out: lines.h */
    NUMBERS_BACK,    /* at 1 again in the middle of a stream, without an image */
    NUMBERS_RESTART, /* at 1 again at a provider that was lost and came again */
    NUMBERS_OTHER,   /* one provider is ahead by a few */
    NUMBERS_SAME,    /* equal numbers, of messages that differ */
    NUMBERS_count
};

struct numbers {
    enum numbers_kind kind;
    uint32_t first;
    uint32_t step;
};

/* Draws them from numbers of their own, so that a seed means the same fault whatever they are. */
void numbers_draw(struct world *world);
/* Of the message that brings an item to `counter`. */
uint32_t numbers_of(const struct provider *p, uint32_t item, uint32_t counter);
bool numbers_has_update(const struct world *world, uint32_t counter);
/* A provider puts this into each message; where two differ, so do their messages. */
uint32_t numbers_maker(const struct provider *p);
/* Providers tell the same with the same numbers, so no switch of that item may be noticed. */
bool numbers_are_equal(const struct world *world, uint32_t item);
/* No place of one source is a place of the other: none may go on there. */
bool numbers_are_unequal(const struct world *world);

#endif
