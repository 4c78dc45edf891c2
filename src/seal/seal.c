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

#include "base/err.h"
#include "base/writer.h"
#include "cipher.h"
#include "multibuffer.h"
#include "openssl.h"

/* Libraries allocate when a state is made and when a key is derived, never for a packet. */
struct seal {
    EVP_KDF *hkdf;
    EVP_KDF_CTX *derivation;
    struct seal_cipher cipher;
};

static void close_all(struct seal *seal)
{
    EVP_KDF_CTX_free(seal->derivation);
    EVP_KDF_free(seal->hkdf);
    if (seal->cipher.close)
        seal->cipher.close(seal->cipher.context);
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

/* ---- states ------------------------------------------------------------------------------- */

static void end(void *context, void *state)
{
    const struct seal *seal = context;

    seal->cipher.end(state);
}

static void *begin(void *context, void *old, const struct rrcp_seal_id *id)
{
    struct seal *seal = context;
    bool is_256 = id->cipher == RRCP_CIPHER_AES_256_GCM;
    uint8_t key[SEAL_KEY_BYTES_MAX];
    void *state = NULL;

    if (derive(seal, id, key, is_256 ? 32 : 16))
        state = seal->cipher.begin(seal->cipher.context, old, key, is_256);
    else
        seal->cipher.end(old);
    OPENSSL_cleanse(key, sizeof(key));
    return state;
}

/* ---- opening ------------------------------------------------------------------------------ */

static int open_cipher(enum seal_library library, struct seal_cipher *out)
{
    int err = MD_ERR_NOT_FOUND;

    if (library != SEAL_OPENSSL)
        err = seal_multibuffer_open(out);
    if (err == MD_ERR_NOT_FOUND && library != SEAL_MULTIBUFFER)
        err = seal_openssl_open(out);
    return err;
}

static int open_hkdf(struct seal *seal)
{
    seal->hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    seal->derivation = seal->hkdf ? EVP_KDF_CTX_new(seal->hkdf) : NULL;
    if (seal->derivation)
        return 0;
    ERR_clear_error();
    return MD_ERR_SYS;
}

int seal_open_by(enum seal_library library, struct rrcp_seal *out)
{
    struct seal *seal = calloc(1, sizeof(*seal));

    *out = (struct rrcp_seal){ 0 };
    if (!seal)
        return MD_ERR_NOMEM;
    int err = open_hkdf(seal);
    if (err == 0)
        err = open_cipher(library, &seal->cipher);
    if (err) {
        close_all(seal);
        return err;
    }
    *out = (struct rrcp_seal){ .context = seal,
                               .begin = begin,
                               .end = end,
                               .seal = seal->cipher.seal,
                               .open = seal->cipher.open };
    return 0;
}

int seal_open(struct rrcp_seal *out)
{
    return seal_open_by(SEAL_FASTEST, out);
}

const char *seal_library(const struct rrcp_seal *seal)
{
    return ((const struct seal *)seal->context)->cipher.library;
}

void seal_close(struct rrcp_seal *seal)
{
    if (seal->context)
        close_all(seal->context);
    *seal = (struct rrcp_seal){ 0 };
}
