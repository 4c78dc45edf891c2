/* reload.h - what a reload changes in p2ps: read and checked first, then put in force at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_RELOAD_H
#define P2PS_RELOAD_H

#include "p2ps.h"

/* The reload hook; `owner` is the p2ps. */
void p2ps_reload(void *owner, struct daemon_reload *reload);

/* At the start: the rules of accessFile. Anything but MD_OK is logged. */
int p2ps_load_rules(struct p2ps *p2ps);
/* accessWatch: once a second; reloads if one of their files has changed. */
void p2ps_watch_rules(struct p2ps *p2ps);
/* At the start. */
int p2ps_load_tokens(struct p2ps *p2ps);

/* At the start: sends every worker the parameters that a reload may change. MD_ERR_NOMEM. */
int p2ps_tune_workers(struct p2ps *p2ps);

#endif
