/* load.c - blocks of a file read and proved; damage noted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "reader.h"

/* ---- damage ---- */

static bool is_noted(const struct rec_reader *reader, const struct rec_damage *damage)
{
    for (uint64_t i = 0; i < reader->facts.damages && i < REC_DAMAGES_MAX; i++) {
        const struct rec_damage *other = &reader->damages[i];
        if (other->kind == damage->kind && other->at == damage->at &&
            other->chunk == damage->chunk && other->file == damage->file)
            return true;
    }
    return false;
}

void rec_note_damage(struct rec_reader *reader, const struct rec_damage *damage)
{
    if (is_noted(reader, damage))
        return;
    if (!reader->damages)
        reader->damages = calloc(REC_DAMAGES_MAX, sizeof(*reader->damages));
    if (reader->damages && reader->facts.damages < REC_DAMAGES_MAX)
        reader->damages[reader->facts.damages] = *damage;
    if (reader->damages)
        reader->facts.damages++;
}

/* ---- blocks ---- */

void rec_page_fini(struct rec_page *page)
{
    free(page->stored);
    free(page->bytes);
    *page = (struct rec_page){ 0 };
}

static int reserve(uint8_t **bytes, size_t *size, size_t wanted)
{
    if (wanted <= *size)
        return MD_OK;
    free(*bytes);
    *bytes = malloc(wanted);
    *size = *bytes ? wanted : 0;
    return *bytes ? MD_OK : MD_ERR_NOMEM;
}

int rec_block_load(struct rec_reader *reader, uint64_t at, struct rec_block *block,
                   struct rec_page *page)
{
    const struct rec_source *source = &reader->part->source;
    uint8_t head[REC_BLOCK_HEAD];

    if (at > source->length || source->length - at < REC_BLOCK_HEAD ||
        source->read(source->context, at, head, sizeof(head)) != MD_OK ||
        rec_block_read(head, block) != MD_OK)
        return MD_ERR_NOT_FOUND;
    at += REC_BLOCK_HEAD;
    if (block->stored > source->length - at)
        return MD_ERR_SHORT;
    if (reserve(&page->stored, &page->stored_size, block->stored + 1) != MD_OK)
        return MD_ERR_NOMEM;
    if (source->read(source->context, at, page->stored, block->stored) != MD_OK ||
        rec_sum(page->stored, block->stored) != block->sum)
        return MD_ERR_MALFORMED;
    return MD_OK;
}

int rec_index_load(struct rec_reader *reader, uint64_t at, struct rec_page *page,
                   struct rwf_bytes *out)
{
    struct rec_block block;
    int rc = rec_block_load(reader, at, &block, page);

    if (rc != MD_OK || block.kind != REC_BLOCK_INDEX || block.identity != reader->part->identity)
        return rc == MD_ERR_NOMEM ? rc : MD_ERR_MALFORMED;
    if (reserve(&page->bytes, &page->size, block.expanded + 1) != MD_OK)
        return MD_ERR_NOMEM;
    *out = rwf_bytes(page->bytes, block.expanded);
    return rec_unpack(reader->packer, page->bytes, block.expanded, page->stored, block.stored);
}

static int load_chunk(struct rec_reader *reader, const struct rec_place *place,
                      struct rec_page *page, struct rec_block *block)
{
    reader->part = &reader->parts[place->part];
    int rc = rec_block_load(reader, place->at, block, page);

    if (rc != MD_OK)
        return rc == MD_ERR_NOMEM ? rc : MD_ERR_MALFORMED;
    if (block->kind != REC_BLOCK_CHUNK || block->number != place->number ||
        block->identity != reader->part->identity)
        return MD_ERR_MALFORMED;
    if (reserve(&page->bytes, &page->size, block->expanded + 1) != MD_OK)
        return MD_ERR_NOMEM;
    rec_preamble_get(page->stored, &page->preamble);
    page->records = rwf_bytes(page->bytes, block->expanded);
    if (page->preamble.first_mono_ns != place->preamble.first_mono_ns ||
        page->preamble.last_mono_ns != place->preamble.last_mono_ns)
        return MD_ERR_MALFORMED;
    const uint8_t *stored = page->stored + REC_CHUNK_PREAMBLE;
    size_t length = block->stored - REC_CHUNK_PREAMBLE;
    if (block->coding == REC_CODING_ROWS)
        return rec_unpack(reader->packer, page->bytes, block->expanded, stored, length);
    if (!reader->join && rec_join_create(&reader->join) != MD_OK)
        return MD_ERR_NOMEM;
    return rec_join_chunk(reader->join, reader->packer, page->bytes, block->expanded, stored,
                          length);
}

int rec_page_load(struct rec_reader *reader, const struct rec_place *place, struct rec_page *page)
{
    struct rec_block block = { 0 };
    int rc = load_chunk(reader, place, page, &block);
    struct rec_damage damage = {
        .kind = REC_DAMAGE_SUM,
        .at = place->at,
        .length = (uint64_t)REC_BLOCK_HEAD + block.stored,
        .chunk = place->number,
        .chunks = 1,
        .file = place->part,
    };

    if (rc == MD_ERR_MALFORMED)
        rec_note_damage(reader, &damage);
    return rc;
}
