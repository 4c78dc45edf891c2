/* control.c - the queue of control packets, which leave before data. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include "base/assert.h"
#include "common.h"
#include "pool.h"

void *rrcp_control_make(struct rrcp *r, enum packet_type type, uint32_t *buffer)
{
    void *packet;

    *buffer = RRCP_BUFFER_NONE;
    if (r->control_count < CONTROL_QUEUE)
        *buffer = rrcp_pool_take(r, BUFFER_CONTROL);
    if (*buffer == RRCP_BUFFER_NONE) {
        r->counters.control_dropped++;
        return NULL;
    }
    packet = rrcp_pool_bytes(r, *buffer);
    rrcp_packet_header(packet, type, r->session, r->rules.network_id);
    return packet;
}

/* Between making a packet and queueing it nothing else may be queued. */
static struct control *add(struct rrcp *r)
{
    MD_ASSERT(r->control_count < CONTROL_QUEUE);
    return &r->controls[(r->control_head + r->control_count++) % CONTROL_QUEUE];
}

void rrcp_control_send(struct rrcp *r, uint32_t buffer, uint32_t length,
                       const struct rrcp_peer *peer)
{
    struct control *control = add(r);

    rrcp_pool_buffer(r, buffer)->length = (uint16_t)length;
    control->buffer = buffer;
    control->is_group = !peer;
    control->path = peer ? peer->path : 0;
    if (peer)
        control->to = peer->address[peer->path];
}

void rrcp_control_send_to(struct rrcp *r, uint32_t buffer, uint32_t length, uint8_t path,
                          const struct rrcp_address *to)
{
    struct control *control = add(r);

    rrcp_pool_buffer(r, buffer)->length = (uint16_t)length;
    control->buffer = buffer;
    control->is_group = false;
    control->path = path;
    control->to = *to;
}
