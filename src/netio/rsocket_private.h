/* rsocket_private.h - an rsocket, its owner and the thread that waits for it. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_RSOCKET_PRIVATE_H
#define NETIO_RSOCKET_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rsocket_calls.h"
#include "stream_private.h"

/*
 * The owner's loop watches this in place of an rsocket: a socket of the kernel that is readable
 * when the thread said so, and writable unless the owner has filled it. So a loop, a mask of events
 * and a hand-over between threads mean what they mean with TCP.
 */
struct rsocket_signal {
    int owner; /* -1: closed */
    int other;
};

int rsocket_signal_open(struct rsocket_signal *signal); /* MD_OK or MD_ERR_SYS with errno */
/* By the owner: not readable, or not writable, until it is raised. */
void rsocket_signal_lower(struct rsocket_signal *signal, unsigned bit);
void rsocket_signal_raise(struct rsocket_signal *signal, unsigned bits); /* by the thread */

enum rsocket_phase { RSOCKET_NEW, RSOCKET_OPENING, RSOCKET_OPEN, RSOCKET_FAILED };

struct rsocket_group;
struct rsocket_entry;

struct rsocket_kind {
    /* On the thread: make the rsocket, and begin what it is for. 0, or errno. */
    int (*open)(struct rsocket_entry *entry, const struct rsocket_calls *calls);
    /* It is open now. */
    void (*opened)(struct rsocket_entry *entry, const struct rsocket_calls *calls);
    /* A listener: take what has come; false: look again when the owner has. NULL for a stream. */
    bool (*accept)(struct rsocket_entry *entry, const struct rsocket_calls *calls);
    void (*destroy)(struct rsocket_entry *entry); /* after its rsocket was closed */
};

/* An rsocket in the care of a group's thread. Until it is open that thread alone touches it. */
struct rsocket_entry {
    const struct rsocket_kind *kind;
    const struct rsocket_calls *calls;
    struct rsocket_entry *next; /* in the list it is in */
    _Atomic(struct rsocket_group *) group;
    struct rsocket_signal signal;
    _Atomic unsigned phase;
    _Atomic unsigned wanted; /* NET_READABLE, NET_WRITABLE: told to the owner when it comes about */
    _Atomic unsigned orders; /* of the owner: to end, to close */
    int rs;                  /* -1: none */
    int error;               /* errno, of one that failed */
    uint64_t pinned;
    bool is_counted; /* in its group */
};

/* Gives an entry to a group. The first one starts a thread: MD_ERR_SYS. MD_ERR_FULL: too many. */
int rsocket_entry_add(struct rsocket_entry *entry);
/* The rsocket of one that has no owner, and gets none, is closed by the thread for that: it may
 * take seconds. False: so many are being closed that the caller has to. */
bool rsocket_entry_refuse(struct rsocket_entry *entry);
/* Memory of the buffers; false: there may be no more. */
bool rsocket_entry_pin(struct rsocket_entry *entry, uint64_t bytes);
void rsocket_entry_unpin(struct rsocket_entry *entry);
/* The owner has nothing more to do until `bit` is told. */
void rsocket_entry_rest(struct rsocket_entry *entry, unsigned bit);
/* All that is written goes out, then the peer sees the end. */
void rsocket_entry_end(struct rsocket_entry *entry);
/* The owner leaves it. All that is written goes out; it is freed some time later. */
void rsocket_entry_close(struct rsocket_entry *entry);

/* ---- rsocket_stream.c ---- */
/* For an rsocket that was accepted; 0, or errno, then `rs` is closed. */
int rsocket_stream_adopt(const struct rsocket_calls *calls,
                         const struct net_stream_options *options, int rs, struct net_stream **out);
/* Buffers are of the options, or of the library. Returns the bytes they pin. */
uint64_t rsocket_set_buffers(const struct rsocket_calls *calls, int rs,
                             const struct net_stream_options *options);
int rsocket_dial(const struct net_stream_options *options, const char *host, uint16_t port,
                 struct net_stream **out);
/* A sentence for errno of a call to an rsocket. */
void rsocket_explain(int error, char *out, size_t size);

#endif
