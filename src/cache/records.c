/* records.c - images that are Marketfeed records: kept as fields whose contents are the texts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/writer.h"
#include "image.h"
#include "marketfeed/marketfeed.h"

/*
 * In an image a record is a field list of its texts, so that updates, ripples and partial strings
 * are the same code as for RWF, and nothing is lost by a conversion. A record has no field 0: that
 * one is the first, and holds what else the image needs: whether there is a level, the level (u32),
 * the name. The template stands where a field list has it.
 */
#define HEAD_ID     0
#define HEAD_LENGTH 5 /* in front of the name */
#define HALF        (CACHE_MERGED_MAX / 2)

/* ---- from a record ---- */

static uint8_t *put_content(uint8_t *p, int16_t id, struct rwf_bytes content)
{
    md_put_be16(p, (uint16_t)id);
    p += 2;
    if (content.length < CACHE_LENGTH_LONG) {
        *p++ = (uint8_t)content.length;
    } else {
        *p++ = CACHE_LENGTH_LONG;
        md_put_be16(p, (uint16_t)content.length);
        p += 2;
    }
    if (content.length)
        memcpy(p, content.data, content.length);
    return p + content.length;
}

/* The record as a list at `out`: at most four thirds of its length and what stands in field 0. */
static struct rwf_bytes make_list(const struct mf_record *record, uint8_t *out)
{
    bool has_template =
        record->has_template && (record->code == MF_IMAGE || record->code == MF_SNAPSHOT);
    uint8_t head[HEAD_LENGTH + MF_NAME_MAX] = { record->has_level };
    struct rwf_bytes rest = record->fields;
    struct mf_field field;
    uint16_t count = 1;
    uint8_t *p = out;

    *p++ = RWF_LIST_HAS_STANDARD_DATA | (has_template ? RWF_LIST_HAS_INFO : 0);
    if (has_template) {
        *p++ = 3;
        *p++ = 0; /* the dictionary is chosen by who makes RWF of it */
        md_put_be16(p, record->template_id);
        p += 2;
    }
    uint8_t *count_at = p;
    md_put_be32(head + 1, record->level);
    memcpy(head + HEAD_LENGTH, record->name.data, record->name.length);
    p = put_content(p + 2, HEAD_ID, rwf_bytes(head, HEAD_LENGTH + record->name.length));
    while (mf_next(&rest, &field)) {
        p = put_content(p, field.id, field.value);
        count++;
    }
    md_put_be16(count_at, count);
    return rwf_bytes(out, (size_t)(p - out));
}

static bool ripples_by_code(const struct mf_record *record)
{
    return record->code == MF_UPDATE || record->code == MF_CLOSING_RUN ||
           record->code == MF_AGGREGATE;
}

int cache_record_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload,
                        bool ripples)
{
    uint8_t *scratch = cache_scratch(cache);
    bool is_first = (*image)->length == (*image)->payload_at;
    struct mf_record record;

    if (!scratch)
        return MD_ERR_NOMEM;
    int err = mf_decode(payload, MF_RECORD_MAX, &record);
    if (err == MD_ERR_UNSUPPORTED && !is_first)
        return MD_OK; /* a status or the like: it changes no field */
    if (err != MD_OK)
        return MD_ERR_MALFORMED;
    /* The lower half is for strings that are changed in part. */
    struct rwf_bytes list = make_list(&record, scratch + HALF);
    return is_first ? cache_fields_start(cache, image, list)
                    : cache_fields_update(cache, image, list, ripples && ripples_by_code(&record));
}

/* ---- to a record ---- */

static void put_field(struct mf_output *out, const struct rwf_field *field, uint16_t template_id)
{
    struct rwf_bytes content = field->content;

    if (field->id != HEAD_ID) {
        mf_put_id(out, field->id);
        mf_put(out, content);
        return;
    }
    mf_put_head(out,
                &(struct mf_record){
                    .code = MF_IMAGE,
                    .has_template = true,
                    .has_level = content.data[0] != 0,
                    .template_id = template_id,
                    .level = md_be32(content.data + 1),
                    .name = rwf_bytes(content.data + HEAD_LENGTH, content.length - HEAD_LENGTH),
                });
}

int cache_record_image(const struct cache_image *image, uint8_t *out, size_t size, size_t *length)
{
    struct rwf_field_list list;
    struct rwf_field field;

    *length = 0;
    if (size < image->payload_at ||
        rwf_field_list_decode(cache_payload(image), NULL, &list) != RWF_OK)
        return MD_ERR_FULL;
    struct mf_output output = { .bytes = out + image->payload_at,
                                .size = size - image->payload_at };
    if (output.size > MF_RECORD_MAX)
        output.size = MF_RECORD_MAX;
    memcpy(out, image->bytes, image->payload_at);
    uint16_t template_id = list.info.flags & RWF_LIST_HAS_INFO ? list.info.list_num : 0;
    while (rwf_field_list_next(&list, &field) > 0)
        put_field(&output, &field, template_id);
    mf_put_end(&output);
    if (output.is_full)
        return MD_ERR_FULL;
    *length = image->payload_at + output.length;
    return MD_OK;
}
