/* rwf_forms.h - the forms of fronts that speak RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_RWF_FORMS_H
#define P2PS_RWF_FORMS_H

#include "front.h"

/* p2ps_front.make of every front whose clients read RWF messages. */
int p2ps_rwf_make(const struct p2ps_form *form, const struct p2ps_record *record, uint8_t *out,
                  size_t size, struct p2ps_made *made);

/* Copies `made` to `room` (made->length bytes) and patches what differs between streams. */
void p2ps_rwf_write(uint8_t *room, const struct p2ps_made *made, int32_t stream_id, bool solicited,
                    bool snapshot);

#endif
