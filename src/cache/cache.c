/* cache.c - images: made, applied, given out, taken back. See cache/cache.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image.h"

#define BYTES_MIN 64

/* ---- memory ---- */

int cache_charge(struct cache *cache, struct cache_image *image, size_t more)
{
    if (cache->config.bytes_max && cache->stats.bytes_now + more > cache->config.bytes_max) {
        cache->stats.refused++;
        return MD_ERR_FULL;
    }
    cache->stats.bytes_now += more;
    image->bytes += more;
    return MD_OK;
}

int cache_bytes_grow(struct cache *cache, struct cache_image *image, struct cache_bytes *bytes,
                     size_t more)
{
    size_t wanted = (size_t)bytes->length + more;

    if (wanted <= bytes->room)
        return MD_OK;
    if (wanted > UINT32_MAX / 2)
        return MD_ERR_FULL;
    /* Images hardly grow after their first refresh: an eighth more, not double. */
    size_t room = wanted + wanted / 8 < BYTES_MIN ? BYTES_MIN : wanted + wanted / 8;
    int err = cache_charge(cache, image, room - bytes->room);
    if (err != MD_OK)
        return err;
    uint8_t *data = realloc(bytes->data, room);
    if (!data)
        return MD_ERR_NOMEM;
    bytes->data = data;
    bytes->room = (uint32_t)room;
    return MD_OK;
}

static void empty(struct cache *cache, struct cache_image *image)
{
    struct cache_image *next = image->next;
    struct cache_image *previous = image->previous;

    free(image->members.data);
    free(image->arena.data);
    free(image->fields);
    free(image->raw_ends);
    cache->stats.bytes_now -= image->bytes;
    memset(image, 0, sizeof(*image));
    image->next = next;
    image->previous = previous;
}

static struct cache_image *new_image(struct cache *cache)
{
    struct cache_image *image = calloc(1, sizeof(*image));

    if (!image)
        return NULL;
    image->next = cache->images;
    if (image->next)
        image->next->previous = image;
    cache->images = image;
    cache->stats.images_now++;
    return image;
}

void cache_image_free(struct cache *cache, struct cache_image *image)
{
    if (!image)
        return;
    empty(cache, image);
    if (image->previous)
        image->previous->next = image->next;
    else
        cache->images = image->next;
    if (image->next)
        image->next->previous = image->previous;
    cache->stats.images_now--;
    free(image);
}

int cache_create(const struct cache_config *config, struct cache **out)
{
    struct cache *cache = calloc(1, sizeof(*cache));

    *out = cache;
    if (!cache)
        return MD_ERR_NOMEM;
    cache->config = *config;
    return MD_OK;
}

void cache_destroy(struct cache *cache)
{
    if (!cache)
        return;
    for (struct cache_image *image = cache->images, *next; image; image = next) {
        next = image->next;
        empty(cache, image);
        free(image);
    }
    free(cache->scratch);
    free(cache);
}

/* ---- the head of the last refresh ---- */

static void keep(struct cache_bytes *members, struct rwf_bytes *view)
{
    if (view->length == 0 || !members->data) {
        *view = rwf_bytes(NULL, 0);
        return;
    }
    memcpy(members->data + members->length, view->data, view->length);
    *view = rwf_bytes(members->data + members->length, view->length);
    members->length += (uint32_t)view->length;
}

static int keep_head(struct cache *cache, struct cache_image *image, const struct rwf_msg *msg)
{
    struct rwf_msg head = *msg;

    image->members.length = 0;
    int err = cache_bytes_grow(cache, image, &image->members,
                               head.state.text.length + head.group_id.length +
                                   head.perm_data.length + head.ext_header.length);
    if (err != MD_OK)
        return err;
    keep(&image->members, &head.state.text);
    keep(&image->members, &head.group_id);
    keep(&image->members, &head.perm_data);
    keep(&image->members, &head.ext_header);
    head.key = (struct rwf_key){ 0 };
    head.req_key = (struct rwf_key){ 0 };
    head.payload = rwf_bytes(NULL, 0);
    head.flags &=
        (uint16_t) ~(RWF_REFRESH_SOLICITED | RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE |
                     RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_REQ_KEY | RWF_REFRESH_HAS_PART_NUM |
                     RWF_REFRESH_HAS_POST_USER_INFO);
    image->head = head;
    return MD_OK;
}

/* ---- containers that are kept as they came ---- */

static int keep_raw(struct cache *cache, struct cache_image *image, struct rwf_bytes payload)
{
    int err = cache_bytes_grow(cache, image, &image->arena, payload.length);

    if (err == MD_OK)
        err = cache_charge(cache, image, sizeof(*image->raw_ends));
    if (err != MD_OK)
        return err;
    uint32_t *ends = realloc(image->raw_ends, (image->raw_count + 1) * sizeof(*ends));
    if (!ends)
        return MD_ERR_NOMEM;
    if (payload.length)
        memcpy(image->arena.data + image->arena.length, payload.data, payload.length);
    image->arena.length += (uint32_t)payload.length;
    image->raw_ends = ends;
    ends[image->raw_count++] = image->arena.length;
    return MD_OK;
}

static struct rwf_bytes raw_part(const struct cache_image *image, uint32_t part)
{
    uint32_t start = part ? image->raw_ends[part - 1] : 0;

    return rwf_bytes(cache_bytes_at(&image->arena, start), image->raw_ends[part] - start);
}

/* ---- applying ---- */

static enum cache_kind kind_for(unsigned container)
{
    if (container == RWF_TYPE_FIELD_LIST)
        return CACHE_KIND_FIELDS;
    return cache_merged_is_for(container) ? CACHE_KIND_MERGED : CACHE_KIND_RAW;
}

static int apply_payload(struct cache *cache, struct cache_image *image, struct rwf_bytes payload)
{
    switch ((enum cache_kind)image->kind) {
    case CACHE_KIND_FIELDS:
        return cache_fields_start(cache, image, payload);
    case CACHE_KIND_MERGED:
        return cache_merged_update(cache, image, payload);
    case CACHE_KIND_RAW:
        break;
    }
    return keep_raw(cache, image, payload);
}

static int apply_refresh(struct cache *cache, struct cache_image *image, const struct rwf_msg *msg)
{
    bool starts = image->kind == CACHE_KIND_RAW && image->raw_count == 0;

    if (starts || image->is_complete || msg->flags & RWF_REFRESH_CLEAR_CACHE) {
        empty(cache, image);
        image->kind = (uint8_t)kind_for(msg->container);
        int err = cache_charge(cache, image, sizeof(*image));
        if (err == MD_OK)
            err = keep_head(cache, image, msg);
        if (err != MD_OK)
            return err;
    }
    if (msg->container != image->head.container)
        return MD_ERR_MALFORMED; /* the parts of one image have one type */
    int err = apply_payload(cache, image, msg->payload);
    if (err != MD_OK)
        return err;
    image->is_complete = (msg->flags & RWF_REFRESH_COMPLETE) != 0;
    image->is_valid = image->is_complete;
    return MD_OK;
}

static int apply_update(struct cache *cache, struct cache_image *image, const struct rwf_msg *msg)
{
    if (msg->flags & RWF_UPDATE_HAS_SEQ_NUM && image->head.flags & RWF_REFRESH_HAS_SEQ_NUM)
        image->head.seq_num = msg->seq_num;
    if (msg->container == RWF_TYPE_NO_DATA || msg->payload.length == 0)
        return MD_OK;
    if (image->kind == CACHE_KIND_RAW || msg->container != image->head.container)
        return MD_ERR_UNSUPPORTED;
    return image->kind == CACHE_KIND_FIELDS ? cache_fields_update(cache, image, msg->payload)
                                            : cache_merged_update(cache, image, msg->payload);
}

static int apply_status(struct cache_image *image, const struct rwf_msg *msg)
{
    if (msg->flags & RWF_STATUS_HAS_STATE) {
        image->head.state.stream_state = msg->state.stream_state;
        if (msg->state.data_state != RWF_DATA_NO_CHANGE)
            image->head.state.data_state = msg->state.data_state;
        image->head.state.code = msg->state.code;
    }
    return MD_OK;
}

static bool is_not_cached(const struct rwf_msg *msg)
{
    return (msg->msg_class == RWF_CLASS_REFRESH && msg->flags & RWF_REFRESH_DO_NOT_CACHE) ||
           (msg->msg_class == RWF_CLASS_UPDATE && msg->flags & RWF_UPDATE_DO_NOT_CACHE);
}

static int apply(struct cache *cache, struct cache_image **image, const struct rwf_msg *msg)
{
    if (!*image && msg->msg_class == RWF_CLASS_REFRESH)
        *image = new_image(cache);
    if (!*image)
        return msg->msg_class == RWF_CLASS_REFRESH ? MD_ERR_NOMEM : MD_OK;
    switch (msg->msg_class) {
    case RWF_CLASS_REFRESH:
        return apply_refresh(cache, *image, msg);
    case RWF_CLASS_UPDATE:
        return apply_update(cache, *image, msg);
    case RWF_CLASS_STATUS:
        return apply_status(*image, msg);
    default:
        return MD_OK;
    }
}

int cache_apply(struct cache *cache, struct cache_image **image, struct rwf_bytes message)
{
    struct rwf_msg msg;
    int err = rwf_msg_decode(message, &msg) == RWF_OK ? MD_OK : MD_ERR_MALFORMED;

    if (err == MD_OK && is_not_cached(&msg))
        return MD_OK;
    if (err == MD_OK)
        err = apply(cache, image, &msg);
    if (err == MD_OK) {
        cache->stats.applied++;
        return MD_OK;
    }
    cache->stats.failed++;
    if (*image)
        (*image)->is_valid = false;
    return err;
}

/* ---- giving out ---- */

bool cache_image_is_valid(const struct cache_image *image)
{
    return image && image->is_valid;
}

struct rwf_state cache_image_state(const struct cache_image *image)
{
    return image->head.state;
}

void cache_image_set_state(struct cache_image *image, uint8_t stream_state, uint8_t data_state,
                           uint8_t code)
{
    image->head.state.stream_state = stream_state;
    image->head.state.data_state = data_state;
    image->head.state.code = code;
}

static int raw_encode(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last)
{
    int rc = rwf_raw_add(enc, raw_part(image, cursor->next));

    if (rc < 0)
        return rc;
    cursor->next++;
    *is_last = cursor->next == image->raw_count;
    return MD_OK;
}

static int encode_part(const struct cache_image *image, struct cache_cursor *cursor,
                       struct rwf_encoder *enc, bool *is_last)
{
    switch ((enum cache_kind)image->kind) {
    case CACHE_KIND_FIELDS:
        return cache_fields_part(image, cursor, enc, is_last);
    case CACHE_KIND_MERGED:
        return cache_merged_part(image, cursor, enc, is_last);
    case CACHE_KIND_RAW:
        break;
    }
    return raw_encode(image, cursor, enc, is_last);
}

int cache_image_part(const struct cache_image *image, struct cache_cursor *cursor, uint8_t *out,
                     size_t size, size_t *length, bool *is_last)
{
    struct rwf_msg msg = image->head;
    struct rwf_encoder enc;
    int rc;

    *length = 0;
    *is_last = true;
    if (cursor->part == 0)
        msg.flags |= RWF_REFRESH_CLEAR_CACHE;
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rc = encode_part(image, cursor, &enc, is_last);
    if (rc >= 0)
        rc = rwf_msg_finish(&enc);
    if (rc < 0)
        return rc;
    *length = rwf_encoder_bytes(&enc).length;
    cursor->part++;
    if (*is_last)
        rc = rwf_patch_flags(out, *length, RWF_REFRESH_COMPLETE, 0);
    return rc;
}

size_t cache_image_bytes(const struct cache_image *image)
{
    return image ? image->bytes : 0;
}

void cache_stats(const struct cache *cache, struct cache_stats *out)
{
    *out = cache->stats;
}
