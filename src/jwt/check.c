/* check.c - is a token good, and whose is it? See jwt/jwt.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "keys.h"
#include "text.h"

#define HEADER_MAX    2048
#define SIGNATURE_MAX 1024 /* of 8192 bits */
#define ES256_HALF    32
#define TRIES_MAX     8 /* keys that are tried where none is named */
#define ID_SHOWN      32

/* A token that is being checked. */
struct check {
    const struct jwt_keys *keys;
    const struct jwt_rules *rules;
    struct jwt_claims *out;
    struct rwf_bytes header, claims, signature; /* in base64url */
    struct rwf_bytes text;                      /* that was signed */
    uint64_t now_s;
};

static enum jwt_verdict refuse(const struct check *check, enum jwt_verdict verdict,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

static enum jwt_verdict refuse(const struct check *check, enum jwt_verdict verdict,
                               const char *format, ...)
{
    char *why = check->out->why;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof(check->out->why), format, arguments);
    va_end(arguments);
    for (; *why; why++) { /* it may quote the token */
        if (*why < 0x20 || *why > 0x7e)
            *why = '?';
    }
    ERR_clear_error();
    return verdict;
}

/* ---- the three parts ---- */

/* Up to the next point, which `rest` then begins behind; of the last part, all. */
static struct rwf_bytes part(struct rwf_bytes *rest)
{
    const uint8_t *point = memchr(rest->data, '.', rest->length);
    struct rwf_bytes one = { rest->data, point ? (size_t)(point - rest->data) : rest->length };

    *rest = point ? rwf_bytes(point + 1, rest->length - one.length - 1) : rwf_bytes(NULL, 0);
    return one;
}

static bool split(struct check *check, struct rwf_bytes token)
{
    struct rwf_bytes rest = token;

    check->header = part(&rest);
    if (!rest.data)
        return false;
    check->claims = part(&rest);
    if (!rest.data)
        return false;
    check->signature = part(&rest);
    check->text = rwf_bytes(token.data, check->header.length + 1 + check->claims.length);
    return !rest.data && check->header.length && check->claims.length;
}

bool jwt_is_like(struct rwf_bytes token)
{
    struct check check;

    return token.length > 3 && memcmp(token.data, "eyJ", 3) == 0 && split(&check, token);
}

/* ---- the signature ---- */

/* OpenSSL wants the two numbers in DER. Its length, or 0. */
static size_t to_der(const uint8_t *raw, uint8_t *out, size_t size)
{
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, ES256_HALF, NULL);
    BIGNUM *s = BN_bin2bn(raw + ES256_HALF, ES256_HALF, NULL);
    uint8_t *at = out;
    int length = 0;

    if (signature && r && s && ECDSA_SIG_set0(signature, r, s) == 1) {
        r = s = NULL; /* they are the signature's */
        length = i2d_ECDSA_SIG(signature, NULL);
        length = length > 0 && (size_t)length <= size ? i2d_ECDSA_SIG(signature, &at) : 0;
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(signature);
    return length > 0 ? (size_t)length : 0;
}

static bool fits(const struct check *check, const struct jwt_key *key, const uint8_t *signature,
                 size_t length)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = key->algorithm == JWT_EDDSA ? NULL : EVP_sha256();
    uint8_t der[2 * ES256_HALF + 16];

    if (key->algorithm == JWT_ES256) {
        length = length == 2 * ES256_HALF ? to_der(signature, der, sizeof(der)) : 0;
        signature = der;
    }
    bool fits =
        context && length > 0 && EVP_DigestVerifyInit(context, NULL, digest, NULL, key->key) == 1 &&
        EVP_DigestVerify(context, signature, length, check->text.data, check->text.length) == 1;
    EVP_MD_CTX_free(context);
    return fits;
}

/* With the key of that name, or each that can be; "": the token names none. */
static enum jwt_verdict check_signature(const struct check *check, unsigned algorithm,
                                        const char *id)
{
    uint8_t signature[SIGNATURE_MAX + 4];
    int64_t length = jwt_base64url(check->signature, signature, sizeof(signature));
    unsigned tries = 0;

    if (length <= 0)
        return refuse(check, JWT_MALFORMED, "the signature is no base64url");
    for (unsigned i = 0; i < check->keys->count && tries < TRIES_MAX; i++) {
        const struct jwt_key *key = &check->keys->list[i];

        if (key->algorithm != algorithm || (id[0] && strcmp(id, key->id) != 0))
            continue;
        tries++;
        if (fits(check, key, signature, (size_t)length))
            return JWT_GOOD;
    }
    if (tries == 0 && id[0])
        return refuse(check, JWT_KEY, "key id \"%.*s\" unknown", ID_SHOWN, id);
    if (tries == 0)
        return refuse(check, JWT_KEY, "no key of its algorithm");
    return refuse(check, JWT_SIGNATURE, "signature");
}

/* ---- the header ---- */

static enum jwt_verdict read_header(const struct check *check, const struct jwt_json *json,
                                    unsigned *algorithm, char id[128])
{
    uint32_t kid = jwt_json_find(json, 0, "kid");
    char name[16];

    if (!jwt_json_is_plain(json, 0))
        return refuse(check, JWT_MALFORMED, "a name of the header stands twice");
    if (jwt_json_find(json, 0, "crit") != JWT_NO_TOKEN)
        return refuse(check, JWT_MALFORMED, "its header has crit");
    if (!jwt_json_string(json, jwt_json_find(json, 0, "alg"), name, sizeof(name)))
        return refuse(check, JWT_MALFORMED, "its header has no alg");
    *algorithm = jwt_algorithm_named(rwf_text(name)) & check->rules->algorithms;
    if (*algorithm == 0)
        return refuse(check, JWT_SIGNATURE, "algorithm %s", name);
    if (kid != JWT_NO_TOKEN && !jwt_json_string(json, kid, id, 128))
        return refuse(check, JWT_KEY, "its kid is no text of at most 127 bytes");
    return JWT_GOOD;
}

static enum jwt_verdict check_header(const struct check *check)
{
    uint8_t bytes[HEADER_MAX + 4];
    int64_t length = jwt_base64url(check->header, bytes, sizeof(bytes));
    struct jwt_json json = { .tokens = NULL };
    enum jwt_verdict verdict;
    unsigned algorithm = 0;
    char id[128] = "";

    if (length <= 0)
        return refuse(check, JWT_MALFORMED, "its header is no base64url, or too long");
    if (jwt_json_read(&json, rwf_bytes(bytes, (size_t)length)))
        verdict = read_header(check, &json, &algorithm, id);
    else
        verdict = refuse(check, JWT_MALFORMED, "its header is no object of JSON");
    jwt_json_fini(&json);
    return verdict == JWT_GOOD ? check_signature(check, algorithm, id) : verdict;
}

/* ---- the claims ---- */

/* False: the claim is there and no time. */
static bool time_of(const struct jwt_json *json, const char *name, uint64_t absent, uint64_t *out)
{
    uint32_t token = jwt_json_find(json, 0, name);

    *out = absent;
    return token == JWT_NO_TOKEN || jwt_json_number(json, token, out);
}

static enum jwt_verdict check_times(const struct check *check, const struct jwt_json *json)
{
    uint64_t skew_s = check->rules->skew_s;
    uint64_t now_s = check->now_s;
    uint64_t expires_s, starts_s, issued_s;

    if (!jwt_json_number(json, jwt_json_find(json, 0, "exp"), &expires_s))
        return refuse(check, JWT_MALFORMED, "exp is missing or no time");
    if (!time_of(json, "nbf", 0, &starts_s) || !time_of(json, "iat", now_s, &issued_s))
        return refuse(check, JWT_MALFORMED, "nbf or iat is no time");
    if (expires_s + skew_s <= now_s)
        return refuse(check, JWT_EXPIRED, "expired %" PRIu64 " s ago (skew %" PRIu64 " s)",
                      now_s - expires_s, skew_s);
    if (starts_s > now_s + skew_s || issued_s > now_s + skew_s)
        return refuse(check, JWT_TOO_EARLY, "it begins in %" PRIu64 " s (skew %" PRIu64 " s)",
                      (starts_s > issued_s ? starts_s : issued_s) - now_s, skew_s);
    if (expires_s > issued_s && expires_s - issued_s > check->rules->life_max_s)
        return refuse(check, JWT_EXPIRED, "it lives %" PRIu64 " s, %" PRIu64 " s are allowed",
                      expires_s - issued_s, check->rules->life_max_s);
    check->out->expires_s = expires_s + skew_s;
    (void)time_of(json, "iat", 0, &check->out->issued_s);
    return JWT_GOOD;
}

/* A string, or one of an array of them. */
static bool says(const struct jwt_json *json, uint32_t token, struct rwf_bytes wanted)
{
    char text[512];
    uint32_t end;

    if (token == JWT_NO_TOKEN)
        return false;
    end = json->tokens[token].next;
    if (json->tokens[token].kind == JSON_ARRAY)
        token++;
    for (; token < end; token = json->tokens[token].next) {
        if (jwt_json_string(json, token, text, sizeof(text)) &&
            rwf_bytes_equal(rwf_text(text), wanted))
            return true;
    }
    return false;
}

/* The words of one string, or an array of them. */
static bool has_scope(const struct jwt_json *json, struct rwf_bytes wanted)
{
    uint32_t token = jwt_json_find(json, 0, "scope");
    char text[4096], *rest = text, *word;

    if (!jwt_json_string(json, token, text, sizeof(text)))
        return says(json, token, wanted);
    while ((word = strsep(&rest, " "))) {
        if (rwf_bytes_equal(rwf_text(word), wanted))
            return true;
    }
    return false;
}

static enum jwt_verdict check_wanted(const struct check *check, const struct jwt_json *json)
{
    const struct jwt_rules *rules = check->rules;
    uint32_t issuer = jwt_json_find(json, 0, "iss");
    uint32_t audience = jwt_json_find(json, 0, "aud");
    char is[48];

    if (rules->issuer.length && (issuer == JWT_NO_TOKEN || !says(json, issuer, rules->issuer) ||
                                 json->tokens[issuer].kind != JSON_STRING))
        return refuse(check, JWT_AUDIENCE, "issuer \"%s\", wanted \"%.*s\"",
                      jwt_json_string(json, issuer, is, sizeof(is)) ? is : "...",
                      (int)rules->issuer.length, (const char *)rules->issuer.data);
    if (rules->audience.length && !says(json, audience, rules->audience))
        return refuse(check, JWT_AUDIENCE, "audience \"%s\", wanted \"%.*s\"",
                      jwt_json_string(json, audience, is, sizeof(is)) ? is : "...",
                      (int)rules->audience.length, (const char *)rules->audience.data);
    if (rules->scope.length && !has_scope(json, rules->scope))
        return refuse(check, JWT_SCOPE, "scope \"%.*s\" is wanted", (int)rules->scope.length,
                      (const char *)rules->scope.data);
    return JWT_GOOD;
}

static void take_id(const struct check *check, const struct jwt_json *json)
{
    char *id = check->out->id;

    if (!jwt_json_string(json, jwt_json_find(json, 0, "jti"), id, sizeof(check->out->id)))
        id[0] = '\0';
}

static enum jwt_verdict take_user(const struct check *check, const struct jwt_json *json)
{
    struct rwf_bytes name = check->rules->user_claim;
    char *user = check->out->user;
    bool is_text =
        jwt_json_string(json, jwt_json_find_bytes(json, 0, name), user, sizeof(check->out->user));

    if (is_text && user[0] && md_text_is_plain(user, strlen(user)))
        return JWT_GOOD;
    user[0] = '\0';
    return refuse(check, JWT_MALFORMED, "claim %.*s is no name of 1 to 127 bytes",
                  (int)(name.length < 64 ? name.length : 64), (const char *)name.data);
}

static enum jwt_verdict read_claims(const struct check *check, const struct jwt_json *json)
{
    if (!jwt_json_is_plain(json, 0))
        return refuse(check, JWT_MALFORMED, "a claim stands twice");
    enum jwt_verdict verdict = check_times(check, json);
    if (verdict == JWT_GOOD)
        verdict = check_wanted(check, json);
    take_id(check, json);
    return verdict == JWT_GOOD ? take_user(check, json) : verdict;
}

/* False: a text cannot be taken, for want of memory or a zero in it. */
static bool tell_texts(const struct jwt_json *json, uint32_t name, jwt_claim_fn claim, void *self)
{
    uint32_t token = name + 1;
    uint32_t end = json->tokens[token].next;
    char text[JWT_TOKEN_MAX], *rest = text, *word; /* no text is longer than its token */

    if (rwf_bytes_equal(jwt_json_raw(json, name), rwf_text("scope")) &&
        jwt_json_string(json, token, text, sizeof(text))) {
        while ((word = strsep(&rest, " ")))
            claim(self, jwt_json_raw(json, name), rwf_text(word));
        return true;
    }
    if (json->tokens[token].kind == JSON_ARRAY)
        token++;
    else if (json->tokens[token].kind == JSON_OBJECT)
        return true;
    for (; token < end; token = json->tokens[token].next) {
        if (json->tokens[token].kind != JSON_STRING)
            continue;
        if (!jwt_json_string(json, token, text, sizeof(text)))
            return false;
        claim(self, jwt_json_raw(json, name), rwf_text(text));
    }
    return true;
}

static enum jwt_verdict tell_claims(const struct check *check, const struct jwt_json *json,
                                    jwt_claim_fn claim, void *self)
{
    for (uint32_t i = 1; i < json->tokens[0].next; i = json->tokens[i + 1].next) {
        if (!tell_texts(json, i, claim, self))
            return refuse(check, JWT_MALFORMED, "a claim has a text that cannot be taken");
    }
    return JWT_GOOD;
}

bool jwt_claims_tell(struct rwf_bytes text, jwt_claim_fn claim, void *self)
{
    struct check check = { .out = &(struct jwt_claims){ .expires_s = 0 } };
    struct jwt_json json = { .tokens = NULL };
    bool is_good = text.length <= JWT_TOKEN_MAX && jwt_json_read(&json, text) &&
                   jwt_json_is_plain(&json, 0) &&
                   tell_claims(&check, &json, claim, self) == JWT_GOOD;

    jwt_json_fini(&json);
    return is_good;
}

static enum jwt_verdict check_claims(const struct check *check, jwt_claim_fn claim, void *self)
{
    struct jwt_json json = { .tokens = NULL };
    size_t size = check->claims.length + 4;
    uint8_t *bytes = malloc(size);
    int64_t length = bytes ? jwt_base64url(check->claims, bytes, size) : -1;
    enum jwt_verdict verdict;

    if (length > 0 && jwt_json_read(&json, rwf_bytes(bytes, (size_t)length))) {
        verdict = read_claims(check, &json);
        if (verdict == JWT_GOOD && claim)
            verdict = tell_claims(check, &json, claim, self);
    } else {
        verdict = refuse(check, JWT_MALFORMED, "the claims are no object of JSON in base64url");
    }
    jwt_json_fini(&json);
    free(bytes);
    return verdict;
}

enum jwt_verdict jwt_check(const struct jwt_keys *keys, const struct jwt_rules *rules,
                           struct rwf_bytes token, uint64_t now_s, jwt_claim_fn claim, void *self,
                           struct jwt_claims *out)
{
    struct check check = { .keys = keys, .rules = rules, .out = out, .now_s = now_s };

    *out = (struct jwt_claims){ .expires_s = 0 };
    if (token.length > JWT_TOKEN_MAX)
        return refuse(&check, JWT_MALFORMED, "it has %zu bytes, %d are allowed", token.length,
                      JWT_TOKEN_MAX);
    if (!split(&check, token))
        return refuse(&check, JWT_MALFORMED, "it has not three parts");
    enum jwt_verdict verdict = check_header(&check);
    return verdict == JWT_GOOD ? check_claims(&check, claim, self) : verdict;
}

/* ---- a token that somebody else checks ---- */

/* Written once at most, and without escapes; as many names as there are cost no more than reading.
 */
static bool is_said_once(const struct jwt_json *json, const char *name)
{
    unsigned count = 0;

    for (uint32_t i = 1; i < json->tokens[0].next; i = json->tokens[i + 1].next) {
        if (json->tokens[i].has_escapes)
            return false;
        count += rwf_bytes_equal(jwt_json_raw(json, i), rwf_text(name));
    }
    return count <= 1;
}

/* An id that is too long fits no line that names one. */
static bool peek_claims(const struct jwt_json *json, struct jwt_claims *out)
{
    uint32_t id = jwt_json_find(json, 0, "jti");

    if (!is_said_once(json, "iat") || !is_said_once(json, "jti") ||
        !time_of(json, "iat", 0, &out->issued_s))
        return false;
    if (id == JWT_NO_TOKEN)
        return true;
    if (json->tokens[id].kind != JSON_STRING)
        return false;
    return jwt_json_string(json, id, out->id, sizeof(out->id)) ||
           jwt_json_raw(json, id).length > JWT_ID_MAX;
}

bool jwt_peek(struct rwf_bytes token, struct jwt_claims *out)
{
    struct check check = { .out = out };
    struct jwt_json json = { .tokens = NULL };
    uint8_t bytes[JWT_TOKEN_MAX];

    *out = (struct jwt_claims){ .expires_s = 0 };
    if (token.length > JWT_TOKEN_MAX || !split(&check, token))
        return false;
    int64_t length = jwt_base64url(check.claims, bytes, sizeof(bytes));
    bool is_read = length > 0 && jwt_json_read(&json, rwf_bytes(bytes, (size_t)length)) &&
                   peek_claims(&json, out);
    jwt_json_fini(&json);
    return is_read;
}
