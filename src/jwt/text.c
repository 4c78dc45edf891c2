/* text.c - see text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8

/* ---- base64url ---- */

static int digit_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

int64_t jwt_base64url(struct rwf_bytes text, uint8_t *out, size_t size)
{
    uint32_t bits = 0;
    unsigned count = 0; /* of bits that wait */
    size_t length = 0;

    if (text.length % 4 == 1 || text.length / 4 * 3 + 2 > size)
        return -1;
    for (size_t i = 0; i < text.length; i++) {
        int digit = digit_of(text.data[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[length++] = (uint8_t)(bits >> count);
            bits &= (1u << count) - 1;
        }
    }
    return bits == 0 ? (int64_t)length : -1;
}

/* ---- JSON ---- */

/* Whatever contains a token ends behind it: `ends` is the stack of those. */
static bool is_shallow(const struct json_token *tokens, uint32_t count)
{
    uint32_t ends[DEPTH_MAX];
    unsigned depth = 0;

    for (uint32_t i = 0; i < count; i++) {
        while (depth > 0 && ends[depth - 1] <= i)
            depth--;
        if (tokens[i].kind != JSON_OBJECT && tokens[i].kind != JSON_ARRAY)
            continue;
        if (depth == DEPTH_MAX)
            return false;
        ends[depth++] = tokens[i].next;
    }
    return true;
}

bool jwt_json_read(struct jwt_json *json, struct rwf_bytes text)
{
    size_t room = json_tokens_max(text.length);
    struct json_parse parse = {
        .text = text.data,
        .length = text.length,
        .tokens = malloc(room * sizeof(*parse.tokens)),
        .room = room,
        .is_strict = true,
    };

    *json = (struct jwt_json){ .text = text, .tokens = parse.tokens };
    return parse.tokens && json_parse(&parse) && parse.tokens[0].kind == JSON_OBJECT &&
           is_shallow(parse.tokens, (uint32_t)parse.count);
}

void jwt_json_fini(struct jwt_json *json)
{
    free(json->tokens);
    json->tokens = NULL;
}

struct rwf_bytes jwt_json_raw(const struct jwt_json *json, uint32_t token)
{
    const struct json_token *t = &json->tokens[token];

    return rwf_bytes(json->text.data + t->at, t->end - t->at);
}

bool jwt_json_is_plain(const struct jwt_json *json, uint32_t object)
{
    uint32_t end = json->tokens[object].next;

    for (uint32_t i = object + 1; i < end; i = json->tokens[i + 1].next) {
        if (json->tokens[i].has_escapes)
            return false;
        for (uint32_t k = json->tokens[i + 1].next; k < end; k = json->tokens[k + 1].next) {
            if (rwf_bytes_equal(jwt_json_raw(json, i), jwt_json_raw(json, k)))
                return false;
        }
    }
    return true;
}

uint32_t jwt_json_find_bytes(const struct jwt_json *json, uint32_t object, struct rwf_bytes name)
{
    for (uint32_t i = object + 1; i < json->tokens[object].next; i = json->tokens[i + 1].next) {
        if (rwf_bytes_equal(jwt_json_raw(json, i), name))
            return i + 1;
    }
    return JWT_NO_TOKEN;
}

uint32_t jwt_json_find(const struct jwt_json *json, uint32_t object, const char *name)
{
    return jwt_json_find_bytes(json, object, rwf_text(name));
}

bool jwt_json_string(const struct jwt_json *json, uint32_t token, char *out, size_t size)
{
    out[0] = '\0';
    if (token == JWT_NO_TOKEN || json->tokens[token].kind != JSON_STRING)
        return false;
    struct rwf_bytes raw = jwt_json_raw(json, token);
    uint8_t *copy = malloc(raw.length + 1);
    if (!copy)
        return false;
    size_t length = json_unescape(raw, copy);
    bool fits = length < size && !memchr(copy, 0, length);
    if (fits) {
        memcpy(out, copy, length);
        out[length] = '\0';
    }
    free(copy);
    return fits;
}

bool jwt_json_number(const struct jwt_json *json, uint32_t token, uint64_t *out)
{
    struct rwf_bytes raw;
    size_t i = 0;

    *out = 0;
    if (token == JWT_NO_TOKEN || json->tokens[token].kind != JSON_PRIMITIVE)
        return false;
    raw = jwt_json_raw(json, token);
    for (; i < raw.length && raw.data[i] >= '0' && raw.data[i] <= '9'; i++) {
        if (i == 15)
            return false;
        *out = *out * 10 + (uint64_t)(raw.data[i] - '0');
    }
    return i > 0 && (i == raw.length || (raw.data[i] == '.' && !memchr(raw.data, 'e', raw.length) &&
                                         !memchr(raw.data, 'E', raw.length)));
}
