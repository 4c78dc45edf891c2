/* sink_tell.h - a state of many items at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_TELL_H
#define RRMP_SINK_TELL_H

#include "sink_impl.h"

/* Where a state of many items comes from. */
enum sink_said {
    SINK_SAID,  /* the source */
    SINK_STAYS, /* the source: suspect until the next image, whatever it says of a group */
    SINK_LOST,  /* this engine, which has lost records, or the source */
};

/* One STATE for all items of the link (group RRMP_GROUP_NONE) or of one group there; NULL: there
 * are none. */
struct rrmp_sink_event *sink_link_tell(struct rrmp_sink *sink, uint32_t link, uint16_t group,
                                       uint8_t state, uint8_t code, struct rrmp_view text,
                                       enum sink_said said);
/* It is suspect until its next image. One that is under way stands before that. */
void sink_stays_behind(struct rrmp_sink *sink, uint32_t item);

/* An image, or a replay, is under way from here on; what was said before stands before it. */
static inline void sink_image_begin(struct sink_work *work, uint32_t tag)
{
    work->tag = tag;
    work->part = 0;
    work->is_replay = false;
    work->stays_behind = false;
}

#endif
