/* rssl/pool.h - the memory that the channels of one loop share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_POOL_H
#define RSSL_POOL_H

#include <stddef.h>
#include <stdint.h>

/* 11 frames of 6147 bytes, or one of the largest legal. Not whole pages: with what malloc puts in
 * front, one chunk begins three cache lines further in its page than the one before, else the ends
 * of all queues of a fan-out would share a few sets of the cache. */
#define RSSL_CHUNK_SIZE (69632u + 176u)

/*
 * One pool per loop; it belongs to that thread, as do the channels made on it.
 *
 * Output is kept in chunks that hold some ten full frames one behind the other: what is written
 * at once decides the speed of a fan-out (4 KB against 64 KB per send: five times), and a gather
 * list of many small buffers costs what it saves. The limits an operator sets (guaranteed and
 * maximum output buffers, shared pool) are counted in buffers of one frame; see outq.h. Chunks are
 * allocated when first needed, handed out last-in first-out so that they stay in the cache, and
 * kept: a channel with nothing to send and no half-received frame holds none.
 */
struct rssl_pool; /* owned by one thread */

struct rssl_pool_config {
    /* Bytes that all channels together may queue beyond their guaranteed ones; 0 = no bound but
     * each channel's own. */
    uint64_t shared_bytes;
    /* While less than a quarter of them is left, a party (rssl_channel_share_set) that has so many
     * of all pools gets no more; 0 = no bound. */
    uint64_t share_max;
    /* Bytes of messages in fragments that all channels together may be putting together; a channel
     * that needs more is ended. 0 = no bound but each channel's own. */
    uint64_t assembly_bytes;
    /* Chunks kept for reuse; more than these are freed when they come back. 0 = keep all. */
    uint32_t idle_chunk_max;
};

struct rssl_pool_stats {
    uint64_t chunk_count;      /* allocated now */
    uint64_t chunk_idle_count; /* of which waiting for use */
    uint64_t shared_bytes;     /* queued beyond the guaranteed bytes, all channels */
    uint64_t assembly_bytes;   /* of messages being put together */
    uint64_t refused_count;    /* times a bound of the pool was reached, or memory was used up */
};

/* Fails with MD_ERR_NOMEM; *out is then NULL. NULL config: the defaults, all 0. */
int rssl_pool_create(const struct rssl_pool_config *config, struct rssl_pool **out);

/* Every channel made on it must be gone. NULL is allowed. */
void rssl_pool_destroy(struct rssl_pool *pool);

/* Free idle chunks until `keep` are left: for a timer, long after a burst. */
void rssl_pool_trim(struct rssl_pool *pool, uint32_t keep);

void rssl_pool_stats(const struct rssl_pool *pool, struct rssl_pool_stats *out);

#endif
