/* description.c - see description.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "description.h"

#include <stdlib.h>
#include <string.h>

static struct rwf_bytes keep(uint8_t *text, size_t *at, struct rwf_bytes bytes)
{
    uint8_t *start = text + *at;

    if (bytes.length)
        memcpy(start, bytes.data, bytes.length);
    *at += bytes.length;
    return rwf_bytes(start, bytes.length);
}

size_t srcdist_description_size(const struct omm_service *info)
{
    size_t size = info->vendor.length + info->item_list.length;

    for (unsigned i = 0; i < info->provided_count; i++)
        size += info->provided[i].length;
    for (unsigned i = 0; i < info->used_count; i++)
        size += info->used[i].length;
    for (unsigned i = 0; i < info->path_count; i++)
        size += info->paths[i].length;
    return size;
}

struct omm_service srcdist_description_copy(const struct omm_service *info, uint8_t *text)
{
    struct omm_service copy = *info;
    size_t at = 0;

    copy.name = copy.load = copy.links = copy.status.text = rwf_bytes(NULL, 0);
    copy.vendor = keep(text, &at, info->vendor);
    copy.item_list = keep(text, &at, info->item_list);
    for (unsigned i = 0; i < info->provided_count; i++)
        copy.provided[i] = keep(text, &at, info->provided[i]);
    for (unsigned i = 0; i < info->used_count; i++)
        copy.used[i] = keep(text, &at, info->used[i]);
    for (unsigned i = 0; i < info->path_count; i++)
        copy.paths[i] = keep(text, &at, info->paths[i]);
    return copy;
}

void srcdist_description_keep(struct srcdist_offer *offer, const struct omm_service *info)
{
    size_t size = srcdist_description_size(info);

    free(offer->description);
    offer->description =
        size <= SRCDIST_SAID_MAX ? malloc(sizeof(*offer->description) + size) : NULL;
    if (offer->description)
        offer->description->info = srcdist_description_copy(info, offer->description->text);
}

void srcdist_description_forget(struct srcdist_offer *offer)
{
    free(offer->description);
    offer->description = NULL;
}
