/* text.h - base64url, and objects of JSON as tokens and key files have them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JWT_TEXT_H
#define JWT_TEXT_H

#include "json/parse.h"

#define JWT_NO_TOKEN UINT32_MAX

/* Without padding, with no bits behind the last byte. Bytes written to `out`, or -1: it is not
 * that, or longer than `size`. */
int64_t jwt_base64url(struct rwf_bytes text, uint8_t *out, size_t size);

/* A text that was taken apart; from jwt_json_read(). */
struct jwt_json {
    struct rwf_bytes text;
    struct json_token *tokens;
};

/* True: the text is one object of JSON, in UTF-8, nested no deeper than 8. */
bool jwt_json_read(struct jwt_json *json, struct rwf_bytes text);
void jwt_json_fini(struct jwt_json *json);
/* No name of this object stands twice, or is written with escapes. */
bool jwt_json_is_plain(const struct jwt_json *json, uint32_t object);
/* The value of that name, or JWT_NO_TOKEN. */
uint32_t jwt_json_find(const struct jwt_json *json, uint32_t object, const char *name);
uint32_t jwt_json_find_bytes(const struct jwt_json *json, uint32_t object, struct rwf_bytes name);
/* As it is written. */
struct rwf_bytes jwt_json_raw(const struct jwt_json *json, uint32_t token);
/* The characters of a string, with a zero behind them. False: it is no string, is longer than
 * `size` - 1, or has a zero. */
bool jwt_json_string(const struct jwt_json *json, uint32_t token, char *out, size_t size);
/* A number that is not negative and has no exponent; what follows its point is left out. */
bool jwt_json_number(const struct jwt_json *json, uint32_t token, uint64_t *out);

#endif
