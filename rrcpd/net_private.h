/* net_private.h - what the files of the net loop share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_PRIVATE_H
#define RRCPD_NET_PRIVATE_H

#include <pthread.h>

#include "base/thread.h"
#include "net.h"

enum { NET_USER_MAX = RRCP_USER_MAX, NET_EVENT_MAX = 512, NET_BOX_SIZE = 4 * NET_USER_MAX + 16 };

/* One direction of mail. */
struct net_box {
    pthread_mutex_t mutex;
    struct net_mail mail[NET_BOX_SIZE];
    unsigned first, count;
    _Atomic bool has_mail;
};

void net_box_init(struct net_box *box);
void net_box_fini(struct net_box *box);
void net_box_put(struct net_box *box, struct net_mail mail);
bool net_box_take(struct net_box *box, struct net_mail *out);

struct net_stats;
struct md_int_table;

struct net {
    struct net_config config;
    struct attach_node *node;
    struct rrcp *engine;
    char interfaces[2][64]; /* as chosen at the start */
    struct attach_inbound_writer *inbound;
    int epoll_fd, mail_fd;
    struct md_thread thread;
    struct net_box in, out; /* towards the net loop, from it */

    struct net_user *users[NET_USER_MAX];
    int user_count;
    int user_next; /* whose turn it is */
    bool is_full;  /* the engine takes no more messages now */
    bool is_held;  /* flowControl min: a local reader is far behind */
    bool is_stopping, has_stopped;
    struct rrcp_event events[NET_EVENT_MAX];

    _Atomic uint64_t alive_ns;
    _Atomic bool must_end;
    struct net_stats *stats;
    struct md_int_table *peer_names; /* by session */
    int peers_shown;                 /* in the statistics */
    uint64_t strangers, strangers_at_ns;
    uint64_t stats_at_ns;
    uint64_t turn_max_ns, turns, sleeps;
    struct md_hist *turn_us; /* of those that did something */
};

/* users' rings: net_users.c */
int net_users_submit(struct net *net, uint64_t now_ns); /* bytes given to the engine */
void net_users_wake(struct net *net);                   /* readers that sleep */
bool net_users_arm(struct net *net);                    /* false: something is there */
void net_users_disarm(struct net *net);
bool net_users_behind(struct net *net, uint64_t now_ns); /* flowControl min: wait for readers */
void net_user_add(struct net *net, struct net_user *user);
void net_user_leave(struct net *net, struct net_user *user, enum rrcp_user_reason reason);

/* statistics: net_stats.c */
int net_stats_create(struct net *net);
void net_stats_update(struct net *net, uint64_t now_ns);
void net_stats_user_add(struct net *net, struct net_user *user);
void net_stats_user_remove(struct net *net, struct net_user *user);
void net_stats_destroy(struct net *net);

/* the other nodes, in the log and the statistics: net_peers.c */
int net_peers_create(struct net *net);
void net_peers_event(struct net *net, const struct rrcp_event *event);
void net_strangers_tell(struct net *net, uint64_t now_ns); /* packets nobody here sends */
void net_peers_update(struct net *net);                    /* statistics */
void net_peers_destroy(struct net *net);

/* What the engine wants an operator to know, as log lines. */
void net_note(void *argument, enum rrcp_note note, uint64_t session, uint64_t value);

#endif
