/* queue.c - see queue.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define KEPT_BYTES (512u << 10)

/* In front of each message; length 0: the rest of the ring is not used. */
struct record {
    uint32_t length;
    uint32_t topic;
    uint64_t session;
    uint64_t lane;
    uint16_t port;
    uint16_t flags;
    uint32_t put_ms; /* of the clock, the lower bits */
};

uint64_t queue_size(uint64_t bytes)
{
    uint64_t size = 4 * (uint64_t)KEPT_BYTES;

    while (size < bytes)
        size *= 2;
    return size;
}

int queue_open(struct queue *queue, uint64_t bytes)
{
    uint64_t size = queue_size(bytes);

    *queue = (struct queue){ .size = size, .bytes = malloc(size) };
    return queue->bytes ? MD_OK : MD_ERR_NOMEM;
}

void queue_close(struct queue *queue)
{
    free(queue->bytes);
    queue->bytes = NULL;
}

static uint64_t whole(uint64_t length)
{
    return (sizeof(struct record) + length + 7) & ~7ull;
}

bool queue_put(struct queue *queue, uint64_t now_ns, const struct rrcp_msg *msg,
               const uint8_t *head, size_t head_length, bool is_own)
{
    uint64_t length = head_length + msg->length;
    uint64_t need = whole(length);
    uint64_t at = queue->head & (queue->size - 1);
    uint64_t pad = at + need > queue->size ? queue->size - at : 0;
    uint64_t kept = is_own ? 0 : KEPT_BYTES;

    if (queue->head - queue->tail + pad + need + kept > queue->size)
        return false;
    if (pad >= sizeof(struct record))
        memset(queue->bytes + at, 0, sizeof(struct record));
    queue->head += pad;
    uint8_t *to = queue->bytes + (queue->head & (queue->size - 1));
    struct record record = { .length = (uint32_t)length + 1,
                             .topic = msg->topic,
                             .session = msg->session,
                             .lane = msg->lane,
                             .port = msg->port,
                             .flags = msg->flags,
                             .put_ms = (uint32_t)(now_ns / MD_NS_PER_MS) };

    memcpy(to, &record, sizeof(record));
    memcpy(to + sizeof(record), head, head_length);
    if (msg->length > 0)
        memcpy(to + sizeof(record) + head_length, msg->bytes, msg->length);
    queue->head += need;
    if (queue->head - queue->tail > queue->high)
        queue->high = queue->head - queue->tail;
    return true;
}

/* Skips the rest of the ring, where no record begins. */
static bool find(struct queue *queue, struct record *out)
{
    while (queue->tail < queue->head) {
        uint64_t at = queue->tail & (queue->size - 1);
        uint64_t left = queue->size - at;

        *out = (struct record){ 0 };
        if (left >= sizeof(*out))
            memcpy(out, queue->bytes + at, sizeof(*out));
        if (out->length > 0)
            return true;
        queue->tail += left;
    }
    return false;
}

uint64_t queue_age(struct queue *queue, uint64_t now_ns)
{
    struct record record;

    if (!find(queue, &record))
        return 0;
    return (uint32_t)((uint32_t)(now_ns / MD_NS_PER_MS) - record.put_ms) * MD_NS_PER_MS;
}

bool queue_peek(struct queue *queue, struct rrcp_msg *out)
{
    struct record record;

    if (!find(queue, &record))
        return false;
    *out = (struct rrcp_msg){ .bytes =
                                  queue->bytes + (queue->tail & (queue->size - 1)) + sizeof(record),
                              .length = record.length - 1,
                              .topic = record.topic,
                              .session = record.session,
                              .port = record.port,
                              .flags = record.flags,
                              .lane = record.lane };
    return true;
}

void queue_take(struct queue *queue)
{
    struct record record;

    if (find(queue, &record))
        queue->tail += whole(record.length - 1);
}
