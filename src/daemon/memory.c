/* memory.c - see daemon/memory.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/words.h"

#define MB     1000000.0
#define SHARES 64u

/* One daemon of each kind, the kernel's buffers and the page cache fit the host together. */
static unsigned default_percent(const struct md_conf_object *daemon)
{
    switch (md_conf_program_bit(md_conf_program(daemon->conf))) {
    case MD_CONF_P2PS:
        return 40;
    case MD_CONF_SRC_DIST:
        return 20;
    default:
        return 10;
    }
}

void daemon_memory_configure(struct daemon_memory *memory, const struct md_conf_object *daemon)
{
    uint64_t configured = md_conf_u64(daemon, "memoryLimit");
    unsigned percent = default_percent(daemon);

    *memory = (struct daemon_memory){
        .limit = configured ? configured : md_mem_machine() / 100 * percent,
        .percent = percent,
        .is_configured = configured != 0,
    };
}

void daemon_memory_refused(const struct daemon_memory *memory, const struct md_conf_object *daemon)
{
    const uint64_t megabyte = 1u << 20; /* as M of rmds.cnf */
    char where[400];

    daemon_where(daemon, "memoryLimit", where, sizeof(where));
    md_log(
        MD_LOG_CRITICAL,
        "%s: %lluM is too small: %lluM are needed before any item; write more, or lower the parts "
        "that the line \"memory:\" of a start with enough would name (docs/operating.md)",
        where, (unsigned long long)(memory->limit / megabyte),
        (unsigned long long)((memory->sum + megabyte - 1) / megabyte));
}

void daemon_memory_add(struct daemon_memory *memory, const char *name, uint64_t bytes)
{
    MD_ASSERT(memory->part_count < DAEMON_MEMORY_PARTS);
    memory->parts[memory->part_count].name = name;
    memory->parts[memory->part_count++].bytes = bytes;
    memory->sum += bytes;
}

uint64_t daemon_memory_grant(struct daemon_memory *memory, const char *name, uint64_t bytes,
                             unsigned share)
{
    uint64_t most = memory->limit / SHARES * share;
    uint64_t granted = bytes == 0 || bytes > most ? most : bytes;

    daemon_memory_add(memory, name, granted);
    return granted;
}

uint64_t daemon_memory_left(const struct daemon_memory *memory)
{
    return memory->sum < memory->limit ? memory->limit - memory->sum : 0;
}

void daemon_memory_show(struct daemon_memory *memory, struct stats_segment *segment)
{
    char text[512];
    char origin[48] = "";
    size_t length = 0;

    for (unsigned i = 0; i < memory->part_count && length < sizeof(text); i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %.0f", i ? ", " : "",
                                   memory->parts[i].name, (double)memory->parts[i].bytes / MB);
        stats_gauge_set(
            stats_entry_addf(segment, STATS_KIND_GAUGE, "memory.max.%s", memory->parts[i].name),
            memory->parts[i].bytes);
    }
    if (!memory->is_configured)
        snprintf(origin, sizeof(origin), " (%u %% of what there is)", memory->percent);
    md_log(MD_LOG_NOTICE, "memory: at most %.0f MB: %s; memoryLimit %.0f MB%s",
           (double)memory->sum / MB, text, (double)memory->limit / MB, origin);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "memory.limit"), memory->limit);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "memory.max"), memory->sum);
    memory->resident = stats_entry_add(segment, STATS_KIND_GAUGE, "memory.resident");
    daemon_memory_beat(memory);
}

void daemon_memory_beat(struct daemon_memory *memory)
{
    if (memory->resident)
        stats_gauge_set(memory->resident, md_mem_resident());
}
