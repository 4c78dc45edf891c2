/* outside_log.h - what the log hears of the authority in another process. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_OUTSIDE_LOG_H
#define P2PS_OUTSIDE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "authority.h"
#include "distance.h"

/* Zeroed, but for the path. */
struct p2ps_outside_log {
    const char *path;
    struct p2ps_distance why, unusable, given;
};

void p2ps_outside_log_why(struct p2ps_outside_log *log, uint64_t now_ns, const char *why);
void p2ps_outside_log_state(const struct p2ps_outside_log *log, bool is_up, bool allows);
/* An answer that lets one user not in; NULL: there was none. */
void p2ps_outside_log_unusable(struct p2ps_outside_log *log, uint64_t now_ns, const char *why,
                               const char *user);
/* A role or a grant of an answer that the access file does not have. One thread at a time. */
void p2ps_outside_log_given(struct p2ps_outside_log *log, uint64_t now_ns, const char *kind,
                            struct entitle_view which, const char *user);
/* It has been up for a while: the next reason is said at once. */
void p2ps_outside_log_steady(struct p2ps_outside_log *log);

#endif
