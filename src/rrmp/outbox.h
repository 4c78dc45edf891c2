/* rrmp/outbox.h - the engines' way out: straight into the ring, or a short queue when it is full.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_OUTBOX_H
#define RRMP_OUTBOX_H

#include <stdbool.h>

#include "backbone/send.h"
#include "rrmp/record.h"

/*
 * An engine's own records (answers, handles given up) must keep their order and cannot be given
 * back to a caller when the ring is full. They wait here, encoded, and everything later waits
 * behind them. When this is full too the message is dropped: every multicast record has its number
 * already, so its loss is told like any other; whoever waits for an answer asks again.
 */
#define RRMP_OUTBOX_SIZE (1u << 20)

struct rrmp_outbox {
    struct backbone_send send;
    uint8_t *bytes;
    size_t head;
    size_t tail;
    bool is_want_due;      /* goes before what waits */
    uint64_t *out_by_type; /* 64 counters */
    uint64_t *refused;
    uint32_t want_count; /* above BACKBONE_TOPICS_MAX: everything */
    uint32_t want[BACKBONE_TOPICS_MAX];
};

int rrmp_outbox_init(struct rrmp_outbox *box, const struct backbone_send *send,
                     uint64_t *out_by_type, uint64_t *refused, size_t *memory);
void rrmp_outbox_fini(struct rrmp_outbox *box);

static inline bool rrmp_outbox_waits(const struct rrmp_outbox *box)
{
    return box->tail > 0 || box->is_want_due;
}

/* Only these topics are wanted from now on; more than BACKBONE_TOPICS_MAX: everything. Nothing is
 * sent before that is said, which needs `want` of the way out. */
void rrmp_outbox_want(struct rrmp_outbox *box, const uint32_t topics[], uint32_t count);

/* Move what waits into the ring; true when nothing waits any more. */
bool rrmp_outbox_flush(struct rrmp_outbox *box);
/* Drop what waits: our daemon is gone. */
void rrmp_outbox_clear(struct rrmp_outbox *box);

/* Send or queue one record. False: dropped. */
bool rrmp_outbox_put(struct rrmp_outbox *box, const struct backbone_target *target,
                     const struct rrmp_record *record);
/* Send one record only if the ring takes it now. */
bool rrmp_outbox_try(struct rrmp_outbox *box, const struct backbone_target *target,
                     const struct rrmp_record *record);
/* Room in the ring itself, behind what waits; NULL: none. */
uint8_t *rrmp_outbox_reserve(struct rrmp_outbox *box, const struct backbone_target *target,
                             size_t length);
/* Sends it; length 0 gives the room back. */
void rrmp_outbox_commit(struct rrmp_outbox *box, uint8_t type, size_t length);

#endif
