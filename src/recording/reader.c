/* reader.c - a recording opened, and its records one after the other. See recording/reader.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct rec_cursor {
    struct rec_reader *reader;
    struct rec_page page;
    struct rec_scan scan;
    size_t place; /* the one that is read, or comes next */
    bool is_open; /* it is in the page */
    bool told;    /* the hole before it was given out */
    uint64_t after_ns;
    bool skips; /* records up to after_ns are passed over */
    uint64_t last_mono_ns, last_wall_ns;
};

const char *rec_damage_name(enum rec_damage_kind kind)
{
    static const char *const names[] = {
        [REC_DAMAGE_HEAD] = "bytes that are no block",
        [REC_DAMAGE_SUM] = "a block that was changed",
        [REC_DAMAGE_TORN] = "the file ends within a block",
        [REC_DAMAGE_MISSING] = "chunks that are not there",
        [REC_DAMAGE_RECORDS] = "a chunk with records that make no sense",
    };

    return names[kind];
}

const struct rec_damage *rec_reader_damage(const struct rec_reader *reader, size_t number)
{
    return number < reader->facts.damages && number < REC_DAMAGES_MAX ? &reader->damages[number]
                                                                      : NULL;
}

uint64_t rec_missing_before(const struct rec_reader *reader, size_t place)
{
    const struct rec_place *places = reader->catalogue.places;
    uint64_t expected = place > 0 ? places[place - 1].number + 1 : reader->first_number;

    if (place == reader->catalogue.count || places[place].number < expected)
        return 0;
    return places[place].number - expected;
}

/* A chunk that is known to be damaged where it stands. */
static bool is_named(const struct rec_reader *reader, uint64_t chunk)
{
    for (uint64_t i = 0; i < reader->facts.damages && i < REC_DAMAGES_MAX; i++) {
        if (reader->damages[i].chunks == 1 && reader->damages[i].chunk == chunk)
            return true;
    }
    return false;
}

static void note_missing(struct rec_reader *reader)
{
    for (size_t i = 0; i < reader->catalogue.count; i++) {
        uint64_t count = rec_missing_before(reader, i);
        uint64_t first = reader->catalogue.places[i].number - count;
        while (count > 0 && is_named(reader, first)) {
            first++;
            count--;
        }
        const struct rec_damage damage = { .kind = REC_DAMAGE_MISSING,
                                           .chunk = first,
                                           .chunks = count };
        if (count > 0)
            rec_note_damage(reader, &damage);
    }
}

/* ---- open and close ---- */

/* The recording's is that of its first file. */
static int read_info(struct rec_reader *reader)
{
    struct rec_part *part = reader->part;
    struct rec_file_info info;
    struct rec_block block;
    int rc = rec_block_load(reader, 0, &block, &reader->page);

    if (rc != MD_OK || block.kind != REC_BLOCK_FILE)
        return rc == MD_ERR_NOMEM ? rc : MD_OK;
    if (rec_file_info_get(md_rd_init(reader->page.stored, block.stored), &info) != MD_OK)
        return MD_OK;
    part->has_info = true;
    part->identity = block.identity;
    part->has_identity = true;
    if (part->number > 0)
        return MD_OK;
    memcpy(reader->info_bytes, reader->page.stored, block.stored);
    (void)rec_file_info_get(md_rd_init(reader->info_bytes, block.stored), &reader->facts.info);
    reader->facts.has_info = true;
    reader->first_number = block.number;
    return MD_OK;
}

/* Of chunks that no index tells of. Those whose records are wrong are taken out. */
static int look_at_all(struct rec_reader *reader)
{
    struct rec_catalogue *catalogue = &reader->catalogue;
    size_t kept = 0;

    for (size_t i = 0; i < catalogue->count; i++) {
        struct rec_place place = catalogue->places[i];
        int rc = place.is_known ? MD_OK : rec_place_look(reader, &place);
        struct rec_damage damage = { .kind = REC_DAMAGE_RECORDS,
                                     .at = place.at,
                                     .chunk = place.number,
                                     .chunks = 1,
                                     .file = place.part };
        if (rc == MD_ERR_NOMEM)
            return rc;
        if (rc == MD_OK)
            catalogue->places[kept++] = place;
        else
            rec_note_damage(reader, &damage);
    }
    catalogue->count = kept;
    return MD_OK;
}

static void sum_up_parts(struct rec_reader *reader)
{
    struct rec_facts *facts = &reader->facts;

    facts->is_ended = facts->is_indexed = true;
    for (uint32_t i = 0; i < reader->part_count; i++) {
        const struct rec_part *part = &reader->parts[i];
        facts->is_ended = facts->is_ended && part->is_ended;
        facts->is_indexed = facts->is_indexed && part->is_indexed;
        if (part->is_ended)
            facts->end = part->end;
    }
}

static void sum_up(struct rec_reader *reader)
{
    const struct rec_catalogue *catalogue = &reader->catalogue;
    struct rec_facts *facts = &reader->facts;

    sum_up_parts(reader);
    facts->chunks = catalogue->count;
    facts->items = catalogue->item_count;
    for (size_t i = 0; i < catalogue->count; i++)
        facts->records += catalogue->places[i].preamble.records;
    if (catalogue->count == 0)
        return;
    facts->first_mono_ns = catalogue->places[0].preamble.first_mono_ns;
    facts->first_wall_ns = catalogue->places[0].preamble.first_wall_ns;
    facts->last_mono_ns = catalogue->places[catalogue->count - 1].preamble.last_mono_ns;
    if (!facts->has_info)
        reader->first_number = catalogue->places[0].number;
    note_missing(reader);
}

static int load_part(struct rec_reader *reader, struct rec_part *part, bool walks)
{
    reader->part = part;
    int rc = read_info(reader);
    if (rc != MD_OK)
        return rc;
    part->is_indexed = !walks && rec_walk_index(reader) == MD_OK;
    if (part->is_indexed)
        return MD_OK;
    part->is_ended = false;
    return rec_walk(reader);
}

static int load(struct rec_reader *reader, bool walks)
{
    int rc = MD_OK;

    for (uint32_t i = 0; i < reader->part_count && rc == MD_OK; i++)
        rc = load_part(reader, &reader->parts[i], walks);
    if (rc == MD_OK)
        rc = look_at_all(reader);
    if (rc == MD_OK && !reader->facts.has_info && reader->catalogue.count == 0)
        rc = MD_ERR_MALFORMED;
    if (rc == MD_OK)
        sum_up(reader);
    return rc;
}

int rec_reader_open_series(const struct rec_source *sources, size_t count, bool walks,
                           struct rec_reader **out)
{
    struct rec_reader *reader = calloc(1, sizeof(*reader));

    *out = NULL;
    if (!reader)
        return MD_ERR_NOMEM;
    reader->parts = calloc(count, sizeof(*reader->parts));
    if (!reader->parts) {
        free(reader);
        return MD_ERR_NOMEM;
    }
    reader->part_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++)
        reader->parts[i] = (struct rec_part){ .source = sources[i], .number = i };
    int rc = rec_packer_create(1, &reader->packer);
    if (rc == MD_OK)
        rc = load(reader, walks);
    if (rc != MD_OK) {
        rec_reader_close(reader);
        return rc;
    }
    *out = reader;
    return MD_OK;
}

void rec_reader_close(struct rec_reader *reader)
{
    if (!reader)
        return;
    rec_catalogue_fini(&reader->catalogue);
    rec_page_fini(&reader->page);
    rec_packer_destroy(reader->packer);
    rec_join_destroy(reader->join);
    free(reader->damages);
    free(reader->slots);
    free(reader->parts);
    free(reader);
}

int rec_source_series(const struct rec_source *source, uint64_t *series, uint32_t *part)
{
    struct rec_part file = { .source = *source };
    struct rec_reader reader = { .part = &file };
    struct rec_file_info info;
    struct rec_block block;

    int rc = rec_block_load(&reader, 0, &block, &reader.page);
    if (rc != MD_ERR_NOMEM && (rc != MD_OK || block.kind != REC_BLOCK_FILE))
        rc = MD_ERR_MALFORMED;
    if (rc == MD_OK)
        rc = rec_file_info_get(md_rd_init(reader.page.stored, block.stored), &info);
    if (rc == MD_OK) {
        *series = info.series;
        *part = info.part;
    }
    rec_page_fini(&reader.page);
    return rc;
}

void rec_reader_facts(const struct rec_reader *reader, struct rec_facts *out)
{
    *out = reader->facts;
}

const struct rec_key *rec_reader_item(const struct rec_reader *reader, uint32_t number)
{
    return number < reader->catalogue.item_size ? reader->catalogue.items[number] : NULL;
}

/* ---- reading in order ---- */

int rec_cursor_create(struct rec_reader *reader, struct rec_cursor **out)
{
    struct rec_cursor *cursor = calloc(1, sizeof(*cursor));

    *out = cursor;
    if (!cursor)
        return MD_ERR_NOMEM;
    cursor->reader = reader;
    return MD_OK;
}

void rec_cursor_destroy(struct rec_cursor *cursor)
{
    if (!cursor)
        return;
    rec_page_fini(&cursor->page);
    free(cursor);
}

int rec_cursor_seek(struct rec_cursor *cursor, uint64_t mono_ns)
{
    cursor->place = mono_ns ? rec_catalogue_after(&cursor->reader->catalogue, mono_ns) : 0;
    cursor->is_open = cursor->told = false;
    cursor->after_ns = mono_ns;
    cursor->skips = mono_ns != 0;
    return MD_OK;
}

static int give_hole(struct rec_cursor *cursor, struct rec_record *out, uint64_t count)
{
    *out = (struct rec_record){ .kind = REC_HOLE,
                                .mono_ns = cursor->last_mono_ns,
                                .wall_ns = cursor->last_wall_ns,
                                .count = count };
    return 1;
}

/* The chunk could not be read to its end. */
static int leave_broken(struct rec_cursor *cursor, struct rec_record *out)
{
    const struct rec_place *place = &cursor->reader->catalogue.places[cursor->place];
    struct rec_damage damage = { .kind = REC_DAMAGE_RECORDS,
                                 .at = place->at,
                                 .chunk = place->number,
                                 .chunks = 1,
                                 .file = place->part };

    if (cursor->is_open)
        rec_note_damage(cursor->reader, &damage);
    cursor->is_open = cursor->told = false;
    cursor->place++;
    return give_hole(cursor, out, 1);
}

/* 1: a hole was given out; 0: the chunk is open. */
static int open_place(struct rec_cursor *cursor, struct rec_record *out)
{
    struct rec_reader *reader = cursor->reader;
    const struct rec_place *place = &reader->catalogue.places[cursor->place];
    uint64_t missing = rec_missing_before(reader, cursor->place);

    if (missing > 0 && !cursor->told && !cursor->skips) {
        cursor->told = true;
        return give_hole(cursor, out, missing);
    }
    int rc = rec_page_load(reader, place, &cursor->page);
    if (rc == MD_ERR_NOMEM)
        return rc;
    if (rc != MD_OK)
        return leave_broken(cursor, out);
    cursor->scan = rec_scan_start(cursor->page.records, &cursor->page.preamble);
    cursor->is_open = true;
    return 0;
}

/* 1 with a record to be given out, 0: with one that is not, or the end of the chunk. */
static int step(struct rec_cursor *cursor, struct rec_record *out)
{
    struct rec_raw raw;
    int rc = rec_scan_next(&cursor->scan, &raw);

    if (rc == 0) {
        cursor->is_open = cursor->told = false;
        cursor->place++;
        return 0;
    }
    bool is_bad = rc > 0 && raw.number != 0 && raw.kind != REC_ITEM &&
                  !rec_reader_item(cursor->reader, raw.number);
    if (rc > 0 && raw.kind == REC_ITEM)
        is_bad = rec_catalogue_item(&cursor->reader->catalogue, raw.number, &raw.key) != MD_OK;
    if (rc < 0 || is_bad)
        return leave_broken(cursor, out);
    cursor->last_mono_ns = raw.mono_ns;
    cursor->last_wall_ns = raw.wall_ns;
    if (raw.kind == REC_ITEM || raw.kind == REC_CLOCK)
        return 0;
    if (cursor->skips && raw.mono_ns <= cursor->after_ns)
        return 0;
    cursor->skips = false;
    *out = (struct rec_record){
        .kind = raw.kind,
        .flags = raw.flags,
        .number = raw.number,
        .mono_ns = raw.mono_ns,
        .wall_ns = raw.wall_ns,
        .count = raw.count,
        .bytes = raw.bytes,
    };
    return 1;
}

int rec_cursor_next(struct rec_cursor *cursor, struct rec_record *out)
{
    for (;;) {
        if (cursor->place >= cursor->reader->catalogue.count)
            return 0;
        int rc = cursor->is_open ? step(cursor, out) : open_place(cursor, out);
        if (rc != 0)
            return rc;
    }
}
