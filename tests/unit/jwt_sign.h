/* jwt_sign.h - signs tokens, as an identity provider does, for tests. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JWT_SIGN_H
#define JWT_SIGN_H

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The seed of an Ed25519 key of RFC 8037, and its public half as a key of a file. */
#define JWT_SIGN_SEED "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
#define JWT_SIGN_JWK                                                                               \
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\","                                         \
    "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}"

static inline size_t jwt_sign_base64url(const void *bytes, size_t length, char *out)
{
    int wrote = EVP_EncodeBlock((unsigned char *)out, bytes, (int)length);
    size_t size = wrote > 0 ? (size_t)wrote : 0;

    for (size_t i = 0; i < size; i++)
        out[i] = (char)(out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i]);
    while (size > 0 && out[size - 1] == '=')
        size--;
    out[size] = '\0';
    return size;
}

static inline EVP_PKEY *jwt_sign_ed25519(void)
{
    static const unsigned char seed[32] = { 0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60,
                                            0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
                                            0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19,
                                            0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60 };

    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
}

/* A number of a key as a member of a file of keys: `"n":"..."`. */
static inline void jwt_sign_number(const EVP_PKEY *key, const char *param, const char *name,
                                   int pad, char *out, size_t size)
{
    unsigned char bytes[1100];
    char text[1500];
    BIGNUM *number = NULL;

    EVP_PKEY_get_bn_param(key, param, &number);
    int length = pad ? BN_bn2binpad(number, bytes, pad) : BN_bn2bin(number, bytes);
    jwt_sign_base64url(bytes, (size_t)length, text);
    snprintf(out, size, "\"%s\":\"%s\"", name, text);
    BN_free(number);
}

static inline void jwt_sign_jwk(EVP_PKEY *key, const char *id, char *out, size_t size)
{
    char a[1600], b[1600];
    int length;

    if (EVP_PKEY_is_a(key, "RSA")) {
        jwt_sign_number(key, OSSL_PKEY_PARAM_RSA_N, "n", 0, a, sizeof(a));
        jwt_sign_number(key, OSSL_PKEY_PARAM_RSA_E, "e", 0, b, sizeof(b));
        length =
            snprintf(out, size, "{\"kty\":\"RSA\",\"use\":\"sig\",\"kid\":\"%s\",%s,%s}", id, a, b);
    } else {
        jwt_sign_number(key, OSSL_PKEY_PARAM_EC_PUB_X, "x", 32, a, sizeof(a));
        jwt_sign_number(key, OSSL_PKEY_PARAM_EC_PUB_Y, "y", 32, b, sizeof(b));
        length = snprintf(out, size, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"%s\",%s,%s}", id,
                          a, b);
    }
    if (length < 0 || (size_t)length >= size)
        abort(); /* the test gives too little room */
}

/* DER to the two numbers that a token has. */
static inline size_t jwt_sign_raw(unsigned char *signature, size_t length)
{
    const unsigned char *at = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)length);

    BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + 32, 32);
    ECDSA_SIG_free(pair);
    return 64;
}

/* The whole token. */
static inline size_t jwt_sign_bytes(EVP_PKEY *key, const void *header, size_t header_length,
                                    const void *claims, size_t claims_length, char *out)
{
    unsigned char signature[1100];
    size_t length = sizeof(signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
    size_t used = jwt_sign_base64url(header, header_length, out);

    out[used++] = '.';
    used += jwt_sign_base64url(claims, claims_length, out + used);
    EVP_DigestSignInit(context, NULL, digest, NULL, key);
    EVP_DigestSign(context, signature, &length, (const unsigned char *)out, used);
    EVP_MD_CTX_free(context);
    if (EVP_PKEY_is_a(key, "EC"))
        length = jwt_sign_raw(signature, length);
    out[used++] = '.';
    return used + jwt_sign_base64url(signature, length, out + used);
}

static inline size_t jwt_sign(EVP_PKEY *key, const char *header, const char *claims, char *out)
{
    return jwt_sign_bytes(key, header, strlen(header), claims, strlen(claims), out);
}

#endif
