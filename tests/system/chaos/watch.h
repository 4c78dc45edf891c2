/* watch.h - the checking consumer of the chaos harness: what its parts know of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHAOS_WATCH_H
#define CHAOS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/prng.h"
#include "client/session.h"
#include "itemlist.h"
#include "link.h"
#include "rmds/rwf.h"

#define HOSTS_MAX    8
#define GROUP_MAX    16
#define STREAM_FIRST 5 /* 1 login, 2 directory */
#define MESSAGE_MAX  4096

enum item_state {
    ITEM_WAITING, /* to be asked for, not before `due_ns` */
    ITEM_ASKED,
    ITEM_OPEN,
};

/*
 * One item as this consumer was told of it. Its stream id is made of its place and of how often it
 * was opened, so that what is under way for a stream that was closed is known as such.
 */
struct item {
    const char *name;
    uint64_t hash; /* seqdata_item() */
    uint64_t due_ns, data_ns;
    uint32_t opened;
    uint32_t count; /* of the last image or update */
    uint8_t name_length, group_length;
    uint8_t state;     /* enum item_state */
    bool has_count;    /* an image came since it was asked for */
    bool is_suspect;   /* told so, and no image or good state since */
    bool may_jump;     /* told suspect, or conflated: the next image may stand anywhere */
    bool is_conflated; /* told so: an update may stand for several */
    uint8_t group[GROUP_MAX];
};

struct watch {
    struct md_loop *loop;
    struct client_context *context;
    struct link *link;
    struct rssl_outq *outq;
    struct md_loop_timer *dial_timer, *tick_timer;
    struct md_loop_fd *input;
    struct itemlist list;
    struct item *items;
    uint32_t item_count;
    const char *service, *hosts[HOSTS_MAX];
    uint16_t ports[HOSTS_MAX];
    uint32_t host_count, next_host;
    uint32_t filter; /* of the directory: with groups and states, or told item by item */
    uint32_t churn;  /* items closed and opened again in a second */
    struct md_prng prng;
    bool is_logged_in, has_service, is_over;
    uint16_t service_id;
    uint64_t churn_ns;
    uint64_t updates, images, resyncs, told_missing, suspects, violations;
    char command[64];
    size_t command_used;
    uint8_t message[MESSAGE_MAX];
};

/* check.c: judges what comes for items. */
void check_lost(struct watch *w); /* the connection: all is told by that */
void check_message(struct watch *w, const struct rssl_event *event);
void check_service(struct watch *w, const struct rwf_msg *msg);
void violation(struct watch *w, const struct item *item, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* watch.c */
void watch_setup(struct watch *w, const struct rwf_msg *msg); /* login and directory */

#endif
