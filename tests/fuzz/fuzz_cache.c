/* fuzz_cache.c - any two messages: the first makes an image, the second changes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "cache/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cache_config config = { .bytes_max = 1 << 20 };
    static uint8_t out[65536];
    struct cache_image *image = NULL;
    struct cache_cursor cursor = { 0 };
    struct cache *cache;
    bool is_last = false;

    if (size < 2 || cache_create(&config, &cache) != 0)
        return 0;
    size_t first = (size_t)(data[0] << 8 | data[1]) % (size - 1);
    cache_apply(cache, &image, rwf_bytes(data + 2, first < size - 2 ? first : size - 2));
    if (first < size - 2)
        cache_apply(cache, &image, rwf_bytes(data + 2 + first, size - 2 - first));
    while (cache_image_is_valid(image) && !is_last) {
        size_t length;
        if (cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last) != 0)
            break;
        if (length > sizeof(out) || cursor.part > 100000)
            abort();
    }
    cache_image_free(cache, image);
    cache_destroy(cache);
    return 0;
}
