/* outside_log.h - what the log hears of the authority in another process. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_OUTSIDE_LOG_H
#define P2PS_OUTSIDE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "authority.h"
#include "distance.h"

/* Zeroed, but for the path. */
struct p2ps_outside_log {
    const char *path;
    struct p2ps_distance why, unusable;
    _Atomic uint64_t roles_next_ns;
};

void p2ps_outside_log_why(struct p2ps_outside_log *log, uint64_t now_ns, const char *why);
void p2ps_outside_log_state(const struct p2ps_outside_log *log, bool is_up, bool allows);
/* An answer that lets one user not in; NULL: there was none. */
void p2ps_outside_log_unusable(struct p2ps_outside_log *log, uint64_t now_ns, const char *why,
                               const char *user);
/* Roles of an answer that the access file does not have; once a minute. Any thread. */
void p2ps_outside_log_roles(struct p2ps_outside_log *log, uint64_t now_ns, entitle_rules_slot *slot,
                            const struct p2ps_authority_answer *answer);
/* It has been up for a while: the next reason is said at once. */
void p2ps_outside_log_steady(struct p2ps_outside_log *log);

#endif
