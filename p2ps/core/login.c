/* login.c - the login stream of a client: in, out, again, paused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "client.h"
#include "drop.h"
#include "item.h"
#include "login.h"
#include "private.h"
#include "status.h"
#include "tally.h"
#include "turn.h"
#include "watch.h"

#define HOLD_NS 1000000000ull /* a login beyond loginRate waits so long for its refusal */

static void copy_text(char out[P2PS_TEXT_MAX], struct rwf_bytes text)
{
    size_t length = text.length < P2PS_TEXT_MAX - 1 ? text.length : P2PS_TEXT_MAX - 1;

    if (length)
        memcpy(out, text.data, length);
    out[length] = 0;
}

static void send_login_refresh(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_login_refresh refresh = {
        .stream_id = c->login_stream,
        .is_solicited = true,
        .state = p2ps_state(RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_NONE, "Login accepted"),
        .user = rwf_text(c->user),
        .name_type = c->login_name_type,
        .application_id = rwf_text("256"),
        .application_name = rwf_text(core->config.application_name),
        .position = rwf_text(c->position),
        .single_open = true,
        .allow_suspect_data = c->allow_suspect,
        .permission_expressions = c->permission_expressions,
        .support_post = true,
        .support_batch = 1,
        .support_view = true,
        .support_pause = true,
        .support_standby = true,
        .standby_mode = OMM_STANDBY_BY_LOGIN | OMM_STANDBY_BY_SERVICE,
    };

    if (c->front->login_refresh(c->self, &refresh) != MD_OK) {
        p2ps_client_doom(core, client);
        return;
    }
    p2ps_client_touch(core, client);
}

static void send_login_end(struct p2ps_core *core, uint32_t client, uint8_t stream_state,
                           uint8_t code, const char *text)
{
    struct rwf_state state = p2ps_state(stream_state, RWF_DATA_SUSPECT, code, text);

    p2ps_status_send(core, client, p2ps_client_at(core, client)->login_stream, RWF_DOMAIN_LOGIN, 0,
                     &state);
}

static void end_login(struct p2ps_core *core, uint32_t client, uint8_t stream_state, uint8_t code,
                      const char *text)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->stats.login_rejected++;
    p2ps_tally_unmount(core, client);
    send_login_end(core, client, stream_state, code, text);
    p2ps_drop_streams(core, client);
    p2ps_client_login_set(core, c, P2PS_LOGIN_REFUSED);
    c->opened_ns = core->now_ns; /* two seconds to leave by itself */
}

static void refuse_login(struct p2ps_core *core, uint32_t client, uint8_t code, const char *text)
{
    end_login(core, client, RWF_STREAM_CLOSED, code, text);
}

static void choose_item_limit(const struct p2ps_core *core, struct p2ps_client *c)
{
    const struct p2ps_item_limits *limits = &core->config.item_limits;

    c->item_limit = limits->of_user ? limits->of_user(limits->self, c->user) : limits->user;
    if (c->file_items && (c->item_limit == 0 || c->file_items < c->item_limit))
        c->item_limit = c->file_items;
}

void p2ps_core_item_limits_set(struct p2ps_core *core, const struct p2ps_item_limits *limits)
{
    core->config.item_limits = *limits;
    for (uint32_t i = 0; i < core->client_room; i++) {
        if (core->clients[i].is_used && core->clients[i].login_state == P2PS_LOGIN_OPEN)
            choose_item_limit(core, &core->clients[i]);
    }
}

static void refuse_for_now(struct p2ps_core *core, uint32_t client, const char *text)
{
    end_login(core, client, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES, text);
}

void p2ps_login_throttled(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (core->now_ns - c->opened_ns < HOLD_NS)
        return;
    c->is_held = false;
    refuse_for_now(core, client, "too many logins from this address");
}

/* The first time that it is known who the client is. Only a name that was proved has a rate of its
 * own: guesses of its password are somebody else's. */
static bool let_in(struct p2ps_core *core, uint32_t client, const struct entitle_answer *answer)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (p2ps_tally_user(core, c, answer->is_proved) != MD_OK) {
        p2ps_client_doom(core, client);
        return false;
    }
    if (answer->is_proved &&
        !p2ps_bucket_try(&c->party->logins, &core->config.rates.logins, core->now_ns)) {
        core->stats.logins_throttled++;
        refuse_for_now(core, client, "too many logins of this user");
        return false;
    }
    if (!p2ps_tally_mount(core, client, answer->mounts_max)) {
        refuse_login(core, client, RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER,
                     "the user has as many connections as he may have");
        return false;
    }
    return true;
}

void p2ps_login_answer(struct p2ps_core *core, uint32_t client, const struct entitle_answer *answer)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    bool was_open = c->login_state == P2PS_LOGIN_OPEN;

    if (answer->verdict != ENTITLE_ALLOW) {
        refuse_login(core, client, RWF_CODE_NOT_ENTITLED, answer->text);
        return;
    }
    if (!was_open && !let_in(core, client, answer))
        return;
    p2ps_client_login_set(core, c, P2PS_LOGIN_OPEN);
    c->file_items = answer->items_max;
    choose_item_limit(core, c);
    if (!was_open)
        core->stats.login_accepted++;
    if (!c->login_no_refresh)
        send_login_refresh(core, client);
}

static void ask_authority(struct p2ps_core *core, uint32_t client,
                          const struct omm_login_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = { c->user, strlen(c->user) },
        .password = { (const char *)request->password.data, request->password.length },
        .token = { (const char *)request->token.data, request->token.length },
        .host = { c->address, strlen(c->address) },
    };
    struct entitle_answer answer;
    uint64_t ticket = (uint64_t)c->serial << 32 | client;

    if (core->config.authority.ask(core->config.authority.self, &query, ticket, &answer) ==
        ENTITLE_PENDING)
        return;
    p2ps_login_answer(core, client, &answer);
}

static bool is_native(const struct p2ps_core *core, const struct p2ps_client *c,
                      const struct omm_login_request *request)
{
    const struct p2ps_rules *rules = &core->config.rules;

    return rules->allows_native && (request->disable_data_conversion ||
                                    (rules->is_native && rules->is_native(rules->self, c->user)));
}

static void first_login(struct p2ps_core *core, uint32_t client,
                        const struct omm_login_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    c->login_stream = request->stream_id;
    if (p2ps_idmap_put(&c->streams, request->stream_id, P2PS_STREAM_LOGIN, 0) != MD_OK) {
        p2ps_client_doom(core, client);
        return;
    }
    copy_text(c->user, request->user);
    copy_text(c->position, request->position);
    copy_text(c->application, request->application_name);
    copy_text(c->application_id, request->application_id);
    c->login_name_type = request->name_type;
    c->login_no_refresh = request->no_refresh;
    c->single_open = request->single_open;
    c->allow_suspect = request->allow_suspect_data;
    c->permission_expressions = request->permission_expressions;
    c->wants_rtt = request->wants_rtt;
    c->wants_native = is_native(core, c, request);
    c->wants_marketfeed = request->marketfeed_data;
    c->pause_all = request->pause ? P2PS_PAUSE_ALL : P2PS_PAUSE_NONE;
    if (!p2ps_bucket_try(&c->host->logins, &core->config.rates.logins, core->now_ns)) {
        core->stats.logins_throttled++;
        p2ps_client_login_set(core, c, P2PS_LOGIN_ASKED);
        c->is_held = true;
        c->opened_ns = core->now_ns;
        return;
    }
    if (request->role != OMM_ROLE_CONSUMER) {
        refuse_login(core, client, RWF_CODE_USAGE_ERROR,
                     "this port is for consumers; providers connect to src_dist");
        return;
    }
    if (p2ps_core_is_full(core)) {
        core->stats.refused_no_memory++;
        end_login(core, client, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES,
                  "No memory for another login now");
        return;
    }
    p2ps_client_login_set(core, c, P2PS_LOGIN_ASKED);
    ask_authority(core, client, request);
}

/* Updates were held back while everything was paused: those streams get a fresh image, so many in a
 * turn. */
static void resume_stream(struct p2ps_core *core, uint32_t client, int32_t id, uint32_t item)
{
    uint32_t watch = p2ps_item_watch_find(core, item, client, id);
    const struct p2ps_watch *w = &core->items[item].watches[watch];

    if (!(w->flags & P2PS_WATCH_MISSED) || w->state == P2PS_WATCH_NEW ||
        w->state == P2PS_WATCH_ASKS)
        return;
    p2ps_work_spend(core, 1, 0);
    p2ps_watch_wants_image(core, item, watch);
}

void p2ps_login_resume(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t places = P2PS_ASK_PLACES;
    uint32_t item;

    while (places > 0 && core->work.asks > 0) {
        int32_t id = p2ps_idmap_walk(&c->streams, &c->walk, &places, &item);

        if (id == 0 && places > 0) {
            c->is_resuming = false;
            c->pause_all = P2PS_PAUSE_NONE;
            return;
        }
        if (id != 0 && item < P2PS_STREAM_DICTIONARY)
            resume_stream(core, client, id, item);
    }
}

static void resume_all(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    c->is_resuming = true;
    c->walk = (struct p2ps_idmap_walk){ 0 };
    p2ps_login_resume(core, client);
    if (c->is_resuming && core->work.resuming != client)
        p2ps_work_wait(core, client);
}

static void pause_all(struct p2ps_core *core, uint32_t client, bool is_paused)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (is_paused) {
        c->pause_all = P2PS_PAUSE_ALL;
        c->is_resuming = false;
    } else if (c->pause_all == P2PS_PAUSE_ALL) {
        c->pause_all = P2PS_PAUSE_MISSED;
        resume_all(core, client);
    }
}

static void again_login(struct p2ps_core *core, uint32_t client,
                        const struct omm_login_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    c->login_no_refresh = request->no_refresh;
    pause_all(core, client, request->pause);
    if (!request->no_refresh)
        ask_authority(core, client, request);
}

/* CLOSED_RECOVER: a consumer hangs up and takes the next host of its list. */
void p2ps_core_leave(struct p2ps_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    for (uint32_t i = 0; i < core->client_room; i++) {
        uint8_t state = core->clients[i].login_state;

        if (core->clients[i].is_used && (state == P2PS_LOGIN_OPEN || state == P2PS_LOGIN_ASKED))
            send_login_end(core, i, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE,
                           "p2ps is shutting down");
    }
}

void p2ps_client_login(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                       const struct omm_login_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->now_ns = now_ns;
    core->stats.requests_in++;
    p2ps_work_spend(core, 1, 0);
    p2ps_tally_ask(core, c);
    c->misuse.logins += c->login_state != P2PS_LOGIN_NONE;
    if (c->login_state == P2PS_LOGIN_NONE) {
        first_login(core, client, request);
    } else if (c->login_state == P2PS_LOGIN_REFUSED) {
        return;
    } else if (request->stream_id != c->login_stream) {
        struct rwf_state state = p2ps_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                                            RWF_CODE_USAGE_ERROR, "a login is open already");
        p2ps_status_send(core, client, request->stream_id, RWF_DOMAIN_LOGIN, 0, &state);
    } else if (c->login_state == P2PS_LOGIN_OPEN) {
        again_login(core, client, request);
    }
}
