/* jwt/jwt.h - signed tokens (JWT) against the keys of a file (JWKS). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JWT_JWT_H
#define JWT_JWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf_types.h"

/*
 * A token is three parts of base64url: a header, claims, and a signature over both. It is judged
 * with the public keys of whoever signs tokens; time is an argument. The algorithm comes from the
 * key, and the token has to name the same one: `none` and secrets that both sides share are not
 * known here. Of the claims nothing is read before the signature is found good; jwt_peek() is for
 * tokens that somebody else judges.
 *
 * Keys do not change once they are made: any number of threads may check tokens with them.
 */
struct jwt_keys;

#define JWT_TOKEN_MAX 16384 /* bytes of a token */
#define JWT_FILE_MAX  (1u << 20)
#define JWT_KEYS_MAX  256
#define JWT_USER_MAX  127
#define JWT_ID_MAX    127
#define JWT_WHY_MAX   112

enum jwt_algorithm {
    JWT_RS256 = 1, /* RSA of 2048 to 8192 bits, PKCS #1 1.5, SHA-256 */
    JWT_ES256 = 2, /* P-256 */
    JWT_EDDSA = 4, /* Ed25519 */
};

/* The numbers are those of AuthenticationErrorCode in the answer to a login. */
enum jwt_verdict {
    JWT_GOOD = 0,
    JWT_MALFORMED = 1,
    JWT_SIGNATURE = 2, /* or an algorithm that is not allowed */
    JWT_EXPIRED = 3,   /* or it lives for too long */
    JWT_TOO_EARLY = 4,
    JWT_AUDIENCE = 5, /* or its issuer */
    JWT_SCOPE = 6,
    JWT_KEY = 8, /* it was signed with a key that the file does not have */
};

/* Demands on a token. Empty texts: anything will do. */
struct jwt_rules {
    unsigned algorithms; /* enum jwt_algorithm */
    struct rwf_bytes issuer;
    struct rwf_bytes audience;
    struct rwf_bytes scope;
    struct rwf_bytes user_claim; /* who it is: "sub" */
    uint64_t skew_s;
    uint64_t life_max_s;
};

struct jwt_claims {
    char user[JWT_USER_MAX + 1]; /* UTF-8 without control characters */
    uint64_t expires_s;          /* since 1970, with the skew: no longer good from then on */
    uint64_t issued_s;           /* 0: it does not say */
    char id[JWT_ID_MAX + 1];     /* jti; "": it has none, or a longer one */
    char why[JWT_WHY_MAX];       /* not, in plain ASCII; "" when it is good */
};

/* The texts of a claim: one string, or each string of an array. `scope` is taken as its words. */
typedef void (*jwt_claim_fn)(void *self, struct rwf_bytes name, struct rwf_bytes value);

/* Hears of keys of the file that are passed over, and why. */
typedef void (*jwt_warn_fn)(void *self, const char *text);

/* MD_ERR_MALFORMED, with `why`: it is no set of keys, or has none that is of use. */
int jwt_keys_create(struct rwf_bytes text, jwt_warn_fn warn, void *self, char *why, size_t size,
                    struct jwt_keys **out);
void jwt_keys_destroy(struct jwt_keys *keys); /* NULL is allowed */
unsigned jwt_keys_count(const struct jwt_keys *keys);

/* "RS256" to its bit; 0: it is none of them. */
unsigned jwt_algorithm_named(struct rwf_bytes name);

/* It begins like one, and has three parts: else it is an opaque token. */
bool jwt_is_like(struct rwf_bytes token);

/* Of a token that somebody else checks: issued_s and id, as it says them and nobody has proved. To
 * refuse by, not to let in. False: it is no token of three parts, or what it says can be read in
 * more ways than one. */
bool jwt_peek(struct rwf_bytes token, struct jwt_claims *out);
/* Claims as the object of JSON that they are, which nobody has signed: each that is a text goes to
 * `claim`. For a tool that explains. False: it is no such object. */
bool jwt_claims_tell(struct rwf_bytes text, jwt_claim_fn claim, void *self);

/* Of a good token each claim that is a text goes to `claim`, which may be NULL. */
enum jwt_verdict jwt_check(const struct jwt_keys *keys, const struct jwt_rules *rules,
                           struct rwf_bytes token, uint64_t now_s, jwt_claim_fn claim, void *self,
                           struct jwt_claims *out);

#endif
