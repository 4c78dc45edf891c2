/* relay.h - rrcpd as a relay (relayTo): what of its control loop is different then. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_RELAY_H
#define RRCPD_RELAY_H

#include "attach/settings.h"
#include "conf/conf.h"
#include "net.h"

struct relay;

/* The network of relayTo; "" where this is no relay. */
const char *relay_to(const struct md_conf *conf);

/* Reads the names and the settings of the other network; `own`: of its own. MD_ERR_RANGE,
 * MD_ERR_NOMEM and those of attach_settings_read(); `why`: a sentence for the operator. */
int relay_read(const struct md_conf *conf, const struct attach_settings *own, char *why,
               size_t why_size, struct relay **out);
const struct attach_settings *relay_settings(const struct relay *relay); /* of the other network */

/* The most bytes that may wait between the two networks. */
uint64_t relay_queue_bytes(const struct attach_settings *own, const struct attach_settings *other);

/* Opens both networks; `first` is the configuration of this one. */
int relay_start(struct relay *relay, const struct net_config *first, char *why, size_t why_size);

/* 0: its own network, 1: the other one. */
struct net *relay_net(const struct relay *relay, int side);

void relay_destroy(struct relay *relay); /* ends both; NULL is allowed */

#endif
