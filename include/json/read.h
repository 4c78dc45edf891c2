/* json/read.h - messages of tr_json2 as the RWF messages that they stand for. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include "rmds/rwf_dictionary.h"
#include "rmds/rwf_types.h"
#include "json/write.h"

struct json_read_context {
    const struct rwf_dictionary *dictionary;
    bool catches_keys;   /* True: a key that nobody knows is an error */
    bool catches_fields; /* True: a field that nobody knows is an error */
    /* The id of a service, -1: there is no such service. */
    int (*service_id)(void *owner, struct rwf_bytes name);
    void *owner;
};

enum json_read_kind {
    JSON_READ_BAD,     /* `error` is to be sent */
    JSON_READ_NOTHING, /* a message that has no answer: Pong, Error, which leaves its text in
                          `error` */
    JSON_READ_PING,
    JSON_READ_CLOSES,  /* several streams: ids */
    JSON_READ_MESSAGE, /* `message` */
    JSON_READ_BATCH,   /* the same, without a name: names */
};

struct json_read {
    enum json_read_kind kind;
    int64_t id; /* 0: it has none that could be read */
    struct rwf_bytes message;
    bool has_service; /* Service is in its key, a known one or not */
    size_t count;     /* of ids or names */
    struct json_error error;
};

/* Reads messages one after the other; what it returns is good until the next call. */
struct json_reader;

/* For texts up to `text_max` bytes. Fails with MD_ERR_NOMEM. */
int json_reader_create(size_t text_max, struct json_reader **out);
void json_reader_destroy(struct json_reader *reader); /* NULL is allowed */

/* The text of one frame; next() then returns true with each message of it, in order. */
void json_reader_start(struct json_reader *reader, const struct json_read_context *context,
                       struct rwf_bytes text);
bool json_reader_next(struct json_reader *reader, struct json_read *read);
/* Passes over the first messages of the frame. */
void json_reader_skip(struct json_reader *reader, size_t count);
/* Number `index` of a batch. */
struct rwf_bytes json_reader_name(struct json_reader *reader, size_t index);
int64_t json_reader_id(struct json_reader *reader, size_t index);

#endif
