/* retry.h - when a route dials again, and which of its hosts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_RETRY_H
#define SRCDIST_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The hosts of a route are tried in turn. The pause between two attempts grows, but all hosts
 * together wait no longer than SRCDIST_RETRY_ROUND_NS: a provider that comes back is found within
 * so much, and what it takes to give up on those before it, however long it was away.
 */
#define SRCDIST_RETRY_ROUND_NS 3000000000ull

struct srcdist_retry {
    unsigned hosts; /* 1 or more */
    unsigned at;    /* the one that is dialed next */
    unsigned round; /* how often each host had its turn: which of its addresses is tried first */
    uint64_t due_ns;
    uint64_t wait_ns;  /* after the next failure */
    uint64_t failures; /* since there was a connection */
};

/* The first attempt is due at once. */
void srcdist_retry_init(struct srcdist_retry *retry, unsigned hosts);
/* A connection is up: when it ends, the pauses begin from the shortest again. */
void srcdist_retry_opened(struct srcdist_retry *retry);
/* An attempt failed, or a connection ended. */
void srcdist_retry_failed(struct srcdist_retry *retry, uint64_t now_ns);

/* The next failure is worth a line in the log: each host is named in the rounds 1, 2, 4 ... 64 and
 * in every 64th from then on, some three minutes apart, for as long as the provider is away. */
bool srcdist_retry_is_logged(const struct srcdist_retry *retry);

#endif
