/* image.c - the image of an item in the cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <string.h>

#include "base/err.h"
#include "base/trace.h"
#include "rrmp/key.h"

#define PART_SIZE      60000 /* of an image from the cache: one record each */
#define PERMISSION_MAX 4096  /* longer permission data are not put into an image that stands */

static void count_applied(struct srcdist_core *core, int err)
{
    if (err == MD_OK)
        core->stats.cache_applied++;
    else
        core->stats.cache_failed++;
}

int srcdist_image_part(struct srcdist_core *core, const struct cache_image *image,
                       struct cache_cursor *cursor, size_t *length, bool *is_last)
{
    int err = cache_image_part(image, cursor, core->part, PART_SIZE, length, is_last);

    /* Containers that are not given out in parts need room for all of it. */
    if (err == MD_ERR_FULL)
        err = cache_image_part(image, cursor, core->part, core->part_size, length, is_last);
    return err;
}

uint64_t srcdist_image_permission(const struct rwf_msg *msg)
{
    return msg->perm_data.length ? rrmp_key_hash(msg->perm_data.data, msg->perm_data.length) : 0;
}

/* The image with other permission data: a copy, since they stand in front of everything else. */
static struct cache_image *permitted_image(struct srcdist_core *core,
                                           const struct cache_image *image,
                                           struct rwf_bytes permission)
{
    struct cache_image *copy = NULL;
    struct cache_cursor cursor = { 0 };
    bool is_last = false;

    while (!is_last) {
        struct rwf_encoder enc;
        struct rwf_msg msg;
        size_t length;

        srcdist_encoder(core, &enc);
        int err = srcdist_image_part(core, image, &cursor, &length, &is_last);
        if (err == MD_OK && rwf_msg_decode(rwf_bytes(core->part, length), &msg) == RWF_OK) {
            msg.flags |= RWF_REFRESH_HAS_PERM_DATA;
            msg.perm_data = permission;
            rwf_msg_encode(&enc, &msg);
        }
        if (err != MD_OK || rwf_encoder_error(&enc) != RWF_OK ||
            cache_apply(core->cache, &copy, rwf_encoder_bytes(&enc)) != MD_OK) {
            cache_image_free(core->cache, copy);
            return NULL;
        }
    }
    return copy;
}

/* An update may change the permission data: then the image gets them, or is dropped. */
static void cache_permission(struct srcdist_core *core, struct srcdist_item *it,
                             const struct rwf_msg *msg)
{
    uint8_t permission[PERMISSION_MAX];
    struct cache_image *image = it->image;

    if (srcdist_image_permission(msg) == it->permission)
        return;
    it->permission = srcdist_image_permission(msg);
    it->image = NULL;
    if (msg->perm_data.length <= sizeof(permission)) {
        memcpy(permission, msg->perm_data.data, msg->perm_data.length);
        it->image = permitted_image(core, image, rwf_bytes(permission, msg->perm_data.length));
    }
    cache_image_free(core->cache, image);
}

void srcdist_image_update(struct srcdist_core *core, struct srcdist_item *it,
                          struct rwf_bytes message, bool has_permission_data)
{
    struct rwf_msg msg;

    count_applied(core, cache_apply(core->cache, &it->image, message));
    md_trace_also(MD_TRACE_IMAGE);
    if (has_permission_data && rwf_msg_decode(message, &msg) == RWF_OK)
        cache_permission(core, it, &msg);
}

void srcdist_image_refresh(struct srcdist_core *core, struct srcdist_item *it,
                           struct rwf_bytes message, bool is_first)
{
    if (core->services[it->service].config.cache_location != SRCDIST_CACHE_SRC_DIST &&
        !core->services[it->service].is_broadcast)
        return;
    if (it->is_private || (!it->image && !is_first))
        return;
    count_applied(core, cache_apply(core->cache, &it->image, message));
}
