/* network.h - the networks of the backbone, and which of them carries which service. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_NETWORK_H
#define P2PS_NETWORK_H

#include "private.h"

int p2ps_networks_create(struct p2ps_core *core);
void p2ps_networks_destroy(struct p2ps_core *core);
struct rrmp_sink *p2ps_item_sink(const struct p2ps_core *core, uint32_t item);
/* Takes the service from another network that offers it; false: none does. Its items are closed. */
bool p2ps_service_move(struct p2ps_core *core, uint16_t service);
/* Our number of a service that `network` has announced; RRMP_SERVICE_NONE when it is not to be
 * used there. */
uint16_t p2ps_service_bind(struct p2ps_core *core, unsigned network, uint16_t sink_service);
/* The service with the id that consumers know it by; false past the last. */
bool p2ps_service_read(const struct p2ps_core *core, uint16_t service,
                       struct rrmp_sink_service *out);
/* Keeps what the service offers now, for the time when no instance offers it. */
void p2ps_service_remember(struct p2ps_core *core, uint16_t service);
/* The service with that id towards consumers, or RRMP_SERVICE_NONE. */
uint16_t p2ps_service_find(const struct p2ps_core *core, uint16_t service_id);

#endif
