/* json/parse.h - the text of JSON into tokens that say where each value stands. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_PARSE_H
#define JSON_PARSE_H

#include "rmds/rwf_types.h"

#define JSON_DEPTH_MAX 32

enum json_kind {
    JSON_PRIMITIVE, /* a number, true, false, null */
    JSON_STRING,
    JSON_OBJECT, /* its tokens are name, value, name, value, ... */
    JSON_ARRAY,
};

struct json_token {
    uint32_t at;   /* of the first byte; of a string, the byte behind its quote */
    uint32_t end;  /* behind the last byte; of a string, its last quote */
    uint32_t next; /* the token behind this one and everything in it */
    uint8_t kind;  /* enum json_kind */
    bool has_escapes;
};

struct json_parse {
    const uint8_t *text;
    size_t length;
    size_t at;
    struct json_token *tokens; /* NULL: the text is only judged */
    bool is_strict;            /* True: UTF-8 only, and no number begins with zeros */
    struct json_token spare;
    size_t room;
    size_t count;
    const char *what; /* the mistake that stands at `at` */
};

/* Every text of `length` bytes has at most so many tokens. */
static inline size_t json_tokens_max(size_t length)
{
    return length / 2 + 2;
}

/* True: the text is one value, and the tokens are there. */
bool json_parse(struct json_parse *parse);

/* Of a string that was parsed; no text is longer without its escapes. Half a pair of surrogates is
 * U+FFFD. */
size_t json_unescape(struct rwf_bytes raw, uint8_t *out);

#endif
