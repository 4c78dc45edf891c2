/* posts.c - what is posted: the time, or the fields of -pf. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tc.h"

#define TIM_TRK_2 3903

/* NAME=VALUE as the dictionary has the field. False: it cannot be that. */
static bool add_field(const struct tc *tc, struct rwf_encoder *enc, const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    struct rwf_real real;
    uint64_t number = 0;
    char digits[24];

    if (!equals || !tc->dictionary)
        return false;
    const struct rwf_field_def *def =
        rwf_dictionary_field_named(tc->dictionary, word, (size_t)(equals - word));
    struct rwf_bytes value = rwf_bytes(equals + 1, length - (size_t)(equals + 1 - word));
    if (!def)
        return false;
    switch (def->rwf_type) {
    case RWF_TYPE_REAL:
        return rwf_real_from_text(value, &real) == RWF_OK &&
               rwf_field_add_real(enc, def->fid, &real) == RWF_OK;
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        snprintf(digits, sizeof(digits), "%.*s", (int)value.length, (const char *)value.data);
        if (value.length == 0 || value.length > 9 || digits[strspn(digits, "0123456789")])
            return false;
        for (const char *at = digits; *at; at++)
            number = number * 10 + (uint64_t)(*at - '0');
        return def->rwf_type == RWF_TYPE_UINT
                   ? rwf_field_add_uint(enc, def->fid, number) == RWF_OK
                   : number <= UINT16_MAX &&
                         rwf_field_add_enum(enc, def->fid, (uint16_t)number) == RWF_OK;
    case RWF_TYPE_ASCII:
    case RWF_TYPE_RMTES:
    case RWF_TYPE_UTF8:
        return rwf_field_add_bytes(enc, def->fid, value) == RWF_OK;
    default:
        return false;
    }
}

bool posts_fill(struct tc *tc, struct rwf_encoder *enc, uint64_t now_ns)
{
    bool is_good = true;

    rwf_field_list_start(enc, NULL);
    for (const char *at = tc->options.post_fields; at && *at && is_good;) {
        size_t length = strcspn(at, ",");
        is_good = add_field(tc, enc, at, length);
        if (!is_good)
            fprintf(
                stderr,
                "rmdstestclient: -pf %.*s: NAME=VALUE is expected, a number or a text of a field"
                " that the dictionary has; nothing is posted\n",
                (int)length, at);
        at += length + (at[length] == ',');
    }
    if (!tc->options.post_fields)
        rwf_field_add_uint(enc, TIM_TRK_2, now_ns / MD_NS_PER_US);
    rwf_field_list_finish(enc);
    return is_good;
}
