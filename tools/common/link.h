/* link.h - one RSSL connection on the loop of a tool. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_LINK_H
#define TOOLS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "client/session.h"

/*
 * A session with its readiness and its deadline put on a loop. The owner gets its messages in
 * batches and may queue messages at any time; what it queued while it was called is written when
 * it returns, what it queues elsewhere with link_flush().
 *
 * on_closed is the last call; it alone may destroy the link.
 */
struct link;

struct link_ops {
    void (*on_open)(void *owner);
    void (*on_messages)(void *owner, const struct rssl_event *events, size_t count);
    void (*on_closed)(void *owner, const char *reason);
};

int link_create(struct md_loop *loop, struct client_session *session, const struct link_ops *ops,
                void *owner, struct link **out); /* on failure the session stays the caller's */
void link_destroy(struct link *link);            /* with its session; NULL is allowed */

void link_start(struct link *link); /* the first turn */

int link_flush(struct link *link);  /* as client_session_flush() */
void link_close(struct link *link); /* in good order; on_closed follows */

/* At most this many reads for one readiness (64); 0: as many as there is to read. */
void link_set_read_factor(struct link *link, unsigned reads);

/* Neither reads nor writes nor pings until it goes on: for who plays a program that hangs. */
void link_pause(struct link *link, bool is_paused);

struct client_session *link_session(struct link *link);

#endif
