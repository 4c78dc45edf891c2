/* decode.c - as deep into a message as -d asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tc.h"

static bool decode_fields(const struct tc *tc, struct rwf_bytes payload)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        struct rwf_value value = { .type = 0 };
        const struct rwf_field_def *def = NULL;
        if (tc->options.decode >= 2 && tc->dictionary)
            def = rwf_dictionary_field(tc->dictionary, field.id);
        if (def && rwf_value_decode(def->rwf_type, field.content, &value) < 0)
            return false;
    }
    return rc >= 0;
}

bool decode_payload(struct tc *tc, const struct tc_item *item, const struct rwf_msg *msg)
{
    unsigned wanted = msg->msg_class == RWF_CLASS_UPDATE ? 3 : 2;
    bool prints = tc->options.log >= wanted;

    if (prints)
        printf("%-7s %s %s %zu bytes\n", rwf_class_name(msg->msg_class), item->name,
               rwf_domain_name(msg->domain), msg->payload.length);
    if (tc->options.decode == 0)
        return true;
    if (prints && tc->options.decode >= 3)
        return show_payload(tc, msg->container, msg->payload);
    if (msg->container == RWF_TYPE_FIELD_LIST)
        return decode_fields(tc, msg->payload);
    return rwf_check(msg->container, msg->payload, NULL) == RWF_OK;
}
