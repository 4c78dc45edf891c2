/* status.h - telling streams their state. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_STATUS_H
#define P2PS_STATUS_H

#include "private.h"

/* For one message of ours: until the next one. */
static inline void p2ps_encoder(struct p2ps_core *core, struct rwf_encoder *enc)
{
    rwf_encoder_init(enc, core->told, sizeof(core->told));
}

/* Queues an administrative message. MD_ERR_FULL: nothing was queued. */
int p2ps_tell(const struct p2ps_client *c, const struct rwf_encoder *enc);
int p2ps_tell_status(struct p2ps_core *core, const struct p2ps_client *c,
                     const struct omm_status *status);

/* A status for a stream that is no item (any more). Lost only when the client has no room. */
void p2ps_status_send(struct p2ps_core *core, uint32_t client, int32_t stream_id, uint8_t domain,
                      uint16_t flags, const struct rwf_state *state);
/* Does this state end a stream? */
bool p2ps_state_ends(const struct rwf_state *state);

/* That the authority outside is away, or back, if that is news to the client. */
bool p2ps_status_tell_down(struct p2ps_core *core, uint32_t client);

#endif
