/* reader.h - the parts of the reader that call each other: members, values, containers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_READER_H
#define JSON_READER_H

#include "names.h"
#include "rmds/rwf_encode.h"
#include "json/parse.h"
#include "json/read.h"

#define NO_TOKEN       0xFFFFFFFFu
#define ERROR_TEXT_MAX 320

struct json_reader {
    /* A message in a container: json_read_message(), of a file above. */
    bool (*message)(struct json_reader *r, uint32_t object, bool is_nested, struct json_read *read);
    struct json_read_context context;
    struct json_parse parse;
    struct rwf_encoder enc;
    uint32_t next; /* the message that comes next, NO_TOKEN: none */
    uint32_t behind;
    uint32_t list;  /* of names or ids */
    uint32_t entry; /* the last one of it that was asked for, NO_TOKEN: none was */
    size_t entry_index;
    unsigned depth;
    uint8_t *out; /* the message as RWF */
    size_t out_size;
    uint8_t *scratch; /* strings without their escapes, bytes without base64 */
    size_t scratch_size;
    size_t scratch_used;
    const char *file;
    int line;
    size_t offset;
    char error[ERROR_TEXT_MAX];
};

/* Notes the first mistake of a message; false for the caller to return. */
bool json_fail(struct json_reader *r, const char *file, int line, size_t offset, const char *format,
               ...) __attribute__((format(printf, 5, 6)));
#define FAIL(r, offset, ...) json_fail((r), __FILE_NAME__, __LINE__, (offset), __VA_ARGS__)
/* The value does not fit its type. */
#define FAIL_VALUE(r, token)                                                                       \
    FAIL((r), (r)->parse.tokens[token].at, "JSON RSSL Conversion Error. RSSL error code : -1")

/* ---- read_token.c ---- */
static inline const struct json_token *json_at(const struct json_reader *r, uint32_t token)
{
    return &r->parse.tokens[token];
}

/* The text between `at` and `end`, escapes and all. */
static inline struct rwf_bytes json_raw(const struct json_reader *r, uint32_t token)
{
    const struct json_token *t = json_at(r, token);

    return rwf_bytes(r->parse.text + t->at, t->end - t->at);
}

static inline bool json_is(const struct json_reader *r, uint32_t token, const char *word)
{
    return rwf_bytes_equal(json_raw(r, token), rwf_text(word));
}

/* The value of a member, NO_TOKEN: the object has none of that name. */
uint32_t json_find(const struct json_reader *r, uint32_t object, const char *name);
/* Fails unless the token is of that kind. */
bool json_expect(struct json_reader *r, uint32_t token, enum json_kind kind, const char *key);
bool json_is_null(const struct json_reader *r, uint32_t token);
/* A string without its escapes. */
struct rwf_bytes json_text(struct json_reader *r, uint32_t token);
bool json_bytes(struct json_reader *r, uint32_t token, const char *key, struct rwf_bytes *out);
bool json_to_int(struct json_reader *r, uint32_t token, const char *key, int64_t low, int64_t high,
                 int64_t *out);
bool json_to_bool(struct json_reader *r, uint32_t token, const char *key, bool *out);
/* A name of the table, or a number up to `max`. */
bool json_to_number(struct json_reader *r, uint32_t token, const char *key,
                    const struct json_names *names, unsigned max, unsigned *out);

/* ---- known_keys.c ---- */
/* Fails with the name of a member that nobody knows. */
bool json_fail_key(struct json_reader *r, uint32_t token);
/* With catchUnknownJsonKeys: fails at the first member that no message has. */
bool json_catch_keys(struct json_reader *r, uint32_t object);

/* ---- read_value.c ---- */
/* `field` NULL: the value is in no field. */
bool json_read_value(struct json_reader *r, unsigned type, uint32_t token,
                     const struct rwf_field_def *field, struct rwf_value *out);

/* ---- read_container.c ---- */
/* The payload among the members of an object: its type, RWF_TYPE_NO_DATA if it has none. */
unsigned json_payload_type(const struct json_reader *r, uint32_t object, uint32_t *token);
bool json_read_container(struct json_reader *r, unsigned type, uint32_t token);
bool json_read_array(struct json_reader *r, uint32_t token, const char *key);

/* ---- read_message.c ---- */
/* Encodes the message that stands at `object`; `is_nested`: in another one. */
bool json_read_message(struct json_reader *r, uint32_t object, bool is_nested,
                       struct json_read *read);

#endif
