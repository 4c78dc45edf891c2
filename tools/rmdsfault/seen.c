/* seen.c - what clients did: a ring of events, and whether one is what a statement names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "inside.h"

struct seen *fault_seen_add(struct fault_engine *engine, const struct fault_event *event,
                            enum fault_seen kind)
{
    struct seen *seen = &engine->seen[engine->seen_count++ % FAULT_SEEN_MAX];

    seen->kind = kind;
    seen->code = event->code;
    seen->is_taken = false;
    (void)snprintf(seen->name, sizeof(seen->name), "%s", event->name ? event->name : "");
    return seen;
}

bool fault_seen_fits(const struct seen *seen, const struct fault_step *step)
{
    if (seen->is_taken || !(step->kinds >> seen->kind & 1u))
        return false;
    if (seen->kind == FAULT_SEEN_EXIT)
        return !step->has_number || step->number == seen->code;
    return !(FAULT_SEEN_NAMED >> seen->kind & 1u) || fault_pattern_matches(step->name, seen->name);
}

/* The oldest event from `from` on that the ring still has. */
static uint64_t first_of(const struct fault_engine *engine, uint64_t from)
{
    if (engine->seen_count > FAULT_SEEN_MAX && from < engine->seen_count - FAULT_SEEN_MAX)
        return engine->seen_count - FAULT_SEEN_MAX;
    return from;
}

uint32_t fault_seen_take(struct fault_engine *engine, uint64_t from, const struct fault_step *step,
                         uint32_t most)
{
    uint32_t taken = 0;

    for (uint64_t i = first_of(engine, from); i < engine->seen_count && taken < most; i++) {
        struct seen *seen = &engine->seen[i % FAULT_SEEN_MAX];
        if (fault_seen_fits(seen, step)) {
            seen->is_taken = true;
            taken++;
        }
    }
    return taken;
}

void fault_seen_describe(const struct fault_engine *engine, uint64_t from, char *out, size_t size)
{
    unsigned counts[FAULT_SEEN_KINDS] = { 0 };
    size_t used = 0;

    for (uint64_t i = first_of(engine, from); i < engine->seen_count; i++)
        counts[engine->seen[i % FAULT_SEEN_MAX].kind]++;
    (void)snprintf(out, size, "nothing");
    for (unsigned kind = 0; kind < FAULT_SEEN_KINDS; kind++) {
        if (counts[kind] > 0 && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%u %s", used ? ", " : "",
                                     counts[kind], fault_seen_name(kind));
    }
}
