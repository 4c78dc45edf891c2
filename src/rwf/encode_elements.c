/* encode_elements.c - element lists. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encode_list.h"

int rwf_element_list_start_set(struct rwf_encoder *enc, const struct rwf_element_list_info *info,
                               const struct rwf_sets *sets, const struct rwf_bytes *set_data)
{
    struct md_wr wr = encoder_writer(enc);

    if (!encoder_push(enc, LEVEL_ELEMENT_LIST, RWF_TYPE_ELEMENT_LIST))
        return enc->err;
    if (info->set_id > RB15_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    md_wr_u8(&wr, info->flags);
    if (info->flags & RWF_LIST_HAS_INFO) {
        md_wr_u8(&wr, 2);
        md_wr_u16(&wr, info->list_num);
    }
    return list_begin(enc, &wr, info->flags, info->set_id, sets, set_data);
}

int rwf_element_list_start(struct rwf_encoder *enc, const struct rwf_element_list_info *info)
{
    static const struct rwf_element_list_info standard = { .flags = RWF_LIST_HAS_STANDARD_DATA };

    return rwf_element_list_start_set(enc, info ? info : &standard, NULL, NULL);
}

int rwf_element_list_finish(struct rwf_encoder *enc)
{
    return list_finish(enc, LEVEL_ELEMENT_LIST);
}

int rwf_element_add_bytes(struct rwf_encoder *enc, struct rwf_bytes name, unsigned type,
                          struct rwf_bytes content)
{
    int place = list_place(enc, LEVEL_ELEMENT_LIST);

    if (place < 0)
        return place;
    if (place > 0)
        return list_add_set_bytes(enc, RWF_SET_ELEMENTS, 0, name, content);
    if (content.length > OB16_MAX || name.length > RB15_MAX || type > UINT8_MAX ||
        (type == RWF_TYPE_NO_DATA && content.length > 0))
        return encoder_fail(enc, RWF_ERR_RANGE);
    struct md_wr wr = encoder_writer(enc);
    wire_wr_buf15(&wr, name);
    md_wr_u8(&wr, (uint8_t)type);
    if (type != RWF_TYPE_NO_DATA)
        wire_wr_buf16(&wr, content);
    return list_entry_written(enc, RWF_OK, &wr);
}

int rwf_element_add(struct rwf_encoder *enc, struct rwf_bytes name, const struct rwf_value *value)
{
    int place = list_place(enc, LEVEL_ELEMENT_LIST);

    if (place < 0)
        return place;
    if (place > 0)
        return list_add_set_value(enc, RWF_SET_ELEMENTS, 0, name, value);
    if (name.length > RB15_MAX || value->type > UINT8_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    struct md_wr wr = encoder_writer(enc);
    wire_wr_buf15(&wr, name);
    md_wr_u8(&wr, (uint8_t)value->type);
    int rc = value->type == RWF_TYPE_NO_DATA ? RWF_OK : list_write_value(&wr, value);
    return list_entry_written(enc, rc, &wr);
}

int rwf_element_add_int(struct rwf_encoder *enc, const char *name, int64_t value)
{
    struct rwf_value v = rwf_value_int(value);
    return rwf_element_add(enc, rwf_text(name), &v);
}

int rwf_element_add_uint(struct rwf_encoder *enc, const char *name, uint64_t value)
{
    struct rwf_value v = rwf_value_uint(value);
    return rwf_element_add(enc, rwf_text(name), &v);
}

int rwf_element_add_ascii(struct rwf_encoder *enc, const char *name, struct rwf_bytes text)
{
    struct rwf_value v = rwf_value_bytes(RWF_TYPE_ASCII, text);
    return rwf_element_add(enc, rwf_text(name), &v);
}

int rwf_element_add_qos(struct rwf_encoder *enc, const char *name, const struct rwf_qos *qos)
{
    struct rwf_value v = { .type = RWF_TYPE_QOS, .qos = *qos };
    return rwf_element_add(enc, rwf_text(name), &v);
}

int rwf_element_add_state(struct rwf_encoder *enc, const char *name, const struct rwf_state *state)
{
    struct rwf_value v = { .type = RWF_TYPE_STATE, .state = *state };
    return rwf_element_add(enc, rwf_text(name), &v);
}

int rwf_element_start(struct rwf_encoder *enc, struct rwf_bytes name, unsigned type)
{
    int place = list_place(enc, LEVEL_ELEMENT_LIST);

    if (place < 0)
        return place;
    if (place > 0)
        return list_start_set_entry(enc, RWF_SET_ELEMENTS, 0, name, type);
    if (name.length > RB15_MAX || type > UINT8_MAX || type == RWF_TYPE_NO_DATA)
        return encoder_fail(enc, RWF_ERR_RANGE);
    struct md_wr wr = encoder_writer(enc);
    wire_wr_buf15(&wr, name);
    md_wr_u8(&wr, (uint8_t)type);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    return list_start_entry(enc, type);
}

int rwf_element_finish(struct rwf_encoder *enc)
{
    return list_finish_entry(enc, LEVEL_ELEMENT_LIST);
}
