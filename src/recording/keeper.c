/* keeper.c - what a consumer gets, into a writer, with images. See recording/images.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "images.h"
#include "places.h"

#define PART_MAX       60000u
#define KEY_MAX        (3u + 255u + 1u + 255u)
#define TICKS_A_SECOND 10u
#define SWEEP_MAX      2000u /* items that one tick looks at */
#define SPAN_LEAST     (2u << 20)
#define SPAN_IMAGES    16u         /* images take one byte in so many of what is recorded */
#define CHUNK_COST     (64u << 10) /* reading a chunk costs a reader as much as so many bytes */
#define DICTIONARY_MAX (8u << 20)
#define OTHERS         1024u /* of the numbers: connections, directories, dictionaries */

struct kept {
    struct rec_item item; /* what a chunk points to */
    uint8_t *bytes;       /* of a dictionary: its messages, a length in front of each */
    size_t length;
    uint64_t file; /* that of its last image, see below */
    bool has_changed, owes_image;
    uint16_t key_length;
    uint8_t key[KEY_MAX]; /* by which the table finds it */
};

struct rec_keeper {
    struct rec_keeper_config config;
    struct rec_images images;
    struct md_table *table;
    struct rec_places *places;
    struct kept **items; /* by number */
    uint32_t count, size;
    uint32_t sweep, sweep_left; /* the next one to look at, and how many at once: another file */
    uint64_t file;              /* another one whenever every item needs an image */
    uint64_t whole_file;        /* the last one that needs every dictionary, too */
    /* Since every item's image was due last: bytes of records, of them its images; chunks before.
     */
    uint64_t span, span_images, span_chunk;
    struct rec_keeper_stats stats;
    uint8_t part[PART_MAX];
};

int rec_keeper_create(const struct rec_keeper_config *config, struct rec_keeper **out)
{
    struct rec_keeper *keeper = calloc(1, sizeof(*keeper));

    *out = keeper;
    if (!keeper)
        return MD_ERR_NOMEM;
    keeper->config = *config;
    uint32_t most = REC_ITEMS_MAX - OTHERS;
    uint32_t items_max = config->items_max && config->items_max < most ? config->items_max : most;
    if (rec_places_create(items_max, config->service_max, &keeper->places) == MD_OK &&
        rec_images_init(&keeper->images, &config->cache) == MD_OK &&
        md_table_create(1024, &keeper->table) == MD_OK)
        return MD_OK;
    rec_keeper_destroy(keeper);
    *out = NULL;
    return MD_ERR_NOMEM;
}

void rec_keeper_destroy(struct rec_keeper *keeper)
{
    if (!keeper)
        return;
    for (uint32_t i = 1; i <= keeper->count; i++) {
        free(keeper->items[i]->bytes);
        free(keeper->items[i]);
    }
    free(keeper->items);
    md_table_destroy(keeper->table);
    rec_places_destroy(keeper->places);
    rec_images_fini(&keeper->images);
    free(keeper);
}

void rec_keeper_rules_set(struct rec_keeper *keeper, const struct cache_ripples *ripples)
{
    cache_rules_set(keeper->images.cache, ripples, keeper->config.cache.keeps_pages);
}

void rec_keeper_stats(const struct rec_keeper *keeper, struct rec_keeper_stats *out)
{
    *out = keeper->stats;
    out->is_full = rec_places_are_taken(keeper->places);
    out->full_service = rec_places_full(keeper->places, &out->full_services, &out->refused_names);
}

/* ---- items ---- */

static size_t make_key(uint8_t out[KEY_MAX], const struct rec_key *key)
{
    size_t at = 4;

    out[0] = key->domain;
    out[1] = (uint8_t)(key->service_id >> 8);
    out[2] = (uint8_t)key->service_id;
    out[3] = (uint8_t)key->service.length;
    if (key->service.length)
        memcpy(out + at, key->service.data, key->service.length);
    at += key->service.length;
    if (key->name.length)
        memcpy(out + at, key->name.data, key->name.length);
    return at + key->name.length;
}

static struct kept *make(struct rec_keeper *keeper, const struct rec_key *key, const uint8_t *bytes,
                         size_t length)
{
    if (keeper->count + 2 > keeper->size) {
        uint32_t size = keeper->size ? 2 * keeper->size : 256;
        struct kept **items = realloc(keeper->items, size * sizeof(struct kept *));
        if (!items)
            return NULL;
        keeper->items = items;
        keeper->size = size;
    }
    struct kept *kept = calloc(1, sizeof(*kept));
    if (!kept)
        return NULL;
    memcpy(kept->key, bytes, length);
    kept->key_length = (uint16_t)length;
    kept->file = keeper->file;
    kept->item = (struct rec_item){
        .key = { .domain = key->domain,
                 .service_id = key->service_id,
                 .service = rwf_bytes(kept->key + 4, key->service.length),
                 .name = rwf_bytes(kept->key + 4 + key->service.length, key->name.length) },
        .number = keeper->count + 1,
        .chunk = UINT64_MAX,
    };
    if (!rec_images_at(&keeper->images, kept->item.number, key) ||
        md_table_put(keeper->table, kept->key, length, kept) != MD_OK) {
        free(kept);
        return NULL;
    }
    keeper->items[++keeper->count] = kept;
    keeper->stats.items++;
    return kept;
}

/* A recording has few things beside items; they do not compete with items for places. */
static bool is_other(uint8_t domain)
{
    return domain == 0 || domain == RWF_DOMAIN_SOURCE || domain == RWF_DOMAIN_DICTIONARY;
}

uint32_t rec_keeper_item(struct rec_keeper *keeper, const struct rec_key *key)
{
    uint8_t bytes[KEY_MAX];

    if (key->service.length > 255 || key->name.length > 255)
        return 0;
    size_t length = make_key(bytes, key);
    struct kept *kept = md_table_get(keeper->table, bytes, length);
    if (!kept && keeper->count < REC_ITEMS_MAX &&
        (is_other(key->domain) || rec_places_take(keeper->places, key->service)))
        kept = make(keeper, key, bytes, length);
    return kept ? kept->item.number : 0;
}

bool rec_keeper_key(const struct rec_keeper *keeper, uint32_t number, struct rec_key *out)
{
    if (number == 0 || number > keeper->count)
        return false;
    *out = keeper->items[number]->item.key;
    return true;
}

/* ---- records ---- */

static struct rec_image *image_of(struct rec_keeper *keeper, const struct kept *kept)
{
    return &keeper->images.all[kept->item.number];
}

/* In front of its next record, what was lost. */
static int put(struct rec_keeper *keeper, struct rec_moment now, struct kept *kept, unsigned kind,
               unsigned flags, struct rwf_bytes bytes)
{
    struct rec_put record = { .kind = REC_LOST, .item = &kept->item, .count = kept->item.lost };

    if (kept->item.lost > 0) {
        int rc = rec_writer_put(keeper->config.writer, now, &record);
        if (rc != MD_OK)
            return rc;
        kept->item.lost = 0;
    }
    record = (struct rec_put){
        .kind = (uint8_t)kind, .flags = (uint8_t)flags, .item = &kept->item, .bytes = bytes
    };
    int rc = rec_writer_put(keeper->config.writer, now, &record);
    if (rc == MD_OK) /* what is in no chunk is nothing that a reader has to read */
        keeper->span += bytes.length;
    return rc;
}

/* False: there was no room for all of it. */
static bool put_image(struct rec_keeper *keeper, struct rec_moment now, struct kept *kept)
{
    const struct cache_image *image = image_of(keeper, kept)->image;
    struct cache_cursor cursor = { 0 };
    bool is_last = false, is_of_sweep = kept->file < keeper->file;

    if (!cache_image_is_valid(image))
        return true; /* one that is whole will come by itself, or does not exist */
    while (!is_last) {
        size_t length;
        unsigned flags = cursor.part == 0 ? REC_FIRST : 0;
        if (cache_image_part(image, &cursor, keeper->part, sizeof(keeper->part), &length,
                             &is_last) != MD_OK)
            return true;
        if (put(keeper, now, kept, REC_IMAGE, flags | (is_last ? REC_LAST : 0),
                rwf_bytes(keeper->part, length)) != MD_OK)
            return false;
        keeper->span_images += is_of_sweep ? length : 0;
    }
    keeper->stats.images++;
    kept->has_changed = kept->owes_image = false;
    kept->file = keeper->file;
    return true;
}

/* Its messages once more, in another file. */
static bool put_dictionary(struct rec_keeper *keeper, struct rec_moment now, struct kept *kept)
{
    uint32_t length;

    for (size_t at = 0; at < kept->length; at += sizeof(length) + length) {
        memcpy(&length, kept->bytes + at, sizeof(length));
        if (put(keeper, now, kept, REC_MESSAGE, at == 0 ? REC_FIRST : 0,
                rwf_bytes(kept->bytes + at + sizeof(length), length)) != MD_OK)
            return false;
    }
    kept->file = keeper->file;
    kept->owes_image = false;
    return true;
}

static void keep_dictionary(struct kept *kept, struct rwf_bytes message, bool is_first)
{
    uint32_t length = (uint32_t)message.length;

    if (is_first)
        kept->length = 0;
    if (kept->length + sizeof(length) + message.length > DICTIONARY_MAX)
        return;
    uint8_t *bytes = realloc(kept->bytes, kept->length + sizeof(length) + message.length);
    if (!bytes)
        return;
    memcpy(bytes + kept->length, &length, sizeof(length));
    memcpy(bytes + kept->length + sizeof(length), message.data, message.length);
    kept->bytes = bytes;
    kept->length += sizeof(length) + message.length;
}

static bool is_dictionary(const struct kept *kept)
{
    return kept->item.key.domain == RWF_DOMAIN_DICTIONARY;
}

static bool begins_dictionary(const struct kept *kept, struct rwf_bytes message)
{
    struct rwf_peek peek;

    return rwf_peek(message, &peek) == RWF_OK && peek.msg_class == RWF_CLASS_REFRESH &&
           (kept->length == 0 || peek.flags & RWF_REFRESH_CLEAR_CACHE);
}

static bool needs_image(const struct rec_keeper *keeper, const struct kept *kept)
{
    uint64_t file = is_dictionary(kept) ? keeper->whole_file : keeper->file;

    return kept->owes_image || kept->file < file;
}

static void lose(struct rec_keeper *keeper, struct kept *kept, int rc)
{
    kept->item.lost++;
    kept->owes_image = true;
    keeper->stats.lost++;
    if (rc == MD_ERR_RANGE)
        keeper->stats.refused++;
}

void rec_keeper_forget(struct rec_keeper *keeper, uint32_t number)
{
    struct kept *kept = keeper->items[number];
    struct rec_image *image = image_of(keeper, kept);

    cache_image_free(keeper->images.cache, image->image);
    image->image = NULL;
    image->is_between = image->is_torn = false;
    kept->has_changed = kept->owes_image = false;
}

void rec_keeper_message(struct rec_keeper *keeper, struct rec_moment now, uint32_t number,
                        struct rwf_bytes bytes)
{
    struct kept *kept = keeper->items[number];
    struct rec_image *image = image_of(keeper, kept);

    keeper->stats.messages++;
    keeper->stats.bytes += bytes.length;
    bool is_first =
        is_dictionary(kept) ? begins_dictionary(kept, bytes) : rec_images_begins(image, bytes);
    if (needs_image(keeper, kept) && !is_first && !is_dictionary(kept))
        (void)put_image(keeper, now, kept);
    unsigned flags = is_first ? REC_FIRST : 0;
    int rc = put(keeper, now, kept, REC_MESSAGE, flags, bytes);
    if (rc != MD_OK)
        lose(keeper, kept, rc);
    if (is_dictionary(kept)) {
        keep_dictionary(kept, bytes, is_first);
        return;
    }
    kept->has_changed = true;
    if (is_first && rc == MD_OK) {
        kept->has_changed = kept->owes_image = false;
        kept->file = keeper->file;
    }
    if (rec_images_apply(&keeper->images, image, bytes, flags, true) != MD_OK)
        keeper->stats.not_kept++;
}

void rec_keeper_cut(struct rec_keeper *keeper, struct rec_moment now, const char *reason)
{
    const struct rec_key connection = { .domain = 0 };
    uint32_t number = rec_keeper_item(keeper, &connection);

    rec_images_cut(&keeper->images);
    if (number != 0 &&
        put(keeper, now, keeper->items[number], REC_CUT, 0, rwf_text(reason)) == MD_OK)
        return;
    /* Not told: the images of all items tell it. */
    for (uint32_t i = 1; i <= keeper->count; i++)
        keeper->items[i]->owes_image = true;
}

void rec_keeper_cut_file(struct rec_keeper *keeper)
{
    rec_writer_flush(keeper->config.writer, true);
    rec_keeper_owe_all(keeper);
}

static void begin_sweep(struct rec_keeper *keeper)
{
    keeper->file++;
    keeper->sweep_left = keeper->count;
    keeper->span = keeper->span_images = 0;
    keeper->span_chunk = keeper->config.writer->next;
}

void rec_keeper_owe_all(struct rec_keeper *keeper)
{
    begin_sweep(keeper);
    keeper->whole_file = keeper->file;
}

/*
 * The images of a moment are folded from what was recorded since the last image of each item. So
 * every item gets one whenever enough has been recorded since: reading that takes a bounded time,
 * and the images a bounded share of the file.
 */
static bool is_span_full(const struct rec_keeper *keeper)
{
    uint64_t chunks = keeper->config.writer->next - keeper->span_chunk;
    uint64_t least = SPAN_IMAGES * keeper->span_images;

    if (keeper->config.image_every_ns == 0 || keeper->sweep_left > 0)
        return false;
    return keeper->span + chunks * CHUNK_COST >= (least > SPAN_LEAST ? least : SPAN_LEAST);
}

/* Items in a tick, so that each one's turn comes within image_every_ns. */
static uint32_t share(const struct rec_keeper *keeper)
{
    uint64_t ticks = keeper->config.image_every_ns * TICKS_A_SECOND / 1000000000ull;
    uint64_t each = ticks ? (keeper->count + ticks - 1) / ticks : keeper->count;

    return each < SWEEP_MAX ? (uint32_t)each : SWEEP_MAX;
}

void rec_keeper_tick(struct rec_keeper *keeper, struct rec_moment now)
{
    if (is_span_full(keeper))
        begin_sweep(keeper);
    bool is_new_file = keeper->sweep_left > 0;
    uint32_t count = is_new_file ? SWEEP_MAX : keeper->config.image_every_ns ? share(keeper) : 0;

    if (count > keeper->count)
        count = keeper->count;
    while (count-- > 0) {
        keeper->sweep = keeper->sweep % keeper->count + 1;
        struct kept *kept = keeper->items[keeper->sweep];
        bool is_due = needs_image(keeper, kept) || (kept->has_changed && !is_new_file);
        if (is_due && !(is_dictionary(kept) ? put_dictionary(keeper, now, kept)
                                            : put_image(keeper, now, kept)))
            break; /* the rest another time */
        if (keeper->sweep_left > 0)
            keeper->sweep_left--;
    }
    (void)rec_writer_tick(keeper->config.writer, now.mono_ns);
}
