/* states.h - the state of a group, of an instance or of a service, told to all its items. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_STATES_H
#define P2PS_STATES_H

#include "private.h"

/*
 * A turn tells P2PS_TURN_STATES streams, the items that are left owe the state to theirs. Nothing
 * goes before it: p2ps_states_settle() comes before each event of an item and each new stream.
 */
void p2ps_states_start(struct p2ps_core *core, uint16_t service,
                       const struct rrmp_sink_event *event, const struct rwf_state *state,
                       uint32_t heard_filter);
void p2ps_states_settle(struct p2ps_core *core, uint32_t item);
/* With what the events of this turn have left. */
void p2ps_states_turn(struct p2ps_core *core);

#endif
