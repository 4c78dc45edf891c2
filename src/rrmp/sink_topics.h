/* sink_topics.h - the services whose records are to come, where nodes leave out what nobody wants.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_TOPICS_H
#define RRMP_SINK_TOPICS_H

#include "sink_impl.h"

/* Attached; `filters`: with BACKBONE_FLAG_FILTERS. */
void sink_topics_begin(struct rrmp_sink *sink, bool filters);
/* The service has items, or is followed. What is sent from now on waits until that is said. */
void sink_topic_want(struct rrmp_sink *sink, uint16_t service);
/* The link is one of a service from now on. */
void sink_topic_joins(struct rrmp_sink *sink, struct sink_link *link);
/* Records of the link were passed over. False: they are no loss, none of them had to come. */
bool sink_topic_lost(struct rrmp_sink *sink, struct sink_link *link);
/* The backbone has told a loss: records of the instance may have been among what was lost. */
void sink_topics_unsure(struct rrmp_sink *sink, uint32_t instance);
/* An INSTANCE says which records there were. False: it does not say which had to come. */
bool sink_topic_is_settled(const struct rrmp_sink *sink, struct sink_link *link);
/* Services whose last item has gone are wanted no more. */
void sink_topics_tick(struct rrmp_sink *sink);
uint64_t sink_topics_deadline(const struct rrmp_sink *sink);
/* The service's number is another one's from now on. */
void sink_topic_forget(struct rrmp_sink *sink, uint16_t service);

#endif
