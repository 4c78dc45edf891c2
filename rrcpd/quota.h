/* quota.h - how much programs may send: rate= and bytes= of attachAccess. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_QUOTA_H
#define RRCPD_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A limit belongs to the rule that names it: all programs that take it from there share it, those
 * of one uid, or of all uids in a group. So nobody gets more by uids of his own, as a user has them
 * who may use subordinate ones. What was used up stays so when its users leave.
 *
 * Each limit is a bucket of a tenth of a second: a program that was silent may send so much at
 * once. Messages above the quota wait in the program's own ring, so nothing is lost; when the ring
 * is full, the program is told so by its own library.
 */
enum { QUOTAS_MAX = 64, QUOTA_RATE_MAX = 10000000 };

struct quota_limit {
    uint64_t amount; /* a second; 0: no limit */
    int rule;
};

struct quota_limits {
    struct quota_limit messages, bytes;
};

struct quota {
    uint64_t limit;
    uint64_t used_ns; /* up to when it is used up */
};

/* By rule. */
struct quotas {
    struct quota messages[QUOTAS_MAX], bytes[QUOTAS_MAX];
};

/* NULL: no limit, which the functions below allow. */
struct quota *quota_of(struct quota quotas[QUOTAS_MAX], struct quota_limit limit);

/* When the next message may be sent; not after `now_ns`: now. */
uint64_t quota_due_ns(const struct quota *quota);
/* So much is sent. */
void quota_charge(struct quota *quota, uint64_t amount, uint64_t now_ns);

#endif
