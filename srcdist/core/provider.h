/* provider.h - provider connections: their slots, their services, their groups. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PROVIDER_H
#define SRCDIST_PROVIDER_H

#include "private.h"

struct srcdist_provider *srcdist_provider_at(struct srcdist_core *core, uint32_t provider);
struct srcdist_offer *srcdist_provider_offer(struct srcdist_provider *p, uint16_t service);
int srcdist_provider_send(struct srcdist_core *core, uint32_t provider,
                          const struct rwf_encoder *enc);

/* A state that comes later: a provider never goes back. */
void srcdist_provider_set_state(struct srcdist_core *core, uint32_t provider,
                                enum srcdist_provider_state state);

/* Ends it at the end of the turn. */
void srcdist_provider_drop(struct srcdist_core *core, uint32_t provider, const char *reason);

/* A status for a stream of a non-interactive provider. */
int srcdist_provider_end_stream(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                                uint8_t domain, const struct rwf_state *state);
/* Closes a stream that a non-interactive provider opened. */
int srcdist_provider_refuse_stream(struct srcdist_core *core, uint32_t provider,
                                   const struct rwf_msg *msg, uint8_t code, const char *text);

/* The numbers of its groups are free again. */
void srcdist_provider_give_groups(struct srcdist_core *core, struct srcdist_provider *p);
uint16_t srcdist_provider_group(struct srcdist_core *core, uint32_t provider,
                                struct rwf_bytes group);

#endif
