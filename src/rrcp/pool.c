/* pool.c - packet buffers: the share of each use, and the high and low marks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include "base/assert.h"
#include "base/err.h"
#include "common.h"

/*
 * One slab of `count` buffers:
 *
 *      | headroom | packet_bytes_max | pad to 64 |   next buffer ...
 *
 * Shares: transmission window 50 %, receive windows 30 %, unicast 10 %. Above the high mark only
 * receive windows and control packets get buffers: a node that sent too much still repairs.
 */

static uint32_t stride_of(const struct rrcp_config *config)
{
    return (config->headroom_bytes + config->packet_bytes_max + 63) & ~63u;
}

size_t rrcp_packet_memory_size(const struct rrcp_config *config)
{
    return (size_t)stride_of(config) * config->pool_packets;
}

int rrcp_pool_init(struct rrcp *r)
{
    struct rrcp_pool *pool = &r->pool;
    const struct rrcp_config *config = &r->config;

    pool->count = config->pool_packets;
    pool->stride = stride_of(config);
    pool->headroom = config->headroom_bytes;
    pool->high = config->pool_high ? config->pool_high : pool->count / 100 * 85 + 1;
    pool->low = config->pool_low ? config->pool_low : (uint32_t)(pool->high * 70ull / 85);
    pool->kind_max[BUFFER_SEND] = pool->count / 2;
    pool->kind_max[BUFFER_RECEIVE] = pool->count / 10 * 3;
    pool->kind_max[BUFFER_UNICAST] = pool->count / 10;
    pool->kind_max[BUFFER_CONTROL] = pool->count;
    pool->memory_bytes = rrcp_packet_memory_size(config);
    pool->memory = config->packet_memory;
    if (!pool->memory) {
        pool->memory_is_ours = true;
        pool->memory = rrcp_take(r, pool->memory_bytes);
    }
    pool->buffers = rrcp_take(r, pool->count * sizeof(*pool->buffers));
    if (!pool->memory || !pool->buffers)
        return MD_ERR_NOMEM;

    for (uint32_t i = 0; i < pool->count; i++)
        pool->buffers[i].next_free = i + 1 < pool->count ? i + 1 : RRCP_BUFFER_NONE;
    pool->free_head = 0;
    return MD_OK;
}

void rrcp_pool_fini(struct rrcp *r)
{
    struct rrcp_pool *pool = &r->pool;

    if (pool->memory_is_ours)
        rrcp_give(r, pool->memory, pool->memory_bytes);
    rrcp_give(r, pool->buffers, pool->count * sizeof(*pool->buffers));
}

static void enter_over(struct rrcp *r)
{
    r->pool.is_over = true;
    r->counters.over_entered++;
    rrcp_note(r, RRCP_NOTE_OVER_ENTERED, r->session, r->pool.use);
}

static void leave_over(struct rrcp *r)
{
    r->pool.is_over = false;
    r->counters.over_left++;
    rrcp_note(r, RRCP_NOTE_OVER_LEFT, r->session, r->pool.use);
}

uint32_t rrcp_pool_room(const struct rrcp *r, enum buffer_kind kind)
{
    const struct rrcp_pool *pool = &r->pool;
    uint32_t share = pool->kind_max[kind] - pool->kind_use[kind];
    uint32_t limit = kind == BUFFER_SEND || kind == BUFFER_UNICAST ? pool->high : pool->count;
    uint32_t left = pool->use < limit ? limit - pool->use : 0;

    return share < left ? share : left;
}

uint32_t rrcp_pool_take(struct rrcp *r, enum buffer_kind kind)
{
    struct rrcp_pool *pool = &r->pool;
    uint32_t index = pool->free_head;

    if (index == RRCP_BUFFER_NONE || rrcp_pool_room(r, kind) == 0)
        return RRCP_BUFFER_NONE;

    struct rrcp_buffer *buffer = &pool->buffers[index];

    MD_ASSERT(buffer->kind == BUFFER_FREE && buffer->references == 0);
    pool->free_head = buffer->next_free;
    buffer->kind = (uint8_t)kind;
    buffer->references = 1;
    buffer->length = 0;
    pool->kind_use[kind]++;
    pool->use++;
    r->counters.pool_use = pool->use;
    if (pool->use > r->counters.pool_high)
        r->counters.pool_high = pool->use;
    if (pool->use >= pool->high && !pool->is_over)
        enter_over(r);
    return index;
}

void rrcp_pool_hold(struct rrcp *r, uint32_t index)
{
    struct rrcp_buffer *buffer = &r->pool.buffers[index];

    MD_ASSERT(buffer->references > 0 && buffer->references < UINT16_MAX);
    buffer->references++;
}

void rrcp_pool_give(struct rrcp *r, uint32_t index)
{
    struct rrcp_pool *pool = &r->pool;
    struct rrcp_buffer *buffer = &pool->buffers[index];

    MD_ASSERT(buffer->references > 0);
    if (--buffer->references > 0)
        return;
    pool->kind_use[buffer->kind]--;
    pool->use--;
    r->counters.pool_use = pool->use;
    buffer->kind = BUFFER_FREE;
    buffer->next_free = pool->free_head;
    pool->free_head = index;
    if (pool->is_over && pool->use < pool->low)
        leave_over(r);
}
