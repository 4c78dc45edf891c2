/* sink_follow.h - the items that others have open, and the followers of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_FOLLOW_H
#define RRMP_SINK_FOLLOW_H

#include "sink_impl.h"

/* A list from its beginning, if the service is followed. */
void sink_list_begin(struct rrmp_sink *sink, uint32_t link);
void sink_listpart_in(struct rrmp_sink *sink, uint32_t link, const struct rrmp_listpart *part);
void sink_follow_see(struct rrmp_sink *sink, uint32_t link, const struct rrmp_record *record);
void sink_lists_tick(struct rrmp_sink *sink);
/* It is asked for at this link if that can be, else where it would be at any rate. */
void sink_follower_place(struct rrmp_sink *sink, uint32_t item, uint32_t link);
/* The service's link at this instance; MD_NIL: none. */
uint32_t sink_follow_link(const struct rrmp_sink *sink, uint16_t service, uint32_t instance);
/* True: what refuses its request is older than what it has. */
bool sink_follower_is_bound(const struct sink_item *item);
/* Where it is, nobody has the item open (any more): it goes elsewhere, or ends. */
void sink_follower_refused(struct rrmp_sink *sink, uint32_t item, const struct rrmp_refuse *refuse);
/* Its source ends it there. Where it may be open elsewhere, BOUND follows. */
void sink_follower_end(struct rrmp_sink *sink, uint32_t item, uint8_t state, uint8_t code,
                       uint8_t type, struct rrmp_view message);

#endif
