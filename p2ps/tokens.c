/* tokens.c - see tokens.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "distance.h"

#define LOOK_NS      10000000000ull
#define REISSUE_LEAD 10u /* seconds before the end, if there are as many */
#define TEXT_MAX     256

/* In force, or about to be: nothing of it changes. */
struct set {
    unsigned users; /* threads that check with it, and one for being in force */
    struct jwt_keys *keys;
    struct jwt_rules rules;
    char path[1024];
    struct stat file;
    char issuer[TEXT_MAX], audience[TEXT_MAX], scope[TEXT_MAX], user_claim[TEXT_MAX];
};

struct p2ps_tokens {
    pthread_mutex_t lock; /* guards `set`, the users of each, and what is below up to looked_ns */
    struct set *set;      /* NULL: no keys, no signed token is taken */
    unsigned reissue_percent;
    struct p2ps_distance bad; /* lines about bad tokens */
    uint64_t looked_ns;
    struct stat refused; /* the file of that time was of no use, and the log says so */
};

struct p2ps_tokens_fresh {
    struct p2ps_tokens *tokens;
    struct set *set;
    unsigned reissue_percent;
};

/* ---- sets ---- */

static void free_set(struct set *set)
{
    if (!set)
        return;
    jwt_keys_destroy(set->keys);
    free(set);
}

static struct set *take(struct p2ps_tokens *tokens)
{
    pthread_mutex_lock(&tokens->lock);
    struct set *set = tokens->set;
    if (set)
        set->users++;
    pthread_mutex_unlock(&tokens->lock);
    return set;
}

static void give(struct p2ps_tokens *tokens, struct set *set)
{
    if (!set)
        return;
    pthread_mutex_lock(&tokens->lock);
    bool is_last = --set->users == 0;
    pthread_mutex_unlock(&tokens->lock);
    if (is_last)
        free_set(set);
}

static void put_in_force(struct p2ps_tokens *tokens, struct set *set)
{
    pthread_mutex_lock(&tokens->lock);
    struct set *old = tokens->set;
    tokens->set = set;
    if (set)
        set->users = 1;
    pthread_mutex_unlock(&tokens->lock);
    give(tokens, old);
    if (set)
        md_log(MD_LOG_NOTICE, "jwksFile: %u keys read from %s", jwt_keys_count(set->keys),
               set->path);
}

/* ---- the file ---- */

static void warn(void *self, const char *text)
{
    const struct set *set = self;

    md_log(MD_LOG_WARNING, "jwksFile %s: %s", set->path, text);
}

static int read_text(struct set *set, char **text, size_t *length, char *why, size_t size)
{
    FILE *file = fopen(set->path, "rbe");
    int err = MD_ERR_SYS;

    *text = NULL;
    if (!file) {
        snprintf(why, size, "jwksFile %s: %s", set->path, strerror(errno));
        return err;
    }
    if (md_secret_look(fileno(file), set->path, MD_SECRET_RULES, why, size) == MD_SECRET_REFUSED)
        err = MD_ERR_SYS; /* whoever writes the keys is everybody */
    else if (fstat(fileno(file), &set->file) != 0 || !(*text = malloc(JWT_FILE_MAX + 1)))
        snprintf(why, size, "jwksFile %s: %s", set->path, strerror(errno));
    else
        err = MD_OK;
    if (err == MD_OK) {
        *length = fread(*text, 1, JWT_FILE_MAX + 1, file);
        if (ferror(file)) {
            snprintf(why, size, "jwksFile %s: %s", set->path, strerror(errno));
            err = MD_ERR_SYS;
        }
    }
    fclose(file);
    return err;
}

static int read_keys(struct set *set, char *why, size_t size)
{
    char *text, reason[160];
    size_t length = 0;
    int err = read_text(set, &text, &length, why, size);

    if (err == MD_OK) {
        err =
            jwt_keys_create(rwf_bytes(text, length), warn, set, reason, sizeof(reason), &set->keys);
        if (err != MD_OK)
            snprintf(why, size, "jwksFile %s: %s", set->path,
                     err == MD_ERR_NOMEM ? "no memory" : reason);
    }
    free(text);
    return err;
}

/* ---- parameters ---- */

static struct rwf_bytes text_of(const struct md_conf_object *object, const char *name,
                                char text[TEXT_MAX])
{
    snprintf(text, TEXT_MAX, "%s", md_conf_string(object, name));
    return rwf_text(text);
}

static int read_rules(struct set *set, const struct md_conf_object *object, char *why, size_t size)
{
    char name[32];

    set->rules = (struct jwt_rules){
        .issuer = text_of(object, "jwtIssuer", set->issuer),
        .audience = text_of(object, "jwtAudience", set->audience),
        .scope = text_of(object, "jwtScope", set->scope),
        .user_claim = text_of(object, "jwtUserClaim", set->user_claim),
        .skew_s = md_conf_time_ns(object, "jwtSkew") / 1000000000u,
        .life_max_s = md_conf_time_ns(object, "jwtMaxLife") / 1000000000u,
    };
    for (size_t i = 0; md_conf_list(object, "jwtAlgorithms", i, name, sizeof(name)); i++) {
        unsigned bit = jwt_algorithm_named(rwf_text(name));
        if (!bit) {
            snprintf(why, size, "jwtAlgorithms: %s is none of RS256, ES256, EdDSA", name);
            return MD_ERR_MALFORMED;
        }
        set->rules.algorithms |= bit;
    }
    if (set->rules.algorithms && set->rules.user_claim.length)
        return MD_OK;
    snprintf(why, size, "%s is empty: no token could be taken",
             set->rules.algorithms ? "jwtUserClaim" : "jwtAlgorithms");
    return MD_ERR_MALFORMED;
}

int p2ps_tokens_read(struct p2ps_tokens *tokens, const struct md_conf_object *object, char *why,
                     size_t size, struct p2ps_tokens_fresh **out)
{
    struct p2ps_tokens_fresh *fresh = calloc(1, sizeof(*fresh));
    const char *path = md_conf_string(object, "jwksFile");
    int err = MD_OK;

    *out = NULL;
    snprintf(why, size, "no memory");
    if (!fresh)
        return MD_ERR_NOMEM;
    fresh->tokens = tokens;
    fresh->reissue_percent = md_conf_u32(object, "tokenReissueAt");
    if (path[0]) {
        fresh->set = calloc(1, sizeof(*fresh->set));
        err = fresh->set ? MD_OK : MD_ERR_NOMEM;
    }
    if (fresh->set) {
        snprintf(fresh->set->path, sizeof(fresh->set->path), "%s", path);
        err = read_rules(fresh->set, object, why, size);
        if (err == MD_OK)
            err = read_keys(fresh->set, why, size);
    }
    if (err != MD_OK) {
        p2ps_tokens_discard(fresh);
        return err;
    }
    *out = fresh;
    return MD_OK;
}

void p2ps_tokens_commit(struct p2ps_tokens_fresh *fresh)
{
    pthread_mutex_lock(&fresh->tokens->lock);
    fresh->tokens->reissue_percent = fresh->reissue_percent;
    pthread_mutex_unlock(&fresh->tokens->lock);
    put_in_force(fresh->tokens, fresh->set);
    free(fresh);
}

void p2ps_tokens_discard(struct p2ps_tokens_fresh *fresh)
{
    free_set(fresh->set);
    free(fresh);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_size == b->st_size && a->st_ino == b->st_ino;
}

/* The same parameters with the file as it is now; the old keys stay if it is of no use. */
static void read_again(struct p2ps_tokens *tokens, const struct set *old)
{
    struct set *set = calloc(1, sizeof(*set));
    char why[1400];

    if (!set)
        return;
    *set = *old;
    set->keys = NULL;
    set->rules.issuer.data = (const uint8_t *)set->issuer;
    set->rules.audience.data = (const uint8_t *)set->audience;
    set->rules.scope.data = (const uint8_t *)set->scope;
    set->rules.user_claim.data = (const uint8_t *)set->user_claim;
    if (read_keys(set, why, sizeof(why)) == MD_OK) {
        put_in_force(tokens, set);
        return;
    }
    md_log(MD_LOG_ERROR, "%s; the keys that were read before stay in force", why);
    free_set(set);
}

void p2ps_tokens_look(struct p2ps_tokens *tokens, uint64_t now_ns)
{
    struct set *set;
    struct stat now;

    if (now_ns - tokens->looked_ns < LOOK_NS)
        return;
    tokens->looked_ns = now_ns;
    set = take(tokens);
    if (set && stat(set->path, &now) == 0 && !is_same_file(&now, &set->file) &&
        !is_same_file(&now, &tokens->refused)) {
        tokens->refused = now;
        read_again(tokens, set);
    }
    give(tokens, set);
}

/* ---- tokens ---- */

bool p2ps_tokens_takes(struct p2ps_tokens *tokens, struct entitle_view token)
{
    struct set *set = take(tokens);
    bool takes = set && jwt_is_like(rwf_bytes(token.data, token.length));

    give(tokens, set);
    return takes;
}

void p2ps_tokens_show(struct entitle_view token, struct entitle_shown *out)
{
    struct jwt_claims claims;
    bool is_read = jwt_peek(rwf_bytes(token.data, token.length), &claims);

    *out = (struct entitle_shown){ .issued_s = 0 };
    audit_sum(token.data, token.length, out->sum);
    out->is_signed = is_read || (token.length > 3 && memcmp(token.data, "eyJ", 3) == 0);
    out->is_unread = out->is_signed && !is_read;
    if (!is_read)
        return;
    out->issued_s = claims.issued_s;
    snprintf(out->jti, sizeof(out->jti), "%s", claims.id);
}

/* That part of what is left of its life, or a little before its end. */
uint64_t p2ps_tokens_reissue(struct p2ps_tokens *tokens, uint64_t wall_s, uint64_t expires_s)
{
    pthread_mutex_lock(&tokens->lock);
    unsigned percent = tokens->reissue_percent;
    pthread_mutex_unlock(&tokens->lock);
    uint64_t left_s = expires_s > wall_s ? expires_s - wall_s : 0;
    uint64_t part_s = left_s / 100 * percent + left_s % 100 * percent / 100;

    if (left_s > 2 * REISSUE_LEAD && part_s > left_s - REISSUE_LEAD)
        part_s = left_s - REISSUE_LEAD;
    return wall_s + part_s;
}

static void keep_claim(void *self, struct rwf_bytes name, struct rwf_bytes value)
{
    struct p2ps_token *token = self;
    size_t used = token->claims_length;

    if (value.length == 0)
        return;
    if (used + name.length + value.length + 2 > sizeof(token->claims)) {
        token->is_cut = true;
        return;
    }
    memcpy(token->claims + used, name.data, name.length);
    token->claims[used + name.length] = '\0';
    memcpy(token->claims + used + name.length + 1, value.data, value.length);
    token->claims[used + name.length + 1 + value.length] = '\0';
    token->claims_length = used + name.length + value.length + 2;
}

void p2ps_tokens_check(struct p2ps_tokens *tokens, struct entitle_view token, uint64_t wall_s,
                       struct p2ps_token *out)
{
    struct set *set = take(tokens);
    struct jwt_claims claims;

    memset(out, 0, sizeof(*out));
    out->error = JWT_KEY;
    snprintf(out->why, sizeof(out->why), "token refused: there are no keys");
    if (!set)
        return;
    out->error = (uint8_t)jwt_check(set->keys, &set->rules, rwf_bytes(token.data, token.length),
                                    wall_s, keep_claim, out, &claims);
    snprintf(out->why, sizeof(out->why), "token refused: %s", claims.why);
    memcpy(out->user, claims.user, sizeof(claims.user));
    out->expires_s = claims.expires_s;
    out->shown.is_signed = true;
    out->shown.issued_s = claims.issued_s;
    snprintf(out->shown.jti, sizeof(out->shown.jti), "%s", claims.id);
    audit_sum(token.data, token.length, out->shown.sum);
    if (out->error == JWT_GOOD)
        out->reissue_s = p2ps_tokens_reissue(tokens, wall_s, claims.expires_s);
    give(tokens, set);
}

void p2ps_tokens_say(struct p2ps_tokens *tokens, uint64_t now_ns, struct entitle_view host,
                     const char *which, const char *why)
{
    char more[60] = "";
    uint64_t held;

    pthread_mutex_lock(&tokens->lock);
    bool says = p2ps_distance_says(&tokens->bad, now_ns, &held);
    pthread_mutex_unlock(&tokens->lock);
    if (says && held)
        snprintf(more, sizeof(more), "; %llu more since the last such line",
                 (unsigned long long)held);
    if (says)
        md_log(MD_LOG_WARNING, "login: host=%.*s: %s: %s%s", (int)host.length, host.data, which,
               why, more);
}

/* ---- answers ---- */

/* "": no roles. False: there is no room for all of them, and it could be one of those that is
 * denied something. */
static bool roles_of(const struct p2ps_token *token, const struct entitle_rules *rules,
                     char out[P2PS_TOKEN_ROLES])
{
    const struct entitle_view claims = { token->claims, token->claims_length };

    out[0] = '\0';
    return !entitle_rules_has_claims(rules) ||
           (!token->is_cut && entitle_rules_claimed_roles(rules, claims, out, P2PS_TOKEN_ROLES));
}

static void refuse(struct entitle_answer *out, uint8_t error, const char *why)
{
    *out = (struct entitle_answer){ .verdict = ENTITLE_DENY, .token_error = error };
    snprintf(out->text, sizeof(out->text), "%s", why);
}

static bool is_of(struct entitle_view user, const char *name)
{
    return user.length == strlen(name) && memcmp(user.data, name, user.length) == 0;
}

void p2ps_tokens_answer(const struct p2ps_token *token, const struct entitle_rules *rules,
                        const struct entitle_query *login, char roles[P2PS_TOKEN_ROLES],
                        struct entitle_answer *out)
{
    struct entitle_query query = *login;

    if (token->error) {
        refuse(out, token->error, token->why);
        return;
    }
    if (login->user.length && !is_of(login->user, token->user)) {
        refuse(out, ENTITLE_TOKEN_OTHER_USER, "token refused: it is of another user");
        return;
    }
    if (!roles_of(token, rules, roles)) {
        refuse(out, ENTITLE_TOKEN_REFUSED, "token refused: it has more groups or roles than fit");
        return;
    }
    query.kind = ENTITLE_LOGIN;
    query.by = ENTITLE_BY_JWT;
    query.shown = &token->shown;
    query.user = entitle_text(token->user);
    query.roles = entitle_text(roles);
    entitle_rules_judge(rules, &query, out);
    out->by = ENTITLE_BY_JWT;
    out->is_proved = true;
    out->roles = roles[0] ? roles : NULL;
    out->expires_s = token->expires_s;
    out->reissue_s = token->reissue_s;
    memcpy(out->user, token->user, sizeof(out->user));
}

/* ---- life ---- */

int p2ps_tokens_create(struct p2ps_tokens **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    pthread_mutex_init(&(*out)->lock, NULL);
    return MD_OK;
}

void p2ps_tokens_destroy(struct p2ps_tokens *tokens)
{
    if (!tokens)
        return;
    free_set(tokens->set);
    pthread_mutex_destroy(&tokens->lock);
    free(tokens);
}
