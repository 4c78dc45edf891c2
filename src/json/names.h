/* names.h - the names that JSON has for the numbers of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_NAMES_H
#define JSON_NAMES_H

#include "rmds/rwf_types.h"

struct json_names {
    const char *const *names; /* by number; NULL: this number has no name */
    size_t count;
};

extern const struct json_names json_classes, json_domains, json_types, json_stream_states,
    json_data_states, json_codes, json_timeliness, json_rates, json_update_types, json_nak_codes,
    json_map_actions, json_vector_actions, json_filter_actions, json_name_types,
    json_login_name_types;

/* NULL: the number has no name. */
static inline const char *json_name(const struct json_names *names, unsigned number)
{
    return number < names->count ? names->names[number] : NULL;
}

/* -1: no number has this name. */
int json_number(const struct json_names *names, struct rwf_bytes name);

#endif
