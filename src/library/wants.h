/* wants.h - the topics that an application wants: of its services and its bare topics. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_WANTS_H
#define LIBRARY_WANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "backbone/send.h"

struct rmds_backbone;

struct library_wants {
    struct backbone_send way_out; /* of the attachment */
    uint32_t service_count;       /* above BACKBONE_TOPICS_MAX: everything */
    uint32_t services[BACKBONE_TOPICS_MAX];
    bool is_due; /* the ring had no room for it */
};

/* The way out of the requester: what it wants is joined with the topics. */
struct backbone_send library_wants_sender(struct rmds_backbone *backbone);
/* Topics have changed. */
void library_wants_say(struct rmds_backbone *backbone);
void library_wants_settle(struct rmds_backbone *backbone);

#endif
