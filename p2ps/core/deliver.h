/* deliver.h - the tick's last step: from a record of the backbone to the streams of clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DELIVER_H
#define P2PS_DELIVER_H

#include "private.h"

void p2ps_deliver_events(struct p2ps_core *core);
/* The pending updates whose turn has come. */
void p2ps_deliver_paced(struct p2ps_core *core);

#endif
