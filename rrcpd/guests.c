/* guests.c - see guests.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "guests.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
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

static void fill(struct guest_bucket *bucket, uint32_t most, uint64_t each_ns, uint64_t now_ns)
{
    uint64_t more = (now_ns - bucket->filled_ns) / each_ns;

    bucket->filled_ns += more * each_ns;
    if (more > most - bucket->tokens)
        bucket->tokens = most;
    else
        bucket->tokens += (uint32_t)more;
}

static bool take(struct guest_bucket *bucket)
{
    if (bucket->tokens == 0)
        return false;
    bucket->tokens--;
    return true;
}

static void fill_guest(struct guest *guest, uint64_t now_ns)
{
    fill(&guest->bucket, GUESTS_BURST, MD_NS_PER_S, now_ns);
}

/* The slot of a uid. A new one takes a free slot, else that of a uid without a place that has most
 * attachments left: it has waited longest. NULL: all slots are of uids with places. */
static struct guest *find(struct guests *guests, uid_t uid, uint64_t now_ns)
{
    struct guest *best = NULL;

    for (int i = 0; i < GUESTS_MAX; i++) {
        struct guest *guest = &guests->list[i];
        bool is_free = !guest->bucket.filled_ns;

        if (!is_free && guest->uid == uid)
            return guest;
        if (!is_free && guest->places == 0)
            fill_guest(guest, now_ns);
        if (guest->places == 0 &&
            (!best || is_free ||
             (best->bucket.filled_ns && guest->bucket.tokens > best->bucket.tokens)))
            best = guest;
    }
    if (best)
        *best = (struct guest){ .uid = uid, .bucket = { GUESTS_BURST, now_ns } };
    return best;
}

/* Takes one of the reserve of a daemon. A new name takes a free slot, else one that is full again:
 * nothing is forgotten with it. False: the daemon has none left, or there is no such slot. */
static bool take_reserve(struct guests *guests, uid_t uid, const char *daemon, uint64_t now_ns)
{
    struct guest_reserve *best = NULL;

    for (int i = 0; i < GUESTS_RESERVES; i++) {
        struct guest_reserve *reserve = &guests->reserves[i];

        if (reserve->bucket.filled_ns) {
            fill(&reserve->bucket, GUESTS_RESERVE, 60 * MD_NS_PER_S, now_ns);
            if (reserve->uid == uid && strcmp(reserve->name, daemon) == 0)
                return take(&reserve->bucket);
        }
        if (!reserve->bucket.filled_ns || reserve->bucket.tokens == GUESTS_RESERVE)
            best = reserve;
    }
    if (!best)
        return false;
    *best = (struct guest_reserve){ .uid = uid, .bucket = { GUESTS_RESERVE, now_ns } };
    snprintf(best->name, sizeof(best->name), "%s", daemon);
    return take(&best->bucket);
}

bool guests_attach(struct guests *guests, uid_t uid, const char *daemon, uint64_t now_ns)
{
    struct guest *guest = find(guests, uid, now_ns);

    if (guest) {
        fill_guest(guest, now_ns);
        if (take(&guest->bucket))
            return true;
    }
    return daemon && is_host(uid) && take_reserve(guests, uid, daemon, now_ns);
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
        if (guests->list[i].bucket.filled_ns && guests->list[i].uid == uid &&
            guests->list[i].places > 0)
            guests->list[i].places--;
}
