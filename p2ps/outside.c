/* outside.c - see outside.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outside.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "outside_state.h"

static enum entitle_verdict deny(struct entitle_answer *out, enum entitle_reason reason,
                                 const char *text)
{
    *out = (struct entitle_answer){ .ticket = out->ticket, .reason = reason };
    out->verdict = ENTITLE_DENY;
    snprintf(out->text, sizeof(out->text), "%s", text);
    return ENTITLE_DENY;
}

/* Roles and grants that the access file does not have are ignored. */
static void say_unknown(struct p2ps_outside *o, const struct p2ps_authority_answer *answer)
{
    struct entitle_view which;
    const char *kind =
        entitle_rules_unknown(atomic_load_explicit(o->config.rules, memory_order_acquire),
                              entitle_text(answer->roles), &which);

    if (!kind)
        return;
    pthread_mutex_lock(&o->lock);
    p2ps_outside_log_given(&o->log, o->config.now(), kind, which, answer->user);
    pthread_mutex_unlock(&o->lock);
}

static void ended(void *self, struct entitle_view session, const char *why)
{
    struct outside_asker *asker = self;
    struct p2ps_outside *o = asker->outside;

    if (!o->authority || session.length == 0)
        return;
    pthread_mutex_lock(&o->lock);
    p2ps_authority_end(o->authority, session, entitle_text(why));
    pthread_mutex_unlock(&o->lock);
    md_loop_wake_ring(o->wake);
}

/* The access file says what a user of this answer may. */
static enum entitle_verdict judge(struct outside_asker *asker, int place,
                                  const struct p2ps_authority_answer *answer,
                                  struct entitle_answer *out)
{
    struct entitle_shown *shown = &asker->shown[place];

    *shown = answer->shown;
    const struct entitle_query query = {
        .kind = ENTITLE_AGAIN,
        .user = entitle_text(answer->user),
        .host = entitle_text(answer->host),
        .application = entitle_text(answer->application),
        .position = entitle_text(answer->position),
        .roles = entitle_text(answer->roles),
        .certificate = entitle_text(answer->certificate),
        .needs_certificate = answer->needs_certificate,
        .serial = entitle_text(answer->number),
        .shown = answer->has_shown ? shown : NULL,
        .now_s = answer->now_s,
        .is_plain = answer->is_plain,
        .by = ENTITLE_BY_AUTHORITY,
    };

    enum entitle_verdict verdict = asker->inner.ask(asker->inner.self, &query, answer->ticket, out);
    out->shown = query.shown;
    return verdict;
}

/* Notices may have come since the answer. */
static enum entitle_verdict look_again(struct p2ps_outside *o,
                                       const struct p2ps_authority_answer *answer,
                                       struct entitle_answer *out)
{
    char text[ENTITLE_TEXT_MAX];

    pthread_mutex_lock(&o->lock);
    enum p2ps_authority_look look =
        p2ps_authority_look(o->authority, entitle_text(answer->user), answer->serial, text);
    if (look == P2PS_AUTHORITY_AGAIN)
        p2ps_authority_owe(o->authority);
    pthread_mutex_unlock(&o->lock);
    if (look == P2PS_AUTHORITY_AGAIN)
        md_loop_wake_ring(o->wake); /* else nobody looks before the next ping */
    return look == P2PS_AUTHORITY_OUT ? deny(out, ENTITLE_OTHER, text) : ENTITLE_ALLOW;
}

/* The authority has let somebody in. Not under the lock. */
static enum entitle_verdict admit(struct outside_asker *asker, int place,
                                  const struct p2ps_authority_answer *answer,
                                  struct entitle_answer *out)
{
    struct p2ps_outside *o = asker->outside;
    enum entitle_verdict verdict = judge(asker, place, answer, out);

    if (verdict == ENTITLE_ALLOW) {
        say_unknown(o, answer);
        out->proof = answer->serial;
        out->is_proved = true;
        memcpy(asker->roles[place], answer->roles, sizeof(answer->roles));
        out->roles = answer->roles[0] ? asker->roles[place] : NULL;
        memcpy(asker->sessions[place], answer->session, sizeof(answer->session));
        out->session = answer->session[0] ? asker->sessions[place] : NULL;
        if (answer->has_mounts)
            out->mounts_max = answer->mounts;
        out->expires_s = answer->expires_s;
        out->reissue_s = p2ps_credentials_reissue(o->config.credentials, answer->expires_s);
        out->is_renewed = answer->is_renewal;
        snprintf(out->user, sizeof(out->user), "%s", answer->user);
        verdict = look_again(o, answer, out);
    }
    if (verdict != ENTITLE_ALLOW)
        ended(asker, entitle_text(answer->session), out->text);
    return verdict;
}

/* The roles go to that place of the asker's. */
static enum entitle_verdict take(struct outside_asker *asker, int place,
                                 const struct p2ps_authority_answer *answer,
                                 struct entitle_answer *out)
{
    out->ticket = answer->ticket;
    switch (answer->verdict) {
    case P2PS_AUTHORITY_ALLOW:
        return admit(asker, place, answer, out);
    case P2PS_AUTHORITY_DENY:
        deny(out, answer->reason, answer->text);
        out->token_error = answer->has_token ? ENTITLE_TOKEN_REFUSED : 0;
        return ENTITLE_DENY;
    case P2PS_AUTHORITY_BUSY:
        return deny(out, ENTITLE_BUSY, "too many logins at once; try again");
    case P2PS_AUTHORITY_DOWN:
        return deny(out, ENTITLE_DOWN, "the permission system is down; try again");
    case P2PS_AUTHORITY_ASKED:
        break;
    }
    return out->verdict = ENTITLE_PENDING;
}

/* `shown` is of the token that the session has shown. */
static enum entitle_verdict put_question(struct outside_asker *asker,
                                         const struct entitle_query *query, uint64_t ticket,
                                         bool is_renewal, const struct entitle_shown *shown,
                                         struct p2ps_authority_answer *answer)
{
    struct p2ps_outside *o = asker->outside;
    const struct p2ps_authority_question question = {
        .is_renewal = is_renewal,
        .user = query->user,
        .password = is_renewal ? entitle_text("") : query->password,
        .token = is_renewal ? entitle_text("") : query->token,
        .host = query->host,
        .application = query->application,
        .application_name = query->application_name,
        .position = query->position,
        .is_reissue = query->is_reissue,
        .name_type = query->name_type,
        .session = query->session,
        .certificate = query->certificate,
        .number = query->serial,
        .shown = shown,
        .now_s = query->now_s,
        .needs_certificate = query->needs_certificate,
        .is_plain = query->is_plain,
    };

    pthread_mutex_lock(&o->lock);
    p2ps_authority_ask(o->authority, o->config.now(), &question, asker->index, ticket, answer);
    pthread_mutex_unlock(&o->lock);
    if (answer->verdict == P2PS_AUTHORITY_ASKED)
        md_loop_wake_ring(o->wake);
    return answer->verdict == P2PS_AUTHORITY_ASKED ? ENTITLE_PENDING : ENTITLE_DENY;
}

/* Let in without the authority: it is asked about the session when it is back. */
static void adopt(struct p2ps_outside *o, struct entitle_answer *out)
{
    if (out->verdict != ENTITLE_ALLOW || !out->is_outside || out->by == ENTITLE_BY_JWT)
        return;
    out->by = ENTITLE_BY_AUTHORITY;
    out->proof = 0;
    pthread_mutex_lock(&o->lock);
    p2ps_authority_owe(o->authority);
    pthread_mutex_unlock(&o->lock);
}

static enum entitle_verdict ask_login(struct outside_asker *asker,
                                      const struct entitle_query *query, uint64_t ticket,
                                      struct entitle_answer *out)
{
    const struct p2ps_outside *o = asker->outside;
    struct p2ps_authority_answer answer;

    if (!o->path[0])
        return deny(out, ENTITLE_OTHER, "an authority decides about the user, and there is none");
    put_question(asker, query, ticket, false, out->shown, &answer);
    if (answer.verdict != P2PS_AUTHORITY_DOWN || !o->config.allows)
        return take(asker, ENTITLE_ANSWERS_MAX, &answer, out);
    struct entitle_query alone = *query;
    alone.is_alone = true;
    asker->inner.ask(asker->inner.self, &alone, ticket, out);
    adopt(asker->outside, out);
    return out->verdict;
}

/* May a session go on? The rules say yes; it has the roles that it had. */
static enum entitle_verdict ask_session(struct outside_asker *asker,
                                        const struct entitle_query *query, uint64_t ticket,
                                        struct entitle_answer *out)
{
    struct p2ps_outside *o = asker->outside;
    struct p2ps_authority_answer answer;
    char text[ENTITLE_TEXT_MAX];

    if (!o->path[0])
        return deny(out, ENTITLE_OTHER, "an authority decides about the user, and there is none");
    pthread_mutex_lock(&o->lock);
    enum p2ps_authority_look look =
        p2ps_authority_look(o->authority, query->user, query->proof, text);
    bool closes = p2ps_authority_closes(o->authority, o->config.now(), query->proof);
    pthread_mutex_unlock(&o->lock);
    if (look == P2PS_AUTHORITY_OUT)
        return deny(out, ENTITLE_OTHER, text);
    if (closes)
        return deny(out, ENTITLE_AWAY, "the permission system is down; try again");
    if (look == P2PS_AUTHORITY_AGAIN && query->is_asked)
        return out->verdict = ENTITLE_PENDING;
    if (look == P2PS_AUTHORITY_AGAIN) {
        put_question(asker, query, ticket, true, query->shown, &answer);
        return take(asker, ENTITLE_ANSWERS_MAX, &answer, out);
    }
    out->proof = query->proof;
    out->is_proved = true;
    out->roles = query->roles.length ? query->roles.data : NULL;
    return ENTITLE_ALLOW;
}

static enum entitle_verdict ask(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out)
{
    struct outside_asker *asker = self;
    enum entitle_verdict verdict = asker->inner.ask(asker->inner.self, query, ticket, out);

    if (verdict == ENTITLE_PENDING && out->is_outside)
        return ask_login(asker, query, ticket, out);
    if (verdict == ENTITLE_ALLOW && query->kind == ENTITLE_AGAIN &&
        query->by == ENTITLE_BY_AUTHORITY)
        return ask_session(asker, query, ticket, out);
    return verdict;
}

static int answers(void *self, struct entitle_answer out[], int max)
{
    struct outside_asker *asker = self;
    struct p2ps_outside *o = asker->outside;
    struct p2ps_authority_answer answer;
    int count = asker->inner.answers(asker->inner.self, out, max), taken = 0;

    for (int i = 0; i < count; i++)
        adopt(o, &out[i]);
    while (count < max && taken < ENTITLE_ANSWERS_MAX &&
           atomic_load_explicit(&asker->has_answers, memory_order_acquire)) {
        pthread_mutex_lock(&o->lock);
        bool has_one = p2ps_authority_answer(o->authority, asker->index, &answer);
        if (!has_one)
            atomic_store_explicit(&asker->has_answers, false, memory_order_release);
        pthread_mutex_unlock(&o->lock);
        if (has_one)
            take(asker, taken++, &answer, &out[count++]);
    }
    return count;
}

static unsigned news(void *self)
{
    struct outside_asker *asker = self;

    if (atomic_load_explicit(&asker->news, memory_order_relaxed) == 0)
        return 0;
    return atomic_exchange_explicit(&asker->news, 0, memory_order_acquire);
}

struct entitle_authority p2ps_outside_authority(struct p2ps_outside *outside, unsigned worker)
{
    return (struct entitle_authority){
        .ask = ask,
        .answers = answers,
        .news = news,
        .ended = ended,
        .self = &outside->askers[worker],
    };
}

void p2ps_outside_wake_set(struct p2ps_outside *outside, unsigned worker, void (*wake)(void *owner),
                           void *owner)
{
    pthread_mutex_lock(&outside->lock);
    outside->askers[worker].wake = wake;
    outside->askers[worker].owner = owner;
    pthread_mutex_unlock(&outside->lock);
}

void p2ps_outside_took_set(struct p2ps_outside *outside, struct md_hist *took_us)
{
    pthread_mutex_lock(&outside->lock);
    p2ps_authority_took_set(outside->authority, took_us);
    pthread_mutex_unlock(&outside->lock);
}

void p2ps_outside_stats(struct p2ps_outside *outside, struct p2ps_outside_stats *out)
{
    *out = (struct p2ps_outside_stats){ .is_up = false };
    if (!outside->authority)
        return;
    pthread_mutex_lock(&outside->lock);
    p2ps_authority_stats(outside->authority, &out->authority);
    out->is_up = outside->is_up;
    pthread_mutex_unlock(&outside->lock);
}

/* ---- life ---- */

static int find_user(struct p2ps_outside *o)
{
    const struct passwd *user = o->config.user[0] ? getpwnam(o->config.user) : NULL;

    o->uid = user ? user->pw_uid : geteuid();
    return user || !o->config.user[0] ? MD_OK : MD_ERR_NOT_FOUND;
}

static int start(struct p2ps_outside *o)
{
    struct p2ps_authority_config config = {
        .instance = o->config.instance,
        .timeout_ns = o->config.timeout_ns,
        .window = o->config.window,
        .holds = !o->config.allows,
        .sessions = o->config.sessions,
        .grace_ns = o->config.grace_ns,
        .now_ns = o->config.now(),
    };

    if (getrandom(config.secret, sizeof(config.secret), 0) != (ssize_t)sizeof(config.secret))
        return MD_ERR_SYS;
    int err = p2ps_authority_create(&config, &o->authority);
    return err == MD_OK ? p2ps_outside_thread_start(o) : err;
}

int p2ps_outside_create(const struct p2ps_outside_config *config, struct p2ps_outside **out)
{
    struct p2ps_outside *o = calloc(1, sizeof(*o));

    *out = NULL;
    if (!o)
        return MD_ERR_NOMEM;
    o->config = *config;
    o->fd = -1;
    pthread_mutex_init(&o->lock, NULL);
    for (unsigned i = 0; i < P2PS_AUTHORITY_ASKERS; i++)
        o->askers[i] = (struct outside_asker){
            .outside = o,
            .index = i,
            .inner = p2ps_credentials_authority(config->credentials, i),
            .news = config->sessions == P2PS_AUTHORITY_SUSPECT ? ENTITLE_NEWS_DOWN : 0,
        };
    snprintf(o->path, sizeof(o->path), "%s", config->path);
    o->log.path = o->path;
    int err = strlen(config->path) < sizeof(o->path) ? find_user(o) : MD_ERR_RANGE;
    if (err == MD_OK && o->path[0])
        err = start(o);
    if (err != MD_OK) {
        p2ps_outside_destroy(o);
        return err;
    }
    *out = o;
    return MD_OK;
}

void p2ps_outside_destroy(struct p2ps_outside *outside)
{
    if (!outside)
        return;
    p2ps_outside_thread_end(outside);
    p2ps_authority_destroy(outside->authority);
    pthread_mutex_destroy(&outside->lock);
    free(outside);
}
