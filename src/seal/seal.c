/* seal.c - see seal/seal.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/writer.h"

/*
 * A state is one cipher context that keeps its key schedule: a packet only sets the nonce. OpenSSL
 * allocates when a context is made and when a key is derived, never for a packet.
 */

#define NONCE_BYTES   12
#define KEY_BYTES_MAX 32

struct seal {
    EVP_CIPHER *ciphers[2]; /* AES-128, AES-256 */
    EVP_KDF *hkdf;
    EVP_KDF_CTX *derivation;
};

static void close_all(struct seal *seal)
{
    EVP_KDF_CTX_free(seal->derivation);
    EVP_KDF_free(seal->hkdf);
    EVP_CIPHER_free(seal->ciphers[0]);
    EVP_CIPHER_free(seal->ciphers[1]);
    free(seal);
}

/* ---- keys --------------------------------------------------------------------------------- */

static OSSL_PARAM octets(const char *name, void *bytes, size_t length)
{
    return OSSL_PARAM_construct_octet_string(name, bytes, length);
}

static bool derive(struct seal *seal, const struct rrcp_seal_id *id, uint8_t *out, size_t length)
{
    char digest[] = "SHA256";
    uint8_t key[sizeof(id->key->bytes)];
    uint8_t salt[8];
    uint8_t info[11] = "rrcp1";

    memcpy(key, id->key->bytes, sizeof(key));
    md_put_be64(salt, id->session);
    md_put_be32(info + 5, id->network_id);
    info[9] = id->key->id;
    info[10] = (uint8_t)id->cipher;

    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                            octets(OSSL_KDF_PARAM_KEY, key, sizeof(key)),
                            octets(OSSL_KDF_PARAM_SALT, salt, sizeof(salt)),
                            octets(OSSL_KDF_PARAM_INFO, info, sizeof(info)),
                            OSSL_PARAM_construct_end() };

    EVP_KDF_CTX_reset(seal->derivation);
    int is_good = EVP_KDF_derive(seal->derivation, out, length, params);
    EVP_KDF_CTX_reset(seal->derivation);
    OPENSSL_cleanse(key, sizeof(key));
    return is_good == 1;
}

static bool set_key(struct seal *seal, EVP_CIPHER_CTX *state, const struct rrcp_seal_id *id)
{
    bool is_256 = id->cipher == RRCP_CIPHER_AES_256_GCM;
    uint8_t key[KEY_BYTES_MAX];
    bool is_good =
        derive(seal, id, key, is_256 ? 32 : 16) &&
        EVP_CipherInit_ex2(state, seal->ciphers[is_256], key, NULL, id->is_sender, NULL) == 1;

    OPENSSL_cleanse(key, sizeof(key));
    return is_good;
}

static void *begin(void *context, void *old, const struct rrcp_seal_id *id)
{
    EVP_CIPHER_CTX *state = old ? old : EVP_CIPHER_CTX_new();

    if (state && set_key(context, state, id))
        return state;
    EVP_CIPHER_CTX_free(state);
    ERR_clear_error();
    return NULL;
}

static void end(void *context, void *state)
{
    (void)context;
    EVP_CIPHER_CTX_free(state);
}

/* ---- packets ------------------------------------------------------------------------------ */

/* EVP_Cipher() is the shortest way to the cipher; it says -1 where it fails. The last call, without
 * bytes, ends the packet. */
static bool run(EVP_CIPHER_CTX *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                uint32_t clear, uint32_t length)
{
    uint8_t nonce[NONCE_BYTES] = { 0 };

    md_put_be64(nonce + 4, counter);
    if (EVP_CipherInit_ex2(state, NULL, NULL, nonce, -1, NULL) != 1 ||
        EVP_Cipher(state, NULL, from, clear) < 0)
        return false;
    if (to && to != from)
        memcpy(to, from, clear);
    return clear == length || EVP_Cipher(state, to + clear, from + clear, length - clear) >= 0;
}

static void seal_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, uint8_t tag[RRCP_TAG_BYTES])
{
    OSSL_PARAM params[] = { octets(OSSL_CIPHER_PARAM_AEAD_TAG, tag, RRCP_TAG_BYTES),
                            OSSL_PARAM_construct_end() };
    uint8_t unused[RRCP_TAG_BYTES];
    bool is_good = run(state, counter, to, from, clear, length) &&
                   EVP_Cipher(state, unused, NULL, 0) >= 0 &&
                   EVP_CIPHER_CTX_get_params(state, params) == 1;

    MD_ASSERT(is_good); /* lengths and states are ours: OpenSSL has nothing to refuse */
}

static bool open_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, const uint8_t tag[RRCP_TAG_BYTES])
{
    uint8_t expected[RRCP_TAG_BYTES];
    OSSL_PARAM params[] = { octets(OSSL_CIPHER_PARAM_AEAD_TAG, expected, sizeof(expected)),
                            OSSL_PARAM_construct_end() };
    uint8_t unused[RRCP_TAG_BYTES];

    memcpy(expected, tag, sizeof(expected));
    if (run(state, counter, to, from, clear, length) &&
        EVP_CIPHER_CTX_set_params(state, params) == 1 && EVP_Cipher(state, unused, NULL, 0) >= 0)
        return true;
    ERR_clear_error();
    return false;
}

/* ---- opening ------------------------------------------------------------------------------ */

int seal_open(struct rrcp_seal *out)
{
    struct seal *seal = calloc(1, sizeof(*seal));

    *out = (struct rrcp_seal){ 0 };
    if (!seal)
        return MD_ERR_NOMEM;
    seal->ciphers[0] = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    seal->ciphers[1] = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    seal->hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    seal->derivation = seal->hkdf ? EVP_KDF_CTX_new(seal->hkdf) : NULL;
    if (!seal->ciphers[0] || !seal->ciphers[1] || !seal->derivation) {
        close_all(seal);
        ERR_clear_error();
        return MD_ERR_SYS;
    }
    *out = (struct rrcp_seal){
        .context = seal, .begin = begin, .end = end, .seal = seal_packet, .open = open_packet
    };
    return 0;
}

void seal_close(struct rrcp_seal *seal)
{
    if (seal->context)
        close_all(seal->context);
    *seal = (struct rrcp_seal){ 0 };
}
