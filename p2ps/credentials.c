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
#include "known.h"

#define THREADS_MAX  8
#define WORKERS      64
#define TEXT_MAX     128
#define PASSWORD_MAX 512 /* of crypt(3), with its zero */
/* A text of a login that outlives the question. */
struct text {
    size_t length;
    char bytes[TEXT_MAX];
};

/* A login that waits for a thread, then for its worker. */
struct job {
    struct job *next;
    unsigned worker;
    bool is_decoy, fits;
    char password[PASSWORD_MAX];
    char hash[ENTITLE_HASH_MAX];
    char sum[AUDIT_SUM_SIZE];
    struct text user, host, application, position, certificate;
    bool needs_certificate;
    bool has_token_user;       /* the user is whose token it is */
    struct p2ps_token *result; /* not a password: a signed token, and what it turned out to be */
    struct entitle_answer answer;
    size_t token_length;
    char token[];
};

struct list {
    struct job *first;
    struct job **end;
};

struct worker {
    struct p2ps_credentials *credentials;
    unsigned index;
    struct list answers;
    char roles[ENTITLE_ANSWERS_MAX][P2PS_TOKEN_ROLES]; /* of the answers that were taken last */
    _Atomic bool has_answers;
    void (*wake)(void *owner);
    void *owner;
};

struct p2ps_credentials {
    struct p2ps_credentials_config config;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct list questions;
    unsigned waiting;
    bool stop;
    struct p2ps_known known;
    struct p2ps_backoff backoff;
    struct p2ps_credentials_stats stats;
    struct worker workers[WORKERS];
    struct checker {
        struct md_thread thread;
        struct p2ps_credentials *credentials;
        struct crypt_data *data;
    } checkers[THREADS_MAX];
};

/* ---- lists ---- */

static void append(struct list *list, struct job *job)
{
    job->next = NULL;
    if (!list->first)
        list->end = &list->first;
    *list->end = job;
    list->end = &job->next;
}

static struct job *take_first(struct list *list)
{
    struct job *job = list->first;

    if (job)
        list->first = job->next;
    return job;
}

static void forget(struct job *job)
{
    free(job->result);
    explicit_bzero(job, sizeof(*job) + job->token_length);
    free(job);
}

static void copy(struct text *out, struct entitle_view text)
{
    out->length = text.length < sizeof(out->bytes) ? text.length : sizeof(out->bytes);
    if (out->length)
        memcpy(out->bytes, text.data, out->length);
}

static struct entitle_view view(const struct text *text)
{
    return (struct entitle_view){ text->bytes, text->length };
}

/* ---- what came of them ---- */

static void note_failure(struct p2ps_credentials *credentials, const struct job *job)
{
    struct entitle_view host = view(&job->host), user = view(&job->user);

    credentials->stats.refused++;
    p2ps_backoff_count(&credentials->backoff, credentials->config.now(), host, user);
    md_log(MD_LOG_WARNING, "login: host=%.*s: wrong password for user %.*s", (int)host.length,
           host.data, (int)user.length, user.data);
}

static void note_success(struct p2ps_credentials *credentials, const struct job *job)
{
    struct entitle_view user = view(&job->user);

    p2ps_known_put(&credentials->known, credentials->config.now(), job->sum);
    p2ps_backoff_forgive(&credentials->backoff, view(&job->host), user);
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
    return entitle_rules_judge(
        atomic_load_explicit(credentials->config.rules, memory_order_acquire), query, out);
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

static struct job *make_job(const struct entitle_query *query, const struct entitle_answer *answer,
                            struct entitle_view user, const char *sum)
{
    size_t token_length = sum ? 0 : query->token.length;
    struct job *job = calloc(1, sizeof(*job) + token_length);

    if (!job)
        return NULL;
    if (!sum) {
        job->result = calloc(1, sizeof(*job->result));
        if (!job->result) {
            free(job);
            return NULL;
        }
        job->token_length = token_length;
        memcpy(job->token, query->token.data, token_length);
    }
    job->is_decoy = answer->is_decoy;
    job->answer = *answer;
    job->answer.hash = (struct entitle_view){ NULL, 0 };
    job->answer.file = NULL; /* these rules may be gone before the answer is taken */
    job->answer.line = 0;
    job->has_token_user = query->user.length == 0;
    if (sum) {
        memcpy(job->password, query->password.data, query->password.length);
        memcpy(job->hash, answer->hash.data, answer->hash.length);
        memcpy(job->sum, sum, sizeof(job->sum));
    }
    copy(&job->user, user);
    copy(&job->host, query->host);
    copy(&job->application, query->application);
    copy(&job->position, query->position);
    copy(&job->certificate, query->certificate);
    job->needs_certificate = query->needs_certificate;
    return job;
}

/* A password that crypt(3) would cut is one that nobody has. */
static bool can_fit(struct entitle_view password)
{
    return password.length < PASSWORD_MAX && !memchr(password.data, 0, password.length);
}

/* Under the lock. `sum` NULL: a signed token waits. */
static enum entitle_verdict wait_for_thread(struct p2ps_credentials *credentials, unsigned worker,
                                            const struct entitle_query *query,
                                            struct entitle_view user, const char *sum,
                                            struct entitle_answer *out)
{
    struct job *job = NULL;

    if (sum &&
        p2ps_backoff_holds(&credentials->backoff, credentials->config.now(), query->host, user)) {
        credentials->stats.held_back++;
        return deny(out, ENTITLE_BUSY, "too many wrong passwords; try again in a minute");
    }
    if (credentials->waiting < credentials->config.queue_max)
        job = make_job(query, out, user, sum);
    if (!job) {
        credentials->stats.overflow++;
        return deny(out, ENTITLE_BUSY, "too many logins at once; try again");
    }
    job->worker = worker;
    append(&credentials->questions, job);
    credentials->waiting++;
    pthread_cond_signal(&credentials->changed);
    return ENTITLE_PENDING;
}

static enum entitle_verdict look_at(struct worker *worker, const struct entitle_query *query,
                                    struct entitle_answer *out)
{
    struct p2ps_credentials *credentials = worker->credentials;
    bool is_token_user = query->user.length == 0;
    struct text user;
    char sum[AUDIT_SUM_SIZE];

    copy(&user,
         is_token_user ? (struct entitle_view){ out->user, strlen(out->user) } : query->user);
    if (!can_fit(query->password))
        return deny(out, ENTITLE_OTHER, "user name or password refused");
    p2ps_known_sum(&credentials->known,
                   (const struct entitle_view[]){ view(&user), out->hash, query->password }, sum);
    pthread_mutex_lock(&credentials->lock);
    bool fits =
        !out->is_decoy && p2ps_known_has(&credentials->known, credentials->config.now(), sum);
    credentials->stats.cached += fits;
    enum entitle_verdict verdict =
        fits ? ENTITLE_ALLOW
             : wait_for_thread(credentials, worker->index, query, view(&user), sum, out);
    pthread_mutex_unlock(&credentials->lock);
    if (!fits)
        return verdict;
    struct entitle_query named = *query;
    named.user = view(&user);
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

static enum entitle_verdict ask(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out)
{
    struct worker *worker = self;

    if (is_signed(worker->credentials, query))
        return look_at_token(worker, query, ticket, out);
    enum entitle_verdict verdict = judge(worker->credentials, query, out);

    if (query->kind == ENTITLE_AGAIN && query->by == ENTITLE_BY_JWT)
        out->roles = query->roles.length ? query->roles.data : NULL; /* until the next token */
    out->ticket = ticket;
    if (verdict == ENTITLE_PENDING && !out->is_outside)
        verdict = look_at(worker, query, out);
    out->ticket = ticket;
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

static void answer_of(const struct p2ps_credentials *credentials, const struct job *job,
                      char roles[P2PS_TOKEN_ROLES], struct entitle_answer *out)
{
    const struct entitle_query query = {
        .user = view(&job->user),
        .host = view(&job->host),
        .application = view(&job->application),
        .position = view(&job->position),
        .certificate = view(&job->certificate),
        .needs_certificate = job->needs_certificate,
    };
    char which[ENTITLE_TEXT_MAX + 8];

    if (job->result) { /* it says who it is, the rules that are in force now say the rest */
        p2ps_tokens_answer(job->result,
                           atomic_load_explicit(credentials->config.rules, memory_order_acquire),
                           &query, roles, out);
        snprintf(which, sizeof(which), "user %s", job->result->user);
        if (!job->result->error && out->token_error == ENTITLE_TOKEN_REFUSED)
            p2ps_tokens_say(credentials->config.tokens, credentials->config.now(), query.host,
                            which, out->text);
        out->ticket = job->answer.ticket;
        return;
    }
    *out = job->answer;
    if (job->fits)
        judge_proof(credentials, &query, job->answer.proof, out);
    else
        refuse(credentials, &query, out);
    out->ticket = job->answer.ticket;
    if (job->has_token_user)
        snprintf(out->user, sizeof(out->user), "%.*s", (int)job->user.length, job->user.bytes);
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
        struct job *job = take_first(&worker->answers);
        atomic_store_explicit(&worker->has_answers, worker->answers.first != NULL,
                              memory_order_release);
        pthread_mutex_unlock(&credentials->lock);
        if (!job)
            break;
        answer_of(credentials, job, worker->roles[count], &out[count]);
        count++;
        forget(job);
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
static void check_password(struct p2ps_credentials *credentials, struct job *job,
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
static void check_token(struct p2ps_credentials *credentials, struct job *job)
{
    struct entitle_view host = view(&job->host);
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

static void check(struct p2ps_credentials *credentials, struct job *job, struct crypt_data *data)
{
    if (job->result)
        check_token(credentials, job);
    else
        check_password(credentials, job, data);
    struct worker *worker = &credentials->workers[job->worker];
    append(&worker->answers, job);
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
        struct job *job = take_first(&credentials->questions);

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
    if (credentials->config.threads > THREADS_MAX)
        credentials->config.threads = THREADS_MAX;
    pthread_mutex_init(&credentials->lock, NULL);
    pthread_cond_init(&credentials->changed, NULL);
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

static void forget_all(struct list *list)
{
    struct job *job;

    while ((job = take_first(list)))
        forget(job);
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
    pthread_mutex_unlock(&credentials->lock);
}
