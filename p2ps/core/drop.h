/* drop.h - the streams of clients that hang up or log out, let go in slices. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DROP_H
#define P2PS_DROP_H

#include "private.h"

/* All streams of the client: as many as this turn may at once. Nothing goes out for them any
 * more. */
void p2ps_drop_streams(struct p2ps_core *core, uint32_t client);
/* Goes on with those that wait. */
void p2ps_drop_more(struct p2ps_core *core);

#endif
