/* service.h - services as the backbone sees them: joined from what providers offer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SERVICE_H
#define SRCDIST_SERVICE_H

#include "private.h"

uint32_t srcdist_service_find(const struct srcdist_core *core, uint16_t svc);
uint32_t srcdist_service_known(const struct srcdist_core *core, struct rwf_bytes name);
/* A new one. SRCDIST_NONE: it is not to be offered, or *is_full. */
uint32_t srcdist_service_take(struct srcdist_core *core, struct rwf_bytes name, bool is_broadcast,
                              bool *is_full);
/* Nothing refers to it any more. */
void srcdist_service_give(struct srcdist_core *core, uint32_t service);

/* A provider that offers it, up or not, or SRCDIST_NONE. */
uint32_t srcdist_service_offerer(const struct srcdist_core *core, uint32_t service);

/* The best provider that has the service up, or SRCDIST_NONE. */
uint32_t srcdist_service_provider(const struct srcdist_core *core, uint32_t service);

/* The best interactive provider that has it up: requests go to this one. */
uint32_t srcdist_service_asked(const struct srcdist_core *core, uint32_t service);
/* The same, among those whose OpenLimit allows one more item. */
uint32_t srcdist_service_asked_with_room(const struct srcdist_core *core, uint32_t service);

/* INFO of a provider: capabilities and the rest. While the provider that described the service
 * offers it, another one's description is refused, unless that one is of a better rank, or can be
 * used when the former cannot. */
/* True: that is its description. */
bool srcdist_service_is_described(const struct srcdist_core *core, uint32_t service,
                                  const struct omm_service *info);
void srcdist_service_describe(struct srcdist_core *core, uint32_t service, uint32_t provider,
                              const struct omm_service *info);
/* A provider no longer offers the service, or can be used for it where it could not, or the other
 * way round: the description of the one that now goes before the others takes the place. */
void srcdist_service_describe_anew(struct srcdist_core *core, uint32_t service);

/* Keeps LOAD and LINK as the provider sends them, for consumers. */
void srcdist_service_say(struct srcdist_core *core, uint32_t service, uint32_t provider,
                         const struct omm_service *said);

/* Forgets LOAD and LINK of that provider. */
void srcdist_service_unsay(struct srcdist_core *core, uint32_t service, uint32_t provider);
void srcdist_services_destroy(struct srcdist_core *core);

/* True while a provider that has just come may still be publishing its items. */
bool srcdist_service_in_grace(const struct srcdist_core *core, uint32_t service);
/* True: the broadcast service is up, and an item that is not published by now does not exist. */
bool srcdist_service_is_complete(const struct srcdist_core *core, uint32_t service);

/* The description, with its state, to the backbone. */
void srcdist_service_announce(struct srcdist_core *core, uint32_t service);
/* `stays`: until the next image of an item, whatever is said of its group. */
void srcdist_service_status(struct srcdist_core *core, uint32_t service,
                            const struct rwf_state *state, bool stays);

#endif
