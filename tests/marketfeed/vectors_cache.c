/* vectors_cache.c - ripple.tsv and partial.tsv: what a cache makes of updates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cache/cache.h"
#include "rmds/rwf_rmtes.h"
#include "vectors.h"

#define FIELDS_MAX 64

/* ---- ripples ---- */

static int apply_step(struct cache *cache, struct cache_image **image, char kind,
                      struct rwf_bytes list)
{
    uint8_t buffer[1024];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = kind == 'R' ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = RWF_TYPE_FIELD_LIST,
        .payload = list,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    if (kind == 'D')
        msg.flags = RWF_UPDATE_DO_NOT_RIPPLE;
    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    if (rwf_msg_encode(&enc, &msg) != RWF_OK)
        return MD_ERR_FULL;
    return cache_apply(cache, image, rwf_encoder_bytes(&enc));
}

static int compare_fields(const void *a, const void *b)
{
    return ((const struct rwf_field *)a)->id - ((const struct rwf_field *)b)->id;
}

/* The image's fields by ascending id, as a list. */
static struct rwf_bytes sorted_list(const struct cache_image *image, uint8_t *out, size_t size)
{
    static uint8_t part[4096];
    struct rwf_field fields[FIELDS_MAX];
    struct cache_cursor cursor = { 0 };
    struct rwf_field_list list;
    struct rwf_encoder enc;
    struct rwf_msg msg;
    size_t count = 0;
    size_t length;
    bool is_last;

    if (cache_image_part(image, &cursor, part, sizeof(part), &length, &is_last) != MD_OK ||
        rwf_msg_decode(rwf_bytes(part, length), &msg) != RWF_OK ||
        rwf_field_list_decode(msg.payload, NULL, &list) != RWF_OK)
        return rwf_bytes(NULL, 0);
    while (count < FIELDS_MAX && rwf_field_list_next(&list, &fields[count]) > 0)
        count++;
    qsort(fields, count, sizeof(fields[0]), compare_fields);
    msg = (struct rwf_msg){ .msg_class = RWF_CLASS_UPDATE, .container = RWF_TYPE_FIELD_LIST };
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (size_t i = 0; i < count; i++)
        rwf_field_add_bytes(&enc, fields[i].id, fields[i].content);
    rwf_field_list_finish(&enc);
    if (rwf_msg_finish(&enc) != RWF_OK || rwf_msg_decode(rwf_encoder_bytes(&enc), &msg) != RWF_OK)
        return rwf_bytes(NULL, 0);
    return msg.payload;
}

static bool run_steps(struct vector *vector, struct cache *cache, struct cache_image **image)
{
    char *steps = vector->columns[1];

    while (steps && *steps) {
        const char *step = strsep(&steps, "|");
        struct vector_bytes list = vector_hex(step + 2, strlen(step + 2));
        int err = apply_step(cache, image, step[0], list.bytes);

        vector_free(&list);
        if (err != MD_OK)
            return vector_fail(vector, "step %s: %s", step, md_err_name(err));
    }
    return true;
}

bool vector_ripple(struct vector *vector)
{
    struct cache_ripples *ripples;
    struct cache_image *image = NULL;
    struct cache *cache = NULL;
    uint8_t out[4096];
    bool passed = false;

    if (cache_ripples_create(&ripples) != MD_OK)
        return vector_fail(vector, "no memory");
    cache_ripples_learn(ripples, vector->dictionary);
    const struct cache_config config = { .ripples = ripples };
    if (cache_create(&config, &cache) == MD_OK && run_steps(vector, cache, &image)) {
        struct vector_bytes expected = vector_hex(vector->columns[2], strlen(vector->columns[2]));
        passed = vector_equals(vector, "the image", sorted_list(image, out, sizeof(out)),
                               expected.bytes);
        vector_free(&expected);
    }
    cache_image_free(cache, image);
    cache_destroy(cache);
    cache_ripples_destroy(ripples);
    return passed;
}

/* ---- partial updates ---- */

bool vector_partial(struct vector *vector)
{
    const char *wanted = vector->columns[4];
    size_t capacity = strtoul(vector->columns[1], NULL, 10);
    struct vector_bytes old = vector_hex(vector->columns[2], strlen(vector->columns[2]));
    struct vector_bytes content = vector_hex(vector->columns[3], strlen(vector->columns[3]));
    struct vector_bytes fresh = vector_hex(wanted, wanted[0] == '!' ? 0 : strlen(wanted));
    uint8_t *stored = calloc(1, capacity + 1);
    size_t length = old.bytes.length;
    bool passed = false;

    if (stored && length <= capacity) {
        if (length > 0)
            memcpy(stored, old.bytes.data, length);
        int err =
            rwf_rmtes_apply(stored, capacity, &length, content.bytes.data, content.bytes.length);
        if ((err != MD_OK) != (wanted[0] == '!'))
            vector_fail(vector, "%s, expected %s", md_err_name(err), wanted);
        else
            passed = vector_equals(vector, "the string", rwf_bytes(stored, length),
                                   err == MD_OK ? fresh.bytes : old.bytes);
    }
    free(stored);
    vector_free(&old);
    vector_free(&content);
    vector_free(&fresh);
    return passed;
}
