/* tally.h - how much each user has open, on all workers together. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TALLY_H
#define P2PS_TALLY_H

#include "private.h"

void p2ps_tally_defaults(struct p2ps_core *core);
/* The user is known now. MD_ERR_NOMEM. */
int p2ps_tally_enter(struct p2ps_core *core, uint32_t client);
void p2ps_tally_leave(struct p2ps_core *core, uint32_t client);
void p2ps_tally_unmount(struct p2ps_core *core, uint32_t client);
/* One connection more of the user; false when he has `max` already (0: no limit). */
bool p2ps_tally_mount(struct p2ps_core *core, uint32_t client, uint32_t max);
void p2ps_tally_items(struct p2ps_client *c, int64_t change);

#endif
