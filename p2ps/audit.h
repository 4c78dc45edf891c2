/* audit.h - the audit trail of p2ps: accessAudit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUDIT_H
#define P2PS_AUDIT_H

#include "conf/conf.h"
#include "entitle/record.h"

struct p2ps;
struct p2ps_audit;

/* Says that p2ps has started, and by which access file. Anything but MD_OK is logged. */
int p2ps_audit_open(struct p2ps *p2ps);
/* Says that it ends; no worker runs. */
void p2ps_audit_close(struct p2ps *p2ps);
/* For the core of a worker. Refusals are kept in memory, whether there is a file or not. */
struct entitle_recorder p2ps_audit_recorder(struct p2ps_audit *audit, unsigned worker);
/* That of the core: the file may have less of it. */
enum entitle_level p2ps_audit_level(const struct md_conf_object *object);
/* Once a second: the counters. */
void p2ps_audit_beat(struct p2ps_audit *audit);
/* A configuration was taken; `was` is the sum of the access file before it. Opens the file anew. */
void p2ps_audit_reload(struct p2ps *p2ps, const char *was);

/* An operator has ordered something. On the control loop. */
void p2ps_audit_order(void *p2ps, const char *who, const char *order, const char *outcome);
/* The last refusals, the youngest first. On the control loop. */
struct status_refusal;
unsigned p2ps_audit_refusals(void *p2ps, struct status_refusal *out, unsigned max);

#endif
