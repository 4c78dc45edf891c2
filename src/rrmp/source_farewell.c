/* source_farewell.c - the last ends of private streams, to be said again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "source_impl.h"

/*
 * The engine drops what finds the way to a node full, and no digest counts private streams: their
 * requester would wait for ever. So the last ends are kept for a while. After a loss those of the
 * session are said again, some at a time: who knows it has no such handle any more. A storm of more
 * ends than are kept overwrites the oldest ones.
 */
#define FAREWELL_NS   30000000000ull /* handles rest longer, so none has a new meaning by then */
#define AGAIN_NS      200000000ull   /* the way was full a moment ago */
#define AGAIN_AT_ONCE 1024u

static void say(struct rrmp_source *source, const struct source_farewell *farewell)
{
    const struct rrmp_record record = {
        .header = { .type = RRMP_UNBIND, .svc = farewell->svc },
        .u.unbind = { .handle = farewell->handle,
                      .item_seq = farewell->item_seq,
                      .reason = RRMP_UNBIND_DROPPED },
    };

    source_unicast(source, farewell->session, farewell->port, &record);
}

static struct source_farewell farewell_of(const struct rrmp_source *source,
                                          const struct source_item *item)
{
    const struct source_requester *owner = source_requester_at(source, item->owner);

    return (struct source_farewell){ .session = owner->session,
                                     .port = owner->port,
                                     .svc = item->svc,
                                     .handle = item->handle,
                                     .item_seq = item->item_seq,
                                     .said_ns = source->now_ns };
}

void source_farewell_keep(struct rrmp_source *source, const struct source_item *item)
{
    struct source_farewells *all = &source->farewells;
    size_t bytes = SOURCE_FAREWELLS * sizeof(*all->kept);

    if (!all->kept) {
        all->kept = malloc(bytes);
        if (!all->kept)
            return;
        source->stats.memory_now += bytes;
    }
    all->kept[all->count++ % SOURCE_FAREWELLS] = farewell_of(source, item);
}

void source_farewell_say(struct rrmp_source *source, const struct source_item *item)
{
    struct source_farewell farewell = farewell_of(source, item);

    source_farewell_keep(source, item);
    say(source, &farewell);
}

static bool is_lost(const struct source_farewells *all, uint64_t session)
{
    if (all->lost_count > SOURCE_LOSSES)
        return true;
    for (uint32_t i = 0; i < all->lost_count; i++) {
        if (all->lost[i] == session)
            return true;
    }
    return false;
}

/* Called for each message that was dropped: the walk is in the tick. */
void source_farewells_lost(struct rrmp_source *source, uint64_t session)
{
    struct source_farewells *all = &source->farewells;

    if (all->count == 0)
        return;
    all->is_lost_again = all->next > 0;
    if (all->due_ns == RRMP_NEVER)
        all->due_ns = source->now_ns + AGAIN_NS;
    if (is_lost(all, session))
        return;
    if (all->lost_count < SOURCE_LOSSES)
        all->lost[all->lost_count] = session;
    all->lost_count++; /* one more than there is room for: all sessions */
}

void source_farewells_tick(struct rrmp_source *source)
{
    struct source_farewells *all = &source->farewells;
    uint32_t kept = all->count < SOURCE_FAREWELLS ? all->count : SOURCE_FAREWELLS;
    uint32_t said = 0;

    if (source->now_ns < all->due_ns)
        return;
    for (; all->next < kept && said < AGAIN_AT_ONCE; all->next++) {
        const struct source_farewell *farewell = &all->kept[all->next];
        bool is_due =
            source->now_ns - farewell->said_ns < FAREWELL_NS && is_lost(all, farewell->session);
        if (is_due)
            say(source, farewell);
        said += is_due;
    }
    all->due_ns = source->now_ns + AGAIN_NS;
    if (all->next < kept)
        return;
    all->next = 0;
    if (all->is_lost_again) { /* what was said before that: from the beginning */
        all->is_lost_again = false;
        return;
    }
    all->lost_count = 0;
    all->due_ns = RRMP_NEVER;
}

void source_farewells_forget(struct rrmp_source *source)
{
    struct source_farewells *all = &source->farewells;

    if (all->kept)
        source->stats.memory_now -= SOURCE_FAREWELLS * sizeof(*all->kept);
    free(all->kept);
    *all = (struct source_farewells){ .due_ns = RRMP_NEVER };
}
