/* rrmp/position.h - where an item is in its provider's stream, and proof of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_POSITION_H
#define RRMP_POSITION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Two sources that hear one numbered stream name the same message by the provider's number and the
 * count of messages behind it that have no new one. The digest of the last messages proves that
 * both mean the same stream. An image begins anew: two sources have theirs at different times, so
 * only messages that both count are compared, and a count behind the number of an image says
 * nothing to others: it waits for the next number. A number that goes back names no place any more,
 * until the next image.
 */
#define RRMP_POSITION_KEPT 8u /* messages in a digest */

/* The caller reads these from a message. */
struct rrmp_mark {
    bool has_number;
    uint32_t number;
    uint64_t hash; /* of all that both sources send alike */
};

struct rrmp_position {
    uint32_t number;     /* the newest one; wraps */
    uint16_t count;      /* messages behind it without a number, or with the same one */
    uint8_t kept;        /* messages in the digest; 0: it is that of the image */
    bool is_known : 1;   /* a number has come, */
    bool is_counted : 1; /* and another one since the image: all followers count from it */
    bool is_broken : 1;  /* and one went back since the image: no place has a name any more */
    uint64_t digest[2];  /* a byte of each of the last messages; the last one as a whole */
};

/* An image. NULL: one in parts, which cannot be compared. */
void rrmp_position_begin(struct rrmp_position *position, const struct rrmp_mark *image);
/* The next message. */
void rrmp_position_pass(struct rrmp_position *position, const struct rrmp_mark *mark);
/* The position names a place to others. */
bool rrmp_position_is_named(const struct rrmp_position *position);
/* The same place, with as much proof as both have: 64 bits at least. */
bool rrmp_position_is_same(const struct rrmp_position *a, const struct rrmp_position *b);
/* `a` names a later message than `b`. Both are known. */
bool rrmp_position_is_after(const struct rrmp_position *a, const struct rrmp_position *b);

#endif
