/* filter.c - a message less the fields that are not kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "private.h"

/* True: the list can be read, and its set data, if it has some, is known. */
static bool open_list(struct rwf_bytes bytes, const struct rwf_sets *sets,
                      struct rwf_field_list *list)
{
    return rwf_field_list_decode(bytes, sets, list) >= 0 &&
           (list->set_data.length == 0 || list->set_is_known);
}

/* 1: a field of it is not kept; 0: all are; less: it cannot be read. */
static int loses(const struct rates_fields *fields, struct rwf_bytes bytes,
                 const struct rwf_sets *sets)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int found = 0;
    int rc = 0;

    if (!open_list(bytes, sets, &list))
        return RWF_ERR_NOT_FOUND;
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (field.type == RWF_TYPE_REAL_4RB || field.type == RWF_TYPE_REAL_8RB)
            return RWF_ERR_NOT_FOUND; /* set data that standard data cannot say */
        if (!rates_fields_keep(fields, field.id))
            found = 1;
    }
    return rc < 0 ? rc : found;
}

/* Returns how many fields are left. */
static unsigned write_list(const struct rates_fields *fields, struct rwf_encoder *enc,
                           struct rwf_bytes bytes, const struct rwf_sets *sets)
{
    struct rwf_field_list list;
    struct rwf_field field;
    unsigned left = 0;

    if (!open_list(bytes, sets, &list))
        return 0;
    struct rwf_field_list_info info = list.info;
    info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_field_list_start(enc, &info);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (rates_fields_keep(fields, field.id)) {
            rwf_field_add_bytes(enc, field.id, field.content);
            left++;
        }
    }
    rwf_field_list_finish(enc);
    return left;
}

/* ---- maps ---- */

static int map_loses(const struct rates_fields *fields, const struct rwf_map *map,
                     const struct rwf_sets *sets)
{
    struct rwf_map walk = *map;
    struct rwf_map_entry entry;
    int found = 0;
    int rc = 0;

    if (map->info.flags & RWF_MAP_HAS_SUMMARY)
        found = loses(fields, map->info.summary, sets);
    while (found >= 0 && (rc = rwf_map_next(&walk, &entry)) > 0) {
        int row = entry.action == RWF_MAP_DELETE ? 0 : loses(fields, entry.data, sets);
        found = row < 0 ? row : found | row;
    }
    return rc < 0 ? rc : found;
}

static void write_map(const struct rates_fields *fields, struct rwf_encoder *enc,
                      struct rwf_map map, const struct rwf_sets *sets)
{
    struct rwf_map_info info = map.info;
    struct rwf_map_entry entry;

    info.flags &= (uint8_t)~RWF_MAP_HAS_SET_DEFS; /* rows have standard data from here on */
    info.summary = rwf_bytes(NULL, 0);
    rwf_map_start(enc, &info);
    if (info.flags & RWF_MAP_HAS_SUMMARY) {
        write_list(fields, enc, map.info.summary, sets);
        rwf_summary_finish(enc);
    }
    while (rwf_map_next(&map, &entry) > 0) {
        if (entry.action == RWF_MAP_DELETE) {
            rwf_map_add(enc, &entry);
            continue;
        }
        rwf_map_entry_start(enc, &entry);
        write_list(fields, enc, entry.data, sets);
        rwf_map_entry_finish(enc);
    }
    rwf_map_finish(enc);
}

static bool filter_map(const struct rates_fields *fields, struct rwf_encoder *enc,
                       struct rwf_bytes payload)
{
    struct rwf_set_db db;
    struct rwf_sets sets = { 0 };
    struct rwf_map map;

    if (rwf_map_decode(payload, &map) < 0 || map.info.container != RWF_TYPE_FIELD_LIST)
        return false;
    if (map.info.flags & RWF_MAP_HAS_SET_DEFS) {
        if (rwf_set_db_decode(map.info.set_defs, RWF_SET_FIELDS, &db) < 0)
            return false;
        sets.local = &db;
    }
    if (map_loses(fields, &map, &sets) <= 0)
        return false;
    write_map(fields, enc, map, &sets);
    return true;
}

/* A container stands in a message; the head of this one is cut off again. */
static size_t start_frame(struct rwf_encoder *enc, uint16_t container)
{
    const struct rwf_msg frame = { .msg_class = RWF_CLASS_UPDATE,
                                   .domain = RWF_DOMAIN_MARKET_PRICE,
                                   .container = container };

    rwf_msg_start(enc, &frame);
    return rwf_encoder_bytes(enc).length;
}

unsigned rates_fields_dropped(const struct rates_fields *fields, int16_t ids[RATES_IDS])
{
    if (!fields->drops || fields->named > RATES_IDS)
        return RATES_IDS + 1;
    memcpy(ids, fields->ids, sizeof(fields->ids));
    return fields->named;
}

int rates_fields_lost(const struct rates_fields *fields, struct rwf_bytes list,
                      struct rwf_field_cut *cut)
{
    const struct rwf_field_choice choice = { fields->bits, !fields->drops };

    return rwf_field_list_cut(list, &choice, NULL, cut);
}

/* A list of standard data, which is nearly every one. RWF_ERR_NOT_FOUND: it has set data. */
static int cut_list(const struct rates_fields *fields, struct rwf_bytes message,
                    const struct rwf_peek *peek, uint8_t *out, size_t *length)
{
    const struct rwf_field_choice choice = { fields->bits, !fields->drops };
    struct rwf_field_cut cut;
    int rc = rwf_field_list_cut(rwf_bytes(message.data + peek->payload_at, peek->payload_length),
                                &choice, out + peek->payload_at, &cut);

    if (rc == RWF_ERR_NOT_FOUND)
        return rc;
    if (rc < 0 || cut.lost == 0)
        return RATES_AS_IT_IS;
    memcpy(out, message.data, peek->payload_at);
    *length = peek->payload_at + cut.length;
    return cut.left ? RATES_LESS : RATES_NOTHING;
}

enum rates_verdict rates_filter(const struct rates_fields *fields, struct rwf_bytes message,
                                uint8_t *out, size_t size, size_t *length)
{
    enum rates_verdict verdict = RATES_LESS;
    struct rwf_encoder enc;
    struct rwf_peek peek;

    if (rwf_peek(message, &peek) != RWF_OK || message.length > size)
        return RATES_AS_IT_IS;
    int rc = peek.container == RWF_TYPE_FIELD_LIST ? cut_list(fields, message, &peek, out, length)
                                                   : RWF_ERR_NOT_FOUND;
    if (rc != RWF_ERR_NOT_FOUND)
        return (enum rates_verdict)rc;
    struct rwf_bytes payload = rwf_bytes(message.data + peek.payload_at, peek.payload_length);
    rwf_encoder_init(&enc, out + peek.payload_at, size - peek.payload_at);
    size_t frame = start_frame(&enc, peek.container);
    if (peek.container == RWF_TYPE_MAP) {
        if (!filter_map(fields, &enc, payload))
            return RATES_AS_IT_IS;
    } else if (peek.container == RWF_TYPE_FIELD_LIST && loses(fields, payload, NULL) > 0) {
        if (write_list(fields, &enc, payload, NULL) == 0)
            verdict = RATES_NOTHING;
    } else {
        return RATES_AS_IT_IS;
    }
    if (rwf_msg_finish(&enc) != RWF_OK)
        return RATES_AS_IT_IS;
    /* The head keeps its bytes, with what this codec does not know of it. */
    size_t written = rwf_encoder_bytes(&enc).length - frame;
    memcpy(out, message.data, peek.payload_at);
    memmove(out + peek.payload_at, out + peek.payload_at + frame, written);
    *length = peek.payload_at + written;
    return verdict;
}
