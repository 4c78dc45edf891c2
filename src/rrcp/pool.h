/* pool.h - packet buffers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_POOL_H
#define RRCP_POOL_H

#include "private.h"

int rrcp_pool_init(struct rrcp *r);
void rrcp_pool_fini(struct rrcp *r);
/* Returns a buffer with one reference. RRCP_BUFFER_NONE: the kind has its share. */
uint32_t rrcp_pool_take(struct rrcp *r, enum buffer_kind kind);
void rrcp_pool_hold(struct rrcp *r, uint32_t buffer);
void rrcp_pool_give(struct rrcp *r, uint32_t buffer);
/* Returns how many buffers the kind may still take. */
uint32_t rrcp_pool_room(const struct rrcp *r, enum buffer_kind kind);

static inline uint8_t *rrcp_pool_bytes(const struct rrcp *r, uint32_t buffer)
{
    return r->pool.memory + (size_t)buffer * r->pool.stride + r->pool.headroom;
}

static inline struct packet_header *rrcp_pool_header(const struct rrcp *r, uint32_t buffer)
{
    return (void *)rrcp_pool_bytes(r, buffer);
}

static inline struct rrcp_buffer *rrcp_pool_buffer(struct rrcp *r, uint32_t buffer)
{
    return &r->pool.buffers[buffer];
}

#endif
