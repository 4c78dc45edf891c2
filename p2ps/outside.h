/* outside.h - the authority in another process: its socket, its thread, and the workers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_OUTSIDE_H
#define P2PS_OUTSIDE_H

#include "authority.h"
#include "credentials.h"

/*
 * The authority of the workers. What the access file decides by itself goes to `credentials`; a
 * login of a user with auth=authority becomes a question to the process behind the socket. Its
 * answer says who that is and which roles he has; the access file says the rest. A worker waits for
 * nothing: it writes its question under a short lock, and a thread of the socket's own has the
 * answer for it.
 */
struct p2ps_outside;

struct p2ps_outside_config {
    const char *path; /* of the socket; "": there is no authority, and nobody of it is let in */
    const char *user; /* who may own the process, besides root and p2ps itself; "": nobody */
    const char *instance;
    enum p2ps_authority_sessions sessions; /* authoritySessions */
    uint64_t grace_ns;                     /* authorityGrace; 0: none */
    bool allows; /* authorityDown: while it is away, the access file alone decides about new ones */
    uint32_t window;
    uint64_t timeout_ns;
    uint64_t (*now)(void);
    entitle_rules_slot *rules;
    struct p2ps_credentials *credentials;
};

struct p2ps_outside_stats {
    struct p2ps_authority_stats authority;
    bool is_up;
};

/* MD_ERR_NOMEM, MD_ERR_SYS: the thread cannot be started; MD_ERR_NOT_FOUND: there is no such user.
 */
int p2ps_outside_create(const struct p2ps_outside_config *config, struct p2ps_outside **out);
/* Before the credentials. No worker runs. NULL is allowed. */
void p2ps_outside_destroy(struct p2ps_outside *outside);
struct entitle_authority p2ps_outside_authority(struct p2ps_outside *outside, unsigned worker);
/* `wake` is called from another thread when an answer, or news, are there; NULL: nobody. */
void p2ps_outside_wake_set(struct p2ps_outside *outside, unsigned worker, void (*wake)(void *owner),
                           void *owner);
/* How long answers take, in microseconds; recorded by the thread of the socket. */
void p2ps_outside_took_set(struct p2ps_outside *outside, struct md_hist *took_us);
void p2ps_outside_stats(struct p2ps_outside *outside, struct p2ps_outside_stats *out);

#endif
