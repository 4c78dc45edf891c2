/* token.c - a token to what tokenhash= of an access file wants, and a signed one to its verdict. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/err.h"
#include "conf/conf.h"
#include "conf/options.h"
#include "jwt/jwt.h"
#include "rules.h"

#define TEXT_MAX 256

static int refuse(const char *text)
{
    fprintf(stderr, "rmdsaccess: %s\n", text);
    return MD_EXIT_CONFIG;
}

/* NULL: there is none, or it is too long; the reason was printed. */
static char *read_token(const char *prompt)
{
    static char token[JWT_TOKEN_MAX + 2];

    if (!access_secret_read(prompt, token, sizeof(token)) || !token[0]) {
        refuse("a token is expected, as the first line of standard input");
        return NULL;
    }
    if (strlen(token) <= JWT_TOKEN_MAX)
        return token;
    refuse("the token is too long: 16384 bytes are allowed");
    return NULL;
}

int access_tokenhash(const char *const words[], size_t count)
{
    char sum[AUDIT_SUM_SIZE];
    char *token = read_token("Token: ");

    (void)words;
    (void)count;
    if (!token)
        return MD_EXIT_CONFIG;
    audit_sum(token, strlen(token), sum);
    explicit_bzero(token, strlen(token));
    printf("%s\n", sum);
    return MD_EXIT_OK;
}

/* ---- a signed one ---- */

/* The checks of a token; each of them as a parameter of rmds.cnf has it. */
struct demands {
    char keys[1024], issuer[TEXT_MAX], audience[TEXT_MAX], scope[TEXT_MAX], user[TEXT_MAX];
    char algorithms[TEXT_MAX];
    uint64_t skew_s, life_s;
};

struct place {
    const char *key, *param;
    char *text;
    size_t size;
};
#define PLACES 6

static void places_of(struct demands *demands, struct place places[PLACES])
{
    const struct place all[PLACES] = {
        { "jwks=", "jwksFile", demands->keys, sizeof(demands->keys) },
        { "issuer=", "jwtIssuer", demands->issuer, TEXT_MAX },
        { "audience=", "jwtAudience", demands->audience, TEXT_MAX },
        { "scope=", "jwtScope", demands->scope, TEXT_MAX },
        { "user=", "jwtUserClaim", demands->user, TEXT_MAX },
        { "algorithms=", "jwtAlgorithms", demands->algorithms, TEXT_MAX },
    };

    memcpy(places, all, sizeof(all));
}

static bool read_seconds(const char *word, const char *key, uint64_t *out)
{
    char *end;

    if (strncmp(word, key, strlen(key)) != 0)
        return false;
    *out = strtoull(word + strlen(key), &end, 10);
    return word[strlen(key)] && !*end;
}

static bool read_word(struct demands *demands, const char *word)
{
    struct place places[PLACES];

    places_of(demands, places);
    for (unsigned i = 0; i < PLACES; i++) {
        size_t length = strlen(places[i].key);
        if (strncmp(word, places[i].key, length) == 0)
            return (size_t)snprintf(places[i].text, places[i].size, "%s", word + length) <
                   places[i].size;
    }
    return read_seconds(word, "skew=", &demands->skew_s) ||
           read_seconds(word, "life=", &demands->life_s);
}

static void find(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                 const char *text)
{
    (void)arg;
    if (severity == MD_CONF_ERROR)
        fprintf(stderr, "rmdsaccess: %s:%u: %s\n", file ? file : "rmds.cnf", line, text);
}

static bool read_conf(struct demands *demands, const char *path)
{
    const struct md_conf_options options = { .program = "p2ps", .file = path, .sink = find };
    struct place places[PLACES];
    struct md_conf *conf;

    if (md_conf_load(&options, &conf) != MD_OK)
        return false;
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    places_of(demands, places);
    for (unsigned i = 0; i < PLACES; i++)
        snprintf(places[i].text, places[i].size, "%s", md_conf_string(&daemon, places[i].param));
    demands->skew_s = md_conf_time_ns(&daemon, "jwtSkew") / 1000000000u;
    demands->life_s = md_conf_time_ns(&daemon, "jwtMaxLife") / 1000000000u;
    md_conf_destroy(conf);
    return true;
}

/* 0: one of them is none. */
static unsigned algorithms_of(const char *list)
{
    char copy[TEXT_MAX], *rest = copy, *name;
    unsigned bits = 0;

    snprintf(copy, sizeof(copy), "%s", list);
    while ((name = strsep(&rest, ", "))) {
        unsigned bit = jwt_algorithm_named(rwf_text(name));
        if (*name && !bit)
            return 0;
        bits |= bit;
    }
    return bits;
}

static void pass_over(void *self, const char *text)
{
    fprintf(stderr, "rmdsaccess: %s: %s\n", (const char *)self, text);
}

/* From malloc(), one byte more than there may be; NULL: the reason was printed. */
static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(JWT_FILE_MAX + 1) : NULL;

    if (text)
        *length = fread(text, 1, JWT_FILE_MAX + 1, file);
    if (!text || ferror(file)) {
        fprintf(stderr, "rmdsaccess: %s: %s\n", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static int read_keys(struct demands *demands, struct jwt_keys **keys)
{
    char why[256] = "no memory";
    size_t length;

    if (!demands->keys[0])
        return refuse("jwks=FILE is expected, or -c with an rmds.cnf that has jwksFile");
    char *text = read_file(demands->keys, &length);
    if (!text)
        return MD_EXIT_FILE;
    int err =
        jwt_keys_create(rwf_bytes(text, length), pass_over, demands->keys, why, sizeof(why), keys);
    free(text);
    if (err == MD_OK)
        return MD_EXIT_OK;
    fprintf(stderr, "rmdsaccess: %s: %s\n", demands->keys, why);
    return MD_EXIT_FILE;
}

static void print_claim(void *self, struct rwf_bytes name, struct rwf_bytes value)
{
    (void)self;
    printf("  %.*s  %.*s\n", (int)name.length, (const char *)name.data, (int)value.length,
           (const char *)value.data);
}

static int check(struct demands *demands, const char *token, unsigned algorithms)
{
    const struct jwt_rules rules = {
        .algorithms = algorithms,
        .issuer = rwf_text(demands->issuer),
        .audience = rwf_text(demands->audience),
        .scope = rwf_text(demands->scope),
        .user_claim = rwf_text(demands->user),
        .skew_s = demands->skew_s,
        .life_max_s = demands->life_s,
    };
    struct jwt_keys *keys;
    struct jwt_claims claims;
    char sum[AUDIT_SUM_SIZE], until[32];
    int code = read_keys(demands, &keys);

    if (code != MD_EXIT_OK)
        return code;
    enum jwt_verdict verdict =
        jwt_check(keys, &rules, rwf_text(token), (uint64_t)time(NULL), print_claim, NULL, &claims);
    jwt_keys_destroy(keys);
    audit_sum(token, strlen(token), sum);
    if (verdict != JWT_GOOD) {
        printf("refused  %s (AuthenticationErrorCode %d)  sha256=%s\n", claims.why, (int)verdict,
               sum);
        return MD_EXIT_CONFIG;
    }
    time_t ends = (time_t)claims.expires_s;
    struct tm tm;
    strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&ends, &tm));
    printf("good  %s, until %s  sha256=%s\n", claims.user, until, sum);
    return MD_EXIT_OK;
}

int access_token(const char *const words[], size_t count, const char *conf)
{
    struct demands demands = {
        .user = "sub", .algorithms = "RS256,ES256,EdDSA", .skew_s = 60, .life_s = 86400
    };

    if (conf && !read_conf(&demands, conf))
        return MD_EXIT_FILE;
    for (size_t i = 1; i < count; i++) {
        if (read_word(&demands, words[i]))
            continue;
        fprintf(stderr,
                "rmdsaccess: \"%s\": jwks=FILE, issuer=TEXT, audience=TEXT, scope=WORD, "
                "user=CLAIM, algorithms=LIST, skew=SECONDS or life=SECONDS is expected\n",
                words[i]);
        return MD_EXIT_CONFIG;
    }
    unsigned algorithms = algorithms_of(demands.algorithms);
    if (!algorithms)
        return refuse("algorithms= has to name some of RS256,ES256,EdDSA");
    const char *token = strcmp(words[0], "-") == 0 ? read_token("Token: ") : words[0];
    return token ? check(&demands, token, algorithms) : MD_EXIT_CONFIG;
}
