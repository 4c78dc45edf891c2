/* fuzz_jwt.c - any bytes as a token, as the claims and the header of a good one, and as keys. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jwt/jwt.h"
#include "tests/unit/jwt_sign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIGNED_MAX 4096
#define NOW        1000000

static struct jwt_keys *keys;
static EVP_PKEY *key;

static void look_at(void *self, struct rwf_bytes name, struct rwf_bytes value)
{
    *(size_t *)self += name.length + value.length;
}

static void check(struct rwf_bytes token)
{
    const struct jwt_rules rules = { .algorithms = JWT_RS256 | JWT_ES256 | JWT_EDDSA,
                                     .audience = rwf_text("rmds"),
                                     .user_claim = rwf_text("sub"),
                                     .skew_s = 60,
                                     .life_max_s = 86400 };
    struct jwt_claims claims;
    size_t seen = 0;
    enum jwt_verdict verdict = jwt_check(keys, &rules, token, NOW, look_at, &seen, &claims);

    if ((verdict == JWT_GOOD) != (claims.user[0] != 0) ||
        (verdict == JWT_GOOD) != (claims.why[0] == 0))
        abort();
    if (verdict == JWT_GOOD && (claims.expires_s <= NOW || strlen(claims.user) > JWT_USER_MAX))
        abort();
    struct jwt_claims said;
    bool is_read = jwt_peek(token, &said);
    if (strlen(said.id) > JWT_ID_MAX || said.user[0])
        abort();
    /* Both must read the same in it. */
    if (verdict == JWT_GOOD && is_read &&
        (said.issued_s != claims.issued_s || strcmp(said.id, claims.id) != 0))
        abort();
}

static void check_signed(const char *header, size_t header_length, const uint8_t *claims,
                         size_t length)
{
    static char token[4 * SIGNED_MAX];

    if (header_length + length > SIGNED_MAX || header_length == 0 || length == 0)
        return;
    check(rwf_bytes(token, jwt_sign_bytes(key, header, header_length, claims, length, token)));
}

static void warn(void *self, const char *text)
{
    *(size_t *)self += strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char header[] = "{\"alg\":\"EdDSA\"}";
    struct jwt_keys *made;
    size_t seen = 0;
    char why[128];

    if (!keys) {
        key = jwt_sign_ed25519();
        if (!key || jwt_keys_create(rwf_text("{\"keys\":[" JWT_SIGN_JWK "]}"), NULL, NULL, why,
                                    sizeof(why), &keys) != 0)
            abort();
    }
    if (size == 0)
        return 0;
    switch (data[0] & 3) {
    case 0:
        check(rwf_bytes(data + 1, size - 1));
        break;
    case 1:
        check_signed(header, sizeof(header) - 1, data + 1, size - 1);
        break;
    case 2:
        check_signed((const char *)data + 1, size - 1, (const uint8_t *)"{}", 2);
        break;
    default:
        if (jwt_keys_create(rwf_bytes(data + 1, size - 1), warn, &seen, why, sizeof(why), &made) ==
            0)
            jwt_keys_destroy(made);
        break;
    }
    return 0;
}
