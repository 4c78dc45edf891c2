/* attach/attach.h - a program's place on the backbone: send to it, hear from it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/event.h"
#include "backbone/send.h"

/*
 * One `struct attach` is one user of one network: one loop of one thread. It has a port of its own
 * that no other user of that node ever gets. Behind the interface is either an rrcpd on this host
 * (shared memory; no system call while both sides are busy) or the reliable multicast engine
 * inside this process; callers need not know which.
 *
 *      attach_open(&config, &user)            always succeeds when the configuration is right,
 *                                             whether or not the daemon is there yet
 *      loop:
 *          wait for attach_fd() to be readable, at most until attach_deadline()
 *          do {
 *              n = attach_poll(user, now, events, 256)
 *              handle them
 *          } while (n > 0)                    0 arms the wake-up: the fd will become readable
 *          attach_send() ... attach_send()
 *          attach_flush(user)                 one doorbell for the whole batch
 *      attach_close(user)
 *
 * Nothing here blocks. A daemon that goes away is told as BACKBONE_DETACHED (all peers are to be
 * taken as gone) and looked for again every second; BACKBONE_ATTACHED tells the new session and
 * port.
 */

struct attach;
struct attach_node_config;

/*
 * What several loops of one process share: one mapping of the daemon's inbound ring. Made in main
 * before the loops, destroyed after all of them are closed; may be used from several threads.
 */
struct attach_process;
int attach_process_create(struct attach_process **out);
void attach_process_destroy(struct attach_process *process);

/*
 * Asked for every message, in place, before it is copied: false skips it. `event->bytes` may be
 * overwritten under the callee's eyes, so nothing may be concluded from them but this answer, and
 * nothing kept. Called from attach_poll() only.
 */
typedef bool attach_want_fn(void *argument, const struct backbone_event *event);

struct attach_config {
    const char *network;        /* networkName, e.g. "net1" */
    const char *rrcpd_instance; /* which rrcpd of that network on this host, e.g. "1" */
    const char *rrcpd_role;     /* "sink", "source": one started so goes before it; NULL: none */
    const char *run_dir;        /* folder of the attach sockets, e.g. "/run/rmds" */
    const char *user_name;      /* for people: "p2ps.1.worker2"; at most 63 bytes */
    uint32_t outbound_bytes;    /* outbound ring, power of two; 0 = 16 MiB */
    uint64_t retry_ns;          /* between attempts to attach; 0 = 1 s */
    uint64_t busy_poll_ns;      /* attach_poll() arms when nothing has come for this time; until
                                   then attach_deadline() is 0 */
    bool sends_only;            /* no copy of what other users of this node send is wanted */
    bool wants_no_data;         /* control topics and what is sent to it are all it wants; other
                                   nodes of a mesh may leave the rest out, and some still comes */
    bool says_wants;            /* attach_want() says what else it wants, from nothing on */
    bool skips_topics;          /* messages of bare topics (backbone/topic.h) are not wanted */
    bool is_application;        /* attachAccess holds for it, also under the uid of a daemon */
    attach_want_fn *want;       /* may be NULL: everything is wanted */
    void *want_argument;
    struct attach_process *process; /* may be NULL: a mapping of its own */
    /* Not NULL: the engine runs inside this process with this network configuration. */
    const struct attach_node_config *in_process;
    char *why; /* may be NULL; else gets a sentence for the operator when in_process cannot open */
    size_t why_size;
};

/*
 * MD_ERR_RANGE (a name too long, a size not a power of two), MD_ERR_NOMEM, MD_ERR_SYS; for
 * in_process also whatever opening the network can say. The configuration is copied.
 */
int attach_open(const struct attach_config *config, struct attach **out);

/* Detach; what was flushed is still sent by the daemon. NULL is allowed. */
void attach_close(struct attach *user);

/* Ends the time of busy_poll_ns: the next attach_poll() arms if it finds nothing. True: the user
 * was looking, so that poll has to come before any sleep. */
bool attach_end_look(struct attach *user);

/* One descriptor for the whole life of `user`, readable when attach_poll() has something to do. */
int attach_fd(const struct attach *user);

/* attach_fd() is readable also while `fd` is, which stays the caller's and is closed after
 * attach_close(). So who waits for both has one set of descriptors, not a set in a set, and a
 * wake-up passes one less. MD_ERR_SYS. */
int attach_also(const struct attach *user, int fd);

/* False: attach_poll() still gives what the user itself sends, but that alone wakes it only when
 * much has gathered. True unless this is called. */
void attach_wakes_for_own(struct attach *user, bool wakes);

/* When attach_poll() wants to be called even if the descriptor is silent; UINT64_MAX = never. */
uint64_t attach_deadline(const struct attach *user);

/* Attached now? Then *session and *port are this user's own; else both are 0. */
bool attach_self(const struct attach *user, uint64_t *session, uint16_t *port);

/* ---- receiving ------------------------------------------------------------------------- */

/*
 * The next events, at most `max`. Messages for other ports and those `want` refuses are not among
 * them. The bytes were copied out of the shared ring and it was verified afterwards that the
 * writer had not come around: they are whole, and private to the caller until the next call.
 * Returning 0 arms the wake-up.
 */
int attach_poll(struct attach *user, uint64_t now_ns, struct backbone_event events[], int max);

/* ---- sending --------------------------------------------------------------------------- */

struct attach_piece {
    const void *bytes;
    size_t length;
};

/*
 * Queue one message, gathered from `pieces`. MD_ERR_FULL: the outbound ring has no room; flush, and
 * come back when the descriptor is readable, as it will be when half of the ring is free.
 * MD_ERR_CLOSED: no daemon. MD_ERR_RANGE: longer than maxMsgSize, or a reserved topic.
 */
int attach_send(struct attach *user, const struct backbone_target *target,
                const struct attach_piece pieces[], int count);

/*
 * The same without a copy: *room gets space for `length` bytes inside the ring, which the caller
 * fills and hands over with attach_commit(), saying how many it used (<= length). Nothing else may
 * be called on `user` in between.
 */
int attach_claim(struct attach *user, const struct backbone_target *target, size_t length,
                 uint8_t **room);
void attach_commit(struct attach *user, size_t length);

/* How an engine sends through `user`: straight into its outbound ring. */
struct backbone_send attach_sender(struct attach *user);

/*
 * With says_wants, where the event ATTACHED has BACKBONE_FLAG_FILTERS: control topics, what is sent
 * to this user and these topics are all it wants from now on; NULL, or more than
 * BACKBONE_TOPICS_MAX: everything. An answer to what it sends by unicast afterwards is not left
 * out. Others' wishes count, too, so more may come. Said anew behind each ATTACHED. MD_ERR_FULL: as
 * with attach_send(). Where nothing is left out it does nothing.
 */
int attach_want(struct attach *user, const uint32_t topics[], uint32_t count);

/* Make everything queued visible to the sender and wake it if it sleeps. Cheap when nothing is. */
void attach_flush(struct attach *user);

/* The longest message that may be sent; 0: not attached. */
size_t attach_message_max(const struct attach *user);

/* Bytes waiting in the outbound ring and its size: rules like "below a half" are made of these. */
void attach_fill(const struct attach *user, size_t *used, size_t *size);

struct attach_counters {
    uint64_t messages_sent, bytes_sent, send_full, doorbells;
    uint64_t messages_received, bytes_received, messages_skipped, wakeups;
    uint64_t overruns, overrun_bytes, attaches;
    /* Of the inbound ring, not read when it was polled last; at `behind_max` the reader is lapped.
     * 0 in_process. */
    uint64_t behind, behind_max;
    uint64_t packets_repaired; /* in_process; an rrcpd counts them for all its users */
};

void attach_counters(const struct attach *user, struct attach_counters *out);

/* Why it is not attached: the daemon refused it, or there is none. */
struct attach_refusal {
    uint64_t count; /* grows with each other reason, and with each that follows an attachment */
    int error;      /* MD_ERR_CLOSED: no daemon; MD_OK: attached, or not tried yet */
    bool by_daemon;
    char why[192]; /* for people; "" with MD_OK */
};

const struct attach_refusal *attach_refusal(const struct attach *user);

#endif
