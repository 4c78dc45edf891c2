/* queue.h - messages that wait for the engine of a network. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rrcp/rrcp.h"

/*
 * A ring of bytes. A part of it is kept for what relays say of themselves, so that what is lost can
 * be told when there is no room for messages.
 */
struct queue {
    uint8_t *bytes;
    uint64_t size; /* a power of two */
    uint64_t head, tail;
    uint64_t high;
};

/* The room that a queue of so many bytes has. */
uint64_t queue_size(uint64_t bytes);
int queue_open(struct queue *queue, uint64_t bytes);
void queue_close(struct queue *queue);

/* Puts `msg` with `head` before its bytes. False: no room. */
bool queue_put(struct queue *queue, uint64_t now_ns, const struct rrcp_msg *msg,
               const uint8_t *head, size_t head_length, bool is_own);

/* How long the first one has waited. */
uint64_t queue_age(struct queue *queue, uint64_t now_ns);

bool queue_peek(struct queue *queue, struct rrcp_msg *out);
void queue_take(struct queue *queue);

#endif
