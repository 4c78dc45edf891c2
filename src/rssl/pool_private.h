/* pool_private.h - chunks and scratch, for the files of this folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_POOL_PRIVATE_H
#define RSSL_POOL_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/share.h"
#include "rssl/pool.h"

struct rssl_chunk {
    struct rssl_chunk *next;
    uint32_t start; /* first byte not yet sent */
    uint32_t end;   /* one past the last byte of closed frames */
    uint8_t bytes[];
};

#define RSSL_CHUNK_BYTES ((uint32_t)(RSSL_CHUNK_SIZE - sizeof(struct rssl_chunk)))

/* Longer than any frame, and than what one may be inflated to. */
#define RSSL_SCRATCH_SIZE (65536u + 1024u)

/* An empty chunk, or NULL. */
struct rssl_chunk *rssl_pool_take(struct rssl_pool *pool);
void rssl_pool_give(struct rssl_pool *pool, struct rssl_chunk *chunk);

/* Move a channel's use of the shared bytes from `from` to `to`; false, and nothing moved, if they
 * are used up, or one of its parties has too many of them. Going down always succeeds. */
bool rssl_pool_share(struct rssl_pool *pool, const struct md_shares *shares, uint64_t from,
                     uint64_t to);

/* The same for the bytes of messages being put together. */
bool rssl_pool_assemble(struct rssl_pool *pool, uint64_t from, uint64_t to);

/* RSSL_SCRATCH_SIZE bytes for a frame being compressed. */
uint8_t *rssl_pool_deflate_scratch(struct rssl_pool *pool);

#endif
