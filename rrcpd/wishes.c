/* wishes.c - see wishes.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "wishes.h"

#include <string.h>

#include "base/assert.h"

/* The place of the topic, or where it belongs. */
static uint32_t place_of(const struct wishes *w, uint32_t number)
{
    uint32_t low = 0, high = w->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (w->topics[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void look_soon(struct wishes *w, uint64_t now_ns)
{
    if (w->look_ns == 0)
        w->look_ns = now_ns + WISHES_LOOK_NS;
}

static bool wants_all(const struct wishes *w)
{
    return w->is_all || w->is_over;
}

static void is_wanted(struct wishes *w, uint64_t now_ns, uint32_t number)
{
    uint32_t at = place_of(w, number);

    if (at < w->count && w->topics[at].number == number) {
        w->topics[at].wanted_ns = now_ns;
        return;
    }
    if (w->count == WISHES_TOPICS_MAX) {
        w->has_changed = w->has_changed || !wants_all(w);
        w->is_over = true;
        w->all_ns = now_ns;
        return;
    }
    memmove(&w->topics[at + 1], &w->topics[at], (w->count - at) * sizeof(w->topics[0]));
    w->topics[at].number = number;
    w->topics[at].wanted_ns = now_ns;
    w->count++;
    w->has_changed = w->has_changed || !wants_all(w);
}

static void are_wanted(struct wishes *w, uint64_t now_ns, const struct wish *user)
{
    if (user->count == WISHES_WANT_ALL) {
        w->has_changed = w->has_changed || !wants_all(w);
        w->is_all = true;
        w->all_ns = now_ns;
        return;
    }
    for (uint32_t i = 0; i < user->count; i++)
        is_wanted(w, now_ns, user->topics[i]);
}

void wishes_add(struct wishes *w, uint64_t now_ns, struct wish *user)
{
    MD_ASSERT(w->user_count < RRCP_USER_MAX);
    w->users[w->user_count++] = user;
    w->has_changed = w->has_changed || !w->has_begun;
    w->has_begun = true;
    are_wanted(w, now_ns, user);
    look_soon(w, now_ns);
}

void wishes_set(struct wishes *w, uint64_t now_ns, struct wish *user, const uint32_t topics[],
                uint32_t count)
{
    are_wanted(w, now_ns, user); /* until now */
    user->count = count <= WISHES_TOPICS_MAX ? count : WISHES_WANT_ALL;
    if (count > 0 && count <= WISHES_TOPICS_MAX)
        memcpy(user->topics, topics, count * sizeof(*topics));
    are_wanted(w, now_ns, user);
    look_soon(w, now_ns);
}

void wishes_remove(struct wishes *w, uint64_t now_ns, const struct wish *user)
{
    for (int i = 0; i < w->user_count; i++) {
        if (w->users[i] != user)
            continue;
        w->users[i] = w->users[--w->user_count];
        are_wanted(w, now_ns, user); /* until now */
        look_soon(w, now_ns);
        return;
    }
}

/* Topics that are wanted now, as long as there is room. False: there are more. */
static bool gather(struct wishes *w, uint64_t now_ns)
{
    w->is_over = false;
    for (int i = 0; i < w->user_count && !w->is_over; i++)
        if (w->users[i]->count != WISHES_WANT_ALL)
            are_wanted(w, now_ns, w->users[i]);
    return !w->is_over;
}

/* Without topics that nobody has wanted for long. */
static void forget(struct wishes *w, uint64_t now_ns)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->count; i++)
        if (now_ns - w->topics[i].wanted_ns < WISHES_KEEP_NS)
            w->topics[kept++] = w->topics[i];
    w->has_changed = w->has_changed || (kept < w->count && !wants_all(w));
    w->count = kept;
}

/* True: some topic is there that nobody wants now. */
static bool keeps_some(const struct wishes *w, uint64_t now_ns)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->topics[i].wanted_ns != now_ns)
            return true;
    return false;
}

void wishes_tick(struct wishes *w, uint64_t now_ns)
{
    bool was_all = wants_all(w);

    if (w->look_ns == 0 || now_ns < w->look_ns)
        return;
    for (int i = 0; i < w->user_count; i++)
        are_wanted(w, now_ns, w->users[i]);
    forget(w, now_ns);
    if (was_all && now_ns - w->all_ns >= WISHES_KEEP_NS) {
        w->is_all = false;
        bool is_list = gather(w, now_ns);
        w->has_changed = w->has_changed || is_list;
    }
    bool goes_on = keeps_some(w, now_ns) || (wants_all(w) && (w->is_over || w->all_ns != now_ns));
    w->look_ns = goes_on ? now_ns + WISHES_LOOK_NS : 0;
}

uint64_t wishes_deadline(const struct wishes *w)
{
    return w->look_ns ? w->look_ns : WISHES_NEVER;
}

uint32_t wishes_count(const struct wishes *w)
{
    return wants_all(w) || !w->has_begun ? WISHES_WANT_ALL : w->count;
}

bool wishes_take(struct wishes *w, uint32_t topics[WISHES_TOPICS_MAX], uint32_t *count)
{
    bool has_changed = w->has_changed;

    w->has_changed = false;
    *count = wishes_count(w);
    for (uint32_t i = 0; *count != WISHES_WANT_ALL && i < w->count; i++)
        topics[i] = w->topics[i].number;
    return has_changed;
}
