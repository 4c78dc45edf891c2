/* walk.c - the blocks of a file: by its indices, or from one to the next. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "reader.h"

#define SEARCH_BYTES 65536u

/* ---- by the indices ---- */

static int read_end(struct rec_reader *reader)
{
    const uint64_t bytes = REC_BLOCK_HEAD + REC_END_BYTES;
    struct rec_block block;

    struct rec_part *part = reader->part;

    if (part->source.length < bytes || !part->has_info)
        return MD_ERR_NOT_FOUND;
    int rc = rec_block_load(reader, part->source.length - bytes, &block, &reader->page);
    if (rc != MD_OK || block.kind != REC_BLOCK_END || block.identity != part->identity)
        return MD_ERR_NOT_FOUND;
    part->is_ended = true;
    return rec_file_end_get(md_rd_init(reader->page.stored, block.stored), &part->end);
}

/* Where the indices stand, the first one first; *count of them, to be freed. */
static int list_indices(struct rec_reader *reader, uint64_t **list, size_t *count)
{
    uint64_t at = reader->part->end.index_at, behind = reader->part->source.length;
    size_t size = 0;

    *list = NULL;
    *count = 0;
    while (at != 0) {
        struct rec_index_head head;
        struct rwf_bytes index;
        if (at >= behind || rec_index_load(reader, at, &reader->page, &index) != MD_OK)
            return MD_ERR_MALFORMED;
        struct md_rd rd = md_rd_init(index.data, index.length);
        if (rec_index_head_get(&rd, &head) != MD_OK)
            return MD_ERR_MALFORMED;
        if (*count == size) {
            size = size ? 2 * size : 64;
            uint64_t *longer = realloc(*list, size * sizeof(**list));
            if (!longer)
                return MD_ERR_NOMEM;
            *list = longer;
        }
        (*list)[(*count)++] = at;
        behind = at;
        at = head.before;
    }
    return MD_OK;
}

int rec_walk_index(struct rec_reader *reader)
{
    const size_t places = reader->catalogue.count, groups = reader->catalogue.group_count;
    uint64_t *list;
    size_t count;

    int rc = read_end(reader);
    if (rc != MD_OK)
        return rc;
    rc = list_indices(reader, &list, &count);
    while (rc == MD_OK && count > 0) {
        struct rwf_bytes index;
        rc = rec_index_load(reader, list[--count], &reader->page, &index);
        if (rc == MD_OK)
            rc = rec_catalogue_index(&reader->catalogue, reader->part->number, index, true);
    }
    free(list);
    if (rc == MD_OK && reader->catalogue.count - places != reader->part->end.chunks)
        rc = MD_ERR_MALFORMED; /* an index was not written */
    if (rc != MD_OK)
        rec_catalogue_cut(&reader->catalogue, places, groups);
    return rc;
}

/* ---- from one block to the next ---- */

/* The next place from `at` on where a head may be; the end of the file if there is none. */
static uint64_t search(struct rec_reader *reader, uint64_t at)
{
    static const uint8_t magic[4] = { 'R', 'R', 'E', 'C' };
    const struct rec_source *source = &reader->part->source;
    uint8_t bytes[4096];

    while (at + sizeof(magic) <= source->length) {
        uint64_t left = source->length - at;
        size_t length = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        if (source->read(source->context, at, bytes, length) != MD_OK)
            break;
        const uint8_t *found = memmem(bytes, length, magic, sizeof(magic));
        if (found)
            return at + (uint64_t)(found - bytes);
        at += length - (sizeof(magic) - 1);
    }
    return source->length;
}

/* Of another file: what stood on the disk before. */
static bool is_foreign(struct rec_reader *reader, const struct rec_block *block)
{
    struct rec_part *part = reader->part;

    if (!part->has_identity) {
        part->identity = block->identity;
        part->has_identity = true;
    }
    return block->identity != part->identity;
}

static int take_chunk(struct rec_reader *reader, uint64_t at, const struct rec_block *block)
{
    struct rec_place place = { .at = at, .number = block->number, .part = reader->part->number };

    rec_preamble_get(reader->page.stored, &place.preamble);
    return rec_catalogue_add(&reader->catalogue, &place);
}

static int take_index(struct rec_reader *reader, uint64_t at)
{
    struct rwf_bytes index;
    int rc = rec_index_load(reader, at, &reader->page, &index);

    return rc == MD_OK ? rec_catalogue_index(&reader->catalogue, reader->part->number, index, false)
                       : rc;
}

/* A whole block. MD_ERR_MALFORMED: it makes no sense here. */
static int take_block(struct rec_reader *reader, uint64_t at, const struct rec_block *block)
{
    switch (block->kind) {
    case REC_BLOCK_CHUNK:
        return take_chunk(reader, at, block);
    case REC_BLOCK_INDEX:
        return take_index(reader, at);
    case REC_BLOCK_END:
        reader->part->is_ended = true;
        return rec_file_end_get(md_rd_init(reader->page.stored, block->stored), &reader->part->end);
    default: /* the first one was read */
        return at == 0 ? MD_OK : MD_ERR_MALFORMED;
    }
}

/* The damage that `rc` stands for, of a block that was found at `at`. */
static void note_block(struct rec_reader *reader, uint64_t at, const struct rec_block *block,
                       int rc)
{
    uint64_t left = reader->part->source.length - at;
    uint64_t length = (uint64_t)REC_BLOCK_HEAD + block->stored;
    struct rec_damage damage = {
        .kind = rc == MD_ERR_SHORT ? REC_DAMAGE_TORN : REC_DAMAGE_SUM,
        .at = at,
        .length = length < left ? length : left,
        .file = reader->part->number,
        .chunk = block->number,
        .chunks = block->kind == REC_BLOCK_CHUNK ? 1 : 0,
    };

    rec_note_damage(reader, &damage);
}

/* Bytes that are no block, up to where one may begin. Returns that. */
static uint64_t note_gap(struct rec_reader *reader, uint64_t at)
{
    uint64_t next = search(reader, at + 1);
    const struct rec_source *source = &reader->part->source;
    struct rec_damage damage = { .kind = REC_DAMAGE_HEAD, .at = at, .file = reader->part->number };

    for (;;) {
        struct rec_block block;
        uint8_t head[REC_BLOCK_HEAD];
        if (next + REC_BLOCK_HEAD > source->length) {
            next = source->length;
            break;
        }
        if (source->read(source->context, next, head, sizeof(head)) == MD_OK &&
            rec_block_read(head, &block) == MD_OK)
            break;
        next = search(reader, next + 1);
    }
    damage.length = next - at;
    rec_note_damage(reader, &damage);
    return next;
}

int rec_walk(struct rec_reader *reader)
{
    uint64_t at = 0;

    while (at < reader->part->source.length) {
        struct rec_block block = { 0 };
        int rc = rec_block_load(reader, at, &block, &reader->page);
        if (rc == MD_ERR_NOMEM)
            return rc;
        if (rc == MD_ERR_NOT_FOUND) {
            at = note_gap(reader, at);
            continue;
        }
        if (rc == MD_OK && is_foreign(reader, &block))
            rc = MD_ERR_MALFORMED;
        if (rc == MD_OK)
            rc = take_block(reader, at, &block);
        if (rc == MD_ERR_NOMEM)
            return rc;
        if (rc != MD_OK)
            note_block(reader, at, &block, rc);
        at += REC_BLOCK_HEAD;
        /* Behind a torn block may stand others: the recorder was started again on it. */
        if (rc != MD_ERR_SHORT)
            at += block.stored;
        else
            at = search(reader, at);
    }
    return MD_OK;
}

/* ---- a chunk that no index tells of ---- */

static int grow_slots(struct rec_reader *reader)
{
    uint32_t size = reader->catalogue.item_size;

    if (size <= reader->slot_count)
        return MD_OK;
    uint32_t *slots = realloc(reader->slots, size * sizeof(*slots));
    if (!slots)
        return MD_ERR_NOMEM;
    memset(slots + reader->slot_count, 0, (size - reader->slot_count) * sizeof(*slots));
    reader->slots = slots;
    reader->slot_count = size;
    return MD_OK;
}

static int note_record(struct rec_reader *reader, const struct rec_raw *raw, struct rec_mask *masks,
                       uint32_t *count)
{
    if (raw->kind == REC_ITEM) {
        int rc = rec_catalogue_item(&reader->catalogue, raw->number, &raw->key);
        if (rc == MD_OK)
            rc = grow_slots(reader);
        if (rc != MD_OK || reader->slots[raw->number] != 0)
            return rc;
        if (*count == REC_CHUNK_ITEMS)
            return MD_ERR_MALFORMED;
        masks[*count] = (struct rec_mask){ .number = raw->number, .records = 1 };
        reader->slots[raw->number] = ++*count;
        return MD_OK;
    }
    if (raw->number == 0)
        return MD_OK;
    if (raw->number >= reader->slot_count || reader->slots[raw->number] == 0)
        return MD_ERR_MALFORMED; /* not defined in this chunk */
    if (raw->flags & REC_FIRST)
        masks[reader->slots[raw->number] - 1].images = 1;
    return MD_OK;
}

int rec_place_look(struct rec_reader *reader, struct rec_place *place)
{
    struct rec_raw raw;
    uint32_t count = 0;

    int rc = rec_page_load(reader, place, &reader->page);
    if (rc != MD_OK)
        return rc;
    struct rec_mask *masks = malloc(REC_CHUNK_ITEMS * sizeof(*masks));
    rc = masks ? MD_OK : MD_ERR_NOMEM;
    struct rec_scan scan = rec_scan_start(reader->page.records, &reader->page.preamble);
    int more = 1;
    while (rc == MD_OK && (more = rec_scan_next(&scan, &raw)) > 0)
        rc = note_record(reader, &raw, masks, &count);
    for (uint32_t i = 0; i < count; i++)
        reader->slots[masks[i].number] = 0;
    if (rc == MD_OK && more < 0)
        rc = MD_ERR_MALFORMED;
    if (rc != MD_OK) {
        free(masks);
        return rc;
    }
    struct rec_mask *shorter = realloc(masks, (count ? count : 1) * sizeof(*masks));
    return rec_catalogue_look(&reader->catalogue, place, shorter ? shorter : masks, count);
}
