/* common.c - memory, notes and random numbers for all files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

void *rrcp_take(struct rrcp *r, size_t bytes)
{
    void *memory = r->env.take(r->env.context, bytes);

    if (!memory)
        return NULL;
    r->counters.memory_bytes += bytes;
    if (r->counters.memory_bytes > r->counters.memory_bytes_high)
        r->counters.memory_bytes_high = r->counters.memory_bytes;
    return memory;
}

void rrcp_give(struct rrcp *r, void *memory, size_t bytes)
{
    if (!memory)
        return;
    r->counters.memory_bytes -= bytes;
    r->env.give(r->env.context, memory, bytes);
}

void rrcp_note(struct rrcp *r, enum rrcp_note note, uint64_t session, uint64_t value)
{
    if (!r->env.note || (r->note_ns[note] != 0 && r->now_ns - r->note_ns[note] < RRCP_S))
        return;
    r->note_ns[note] = r->now_ns ? r->now_ns : 1;
    r->env.note(r->env.context, note, session, value);
}

void rrcp_drop(struct rrcp *r, enum rrcp_drop drop)
{
    r->counters.drop[drop]++;
}

uint64_t rrcp_random(struct rrcp *r, uint64_t limit)
{
    return limit ? md_prng_u64(&r->prng) % limit : 0;
}
