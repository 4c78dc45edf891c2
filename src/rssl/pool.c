/* pool.c - see rssl/pool.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl/pool.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/share.h"
#include "pool_private.h"

struct rssl_pool {
    struct rssl_pool_config config;
    struct rssl_pool_stats stats;
    struct md_pool_room room; /* of what is queued beyond the guaranteed bytes */
    struct rssl_chunk *idle;
    uint8_t deflate_scratch[RSSL_SCRATCH_SIZE];
};

int rssl_pool_create(const struct rssl_pool_config *config, struct rssl_pool **out)
{
    *out = NULL;
    struct rssl_pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return MD_ERR_NOMEM;
    if (config)
        pool->config = *config;
    pool->room.max = pool->config.shared_bytes;
    pool->room.share_max = pool->config.share_max;
    *out = pool;
    return MD_OK;
}

void rssl_pool_destroy(struct rssl_pool *pool)
{
    if (!pool)
        return;
    MD_ASSERT(pool->stats.chunk_count == pool->stats.chunk_idle_count);
    MD_ASSERT(pool->room.used == 0 && pool->stats.assembly_bytes == 0);
    rssl_pool_trim(pool, 0);
    free(pool);
}

void rssl_pool_trim(struct rssl_pool *pool, uint32_t keep)
{
    while (pool->stats.chunk_idle_count > keep) {
        struct rssl_chunk *next = pool->idle->next;
        free(pool->idle);
        pool->idle = next;
        pool->stats.chunk_idle_count--;
        pool->stats.chunk_count--;
    }
}

void rssl_pool_stats(const struct rssl_pool *pool, struct rssl_pool_stats *out)
{
    *out = pool->stats;
    out->shared_bytes = pool->room.used;
    out->refused_count += pool->room.refused;
}

struct rssl_chunk *rssl_pool_take(struct rssl_pool *pool)
{
    struct rssl_chunk *chunk = pool->idle;

    if (chunk) {
        pool->idle = chunk->next;
        pool->stats.chunk_idle_count--;
    } else {
        chunk = malloc(RSSL_CHUNK_SIZE);
        if (!chunk) {
            pool->stats.refused_count++;
            return NULL;
        }
        pool->stats.chunk_count++;
    }
    chunk->next = NULL;
    chunk->start = 0;
    chunk->end = 0;
    return chunk;
}

void rssl_pool_give(struct rssl_pool *pool, struct rssl_chunk *chunk)
{
    if (pool->config.idle_chunk_max &&
        pool->stats.chunk_idle_count >= pool->config.idle_chunk_max) {
        free(chunk);
        pool->stats.chunk_count--;
        return;
    }
    chunk->next = pool->idle;
    pool->idle = chunk;
    pool->stats.chunk_idle_count++;
}

bool rssl_pool_share(struct rssl_pool *pool, const struct md_shares *shares, uint64_t from,
                     uint64_t to)
{
    return md_room_move(&pool->room, shares, from, to);
}

bool rssl_pool_assemble(struct rssl_pool *pool, uint64_t from, uint64_t to)
{
    uint64_t bound = pool->config.assembly_bytes;

    if (to > from && bound && to - from > bound - pool->stats.assembly_bytes) {
        pool->stats.refused_count++;
        return false;
    }
    pool->stats.assembly_bytes += to - from;
    return true;
}

uint8_t *rssl_pool_deflate_scratch(struct rssl_pool *pool)
{
    return pool->deflate_scratch;
}
