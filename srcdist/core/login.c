/* login.c - our login at interactive providers; the login of non-interactive ones at us. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "login.h"

#include <stdio.h>

#include "access.h"
#include "ask.h"
#include "base/err.h"
#include "directory.h"
#include "post.h"
#include "provider.h"
#include "tell.h"
#include "uplink.h"

#define END_NS 3000000000ull /* to read why its login ends, and to leave */

void srcdist_login_ask(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    const struct srcdist_uplink uplink = srcdist_uplink_of(core, provider);
    struct rwf_encoder enc;
    struct omm_login_request request = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text(core->config.user),
        .name_type = RWF_NAME_LOGIN_USER,
        .application_id = rwf_text("256"),
        .application_name = rwf_text(core->config.application_name),
        .position = rwf_text(core->config.position),
        .role = OMM_ROLE_CONSUMER,
        /* Recovery is ours; but a p2ps does it for its consumers, and needs no new requests. */
        .single_open = uplink.is_consumer,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
        .password = rwf_text(uplink.password),
        .wants_rtt = uplink.is_consumer,
    };

    p->is_uplink = uplink.is_consumer;
    if (uplink.user[0])
        request.user = rwf_text(uplink.user);
    if (uplink.token[0]) {
        request.user = request.token = rwf_text(uplink.token);
        request.name_type = RWF_NAME_LOGIN_AUTHN_TOKEN;
    }
    if (core->config.instance_id)
        request.instance_id = rwf_text(core->config.instance_id);
    p->login_stream = OMM_LOGIN_STREAM;
    srcdist_encoder(core, &enc);
    omm_login_request_encode(&enc, &request);
    srcdist_provider_send(core, provider, &enc);
}

/* ---- the answer of an interactive provider ---- */

/* The provider's words are for who set the route up; the connection ends behind them. */
static void refused(struct srcdist_core *core, uint32_t provider, const struct rwf_state *state,
                    const char *what)
{
    struct srcdist_party party = srcdist_party(srcdist_provider_at(core, provider));
    size_t most = state->text.length < 256 ? state->text.length : 256;

    if (most > 0)
        srcdist_tell_rarely(core, SRCDIST_TALE_LOGIN, "provider %s %s our login: %.*s", party.text,
                            what, (int)most, (const char *)state->text.data);
}

static void logged_in(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct omm_login_refresh refresh;

    if (omm_login_refresh_decode(msg, &refresh) == RWF_OK) {
        p->supports_post = refresh.support_post;
        if (p->is_uplink)
            srcdist_uplink_granted(core, p, &refresh);
    }
    if (p->state != SRCDIST_PROVIDER_LOGIN)
        return;
    srcdist_provider_set_state(core, provider, SRCDIST_PROVIDER_DIRECTORY);
    srcdist_directory_ask(core, provider);
}

static int interactive_login(struct srcdist_core *core, uint32_t provider,
                             const struct rwf_msg *msg)
{
    bool is_open = msg->state.stream_state == RWF_STREAM_OPEN;

    switch (msg->msg_class) {
    case RWF_CLASS_REFRESH:
        if (is_open && msg->state.data_state == RWF_DATA_OK) {
            logged_in(core, provider, msg);
        } else if (!is_open) {
            refused(core, provider, &msg->state, "refused");
            srcdist_provider_drop(core, provider, "the provider refused our login");
        }
        break;
    case RWF_CLASS_STATUS:
        if (msg->flags & RWF_STATUS_HAS_STATE && !is_open) {
            refused(core, provider, &msg->state, "closed");
            srcdist_provider_drop(core, provider, "the provider closed our login");
        }
        break;
    case RWF_CLASS_CLOSE:
        srcdist_provider_drop(core, provider, "the provider closed our login");
        break;
    case RWF_CLASS_GENERIC:
        srcdist_uplink_round_trip(core, provider, msg);
        break;
    default:
        break;
    }
    return MD_OK;
}

/* ---- a non-interactive provider ---- */

static void refuse(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                   uint8_t stream_state, uint8_t code, const char *text)
{
    const struct rwf_state state = omm_state(stream_state, RWF_DATA_SUSPECT, code, text);

    srcdist_provider_end_stream(core, provider, stream_id, RWF_DOMAIN_LOGIN, &state);
}

/* Logs out of interactive providers; sends CLOSED_RECOVER to the others. */
void srcdist_login_leave(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_encoder enc;

    if (p->kind != SRCDIST_INTERACTIVE) {
        refuse(core, provider, p->login_stream, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE,
               "src_dist is shutting down");
        return;
    }
    srcdist_encoder(core, &enc);
    omm_close_encode(&enc, p->login_stream, RWF_DOMAIN_LOGIN);
    srcdist_provider_send(core, provider, &enc);
}

static void accept_login(struct srcdist_core *core, uint32_t provider,
                         const struct omm_login_request *request)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_encoder enc;
    struct omm_login_refresh refresh = {
        .stream_id = request->stream_id,
        .is_solicited = true,
        .state = omm_state(RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_NONE, "Login accepted"),
        .user = request->user,
        .name_type = request->name_type,
        .application_id = rwf_text("256"),
        .application_name = rwf_text(core->config.application_name),
        .position = request->position,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };

    p->login_stream = request->stream_id;
    if (p->state == SRCDIST_PROVIDER_LOGIN) {
        srcdist_tell(core, SRCDIST_TELLS_NEWS, "provider %s is logged in", srcdist_party(p).text);
        srcdist_provider_set_state(core, provider, SRCDIST_PROVIDER_DIRECTORY);
        p->grace_until_ns = core->now_ns + core->config.grace_ns;
    }
    if (request->no_refresh)
        return;
    srcdist_encoder(core, &enc);
    omm_login_refresh_encode(&enc, &refresh);
    srcdist_provider_send(core, provider, &enc);
}

/* It is heard no more, and cut in a while: who tries passwords has few connections to try on. One
 * session too many of a user may be let in later: an old one of it may be half-open. */
static void refuse_login(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                         const struct srcdist_refusal *why)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    refuse(core, provider, stream_id,
           why->is_for_now ? RWF_STREAM_CLOSED_RECOVER : RWF_STREAM_CLOSED, why->code, why->text);
    p->refused_ns = core->now_ns;
    core->stats.logins_refused++;
    srcdist_tell_rarely(core, SRCDIST_TALE_LOGIN, "provider %s: its login is refused: %s",
                        srcdist_party(p).text, why->text);
}

static void refuse_use(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                       const char *text)
{
    struct srcdist_refusal why = { .code = RWF_CODE_USAGE_ERROR };

    snprintf(why.text, sizeof(why.text), "%s", text);
    refuse_login(core, provider, stream_id, &why);
}

void srcdist_login_end(struct srcdist_core *core, uint32_t provider,
                       const struct srcdist_refusal *why)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    refuse(core, provider, p->login_stream, RWF_STREAM_CLOSED, why->code, why->text);
    core->stats.logins_ended++;
    srcdist_tell(core, SRCDIST_TELLS_REFUSAL, "provider %s: its login ends: %s",
                 srcdist_party(p).text, why->text);
    srcdist_provider_drop(core, provider, "its login has ended");
    p->go_ns = core->now_ns + END_NS;
    srcdist_posts_lost(core, provider);
    srcdist_asks_lost(core, provider);
    srcdist_directory_lost(core, provider);
}

static int publisher_login(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg)
{
    struct omm_login_request request;

    if (msg->msg_class == RWF_CLASS_CLOSE) {
        srcdist_provider_drop(core, provider, "the provider logged out");
        return MD_OK;
    }
    if (msg->msg_class != RWF_CLASS_REQUEST)
        return MD_OK;
    if (omm_login_request_decode(msg, &request) != RWF_OK) {
        refuse_use(core, provider, msg->stream_id, "The login request cannot be read");
        return MD_OK;
    }
    if (request.role != OMM_ROLE_PROVIDER) {
        refuse_use(core, provider, msg->stream_id,
                   "this port is for providers; consumers connect to p2ps");
        return MD_OK;
    }
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    bool is_new = p->state == SRCDIST_PROVIDER_LOGIN;
    if (!is_new && !rwf_bytes_equal(request.user, rwf_text(p->user))) {
        srcdist_provider_drop(core, provider, "it is logged in, and comes with another user name");
        return MD_OK;
    }
    if (is_new && rrmp_source_is_full(core->source)) {
        refuse(core, provider, msg->stream_id, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES,
               "No room for the items of another provider now");
        return MD_OK;
    }
    struct srcdist_refusal why;
    if (srcdist_access_login(core, p, &request, &why))
        accept_login(core, provider, &request);
    else if (is_new)
        refuse_login(core, provider, msg->stream_id, &why);
    else
        srcdist_login_end(core, provider, &why);
    return MD_OK;
}

int srcdist_login_message(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg)
{
    if (srcdist_provider_at(core, provider)->kind == SRCDIST_INTERACTIVE)
        return interactive_login(core, provider, msg);
    return publisher_login(core, provider, msg);
}
