/* image.h - the last image of each open item, kept so that the next consumer has it at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_IMAGE_H
#define P2PS_IMAGE_H

#include "private.h"

void p2ps_image_part(struct p2ps_core *core, const struct rrmp_sink_event *event,
                     const struct p2ps_record *record);
/* One with permission data of its own is not for everybody who may see the image: the next who
 * opens the item gets a fresh one from the source. */
void p2ps_image_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       const struct p2ps_record *record, bool has_own_lock);
void p2ps_image_in_step(struct p2ps_core *core, uint32_t item);

#endif
