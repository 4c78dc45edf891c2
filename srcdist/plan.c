/* plan.c - see plan.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include "base/err.h"
#include "base/log.h"
#include "rates/conf.h"

#define PROCESS_BYTES  (24u << 20) /* programs, libraries, stacks, statistics */
#define LOOP_BYTES     (16u << 20) /* tables that are made at start */
#define MESSAGES       4           /* buffers of maxDecodedMsgSize a loop holds */
#define DELAY_MESSAGES 4           /* and of each delayed service */

uint64_t src_dist_round_up_power(uint64_t value)
{
    uint64_t power = 1;

    while (power < value)
        power *= 2;
    return power;
}

struct largest_read {
    struct src_dist *sd;
    size_t bytes;
};

static void on_route_read(void *arg, const char *name)
{
    struct largest_read *largest = arg;
    struct md_conf_object route = md_conf_object(largest->sd->daemon.conf, MD_CONF_ROUTE, name);
    uint64_t buffer = md_conf_u64(&largest->sd->daemon.object, "maxFragmentSize");

    largest->bytes =
        rssl_read_size(md_conf_u32(&route, "numIpcInputBuffers"), (uint16_t)buffer, largest->bytes);
}

/* Unread bytes that one connection may hold beyond the buffer that its loop lends to all. */
static uint64_t unread_bytes(struct src_dist *sd, const struct md_conf_object *bus)
{
    uint16_t buffer = (uint16_t)md_conf_u64(&sd->daemon.object, "maxFragmentSize");
    struct largest_read largest = { .sd = sd,
                                    .bytes = rssl_read_size(md_conf_u32(bus, "numInputBuffers"),
                                                            buffer, CLIENT_READ_LEAST) };

    on_route_read(&largest, "1");
    md_conf_names(sd->daemon.conf, MD_CONF_ROUTE, on_route_read, &largest);
    return largest.bytes - CLIENT_READ_LEAST;
}

/* Divides memoryLimit among the parts, and what each part gets among the loops. */
int src_dist_plan_memory(struct src_dist *sd, const struct md_conf_object *bus)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct daemon_memory *memory = &sd->memory;
    uint64_t loops = sd->network_count;
    uint64_t providers = SRC_DIST_PUBLISHERS + md_conf_u64(daemon, "routeCount");
    uint64_t buffer = md_conf_u64(daemon, "maxFragmentSize");
    uint64_t own = md_conf_u64(bus, "guaranteedOutputBuffers") * buffer + 3 * RSSL_CHUNK_SIZE;
    uint64_t input =
        rssl_read_size(md_conf_u32(bus, "numInputBuffers"), (uint16_t)buffer, 0); /* one a loop */
    uint64_t messages = MESSAGES;
    uint64_t gap_log = 4 * src_dist_round_up_power(md_conf_u64(daemon, "gapLog"));

    messages += md_conf_bool(daemon, "convertMarketfeed") ? 1 : 0;
    messages += rates_conf_is_used(daemon) ? 1 : 0;
    messages += DELAY_MESSAGES * delays_count(sd->daemon.conf);
    daemon_memory_configure(memory, daemon);
    daemon_memory_add(
        memory, "fixed",
        PROCESS_BYTES +
            loops * (LOOP_BYTES + messages * md_conf_u64(daemon, "maxDecodedMsgSize") + input));
    sd->gap_logs = (uint32_t)(daemon_memory_grant(memory, "gapLogs", 256 * loops * gap_log, 8) /
                              loops / gap_log);
    if (unread_bytes(sd, bus) > 0)
        daemon_memory_add(memory, "unread", loops * providers * unread_bytes(sd, bus));
    daemon_memory_grant(memory, "providers", loops * providers * own, 8);
    uint64_t pool = md_conf_u64(bus, "poolSize") * buffer;
    sd->pool_bytes = daemon_memory_grant(memory, "output", pool, 8) / loops;
    sd->assembly_bytes = daemon_memory_grant(memory, "assembly", 0, 4) / loops;
    sd->dictionary_bytes = daemon_memory_grant(memory, "dictionaries",
                                               loops * md_conf_u64(daemon, "dictionaryLimit"), 4) /
                           loops;
    daemon_networks_plan(&sd->settings, memory);
    uint64_t left = daemon_memory_left(memory);
    if (sd->gap_logs == 0 || left < memory->limit / 8) {
        daemon_memory_refused(memory, daemon);
        return MD_ERR_RANGE;
    }
    sd->image_bytes = left / 2 / loops;
    if (delays_count(sd->daemon.conf) > 0)
        sd->image_bytes /= 2; /* the other half is for images of then */
    daemon_memory_add(memory, "images", left / 2);
    sd->item_bytes = (left - left / 2) / loops;
    daemon_memory_add(memory, "items", left - left / 2);
    daemon_memory_show(memory, sd->daemon.stats);
    return MD_OK;
}
