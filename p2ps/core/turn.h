/* turn.h - the clients at the end of a turn: flushed, timed, let go. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TURN_H
#define P2PS_TURN_H

#include "private.h"

/* Ends the connection from our side: all its streams are dropped, the front closes it. */
void p2ps_client_cut(struct p2ps_core *core, uint32_t client, const char *reason);
/* The end of a batch: clients for which a mandatory message did not fit are disconnected,
 * watches that have ended are taken out. */
void p2ps_turn_sweep(struct p2ps_core *core);
void p2ps_clients_tick(struct p2ps_core *core);

#endif
