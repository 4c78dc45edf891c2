/* pause.h - all streams of a client, paused and taken up again by its login. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PAUSE_H
#define P2PS_PAUSE_H

#include "private.h"

void p2ps_pause_all(struct p2ps_core *core, uint32_t client, bool is_paused);
/* Takes some more streams up again: while `is_resuming`. */
void p2ps_pause_resume(struct p2ps_core *core, uint32_t client);

#endif
