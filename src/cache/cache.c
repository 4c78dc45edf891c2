/* cache.c - images: made, applied, given out, taken back. See cache/cache.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/writer.h"
#include "image.h"
#include "marketfeed/marketfeed.h"

#define HEAP_HEADER 8  /* what the heap of the C library adds to a block, */
#define HEAP_STEP   16 /* and how it rounds */
#define HEAD_GROWTH 8  /* by flags that the refresh did not have, and room to encode in */

/* ---- memory ---- */

uint8_t *cache_scratch(struct cache *cache)
{
    if (!cache->scratch)
        cache->scratch = malloc(CACHE_MERGED_MAX);
    return cache->scratch;
}

/* Bytes of the heap that a block with so much room takes. */
static size_t cost_of(size_t room)
{
    size_t size = offsetof(struct cache_image, bytes) + room + HEAP_HEADER;

    size = (size + HEAP_STEP - 1) & ~(size_t)(HEAP_STEP - 1);
    return size < 2 * HEAP_STEP ? 2 * HEAP_STEP : size;
}

static size_t cost_of_image(const struct cache_image *image)
{
    return image ? cost_of(image->room) : 0;
}

static bool is_page(const struct cache_image *image)
{
    return image->kind == CACHE_KIND_PAGE;
}

static void count_page(struct cache *cache, const struct cache_image *image, bool is_new)
{
    if (!is_page(image))
        return;
    cache->stats.pages_now += is_new ? 1 : UINT64_MAX;
    cache->stats.page_bytes_now += is_new ? cost_of_image(image) : 0 - cost_of_image(image);
}

/* A block for `room` bytes or a few more, what is in *image moved to it. */
static int take_room(struct cache *cache, struct cache_image **image, size_t room)
{
    size_t old_cost = cost_of_image(*image);
    size_t cost = cost_of(room);
    size_t others = cache->stats.bytes_now - old_cost;

    if (room > UINT32_MAX / 2)
        return MD_ERR_FULL;
    if (cache->config.bytes_max && others + cost > cache->config.bytes_max) {
        cache->stats.refused++;
        return MD_ERR_FULL;
    }
    struct cache_image *moved = realloc(*image, cost - HEAP_HEADER);
    if (!moved)
        return MD_ERR_NOMEM;
    if (!*image) {
        memset(moved, 0, sizeof(*moved));
        cache->stats.images_now++;
    }
    moved->room = (uint32_t)(cost - HEAP_HEADER - offsetof(struct cache_image, bytes));
    if (is_page(moved))
        cache->stats.page_bytes_now += cost - old_cost;
    cache->stats.bytes_now = others + cost;
    *image = moved;
    return MD_OK;
}

int cache_resize(struct cache *cache, struct cache_image **image, size_t at, size_t old,
                 size_t fresh)
{
    size_t wanted = (*image)->length - old + fresh;

    if (wanted > (*image)->room) {
        /* An image that grows by a longer field does so a few times: leave some room for these. */
        int err = take_room(cache, image, wanted + wanted / 32);
        if (err != MD_OK)
            return err;
    }
    uint8_t *p = (*image)->bytes + at;
    if (fresh != old)
        memmove(p + fresh, p + old, (*image)->length - at - old);
    (*image)->length = (uint32_t)wanted;
    cache->stats.encoded_now += fresh - old;
    return MD_OK;
}

void cache_image_free(struct cache *cache, struct cache_image *image)
{
    if (!image)
        return;
    cache->stats.bytes_now -= cost_of_image(image);
    cache->stats.encoded_now -= image->length;
    count_page(cache, image, false);
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

void cache_rules_set(struct cache *cache, const struct cache_ripples *ripples, bool keeps_pages)
{
    cache->config.ripples = ripples;
    cache->config.keeps_pages = keeps_pages;
}

void cache_destroy(struct cache *cache)
{
    if (!cache)
        return;
    MD_ASSERT(cache->stats.images_now == 0);
    free(cache->scratch);
    free(cache);
}

/* ---- the first part of a refresh ---- */

static struct rwf_msg head_of(const struct rwf_msg *msg)
{
    struct rwf_msg head = *msg;

    head.key = (struct rwf_key){ 0 };
    head.req_key = (struct rwf_key){ 0 };
    head.payload = rwf_bytes(NULL, 0);
    head.flags &=
        (uint16_t) ~(RWF_REFRESH_SOLICITED | RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_REQ_KEY |
                     RWF_REFRESH_HAS_PART_NUM | RWF_REFRESH_HAS_POST_USER_INFO);
    head.flags |= RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE;
    return head;
}

static int put_head(struct cache_image *image, const struct rwf_msg *msg)
{
    struct rwf_msg head = head_of(msg);
    struct rwf_encoder enc;
    struct rwf_layout layout;

    rwf_encoder_init(&enc, image->bytes, image->room);
    if (rwf_msg_encode(&enc, &head) != RWF_OK ||
        rwf_layout_decode(rwf_encoder_bytes(&enc), &layout) != RWF_OK)
        return MD_ERR_MALFORMED;
    image->payload_at = (uint32_t)rwf_encoder_bytes(&enc).length;
    image->length = image->payload_at;
    image->state_at = (uint8_t)layout.state.at;
    image->seq_at = (uint8_t)layout.seq_num.at;
    return MD_OK;
}

static enum cache_kind kind_for(const struct cache *cache, unsigned container)
{
    if (container == RWF_TYPE_ANSI_PAGE && cache->config.keeps_pages)
        return CACHE_KIND_PAGE;
    if (container == MF_CONTAINER)
        return CACHE_KIND_RECORD;
    if (container == RWF_TYPE_FIELD_LIST)
        return CACHE_KIND_FIELDS;
    return cache_merged_is_for(container) ? CACHE_KIND_MERGED : CACHE_KIND_RAW;
}

/* Forgets the old content. The block is used again if it is not much too large. */
static int start(struct cache *cache, struct cache_image **image, const struct rwf_msg *msg,
                 size_t message_length)
{
    size_t room = message_length + HEAD_GROWTH;
    int err = MD_OK;

    if (*image) {
        cache->stats.encoded_now -= (*image)->length;
        (*image)->length = 0;
    }
    if (!*image || (*image)->room < room || (*image)->room > room + room / 8 + 64)
        err = take_room(cache, image, room);
    if (err != MD_OK)
        return err;
    count_page(cache, *image, false);
    (*image)->kind = (uint8_t)kind_for(cache, msg->container);
    (*image)->container = (uint8_t)msg->container;
    count_page(cache, *image, true);
    (*image)->is_complete = false;
    (*image)->is_broken = false;
    (*image)->state_at = 0;
    (*image)->ripple_epoch = 0;
    (*image)->targets = 0;
    err = put_head(*image, msg);
    cache->stats.encoded_now += (*image)->length;
    return err;
}

/* ---- containers that are kept as they came ---- */

int cache_raw_keep(struct cache *cache, struct cache_image **image, struct rwf_bytes payload)
{
    size_t at = (*image)->length;
    int err = cache_resize(cache, image, at, 0, CACHE_RAW_LENGTH + payload.length);

    if (err != MD_OK)
        return err;
    md_put_be32((*image)->bytes + at, (uint32_t)payload.length);
    if (payload.length)
        memcpy((*image)->bytes + at + CACHE_RAW_LENGTH, payload.data, payload.length);
    return MD_OK;
}

static int raw_part(const struct cache_image *image, struct cache_cursor *cursor,
                    struct rwf_encoder *enc, bool *is_last)
{
    size_t at = cursor->part ? cursor->next : image->payload_at;
    int rc = rwf_raw_add(enc, cache_raw_next(image, &at));

    if (rc < 0)
        return rc;
    cursor->next = (uint32_t)at;
    *is_last = at == image->length;
    return MD_OK;
}

/* ---- applying ---- */

/* A further part of a refresh, or an update. */
static int apply_payload(struct cache *cache, struct cache_image **image, struct rwf_bytes payload,
                         bool ripples)
{
    switch ((enum cache_kind)(*image)->kind) {
    case CACHE_KIND_FIELDS:
        return cache_fields_update(cache, image, payload, ripples);
    case CACHE_KIND_MERGED:
        return cache_merged_update(cache, image, payload);
    case CACHE_KIND_PAGE:
        return cache->config.keeps_pages || !(*image)->is_complete
                   ? cache_page_update(cache, image, payload)
                   : MD_ERR_UNSUPPORTED;
    case CACHE_KIND_RECORD:
        return cache_record_update(cache, image, payload, ripples);
    case CACHE_KIND_RAW:
        break;
    }
    return cache_raw_keep(cache, image, payload);
}

static int apply_refresh(struct cache *cache, struct cache_image **image, const struct rwf_msg *msg,
                         size_t message_length)
{
    bool starts = !*image || (*image)->is_complete || msg->flags & RWF_REFRESH_CLEAR_CACHE;
    int err = starts ? start(cache, image, msg, message_length) : MD_OK;

    if (err == MD_OK && (*image)->is_broken)
        err = MD_ERR_STATE; /* the parts before are not in it */
    if (err == MD_OK && msg->container != (*image)->container)
        err = MD_ERR_MALFORMED; /* the parts of one image have one type */
    if (err == MD_OK)
        err = starts && (*image)->kind == CACHE_KIND_FIELDS
                  ? cache_fields_start(cache, image, msg->payload)
                  : apply_payload(cache, image, msg->payload, false);
    if (*image)
        (*image)->is_complete = (msg->flags & RWF_REFRESH_COMPLETE) != 0;
    return err;
}

static int apply_update(struct cache *cache, struct cache_image **image, const struct rwf_msg *msg)
{
    if ((*image)->is_broken)
        return MD_ERR_STATE;
    if (msg->flags & RWF_UPDATE_HAS_SEQ_NUM && (*image)->seq_at)
        md_put_be32((*image)->bytes + (*image)->seq_at, msg->seq_num);
    if (msg->container == RWF_TYPE_NO_DATA || msg->payload.length == 0)
        return MD_OK;
    if ((*image)->kind == CACHE_KIND_RAW || msg->container != (*image)->container)
        return MD_ERR_UNSUPPORTED;
    return apply_payload(cache, image, msg->payload, (msg->flags & RWF_UPDATE_DO_NOT_RIPPLE) == 0);
}

static void apply_status(struct cache_image *image, const struct rwf_state *state)
{
    struct rwf_state old = cache_image_state(image);

    cache_image_set_state(
        image, state->stream_state,
        state->data_state == RWF_DATA_NO_CHANGE ? old.data_state : state->data_state, state->code);
}

static bool is_not_cached(const struct rwf_msg *msg)
{
    return (msg->msg_class == RWF_CLASS_REFRESH && msg->flags & RWF_REFRESH_DO_NOT_CACHE) ||
           (msg->msg_class == RWF_CLASS_UPDATE && msg->flags & RWF_UPDATE_DO_NOT_CACHE);
}

static int apply(struct cache *cache, struct cache_image **image, struct rwf_bytes message)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(message, &msg) != RWF_OK)
        return MD_ERR_MALFORMED;
    if (is_not_cached(&msg))
        return MD_OK;
    if (msg.msg_class == RWF_CLASS_REFRESH)
        return apply_refresh(cache, image, &msg, message.length);
    if (!*image)
        return MD_OK;
    if (msg.msg_class == RWF_CLASS_UPDATE)
        return apply_update(cache, image, &msg);
    if (msg.msg_class == RWF_CLASS_STATUS && msg.flags & RWF_STATUS_HAS_STATE)
        apply_status(*image, &msg.state);
    return MD_OK;
}

int cache_apply(struct cache *cache, struct cache_image **image, struct rwf_bytes message)
{
    int err = apply(cache, image, message);

    if (err == MD_OK) {
        cache->stats.applied++;
        return MD_OK;
    }
    cache->stats.failed++;
    if (*image)
        (*image)->is_broken = true;
    return err;
}

int cache_apply_noted(struct cache *cache, struct cache_image **image, const struct rwf_msg *update,
                      struct cache_changed *changed)
{
    cache->changed = changed;
    int err = apply_update(cache, image, update);
    cache->changed = NULL;

    cache->stats.applied += err == MD_OK;
    cache->stats.failed += err != MD_OK;
    (*image)->is_broken = (*image)->is_broken || err != MD_OK;
    return err;
}

/* ---- giving out ---- */

bool cache_image_is_valid(const struct cache_image *image)
{
    return image && image->is_complete && !image->is_broken;
}

struct rwf_state cache_image_state(const struct cache_image *image)
{
    const uint8_t *p = image->bytes + image->state_at;

    return (struct rwf_state){ .stream_state = p[0] >> 3, .data_state = p[0] & 7, .code = p[1] };
}

void cache_image_set_state(struct cache_image *image, uint8_t stream_state, uint8_t data_state,
                           uint8_t code)
{
    uint8_t *p = image->bytes + image->state_at;

    p[0] = rwf_state_byte(stream_state, data_state & 7);
    p[1] = code;
}

static int encode_part(const struct cache_image *image, struct cache_cursor *cursor,
                       struct rwf_encoder *enc, bool *is_last)
{
    switch ((enum cache_kind)image->kind) {
    case CACHE_KIND_FIELDS:
        return cache_fields_part(image, cursor, enc, is_last);
    case CACHE_KIND_MERGED:
        return cache_merged_part(image, cursor, enc, is_last);
    case CACHE_KIND_PAGE:
    case CACHE_KIND_RECORD:
    case CACHE_KIND_RAW:
        break;
    }
    return raw_part(image, cursor, enc, is_last);
}

/* One of several parts: the head, with other flags, and as much of the container as fits. */
static int make_part(const struct cache_image *image, struct cache_cursor *cursor, uint8_t *out,
                     size_t size, size_t *length, bool *is_last)
{
    struct rwf_msg msg;
    struct rwf_encoder enc;
    int rc = rwf_msg_decode(rwf_bytes(image->bytes, image->payload_at), &msg);

    if (rc < 0)
        return rc;
    msg.flags &= (uint16_t) ~(RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE);
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
    return *is_last ? rwf_patch_flags(out, *length, RWF_REFRESH_COMPLETE, 0) : MD_OK;
}

int cache_image_part(const struct cache_image *image, struct cache_cursor *cursor, uint8_t *out,
                     size_t size, size_t *length, bool *is_last)
{
    *length = 0;
    *is_last = true;
    if (image->kind == CACHE_KIND_RECORD) {
        cursor->part++;
        return cache_record_image(image, out, size, length);
    }
    if (is_page(image) && !cache_page_is_as_it_came(image)) {
        cursor->part++;
        return cache_page_image(image, out, size, length);
    }
    if (cursor->part > 0 || image->kind == CACHE_KIND_RAW || image->kind == CACHE_KIND_PAGE ||
        image->length > size)
        return make_part(image, cursor, out, size, length, is_last);
    memcpy(out, image->bytes, image->length);
    *length = image->length;
    cursor->part++;
    return MD_OK;
}

struct rwf_bytes cache_image_fields(const struct cache_image *image)
{
    return cache_image_is_valid(image) && image->kind == CACHE_KIND_FIELDS ? cache_payload(image)
                                                                           : rwf_bytes(NULL, 0);
}

size_t cache_image_bytes(const struct cache_image *image)
{
    return cost_of_image(image);
}

void cache_stats(const struct cache *cache, struct cache_stats *out)
{
    *out = cache->stats;
}
