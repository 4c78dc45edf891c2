/* auth.h - tags, encryption and the replay windows: who sent a packet, and whether it is new. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_AUTH_H
#define RRCP_AUTH_H

#include "private.h"

int rrcp_auth_init(struct rrcp *r);
void rrcp_auth_fini(struct rrcp *r);

/* True: a packet of this type leaves encrypted. */
static inline bool rrcp_auth_encrypts(const struct rrcp *r, uint8_t type)
{
    return r->config.encrypts && r->config.key_count > 0 && type != PACKET_BEACON &&
           type != PACKET_SOLICIT;
}

/* True: the counters of this session are used up, nothing may be sealed any more. */
bool rrcp_auth_is_exhausted(const struct rrcp *r);
void rrcp_auth_tick(struct rrcp *r);

/* `length` counts the packet without its trailer; `to`, which may be `from`, has room for it. */
void rrcp_auth_seal(struct rrcp *r, uint8_t *to, const uint8_t *from, uint32_t length);

/* Checks the tag, and lets the view point to what was encrypted. `peer` NULL: a stranger's. -1:
 * valid. Else an enum rrcp_drop. */
int rrcp_auth_open(struct rrcp *r, struct rrcp_peer *peer, struct packet_view *view,
                   const struct rrcp_arrival *arrival);
/* Before the arrivals of a new rrcp_input(). */
static inline void rrcp_auth_begin(struct rrcp *r)
{
    r->opened_use = 0;
}

/* Begins the replay windows of a new peer at the packet that proved it. False: no memory. */
bool rrcp_auth_meet(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *proof);
/* -1: not a repetition, or DATA, whose numbers tell that. Else an enum rrcp_drop. */
int rrcp_auth_replay(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

void rrcp_auth_forget(struct rrcp *r, struct rrcp_peer *peer);

#endif
