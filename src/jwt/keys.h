/* keys.h - public keys as a token is checked with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JWT_KEYS_H
#define JWT_KEYS_H

#include <openssl/evp.h>

#include "jwt/jwt.h"

struct jwt_key {
    EVP_PKEY *key;
    enum jwt_algorithm algorithm;
    char id[128]; /* "": it has none */
};

struct jwt_keys {
    unsigned count;
    struct jwt_key list[];
};

#endif
