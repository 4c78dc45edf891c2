/* json/write.h - messages of RWF as the JSON of the sub-protocol tr_json2. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include "rmds/rwf_dictionary.h"
#include "rmds/rwf_types.h"

/* Everything that a message needs beside its bytes; the same for all messages. */
struct json_write_context {
    const struct rwf_dictionary *dictionary; /* a field that is not in it is left out */
    bool expands_enums;                      /* False: an enumerated field is a number */
    /* The name of a service, empty if the id is unknown. */
    struct rwf_bytes (*service_name)(void *owner, uint16_t id);
    void *owner;
};

/* The text of a message from `,"Type":` up to the last brace: `{"ID":n` goes in front of it. */
struct json_written {
    size_t length;
    size_t stream_at;    /* of a refresh: offset of the name of its stream state; 0: none */
    size_t solicited_at; /* of a refresh that was not asked for: offset of `,"Solicited":false` */
};

#define JSON_UNSOLICITED     ",\"Solicited\":false"
#define JSON_UNSOLICITED_LEN (sizeof(JSON_UNSOLICITED) - 1)

/* RWF_ERR_FULL when the text does not fit, else as the decoders say. */
int json_write_message(const struct json_write_context *context, struct rwf_bytes message,
                       uint8_t *out, size_t size, struct json_written *written);

/* The answer to a message that cannot be used. `offset` SIZE_MAX: there is no such place. Returns
 * the length of the whole message, braces included, 0 when it does not fit. */
struct json_error {
    const char *file;
    int line;
    size_t offset;
    struct rwf_bytes text;
    struct rwf_bytes message; /* as it was received */
};
size_t json_write_error(int64_t id, const struct json_error *error, uint8_t *out, size_t size);

#endif
