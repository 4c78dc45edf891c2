/* net_private.h - the state of the net loop, for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_PRIVATE_H
#define RRCPD_NET_PRIVATE_H

#include <semaphore.h>

#include "base/mailbox.h"
#include "base/thread.h"
#include "net.h"

enum { NET_USER_MAX = RRCP_USER_MAX, NET_EVENT_MAX = 512, NET_PORT_MANY = -1 };

/* Each user has at most two letters under way in a direction: there is always room. */
enum { MAIL_MAX = 4 * RRCP_USER_MAX + 16 };

struct net_stats;

enum { NET_MESH_ROWS = 32 };

/* An address of a mesh in the statistics, as it is written there. */
struct net_mesh_row {
    struct stats_entry *address, *peer;
    struct rrcp_address shown;
    uint64_t session;
    bool is_written;
};

struct md_table;

struct net {
    struct net_config config;
    struct attach_node *node;
    struct rrcp *engine;
    char interfaces[2][64]; /* as chosen at the start */
    struct attach_inbound_writer *inbound;
    int epoll_fd, mail_fd;
    struct md_thread thread;
    sem_t opened; /* by the thread, with verbs; open_err and why are the starter's after it */
    int open_err;
    char why[512];
    struct md_mailbox in, out; /* towards the net loop, from it */

    struct net_user *users[NET_USER_MAX];
    int user_count;
    int user_next;    /* whose turn it is */
    uint64_t session; /* our own */
    /* The user that sent all that was put since the last publish; NET_PORT_MANY: not one alone. */
    int put_by;
    bool is_full;     /* the engine takes no more messages now */
    bool is_held;     /* flowControl min: a local reader is far behind */
    uint64_t held_ns; /* when that was looked at last */
    uint64_t users_violated, users_given_up, messages_denied;
    struct quotas quotas;
    struct wishes wishes;
    uint8_t *judged; /* a message of a user that may not send everything */
    bool is_stopping, has_stopped;
    struct backbone_event events[NET_EVENT_MAX];

    _Atomic uint64_t alive_ns;
    _Atomic bool must_end;
    struct net_stats *stats;
    struct md_table *peer_names; /* by session */
    int peers_shown;             /* in the statistics */
    uint64_t strangers, strangers_at_ns;
    uint64_t outside_told, outside_at_ns;
    uint64_t version_told, version_at_ns;
    uint64_t mesh_told, mesh_at_ns, mesh_seen, mesh_seen_ns, mesh_since_ns;
    uint64_t relays_told, relays_at_ns;
    uint64_t far_told, far_at_ns; /* nodes behind relays */
    uint64_t too_big_told, too_big_at_ns;
    struct net_mesh_row mesh[NET_MESH_ROWS];
    uint32_t mesh_rows;
    uint64_t stats_at_ns;
    uint64_t turn_max_ns, turns, sleeps;
    struct md_hist *turn_us; /* of those that did something */
};

/* Mail for the control loop, which is woken. */
static inline void net_post(struct net *net, enum net_mail_kind kind, struct net_user *user,
                            int value)
{
    struct net_mail mail = { .kind = kind, .user = user, .value = value };

    (void)md_mailbox_put(&net->out, &mail);
    net->config.mail_here(net->config.owner);
}

#endif
