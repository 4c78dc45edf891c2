/* sink_posts.h - posts and dictionaries: answers to them, and their time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_POSTS_H
#define RRMP_SINK_POSTS_H

#include "sink_impl.h"

void sink_ack_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record);
void sink_dictpart_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record);
void sink_posts_of_gone(struct rrmp_sink *sink, uint32_t instance);
void sink_posts_tick(struct rrmp_sink *sink);
uint64_t sink_dicts_deadline(const struct rrmp_sink *sink);

#endif
