/* generic.h - generic messages from the source to the streams of clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_GENERIC_H
#define P2PS_GENERIC_H

#include "private.h"

void p2ps_generic_deliver(struct p2ps_core *core, const struct rrmp_sink_event *event);

#endif
