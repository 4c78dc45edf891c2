/* topics.h - bare topics. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_TOPICS_H
#define LIBRARY_TOPICS_H

#include "base/table.h"
#include "items.h"

enum { LIBRARY_TOPICS_MAX = 1024, LIBRARY_SENDERS_MAX = 1024 };

struct library_sender {
    struct library_sender *next;
    uint64_t session;
    uint16_t port;
    uint32_t number; /* of its last message */
};

struct rmds_topic {
    struct rmds_backbone *backbone;
    rmds_topic_fn *handle; /* NULL: it has ended */
    void *user;
    struct library_sender *senders;
    uint32_t sender_count;
    uint8_t name_length;
    char name[LIBRARY_NAME_MAX + 1];
};

struct library_topics {
    struct rmds_topic *list[LIBRARY_TOPICS_MAX];
    uint32_t count;
    bool has_ended;           /* some are to be given back */
    struct md_table *by_name; /* of the list */
    struct md_table *sent;    /* numbers of what we publish, by name */
    uint32_t sent_count;
};

int library_topics_init(struct library_topics *topics);
void library_topics_fini(struct library_topics *topics);
void library_topics_event(struct rmds_backbone *backbone, const struct backbone_event *event);
void library_topics_settle(struct library_topics *topics);

#endif
