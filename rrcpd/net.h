/* net.h - the net loop of rrcpd: one network, one engine, the rings of its users. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_H
#define RRCPD_NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "attach/node.h"
#include "attach/shm.h"
#include "conf/conf.h"
#include "stats/segment.h"
#include "wishes.h"

/*
 * The net loop is a thread of its own; it owns the engine, the sockets, the inbound ring and its
 * users' outbound rings. The control loop speaks to it by mail: commands one way, answers the
 * other, each with a doorbell. Mail is rare (users coming and going); a mutex guards it.
 */
struct net;

enum { NET_USER_ROWS = 6 }; /* counters of a user that are shown */

/* A user, made by the control loop, lent to the net loop between NET_ADD and NET_REMOVED. */
struct net_user {
    struct attach_outbound_map *map;
    uint32_t ring_bytes;
    int doorbell_fd; /* the user writes */
    int wake_fd;     /* write end of the user's pipe */
    bool receives;
    struct wish wish; /* at first as its request says; then the net loop's own */
    char name[ATTACH_NAME_MAX];
    void *owner; /* the control loop's */
    /* The rules for it; NULL: it may send everything. */
    const struct access *access;
    access_rules rules;
    struct quota_limits limits;

    /* The net loop's own. */
    struct quota *message_quota, *byte_quota; /* NULL: none */
    uint64_t held_until_ns; /* its messages are above the quota and wait until then; 0: no */
    uint64_t held;          /* how often they waited */
    uint64_t denied_told;   /* of `denied`, those the user knows of */
    const char *tried;      /* what was denied last */
    struct attach_outbound_reader ring;
    int port;
    bool is_leaving;  /* no longer believed, or on its way out */
    bool is_removing; /* the control loop asked for its end */
    enum backbone_user_reason reason;
    uint64_t messages, bytes, refused, wakes, denied;
    struct stats_entry *stats[NET_USER_ROWS], *stat_lag, *stat_name, *stat_wants;
    /* flowControl min: how far its reader is, up to where it was credited, the wait it has left. */
    uint64_t cursor_seen, credited_at, wait_left_ns, given_up_ns;
};

enum net_mail_kind {
    NET_ADD = 1,  /* to the net loop: user */
    NET_REMOVE,   /* user, value = enum backbone_user_reason */
    NET_STOP,     /* leave the network in good order; value = reason */
    NET_KEYS,     /* new keys of the group: `keys`, which the net loop frees */
    NET_SHIM,     /* other faults of the network, for tests: `shim` */
    NET_ADDED,    /* from the net loop: user; value = port or a negative md_err */
    NET_VIOLATED, /* user broke its ring; NET_REMOVE is expected in answer */
    NET_REMOVED,  /* user: the control loop's again */
    NET_STOPPED,
    NET_EXHAUSTED, /* the packet counters of the session are used up */
    NET_GAP,       /* packets were lost for good; value = enum backbone_gap_reason */
};

struct net_keys {
    struct rrcp_key keys[RRCP_KEY_MAX];
    uint32_t count;
};

struct net_mail {
    enum net_mail_kind kind;
    struct net_user *user;
    int value;
    struct net_keys *keys;
    struct net_shim_config shim;
};

struct net_config {
    struct attach_node_config node;
    uint64_t inbound_bytes; /* 0: no ring, there are no local users */
    uint64_t lag_max;
    uint64_t busy_poll_ns;
    struct md_conf_object object; /* class RRCP: rrcpThreadCpu, schedPolicy, schedPriority */
    bool wants_gaps;              /* send NET_GAP at the first gap */
    const char *process;          /* prefix of the statistics' paths */
    bool is_second;               /* network of a relay: no figures for each node */
    struct stats_segment *stats;
    void (*mail_here)(void *owner); /* called in the net thread: mail for the control loop */
    void *owner;
};

/* Open the network and start the thread. `why` (256 bytes) is a sentence on failure. */
int net_start(const struct net_config *config, char *why, size_t why_size, struct net **out);

/* Ends the thread at once if NET_STOP was not sent; gives everything back. NULL is allowed. */
void net_destroy(struct net *net);

/* "eth0 10.1.2.3": name and address of the interface of a path. */
const char *net_interface(const struct net *net, int path);
uint64_t net_session(const struct net *net);
/* Other nodes leave out what no user of this one wants. */
bool net_filters(const struct net *net);
int net_inbound_fd(const struct net *net);
uint64_t net_inbound_bytes(const struct net *net);

/* From the control loop. */
void net_mail_send(struct net *net, struct net_mail mail);
bool net_mail_take(struct net *net, struct net_mail *out);

/* Monotonic ns of the net loop's last turn: it turns at least twice a second. */
uint64_t net_alive_ns(const struct net *net);

#endif
