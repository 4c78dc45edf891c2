/* share.c - see base/share.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/share.h"

static bool has_much(const struct md_shares *shares, uint64_t share_max)
{
    for (size_t i = 0; i < MD_SHARES; i++) {
        const struct md_share *share = shares->of[i];

        if (share && atomic_load_explicit(&share->bytes, memory_order_relaxed) >= share_max)
            return true;
    }
    return false;
}

static bool has_room(const struct md_pool_room *room, const struct md_shares *shares, uint64_t more)
{
    if (room->max == 0)
        return true;
    if (more > room->max - room->used)
        return false;
    return room->share_max == 0 || room->used + more <= room->max - room->max / 4 ||
           !has_much(shares, room->share_max);
}

bool md_room_move(struct md_pool_room *room, const struct md_shares *shares, uint64_t from,
                  uint64_t to)
{
    if (from == to)
        return true;
    if (to > from && !has_room(room, shares, to - from)) {
        room->refused++;
        return false;
    }
    room->used += to - from;
    for (size_t i = 0; i < MD_SHARES; i++) {
        if (shares->of[i])
            atomic_fetch_add_explicit(&shares->of[i]->bytes, to - from, memory_order_relaxed);
    }
    return true;
}

void md_shares_set(struct md_shares *shares, size_t at, struct md_share *share, uint64_t bytes)
{
    if (shares->of[at] == share)
        return;
    if (shares->of[at])
        atomic_fetch_sub_explicit(&shares->of[at]->bytes, bytes, memory_order_relaxed);
    if (share)
        atomic_fetch_add_explicit(&share->bytes, bytes, memory_order_relaxed);
    shares->of[at] = share;
}
