/* images.c - see images.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "images.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "omm/directory.h"

int rec_images_init(struct rec_images *images, const struct cache_config *config)
{
    *images = (struct rec_images){ 0 };
    return cache_create(config, &images->cache);
}

void rec_images_clear(struct rec_images *images)
{
    for (uint32_t i = 0; i < images->size; i++)
        cache_image_free(images->cache, images->all[i].image);
    if (images->all)
        memset(images->all, 0, images->size * sizeof(*images->all));
}

void rec_images_fini(struct rec_images *images)
{
    rec_images_clear(images);
    free(images->all);
    cache_destroy(images->cache);
    *images = (struct rec_images){ 0 };
}

struct rec_image *rec_images_at(struct rec_images *images, uint32_t number,
                                const struct rec_key *key)
{
    uint32_t size = images->size ? images->size : 256;

    while (size <= number)
        size *= 2;
    if (size > images->size) {
        struct rec_image *all = realloc(images->all, size * sizeof(*all));
        if (!all)
            return NULL;
        memset(all + images->size, 0, (size - images->size) * sizeof(*all));
        images->all = all;
        images->size = size;
    }
    struct rec_image *image = &images->all[number];
    image->domain = key->domain;
    image->service_id = key->service_id;
    return image;
}

bool rec_images_begins(const struct rec_image *image, struct rwf_bytes message)
{
    struct rwf_peek peek;

    if (rwf_peek(message, &peek) != RWF_OK || peek.msg_class != RWF_CLASS_REFRESH ||
        (peek.flags & RWF_REFRESH_DO_NOT_CACHE))
        return false;
    return !image->image || !image->is_between || (peek.flags & RWF_REFRESH_CLEAR_CACHE);
}

static void make_suspect(struct rec_image *image)
{
    if (!image->image)
        return;
    struct rwf_state state = cache_image_state(image->image);
    cache_image_set_state(image->image, state.stream_state, RWF_DATA_SUSPECT, state.code);
}

void rec_images_tear(struct rec_images *images, struct rec_image *image)
{
    if (image) {
        image->is_torn = true;
        make_suspect(image);
        return;
    }
    for (uint32_t i = 0; i < images->size; i++) {
        if (images->all[i].image)
            rec_images_tear(images, &images->all[i]);
    }
}

void rec_images_cut(struct rec_images *images)
{
    for (uint32_t i = 0; i < images->size; i++)
        make_suspect(&images->all[i]);
}

/* ---- groups ---- */

static void apply_group(struct rec_images *images, uint16_t service_id,
                        const struct omm_group *change)
{
    uint64_t group = md_hash_bytes(change->group.data, change->group.length);

    for (uint32_t i = 0; i < images->size; i++) {
        struct rec_image *image = &images->all[i];
        if (!image->image || image->service_id != service_id || image->group != group ||
            image->domain == RWF_DOMAIN_SOURCE)
            continue;
        if (change->has_status) {
            struct rwf_state old = cache_image_state(image->image);
            cache_image_set_state(image->image, change->status.stream_state,
                                  change->status.data_state == RWF_DATA_NO_CHANGE
                                      ? old.data_state
                                      : change->status.data_state,
                                  change->status.code);
        }
        if (change->merged_to.length > 0)
            image->group = md_hash_bytes(change->merged_to.data, change->merged_to.length);
        if (image->is_torn)
            make_suspect(image);
    }
}

static void apply_directory(struct rec_images *images, const struct rwf_msg *msg)
{
    struct omm_directory directory;
    struct omm_service service;
    struct omm_group group;

    if (omm_directory_start(msg, &directory) != RWF_OK)
        return;
    while (omm_directory_next(&directory, &service) > 0) {
        while (omm_directory_group(&directory, &group) > 0)
            apply_group(images, service.id, &group);
    }
}

bool rec_images_has_groups(struct rwf_bytes message)
{
    struct omm_directory directory;
    struct omm_service service;
    struct omm_group group;
    struct rwf_msg msg;

    if (rwf_msg_decode(message, &msg) != RWF_OK || omm_directory_start(&msg, &directory) != RWF_OK)
        return false;
    while (omm_directory_next(&directory, &service) > 0) {
        if (omm_directory_group(&directory, &group) > 0)
            return true;
    }
    return false;
}

/* ---- messages ---- */

static bool is_image(const struct rwf_msg *msg)
{
    return msg->msg_class == RWF_CLASS_REFRESH && !(msg->flags & RWF_REFRESH_DO_NOT_CACHE);
}

/* An image that begins has nothing of the one before, whatever became of that. */
static void forget(struct rec_images *images, struct rec_image *image)
{
    cache_image_free(images->cache, image->image);
    image->image = NULL;
    image->is_between = false;
}

int rec_images_apply(struct rec_images *images, struct rec_image *image, struct rwf_bytes message,
                     unsigned flags, bool is_received)
{
    bool is_first = (flags & REC_FIRST) != 0;
    struct rwf_msg msg;
    int err = rwf_msg_decode(message, &msg);

    if (is_first && image->image && (err != RWF_OK || image->is_between || !is_image(&msg)))
        forget(images, image);
    if (err != RWF_OK)
        return MD_ERR_MALFORMED;
    if (is_received && image->domain == RWF_DOMAIN_SOURCE &&
        (msg.msg_class == RWF_CLASS_UPDATE || msg.msg_class == RWF_CLASS_REFRESH))
        apply_directory(images, &msg);
    if (!image->image && !is_first)
        return MD_OK;
    int rc = cache_apply(images->cache, &image->image, message);
    if (is_image(&msg))
        image->is_between = !(msg.flags & RWF_REFRESH_COMPLETE);
    bool has_group = msg.msg_class == RWF_CLASS_REFRESH ||
                     (msg.msg_class == RWF_CLASS_STATUS && msg.flags & RWF_STATUS_HAS_GROUP_ID);
    if (has_group)
        image->group = md_hash_bytes(msg.group_id.data, msg.group_id.length);
    image->is_torn = image->is_torn && !is_first;
    if (image->is_torn)
        make_suspect(image);
    return rc;
}
