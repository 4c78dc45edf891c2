/* access.h - the rules of accessFile, or of accessShadowFile, read again while workers ask. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_ACCESS_H
#define P2PS_ACCESS_H

#include "audit/audit.h"
#include "entitle/entitle.h"

struct p2ps_access;

/* Of a file that `param` names. MD_ERR_NOMEM. */
int p2ps_access_create(const char *param, struct p2ps_access **out);
void p2ps_access_destroy(struct p2ps_access *access); /* NULL is allowed */
/* The rules of the file at `path`, "" leaves what there is. Anything but MD_OK is logged, and the
 * old rules stay in force: half a file is never taken, its `deny` lines may be in the other half.
 */
int p2ps_access_load(struct p2ps_access *access, const char *path);
/* A file as it was read; rules NULL: the path was "". */
struct p2ps_access_file {
    struct entitle_rules *rules;
    char sum[AUDIT_SUM_SIZE]; /* SHA-256 of its bytes, with those of included files behind them */
};
/* The two halves of a load, for a reload. Reads the file into *fresh, and changes nothing.
 * Anything but MD_OK: `why` has the first mistake, the log all others. */
int p2ps_access_read(struct p2ps_access *access, const char *path, char *why, size_t size,
                     struct p2ps_access_file *fresh);
/* A file of the last reading, which may have been refused, is another one now, and was already two
 * seconds ago. Looks every two seconds. */
bool p2ps_access_look(struct p2ps_access *access, uint64_t now_ns);
/* Puts its rules in force, and owns them from now on. */
void p2ps_access_take(struct p2ps_access *access, const struct p2ps_access_file *fresh);
/* Of the file whose rules are in force; "": there are none. */
const char *p2ps_access_sum(const struct p2ps_access *access);
/* No thread can be reading rules any more that a load has replaced: they go. Without it a few
 * loads are possible, then MD_ERR_FULL. */
void p2ps_access_forget(struct p2ps_access *access);
/* For any thread. */
entitle_rules_slot *p2ps_access_rules(struct p2ps_access *access);

#endif
