/* outside.c - see outside.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outside.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/thread.h"
#include "outside_log.h"

#define SECOND_NS   1000000000ull
#define CONNECT_NS  (SECOND_NS / 10)
#define CONNECT_MAX (5 * SECOND_NS)
#define STEADY_NS   (3 * SECOND_NS) /* up for so long: the next attempt comes soon again */
#define READ_BYTES  65536

struct asker {
    struct p2ps_outside *outside;
    unsigned index;
    struct entitle_authority inner;
    char roles[ENTITLE_ANSWERS_MAX + 1]
              [P2PS_AUTHORITY_GIVEN]; /* of its answers; the last: of ask */
    _Atomic unsigned news;
    _Atomic bool has_answers;
    void (*wake)(void *owner);
    void *owner;
};

struct p2ps_outside {
    struct p2ps_outside_config config;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    uid_t uid;            /* who may own the process, too */
    pthread_mutex_t lock; /* around the engine, and what is below it */
    struct p2ps_authority *authority;
    bool is_up;
    uint64_t down_since_ns;
    struct asker askers[P2PS_AUTHORITY_ASKERS];
    /* Of the thread. */
    struct md_thread thread;
    struct md_loop *loop;
    struct md_loop_wake *wake;
    struct md_loop_timer *timer;
    struct md_loop_fd *watch;
    int fd;
    uint64_t connect_ns, distance_ns; /* the next attempt, and the one after it */
    uint64_t up_since_ns;
    struct p2ps_outside_log log;
    char buffer[READ_BYTES];
};

/* ---- the socket ---- */

static void shut(struct p2ps_outside *o, const char *why)
{
    p2ps_outside_log_why(&o->log, o->config.now(), why);
    md_loop_fd_remove(o->watch);
    o->watch = NULL;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->distance_ns = o->distance_ns ? 2 * o->distance_ns : CONNECT_NS;
    if (o->distance_ns > CONNECT_MAX)
        o->distance_ns = CONNECT_MAX;
    o->connect_ns = o->config.now() + o->distance_ns;
    pthread_mutex_lock(&o->lock);
    p2ps_authority_close(o->authority, o->config.now());
    pthread_mutex_unlock(&o->lock);
}

static void send_some(struct p2ps_outside *o)
{
    size_t length;

    pthread_mutex_lock(&o->lock);
    const char *bytes = p2ps_authority_output(o->authority, &length);
    ssize_t sent = length ? send(o->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    int error = sent < 0 ? errno : 0;
    if (sent > 0)
        p2ps_authority_sent(o->authority, (size_t)sent);
    bool has_more = length > 0 && (size_t)sent != length;
    pthread_mutex_unlock(&o->lock);
    if (error && error != EAGAIN && error != EINTR)
        shut(o, strerror(error));
    else
        md_loop_fd_set(o->watch, has_more ? MD_LOOP_READ | MD_LOOP_WRITE : MD_LOOP_READ);
}

/* Once is enough: what is left is reported again. */
static void receive_some(struct p2ps_outside *o)
{
    char why[256];
    ssize_t got = recv(o->fd, o->buffer, sizeof(o->buffer), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        shut(o, got == 0 ? "it has closed the connection" : strerror(errno));
        return;
    }
    pthread_mutex_lock(&o->lock);
    const char *wrong = p2ps_authority_input(o->authority, o->config.now(), o->buffer, (size_t)got);
    pthread_mutex_unlock(&o->lock);
    if (!wrong)
        return;
    snprintf(why, sizeof(why), "the connection is closed, for %s", wrong);
    shut(o, why);
}

static bool is_ours(const struct p2ps_outside *o, int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid() || peer.uid == o->uid);
}

static void step(struct p2ps_outside *o);

static void on_socket(void *owner, int fd, unsigned events)
{
    struct p2ps_outside *o = owner;

    (void)fd;
    if (events & MD_LOOP_READ)
        receive_some(o);
    step(o);
}

static void open_socket(struct p2ps_outside *o)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, o->path, sizeof(address.sun_path));
    o->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (o->fd < 0 || connect(o->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        shut(o, strerror(errno));
        return;
    }
    if (!is_ours(o, o->fd)) {
        shut(o, "its process belongs neither to root, nor to the user of p2ps, nor to "
                "authorityUser");
        return;
    }
    if (md_loop_fd_add(o->loop, o->fd, MD_LOOP_READ, on_socket, o, &o->watch) != MD_OK) {
        shut(o, "no memory");
        return;
    }
    pthread_mutex_lock(&o->lock);
    p2ps_authority_open(o->authority, o->config.now());
    pthread_mutex_unlock(&o->lock);
}

/* ---- the thread ---- */

#define UP_OR_DOWN ((unsigned)ENTITLE_NEWS_UP | (unsigned)ENTITLE_NEWS_DOWN)

static void tell(struct p2ps_outside *o, unsigned news, uint64_t answered)
{
    for (unsigned i = 0; i < P2PS_AUTHORITY_ASKERS; i++) {
        struct asker *asker = &o->askers[i];

        bool has_answers = answered >> i & 1;

        if (!news && !has_answers)
            continue;
        if (news & UP_OR_DOWN) /* the last of them counts */
            atomic_fetch_and_explicit(&asker->news, ~UP_OR_DOWN, memory_order_relaxed);
        atomic_fetch_or_explicit(&asker->news, news, memory_order_release);
        if (has_answers)
            atomic_store_explicit(&asker->has_answers, true, memory_order_release);
        if (asker->wake)
            asker->wake(asker->owner);
    }
}

/* One that hangs up right behind its hello is not asked again ten times a second. */
static void look_whether_steady(struct p2ps_outside *o)
{
    if (!o->is_up || o->config.now() - o->up_since_ns < STEADY_NS)
        return;
    o->distance_ns = 0;
    p2ps_outside_log_steady(&o->log);
}

/* News for the workers come from here alone. */
static void share(struct p2ps_outside *o)
{
    char user[ENTITLE_TEXT_MAX];
    unsigned news = 0;

    pthread_mutex_lock(&o->lock);
    const char *unusable = p2ps_authority_unusable(o->authority, user);
    bool is_up = p2ps_authority_is_up(o->authority), was_up = o->is_up;
    uint64_t answered = p2ps_authority_answered(o->authority);
    news |= p2ps_authority_recalls(o->authority) ? ENTITLE_NEWS_LOGINS : 0;
    if (is_up != was_up)
        news |= is_up ? ENTITLE_NEWS_UP : ENTITLE_NEWS_DOWN;
    if (was_up && !is_up)
        o->down_since_ns = o->config.now();
    if (is_up && !was_up)
        o->up_since_ns = o->config.now();
    o->is_up = is_up;
    tell(o, news, answered);
    pthread_mutex_unlock(&o->lock);
    if (is_up != was_up)
        p2ps_outside_log_state(&o->log, is_up, o->config.allows);
    p2ps_outside_log_unusable(&o->log, o->config.now(), unusable, user);
    look_whether_steady(o);
}

static void set_timer(struct p2ps_outside *o)
{
    pthread_mutex_lock(&o->lock);
    uint64_t due_ns = p2ps_authority_deadline(o->authority);
    pthread_mutex_unlock(&o->lock);
    if (o->fd < 0 && o->connect_ns < due_ns)
        due_ns = o->connect_ns;
    md_loop_timer_at(o->timer, due_ns);
}

/* After whatever has happened. */
static void step(struct p2ps_outside *o)
{
    pthread_mutex_lock(&o->lock);
    const char *why = p2ps_authority_tick(o->authority, o->config.now());
    pthread_mutex_unlock(&o->lock);
    if (why && o->fd >= 0)
        shut(o, why);
    if (o->fd < 0 && o->config.now() >= o->connect_ns)
        open_socket(o);
    if (o->fd >= 0)
        send_some(o);
    share(o);
    set_timer(o);
}

static void on_wake(void *owner)
{
    step(owner);
}

static void *run(void *argument)
{
    struct p2ps_outside *o = argument;

    md_caps_drop();
    md_thread_settled(&o->thread);
    step(o);
    if (md_loop_run(o->loop) != MD_OK)
        md_log(MD_LOG_CRITICAL, "authority %s: its event loop failed", o->path);
    return NULL;
}

/* ---- the workers ---- */

static enum entitle_verdict deny(struct entitle_answer *out, enum entitle_reason reason,
                                 const char *text)
{
    *out = (struct entitle_answer){ .ticket = out->ticket, .reason = reason };
    out->verdict = ENTITLE_DENY;
    snprintf(out->text, sizeof(out->text), "%s", text);
    return ENTITLE_DENY;
}

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

/* Roles and grants that the access file does not have are ignored. */
static void say_unknown(struct p2ps_outside *o, const struct p2ps_authority_answer *answer)
{
    struct entitle_view which;
    const char *kind = entitle_rules_unknown(
        atomic_load_explicit(o->config.rules, memory_order_acquire), view(answer->roles), &which);

    if (!kind)
        return;
    pthread_mutex_lock(&o->lock);
    p2ps_outside_log_given(&o->log, o->config.now(), kind, which, answer->user);
    pthread_mutex_unlock(&o->lock);
}

/* The authority has let somebody in: the access file says what it may. Not under the lock. */
static enum entitle_verdict admit(struct asker *asker, int place,
                                  const struct p2ps_authority_answer *answer,
                                  struct entitle_answer *out)
{
    struct p2ps_outside *o = asker->outside;
    const struct entitle_query query = {
        .kind = ENTITLE_AGAIN,
        .user = view(answer->user),
        .host = view(answer->host),
        .application = view(answer->application),
        .position = view(answer->position),
        .roles = view(answer->roles),
        .certificate = view(answer->certificate),
        .needs_certificate = answer->needs_certificate,
        .by = ENTITLE_BY_AUTHORITY,
    };

    if (asker->inner.ask(asker->inner.self, &query, answer->ticket, out) != ENTITLE_ALLOW)
        return out->verdict;
    say_unknown(o, answer);
    out->proof = answer->serial;
    out->is_proved = true;
    memcpy(asker->roles[place], answer->roles, sizeof(answer->roles));
    out->roles = answer->roles[0] ? asker->roles[place] : NULL;
    if (answer->has_mounts)
        out->mounts_max = answer->mounts;
    snprintf(out->user, sizeof(out->user), "%s", answer->user);
    pthread_mutex_lock(&o->lock);
    char text[ENTITLE_TEXT_MAX];
    enum p2ps_authority_look look =
        p2ps_authority_look(o->authority, query.user, answer->serial, text);
    if (look == P2PS_AUTHORITY_AGAIN)
        p2ps_authority_owe(o->authority);
    pthread_mutex_unlock(&o->lock);
    if (look == P2PS_AUTHORITY_AGAIN)
        md_loop_wake_ring(o->wake); /* else nobody looks before the next ping */
    return look == P2PS_AUTHORITY_OUT ? deny(out, ENTITLE_OTHER, text) : ENTITLE_ALLOW;
}

/* The roles go to that place of the asker's. */
static enum entitle_verdict take(struct asker *asker, int place,
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

static enum entitle_verdict put_question(struct asker *asker, const struct entitle_query *query,
                                         uint64_t ticket, bool is_renewal,
                                         struct p2ps_authority_answer *answer)
{
    struct p2ps_outside *o = asker->outside;
    const struct p2ps_authority_question question = {
        .is_renewal = is_renewal,
        .user = query->user,
        .password = is_renewal ? view("") : query->password,
        .token = is_renewal ? view("") : query->token,
        .host = query->host,
        .application = query->application,
        .position = query->position,
        .certificate = query->certificate,
        .needs_certificate = query->needs_certificate,
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

static enum entitle_verdict ask_login(struct asker *asker, const struct entitle_query *query,
                                      uint64_t ticket, struct entitle_answer *out)
{
    const struct p2ps_outside *o = asker->outside;
    struct p2ps_authority_answer answer;

    if (!o->path[0])
        return deny(out, ENTITLE_OTHER, "an authority decides about the user, and there is none");
    put_question(asker, query, ticket, false, &answer);
    if (answer.verdict != P2PS_AUTHORITY_DOWN || !o->config.allows)
        return take(asker, ENTITLE_ANSWERS_MAX, &answer, out);
    struct entitle_query alone = *query;
    alone.is_alone = true;
    asker->inner.ask(asker->inner.self, &alone, ticket, out);
    adopt(asker->outside, out);
    return out->verdict;
}

/* May a session go on? The rules say yes; it has the roles that it had. */
static enum entitle_verdict ask_session(struct asker *asker, const struct entitle_query *query,
                                        uint64_t ticket, struct entitle_answer *out)
{
    struct p2ps_outside *o = asker->outside;
    struct p2ps_authority_answer answer;
    char text[ENTITLE_TEXT_MAX];

    if (!o->path[0])
        return deny(out, ENTITLE_OTHER, "an authority decides about the user, and there is none");
    pthread_mutex_lock(&o->lock);
    enum p2ps_authority_look look =
        p2ps_authority_look(o->authority, query->user, query->proof, text);
    pthread_mutex_unlock(&o->lock);
    if (look == P2PS_AUTHORITY_OUT)
        return deny(out, ENTITLE_OTHER, text);
    if (look == P2PS_AUTHORITY_AGAIN && query->is_asked)
        return out->verdict = ENTITLE_PENDING;
    if (look == P2PS_AUTHORITY_AGAIN) {
        put_question(asker, query, ticket, true, &answer);
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
    struct asker *asker = self;
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
    struct asker *asker = self;
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
    struct asker *asker = self;

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

void p2ps_outside_stats(struct p2ps_outside *outside, struct p2ps_outside_stats *out)
{
    *out = (struct p2ps_outside_stats){ .is_configured = outside->authority != NULL };
    if (!outside->authority)
        return;
    pthread_mutex_lock(&outside->lock);
    p2ps_authority_stats(outside->authority, &out->authority);
    out->is_up = outside->is_up;
    out->down_since_ns = outside->down_since_ns;
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
    };

    if (getrandom(config.secret, sizeof(config.secret), 0) != (ssize_t)sizeof(config.secret))
        return MD_ERR_SYS;
    int err = p2ps_authority_create(&config, &o->authority);
    if (err == MD_OK)
        err = md_loop_create(0, &o->loop);
    if (err == MD_OK)
        err = md_loop_wake_create(o->loop, on_wake, o, &o->wake);
    if (err == MD_OK)
        err = md_loop_timer_create(o->loop, on_wake, o, &o->timer);
    return err == MD_OK ? md_thread_start(&o->thread, run, o) : err;
}

int p2ps_outside_create(const struct p2ps_outside_config *config, struct p2ps_outside **out)
{
    struct p2ps_outside *o = calloc(1, sizeof(*o));

    *out = NULL;
    if (!o)
        return MD_ERR_NOMEM;
    o->config = *config;
    o->fd = -1;
    o->down_since_ns = config->now();
    pthread_mutex_init(&o->lock, NULL);
    for (unsigned i = 0; i < P2PS_AUTHORITY_ASKERS; i++)
        o->askers[i] = (struct asker){
            .outside = o,
            .index = i,
            .inner = p2ps_credentials_authority(config->credentials, i),
            .news = ENTITLE_NEWS_DOWN, /* until it has said hello */
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
    if (outside->thread.is_started)
        md_loop_stop(outside->loop);
    md_thread_join(&outside->thread);
    md_loop_fd_remove(outside->watch);
    if (outside->fd >= 0)
        close(outside->fd);
    md_loop_timer_destroy(outside->timer);
    if (outside->wake)
        md_loop_wake_destroy(outside->wake);
    md_loop_destroy(outside->loop);
    p2ps_authority_destroy(outside->authority);
    pthread_mutex_destroy(&outside->lock);
    free(outside);
}
