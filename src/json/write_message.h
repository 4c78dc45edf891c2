/* write_message.h - the parts of the writer that call each other: values, containers, messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_WRITE_PARTS_H
#define JSON_WRITE_PARTS_H

#include "out.h"
#include "rmds/rwf_container.h"
#include "rmds/rwf_message.h"
#include "rmds/rwf_value.h"
#include "json/write.h"

struct json_writer;

/* A container without the name of its kind: json_write_container() below, of a file above. */
typedef int (*json_container_fn)(struct json_writer *w, unsigned container, struct rwf_bytes bytes,
                                 const struct rwf_sets *sets);
typedef int (*json_members_fn)(struct json_writer *w, struct rwf_bytes message);

struct json_writer {
    json_container_fn container; /* of a value that is one */
    json_members_fn members;     /* of a message in a container */
    struct json_out out;
    const struct json_write_context *context;
    unsigned depth;
    size_t stream_at;
    size_t solicited_at;
    const uint8_t *start;
    struct rwf_bytes names; /* of a batch, in place of the name of its key */
};

/* A value of any type, a container without the name of its kind. 0 or a negative rwf_err. */
int json_write_value(struct json_writer *w, unsigned type, struct rwf_bytes content,
                     const struct rwf_sets *sets);
/* The member of a payload, `"Fields":{...}` and the like; nothing for NO_DATA. */
int json_write_payload(struct json_writer *w, unsigned container, struct rwf_bytes bytes,
                       const struct rwf_sets *sets);
int json_write_container(struct json_writer *w, unsigned container, struct rwf_bytes bytes,
                         const struct rwf_sets *sets);

void json_write_qos(struct json_writer *w, const struct rwf_qos *qos);
void json_write_state(struct json_writer *w, const struct rwf_state *state);
/* A name in quotes, or the number where it has none. */
void json_write_name(struct json_writer *w, const struct json_name *name, unsigned number);

#endif
