/* names.h - names of flags, actions and containers; which members a message has. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_NAMES_H
#define RWFDUMP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "rmds/rwf_message.h"

/* "field_list", ..., as names of nodes. */
const char *names_container(unsigned type);

/* The type with that name ("FL", "field_list", "MSG", "REAL", ...) or number; -1: none. */
int names_type(const char *name);

const char *names_map_action(unsigned action);
const char *names_vector_action(unsigned action);
const char *names_filter_action(unsigned action);

/* "SOLICITED|COMPLETE"; bits without a name as hex. Those that say that a member is there, which
 * shows, are left out. Always terminated. */
void names_flags(const struct rwf_msg *msg, char *text, size_t size);

struct names_members {
    bool seq_num, secondary_seq_num, part_num, conf_info, priority, post_id, post_user, post_rights;
    bool nak_code, text, qos, worst_qos, state, group_id, perm_data, ext_header, req_key;
};

struct names_members names_members(const struct rwf_msg *msg);

#endif
