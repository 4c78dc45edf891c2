/* decode.c - as deep into a message as -d asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tc.h"

/* Nothing that a terminal would obey, and nothing that it could not show. */
static size_t bytes_text(struct rwf_bytes bytes, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes.length && n + 1 < size; i++)
        out[n++] = bytes.data[i] < 0x20 || bytes.data[i] > 0x7e ? '.' : (char)bytes.data[i];
    out[n] = 0;
    return n;
}

static size_t value_text(const struct rwf_value *value, char *out, size_t size)
{
    if (value->is_blank)
        return (size_t)snprintf(out, size, "(blank)");
    switch (value->type) {
    case RWF_TYPE_INT:
        return rwf_int_to_text(value->i, out, size);
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        return rwf_uint_to_text(value->u, out, size);
    case RWF_TYPE_FLOAT:
        return (size_t)snprintf(out, size, "%g", (double)value->f);
    case RWF_TYPE_DOUBLE:
        return (size_t)snprintf(out, size, "%g", value->d);
    case RWF_TYPE_REAL:
        return rwf_real_to_text(&value->real, out, size);
    case RWF_TYPE_DATE:
        return rwf_date_to_text(&value->date, out, size);
    case RWF_TYPE_TIME:
        return rwf_time_to_text(&value->time, out, size);
    case RWF_TYPE_DATETIME:
        return rwf_datetime_to_text(&value->datetime, out, size);
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
    case RWF_TYPE_RMTES:
        return bytes_text(value->bytes, out, size);
    default:
        return (size_t)snprintf(out, size, "(%zu bytes)", value->bytes.length);
    }
}

static void print_field(const struct rwf_field_def *def, const struct rwf_field *field,
                        const struct rwf_value *value)
{
    char text[256];

    if (def) {
        (void)value_text(value, text, sizeof(text));
        printf("        %-12s %5d  %s", def->name, field->id, text);
        const struct rwf_enum_value *entry = value->type == RWF_TYPE_ENUM && !value->is_blank
                                                 ? rwf_enum_find(def->enums, (unsigned)value->u)
                                                 : NULL;
        if (entry) {
            (void)bytes_text(rwf_bytes(entry->display, entry->display_length), text, sizeof(text));
            printf(" \"%s\"", text);
        }
        printf("\n");
    } else {
        printf("        %-12s %5d  (%zu bytes)\n", "?", field->id, field->content.length);
    }
}

static bool decode_fields(struct tc *tc, struct rwf_bytes payload, bool prints)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        struct rwf_value value = { .type = 0 };
        const struct rwf_field_def *def = NULL;
        if (tc->options.decode >= 2 && tc->dictionary) {
            def = rwf_dictionary_field(tc->dictionary, field.id);
            if (def && rwf_value_decode(def->rwf_type, field.content, &value) < 0)
                return false;
        }
        if (prints)
            print_field(def, &field, &value);
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
    if (msg->container == RWF_TYPE_FIELD_LIST)
        return decode_fields(tc, msg->payload, prints && tc->options.decode >= 3);
    return rwf_check(msg->container, msg->payload, NULL) == RWF_OK;
}
