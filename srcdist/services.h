/* services.h - what the configuration says of a service that a provider offers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SERVICES_H
#define SRCDIST_SERVICES_H

#include "src_dist.h"

/* Called on the route loop when a provider first names a service; `owner` is the struct network. */
struct srcdist_service_config src_dist_service_config(void *owner, struct rwf_bytes name);

/* From live_conf, under the lock of src_dist. */
void src_dist_choose_flush_interval(struct network *network);

/* For the core: a service is known now, or is forgotten. */
void src_dist_service_news(void *owner, const char *name, bool is_known);

#endif
