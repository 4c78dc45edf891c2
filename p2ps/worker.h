/* worker.h - one share-nothing worker of p2ps: a loop, a core, a place on the backbone, clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_WORKER_H
#define P2PS_WORKER_H

#include "attach/attach.h"
#include "base/loop.h"
#include "base/mailbox.h"
#include "base/thread.h"
#include "core.h"
#include "daemon/daemon.h"
#include "mount.h"
#include "rssl/pool.h"
#include "ws/ws.h"

struct p2ps_dictionary_store;
struct p2ps_ws;

/* WebSocket consumers. */
struct p2ps_ws_config {
    bool is_enabled;
    uint64_t ping_ns;     /* wsPingTimeout */
    uint32_t message_max; /* wsMaxMsgSize */
    uint32_t queue_max;   /* bytes: maxOutputBuffers of maxFragmentSize */
    uint64_t guaranteed;  /* bytes: guaranteedOutputBuffers of them */
    struct ws_pool_config pool;
    uint8_t breach_percent; /* outputThresholdBreach, outputThresholdOK */
    uint8_t ok_percent;
    bool expands_enums, catches_keys, catches_fields;
    bool has_page;             /* wsLivePage */
    char allowed_origins[512]; /* names, blank between them */
    char default_service[256];
    const struct p2ps_dictionary_store *dictionaries;
};

#define P2PS_READ_LEAST 65536u /* good for batches */
#define P2PS_HANDED_MAX 1024   /* connections accepted and not yet taken over */

struct p2ps_worker_config {
    unsigned index;
    const struct daemon *daemon;
    struct p2ps_core_config core;
    struct attach_config attach[P2PS_NETWORKS_MAX]; /* core.network_count of them */
    struct rssl_config channel;
    struct rssl_pool_config pool;
    uint64_t busy_poll_ns;
    uint64_t output_time_ns;  /* maxOutputTime, 0: none */
    uint64_t stats_window_ns; /* of the rates of each mount */
    struct p2ps_ws_config ws;
    struct p2ps_names *names;    /* NULL: clients are known by their addresses only */
    uint64_t login_timeout_ns;   /* from the connection on; 0: none but the channel's own */
    enum net_identity user_from; /* tlsUserFrom */
};

/* The configuration's line about a user; the name is spelt as in a path of it. */
struct p2ps_user_line {
    char name[256];
    uint64_t items;
    uint64_t output_rate; /* bytes a second to each connection, 0: no limit */
    bool is_native;       /* disableDataConversion */
};

/* The parameters that a reload may change. */
struct p2ps_tuning {
    uint64_t host_items, mount_items, aggregate_items; /* 0: no limit */
    struct p2ps_rate_limits rates;
    struct p2ps_user_line *users; /* those who have a line of their own */
    struct p2ps_user_line others;
    unsigned user_count;
    uint64_t flush_interval_ns; /* 0: at the end of each turn */
    bool tcp_nodelay, packing;  /* of new connections */
    bool keeps_pages, allows_native, fills_post_user_id;
    const struct cache_ripples *ripples; /* NULL: values do not move on */
    enum entitle_level record_level;     /* accessAuditLevel */
    bool hides_reasons;                  /* accessReveal False */
    bool is_dry_run;                     /* accessDryRun */
};

/* tuning.c: the line of a user, or that of all others. */
const struct p2ps_user_line *p2ps_tuning_user(const struct p2ps_tuning *tuning, const char *user);

/* A connection on its way from the control loop. */
struct p2ps_handed {
    const struct p2ps_protocol *protocol;
    struct net_stream *stream;
    const char *refusal;     /* a constant text; NULL: none */
    struct p2ps_party *host; /* where it is counted; NULL: nowhere */
    enum {
        P2PS_ROOM_NONE,
        P2PS_ROOM_OF_ANY,     /* a connection without a login ends for it, or it is refused */
        P2PS_ROOM_OF_ITS_OWN, /* the same, one of its own protocol */
    } room;
};

/* The worker's place on one network of the backbone. */
struct p2ps_worker_network {
    struct p2ps_worker *worker;
    unsigned index;
    struct attach *attach;
    struct md_loop_fd *watch;
};

struct p2ps_worker {
    struct p2ps_worker_config config;
    struct md_thread thread;
    struct md_loop *loop;
    struct md_loop_source *source;
    struct md_loop_wake *wake; /* connections were handed over, or an order was given */
    struct md_loop_timer *flush_timer;
    struct md_loop_timer *mount_timer;
    struct md_loop_timer *pacer; /* runs while mounts wait for their ceiling */
    struct p2ps_worker_network networks[P2PS_NETWORKS_MAX];
    struct p2ps_core *core;
    struct p2ps_tuning tuning;
    struct rssl_pool *pool;
    struct p2ps_ws *ws; /* NULL: wsEnable False */
    struct p2ps_mount *mounts;
    struct p2ps_mount *dead;
    struct p2ps_mount *paced;      /* those that wait for their ceiling */
    struct p2ps_mount *paced_turn; /* of these, those that are flushed now */
    uint32_t mounts_shown;         /* so far, in the statistics */
    uint32_t polled_mounts;        /* those without a descriptor */
    uint8_t *input;                /* what is being read; of the connections one at a time */
    size_t input_size;
    uint8_t *spare;      /* another one, for when a consumer's input has to wait; NULL: none */
    uint32_t held_count; /* consumers whose input waits */
    bool was_spent;      /* states took all of the last turn: this one takes few events at a time */
    uint32_t empty_networks; /* a bit for each that was found empty since the last tick */
    bool stop_asked;
    uint64_t stop_until_ns;
    /* From the control loop. */
    struct md_mailbox handed, orders; /* of struct p2ps_handed and struct p2ps_worker_letter */
    _Atomic bool stop;
    _Atomic uint32_t mount_count;    /* those handed over, too */
    _Atomic uint32_t ws_count;       /* of these, WebSocket ones */
    _Atomic uint32_t login_count;    /* those whose login is open */
    _Atomic uint32_t ws_login_count; /* of these, WebSocket ones */
    _Atomic bool has_attached;       /* to an rrcpd, at some time */
    _Atomic uint32_t attached_now;   /* a bit for each network */
    _Atomic uint64_t alive_ns;       /* the loop turned then */
    struct p2ps_worker_stats *stats;
    struct p2ps_service_stats *service_stats;
    struct p2ps_user_stats *user_stats; /* of the first worker; the others have none */
    uint64_t looked_ns;                 /* at loginTimeout of all mounts */
    uint64_t gave_way;                  /* mounts without a login, for others */
    uint64_t gave_way_said;
    uint64_t choked; /* times that answers filled a consumer's output */
    uint64_t gave_way_say_ns;
    uint64_t gave_way_distance_ns; /* from one line to the next */
    uint64_t refused_said;         /* for want of memory, in the log */
    uint64_t refused_say_ns;
};

int p2ps_worker_create(const struct p2ps_worker_config *config, struct p2ps_worker **out);
int p2ps_worker_start(struct p2ps_worker *worker);
/* Clients are told, output is drained, then the thread ends; at most five seconds. Tell all
 * workers to stop, then wait for each. */
void p2ps_worker_stop(struct p2ps_worker *worker);
void p2ps_worker_join(struct p2ps_worker *worker);
void p2ps_worker_destroy(struct p2ps_worker *worker); /* NULL is allowed */

/* From the control loop: take this connection, or refuse it. With `room` a connection without a
 * login ends for it, or it is refused. MD_ERR_FULL: too many at once; it is closed. */
int p2ps_worker_hand(struct p2ps_worker *worker, const struct p2ps_handed *handed);
/* The authority has answers. Any thread; `worker` is one. */
void p2ps_worker_wake(void *worker);
void p2ps_worker_entitle_again(struct p2ps_worker *worker);
/* Since it was told to, last: it asks only what the authority says since then. */
bool p2ps_worker_entitled_again(struct p2ps_worker *worker);
/* Before start, and from the control loop at a reload. Takes `users`, from malloc(), over. */
void p2ps_worker_tune(struct p2ps_worker *worker, const struct p2ps_tuning *tuning);

/* ---- worker_stats.c ---- */
int p2ps_worker_stats_create(struct p2ps_worker *worker);
void p2ps_worker_stats_destroy(struct p2ps_worker *worker);
void p2ps_worker_stats_show(struct p2ps_worker *worker); /* ten times a second, on its loop */

/* ---- mount_stats.c: what there is many of, once a second ---- */
struct p2ps_mount_stats;
/* Also sums up the output buffers of all mounts, in use and at most. */
void p2ps_mounts_show(struct p2ps_worker *worker, uint64_t *buffers, uint64_t *buffers_max);
int p2ps_user_stats_create(struct p2ps_user_stats **out);
void p2ps_user_stats_destroy(struct p2ps_user_stats *stats); /* NULL is allowed */
/* Users of all workers. */
void p2ps_users_show(struct p2ps_worker *worker);
int p2ps_service_stats_create(struct p2ps_service_stats **out);
void p2ps_service_stats_destroy(struct p2ps_service_stats *stats); /* NULL is allowed */
void p2ps_services_show(struct p2ps_worker *worker);
/* The number of a service that was shown is another one's from now on. */
/* worker_notes.c: for the core, `worker` is a struct p2ps_worker. */
void p2ps_worker_look_behind(struct p2ps_worker *worker, uint64_t now_ns);
void p2ps_worker_note(void *worker, const struct p2ps_note *note);
void p2ps_service_released(const struct p2ps_worker *worker, const struct p2ps_note *note);
uint32_t p2ps_mount_stats_number(const struct p2ps_mount_stats *stats);
void p2ps_mount_stats_destroy(struct p2ps_mount_stats *stats); /* NULL is allowed */

#endif
