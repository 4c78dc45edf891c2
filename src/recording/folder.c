/* folder.c - the images of a moment, by the index. See recording/images.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "images.h"
#include "later.h"
#include "reader.h"

#define AHEAD_BYTES (16u << 20) /* announced before they are read */

struct rec_folder {
    struct rec_reader *reader;
    struct rec_images images;
    struct rec_later later;
    struct rec_page page;
    uint64_t *needed; /* a bit for each place of the seek under way */
    size_t needed_words;
    uint64_t chunks_read;
};

int rec_folder_create(struct rec_reader *reader, const struct cache_config *cache, size_t waits,
                      struct rec_folder **out)
{
    struct rec_folder *folder = calloc(1, sizeof(*folder));

    *out = folder;
    if (!folder)
        return MD_ERR_NOMEM;
    folder->reader = reader;
    folder->needed_words = reader->catalogue.count / 64 + 1;
    folder->needed = calloc(folder->needed_words, sizeof(*folder->needed));
    if (folder->needed && rec_images_init(&folder->images, cache) == MD_OK &&
        rec_later_init(&folder->later, &folder->images, waits) == MD_OK)
        return MD_OK;
    rec_folder_destroy(folder);
    *out = NULL;
    return MD_ERR_NOMEM;
}

void rec_folder_destroy(struct rec_folder *folder)
{
    if (!folder)
        return;
    rec_later_fini(&folder->later);
    rec_images_fini(&folder->images);
    rec_page_fini(&folder->page);
    free(folder->needed);
    free(folder);
}

const struct cache_image *rec_folder_image(struct rec_folder *folder, uint32_t number)
{
    rec_later_settle(&folder->later, number);
    if (number >= folder->images.size || !cache_image_is_valid(folder->images.all[number].image))
        return NULL;
    return folder->images.all[number].image;
}

uint64_t rec_folder_chunks_read(const struct rec_folder *folder)
{
    return folder->chunks_read;
}

/* ---- records ---- */

/* Something is missing for all items. */
static void tear_all(struct rec_folder *folder)
{
    rec_later_settle_all(&folder->later);
    rec_images_tear(&folder->images, NULL);
}

/* States of groups change other items: what came before them is applied first. */
static void apply_message(struct rec_folder *folder, const struct rec_record *record,
                          const struct rec_key *key)
{
    struct rec_image *image = rec_images_at(&folder->images, record->number, key);

    if (!image || key->domain == RWF_DOMAIN_DICTIONARY)
        return;
    if (key->domain == RWF_DOMAIN_SOURCE && record->kind == REC_MESSAGE) {
        if (rec_images_has_groups(record->bytes))
            rec_later_settle_all(&folder->later);
        (void)rec_images_apply(&folder->images, image, record->bytes, record->flags, true);
        return;
    }
    if (rec_later_put(&folder->later, record->number, record->bytes, record->flags) != MD_OK)
        rec_images_tear(&folder->images, image);
}

static void apply_loss(struct rec_folder *folder, uint32_t number, const struct rec_key *key)
{
    struct rec_image *image = rec_images_at(&folder->images, number, key);

    rec_later_settle(&folder->later, number);
    if (image)
        rec_images_tear(&folder->images, image);
}

void rec_folder_apply(struct rec_folder *folder, const struct rec_record *record)
{
    const struct rec_key *key = rec_reader_item(folder->reader, record->number);

    switch (record->kind) {
    case REC_MESSAGE:
    case REC_IMAGE:
        if (key)
            apply_message(folder, record, key);
        break;
    case REC_LOST:
        if (key)
            apply_loss(folder, record->number, key);
        break;
    case REC_HOLE:
        tear_all(folder);
        break;
    case REC_CUT:
        rec_later_settle_all(&folder->later);
        rec_images_cut(&folder->images);
        break;
    default:
        break;
    }
}

/* ---- which chunks a moment needs ---- */

static const struct rec_mask *mask_at(const struct rec_folder *folder, size_t place,
                                      uint32_t number, uint64_t *bit)
{
    const struct rec_catalogue *catalogue = &folder->reader->catalogue;
    const struct rec_place *at = &catalogue->places[place];

    *bit = 1ull << at->bit;
    return rec_group_find(&catalogue->groups[at->group], number);
}

static void need(struct rec_folder *folder, size_t place)
{
    folder->needed[place / 64] |= 1ull << place % 64;
}

static bool is_needed(const struct rec_folder *folder, size_t place)
{
    return folder->needed[place / 64] >> place % 64 & 1;
}

/*
 * The chunks of an item from its last image on that begins before `last`, the chunk of the moment;
 * an image in that one may be later than the moment. An item without any needs that one alone.
 */
static void need_item(struct rec_folder *folder, uint32_t number, size_t last)
{
    const struct rec_catalogue *catalogue = &folder->reader->catalogue;
    const struct rec_mask *mask = NULL;
    size_t from = last;
    uint32_t group = UINT32_MAX;

    for (size_t place = last; place-- > 0;) {
        uint64_t bit = 1ull << catalogue->places[place].bit;
        if (catalogue->places[place].group != group) {
            group = catalogue->places[place].group;
            mask = mask_at(folder, place, number, &bit);
        }
        if (mask && (mask->images & bit)) {
            from = place;
            break;
        }
    }
    group = UINT32_MAX;
    for (size_t place = from; place < last; place++) {
        uint64_t bit = 1ull << catalogue->places[place].bit;
        if (catalogue->places[place].group != group) {
            group = catalogue->places[place].group;
            mask = mask_at(folder, place, number, &bit);
        }
        if (mask && (mask->records & bit))
            need(folder, place);
    }
    need(folder, last);
}

/* The connection and the directory, which tells states of groups: what they say is of all items. */
static bool is_for_all(const struct rec_folder *folder, uint32_t number)
{
    const struct rec_key *key = rec_reader_item(folder->reader, number);

    return key && (key->domain == RWF_DOMAIN_SOURCE || key->domain == 0);
}

/* All its records, from the first chunk on that another item needs. */
static void need_all_of(struct rec_folder *folder, uint32_t number, size_t first, size_t last)
{
    uint64_t bit;

    for (size_t place = first; place < last; place++) {
        const struct rec_mask *mask = mask_at(folder, place, number, &bit);
        if (mask && (mask->records & bit))
            need(folder, place);
    }
}

static void need_items(struct rec_folder *folder, uint32_t only, size_t last)
{
    uint32_t count = folder->reader->catalogue.item_count;
    size_t first = 0;

    for (uint32_t i = 1; i <= count; i++) {
        if (only == 0 || i == only || is_for_all(folder, i))
            need_item(folder, i, last);
    }
    while (first < last && !is_needed(folder, first))
        first++;
    for (uint32_t i = 1; i <= count; i++) {
        if (is_for_all(folder, i))
            need_all_of(folder, i, first, last);
    }
}

/* ---- seeking ---- */

/* The chunks that are announced and not read yet. */
struct ahead {
    size_t next;
    uint64_t bytes;
};

static uint64_t length_of(const struct rec_folder *folder, size_t at)
{
    const struct rec_catalogue *catalogue = &folder->reader->catalogue;
    const struct rec_place *place = &catalogue->places[at], *next = place + 1;
    bool has_next = at + 1 < catalogue->count && next->part == place->part;
    uint64_t end = has_next ? next->at : folder->reader->parts[place->part].source.length;

    return end > place->at ? end - place->at : 0;
}

/* Chunks come from a disk while those before them are read; a seek may need a day of them. */
static void expect(const struct rec_folder *folder, size_t last, struct ahead *ahead)
{
    for (; ahead->next <= last && ahead->bytes < AHEAD_BYTES; ahead->next++) {
        const struct rec_place *place = &folder->reader->catalogue.places[ahead->next];
        const struct rec_source *source = &folder->reader->parts[place->part].source;
        if (!is_needed(folder, ahead->next))
            continue;
        uint64_t length = length_of(folder, ahead->next);
        if (source->expect && length > 0)
            source->expect(source->context, place->at, length);
        ahead->bytes += length;
    }
}

static void apply_scan(struct rec_folder *folder, uint64_t mono_ns, uint32_t only)
{
    struct rec_scan scan = rec_scan_start(folder->page.records, &folder->page.preamble);
    struct rec_raw raw;
    int rc;

    while ((rc = rec_scan_next(&scan, &raw)) > 0 && raw.mono_ns <= mono_ns) {
        bool is_wanted = only == 0 || raw.number == only || is_for_all(folder, raw.number);
        const struct rec_record record = {
            .kind = raw.kind, .flags = raw.flags, .number = raw.number, .bytes = raw.bytes
        };
        if (is_wanted && raw.kind != REC_ITEM && raw.kind != REC_CLOCK)
            rec_folder_apply(folder, &record);
    }
    if (rc < 0)
        tear_all(folder);
}

int rec_folder_seek(struct rec_folder *folder, uint64_t mono_ns, uint32_t only)
{
    struct rec_reader *reader = folder->reader;
    size_t last = rec_catalogue_after(&reader->catalogue, mono_ns);
    struct ahead ahead = { 0 };

    rec_later_clear(&folder->later);
    rec_images_clear(&folder->images);
    folder->chunks_read = 0;
    if (reader->catalogue.count == 0)
        return MD_OK;
    if (last == reader->catalogue.count)
        last--;
    memset(folder->needed, 0, folder->needed_words * sizeof(*folder->needed));
    need_items(folder, only, last);
    for (size_t place = 0; place <= last; place++) {
        if (rec_missing_before(reader, place) > 0)
            tear_all(folder);
        if (!is_needed(folder, place))
            continue;
        expect(folder, last, &ahead);
        ahead.bytes -= length_of(folder, place);
        folder->chunks_read++;
        int rc = rec_page_load(reader, &reader->catalogue.places[place], &folder->page);
        if (rc == MD_ERR_NOMEM)
            return rc;
        if (rc == MD_OK)
            apply_scan(folder, mono_ns, only);
        else
            tear_all(folder);
    }
    return MD_OK;
}
