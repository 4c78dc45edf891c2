/* file.c - chunks into the blocks of a file, with an index behind each 64 of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "block.h"
#include "chunk.h"
#include "planes.h"
#include "recording/writer.h"
#include "split.h"

#define INDEX_ITEM_MAX 540u    /* bytes of an item in an index */
#define ROWS_TOO       131072u /* a chunk of fewer bytes is tried as rows, too */

struct mask {
    const struct rec_item *item;
    uint64_t records, images; /* a bit for each chunk since the last index */
};

struct place {
    uint64_t at, number;
    struct rec_preamble preamble;
};

struct rec_file {
    struct rec_disk disk;
    struct rec_packer *packer;
    uint64_t identity;
    uint64_t next; /* number of the chunk that comes next */
    struct rec_file_end end;
    struct rec_file_stats stats;
    uint8_t *packed;
    size_t packed_size;
    struct rec_split *split;
    uint8_t *columns; /* as `packed`, by columns */
    size_t columns_size;
    struct place places[REC_INDEX_CHUNKS]; /* since the last index */
    uint32_t place_count;
    struct mask *masks; /* by number of the item */
    uint32_t mask_size;
    uint32_t *used; /* numbers of the items that have a mask */
    uint32_t used_count, used_size;
    bool *known; /* by number: it counts among the items of this file */
};

int rec_file_create(int level, const struct rec_disk *disk, struct rec_file **out)
{
    struct rec_file *file = calloc(1, sizeof(*file));

    *out = file;
    if (!file)
        return MD_ERR_NOMEM;
    file->disk = *disk;
    file->packed_size = REC_CHUNK_PREAMBLE + rec_pack_bound(REC_CHUNK_MAX);
    file->packed = malloc(file->packed_size);
    file->columns_size = REC_CHUNK_PREAMBLE + 8 + rec_pack_bound(REC_META_MAX) + REC_BODY_MAX;
    file->columns = malloc(file->columns_size);
    if (file->packed && file->columns && rec_packer_create(level, &file->packer) == MD_OK &&
        rec_split_create(&file->split) == MD_OK)
        return MD_OK;
    rec_file_destroy(file);
    *out = NULL;
    return MD_ERR_NOMEM;
}

void rec_file_destroy(struct rec_file *file)
{
    if (!file)
        return;
    rec_packer_destroy(file->packer);
    rec_split_destroy(file->split);
    free(file->packed);
    free(file->columns);
    free(file->masks);
    free(file->used);
    free(file->known);
    free(file);
}

static int write_block_as(struct rec_file *file, unsigned kind, unsigned coding,
                          const uint8_t *stored, size_t length, size_t expanded)
{
    uint8_t head[REC_BLOCK_HEAD];
    struct rec_block block = {
        .kind = (uint8_t)kind,
        .coding = (uint8_t)coding,
        .stored = (uint32_t)length,
        .expanded = (uint32_t)expanded,
        .identity = file->identity,
        .number = file->next,
    };

    rec_block_seal(head, &block, stored);
    int rc = file->disk.write(file->disk.context, head, sizeof(head), stored, length);
    if (rc == MD_OK)
        file->stats.bytes += sizeof(head) + length;
    return rc;
}

static int write_block(struct rec_file *file, unsigned kind, const uint8_t *stored, size_t length,
                       size_t expanded)
{
    return write_block_as(file, kind, 0, stored, length, expanded);
}

int rec_file_start(struct rec_file *file, uint64_t identity, const struct rec_file_info *info)
{
    uint8_t bytes[REC_FILE_ROOM];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    file->identity = identity;
    file->end = (struct rec_file_end){ 0 };
    file->stats = (struct rec_file_stats){ 0 };
    file->place_count = 0;
    for (uint32_t i = 0; i < file->used_count; i++)
        file->masks[file->used[i]] = (struct mask){ 0 };
    file->used_count = 0;
    if (file->known)
        memset(file->known, 0, file->mask_size * sizeof(*file->known));
    rec_file_info_put(&wr, info);
    return write_block(file, REC_BLOCK_FILE, bytes, md_wr_length(&wr), md_wr_length(&wr));
}

/* ---- the index ---- */

static int grow(struct rec_file *file, uint32_t number)
{
    uint32_t size = file->mask_size ? file->mask_size : 1024;

    while (size <= number)
        size *= 2;
    struct mask *masks = realloc(file->masks, size * sizeof(*masks));
    if (masks)
        file->masks = masks;
    bool *known = realloc(file->known, size * sizeof(*known));
    if (known)
        file->known = known;
    uint32_t *used = realloc(file->used, size * sizeof(*used));
    if (used)
        file->used = used;
    if (!masks || !known || !used)
        return MD_ERR_NOMEM;
    memset(masks + file->mask_size, 0, (size - file->mask_size) * sizeof(*masks));
    memset(known + file->mask_size, 0, (size - file->mask_size) * sizeof(*known));
    file->mask_size = file->used_size = size;
    return MD_OK;
}

static int note_items(struct rec_file *file, const struct rec_chunk *chunk)
{
    uint64_t bit = 1ull << file->place_count;

    for (uint32_t i = 0; i < chunk->touched_count; i++) {
        const struct rec_item *item = chunk->touched[i].item;
        if (item->number >= file->mask_size && grow(file, item->number) != MD_OK)
            return MD_ERR_NOMEM;
        struct mask *mask = &file->masks[item->number];
        if (!mask->item)
            file->used[file->used_count++] = item->number;
        mask->item = item;
        mask->records |= bit;
        mask->images |= chunk->touched[i].has_image ? bit : 0;
        file->end.items += !file->known[item->number];
        file->known[item->number] = true;
    }
    return MD_OK;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void encode_index(struct rec_file *file, struct md_wr *wr)
{
    md_wr_u32(wr, file->place_count);
    md_wr_u64(wr, file->end.index_at);
    for (uint32_t i = 0; i < file->place_count; i++) {
        const struct place *place = &file->places[i];
        md_wr_u64(wr, place->at);
        md_wr_u64(wr, place->number);
        md_wr_u64(wr, place->preamble.first_mono_ns);
        md_wr_u64(wr, place->preamble.last_mono_ns);
        md_wr_u64(wr, place->preamble.first_wall_ns);
        md_wr_u32(wr, place->preamble.records);
    }
    md_wr_u32(wr, file->used_count);
    for (uint32_t i = 0; i < file->used_count; i++) {
        const struct mask *mask = &file->masks[file->used[i]];
        md_wr_u32(wr, mask->item->number);
        rec_key_put(wr, &mask->item->key);
        md_wr_u64(wr, mask->records);
        md_wr_u64(wr, mask->images);
    }
}

static void forget_group(struct rec_file *file)
{
    for (uint32_t i = 0; i < file->used_count; i++)
        file->masks[file->used[i]] = (struct mask){ 0 };
    file->used_count = file->place_count = 0;
}

/* Without it, a reader looks into the chunks themselves. */
static int write_index(struct rec_file *file)
{
    size_t size = 64 + file->place_count * 44u + (size_t)file->used_count * INDEX_ITEM_MAX;
    uint64_t at = file->stats.bytes;

    if (file->place_count == 0)
        return MD_OK;
    if (file->used_count > 0)
        qsort(file->used, file->used_count, sizeof(*file->used), compare);
    uint8_t *bytes = malloc(size);
    uint8_t *packed = malloc(rec_pack_bound(size));
    int rc = bytes && packed ? MD_OK : MD_ERR_NOMEM;
    if (rc == MD_OK) {
        struct md_wr wr = md_wr_init(bytes, size);
        encode_index(file, &wr);
        size_t expanded = md_wr_length(&wr);
        size_t stored = rec_pack(file->packer, packed, rec_pack_bound(size), bytes, expanded);
        rc = stored == 0 || expanded > REC_INDEX_MAX
                 ? MD_ERR_RANGE
                 : write_block(file, REC_BLOCK_INDEX, packed, stored, expanded);
    }
    if (rc == MD_OK)
        file->end.index_at = at;
    free(bytes);
    free(packed);
    forget_group(file);
    return rc;
}

/* ---- chunks ---- */

static int write_chunk(struct rec_file *file, const struct rec_chunk *chunk,
                       const struct rec_preamble *preamble)
{
    uint8_t head_bytes[REC_CHUNK_PREAMBLE];
    const size_t head = sizeof(head_bytes);
    size_t rows = 0;
    size_t columns = rec_split_chunk(file->split, file->packer, chunk, file->columns + head,
                                     file->columns_size - head);

    if (columns == 0 || chunk->length < ROWS_TOO)
        rows = rec_pack(file->packer, file->packed + head, file->packed_size - head, chunk->bytes,
                        chunk->length);
    bool by_rows = columns == 0 || (rows > 0 && rows < columns);
    size_t stored = by_rows ? rows : columns;
    uint8_t *bytes = by_rows ? file->packed : file->columns;
    if (stored == 0)
        return MD_ERR_NOMEM;
    rec_preamble_put(head_bytes, preamble);
    memcpy(bytes, head_bytes, head);
    file->next = chunk->number;
    int rc = write_block_as(file, REC_BLOCK_CHUNK, by_rows ? REC_CODING_ROWS : REC_CODING_COLUMNS,
                            bytes, head + stored, chunk->length);
    file->next = chunk->number + 1;
    return rc;
}

int rec_file_add(struct rec_file *file, const struct rec_chunk *chunk)
{
    struct place *place = &file->places[file->place_count];

    *place = (struct place){
        .at = file->stats.bytes,
        .number = chunk->number,
        .preamble = { .first_mono_ns = chunk->first_mono_ns,
                      .last_mono_ns = chunk->last_mono_ns,
                      .first_wall_ns = chunk->first_wall_ns,
                      .records = chunk->records },
    };
    int rc = write_chunk(file, chunk, &place->preamble);
    if (rc != MD_OK) {
        file->stats.failed++;
        file->stats.failed_records += chunk->records;
        return rc;
    }
    rc = note_items(file, chunk);
    file->place_count++;
    file->stats.chunks++;
    file->stats.records += chunk->records;
    file->end.chunks++;
    file->end.records += chunk->records;
    file->end.lost += chunk->lost;
    file->end.last_mono_ns = chunk->last_mono_ns;
    if (rc != MD_OK) /* no memory for an index that is whole: none for these */
        forget_group(file);
    else if (file->place_count == REC_INDEX_CHUNKS)
        (void)write_index(file);
    return MD_OK;
}

int rec_file_end(struct rec_file *file)
{
    uint8_t bytes[REC_END_BYTES];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    int rc = write_index(file);
    if (rc != MD_OK)
        return rc;
    rec_file_end_put(&wr, &file->end);
    return write_block(file, REC_BLOCK_END, bytes, sizeof(bytes), sizeof(bytes));
}

void rec_file_stats(const struct rec_file *file, struct rec_file_stats *out)
{
    *out = file->stats;
}
