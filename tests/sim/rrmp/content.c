/* content.c - the payload of each message, a function of item and counter. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cores.h"

uint32_t content_mix(uint32_t item, uint32_t counter)
{
    uint64_t state = (uint64_t)item << 32 | counter;

    return (uint32_t)md_splitmix64(&state);
}

static void common(struct rwf_encoder *enc, const struct content *content)
{
    rwf_field_add_uint(enc, FIELD_ITEM, content->item);
    rwf_field_add_uint(enc, FIELD_MAKER, content->maker);
    rwf_field_add_uint(enc, FIELD_PERMISSION, content->permission);
    rwf_field_add_uint(enc, FIELD_MIX, content_mix(content->item, content->counter));
    rwf_field_add_uint(enc, FIELD_COUNTER, content->counter);
}

void content_image(struct rwf_encoder *enc, const struct content *content, uint16_t part)
{
    rwf_field_list_start(enc, NULL);
    common(enc, content);
    rwf_field_add_uint(enc, FIELD_EIGHTH, content->counter / 8);
    rwf_field_add_uint(enc, (int16_t)(FIELD_PART + part), content_mix(content->item, part));
    rwf_field_list_finish(enc);
}

void content_update(struct rwf_encoder *enc, const struct content *content)
{
    rwf_field_list_start(enc, NULL);
    common(enc, content);
    if (content->counter % 8 == 0)
        rwf_field_add_uint(enc, FIELD_EIGHTH, content->counter / 8);
    rwf_field_list_finish(enc);
}

static void field_take(struct content *out, int16_t id, uint32_t value)
{
    switch (id) {
    case FIELD_ITEM:
        out->item = value;
        break;
    case FIELD_MAKER:
        out->maker = value;
        break;
    case FIELD_PERMISSION:
        out->permission = value;
        out->has_permission = true;
        break;
    case FIELD_MIX:
        out->mix = value;
        break;
    case FIELD_EIGHTH:
        out->eighth = value;
        out->has_eighth = true;
        break;
    case FIELD_COUNTER:
        out->counter = value;
        break;
    default:
        if (id >= FIELD_PART && id < FIELD_PART + PARTS_MAX)
            out->parts |= 1u << (id - FIELD_PART);
        break;
    }
}

bool content_read(const struct rwf_msg *msg, struct content *out)
{
    struct rwf_field_list list;
    struct rwf_field field;
    uint64_t value;
    int rc;

    *out = (struct content){ 0 };
    if (msg->container != RWF_TYPE_FIELD_LIST ||
        rwf_field_list_decode(msg->payload, NULL, &list) < 0)
        return false;
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (rwf_uint_decode(field.content, &value) != RWF_OK)
            return false;
        field_take(out, field.id, (uint32_t)value);
        out->count++;
    }
    out->is_read = rc == 0;
    return out->is_read;
}
