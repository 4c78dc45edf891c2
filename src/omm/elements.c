/* elements.c - see elements.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "elements.h"

void omm_element_number(const struct rwf_element *element, uint64_t *out)
{
    uint64_t number;
    int64_t signed_number;

    if (element->type == RWF_TYPE_UINT || element->type == RWF_TYPE_ENUM) {
        if (rwf_uint_decode(element->content, &number) == RWF_OK)
            *out = number;
    } else if (element->type == RWF_TYPE_INT) {
        if (rwf_int_decode(element->content, &signed_number) == RWF_OK && signed_number >= 0)
            *out = (uint64_t)signed_number;
    }
}

void omm_element_flag(const struct rwf_element *element, bool *out)
{
    uint64_t number = *out;

    omm_element_number(element, &number);
    *out = number != 0;
}

void omm_element_text(const struct rwf_element *element, struct rwf_bytes *out)
{
    switch (element->type) {
    case RWF_TYPE_BUFFER:
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
    case RWF_TYPE_RMTES:
        *out = element->content;
        break;
    default:
        break;
    }
}
