/* pages.c - images that are ANSI pages: payloads kept until they are many, then one for all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "image.h"
#include "page/page.h"

/*
 * A page with its state takes 12 KB, the payload that builds it some 2 KB. So the image is that
 * payload and those of the updates since; when these are longer than this, all become one again.
 * The payload of a page whose cells all differ from their neighbours takes up to 110 KB: then the
 * first part is the page itself, which `targets` says.
 */
#define UPDATES_MAX 1024

bool cache_page_is_as_it_came(const struct cache_image *image)
{
    size_t at = image->payload_at;

    cache_raw_next(image, &at);
    return at == image->length && !image->targets;
}

static void make_page(const struct cache_image *image, struct page *page)
{
    size_t at = image->payload_at;

    if (image->targets)
        memcpy(page, cache_raw_next(image, &at).data, sizeof(*page));
    else
        page_reset(page);
    while (at < image->length)
        page_apply(page, cache_raw_next(image, &at));
}

/* One payload for all that there are. */
static int build_again(struct cache *cache, struct cache_image **image)
{
    uint8_t *built = cache_scratch(cache);
    struct page page;
    size_t length;

    if (!built)
        return MD_ERR_NOMEM;
    make_page(*image, &page);
    int err = page_build(&page, built, CACHE_MERGED_MAX, &length);
    if (err == MD_OK)
        err = cache_resize(cache, image, (*image)->payload_at,
                           (*image)->length - (*image)->payload_at, 0);
    if (err != MD_OK)
        return err;
    (*image)->targets = length > sizeof(page);
    return cache_raw_keep(cache, image,
                          (*image)->targets ? rwf_bytes((const uint8_t *)&page, sizeof(page))
                                            : rwf_bytes(built, length));
}

int cache_page_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload)
{
    size_t first_end = (*image)->payload_at;

    int err = cache_raw_keep(cache, image, payload);
    if (err != MD_OK)
        return err;
    cache_raw_next(*image, &first_end);
    return (*image)->length - first_end > UPDATES_MAX ? build_again(cache, image) : MD_OK;
}

int cache_page_image(const struct cache_image *image, uint8_t *out, size_t size, size_t *length)
{
    struct page page;
    size_t built;

    if (size < image->payload_at)
        return MD_ERR_FULL;
    make_page(image, &page);
    memcpy(out, image->bytes, image->payload_at);
    int err = page_build(&page, out + image->payload_at, size - image->payload_at, &built);
    *length = err == MD_OK ? image->payload_at + built : 0;
    return err;
}
