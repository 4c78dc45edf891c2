/* internal.h - one attachment of an application and what belongs to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_INTERNAL_H
#define LIBRARY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "attach/attach.h"
#include "base/mailbox.h"
#include "inside.h"
#include "items.h"
#include "offers.h"
#include "topics.h"
#include "wants.h"

struct rmds_backbone {
    struct rmds_backbone_options options;
    char network[64], instance[64], run_dir[108], name[64];
    struct attach *attach;
    struct library_inside *inside; /* NULL: rrcpd has the engine */
    uint64_t refusals_told;
    int wake_fd;
    bool is_up;
    struct library_items items;
    struct library_source source;
    struct library_topics topics;
    struct library_wants wants;
    struct rmds_backbone_stats stats;
    struct md_mailbox calls;
    pthread_t thread;
    bool is_started;
    uint64_t now_ns; /* of the turn */
    _Atomic bool must_stop;
    _Atomic bool is_rung; /* wake_fd was written before */
};

/* rmds_backbone_turn() with at most so many looks at the ring, 64 events each. */
/* Between two turns while it looks for messages: others may have the CPU. */
void library_yield(struct rmds_backbone *backbone);
size_t library_turn(struct rmds_backbone *backbone, uint64_t now_ns, int polls);

#endif
