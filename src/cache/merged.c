/* merged.c - images of maps, vectors, filter lists, element lists and series. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/writer.h"
#include "image.h"
#include "merge.h"

bool cache_merged_is_for(unsigned container)
{
    switch (container) {
    case RWF_TYPE_ELEMENT_LIST:
    case RWF_TYPE_MAP:
    case RWF_TYPE_VECTOR:
    case RWF_TYPE_FILTER_LIST:
    case RWF_TYPE_SERIES:
        return true;
    default:
        return false;
    }
}

/* Merges into the cache's scratch memory: what it gives has a head of so many bytes before it. */
static int merge(struct cache *cache, uint8_t container, struct rwf_bytes old,
                 struct rwf_bytes payload, struct rwf_bytes *merged)
{
    struct rwf_encoder enc;
    struct rwf_msg frame = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = container,
    };

    if (!cache_scratch(cache))
        return MD_ERR_NOMEM;
    /* A container stands in a message; the head of this one is cut off again. */
    rwf_encoder_init(&enc, cache_scratch(cache), CACHE_MERGED_MAX);
    rwf_msg_start(&enc, &frame);
    size_t head = rwf_encoder_bytes(&enc).length;
    int rc = cache_merge(cache, &enc, container, old, payload, NULL);
    if (rc >= 0)
        rc = rwf_msg_finish(&enc);
    if (rc < 0)
        return rc;
    struct rwf_bytes whole = rwf_encoder_bytes(&enc);
    *merged = rwf_bytes(whole.data + head, whole.length - head);
    return MD_OK;
}

/*
 * An update of a series only adds rows, thousands of them in a day: they go behind those that are
 * there, which are not touched. False: it changes more, or there is no room; then all is merged.
 */
static bool appends(struct cache *cache, struct cache_image **image, struct rwf_bytes payload,
                    int *rc)
{
    struct rwf_bytes old = cache_payload(*image);
    struct rwf_bytes fresh;
    struct rwf_series list;
    struct rwf_series more;

    if ((*image)->container != RWF_TYPE_SERIES || old.length == 0 ||
        rwf_series_decode(payload, &more) < 0 || more.info.flags & RWF_SERIES_HAS_SUMMARY ||
        rwf_series_decode(old, &list) < 0 || list.info.container != more.info.container ||
        (unsigned)list.count + more.count > UINT16_MAX)
        return false;
    *rc = merge(cache, RWF_TYPE_SERIES, rwf_bytes(NULL, 0), payload, &fresh);
    if (*rc < 0 || (*rc = rwf_series_decode(fresh, &more)) < 0)
        return true;
    size_t count_at = (*image)->payload_at + (size_t)(list.pos - old.data) - 2;
    size_t length = (size_t)(more.end - more.pos);
    if (old.length + length > CACHE_MERGED_MAX)
        return false;
    *rc = cache_resize(cache, image, (*image)->length, 0, length);
    if (*rc != MD_OK)
        return true;
    if (length)
        memcpy((*image)->bytes + (*image)->length - length, more.pos, length);
    md_put_be16((*image)->bytes + count_at, (uint16_t)(list.count + more.count));
    return true;
}

int cache_merged_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload)
{
    struct rwf_bytes old = cache_payload(*image);
    struct rwf_bytes merged;
    int rc;

    if (appends(cache, image, payload, &rc))
        return rc;
    rc = merge(cache, (*image)->container, old, payload, &merged);
    if (rc < 0)
        return rc;
    int err = cache_resize(cache, image, (*image)->payload_at, old.length, merged.length);
    if (err == MD_OK && merged.length)
        memcpy((*image)->bytes + (*image)->payload_at, merged.data, merged.length);
    return err;
}

/* ---- giving out ---- */

/* The rows of a container, of which a part takes as many as fit. */
struct rows {
    unsigned container;
    union {
        struct {
            struct rwf_map list;
            struct rwf_map_entry entry;
        } map;
        struct {
            struct rwf_vector list;
            struct rwf_vector_entry entry;
        } vector;
        struct {
            struct rwf_series list;
            struct rwf_bytes entry;
        } series;
    } of;
    const uint8_t **pos; /* of the list: */
    uint32_t *left;
};

static int rows_decode(struct rows *rows, unsigned container, struct rwf_bytes payload)
{
    rows->container = container;
    switch (container) {
    case RWF_TYPE_MAP:
        rows->pos = &rows->of.map.list.pos;
        rows->left = &rows->of.map.list.left;
        return rwf_map_decode(payload, &rows->of.map.list);
    case RWF_TYPE_VECTOR:
        rows->pos = &rows->of.vector.list.pos;
        rows->left = &rows->of.vector.list.left;
        return rwf_vector_decode(payload, &rows->of.vector.list);
    default:
        rows->pos = &rows->of.series.list.pos;
        rows->left = &rows->of.series.list.left;
        return rwf_series_decode(payload, &rows->of.series.list);
    }
}

/* The summary goes with the first part. Rows with permission data say so when they come. */
static void rows_start(struct rows *rows, struct rwf_encoder *enc, bool is_first)
{
    if (rows->container == RWF_TYPE_MAP) {
        struct rwf_map_info *info = &rows->of.map.list.info;
        info->flags &= (uint8_t) ~(RWF_MAP_HAS_ENTRY_PERM | (is_first ? 0 : RWF_MAP_HAS_SUMMARY));
        rwf_map_start(enc, info);
    } else if (rows->container == RWF_TYPE_VECTOR) {
        struct rwf_vector_info *info = &rows->of.vector.list.info;
        info->flags &=
            (uint8_t) ~(RWF_VECTOR_HAS_ENTRY_PERM | (is_first ? 0 : RWF_VECTOR_HAS_SUMMARY));
        rwf_vector_start(enc, info);
    } else {
        struct rwf_series_info *info = &rows->of.series.list.info;
        info->flags &= (uint8_t) ~(is_first ? 0 : RWF_SERIES_HAS_SUMMARY);
        rwf_series_start(enc, info);
    }
}

static int rows_next(struct rows *rows)
{
    if (rows->container == RWF_TYPE_MAP)
        return rwf_map_next(&rows->of.map.list, &rows->of.map.entry);
    if (rows->container == RWF_TYPE_VECTOR)
        return rwf_vector_next(&rows->of.vector.list, &rows->of.vector.entry);
    return rwf_series_next(&rows->of.series.list, &rows->of.series.entry);
}

static int rows_add(const struct rows *rows, struct rwf_encoder *enc)
{
    if (rows->container == RWF_TYPE_MAP)
        return rwf_map_add(enc, &rows->of.map.entry);
    if (rows->container == RWF_TYPE_VECTOR)
        return rwf_vector_add(enc, &rows->of.vector.entry);
    return rwf_series_add(enc, rows->of.series.entry);
}

static int rows_finish(const struct rows *rows, struct rwf_encoder *enc)
{
    if (rows->container == RWF_TYPE_MAP)
        return rwf_map_finish(enc);
    return rows->container == RWF_TYPE_VECTOR ? rwf_vector_finish(enc) : rwf_series_finish(enc);
}

/* The rows from cursor->next on, which begin at cursor->at. */
static int rows_part(const struct cache_image *image, struct cache_cursor *cursor,
                     struct rwf_encoder *enc, bool *is_last)
{
    const struct rwf_bytes payload = cache_payload(image);
    const uint32_t first = cursor->next;
    struct rows rows;
    int rc = rows_decode(&rows, image->container, payload);

    if (rc < 0)
        return rc;
    rows_start(&rows, enc, cursor->part == 0);
    if (first > 0) {
        if (first > *rows.left || cursor->at > payload.length)
            return MD_ERR_STATE; /* another image than the one it began with */
        *rows.left -= first;
        *rows.pos = payload.data + cursor->at;
    }
    *is_last = true;
    const uint8_t *next = *rows.pos;
    while ((rc = rows_next(&rows)) > 0) {
        struct rwf_mark mark = rwf_encoder_mark(enc);

        if (rows_add(&rows, enc) < 0) {
            rwf_encoder_rollback(enc, &mark);
            *is_last = false;
            break;
        }
        cursor->next++;
        next = *rows.pos;
    }
    if (rc < 0)
        return rc;
    if (!*is_last && cursor->next == first)
        return MD_ERR_FULL;
    cursor->at = (uint32_t)(next - payload.data);
    return rows_finish(&rows, enc);
}

int cache_merged_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last)
{
    switch (image->container) {
    case RWF_TYPE_MAP:
    case RWF_TYPE_VECTOR:
    case RWF_TYPE_SERIES:
        return rows_part(image, cursor, enc, is_last);
    default:
        *is_last = true; /* the other containers are small and go out whole */
        return rwf_raw_add(enc, cache_payload(image));
    }
}
