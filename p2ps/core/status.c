/* status.c - telling streams their state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"
#include "base/err.h"
#include "client.h"
#include "private.h"
#include "reason.h"

int p2ps_tell(const struct p2ps_client *c, const struct rwf_encoder *enc)
{
    return rwf_encoder_error(enc) == RWF_OK ? c->front->message(c->self, rwf_encoder_bytes(enc))
                                            : MD_ERR_FULL;
}

int p2ps_tell_status(struct p2ps_core *core, const struct p2ps_client *c,
                     const struct omm_status *status)
{
    struct rwf_encoder enc;

    if (c->door) /* it is being dropped, and hears nothing any more */
        return MD_OK;
    p2ps_encoder(core, &enc);
    omm_status_encode(&enc, status);
    return p2ps_tell(c, &enc);
}

void p2ps_status_send(struct p2ps_core *core, uint32_t client, int32_t stream_id, uint8_t domain,
                      uint16_t flags, const struct rwf_state *state)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_status status = {
        .stream_id = stream_id,
        .domain = domain,
        .flags = flags,
        .state = *state,
    };

    if (p2ps_tell_status(core, c, &status) != MD_OK) {
        p2ps_client_doom(core, client); /* nothing sends it later */
        return;
    }
    core->stats.status_out++;
    p2ps_reason_count(core, client, state, false);
    p2ps_client_touch(core, client);
}

bool p2ps_state_ends(const struct rwf_state *state)
{
    return state->stream_state == RWF_STREAM_CLOSED ||
           state->stream_state == RWF_STREAM_CLOSED_RECOVER ||
           state->stream_state == RWF_STREAM_REDIRECTED;
}

bool p2ps_status_tell_down(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    bool is_down = core->is_outside_down;

    if (!p2ps_client_is_here(c) || c->closing || c->login_state != P2PS_LOGIN_OPEN ||
        !c->is_outside || c->is_told_down == is_down)
        return false;
    c->is_told_down = is_down;
    struct rwf_state state = is_down
                                 ? omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_DACS_DOWN,
                                             "the permission system is down; what is open goes on")
                                 : omm_state(RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_NONE,
                                             "the permission system is back");
    p2ps_status_send(core, client, c->login_stream, RWF_DOMAIN_LOGIN, 0, &state);
    return true;
}
