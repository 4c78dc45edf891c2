/* backoff.h - how long wrong passwords hold an address, and a user from there, back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_BACKOFF_H
#define P2PS_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "entitle/entitle.h"

#define P2PS_FAILURES 4096u /* a newer one takes the place of an older one */

struct p2ps_failures {
    uint64_t key;
    uint32_t count;
    uint64_t last_ns, until_ns;
};

/* Zero, but for the secret. */
struct p2ps_backoff {
    uint64_t secret[2];
    struct p2ps_failures addresses[P2PS_FAILURES], users[P2PS_FAILURES];
};

bool p2ps_backoff_holds(const struct p2ps_backoff *backoff, uint64_t now_ns,
                        struct entitle_view host, struct entitle_view user);
/* A password was wrong, or right. */
void p2ps_backoff_count(struct p2ps_backoff *backoff, uint64_t now_ns, struct entitle_view host,
                        struct entitle_view user);
void p2ps_backoff_forgive(struct p2ps_backoff *backoff, struct entitle_view host,
                          struct entitle_view user);

#endif
