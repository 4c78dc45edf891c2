/* fuzz_cache.c - any two messages: the first makes an image, the second changes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fields 1 to 9 are a chain, and 255 ripples to 1: bytes that an input easily has. */
static struct cache_ripples *make_ripples(void)
{
    struct rwf_dictionary_error error;
    struct rwf_dictionary *dictionary;
    struct cache_ripples *ripples;
    char text[1024] = "F255 \"\" 255 F1 PRICE 17 REAL64 7\n";
    size_t at = strlen(text);

    for (int i = 1; i < 10; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "F%d \"\" %d F%d PRICE 17 REAL64 7\n",
                               i, i, i < 9 ? i + 1 : i);
    if (rwf_dictionary_create(&dictionary) != 0 || cache_ripples_create(&ripples) != 0 ||
        rwf_dictionary_load_fields(dictionary, "f", text, at, &error) != 0)
        abort();
    cache_ripples_learn(ripples, dictionary);
    rwf_dictionary_destroy(dictionary);
    return ripples;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cache_ripples *ripples;
    if (!ripples)
        ripples = make_ripples();
    const struct cache_config config = { .bytes_max = 1 << 20,
                                         .ripples = ripples,
                                         .keeps_pages = true };
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
