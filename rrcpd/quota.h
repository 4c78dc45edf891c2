/* quota.h - how much programs of one uid may send: rate= and bytes= of attachAccess. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_QUOTA_H
#define RRCPD_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * All attachments of a uid share one quota. Each limit is a bucket of a tenth of a second: a
 * program that was silent may send so much at once. Messages above the quota wait in the program's
 * own ring, so nothing is lost; when the ring is full, the program is told so by its own library.
 */
enum { QUOTAS_MAX = 64, QUOTA_RATE_MAX = 10000000 };

/* A second. 0: no limit. */
struct quota_limits {
    uint64_t messages;
    uint64_t bytes;
};

struct quota {
    uid_t uid;
    bool in_use;
    uint32_t users;
    struct quota_limits limits;
    uint64_t messages_ns, bytes_ns; /* up to when each limit is used up */
};

struct quotas {
    struct quota list[QUOTAS_MAX];
};

/* The quota of a uid for one more attachment. A uid that comes again finds its quota as it left it,
 * unless 64 others came meanwhile. NULL: 64 uids are attached. */
struct quota *quotas_enter(struct quotas *quotas, uid_t uid, struct quota_limits limits);
void quota_leave(struct quota *quota);

/* When the next message may be sent; not after `now_ns`: now. */
uint64_t quota_due_ns(const struct quota *quota);
/* A message of so many bytes is sent. */
void quota_charge(struct quota *quota, uint64_t bytes, uint64_t now_ns);

#endif
