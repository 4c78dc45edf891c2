/* source_farewell.c - the last ends of private streams, to be said again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

/*
 * The engine drops what finds the way to a node full, and no digest counts private streams: their
 * requester would wait for ever. So the last ends are kept for a while. After a loss each of them
 * is said again: who knows it has no such handle any more. A storm of ends overwrites the oldest.
 */
#define FAREWELL_NS 30000000000ull /* well below the rest of a handle: it means nothing else yet   \
                                    */
#define AGAIN_NS 200000000ull      /* the way was full a moment ago */

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

void source_farewell_keep(struct rrmp_source *source, const struct source_item *item)
{
    const struct source_requester *owner = source_requester_at(source, item->owner);

    source->farewells[source->farewell_count++ % SOURCE_FAREWELLS] =
        (struct source_farewell){ .session = owner->session,
                                  .port = owner->port,
                                  .svc = item->svc,
                                  .handle = item->handle,
                                  .item_seq = item->item_seq,
                                  .said_ns = source->now_ns };
}

void source_farewell_say(struct rrmp_source *source, const struct source_item *item)
{
    source_farewell_keep(source, item);
    say(source, &source->farewells[(source->farewell_count - 1) % SOURCE_FAREWELLS]);
}

static uint32_t kept(const struct rrmp_source *source)
{
    return source->farewell_count < SOURCE_FAREWELLS ? source->farewell_count : SOURCE_FAREWELLS;
}

void source_farewells_lost(struct rrmp_source *source, uint64_t session)
{
    for (uint32_t i = 0; i < kept(source); i++) {
        struct source_farewell *farewell = &source->farewells[i];

        if (farewell->session != session || source->now_ns - farewell->said_ns >= FAREWELL_NS)
            continue;
        farewell->is_lost = true;
        source->farewell_due_ns = source->now_ns + AGAIN_NS;
    }
}

void source_farewells_tick(struct rrmp_source *source)
{
    if (source->now_ns < source->farewell_due_ns)
        return;
    source->farewell_due_ns = RRMP_NEVER;
    for (uint32_t i = 0; i < kept(source); i++) {
        if (source->farewells[i].is_lost)
            say(source, &source->farewells[i]);
        source->farewells[i].is_lost = false;
    }
}

void source_farewells_forget(struct rrmp_source *source)
{
    source->farewell_count = 0;
    source->farewell_due_ns = RRMP_NEVER;
}
