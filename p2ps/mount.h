/* mount.h - one consumer's connection: byte stream, RSSL channel, client of the core. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_MOUNT_H
#define P2PS_MOUNT_H

#include "base/loop.h"
#include "core.h"
#include "netio/stream.h"
#include "rssl/channel.h"

struct p2ps_worker;

/* Owned by its worker's thread. */
struct p2ps_mount {
    struct p2ps_worker *worker;
    struct net_stream *stream;
    struct rssl_channel *channel;
    struct md_loop_fd *watch; /* NULL: poll-driven */
    uint32_t client;          /* of the core, UINT32_MAX before the handshake is done */
    bool is_dead;             /* to be freed at the end of the turn */
    bool is_closing;          /* what is queued still goes out */
    bool is_leaving;          /* p2ps stops: the same, however long it has time */
    bool is_lingering;        /* all has gone out; the peer's end is awaited */
    bool is_slow;             /* as last logged: above outputThresholdBreach */
    uint64_t closing_until_ns;
    struct p2ps_misuse told; /* to the log */
    uint64_t tell_at_ns;
    struct p2ps_mount_stats *stats; /* NULL: not shown yet */
    struct p2ps_name *name;         /* NULL: not asked for */
    struct p2ps_mount *next;
    struct p2ps_mount *previous;
};

/* How RSSL plugs in to the core. */
extern const struct p2ps_front p2ps_rssl_front;

/* Takes the stream over, whatever the result. `refusal`: answer the handshake with a nak. */
int p2ps_mount_create(struct p2ps_worker *worker, struct net_stream *stream, const char *refusal);
void p2ps_mount_destroy(struct p2ps_mount *mount);

/* Time has passed, or a poll-driven stream may have something. */
void p2ps_mount_tick(struct p2ps_mount *mount, uint64_t now_ns);
/* Logs when the mount has become slow, or is no more: outputThresholdBreach, outputThresholdOK. */
void p2ps_mount_watch(struct p2ps_mount *mount);
/* mount_misuse.c: logs what its consumer does far too often; UINT64_MAX: for the last time. */
void p2ps_mount_tell(struct p2ps_mount *mount, uint64_t now_ns);
void p2ps_mount_poll(struct p2ps_mount *mount);
uint64_t p2ps_mount_deadline(const struct p2ps_mount *mount);
/* Write what is queued, as far as the stream takes it. */
void p2ps_mount_flush(struct p2ps_mount *mount);
/* End it: what is queued goes out first, as far as that is possible in two seconds. */
void p2ps_mount_close(struct p2ps_mount *mount, const char *reason);
/* p2ps stops: what is queued goes out until then, the core hears of it no more. */
void p2ps_mount_leave(struct p2ps_mount *mount, uint64_t until_ns);

#endif
