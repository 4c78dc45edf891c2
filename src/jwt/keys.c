/* keys.c - a file of public keys (JWKS, RFC 7517). See jwt/jwt.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "keys.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "text.h"

#define RSA_BITS_MIN  2048
#define RSA_BITS_MAX  8192
#define NUMBER_MAX    (RSA_BITS_MAX / 8 + 4)
#define EXPONENT_MAX  8
#define P256_BYTES    32
#define ED25519_BYTES 32

/* A file that is being read. */
struct file {
    struct jwt_json json;
    struct jwt_keys *keys;
    jwt_warn_fn warn;
    void *self;
};

static const struct {
    const char *name;
    enum jwt_algorithm algorithm;
} algorithms[] = { { "RS256", JWT_RS256 }, { "ES256", JWT_ES256 }, { "EdDSA", JWT_EDDSA } };

unsigned jwt_algorithm_named(struct rwf_bytes name)
{
    for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
        if (rwf_bytes_equal(name, rwf_text(algorithms[i].name)))
            return algorithms[i].algorithm;
    }
    return 0;
}

/* ---- one key ---- */

/* The bytes of a member in base64url; -1: it has none, or more than `size`. */
static int64_t bytes_of(const struct file *file, uint32_t object, const char *name, uint8_t *out,
                        size_t size)
{
    uint32_t token = jwt_json_find(&file->json, object, name);

    if (token == JWT_NO_TOKEN || file->json.tokens[token].kind != JSON_STRING)
        return -1;
    return jwt_base64url(jwt_json_raw(&file->json, token), out, size);
}

/* NULL: OpenSSL does not take it. */
static EVP_PKEY *make(const char *type, OSSL_PARAM_BLD *build)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    if (params && context && EVP_PKEY_fromdata_init(context) == 1)
        (void)EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *make_rsa(const struct file *file, uint32_t object, const char **why)
{
    uint8_t n[NUMBER_MAX], e[EXPONENT_MAX + 4];
    int64_t n_length = bytes_of(file, object, "n", n, sizeof(n));
    int64_t e_length = bytes_of(file, object, "e", e, sizeof(e));

    *why = "n and e are expected, in base64url";
    if (n_length <= 0 || e_length <= 0 || e_length > EXPONENT_MAX)
        return NULL;
    BIGNUM *modulus = BN_bin2bn(n, (int)n_length, NULL);
    BIGNUM *exponent = BN_bin2bn(e, (int)e_length, NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    int bits = modulus ? BN_num_bits(modulus) : 0;

    *why = "an RSA key of 2048 to 8192 bits is expected, with an odd exponent";
    if (build && exponent && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX && BN_is_odd(modulus) &&
        BN_is_odd(exponent) && BN_num_bits(exponent) > 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        key = make("RSA", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

static EVP_PKEY *make_p256(const struct file *file, uint32_t object, const char **why)
{
    uint8_t point[1 + 2 * P256_BYTES + 4] = { 4 };
    OSSL_PARAM_BLD *build;
    EVP_PKEY *key = NULL;

    *why = "x and y of 32 bytes are expected, in base64url";
    if (bytes_of(file, object, "x", point + 1, P256_BYTES + 4) != P256_BYTES ||
        bytes_of(file, object, "y", point + 1 + P256_BYTES, P256_BYTES + 4) != P256_BYTES)
        return NULL;
    *why = "x and y are no point of P-256";
    build = OSSL_PARAM_BLD_new();
    if (build &&
        OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point,
                                         1 + 2 * P256_BYTES) == 1)
        key = make("EC", build);
    OSSL_PARAM_BLD_free(build);
    return key;
}

static EVP_PKEY *make_ed25519(const struct file *file, uint32_t object, const char **why)
{
    uint8_t x[ED25519_BYTES + 4];

    *why = "x of 32 bytes is expected, in base64url";
    if (bytes_of(file, object, "x", x, sizeof(x)) != ED25519_BYTES)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, ED25519_BYTES);
}

/* 0: it is of no use, and `why` says so. */
static unsigned algorithm_of(const struct file *file, uint32_t object, const char **why)
{
    char type[16], curve[16], named[16];

    *why = "kty RSA, EC with crv P-256, or OKP with crv Ed25519 is expected";
    (void)jwt_json_string(&file->json, jwt_json_find(&file->json, object, "kty"), type,
                          sizeof(type));
    (void)jwt_json_string(&file->json, jwt_json_find(&file->json, object, "crv"), curve,
                          sizeof(curve));
    unsigned algorithm = strcmp(type, "RSA") == 0                                    ? JWT_RS256
                         : strcmp(type, "EC") == 0 && strcmp(curve, "P-256") == 0    ? JWT_ES256
                         : strcmp(type, "OKP") == 0 && strcmp(curve, "Ed25519") == 0 ? JWT_EDDSA
                                                                                     : 0;
    uint32_t alg = jwt_json_find(&file->json, object, "alg");
    if (algorithm == 0 || alg == JWT_NO_TOKEN)
        return algorithm;
    *why = "its alg is not RS256 for RSA, ES256 for P-256, or EdDSA for Ed25519";
    if (!jwt_json_string(&file->json, alg, named, sizeof(named)))
        return 0;
    return jwt_algorithm_named(rwf_text(named)) == algorithm ? algorithm : 0;
}

/* NULL: it can be taken. */
static const char *refuse(const struct file *file, uint32_t object, struct jwt_key *key)
{
    const struct jwt_json *json = &file->json;
    uint32_t use = jwt_json_find(json, object, "use");
    uint32_t id = jwt_json_find(json, object, "kid");
    char text[16];
    const char *why;

    if (json->tokens[object].kind != JSON_OBJECT || !jwt_json_is_plain(json, object))
        return "it is no object, or has a member twice";
    if (id != JWT_NO_TOKEN && !jwt_json_string(json, id, key->id, sizeof(key->id)))
        return "its kid is no text of at most 127 bytes";
    if (jwt_json_find(json, object, "d") != JWT_NO_TOKEN ||
        jwt_json_find(json, object, "k") != JWT_NO_TOKEN)
        return "it is a secret: only public keys belong into this file";
    if (use != JWT_NO_TOKEN &&
        (!jwt_json_string(json, use, text, sizeof(text)) || strcmp(text, "sig") != 0))
        return "its use is not sig";
    key->algorithm = algorithm_of(file, object, &why);
    key->key = key->algorithm == JWT_RS256   ? make_rsa(file, object, &why)
               : key->algorithm == JWT_ES256 ? make_p256(file, object, &why)
               : key->algorithm == JWT_EDDSA ? make_ed25519(file, object, &why)
                                             : NULL;
    return key->key ? NULL : why;
}

/* ---- the file ---- */

static void take_key(struct file *file, uint32_t object, unsigned number)
{
    struct jwt_key key = { .key = NULL };
    const char *why = refuse(file, object, &key);
    char text[320];

    if (!why) {
        file->keys->list[file->keys->count++] = key;
        return;
    }
    ERR_clear_error();
    snprintf(text, sizeof(text), "key %u%s%s is passed over: %s", number, key.id[0] ? ", kid " : "",
             key.id, why);
    if (file->warn)
        file->warn(file->self, text);
}

static const char *take_all(struct file *file, struct rwf_bytes text)
{
    uint32_t list;
    unsigned count = 0;

    if (!jwt_json_read(&file->json, text) || !jwt_json_is_plain(&file->json, 0))
        return "this is no set of keys: an object of JSON is expected";
    list = jwt_json_find(&file->json, 0, "keys");
    if (list == JWT_NO_TOKEN || file->json.tokens[list].kind != JSON_ARRAY)
        return "it has no array \"keys\"";
    for (uint32_t i = list + 1; i < file->json.tokens[list].next; i = file->json.tokens[i].next) {
        if (++count > JWT_KEYS_MAX)
            return "it has more than 256 keys";
        take_key(file, i, count);
    }
    return file->keys->count > 0 ? NULL : "it has no key of RS256, ES256 or EdDSA";
}

int jwt_keys_create(struct rwf_bytes text, jwt_warn_fn warn, void *self, char *why, size_t size,
                    struct jwt_keys **out)
{
    struct file file = { .warn = warn, .self = self };
    const char *wrong = text.length > JWT_FILE_MAX ? "it has more than 1 MB" : NULL;

    *out = NULL;
    file.keys = calloc(1, sizeof(*file.keys) + JWT_KEYS_MAX * sizeof(file.keys->list[0]));
    if (!file.keys)
        return MD_ERR_NOMEM;
    if (!wrong)
        wrong = take_all(&file, text);
    jwt_json_fini(&file.json);
    if (wrong) {
        snprintf(why, size, "%s", wrong);
        jwt_keys_destroy(file.keys);
        return MD_ERR_MALFORMED;
    }
    *out = file.keys;
    return MD_OK;
}

void jwt_keys_destroy(struct jwt_keys *keys)
{
    if (!keys)
        return;
    for (unsigned i = 0; i < keys->count; i++)
        EVP_PKEY_free(keys->list[i].key);
    free(keys);
}

unsigned jwt_keys_count(const struct jwt_keys *keys)
{
    return keys->count;
}
