/* credentials.h - passwords against hashes, and signed tokens, in threads: a check takes as long as
 * 25 ms. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CREDENTIALS_H
#define P2PS_CREDENTIALS_H

#include "locks.h"
#include "plain.h"
#include "shadow.h"
#include "tokens.h"

/*
 * The authority of the workers: it answers at once from the rules, but for a login whose user line
 * has a hash=. That one waits in a queue for a thread, and the answer comes later, with a ring of
 * the worker. What fitted is remembered for `cache_ns`, by a keyed sum of user, hash and password,
 * so that ten thousand connections of a hundred users that come again cost a hundred checks. Who is
 * refused is not remembered: after three wrong passwords for a user from one address, or twenty
 * from that address, the next are not looked at for a second, then for two, up to a minute.
 *
 * A signed token (JWT) waits in the same queue; it is checked each time.
 */
struct p2ps_credentials;

struct p2ps_credentials_config {
    entitle_rules_slot *rules;
    unsigned workers;
    unsigned threads;   /* accessThreads */
    unsigned queue_max; /* accessQueue: logins that wait, of all workers */
    uint64_t cache_ns;  /* credentialCache; 0: nothing is remembered */
    uint64_t (*now)(void);
    struct p2ps_tokens *tokens; /* NULL: no signed token is taken */
    uint64_t (*wall_s)(void);   /* seconds since 1970 */
    entitle_rules_slot *shadow; /* accessShadowFile; NULL: there is none */
};

struct p2ps_credentials_stats {
    uint64_t checked;   /* passwords, by their hashes */
    uint64_t cached;    /* that were known to fit */
    uint64_t refused;   /* wrong ones */
    uint64_t held_back; /* not looked at, for there were so many wrong ones */
    uint64_t overflow;  /* not looked at, for the queue was full */
    uint64_t tokens;    /* signed ones that were checked */
    uint64_t tokens_refused;
    uint64_t locks_bad;      /* answers about permission data that cannot be read, */
    uint64_t locks_strange;  /* and that are of a service id that no peset has */
    uint64_t shadow_differs; /* answers that accessShadowFile would not have given */
};

/* MD_ERR_NOMEM, or MD_ERR_SYS: a thread cannot be started. */
int p2ps_credentials_create(const struct p2ps_credentials_config *config,
                            struct p2ps_credentials **out);
/* No worker runs. Questions without an answer are forgotten. NULL is allowed. */
void p2ps_credentials_destroy(struct p2ps_credentials *credentials);
/* For that worker; `wake` is called from another thread when an answer is there. */
struct entitle_authority p2ps_credentials_authority(struct p2ps_credentials *credentials,
                                                    unsigned worker);
void p2ps_credentials_wake_set(struct p2ps_credentials *credentials, unsigned worker,
                               void (*wake)(void *owner), void *owner);
/* Gets what accessShadowFile says to that worker's questions; before it runs. */
void p2ps_credentials_record(struct p2ps_credentials *credentials, unsigned worker,
                             const struct entitle_recorder *recorder);
/* When a login that ends then should show a new token; 0: nobody says so. */
uint64_t p2ps_credentials_reissue(const struct p2ps_credentials *credentials, uint64_t expires_s);
/* plainPassword; at any time. */
void p2ps_credentials_plain_set(struct p2ps_credentials *credentials,
                                enum p2ps_plain_policy policy);
void p2ps_credentials_stats(struct p2ps_credentials *credentials,
                            struct p2ps_credentials_stats *out);

#endif
