/* reason.h - why clients are told states, or cut: a histogram of a worker, and of each client. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_REASON_H
#define P2PS_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct p2ps_core;
struct rwf_state;

/* Each status that is sent counts for one of them, and each client that is cut for slowness. */
enum p2ps_reason {
    P2PS_REASON_OTHER,
    P2PS_REASON_SLOW_MOUNT,    /* the client is slow: updates of a stream are merged */
    P2PS_REASON_WORKER_BEHIND, /* the worker is: the same */
    P2PS_REASON_LEFT_OUT,      /* an image comes in place of updates */
    P2PS_REASON_REAL_TIME,     /* none of these any more */
    P2PS_REASON_CUT_SLOW,      /* clients, not statuses */
    P2PS_REASON_GAP,           /* loss on the backbone */
    P2PS_REASON_SOURCE_DOWN,   /* suspect, by a source or because none is there */
    P2PS_REASON_SOURCE_UP,     /* good again without an image, or another state of it */
    P2PS_REASON_CLOSED,        /* a source has ended the stream */
    P2PS_REASON_NOT_FOUND,     /* item, service or dictionary */
    P2PS_REASON_DENIED,        /* no permission */
    P2PS_REASON_AUTHORITY,     /* the permission system is away */
    P2PS_REASON_LIMIT,         /* of items, logins, views, memory */
    P2PS_REASON_BAD_REQUEST,
    P2PS_REASON_UNREADABLE, /* a record could not be converted or cut */
    P2PS_REASONS,
};

/* In that order, for rows of statistics; `of` is the name of a member.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define P2PS_REASON_ROWS(ROW, of)                                                                  \
    ROW("other", of[P2PS_REASON_OTHER]), ROW("slowMount", of[P2PS_REASON_SLOW_MOUNT]),             \
        ROW("workerBehind", of[P2PS_REASON_WORKER_BEHIND]),                                        \
        ROW("leftOut", of[P2PS_REASON_LEFT_OUT]), ROW("realTime", of[P2PS_REASON_REAL_TIME]),      \
        ROW("cutSlow", of[P2PS_REASON_CUT_SLOW]), ROW("gap", of[P2PS_REASON_GAP]),                 \
        ROW("sourceDown", of[P2PS_REASON_SOURCE_DOWN]),                                            \
        ROW("sourceUp", of[P2PS_REASON_SOURCE_UP]), ROW("closed", of[P2PS_REASON_CLOSED]),         \
        ROW("notFound", of[P2PS_REASON_NOT_FOUND]), ROW("denied", of[P2PS_REASON_DENIED]),         \
        ROW("authority", of[P2PS_REASON_AUTHORITY]), ROW("limit", of[P2PS_REASON_LIMIT]),          \
        ROW("badRequest", of[P2PS_REASON_BAD_REQUEST]),                                            \
        ROW("unreadable", of[P2PS_REASON_UNREADABLE])
/* NOLINTEND(bugprone-macro-parentheses) */

/* A status to the client is on its way. `is_of_item`: of a stream of an item that is open. */
void p2ps_reason_count(struct p2ps_core *core, uint32_t client, const struct rwf_state *state,
                       bool is_of_item);
/* The client is cut. */
void p2ps_reason_cut(struct p2ps_core *core, uint32_t client);
/* "slowMount 12, gap 3", most first, as many as there is room for; "" without any. */
void p2ps_reasons_text(const uint32_t of[P2PS_REASONS], char *out, size_t size);

#endif
