/* directory.h - services as consumers see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DIRECTORY_H
#define P2PS_DIRECTORY_H

#include "private.h"

void p2ps_directory_owed(struct p2ps_core *core, uint32_t client);
/* Does the client's directory stream show this service? */
bool p2ps_directory_is_seen(const struct p2ps_core *core, uint32_t client, uint16_t service);
void p2ps_directory_changed(struct p2ps_core *core, uint16_t service);
/* Clients forget the service; `items` of it were closed. */
void p2ps_directory_delete(struct p2ps_core *core, uint16_t service, uint32_t items,
                           bool makes_room);
/* Sends a transient status of all items of the service to all clients with a directory stream. */
void p2ps_directory_status(struct p2ps_core *core, uint16_t service, const struct rwf_state *state);
void p2ps_directory_group(struct p2ps_core *core, uint16_t service, uint16_t instance,
                          uint16_t group, const struct rwf_state *state);
/* Items of `group` are in group `into` from now on. */
void p2ps_directory_merge(struct p2ps_core *core, uint16_t service, uint16_t instance,
                          uint16_t group, uint16_t into);

#endif
