/* record.h - a record of the backbone, made once for each form that watches want it in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_RECORD_H
#define P2PS_RECORD_H

#include "private.h"

void p2ps_record_next(struct p2ps_core *core);
/* The record of an event; false when it cannot be read. */
bool p2ps_record_start(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       struct p2ps_record *record);
/* The record in that form, made at the first call for this record; NULL when it cannot be. */
const struct p2ps_made *p2ps_record_make(struct p2ps_core *core, uint32_t form,
                                         struct p2ps_record *record);

#endif
