/* pass.h - mesh: a mark in the clear that only holders of the key can make. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PASS_H
#define RRCP_PASS_H

#include "private.h"

/* Makes what passes are made with, of each key; nothing without a mesh. MD_ERR_NOMEM. */
int rrcp_pass_keys(const struct rrcp *r, const struct rrcp_key keys[], uint32_t count,
                   uint64_t out[RRCP_KEY_MAX][2]);
/* True: this node is in a mesh with keys. */
bool rrcp_pass_is_used(const struct rrcp *r);
/* Writes that of our session and address. */
void rrcp_pass_write(const struct rrcp *r, uint8_t out[PACKET_PASS_BYTES]);
/* True: the BEACON, whose body is checked, or the SOLICIT has the pass of its session and this
 * address, by key number `key` of ours. */
bool rrcp_pass_holds(const struct rrcp *r, const struct packet_view *view, uint32_t key,
                     const struct rrcp_address *from);

#endif
