/* names.h - the names that JSON has for the numbers of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_NAMES_H
#define JSON_NAMES_H

#include "rmds/rwf_types.h"

/* A name ready to be stored, all 32 bytes at once. */
struct json_name {
    char text[31];  /* with its quotes, "\"Open\"" */
    uint8_t length; /* 0: this number has no name */
};

struct json_names {
    const struct json_name *names; /* by number */
    size_t count;
};

#define JSON_NAME(name)                                                                            \
    {                                                                                              \
        "\"" name "\"", sizeof(name) + 1                                                           \
    }

extern const struct json_names json_classes, json_domains, json_types, json_stream_states,
    json_data_states, json_codes, json_timeliness, json_rates, json_update_types, json_nak_codes,
    json_map_actions, json_vector_actions, json_filter_actions, json_name_types,
    json_login_name_types;

/* NULL: the number has no name. */
static inline const struct json_name *json_name(const struct json_names *names, unsigned number)
{
    return number < names->count && names->names[number].length ? &names->names[number] : NULL;
}

/* -1: no number has this name. */
int json_number(const struct json_names *names, struct rwf_bytes name);

#endif
