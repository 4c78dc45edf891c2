/* guests.c - see guests.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "guests.h"

#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

static bool is_host(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

const char *guests_connect(uid_t uid, int of_uid, int of_all, int most)
{
    if (of_all >= most)
        return "rrcpd has as many connections as it accepts";
    if (is_host(uid))
        return NULL;
    if (of_uid >= GUESTS_CONNECTIONS)
        return "this uid has 56 connections, which is the most";
    if (of_all >= most - GUESTS_KEPT)
        return "the last 16 connections are kept for root and the uid of rrcpd";
    return NULL;
}

bool guests_may_have_rings(uid_t uid, uint64_t of_uid, uint64_t most)
{
    return is_host(uid) || of_uid <= most / 4 * 3;
}

static void fill(struct guest *guest, uint64_t now_ns)
{
    uint64_t seconds = (now_ns - guest->filled_ns) / MD_NS_PER_S;

    guest->filled_ns += seconds * MD_NS_PER_S;
    if (seconds > GUESTS_BURST - guest->tokens)
        guest->tokens = GUESTS_BURST;
    else
        guest->tokens += (uint32_t)seconds;
}

/* The slot of a uid. A new one takes a free slot, else that of a uid without a place that has most
 * attachments left: it has waited longest. NULL: all slots are of uids with places. */
static struct guest *find(struct guests *guests, uid_t uid, uint64_t now_ns)
{
    struct guest *best = NULL;

    for (int i = 0; i < GUESTS_MAX; i++) {
        struct guest *guest = &guests->list[i];

        if (guest->filled_ns && guest->uid == uid)
            return guest;
        if (guest->filled_ns && guest->places == 0)
            fill(guest, now_ns);
        if (guest->places == 0 &&
            (!best || !guest->filled_ns || (best->filled_ns && guest->tokens > best->tokens)))
            best = guest;
    }
    if (best)
        *best = (struct guest){ .uid = uid, .tokens = GUESTS_BURST, .filled_ns = now_ns };
    return best;
}

bool guests_attach(struct guests *guests, uid_t uid, uint64_t now_ns)
{
    struct guest *guest = find(guests, uid, now_ns);

    if (!guest)
        return false;
    fill(guest, now_ns);
    if (guest->tokens == 0)
        return false;
    guest->tokens--;
    return true;
}

bool guests_enter(struct guests *guests, uid_t uid, uint64_t now_ns)
{
    struct guest *guest = find(guests, uid, now_ns);

    if (!guest || (!is_host(uid) && guest->places == GUESTS_PLACES))
        return false;
    guest->places++;
    return true;
}

void guests_leave(struct guests *guests, uid_t uid)
{
    for (int i = 0; i < GUESTS_MAX; i++)
        if (guests->list[i].filled_ns && guests->list[i].uid == uid && guests->list[i].places > 0)
            guests->list[i].places--;
}
