/* uplink/uplink.h - an RRMP engine's place on the backbone: attach events in, records out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UPLINK_UPLINK_H
#define UPLINK_UPLINK_H

#include "attach/attach.h"
#include "rrmp/backbone.h"

/* How an engine sends through `user`: straight into its outbound ring. */
struct rrmp_send uplink_send(struct attach *user);

#define UPLINK_BATCH 64 /* with what is made of them they stay in the first cache */

/* What one poll brought, in its order: runs of messages with notices between them. */
struct uplink_handler {
    void *owner;
    void (*messages)(void *owner, const struct rrmp_message *messages, size_t count);
    void (*notice)(void *owner, const struct rrmp_notice *notice);
};

/* Polls once, at most UPLINK_BATCH events, and hands them over. 0: there was nothing, and the
 * descriptor of the attachment will tell when there is. */
int uplink_poll(struct attach *user, uint64_t now_ns, const struct uplink_handler *handler);

#endif
