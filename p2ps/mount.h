/* mount.h - one consumer's connection: byte stream, its protocol, client of the core. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_MOUNT_H
#define P2PS_MOUNT_H

#include "base/loop.h"
#include "base/slice.h"
#include "ceiling.h"
#include "core.h"
#include "netio/stream.h"
#include "rssl/channel.h"
#include "taking.h"

struct p2ps_mount;
struct p2ps_worker;
struct p2ps_handed;
struct p2ps_party;
struct p2ps_ws_mount;

/* Figures of a mount's traffic, for monitors. */
struct p2ps_mount_figures {
    uint32_t buffers, buffers_max; /* of its output */
    bool is_slow;                  /* above outputThresholdBreach */
    uint64_t messages_in, bytes_in, messages_out, bytes_out;
};

/* A protocol between the byte stream and the core: what mount.c asks of it. */
struct p2ps_protocol {
    const char *name;
    /* `refusal` not NULL: the handshake is answered with it. */
    int (*open)(struct p2ps_mount *mount, const char *refusal);
    void (*destroy)(struct p2ps_mount *mount);
    /* May change the bytes. False: it is not the consumer's turn (p2ps_client_takes), some of the
     * input waits; the bytes stay where they are until resume() has said false. */
    bool (*input)(struct p2ps_mount *mount, uint64_t now_ns, uint8_t *bytes, size_t length);
    /* The next message of the input that waits; false: none does. NULL: input() is always true. */
    bool (*resume)(struct p2ps_mount *mount, uint64_t now_ns);
    void (*input_end)(struct p2ps_mount *mount, uint64_t now_ns, bool is_broken);
    size_t (*output)(struct p2ps_mount *mount, struct md_slice *slices, size_t max);
    void (*sent)(struct p2ps_mount *mount, uint64_t now_ns, size_t length);
    bool (*has_output)(const struct p2ps_mount *mount);
    /* Queues the last words. `is_leaving`: p2ps stops. */
    void (*close)(struct p2ps_mount *mount, bool is_leaving);
    bool (*is_finished)(const struct p2ps_mount *mount);
    /* While input waits, no silence is the peer's. */
    void (*tick)(struct p2ps_mount *mount, uint64_t now_ns);
    uint64_t (*deadline)(const struct p2ps_mount *mount);
    void (*figures)(const struct p2ps_mount *mount, struct p2ps_mount_figures *out);
    /* The mount's bytes of shared pools are this party's, in place of the former one. NULL:
     * nobody's. */
    void (*share)(struct p2ps_mount *mount, size_t at, struct p2ps_party *party);
};

/* Owned by its worker's thread. */
struct p2ps_mount {
    struct p2ps_worker *worker;
    const struct p2ps_protocol *protocol;
    struct net_stream *stream;
    union {
        struct rssl_channel *channel;
        struct p2ps_ws_mount *ws;
    };
    struct p2ps_party *host;               /* where it is counted; NULL: nowhere */
    struct p2ps_party *holders[MD_SHARES]; /* its address and its user, as long as it lives */
    struct md_loop_fd *watch;              /* NULL: poll-driven */
    uint8_t *held;               /* input that waits for the consumer's turn; NULL: none */
    uint32_t client;             /* of the core, UINT32_MAX before the handshake is done */
    bool is_refused;             /* it waits for the words that say why */
    bool is_dead;                /* to be freed at the end of the turn */
    bool is_closing;             /* what is queued still goes out */
    bool is_leaving;             /* p2ps stops: the same, however long it has time */
    bool is_lingering;           /* all has gone out; the peer's end is awaited */
    bool is_choked;              /* answers fill its output: until it reads, its input waits */
    bool is_slow;                /* as last logged: above outputThresholdBreach */
    uint64_t since_ns;           /* connected */
    struct p2ps_ceiling ceiling; /* outputRate of its user */
    struct p2ps_taking taking;
    struct p2ps_mount *paced_next;  /* of those that wait for their ceiling */
    struct p2ps_mount **paced_link; /* NULL: it does not wait */
    uint64_t closing_until_ns;
    struct p2ps_misuse told; /* to the log */
    uint64_t tell_at_ns;
    uint64_t tell_distance_ns;          /* from the last line to the next */
    struct p2ps_mount_stats *stats;     /* NULL: not shown yet */
    struct p2ps_name *name;             /* NULL: not asked for */
    char certificate[NET_IDENTITY_MAX]; /* the name in the consumer's; "": it has none */
    char serial[NET_SERIAL_MAX];        /* its number; "": it has none */
    int64_t certificate_ends_s;
    char *label; /* address and user, for the log; NULL: it is not logged in */
    struct p2ps_mount *next;
    struct p2ps_mount *previous;
};

/* How RSSL plugs in to the core. */
extern const struct p2ps_front p2ps_rssl_front;
extern const struct p2ps_protocol p2ps_rssl_protocol;
extern const struct p2ps_protocol p2ps_ws_protocol;

/* Takes the stream over, whatever the result, and its count at its address on success. A refusal
 * answers the handshake with a nak. */
int p2ps_mount_create(struct p2ps_worker *worker, const struct p2ps_handed *handed);

/* ---- for protocols ---- */

/* The handshake is done: `said` is what the peer says of itself, for the log. */
void p2ps_mount_opened(struct p2ps_mount *mount, uint64_t now_ns, const struct p2ps_front *front,
                       const char *said);
/* The core hears of it no more; what is queued still goes out. */
void p2ps_mount_wind_up(struct p2ps_mount *mount, const char *reason);
/* The core hears of it no more; it is freed at the end of the turn. */
void p2ps_mount_bury(struct p2ps_mount *mount);
/* Of the worker: one more, or one less. A refused one does not count to wsMaxConnections. */
void p2ps_mount_count(struct p2ps_worker *worker, const struct p2ps_protocol *protocol,
                      bool is_refused, int by);
/* One connection less of an address; NULL is allowed. */
void p2ps_mount_uncount_host(struct p2ps_worker *worker, struct p2ps_party *host);
void p2ps_mount_destroy(struct p2ps_mount *mount);

/* Time has passed, or a poll-driven stream may have something. */
void p2ps_mount_tick(struct p2ps_mount *mount, uint64_t now_ns);
/* Logs when the mount has become slow, or is no more: outputThresholdBreach, outputThresholdOK. */
void p2ps_mount_watch(struct p2ps_mount *mount);
/* mount_misuse.c: logs what its consumer does far too often; UINT64_MAX: for the last time. */
void p2ps_mount_tell(struct p2ps_mount *mount, uint64_t now_ns);
void p2ps_mount_poll(struct p2ps_mount *mount);
uint64_t p2ps_mount_deadline(const struct p2ps_mount *mount);
/* Its login is open, whether a refresh said so or not. */
bool p2ps_mount_is_in(const struct p2ps_mount *mount);
/* For the flush(), the close() and the user() of a front. */
void p2ps_mount_send(void *mount);
void p2ps_mount_cut(void *mount, const char *reason);
void p2ps_mount_user(void *mount, const char *name, struct p2ps_party *user);
/* For the log: "10.1.0.7:5122", and once it is logged in "10.1.0.7:5122 user=alice". */
const char *p2ps_mount_label(const struct p2ps_mount *mount);
/* For the certificate() of a front. */
const char *p2ps_mount_certificate(const void *mount, uint64_t *expires_s);
const char *p2ps_mount_serial(const void *mount);
/* So many queued bytes are a full output, by outputRate or maxOutputTime; UINT64_MAX: no number of
 * them. *why: the unit of them. */
uint64_t p2ps_mount_full(const struct p2ps_mount *mount, const char **why);
/* For the has_ceiling() of a front. */
bool p2ps_mount_has_ceiling(const void *mount);
/* For the resume() of a front: the next request that waits, or the socket is read again. */
bool p2ps_mount_resume(void *mount);
/* outputRate of its user may have changed: what is said there now holds. */
void p2ps_mount_ceiling_set(struct p2ps_mount *mount, uint64_t rate);
/* Write what is queued, as far as the stream and the ceiling take it. */
void p2ps_mount_flush(struct p2ps_mount *mount);
/* For the worker's pacer: those that wait for their ceiling are flushed, each once. */
void p2ps_mount_pacer_turn(void *worker);
/* End it: what is queued goes out first, as far as that is possible in two seconds. */
void p2ps_mount_close(struct p2ps_mount *mount, const char *reason);
/* p2ps stops: what is queued goes out until then, the core hears of it no more. */
void p2ps_mount_leave(struct p2ps_mount *mount, uint64_t until_ns);

#endif
