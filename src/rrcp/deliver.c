/* deliver.c - the queue of events, and the memory in which messages are reassembled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "deliver.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "common.h"

/*
 * The queue holds whole packets: a packet of a hundred messages takes one entry, and events.c finds
 * the messages when the user takes events. A packet that arrived in order stays in the transport's
 * buffer; a packet that had to wait is in the pool, and its entry holds a reference.
 *
 * The queue cannot overflow: each entry is a packet of the pool, an arrival of the present input
 * call, or one of the few events that such a packet or a peer can cause.
 */

/* Assemblies up to this size keep their memory for the next message. */
#define ASSEMBLY_KEEP_BYTES 65536u

int rrcp_deliver_init(struct rrcp *r)
{
    uint32_t want = 2 * r->pool.count + 4 * r->config.arrivals_max + 8 * r->config.peers_max + 1024;
    uint32_t size = 1;

    while (size < want)
        size *= 2;
    r->item_mask = size - 1;
    r->items = rrcp_take(r, size * sizeof(*r->items));
    return r->items ? MD_OK : MD_ERR_NOMEM;
}

void rrcp_deliver_fini(struct rrcp *r)
{
    rrcp_assembly_give(r, &r->self_assembly[STREAM_MULTICAST]);
    rrcp_assembly_give(r, &r->self_assembly[STREAM_UNICAST]);
    rrcp_give(r, r->items, (r->item_mask + 1) * sizeof(*r->items));
}

struct rrcp_item *rrcp_deliver_add(struct rrcp *r, uint16_t kind, uint32_t peer, uint64_t session)
{
    struct rrcp_item *item = &r->items[r->item_tail & r->item_mask];

    MD_ASSERT(r->item_tail - r->item_head <= r->item_mask);
    r->item_tail++;
    *item = (struct rrcp_item){
        .kind = kind,
        .peer = peer,
        .buffer = RRCP_BUFFER_NONE,
        .session = session,
        .time_ns = r->now_ns,
    };
    return item;
}

void rrcp_deliver_packet(struct rrcp *r, uint32_t peer, uint64_t session, enum rrcp_stream stream,
                         const uint8_t *bytes, uint32_t end, uint64_t seq, uint32_t buffer)
{
    struct rrcp_item *item = rrcp_deliver_add(r, ITEM_PACKET, peer, session);

    item->stream = (uint8_t)stream;
    item->bytes = bytes;
    item->length = end;
    item->seq = seq;
    item->buffer = buffer;
}

/* ---- reassembly --------------------------------------------------------------------------- */

void rrcp_assembly_give(struct rrcp *r, struct rrcp_assembly *a)
{
    if (a->bytes) {
        r->assembly_bytes -= a->size;
        rrcp_give(r, a->bytes, a->size);
    }
    *a = (struct rrcp_assembly){ 0 };
}

bool rrcp_assembly_begin(struct rrcp *r, struct rrcp_assembly *a, uint32_t total)
{
    uint32_t size = 4096;

    a->is_open = false;
    if (total > r->config.message_bytes_max)
        return false;
    while (size < total)
        size *= 2;
    if (a->size < size || a->size > ASSEMBLY_KEEP_BYTES) {
        rrcp_assembly_give(r, a);
        if (r->assembly_bytes + size > r->config.assembly_bytes_max)
            return false;
        a->bytes = rrcp_take(r, size);
        if (!a->bytes)
            return false;
        a->size = size;
        r->assembly_bytes += size;
    }
    a->total = total;
    a->have = 0;
    a->is_open = true;
    return true;
}
