/* plan.c - see plan.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include "base/err.h"
#include "base/log.h"
#include "dictionaries.h"

#define PROCESS_BYTES (24u << 20) /* programs, libraries, stacks, statistics */
#define WORKER_BYTES  (12u << 20) /* tables that are made at start */
#define MERGE_BYTES   (1u << 20)  /* of each worker */
#define FORMS_AT_ONCE 5           /* buffers of maxDecodedMsgSize a worker holds */
#define WS_FORMS      9           /* and for JSON so many more, */
#define WS_READER     12          /* and so many of wsMaxMsgSize */
#define WS_INPUTS     4           /* what one consumer's requests may take, of wsMaxMsgSize */
#define PENDING       32          /* the part of what is left that merged updates wait in */
#define SHARE         8           /* of a pool: who has it gets no more once the pool runs short */

/* A mount's guaranteed output, the chunk it reads into, and two that are filled in part only. */
static uint64_t mount_bytes(const struct md_conf_object *daemon)
{
    return md_conf_u64(daemon, "guaranteedOutputBuffers") * md_conf_u64(daemon, "maxFragmentSize") +
           3 * RSSL_CHUNK_SIZE;
}

void p2ps_limit_mounts(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    uint64_t each = mount_bytes(daemon);
    uint64_t wanted = md_conf_u64(daemon, "maxMounts");
    uint64_t granted = daemon_memory_grant(&p2ps->memory, "mounts", wanted * each, 16) / each;

    p2ps->mounts_max = (uint32_t)(granted ? granted : 1);
    if (granted < wanted)
        md_log(MD_LOG_WARNING,
               "memoryLimit has room for %u mounts, not for the %llu of maxMounts; raise it, or "
               "lower guaranteedOutputBuffers",
               p2ps->mounts_max, (unsigned long long)wanted);
}

static uint64_t fixed_bytes(const struct md_conf_object *daemon, const struct rssl_config *channel)
{
    uint64_t message = md_conf_u64(daemon, "maxDecodedMsgSize");
    uint64_t worker = WORKER_BYTES + FORMS_AT_ONCE * message +
                      rssl_read_size(channel->input_buffers, channel->message_size_max, 0);

    if (md_conf_bool(daemon, "wsEnable"))
        worker += WS_FORMS * message + WS_READER * md_conf_u64(daemon, "wsMaxMsgSize");
    return PROCESS_BYTES + md_conf_u64(daemon, "workers") * worker;
}

/* The queues of WebSocket connections beyond their guaranteed buffers: those are in the part of
 * the mounts. */
static void plan_websocket(struct p2ps *p2ps, struct p2ps_worker_config *config, uint64_t workers)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    uint64_t count = p2ps->ws_max < p2ps->mounts_max ? p2ps->ws_max : p2ps->mounts_max;
    uint64_t pool = md_conf_u64(daemon, "poolSize");

    if (!md_conf_bool(daemon, "wsEnable"))
        return;
    if (pool == 0)
        pool = count * (config->channel.max_buffers - config->channel.guaranteed_buffers);
    uint64_t output = daemon_memory_grant(&p2ps->memory, "websocket",
                                          (pool + 1) * md_conf_u64(daemon, "maxFragmentSize"), 4);
    uint64_t input = daemon_memory_grant(
        &p2ps->memory, "requests", WS_INPUTS * count * md_conf_u64(daemon, "wsMaxMsgSize"), 8);
    config->ws.pool = (struct ws_pool_config){ .output_bytes = output / workers,
                                               .output_share_max = output / SHARE,
                                               .input_bytes = input / workers,
                                               .input_share_max = input / SHARE };
}

/* Divides memoryLimit among the parts, and what each part gets among the workers. */
int p2ps_plan_memory(struct p2ps *p2ps, struct p2ps_worker_config *config)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    struct daemon_memory *memory = &p2ps->memory;
    uint64_t workers = md_conf_u64(daemon, "workers");
    uint64_t buffer = md_conf_u64(daemon, "maxFragmentSize");
    uint64_t sinks = workers * p2ps->networks.count;
    uint64_t beyond = (uint64_t)(config->channel.max_buffers - config->channel.guaranteed_buffers) *
                      p2ps->mounts_max;
    uint64_t pool = md_conf_u64(daemon, "poolSize");

    daemon_memory_add(memory, "fixed",
                      fixed_bytes(daemon, &config->channel) + workers * MERGE_BYTES);
    /* None wanted is not the same as no limit wanted. */
    uint64_t output =
        daemon_memory_grant(memory, "output", ((pool ? pool : beyond) + 1) * buffer, 8);
    config->pool.shared_bytes = output / workers;
    config->pool.share_max = output / SHARE;
    plan_websocket(p2ps, config, workers);
    config->pool.assembly_bytes = daemon_memory_grant(memory, "assembly", 0, 4) / workers;
    config->core.sink.hold_bytes =
        daemon_memory_grant(memory, "held", sinks * md_conf_u64(daemon, "holdLimit") + 1, 4) /
        sinks;
    config->core.backlog_bytes_max =
        daemon_memory_grant(memory, "backlog", md_conf_u64(daemon, "slowBacklog"), 4) / workers;
    p2ps_dictionary_store_limit(
        p2ps->dictionaries,
        daemon_memory_grant(memory, "dictionaries", md_conf_u64(daemon, "dictionaryLimit"), 4));
    daemon_networks_plan(&p2ps->networks, memory);
    uint64_t left = daemon_memory_left(memory);
    if (left < memory->limit / 8) {
        daemon_memory_refused(memory, daemon);
        return MD_ERR_RANGE;
    }
    uint64_t images = config->core.keeps_images ? left / 2 : 0;
    uint64_t pending = left / PENDING;
    config->core.image_bytes_max = images / workers;
    daemon_memory_add(memory, "images", images);
    config->core.pending_bytes_max = pending / workers;
    daemon_memory_add(memory, "pending", pending);
    config->core.work_bytes_max = (left - images - pending) / workers;
    daemon_memory_add(memory, "items", left - images - pending);
    daemon_memory_show(memory, p2ps->daemon.stats);
    return MD_OK;
}
