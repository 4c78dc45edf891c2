/* beacon.h - beacons, BYE, SOLICIT and host status messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_BEACON_H
#define RRCP_BEACON_H

#include "private.h"

void rrcp_beacon_init(struct rrcp *r);
void rrcp_beacon_data_sent(struct rrcp *r); /* restarts the schedule */
void rrcp_beacon_tick(struct rrcp *r);
uint64_t rrcp_beacon_deadline(const struct rrcp *r);
void rrcp_beacon_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                       const struct rrcp_arrival *arrival);
void rrcp_bye_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* `peer`: it came from the address of this peer. NULL: from anywhere. */
void rrcp_solicit_input(struct rrcp *r, const struct rrcp_peer *peer,
                        const struct packet_view *view, const struct rrcp_arrival *arrival);

/* A new peer shall soon hear us, too: until it knows us it repairs nothing for us. */
void rrcp_beacon_hasten(struct rrcp *r);

#endif
