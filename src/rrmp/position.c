/* position.c - see rrmp/position.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrmp/position.h"

#include "state.h"

/*
 * Each message moves the first word by a byte: the bits of a message have left it after 8 more. So
 * its lowest 8 * n bits depend on the last n messages alone, however long both sides have followed
 * the stream. The second word is the hash of the last message.
 */
#define MESSAGE_BITS 8u

void rrmp_position_begin(struct rrmp_position *position, const struct rrmp_mark *image)
{
    *position = (struct rrmp_position){ 0 };
    if (!image)
        return;
    position->is_known = image->has_number;
    position->number = image->has_number ? image->number : 0;
    position->digest[0] = image->hash;
}

static void number_take(struct rrmp_position *position, const struct rrmp_mark *mark)
{
    /* Nearly all messages have the next number. */
    if (mark->has_number && position->is_known && rrmp_after(mark->number, position->number)) {
        position->is_counted = true;
    } else if (!mark->has_number || (position->is_known && mark->number == position->number)) {
        position->is_broken = position->is_broken || position->count == UINT16_MAX;
        position->count++;
        return;
    } else {
        position->is_broken = position->is_broken || position->is_known;
        position->is_counted = position->is_known;
        position->is_known = true;
    }
    position->number = mark->number;
    position->count = 0;
}

void rrmp_position_pass(struct rrmp_position *position, const struct rrmp_mark *mark)
{
    uint64_t before = position->kept > 0 ? position->digest[0] : 0;

    number_take(position, mark);
    position->digest[0] = before << MESSAGE_BITS ^ mark->hash;
    position->digest[1] = mark->hash;
    if (position->kept < RRMP_POSITION_KEPT)
        position->kept++;
}

bool rrmp_position_is_named(const struct rrmp_position *position)
{
    return position->is_known && !position->is_broken &&
           (position->is_counted || position->kept == 0);
}

bool rrmp_position_is_same(const struct rrmp_position *a, const struct rrmp_position *b)
{
    unsigned both = a->kept < b->kept ? a->kept : b->kept;

    if (!rrmp_position_is_named(a) || !rrmp_position_is_named(b) || a->number != b->number ||
        a->count != b->count)
        return false;
    if (both == 0) /* an image proves nothing but an image */
        return a->kept == b->kept && a->digest[0] == b->digest[0];
    uint64_t mask = UINT64_MAX >> (64 - MESSAGE_BITS * both);
    return ((a->digest[0] ^ b->digest[0]) & mask) == 0 && a->digest[1] == b->digest[1];
}

bool rrmp_position_is_after(const struct rrmp_position *a, const struct rrmp_position *b)
{
    return a->number == b->number ? a->count > b->count : rrmp_after(a->number, b->number);
}
