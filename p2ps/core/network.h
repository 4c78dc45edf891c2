/* network.h - the networks of the backbone, and which of them carries which service. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_NETWORK_H
#define P2PS_NETWORK_H

#include "private.h"

int p2ps_networks_create(struct p2ps_core *core);
void p2ps_networks_destroy(struct p2ps_core *core);
struct rrmp_sink *p2ps_item_sink(const struct p2ps_core *core, uint32_t item);
bool p2ps_service_can_move(const struct p2ps_core *core, uint16_t service);
/* Takes the service from another network that offers it; false: none does. It has no items. */
bool p2ps_service_move(struct p2ps_core *core, uint16_t service);
/* Our number of a service that `network` has announced; RRMP_SERVICE_NONE when it is not to be
 * used there. */
uint16_t p2ps_service_bind(struct p2ps_core *core, unsigned network, uint16_t sink_service);
/* Its name alone, empty past the last. */
struct rrmp_view p2ps_service_name(const struct p2ps_core *core, uint16_t service);
/* As p2ps_service_read(), for requests: while those that wait are served, it is read once for all
 * that ask for the same service one behind the other. NULL past the last; good until the next
 * call. */
const struct rrmp_sink_service *p2ps_service_asked(struct p2ps_core *core, uint16_t service);
/* The next p2ps_service_asked() reads anew. */
void p2ps_service_asked_forget(struct p2ps_core *core);
/* The service with the id that consumers know it by; false past the last. */
bool p2ps_service_read(const struct p2ps_core *core, uint16_t service,
                       struct rrmp_sink_service *out);
/* Keeps what the service offers now, for the time when no instance offers it. */
void p2ps_service_remember(struct p2ps_core *core, uint16_t service);
/* More services are known than leave room for those to come. */
bool p2ps_services_are_many(const struct p2ps_core *core);
/* The number of a service that is forgotten is free. False: something of it is left. */
bool p2ps_service_release(struct p2ps_core *core, uint16_t service);
/* Those of networks that are not their own, and that nobody offers. */
void p2ps_services_unwanted_forget(struct p2ps_core *core);
/* The service with that id towards consumers, or RRMP_SERVICE_NONE. */
/* Its items are being closed; who asks for one has to ask again. */
bool p2ps_service_is_closing(const struct p2ps_core *core, uint16_t service_id);
uint16_t p2ps_service_find(const struct p2ps_core *core, uint16_t service_id);

#endif
