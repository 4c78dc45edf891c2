/* login.c - the login stream of a client: in, out, again, paused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "client.h"
#include "drop.h"
#include "dry.h"
#include "item.h"
#include "login.h"
#include "name.h"
#include "pause.h"
#include "private.h"
#include "proof.h"
#include "session.h"
#include "status.h"
#include "tally.h"
#include "trail.h"
#include "turn.h"
#include "watch.h"

#define HOLD_NS 1000000000ull /* a login beyond loginRate waits so long for its refusal */

/* The question numbers of a login's tickets: in this bit whether it was open already. */
#define QUESTIONS 0x3fffu
#define IS_CHECK  0x4000u

static void copy_text(char *out, size_t size, struct rwf_bytes text)
{
    size_t length = text.length < size - 1 ? text.length : size - 1;

    if (length)
        memcpy(out, text.data, length);
    out[length] = 0;
}

/* `error` and `text` are about a token that came; 0: all is well. */
static void send_login_refresh(struct p2ps_core *core, uint32_t client, uint8_t error,
                               const char *text)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_login_refresh refresh = {
        .stream_id = c->login_stream,
        .is_solicited = true,
        .state = omm_state(RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_NONE, "Login accepted"),
        .user = rwf_text(c->user),
        .name_type = c->login_name_type,
        .application_id = rwf_text("256"),
        .application_name = rwf_text(core->config.application_name),
        .position = rwf_text(c->position),
        .single_open = true,
        .allow_suspect_data = c->allow_suspect,
        .permission_expressions = c->permission_expressions,
        .support_post = c->may_post,
        .support_batch = 1,
        .support_view = true,
        .support_pause = true,
        .support_standby = true,
        .standby_mode = OMM_STANDBY_BY_LOGIN | OMM_STANDBY_BY_SERVICE,
        .has_authentication = error || c->has_token,
        .reissue_s = c->reissue_s,
        .authentication_error = error,
        .authentication_text = rwf_text(error ? text : "Success"),
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
    struct rwf_state state = omm_state(stream_state, RWF_DATA_SUSPECT, code, text);

    p2ps_status_send(core, client, p2ps_client_at(core, client)->login_stream, RWF_DOMAIN_LOGIN, 0,
                     &state);
}

/* Whoever tries names must not learn which of them there are. */
static bool is_hidden(const struct p2ps_core *core, const struct p2ps_client *c,
                      uint8_t stream_state, uint8_t code)
{
    return core->config.rules.hides_reasons && stream_state == RWF_STREAM_CLOSED &&
           code != RWF_CODE_USAGE_ERROR && c->login_state != P2PS_LOGIN_OPEN;
}

static void end_login(struct p2ps_core *core, uint32_t client, uint8_t stream_state, uint8_t code,
                      const char *text)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->stats.login_rejected++;
    if (c->login_state == P2PS_LOGIN_OPEN)
        p2ps_session_end(core, client, code, text);
    else
        p2ps_trail_login(core, client, ENTITLE_RECORD_LOGIN, code, text);
    p2ps_tally_unmount(core, client);
    if (is_hidden(core, c, stream_state, code))
        send_login_end(core, client, stream_state, RWF_CODE_NOT_ENTITLED,
                       "user name or password refused");
    else
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

void p2ps_login_expire(struct p2ps_core *core, uint32_t client)
{
    char text[80];

    core->stats.logins_expired++;
    p2ps_proof_expired_text(p2ps_client_at(core, client), text, sizeof(text));
    refuse_login(core, client, RWF_CODE_NOT_ENTITLED, text);
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
        p2ps_client_doom_unknown(core, client);
        return false;
    }
    if (answer->is_proved &&
        !p2ps_bucket_try(&c->party->logins, &core->config.rates.logins, core->now_ns)) {
        core->stats.logins_throttled++;
        refuse_for_now(core, client, "too many logins of this user");
        return false;
    }
    if (!p2ps_tally_mount(core, client, answer->mounts_max)) {
        p2ps_tally_refused(c);
        refuse_login(core, client, RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER,
                     "the user has as many connections as he may have");
        return false;
    }
    if (!p2ps_tally_position(core, client, answer->positions_max)) {
        refuse_login(core, client, RWF_CODE_DACS_MAX_LOGINS_REACHED,
                     "the user is at as many positions as he may be");
        return false;
    }
    return true;
}

/* The login was not looked at: it is neither right nor wrong. */
static bool is_unsaid(const struct entitle_answer *answer)
{
    return answer->reason == ENTITLE_BUSY || answer->reason == ENTITLE_DOWN;
}

static uint8_t code_of(const struct entitle_answer *answer)
{
    switch (answer->reason) {
    case ENTITLE_APPLICATION:
        return RWF_CODE_DACS_USER_ACCESS_TO_APP_DENIED;
    case ENTITLE_UNKNOWN:
        return RWF_CODE_USER_UNKNOWN_TO_PERM_SYS;
    case ENTITLE_MOUNTS:
    case ENTITLE_POSITION:
        return RWF_CODE_DACS_MAX_LOGINS_REACHED;
    case ENTITLE_OTHER:
    case ENTITLE_AWAY:
    case ENTITLE_BUSY:
    case ENTITLE_DOWN:
        break;
    }
    return RWF_CODE_NOT_ENTITLED;
}

static void take_rights(struct p2ps_core *core, uint32_t client,
                        const struct entitle_answer *answer)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->work.has_new_roles |=
        p2ps_session_give(core, client, answer->roles, answer->session) && c->item_streams > 0;
    c->is_outside = answer->by == ENTITLE_BY_AUTHORITY;
    c->file_items = answer->items_max;
    c->requests = (struct p2ps_rate){ answer->requests_per_s, answer->requests_burst };
    c->post_rate = (struct p2ps_rate){ answer->posts_per_s, answer->posts_burst };
    c->may_post = answer->may_post || core->config.rules.is_dry_run;
    c->is_snapshot_only = answer->is_snapshot_only;
    c->qualities = answer->qualities;
    c->proof = answer->proof;
    c->is_proved = answer->is_proved;
    c->user_ends_s = answer->user_ends_s < UINT32_MAX ? (uint32_t)answer->user_ends_s : UINT32_MAX;
    choose_item_limit(core, c);
    p2ps_tally_limits(c, answer);
}

/* A token says who its user is; without an authority that knows, nobody can. */
static void take_identity(struct p2ps_client *c, const struct entitle_answer *answer)
{
    if (c->user[0])
        return;
    snprintf(c->user, sizeof(c->user), "%s", answer->user[0] ? answer->user : "(token)");
    c->login_name_type = RWF_NAME_LOGIN_USER;
}

/* A login that is open stays as it was: a consumer whose new token is wrong is told, not cut. */
static void refuse_reissue(struct p2ps_core *core, uint32_t client,
                           const struct entitle_answer *answer)
{
    const struct p2ps_client *c = p2ps_client_at(core, client);

    core->stats.reissues_bad++;
    p2ps_trail_login(core, client, ENTITLE_RECORD_REISSUE, 0, answer->text);
    if (!c->login_no_refresh)
        send_login_refresh(core, client,
                           is_unsaid(answer) ? ENTITLE_TOKEN_NOBODY_LOOKED : answer->token_error,
                           answer->text);
}

static void refuse_answer(struct p2ps_core *core, uint32_t client,
                          const struct entitle_answer *answer, bool is_reissue)
{
    if (is_reissue && (answer->token_error || is_unsaid(answer)))
        refuse_reissue(core, client, answer);
    else if (is_unsaid(answer) || answer->reason == ENTITLE_AWAY)
        end_login(core, client, RWF_STREAM_CLOSED_RECOVER,
                  answer->reason == ENTITLE_BUSY ? RWF_CODE_NO_RESOURCES : RWF_CODE_DACS_DOWN,
                  answer->text);
    else
        refuse_login(core, client, code_of(answer), answer->text);
}

static void allow_login(struct p2ps_core *core, uint32_t client,
                        const struct entitle_answer *answer, bool is_check)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    bool was_open = c->login_state == P2PS_LOGIN_OPEN;

    take_identity(c, answer);
    const char *why = p2ps_name_refuse_found(c->user); /* a file may name its users as it likes */
    if (why) {
        c->user[0] = 0;
        p2ps_session_unused(core, answer->session, "p2ps did not let it in");
        refuse_login(core, client, RWF_CODE_USAGE_ERROR, why);
        return;
    }
    if (answer->needs_tls && p2ps_proof_is_plain(c)) { /* an authority has said who it is */
        p2ps_session_unused(core, answer->session, "p2ps did not let it in");
        refuse_login(core, client, RWF_CODE_NOT_ENTITLED, "the user must use TLS");
        return;
    }
    if (!was_open && !let_in(core, client, answer)) {
        p2ps_session_unused(core, answer->session, "p2ps did not let it in");
        return;
    }
    p2ps_client_login_set(core, c, P2PS_LOGIN_OPEN);
    take_rights(core, client, answer);
    if (!is_check)
        p2ps_proof_take(core, client, answer);
    else if (answer->is_renewed)
        p2ps_proof_renew(core, client, answer);
    core->stats.login_accepted += !was_open;
    core->stats.reissues_good += was_open && !is_check;
    if (!is_check)
        p2ps_trail_login(core, client, was_open ? ENTITLE_RECORD_REISSUE : ENTITLE_RECORD_LOGIN, 0,
                         NULL);
    if (!c->login_no_refresh && !is_check)
        send_login_refresh(core, client, 0, NULL);
    p2ps_status_tell_down(core, client);
}

static void login_answer(struct p2ps_core *core, uint32_t client,
                         const struct entitle_answer *answer, bool is_check)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    bool was_open = c->login_state == P2PS_LOGIN_OPEN;
    struct entitle_answer found = *answer;

    c->is_asking &= is_check;
    if (answer->verdict != ENTITLE_ALLOW && is_check && is_unsaid(answer))
        return; /* it goes on as it was */
    p2ps_trail_decided(core, answer);
    if (answer->verdict == ENTITLE_ALLOW || p2ps_dry_login(core, client, &found))
        allow_login(core, client, &found, is_check);
    else
        refuse_answer(core, client, answer, was_open && !is_check);
    core->stats.logins_revoked += was_open && is_check && c->login_state == P2PS_LOGIN_REFUSED;
}

/* False: the client has gone, or was asked about once more. */
static bool is_awaited(const struct p2ps_core *core, const struct entitle_answer *answer)
{
    uint32_t client = (uint32_t)answer->ticket & 0xffffu;
    uint16_t question = (uint16_t)(answer->ticket >> 16) & (QUESTIONS | IS_CHECK);

    if (client >= core->client_room)
        return false;
    const struct p2ps_client *c = &core->clients[client];
    bool is_check = question & IS_CHECK;
    uint16_t asked = is_check ? c->check_question : c->login_question;
    return p2ps_client_is_here(c) && c->serial == (uint32_t)(answer->ticket >> 32) &&
           asked == question && (!is_check || c->is_checking);
}

void p2ps_login_late_answer(struct p2ps_core *core, const struct entitle_answer *answer)
{
    uint32_t client = (uint32_t)answer->ticket & 0xffffu;
    bool is_check = (uint16_t)(answer->ticket >> 16) & IS_CHECK;
    struct p2ps_client *c = client < core->client_room ? &core->clients[client] : NULL;
    bool is_for_somebody = is_awaited(core, answer);

    if (is_for_somebody)
        c->is_checking &= !is_check;
    if (is_for_somebody &&
        (c->login_state == P2PS_LOGIN_OPEN || c->login_state == P2PS_LOGIN_ASKED))
        login_answer(core, client, answer, is_check);
    else if (answer->verdict == ENTITLE_ALLOW)
        p2ps_session_unused(core, answer->session, "nobody waits for the answer any more");
}

/* Asks, and takes the answer if there is one already. */
static void ask(struct p2ps_core *core, uint32_t client, struct entitle_query *query)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    bool is_check = query->kind == ENTITLE_AGAIN;
    struct entitle_answer answer = { .may_post = true };

    query->user = entitle_text(c->user);
    query->host = entitle_text(c->address);
    query->application = entitle_text(c->application_id);
    query->application_name = entitle_text(c->application);
    query->position = entitle_text(c->position);
    p2ps_proof_show(core, c, query);
    query->is_asked = is_check && c->is_checking;
    query->roles = (struct entitle_view){ c->roles, c->roles ? strlen(c->roles) : 0 };
    if (is_check) {
        const char *session = p2ps_session_name(c);
        query->session = entitle_text(session);
    }
    uint16_t *question = is_check ? &c->check_question : &c->login_question;
    if (!query->is_asked) /* else the answer to that one is what counts */
        *question = (uint16_t)(((*question + 1u) & QUESTIONS) | (is_check ? IS_CHECK : 0));
    uint64_t ticket = (uint64_t)c->serial << 32 | (uint32_t)*question << 16 | client;
    enum entitle_verdict verdict =
        core->config.authority.ask(core->config.authority.self, query, ticket, &answer);

    p2ps_work_spend_rules(core, answer.rules_seen);
    c->is_asking |= verdict == ENTITLE_PENDING && !is_check;
    c->is_checking |= verdict == ENTITLE_PENDING && is_check;
    if (verdict != ENTITLE_PENDING)
        login_answer(core, client, &answer, is_check);
}

bool p2ps_login_check(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];

    if (!p2ps_client_is_here(c) || c->closing || c->login_state != P2PS_LOGIN_OPEN)
        return false;
    ask(core, client,
        &(struct entitle_query){ .kind = ENTITLE_AGAIN, .by = c->proved_by, .proof = c->proof });
    return true;
}

static void ask_authority(struct p2ps_core *core, uint32_t client,
                          const struct omm_login_request *request)
{
    struct rwf_bytes token =
        request->name_type == RWF_NAME_LOGIN_TOKEN ? request->user : request->token;

    p2ps_client_at(core, client)->has_token |= p2ps_name_is_token(request);
    ask(core, client,
        &(struct entitle_query){
            .kind = ENTITLE_LOGIN,
            .password = { (const char *)request->password.data, request->password.length },
            .token = { (const char *)token.data, token.length },
            .is_token = p2ps_name_is_token(request),
            .is_reissue = p2ps_client_at(core, client)->login_state == P2PS_LOGIN_OPEN,
            .name_type = request->name_type,
        });
}

static bool is_native(const struct p2ps_core *core, const struct p2ps_client *c,
                      const struct omm_login_request *request)
{
    const struct p2ps_rules *rules = &core->config.rules;

    return rules->allows_native && (request->disable_data_conversion ||
                                    (rules->is_native && rules->is_native(rules->self, c->user)));
}

/* tlsUserPolicy replace: the login's own name counts for nothing. */
static const char *take_certificate_name(struct p2ps_client *c)
{
    uint64_t ends_s;
    const char *name = p2ps_client_certificate(c, &ends_s);
    const char *why = name[0] ? p2ps_name_refuse_found(name) : "a client certificate is needed";

    snprintf(c->user, sizeof(c->user), "%s", why ? "" : name);
    c->login_name_type = RWF_NAME_LOGIN_USER;
    return why;
}

static void take_request(const struct p2ps_core *core, struct p2ps_client *c,
                         const struct omm_login_request *request, bool is_no_name)
{
    /* A name that nobody can have stands in no log and no table. */
    copy_text(c->user, sizeof(c->user),
              is_no_name || p2ps_name_is_token(request) ? rwf_text("") : request->user);
    copy_text(c->position, sizeof(c->position), request->position);
    copy_text(c->application, sizeof(c->application), request->application_name);
    copy_text(c->application_id, sizeof(c->application_id), request->application_id);
    c->login_name_type = request->name_type;
    c->proved_by = p2ps_name_is_token(request) ? ENTITLE_BY_TOKEN
                   : request->password.length  ? ENTITLE_BY_PASSWORD
                                               : ENTITLE_BY_NAME;
    c->login_no_refresh = request->no_refresh;
    c->single_open = request->single_open;
    c->allow_suspect = request->allow_suspect_data;
    c->permission_expressions = request->permission_expressions;
    c->wants_rtt = request->wants_rtt;
    c->wants_native = is_native(core, c, request);
    c->wants_marketfeed = request->marketfeed_data;
    c->pause_all = request->pause ? P2PS_PAUSE_ALL : P2PS_PAUSE_NONE;
}

static void first_login(struct p2ps_core *core, uint32_t client,
                        const struct omm_login_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    char text[ENTITLE_TEXT_MAX];
    const char *why = p2ps_name_refuse(request, text, sizeof(text));

    c->login_stream = request->stream_id;
    if (p2ps_idmap_put(&c->streams, request->stream_id, P2PS_STREAM_LOGIN, 0) != MD_OK) {
        p2ps_client_doom(core, client);
        return;
    }
    take_request(core, c, request, why != NULL);
    if (!p2ps_bucket_try(&c->host->logins, &core->config.rates.logins, core->now_ns)) {
        core->stats.logins_throttled++;
        p2ps_client_login_set(core, c, P2PS_LOGIN_ASKED);
        c->is_held = true;
        c->opened_ns = core->now_ns;
        return;
    }
    if (core->config.certificate_policy == P2PS_CERTIFICATE_REPLACE)
        why = take_certificate_name(c);
    if (why) {
        refuse_login(core, client, RWF_CODE_USAGE_ERROR, why);
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
    if (!p2ps_trail_has_room(core, ENTITLE_LEVEL_LOGINS)) {
        refuse_for_now(core, client, P2PS_TRAIL_FULL);
        return;
    }
    p2ps_client_login_set(core, c, P2PS_LOGIN_ASKED);
    ask_authority(core, client, request);
}

/* A new token, before the old one expires; what is open goes on meanwhile. */
static void again_token(struct p2ps_core *core, uint32_t client,
                        const struct omm_login_request *request)
{
    struct entitle_answer answer = { .verdict = ENTITLE_DENY,
                                     .token_error = ENTITLE_TOKEN_MISSING };
    const struct p2ps_client *c = p2ps_client_at(core, client);
    const char *why = p2ps_name_refuse(request, answer.text, sizeof(answer.text));

    if (c->is_asking ||
        !p2ps_bucket_try(&c->host->logins, &core->config.rates.logins, core->now_ns)) {
        core->stats.logins_throttled++;
        send_login_refresh(core, client, ENTITLE_TOKEN_NOBODY_LOOKED,
                           "too many tokens at once; try again"); /* and no record of it */
    } else if (!why) {
        ask_authority(core, client, request);
    } else {
        if (why != answer.text)
            snprintf(answer.text, sizeof(answer.text), "%s", why);
        refuse_reissue(core, client, &answer);
    }
}

/* Without a token it pauses, resumes, or asks for the answer again: it proves nothing, and nobody
 * is asked. A password in it is ignored. */
static void again_login(struct p2ps_core *core, uint32_t client,
                        const struct omm_login_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    c->login_no_refresh = request->no_refresh;
    p2ps_pause_all(core, client, request->pause);
    if (p2ps_name_is_token(request)) {
        again_token(core, client, request);
        return;
    }
    p2ps_trail_login(core, client, ENTITLE_RECORD_REISSUE, 0, NULL);
    if (!request->no_refresh)
        send_login_refresh(core, client, 0, NULL);
}

/* CLOSED_RECOVER: a consumer hangs up and takes the next host of its list. */
void p2ps_core_leave(struct p2ps_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    for (uint32_t i = 0; i < core->client_room; i++) {
        uint8_t state = core->clients[i].login_state;

        if (core->clients[i].is_used && state == P2PS_LOGIN_OPEN)
            p2ps_session_end(core, i, 0, "p2ps is shutting down");
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
        struct rwf_state state = omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                                           RWF_CODE_USAGE_ERROR, "a login is open already");
        p2ps_status_send(core, client, request->stream_id, RWF_DOMAIN_LOGIN, 0, &state);
    } else if (c->login_state == P2PS_LOGIN_OPEN) {
        again_login(core, client, request);
    }
}
