/* interest.h - what each peer of a mesh wants, and what this node wants of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_INTEREST_H
#define RRCP_INTEREST_H

#include "private.h"

#define INTEREST_BYTES_MAX (sizeof(struct packet_interest) + 4u * RRCP_INTEREST_MAX)

int rrcp_interest_init(struct rrcp *r);
void rrcp_interest_fini(struct rrcp *r);
size_t rrcp_interest_bytes(const struct rrcp *r); /* of memory */

/* A peer is born: it wants everything until it says otherwise. */
void rrcp_interest_met(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_interest_lost(struct rrcp *r, struct rrcp_peer *peer);
/* The peer told its interest, in its unicast stream. */
void rrcp_interest_input(struct rrcp *r, struct rrcp_peer *peer, const uint8_t *bytes,
                         uint32_t length);
/* Its word may be lost: everything, until it says it again. */
void rrcp_interest_doubt(struct rrcp *r, const struct rrcp_peer *peer);

uint64_t rrcp_interest_look(struct rrcp *r, const struct rrcp_msg *msg);

/* The peers that the message goes to, as bits. */
static inline uint64_t rrcp_interest_wanted(struct rrcp *r, const struct rrcp_msg *msg)
{
    return r->interest && r->interest->filtered ? rrcp_interest_look(r, msg) : UINT64_MAX;
}

/* Packet `seq` was closed: the peers that want nothing in it do not get it. */
static inline void rrcp_interest_close(struct rrcp *r, uint64_t seq, uint64_t wanted)
{
    if (r->interest)
        r->interest->skipped[seq & r->sender.slot_mask] = r->interest->filtered & ~wanted;
}

/* The peers that the packet does not go to. */
static inline uint64_t rrcp_interest_skipped(const struct rrcp *r, uint64_t seq)
{
    return r->interest ? r->interest->skipped[seq & r->sender.slot_mask] : 0;
}

/* Writes what this node's users want; returns the bytes. */
uint32_t rrcp_interest_write(const struct rrcp *r, uint8_t *out);
/* True: our users wanted less than everything at some time, which any peer may still believe, also
 * one that we meet anew. */
bool rrcp_interest_was_less(const struct rrcp *r);
/* True: packets may be left out by this version of our interest. */
bool rrcp_interest_holds(const struct rrcp *r, uint32_t version);

#endif
