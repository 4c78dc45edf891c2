/* output.c - packets for the transport, the most urgent one first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <string.h>

#include "auth.h"
#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "beacon.h"
#include "common.h"
#include "interest.h"
#include "pool.h"
#include "repair.h"
#include "sender.h"
#include "unicast_sender.h"

#define HANDED_MAX 2048

int rrcp_output_init(struct rrcp *r)
{
    r->handed_max = HANDED_MAX;
    r->handed = rrcp_take(r, HANDED_MAX * sizeof(*r->handed));
    r->handed_to = rrcp_take(r, HANDED_MAX * sizeof(*r->handed_to));
    return r->handed && r->handed_to ? MD_OK : MD_ERR_NOMEM;
}

void rrcp_output_fini(struct rrcp *r)
{
    rrcp_give(r, r->handed, HANDED_MAX * sizeof(*r->handed));
    rrcp_give(r, r->handed_to, HANDED_MAX * sizeof(*r->handed_to));
}

/* Fills in the header fields that are known only now. Returns the length with the trailer. */
static uint32_t finish_header(struct rrcp *r, struct packet_header *h, uint32_t length,
                              uint8_t path)
{
    bool auth = r->config.key_count > 0;
    uint32_t total = length + (auth ? PACKET_TRAILER_BYTES : 0);

    if (auth)
        h->flags |= PACKET_FLAG_AUTH;
    if (rrcp_auth_encrypts(r, h->type))
        h->flags |= PACKET_FLAG_SEALED;
    h->path = path;
    md_put_be16(h->length, (uint16_t)total);
    md_put_be32(h->tx_time, rrcp_us(r->now_ns));
    if (h->type == PACKET_DATA) {
        struct packet_data *data = (void *)h;

        md_put_be32(data->held, rrcp_sender_held(r, md_be64(data->seq)));
    }
    return total;
}

/*
 * Where an encrypted packet goes. The pool keeps the plaintext, for repairs and the second path. A
 * transport that completes late gets another buffer of the pool, which becomes *buffer; others one
 * of our own until the next rrcp_output(). NULL: there is none.
 */
static uint8_t *sealed_place(struct rrcp *r, uint32_t *buffer)
{
    if (!r->config.completes_late)
        return r->sealed + (size_t)r->handed_count * r->pool.stride + r->pool.headroom;
    *buffer = rrcp_pool_take(r, BUFFER_CONTROL);
    return *buffer == RRCP_BUFFER_NONE ? NULL : rrcp_pool_bytes(r, *buffer);
}

/* Returns where the finished packet lies, and its buffer, which takes over the reference. NULL: no
 * room to encrypt it, so it is lost. */
static uint8_t *finish(struct rrcp *r, uint32_t *buffer, uint32_t length)
{
    uint8_t *plain = rrcp_pool_bytes(r, *buffer);
    uint8_t *bytes = plain;
    uint32_t before = *buffer;

    if (rrcp_auth_encrypts(r, rrcp_pool_header(r, before)->type))
        bytes = sealed_place(r, buffer);
    if (bytes && r->config.key_count > 0)
        rrcp_auth_seal(r, bytes, plain, length);
    if (*buffer != before)
        rrcp_pool_give(r, before);
    return bytes;
}

/* Hands one packet to the transport, with the caller's reference. Returns 1, or 0: it is lost. */
static int emit(struct rrcp *r, struct rrcp_packet *out, uint32_t buffer, uint8_t path,
                const struct rrcp_address *to)
{
    struct packet_header *h = rrcp_pool_header(r, buffer);
    uint32_t length = rrcp_pool_buffer(r, buffer)->length;
    uint32_t total = finish_header(r, h, length, path);
    uint8_t type = h->type;
    uint8_t *bytes = finish(r, &buffer, length);

    if (!bytes) {
        r->counters.control_dropped++;
        return 0;
    }
    rrcp_pool_buffer(r, buffer)->in_flight++;
    *out = (struct rrcp_packet){
        .bytes = bytes, .length = total, .buffer = buffer, .path = path, .type = type
    };
    if (to) {
        r->handed_to[r->handed_count] = *to;
        out->to = &r->handed_to[r->handed_count];
    }
    r->handed[r->handed_count++] = buffer;
    r->flight_count++;
    r->counters.bytes_sent += total;
    return 1;
}

/* The second path's copy of a packet for the group. What is encrypted is copied as it is. */
static uint32_t take_copy(struct rrcp *r, uint32_t buffer)
{
    uint32_t length = rrcp_pool_buffer(r, buffer)->length;
    uint32_t copy;

    if (rrcp_auth_encrypts(r, rrcp_pool_header(r, buffer)->type)) {
        rrcp_pool_hold(r, buffer);
        return buffer;
    }
    copy = rrcp_pool_take(r, BUFFER_CONTROL);
    if (copy != RRCP_BUFFER_NONE) {
        memcpy(rrcp_pool_bytes(r, copy), rrcp_pool_bytes(r, buffer), length);
        rrcp_pool_buffer(r, copy)->length = (uint16_t)length;
    }
    return copy;
}

/* Hands out a packet for the group, on both paths of a redundant pair. Returns how many. */
static int emit_group(struct rrcp *r, struct rrcp_packet *out, uint32_t buffer)
{
    uint32_t copy = r->config.path_count > 1 ? take_copy(r, buffer) : RRCP_BUFFER_NONE;
    const struct packet_data *data = (const void *)rrcp_pool_header(r, buffer);
    uint64_t skipped = 0;
    if (r->interest && data->header.type == PACKET_DATA)
        skipped = rrcp_interest_skipped(r, md_be64(data->seq));
    int n = emit(r, out, buffer, 0, NULL);

    out->skipped = skipped;
    if (copy != RRCP_BUFFER_NONE)
        n += emit(r, &out[n], copy, 1, NULL);
    return n;
}

static int emit_to(struct rrcp *r, struct rrcp_packet *out, uint32_t buffer,
                   const struct rrcp_peer *peer)
{
    if (!peer)
        return emit_group(r, out, buffer);
    return emit(r, out, buffer, peer->path, &peer->address[peer->path]);
}

static int control_output(struct rrcp *r, struct rrcp_packet *out)
{
    struct control *control = &r->controls[r->control_head];

    r->control_head = (r->control_head + 1) % CONTROL_QUEUE;
    r->control_count--;
    if (control->is_group)
        return emit_group(r, out, control->buffer);
    return emit(r, out, control->buffer, control->path, &control->to);
}

static void give_back(struct rrcp *r, uint32_t buffer)
{
    struct rrcp_buffer *meta = rrcp_pool_buffer(r, buffer);

    MD_ASSERT(meta->in_flight > 0);
    meta->in_flight--;
    r->flight_count--;
    rrcp_pool_give(r, buffer);
}

void rrcp_sent(struct rrcp *r, const uint32_t buffers[], int count)
{
    MD_ASSERT(r->config.completes_late);
    for (int i = 0; i < count; i++)
        give_back(r, buffers[i]);
}

/* Hands out the most urgent packet, twice on a redundant pair. Returns 0, 1 or 2. */
static int output_one(struct rrcp *r, struct rrcp_packet *out, bool *has_data)
{
    const struct rrcp_peer *to = NULL;
    uint32_t buffer;

    if (r->control_count > 0)
        return control_output(r, out);
    buffer = rrcp_repair_output(r, &to);
    if (buffer == RRCP_BUFFER_NONE)
        buffer = rrcp_unicast_output(r, &to);
    if (buffer == RRCP_BUFFER_NONE) {
        buffer = rrcp_sender_output(r);
        *has_data |= buffer != RRCP_BUFFER_NONE;
        if (buffer == RRCP_BUFFER_NONE && r->control_count > 0)
            return control_output(r, out);
    }
    return buffer == RRCP_BUFFER_NONE ? 0 : emit_to(r, out, buffer, to);
}

int rrcp_output(struct rrcp *r, uint64_t now_ns, struct rrcp_packet out[], int max)
{
    int paths = r->config.path_count;
    bool has_data = false;
    int n = 0;

    r->now_ns = now_ns;
    for (uint32_t i = 0; i < r->handed_count && !r->config.completes_late; i++)
        give_back(r, r->handed[i]);
    r->handed_count = 0;
    if (max > HANDED_MAX)
        max = HANDED_MAX;
    while (n + paths <= max) {
        if (r->config.completes_late &&
            r->flight_count + (uint32_t)paths > r->config.send_queue_max)
            break;
        if (rrcp_auth_is_exhausted(r))
            break;
        int packets = output_one(r, &out[n], &has_data);

        if (packets == 0)
            break;
        n += packets;
    }
    if (has_data)
        rrcp_beacon_data_sent(r);
    rrcp_sender_ready(r);
    return n;
}
