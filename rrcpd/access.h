/* access.h - what programs of other uids may do on the backbone: attachAccess. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_ACCESS_H
#define RRCPD_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "quota.h"
#include "rrcp/rrcp.h"

/*
 * Rules stand between semicolons, their words between blanks:
 *
 *      uid=alice consume publish=RISK,FX topics=risk.*,fx ; gid=quants consume ; uid=tape record
 *
 *      uid=feed publish=RISK rate=50000 bytes=10000000
 *
 * `all` is what the daemons may: everything. `rate` and `bytes` are what all programs
 * that a rule fits together may send in a second, see quota.h: the most that a rule for the program
 * names counts for it; without one there is no limit. A program has what all rules for its uid and
 * its groups give together. The daemons are root, the uid of this rrcpd, and those that the
 * packages start src_dist and p2ps as.
 *
 * Messages that a program may not send are dropped. They are judged by a private copy, since they
 * stand in memory that the program may change.
 */
struct access;

enum { ACCESS_RULES_MAX = QUOTAS_MAX, ACCESS_NAMES_MAX = 64, ACCESS_GROUPS_MAX = 64 };

/* Rules that fit a program, as bits. */
typedef uint64_t access_rules;

/* MD_ERR_MALFORMED: `why` says which word. */
int access_create(const char *text, char *why, size_t why_size, struct access **out);
void access_destroy(struct access *access); /* NULL is allowed */

/* A user or a group that a rule names is not known here: the rule fits nobody. NULL: all are. */
const char *access_unknown(const struct access *access);

/* The rules for a uid and its groups. */
access_rules access_find(const struct access *access, uid_t uid, const gid_t *groups, int count);
/* True: the uid is that of a daemon, and may everything unless it asks for less. */
bool access_is_daemon(const struct access *access, uid_t uid);
/* The rules let it do everything. */
bool access_is_all(const struct access *access, access_rules rules);

/* The most that a program may send in a second, and which rules say so. */
struct quota_limits access_limits(const struct access *access, access_rules rules);

/* NULL: it may be sent. Else: what was tried, for the log. The bytes must be private. */
const char *access_refuses(const struct access *access, access_rules rules,
                           const struct rrcp_msg *msg);

#endif
