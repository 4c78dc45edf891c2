/* control.c - the queue of packets that are not data: they leave first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include "common.h"
#include "pool.h"

uint32_t rrcp_control_make(struct rrcp *r, enum packet_type type, uint8_t **bytes)
{
    uint32_t buffer = RRCP_BUFFER_NONE;

    *bytes = NULL;
    if (r->control_count < CONTROL_QUEUE)
        buffer = rrcp_pool_take(r, BUFFER_CONTROL);
    if (buffer == RRCP_BUFFER_NONE) {
        r->counters.control_dropped++;
        return buffer;
    }
    *bytes = rrcp_pool_bytes(r, buffer);
    rrcp_packet_header(*bytes, type, r->session, r->rules.network_id);
    return buffer;
}

void rrcp_control_send(struct rrcp *r, uint32_t buffer, uint32_t length,
                       const struct rrcp_peer *peer)
{
    struct control *control = &r->controls[(r->control_head + r->control_count++) % CONTROL_QUEUE];

    rrcp_pool_buffer(r, buffer)->length = (uint16_t)length;
    control->buffer = buffer;
    control->is_group = !peer;
    control->path = peer ? peer->path : 0;
    if (peer)
        control->to = peer->address[peer->path];
}
