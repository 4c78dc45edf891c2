/* filter.h - what a relay forwards: records of the services and messages of the topics named. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>

#include "forward/forward.h"

/*
 * By the topic number, for what goes to all; by the instance's own index of the service, as its
 * INSTANCE says it, for what goes to one. Of an INSTANCE only the rows of these services go on.
 */
struct filter;
struct instances;

int filter_create(const struct forward_config *config, struct filter **out);
void filter_destroy(struct filter *filter);
uint32_t filter_digest(const struct filter *filter); /* of the names, in any order */
bool filter_has_topics(const struct filter *filter); /* bare ones */
int filter_interest(const struct filter *filter, uint32_t *out, int max);

/* The instances heard on one side. */
int instances_create(struct instances **out);
void instances_destroy(struct instances *instances);
void instances_end(struct instances *instances, uint64_t session, uint16_t port); /* 0: all */

/* A message to all, or of the multicast stream to one. Its bytes may become others, which live
 * until the next call. False: it is not forwarded. */
bool filter_stream(struct filter *filter, struct instances *heard, struct backbone_event *event);

/* One by unicast from (event->session, src_port) to (target, dst_port). */
bool filter_unicast(const struct instances *heard, const struct instances *other,
                    const struct backbone_event *event, uint64_t target);

/* A message by unicast that nobody says again when its sender hears that it was dropped: the end of
 * a stream, or a part of a private one. */
bool filter_is_said_once(const uint8_t *bytes, size_t length);

#endif
