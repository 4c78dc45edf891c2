/* credentials.c - see credentials.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "credentials.h"

#include <crypt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backoff.h"
#include "base/caps.h"
#include "base/err.h"
#include "base/log.h"
#include "base/thread.h"
#include "job.h"
#include "known.h"

#define THREADS_MAX 8
#define WORKERS     64
struct worker {
    struct p2ps_credentials *credentials;
    unsigned index;
    struct p2ps_jobs answers;
    char roles[ENTITLE_ANSWERS_MAX][P2PS_TOKEN_ROLES];   /* of the answers that were taken last */
    struct entitle_shown shown[ENTITLE_ANSWERS_MAX + 1]; /* likewise; the last: of ask */
    _Atomic bool has_answers;
    void (*wake)(void *owner);
    void *owner;
};

struct p2ps_credentials {
    struct p2ps_credentials_config config;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct p2ps_jobs questions;
    unsigned waiting;
    bool stop;
    struct p2ps_known known;
    struct p2ps_backoff backoff;
    struct p2ps_plain plain;
    struct p2ps_shadow shadow;
    struct p2ps_locks locks;
    struct p2ps_credentials_stats stats;
    struct worker workers[WORKERS];
    struct checker {
        struct md_thread thread;
        struct p2ps_credentials *credentials;
        struct crypt_data *data;
    } checkers[THREADS_MAX];
};

/* ---- what came of them ---- */

static void note_failure(struct p2ps_credentials *credentials, const struct p2ps_job *job)
{
    struct entitle_view host = p2ps_text_view(&job->host), user = p2ps_text_view(&job->user);

    credentials->stats.refused++;
    p2ps_backoff_count(&credentials->backoff, credentials->config.now(), host, user);
    md_log(MD_LOG_WARNING, "login: host=%.*s: wrong password for user %.*s", (int)host.length,
           host.data, (int)user.length, user.data);
}

static void note_success(struct p2ps_credentials *credentials, const struct p2ps_job *job)
{
    struct entitle_view user = p2ps_text_view(&job->user);

    p2ps_known_put(&credentials->known, credentials->config.now(), job->sum);
    p2ps_backoff_forgive(&credentials->backoff, p2ps_text_view(&job->host), user);
}

/* ---- questions ---- */

static enum entitle_verdict deny(struct entitle_answer *out, enum entitle_reason reason,
                                 const char *text)
{
    out->reason = reason;
    snprintf(out->text, sizeof(out->text), "%s", text);
    return out->verdict = ENTITLE_DENY;
}

static enum entitle_verdict judge(const struct p2ps_credentials *credentials,
                                  const struct entitle_query *query, struct entitle_answer *out)
{
    const struct entitle_rules *rules =
        atomic_load_explicit(credentials->config.rules, memory_order_acquire);
    struct entitle_query login;

    if (query->kind != ENTITLE_LOGIN && query->kind != ENTITLE_AGAIN)
        return entitle_rules_judge(rules, query, out);
    login = *query;
    if (login.now_s == 0)
        login.now_s = credentials->config.wall_s();
    return entitle_rules_judge(rules, &login, out);
}

/* The password fits: the rules that are in force now say the rest. */
static enum entitle_verdict judge_proof(const struct p2ps_credentials *credentials,
                                        const struct entitle_query *login, uint64_t proof,
                                        struct entitle_answer *out)
{
    struct entitle_query query = *login;

    query.kind = ENTITLE_AGAIN;
    query.by = ENTITLE_BY_PASSWORD;
    query.proof = proof;
    return judge(credentials, &query, out);
}

/* A password that crypt(3) would cut is one that nobody has. */
static bool can_fit(struct entitle_view password)
{
    return password.length < P2PS_PASSWORD_MAX && !memchr(password.data, 0, password.length);
}

/* Under the lock. `sum` NULL: a signed token waits. */
static enum entitle_verdict wait_for_thread(struct p2ps_credentials *credentials, unsigned worker,
                                            const struct entitle_query *query,
                                            struct entitle_view user, const char *sum,
                                            struct entitle_answer *out)
{
    struct p2ps_job *job = NULL;

    if (sum &&
        p2ps_backoff_holds(&credentials->backoff, credentials->config.now(), query->host, user)) {
        credentials->stats.held_back++;
        return deny(out, ENTITLE_BUSY, "too many wrong passwords; try again in a minute");
    }
    if (credentials->waiting < credentials->config.queue_max)
        job = p2ps_job_create(query, out, user, sum);
    if (!job) {
        credentials->stats.overflow++;
        return deny(out, ENTITLE_BUSY, "too many logins at once; try again");
    }
    job->worker = worker;
    p2ps_job_append(&credentials->questions, job);
    credentials->waiting++;
    pthread_cond_signal(&credentials->changed);
    return ENTITLE_PENDING;
}

static enum entitle_verdict look_at(struct worker *worker, const struct entitle_query *query,
                                    struct entitle_answer *out)
{
    struct p2ps_credentials *credentials = worker->credentials;
    bool is_token_user = query->user.length == 0;
    struct p2ps_text user;
    char sum[AUDIT_SUM_SIZE];

    p2ps_text_copy(&user, is_token_user ? entitle_text(out->user) : query->user);
    if (!can_fit(query->password))
        return deny(out, ENTITLE_OTHER, "user name or password refused");
    p2ps_known_sum(
        &credentials->known,
        (const struct entitle_view[]){ p2ps_text_view(&user), out->hash, query->password }, sum);
    pthread_mutex_lock(&credentials->lock);
    bool fits =
        !out->is_decoy && p2ps_known_has(&credentials->known, credentials->config.now(), sum);
    credentials->stats.cached += fits;
    enum entitle_verdict verdict =
        fits ? ENTITLE_ALLOW
             : wait_for_thread(credentials, worker->index, query, p2ps_text_view(&user), sum, out);
    pthread_mutex_unlock(&credentials->lock);
    if (!fits)
        return verdict;
    struct entitle_query named = *query;
    named.user = p2ps_text_view(&user);
    verdict = judge_proof(credentials, &named, out->proof, out);
    if (is_token_user)
        snprintf(out->user, sizeof(out->user), "%.*s", (int)user.length, user.bytes);
    return verdict;
}

static bool is_signed(const struct p2ps_credentials *credentials, const struct entitle_query *query)
{
    return query->kind == ENTITLE_LOGIN && query->is_token && credentials->config.tokens &&
           p2ps_tokens_takes(credentials->config.tokens, query->token);
}

static enum entitle_verdict look_at_token(struct worker *worker, const struct entitle_query *query,
                                          uint64_t ticket, struct entitle_answer *out)
{
    struct p2ps_credentials *credentials = worker->credentials;

    *out = (struct entitle_answer){ .ticket = ticket };
    if (query->token.length > JWT_TOKEN_MAX) {
        out->token_error = JWT_MALFORMED;
        return deny(out, ENTITLE_OTHER, "token refused: it is too long");
    }
    pthread_mutex_lock(&credentials->lock);
    enum entitle_verdict verdict =
        wait_for_thread(credentials, worker->index, query, query->user, NULL, out);
    pthread_mutex_unlock(&credentials->lock);
    return verdict;
}

/* Of a token that no thread looks at: it is opaque, or an authority outside judges it. */
static void show_token(struct worker *worker, struct entitle_query *query)
{
    struct entitle_shown *shown = &worker->shown[ENTITLE_ANSWERS_MAX];

    if (query->kind != ENTITLE_LOGIN || query->token.length == 0 ||
        query->token.length > JWT_TOKEN_MAX)
        return;
    p2ps_tokens_show(query->token, shown);
    query->shown = shown;
}

static enum entitle_verdict judge_other(struct worker *worker, const struct entitle_query *query,
                                        uint64_t ticket, struct entitle_answer *out)
{
    enum entitle_verdict verdict = judge(worker->credentials, query, out);

    out->ticket = ticket;
    p2ps_locks_note(&worker->credentials->locks, worker->credentials->config.now, query, out);
    p2ps_shadow_compare(&worker->credentials->shadow, worker->index, query, out);
    return verdict;
}

static enum entitle_verdict ask(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out)
{
    struct worker *worker = self;
    struct p2ps_credentials *credentials = worker->credentials;

    if (query->kind != ENTITLE_LOGIN && query->kind != ENTITLE_AGAIN)
        return judge_other(worker, query, ticket, out);
    if (is_signed(credentials, query))
        return look_at_token(worker, query, ticket, out);
    struct entitle_query login = *query;
    const char *why = p2ps_plain_refuse(&credentials->plain, credentials->config.now(), query);
    if (why) {
        *out = (struct entitle_answer){ .ticket = ticket };
        return deny(out, ENTITLE_OTHER, why);
    }
    show_token(worker, &login);
    enum entitle_verdict verdict = judge(credentials, &login, out);

    if (query->kind == ENTITLE_AGAIN && query->by == ENTITLE_BY_JWT)
        out->roles = query->roles.length ? query->roles.data : NULL; /* until the next token */
    out->ticket = ticket;
    if (verdict == ENTITLE_PENDING && !out->is_outside)
        verdict = look_at(worker, &login, out);
    out->ticket = ticket;
    out->shown = query->kind == ENTITLE_LOGIN ? login.shown : NULL;
    login.now_s = credentials->config.wall_s();
    p2ps_shadow_compare(&credentials->shadow, worker->index, &login, out);
    return verdict;
}

/* ---- answers ---- */

/* Names the line that is about the user now. */
static void refuse(const struct p2ps_credentials *credentials, const struct entitle_query *query,
                   struct entitle_answer *out)
{
    struct entitle_answer now;

    judge(credentials, query, &now);
    out->file = now.file;
    out->line = now.line;
    deny(out, ENTITLE_OTHER, "user name or password refused");
}

static void answer_of(struct worker *worker, int place, const struct p2ps_job *job,
                      struct entitle_answer *out)
{
    struct p2ps_credentials *credentials = worker->credentials;
    struct entitle_shown *shown = &worker->shown[place];
    struct entitle_query query = p2ps_job_query(job);
    char which[ENTITLE_TEXT_MAX + 8];

    query.now_s = credentials->config.wall_s();
    if (job->result) { /* it says who it is, the rules that are in force now say the rest */
        p2ps_tokens_answer(job->result,
                           atomic_load_explicit(credentials->config.rules, memory_order_acquire),
                           &query, worker->roles[place], out);
        snprintf(which, sizeof(which), "user %s", job->result->user);
        if (!job->result->error && (out->token_error == ENTITLE_TOKEN_REFUSED ||
                                    out->token_error == ENTITLE_TOKEN_REVOKED))
            p2ps_tokens_say(credentials->config.tokens, credentials->config.now(), query.host,
                            which, out->text);
        out->ticket = job->answer.ticket;
        *shown = job->result->shown;
        out->shown = shown;
        p2ps_shadow_compare_token(&credentials->shadow, worker->index, job->result, &query, out);
        return;
    }
    *out = job->answer;
    if (job->fits)
        judge_proof(credentials, &query, job->answer.proof, out);
    else
        refuse(credentials, &query, out);
    out->ticket = job->answer.ticket;
    *shown = job->shown;
    out->shown = job->is_shown ? shown : NULL;
    if (job->has_token_user)
        snprintf(out->user, sizeof(out->user), "%.*s", (int)job->user.length, job->user.bytes);
    if (job->fits) /* else the other file may have another hash */
        p2ps_shadow_compare(&credentials->shadow, worker->index, &query, out);
}

static int answers(void *self, struct entitle_answer out[], int max)
{
    struct worker *worker = self;
    struct p2ps_credentials *credentials = worker->credentials;
    int count = 0;

    if (!atomic_load_explicit(&worker->has_answers, memory_order_acquire))
        return 0;
    while (count < max && count < ENTITLE_ANSWERS_MAX) {
        pthread_mutex_lock(&credentials->lock);
        struct p2ps_job *job = p2ps_job_next(&worker->answers);
        atomic_store_explicit(&worker->has_answers, worker->answers.first != NULL,
                              memory_order_release);
        pthread_mutex_unlock(&credentials->lock);
        if (!job)
            break;
        answer_of(worker, count, job, &out[count]);
        count++;
        p2ps_job_forget(job);
    }
    return count;
}

/* ---- the threads ---- */

static bool fits(const char *password, const char *hash, struct crypt_data *data)
{
    const char *made = crypt_r(password, hash, data);
    unsigned difference = 0;
    size_t length = strlen(hash);

    if (!made || strlen(made) != length || made[0] == '*')
        return false;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(uint8_t)made[i] ^ (unsigned)(uint8_t)hash[i];
    return difference == 0;
}

/* Under the lock, which is open while the password is looked at. */
static void check_password(struct p2ps_credentials *credentials, struct p2ps_job *job,
                           struct crypt_data *data)
{
    /* Another one may have been faster. */
    job->fits =
        !job->is_decoy && p2ps_known_has(&credentials->known, credentials->config.now(), job->sum);
    if (!job->fits) {
        pthread_mutex_unlock(&credentials->lock);
        bool is_right = fits(job->password, job->hash, data);
        pthread_mutex_lock(&credentials->lock);
        credentials->stats.checked++;
        job->fits = is_right && !job->is_decoy;
        if (job->fits)
            note_success(credentials, job);
        else
            note_failure(credentials, job);
    }
    explicit_bzero(job->password, sizeof(job->password));
}

/* The log has enough of it to find it again, and nothing to log in with. */
static void check_token(struct p2ps_credentials *credentials, struct p2ps_job *job)
{
    struct entitle_view host = p2ps_text_view(&job->host);
    char sum[AUDIT_SUM_SIZE], which[20];

    pthread_mutex_unlock(&credentials->lock);
    p2ps_tokens_check(credentials->config.tokens,
                      (struct entitle_view){ job->token, job->token_length },
                      credentials->config.wall_s(), job->result);
    if (job->result->error) {
        audit_sum(job->token, job->token_length, sum);
        snprintf(which, sizeof(which), "sha256:%.8s", sum);
        p2ps_tokens_say(credentials->config.tokens, credentials->config.now(), host, which,
                        job->result->why);
    }
    explicit_bzero(job->token, job->token_length);
    pthread_mutex_lock(&credentials->lock);
    credentials->stats.tokens++;
    credentials->stats.tokens_refused += job->result->error != 0;
}

static void check(struct p2ps_credentials *credentials, struct p2ps_job *job,
                  struct crypt_data *data)
{
    if (job->result)
        check_token(credentials, job);
    else
        check_password(credentials, job, data);
    struct worker *worker = &credentials->workers[job->worker];
    p2ps_job_append(&worker->answers, job);
    atomic_store_explicit(&worker->has_answers, true, memory_order_release);
    if (worker->wake)
        worker->wake(worker->owner);
}

static void *run(void *argument)
{
    struct checker *checker = argument;
    struct p2ps_credentials *credentials = checker->credentials;

    md_caps_drop();
    md_thread_settled(&checker->thread);
    pthread_mutex_lock(&credentials->lock);
    while (!credentials->stop) {
        struct p2ps_job *job = p2ps_job_next(&credentials->questions);

        if (job) {
            credentials->waiting--;
            check(credentials, job, checker->data);
        } else {
            pthread_cond_wait(&credentials->changed, &credentials->lock);
        }
    }
    pthread_mutex_unlock(&credentials->lock);
    return NULL;
}

/* ---- life ---- */

static int start_threads(struct p2ps_credentials *credentials)
{
    int err = MD_OK;

    for (unsigned i = 0; i < credentials->config.threads && err == MD_OK; i++) {
        struct checker *checker = &credentials->checkers[i];

        checker->credentials = credentials;
        checker->data = calloc(1, sizeof(*checker->data));
        err = checker->data ? md_thread_start(&checker->thread, run, checker) : MD_ERR_NOMEM;
    }
    return err;
}

static bool make_secret(struct p2ps_backoff *backoff)
{
    size_t size = sizeof(backoff->secret);

    return getrandom(backoff->secret, size, 0) == (ssize_t)size;
}

int p2ps_credentials_create(const struct p2ps_credentials_config *config,
                            struct p2ps_credentials **out)
{
    struct p2ps_credentials *credentials = calloc(1, sizeof(*credentials));

    *out = NULL;
    if (!credentials)
        return MD_ERR_NOMEM;
    credentials->config = *config;
    credentials->shadow.rules = config->shadow;
    if (credentials->config.threads > THREADS_MAX)
        credentials->config.threads = THREADS_MAX;
    pthread_mutex_init(&credentials->lock, NULL);
    pthread_cond_init(&credentials->changed, NULL);
    pthread_mutex_init(&credentials->plain.lock, NULL);
    pthread_mutex_init(&credentials->locks.lock, NULL);
    for (unsigned i = 0; i < WORKERS; i++) {
        credentials->workers[i].credentials = credentials;
        credentials->workers[i].index = i;
    }
    int err = p2ps_known_init(&credentials->known, config->cache_ns);
    if (err == MD_OK && !make_secret(&credentials->backoff))
        err = MD_ERR_NOMEM;
    if (err == MD_OK)
        err = start_threads(credentials);
    if (err != MD_OK) {
        p2ps_credentials_destroy(credentials);
        return err;
    }
    *out = credentials;
    return MD_OK;
}

static void forget_all(struct p2ps_jobs *list)
{
    struct p2ps_job *job;

    while ((job = p2ps_job_next(list)))
        p2ps_job_forget(job);
}

void p2ps_credentials_destroy(struct p2ps_credentials *credentials)
{
    if (!credentials)
        return;
    pthread_mutex_lock(&credentials->lock);
    credentials->stop = true;
    pthread_cond_broadcast(&credentials->changed);
    pthread_mutex_unlock(&credentials->lock);
    for (unsigned i = 0; i < credentials->config.threads; i++) {
        md_thread_join(&credentials->checkers[i].thread);
        free(credentials->checkers[i].data);
    }
    forget_all(&credentials->questions);
    for (unsigned i = 0; i < WORKERS; i++)
        forget_all(&credentials->workers[i].answers);
    pthread_cond_destroy(&credentials->changed);
    pthread_mutex_destroy(&credentials->lock);
    pthread_mutex_destroy(&credentials->plain.lock);
    pthread_mutex_destroy(&credentials->locks.lock);
    p2ps_known_fini(&credentials->known);
    free(credentials);
}

struct entitle_authority p2ps_credentials_authority(struct p2ps_credentials *credentials,
                                                    unsigned worker)
{
    return (struct entitle_authority){ .ask = ask,
                                       .answers = answers,
                                       .self = &credentials->workers[worker] };
}

void p2ps_credentials_record(struct p2ps_credentials *credentials, unsigned worker,
                             const struct entitle_recorder *recorder)
{
    credentials->shadow.recorders[worker] = *recorder;
}

uint64_t p2ps_credentials_reissue(const struct p2ps_credentials *credentials, uint64_t expires_s)
{
    const struct p2ps_credentials_config *config = &credentials->config;

    return config->tokens && expires_s
               ? p2ps_tokens_reissue(config->tokens, config->wall_s(), expires_s)
               : 0;
}

void p2ps_credentials_plain_set(struct p2ps_credentials *credentials, enum p2ps_plain_policy policy)
{
    atomic_store_explicit(&credentials->plain.policy, policy, memory_order_relaxed);
}

void p2ps_credentials_wake_set(struct p2ps_credentials *credentials, unsigned worker,
                               void (*wake)(void *owner), void *owner)
{
    pthread_mutex_lock(&credentials->lock);
    credentials->workers[worker].wake = wake;
    credentials->workers[worker].owner = owner;
    pthread_mutex_unlock(&credentials->lock);
}

void p2ps_credentials_stats(struct p2ps_credentials *credentials,
                            struct p2ps_credentials_stats *out)
{
    pthread_mutex_lock(&credentials->lock);
    *out = credentials->stats;
    out->locks_bad = atomic_load_explicit(&credentials->locks.bad, memory_order_relaxed);
    out->locks_strange = atomic_load_explicit(&credentials->locks.strange, memory_order_relaxed);
    out->shadow_differs = atomic_load_explicit(&credentials->shadow.differs, memory_order_relaxed);
    pthread_mutex_unlock(&credentials->lock);
}
