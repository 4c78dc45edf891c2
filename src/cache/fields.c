/* fields.c - images that are field lists. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image.h"
#include "rmds/rwf_rmtes.h"

#define PARTIAL_ROOM_MAX 16384 /* a string that a command makes longer is refused */

static struct cache_field *find(struct cache_image *image, int16_t id)
{
    for (uint32_t i = 0; i < image->field_count; i++) {
        if (image->fields[i].id == id)
            return &image->fields[i];
    }
    return NULL;
}

static int add(struct cache *cache, struct cache_image *image, int16_t id, struct cache_field **out)
{
    if (image->field_count == image->field_room) {
        uint32_t room = image->field_room ? image->field_room * 2 : 16;
        int err = cache_charge(cache, image, (room - image->field_room) * sizeof(*image->fields));
        if (err != MD_OK)
            return err;
        struct cache_field *fields = realloc(image->fields, room * sizeof(*fields));
        if (!fields)
            return MD_ERR_NOMEM;
        image->fields = fields;
        image->field_room = room;
    }
    *out = &image->fields[image->field_count++];
    **out = (struct cache_field){ .id = id };
    return MD_OK;
}

/* The content of a field; one that grew gets a new place at the end of the arena. */
static int store(struct cache *cache, struct cache_image *image, struct cache_field *field,
                 struct rwf_bytes content)
{
    if (content.length > UINT16_MAX)
        return MD_ERR_RANGE;
    if (content.length > field->room) {
        size_t room = (content.length + 7) & ~(size_t)7;
        int err = cache_bytes_grow(cache, image, &image->arena, room);
        if (err != MD_OK)
            return err;
        field->at = image->arena.length;
        field->room = (uint16_t)(room > UINT16_MAX ? UINT16_MAX : room);
        image->arena.length += (uint32_t)room;
    }
    if (content.length)
        memcpy(cache_bytes_at(&image->arena, field->at), content.data, content.length);
    field->length = (uint16_t)content.length;
    return MD_OK;
}

/* More room for a content that stays as it is. */
static int widen(struct cache *cache, struct cache_image *image, struct cache_field *field,
                 size_t room)
{
    int err = cache_bytes_grow(cache, image, &image->arena, room);

    if (err != MD_OK)
        return err;
    if (field->length)
        memcpy(image->arena.data + image->arena.length, cache_bytes_at(&image->arena, field->at),
               field->length);
    field->at = image->arena.length;
    field->room = (uint16_t)room;
    image->arena.length += (uint32_t)room;
    return MD_OK;
}

/* A string update that says what to change in the string we have. */
static int apply_partial(struct cache *cache, struct cache_image *image, struct cache_field *field,
                         struct rwf_bytes content)
{
    size_t length = field->length;
    int err = rwf_rmtes_apply(cache_bytes_at(&image->arena, field->at), field->room, &length,
                              content.data, content.length);

    for (size_t room = 256; err == MD_ERR_FULL && room <= PARTIAL_ROOM_MAX; room *= 4) {
        if (room <= field->room)
            continue;
        int grown = widen(cache, image, field, room);
        if (grown != MD_OK)
            return grown;
        length = field->length;
        err = rwf_rmtes_apply(cache_bytes_at(&image->arena, field->at), field->room, &length,
                              content.data, content.length);
    }
    if (err == MD_OK)
        field->length = (uint16_t)length;
    return err;
}

static bool takes_partial(const struct cache *cache, int16_t id, struct rwf_bytes content)
{
    unsigned type =
        cache->config.field_type ? cache->config.field_type(cache->config.context, id) : 0;

    return (type == 0 || type == RWF_TYPE_RMTES) &&
           rwf_rmtes_is_partial(content.data, content.length);
}

static int put(struct cache *cache, struct cache_image *image, struct cache_field *field,
               struct rwf_bytes content)
{
    if (takes_partial(cache, field->id, content))
        return apply_partial(cache, image, field, content);
    return store(cache, image, field, content);
}

static int apply_all(struct cache *cache, struct cache_image *image, struct rwf_bytes payload,
                     bool is_update)
{
    struct rwf_field_list list;
    struct rwf_field incoming;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    if (rc < 0)
        return MD_ERR_MALFORMED;
    if (list.info.flags & RWF_LIST_HAS_SET_DATA)
        return MD_ERR_UNSUPPORTED; /* its definitions are not in the message */
    if (list.info.flags & RWF_LIST_HAS_INFO || !is_update)
        image->info = list.info;
    while ((rc = rwf_field_list_next(&list, &incoming)) > 0) {
        struct cache_field *field = find(image, incoming.id);
        int err = field ? MD_OK : add(cache, image, incoming.id, &field);
        if (err == MD_OK)
            err = put(cache, image, field, incoming.content);
        if (err != MD_OK)
            return err;
    }
    return rc < 0 ? MD_ERR_MALFORMED : MD_OK;
}

int cache_fields_start(struct cache *cache, struct cache_image *image, struct rwf_bytes payload)
{
    return apply_all(cache, image, payload, false);
}

int cache_fields_update(struct cache *cache, struct cache_image *image, struct rwf_bytes payload)
{
    return apply_all(cache, image, payload, true);
}

int cache_fields_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last)
{
    struct rwf_field_list_info info = image->info;
    uint32_t first = cursor->next;

    info.flags &= RWF_LIST_HAS_INFO;
    info.flags |= RWF_LIST_HAS_STANDARD_DATA;
    rwf_field_list_start(enc, &info);
    while (cursor->next < image->field_count) {
        const struct cache_field *field = &image->fields[cursor->next];
        struct rwf_mark mark = rwf_encoder_mark(enc);

        if (rwf_field_add_bytes(
                enc, field->id,
                rwf_bytes(cache_bytes_at(&image->arena, field->at), field->length)) < 0) {
            rwf_encoder_rollback(enc, &mark);
            break;
        }
        cursor->next++;
    }
    *is_last = cursor->next == image->field_count;
    if (!*is_last && cursor->next == first)
        return MD_ERR_FULL;
    return rwf_field_list_finish(enc);
}
