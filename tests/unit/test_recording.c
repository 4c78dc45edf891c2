/* test_recording.c - recordings: all of it read back; what is intact after damage, and by name what
 * is not; the image of a moment by the index as by reading all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/prng.h"
#include "omm/directory.h"
#include "recording/images.h"
#include "recording/reader.h"
#include "recording/writer.h"

#define SEC        1000000000ull
#define MS         1000000ull
#define START      (50 * SEC)
#define WALL       (1700000000 * SEC)
#define ITEMS      8u
#define MESSAGES   4000u
#define CHUNKS_MAX 512u
#define DISK_MAX   (16u << 20)
#define POOL       4u
#define WAITS      20000u /* bytes of records: fewer than between two images */

static unsigned damages = 300;

/* ---- a disk, and what stands where ---- */

struct disk {
    uint8_t *bytes;
    size_t length;
    size_t room;
    unsigned fails;        /* the next so many writes */
    uint64_t expected_end; /* of what was told last to be read soon */
    uint64_t expected;     /* how often that was */
};

struct span {
    size_t at, end;
    uint64_t number;
};

struct said {
    uint64_t mono_ns, wall_ns;
    uint64_t chunk; /* UINT64_MAX: lost */
    uint32_t number;
    size_t length;
    uint8_t bytes[160];
};

struct world {
    struct md_prng prng;
    struct disk disk;
    struct rec_chunk *pool[POOL];
    unsigned pool_count;
    struct rec_chunk *waiting[POOL];
    unsigned waiting_count;
    bool holds_back; /* nothing is written: the pool runs dry */
    struct rec_writer writer;
    struct rec_keeper *keeper;
    struct rec_file *file;
    struct span spans[CHUNKS_MAX]; /* of chunks that are in the file */
    unsigned span_count;
    struct said *said;
    unsigned said_count;
    uint32_t numbers[ITEMS + 1]; /* of the items; the last: the directory */
    uint64_t mono_ns, wall_ns;
    uint32_t serial;
    unsigned cuts;
};

static int disk_write(void *context, const uint8_t *head, size_t head_length, const uint8_t *bytes,
                      size_t length)
{
    struct disk *disk = context;

    if (disk->fails > 0) {
        disk->fails--;
        return MD_ERR_FULL;
    }
    if (disk->length + head_length + length > disk->room)
        return MD_ERR_FULL;
    memcpy(disk->bytes + disk->length, head, head_length);
    memcpy(disk->bytes + disk->length + head_length, bytes, length);
    disk->length += head_length + length;
    return MD_OK;
}

static int disk_read(void *context, uint64_t at, uint8_t *bytes, size_t length)
{
    const struct disk *disk = context;

    if (at > disk->length || length > disk->length - at)
        return MD_ERR_SHORT;
    if (length)
        memcpy(bytes, disk->bytes + at, length);
    return MD_OK;
}

static void disk_expect(void *context, uint64_t at, uint64_t length)
{
    struct disk *disk = context;

    assert_true(at >= disk->expected_end && at + length <= disk->length);
    disk->expected_end = at + length;
    disk->expected++;
}

static struct rec_chunk *take(void *context)
{
    struct world *w = context;

    return w->pool_count > 0 ? w->pool[--w->pool_count] : NULL;
}

static void write_waiting(struct world *w)
{
    for (unsigned i = 0; i < w->waiting_count; i++) {
        struct rec_chunk *chunk = w->waiting[i];
        size_t at = w->disk.length;
        if (rec_file_add(w->file, chunk) == MD_OK) {
            assert_true(w->span_count < CHUNKS_MAX);
            w->spans[w->span_count++] =
                (struct span){ .at = at, .end = w->disk.length, .number = chunk->number };
        }
        w->pool[w->pool_count++] = chunk;
    }
    w->waiting_count = 0;
}

static void give(void *context, struct rec_chunk *chunk)
{
    struct world *w = context;

    w->waiting[w->waiting_count++] = chunk;
    if (!w->holds_back)
        write_waiting(w);
}

static struct rec_moment now(const struct world *w)
{
    return (struct rec_moment){ .mono_ns = w->mono_ns, .wall_ns = w->wall_ns };
}

static void start_file(struct world *w)
{
    const struct rec_file_info info = {
        .mono_ns = w->mono_ns,
        .wall_ns = w->wall_ns,
        .series = 9,
        .program = rwf_text("test"),
        .source = rwf_text("nowhere"),
    };

    w->disk.length = 0;
    w->span_count = 0;
    assert_int_equal(rec_file_start(w->file, 1234, &info), MD_OK);
}

static void world_init(struct world *w, uint64_t seed)
{
    static const struct rec_writer_ops ops = { take, give };
    const struct rec_disk disk = { &w->disk, disk_write };

    *w = (struct world){
        .prng = md_prng_init(seed), .mono_ns = START, .wall_ns = WALL, .disk = { .room = DISK_MAX }
    };
    w->disk.bytes = malloc(DISK_MAX);
    w->said = calloc(MESSAGES, sizeof(*w->said));
    assert_non_null(w->disk.bytes);
    assert_non_null(w->said);
    for (unsigned i = 0; i < POOL; i++)
        assert_int_equal(rec_chunk_create(&w->pool[w->pool_count++]), MD_OK);
    rec_writer_init(&w->writer, &ops, w);
    const struct rec_keeper_config config = { .writer = &w->writer, .image_every_ns = 3 * SEC };
    assert_int_equal(rec_keeper_create(&config, &w->keeper), MD_OK);
    assert_int_equal(rec_file_create(1, &disk, &w->file), MD_OK);
    start_file(w);
    for (unsigned i = 0; i <= ITEMS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "ITEM%u", i);
        const struct rec_key key = {
            .domain = i < ITEMS ? RWF_DOMAIN_MARKET_PRICE : RWF_DOMAIN_SOURCE,
            .service_id = 7,
            .service = rwf_text("SERVICE"),
            .name = i < ITEMS ? rwf_text(name) : rwf_bytes(NULL, 0),
        };
        w->numbers[i] = rec_keeper_item(w->keeper, &key);
        assert_int_equal(w->numbers[i], rec_keeper_item(w->keeper, &key));
        assert_int_not_equal(w->numbers[i], 0);
    }
}

static void world_fini(struct world *w)
{
    w->holds_back = false;
    rec_writer_flush(&w->writer, false);
    write_waiting(w);
    rec_keeper_destroy(w->keeper);
    rec_file_destroy(w->file);
    for (unsigned i = 0; i < w->pool_count; i++)
        rec_chunk_destroy(w->pool[i]);
    free(w->said);
    free(w->disk.bytes);
}

/* ---- a history ---- */

static size_t encode(struct world *w, uint8_t *out, size_t size, unsigned item)
{
    unsigned kind = md_prng_below(&w->prng, 20);
    struct rwf_encoder enc;
    struct rwf_msg msg = { .domain = RWF_DOMAIN_MARKET_PRICE,
                           .stream_id = 5 + (int32_t)item,
                           .container = RWF_TYPE_FIELD_LIST };
    bool is_refresh = kind < 2;

    msg.msg_class = is_refresh ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE;
    if (is_refresh) {
        msg.flags = (uint16_t)(RWF_REFRESH_HAS_QOS | (kind ? RWF_REFRESH_CLEAR_CACHE : 0) |
                               (md_prng_below(&w->prng, 4) ? RWF_REFRESH_COMPLETE : 0));
        msg.state =
            (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
        msg.group_id = rwf_bytes(md_prng_below(&w->prng, 2) ? "\0\1" : "\0\2", 2);
    }
    if (kind == 2) {
        msg.msg_class = RWF_CLASS_STATUS;
        msg.container = RWF_TYPE_NO_DATA;
        msg.flags = RWF_STATUS_HAS_STATE;
        msg.state = (struct rwf_state){
            .stream_state = RWF_STREAM_OPEN,
            .data_state = md_prng_below(&w->prng, 2) ? RWF_DATA_SUSPECT : RWF_DATA_OK,
        };
    }
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    if (kind != 2) {
        rwf_field_list_start(&enc, NULL);
        rwf_field_add_uint(&enc, 10, ++w->serial);
        for (int16_t id = 20; id < 28; id++) {
            if (is_refresh || md_prng_below(&w->prng, 4) == 0)
                rwf_field_add_uint(&enc, id, md_prng_u32(&w->prng) >> md_prng_below(&w->prng, 30));
        }
        rwf_field_list_finish(&enc);
    }
    rwf_msg_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc).length;
}

/* A change of one group, in the directory. */
static size_t encode_group(struct world *w, uint8_t *out, size_t size)
{
    static const uint8_t groups[2][2] = { { 0, 1 }, { 0, 2 } };
    struct rwf_encoder enc;
    const struct omm_directory_head head = { .stream_id = 2, .is_update = true, .filter = 4 };
    struct omm_group change = {
        .group = rwf_bytes(groups[md_prng_below(&w->prng, 2)], 2),
        .has_status = true,
        .status = { .stream_state = RWF_STREAM_OPEN,
                    .data_state = md_prng_below(&w->prng, 2) ? RWF_DATA_SUSPECT : RWF_DATA_OK },
    };

    rwf_encoder_init(&enc, out, size);
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_group(&enc, 7, &change);
    assert_int_equal(omm_directory_encode_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc).length;
}

static void say(struct world *w)
{
    struct said *said = &w->said[w->said_count++];
    unsigned item = md_prng_below(&w->prng, ITEMS);
    struct rec_keeper_stats before, after;

    w->mono_ns += md_prng_below(&w->prng, 30) * MS + md_prng_below(&w->prng, 1000);
    w->wall_ns = WALL + (w->mono_ns - START);
    if (w->said_count > MESSAGES / 2)
        w->wall_ns += 5 * SEC; /* it was set */
    if (md_prng_below(&w->prng, 40) == 0) {
        item = ITEMS;
        said->length = encode_group(w, said->bytes, sizeof(said->bytes));
    } else {
        said->length = encode(w, said->bytes, sizeof(said->bytes), item);
    }
    said->mono_ns = w->mono_ns;
    said->wall_ns = w->wall_ns;
    said->number = w->numbers[item];
    rec_keeper_stats(w->keeper, &before);
    rec_keeper_message(w->keeper, now(w), said->number, rwf_bytes(said->bytes, said->length));
    rwf_patch_stream_id(said->bytes, 0); /* as it stands in the recording */
    rec_keeper_stats(w->keeper, &after);
    said->chunk = after.lost > before.lost ? UINT64_MAX : w->writer.chunk->number;
    rec_keeper_tick(w->keeper, now(w));
}

enum trouble { NO_TROUBLE, SOME_TROUBLE };

static void history(struct world *w, unsigned count, enum trouble trouble)
{
    for (unsigned i = 0; i < count; i++) {
        say(w);
        if (trouble == NO_TROUBLE)
            continue;
        if (md_prng_below(&w->prng, 300) == 0) {
            w->holds_back = !w->holds_back;
            if (!w->holds_back)
                write_waiting(w);
        }
        if (md_prng_below(&w->prng, 400) == 0)
            w->disk.fails = 1 + md_prng_below(&w->prng, 2);
        if (md_prng_below(&w->prng, 300) == 0) {
            rec_keeper_cut(w->keeper, now(w), "the server has gone");
            w->cuts++;
        }
    }
}

static void end_file(struct world *w)
{
    w->holds_back = false;
    w->disk.fails = 0;
    write_waiting(w);
    rec_writer_flush(&w->writer, false);
    assert_int_equal(rec_file_end(w->file), MD_OK);
}

static int open_disk(struct disk *disk, bool walks, struct rec_reader **reader)
{
    const struct rec_source source = {
        .context = disk, .read = disk_read, .length = disk->length, .expect = disk_expect
    };

    return rec_reader_open(&source, walks, reader);
}

static bool is_in_file(const struct world *w, const struct said *said)
{
    for (unsigned i = 0; i < w->span_count; i++) {
        if (w->spans[i].number == said->chunk)
            return true;
    }
    return false;
}

/* ---- everything is read back ---- */

static void read_back(struct world *w, struct rec_reader *reader)
{
    struct rec_cursor *cursor;
    struct rec_record record;
    unsigned at = 0;

    assert_int_equal(rec_cursor_create(reader, &cursor), MD_OK);
    while (rec_cursor_next(cursor, &record) > 0) {
        if (record.kind != REC_MESSAGE)
            continue;
        while (!is_in_file(w, &w->said[at]))
            at++;
        const struct said *said = &w->said[at++];
        assert_int_equal(record.number, said->number);
        assert_int_equal(record.mono_ns, said->mono_ns);
        assert_true(record.wall_ns + 100000 >= said->wall_ns);
        assert_true(record.wall_ns <= said->wall_ns + 100000);
        assert_int_equal(record.bytes.length, said->length);
        assert_memory_equal(record.bytes.data, said->bytes, said->length);
    }
    while (at < w->said_count && !is_in_file(w, &w->said[at]))
        at++;
    assert_int_equal(at, w->said_count);
    rec_cursor_destroy(cursor);
}

static void a_recording_is_read_back_by_its_index_and_without(void **state)
{
    struct world w;
    struct rec_facts facts;

    (void)state;
    world_init(&w, 1);
    history(&w, MESSAGES, NO_TROUBLE);
    end_file(&w);
    for (int walks = 0; walks < 2; walks++) {
        struct rec_reader *reader;
        assert_int_equal(open_disk(&w.disk, walks, &reader), MD_OK);
        rec_reader_facts(reader, &facts);
        assert_int_equal(facts.is_indexed, !walks);
        assert_true(facts.is_ended);
        assert_true(facts.has_info);
        assert_true(rwf_bytes_equal(facts.info.source, rwf_text("nowhere")));
        assert_int_equal(facts.damages, 0);
        assert_int_equal(facts.chunks, w.span_count);
        assert_int_equal(facts.chunks, facts.end.chunks);
        assert_int_equal(facts.records, facts.end.records);
        assert_int_equal(facts.end.items, ITEMS + 1);
        const struct rec_key *key = rec_reader_item(reader, w.numbers[3]);
        assert_true(rwf_bytes_equal(key->name, rwf_text("ITEM3")));
        assert_int_equal(key->service_id, 7);
        read_back(&w, reader);
        rec_reader_close(reader);
    }
    world_fini(&w);
}

static void what_finds_no_room_and_no_disk_is_told(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct world w;
        struct rec_reader *reader;
        struct rec_cursor *cursor;
        struct rec_record record;
        struct rec_keeper_stats stats;
        uint64_t lost = 0, holes = 0, missing = 0;

        world_init(&w, seed);
        history(&w, MESSAGES, SOME_TROUBLE);
        end_file(&w);
        assert_int_equal(open_disk(&w.disk, false, &reader), MD_OK);
        read_back(&w, reader);
        assert_int_equal(rec_cursor_create(reader, &cursor), MD_OK);
        while (rec_cursor_next(cursor, &record) > 0) {
            lost += record.kind == REC_LOST ? record.count : 0;
            holes += record.kind == REC_HOLE ? record.count : 0;
        }
        for (size_t i = 0; rec_reader_damage(reader, i); i++) {
            assert_int_equal(rec_reader_damage(reader, i)->kind, REC_DAMAGE_MISSING);
            missing += rec_reader_damage(reader, i)->chunks;
        }
        rec_keeper_stats(w.keeper, &stats);
        assert_true(stats.lost > 0);
        assert_true(lost > 0 && lost <= stats.lost);
        assert_int_equal(holes, missing);
        rec_cursor_destroy(cursor);
        rec_reader_close(reader);
        world_fini(&w);
    }
}

/* ---- the image of a moment ---- */

static size_t take_image(const struct cache_image *image, uint8_t *out, size_t size)
{
    struct cache_cursor cursor = { 0 };
    bool is_last;
    size_t length;

    if (!image)
        return 0;
    assert_int_equal(cache_image_part(image, &cursor, out, size, &length, &is_last), MD_OK);
    assert_true(is_last);
    return length;
}

static void compare_images(const struct world *w, struct rec_folder *a, struct rec_folder *b,
                           uint32_t only)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        uint8_t x[2000], y[2000];
        if (only && w->numbers[i] != only)
            continue;
        size_t length = take_image(rec_folder_image(a, w->numbers[i]), x, sizeof(x));
        assert_int_equal(take_image(rec_folder_image(b, w->numbers[i]), y, sizeof(y)), length);
        if (length)
            assert_memory_equal(x, y, length);
    }
}

/* Moments in order, so that the folding goes on from one to the next. */
static void compare_moments(struct world *w, struct rec_reader *reader, unsigned moments)
{
    const struct cache_config config = { 0 };
    struct rec_folder *by_index, *by_all;
    struct rec_cursor *cursor;
    struct rec_record record;
    uint64_t at_ns = START;
    int more;

    assert_int_equal(rec_folder_create(reader, &config, REC_WAITS, &by_index), MD_OK);
    assert_int_equal(rec_folder_create(reader, &config, WAITS, &by_all), MD_OK);
    assert_int_equal(rec_cursor_create(reader, &cursor), MD_OK);
    more = rec_cursor_next(cursor, &record);
    for (unsigned i = 0; i < moments; i++) {
        at_ns += (w->mono_ns - START) / moments * 2 * md_prng_below(&w->prng, 1000) / 1000;
        while (more > 0 && record.mono_ns <= at_ns) {
            rec_folder_apply(by_all, &record);
            more = rec_cursor_next(cursor, &record);
        }
        uint32_t only = i % 3 ? 0 : w->numbers[md_prng_below(&w->prng, ITEMS)];
        w->disk.expected_end = 0;
        assert_int_equal(rec_folder_seek(by_index, at_ns, only), MD_OK);
        compare_images(w, by_index, by_all, only);
        assert_true(rec_folder_chunks_read(by_index) <= 12);
    }
    rec_cursor_destroy(cursor);
    rec_folder_destroy(by_index);
    rec_folder_destroy(by_all);
}

static void the_image_of_a_moment_is_the_folding_up_to_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (damages > 1000 ? 100u : 4u); seed++) {
        for (int walks = 0; walks < 2; walks++) {
            struct world w;
            struct rec_reader *reader;
            world_init(&w, seed);
            history(&w, MESSAGES, seed % 2 ? SOME_TROUBLE : NO_TROUBLE);
            end_file(&w);
            assert_int_equal(open_disk(&w.disk, walks, &reader), MD_OK);
            compare_moments(&w, reader, 100);
            rec_reader_close(reader);
            world_fini(&w);
        }
    }
}

/* A long message: a number, and bytes that compress well. */
static void say_long(struct world *w, unsigned item, bool is_refresh)
{
    static uint8_t text[4000], bytes[5000];
    struct rwf_encoder enc;
    const struct rwf_msg msg = {
        .msg_class = is_refresh ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = 5,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = is_refresh ? RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, 10, ++w->serial);
    rwf_field_add_bytes(&enc, 20, rwf_bytes(text, sizeof(text)));
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    w->mono_ns += 10000;
    w->wall_ns += 10000;
    rec_keeper_message(w->keeper, now(w), w->numbers[item], rwf_encoder_bytes(&enc));
    rec_keeper_tick(w->keeper, now(w));
}

/* Much in a short time, so that no image comes because of the time: a seek reads few chunks. */
static void images_come_before_too_much_has_to_be_read(void **state)
{
    const struct cache_config config = { 0 };
    const unsigned moments = 20, messages = 10000;
    struct world w;
    struct rec_reader *reader;
    struct rec_folder *folder;
    uint64_t most = 0;

    (void)state;
    world_init(&w, 3);
    for (unsigned i = 0; i < messages; i++)
        say_long(&w, i % ITEMS, i < ITEMS);
    end_file(&w);
    assert_int_equal(open_disk(&w.disk, false, &reader), MD_OK);
    assert_int_equal(rec_folder_create(reader, &config, REC_WAITS, &folder), MD_OK);
    for (unsigned i = 1; i <= moments; i++) {
        unsigned number = messages / moments * i;
        w.disk.expected = w.disk.expected_end = 0;
        assert_int_equal(rec_folder_seek(folder, START + number * 10000ull, 0), MD_OK);
        assert_int_equal(w.disk.expected, rec_folder_chunks_read(folder));
        most = rec_folder_chunks_read(folder) > most ? rec_folder_chunks_read(folder) : most;
        for (unsigned item = 0; item < ITEMS; item++)
            assert_non_null(rec_folder_image(folder, w.numbers[item]));
    }
    assert_true(w.span_count > 30); /* of 1 MiB each */
    assert_true(most <= 4);
    rec_folder_destroy(folder);
    rec_reader_close(reader);
    world_fini(&w);
}

/* ---- damage ---- */

/* Whether a damage names the chunk, by its number or by its bytes. */
static bool is_named(const struct rec_reader *reader, const struct span *span)
{
    const struct rec_damage *damage;

    for (size_t i = 0; (damage = rec_reader_damage(reader, i)) != NULL; i++) {
        if (damage->chunks && span->number >= damage->chunk &&
            span->number < damage->chunk + damage->chunks)
            return true;
        if (damage->kind != REC_DAMAGE_MISSING && damage->at < span->end &&
            damage->at + damage->length > span->at)
            return true;
    }
    return false;
}

/* Chunks before `end` that `at` is not in are read to the last record; the others are named, but
 * those that the file has lost with its end. */
static void check_damaged(struct world *w, struct disk *disk, size_t end, size_t at)
{
    struct rec_reader *reader;
    struct rec_cursor *cursor;
    struct rec_record record;
    unsigned said = 0;

    int rc = open_disk(disk, true, &reader);
    if (rc != MD_OK) {
        assert_true(end < w->spans[0].end || w->spans[0].at > at);
        return;
    }
    assert_int_equal(rec_cursor_create(reader, &cursor), MD_OK);
    bool is_read[CHUNKS_MAX] = { false };
    while (rec_cursor_next(cursor, &record) > 0) {
        if (record.kind != REC_MESSAGE)
            continue;
        while (said < w->said_count &&
               (w->said[said].mono_ns != record.mono_ns ||
                w->said[said].length != record.bytes.length ||
                memcmp(w->said[said].bytes, record.bytes.data, record.bytes.length) != 0))
            said++;
        assert_true(said < w->said_count); /* nothing that was not said, nothing twice */
        for (unsigned i = 0; i < w->span_count; i++)
            is_read[i] = is_read[i] || w->spans[i].number == w->said[said].chunk;
        said++;
    }
    for (unsigned i = 0; i < w->span_count; i++) {
        const struct span *span = &w->spans[i];
        bool is_whole = span->end <= end && !(at >= span->at && at < span->end);
        if (is_whole)
            assert_true(is_read[i] || !is_named(reader, span));
        if (is_whole && !is_read[i]) /* a chunk of images alone */
            continue;
        if (!is_whole && span->at < end)
            assert_true(is_named(reader, span));
        assert_int_equal(is_read[i], is_whole);
    }
    rec_cursor_destroy(cursor);
    rec_reader_close(reader);
}

static void what_is_intact_is_read_and_what_is_not_is_named(void **state)
{
    struct world w;
    struct disk disk = { .bytes = malloc(DISK_MAX) };

    (void)state;
    assert_non_null(disk.bytes);
    world_init(&w, 77);
    history(&w, MESSAGES, NO_TROUBLE);
    end_file(&w);
    for (unsigned i = 0; i < damages; i++) {
        size_t at = md_prng_below(&w.prng, (uint32_t)w.disk.length), end = w.disk.length;
        disk.length = w.disk.length;
        memcpy(disk.bytes, w.disk.bytes, w.disk.length);
        if (i % 3 == 0) {
            disk.length = end = at;
            at = SIZE_MAX;
        } else if (i % 3 == 1) {
            disk.bytes[at] ^= (uint8_t)(1u << md_prng_below(&w.prng, 8));
        } else { /* torn: blocks of the disk that were never written */
            end = at;
            disk.length = at + md_prng_below(&w.prng, 5000);
            for (size_t j = at; j < disk.length; j++)
                disk.bytes[j] = i % 2 ? 0 : (uint8_t)md_prng_u32(&w.prng);
            at = SIZE_MAX;
        }
        check_damaged(&w, &disk, end, at);
    }
    free(disk.bytes);
    world_fini(&w);
}

static void a_file_that_was_not_ended_is_whole_up_to_its_last_chunk(void **state)
{
    struct world w;
    struct rec_reader *reader;
    struct rec_facts facts;

    (void)state;
    world_init(&w, 5);
    history(&w, MESSAGES, NO_TROUBLE);
    w.said_count -= 10; /* what the last chunk has was never written */
    while (w.said[w.said_count - 1].chunk == w.writer.chunk->number)
        w.said_count--;
    assert_int_equal(open_disk(&w.disk, false, &reader), MD_OK);
    rec_reader_facts(reader, &facts);
    assert_false(facts.is_ended);
    assert_int_equal(facts.damages, 0);
    read_back(&w, reader);
    compare_moments(&w, reader, 20);
    rec_reader_close(reader);
    world_fini(&w);
}

/* Images that another file begins with. */
static uint64_t images_of_another_file(struct world *w)
{
    struct rec_keeper_stats before, after;

    rec_writer_flush(&w->writer, false);
    rec_keeper_stats(w->keeper, &before);
    rec_keeper_cut_file(w->keeper);
    start_file(w);
    rec_keeper_tick(w->keeper, now(w));
    rec_keeper_stats(w->keeper, &after);
    return after.images - before.images;
}

static void an_item_that_is_forgotten_is_in_no_further_file(void **state)
{
    struct world w;
    struct rec_keeper_stats stats;
    struct rec_key key;

    (void)state;
    world_init(&w, 12);
    history(&w, 1000, NO_TROUBLE);
    assert_true(images_of_another_file(&w) > 0);
    rec_keeper_stats(w.keeper, &stats);
    for (uint32_t i = 1; i <= stats.items; i++) {
        assert_true(rec_keeper_key(w.keeper, i, &key));
        rec_keeper_forget(w.keeper, i);
        assert_int_equal(rec_keeper_item(w.keeper, &key), i); /* its number stays */
    }
    assert_false(rec_keeper_key(w.keeper, (uint32_t)stats.items + 1, &key));
    assert_int_equal(images_of_another_file(&w), 0);
    world_fini(&w);
}

static void another_file_has_every_image_of_its_beginning(void **state)
{
    const struct cache_config config = { 0 };
    struct world w;
    struct rec_reader *reader;
    struct rec_folder *before, *after;

    (void)state;
    world_init(&w, 11);
    history(&w, 1000, NO_TROUBLE);
    rec_writer_flush(&w.writer, false);
    struct disk first = { .bytes = malloc(DISK_MAX), .length = w.disk.length };
    assert_non_null(first.bytes);
    memcpy(first.bytes, w.disk.bytes, first.length);
    uint64_t moment_ns = w.mono_ns;
    rec_keeper_cut_file(w.keeper);
    start_file(&w);
    w.said_count = 0;
    rec_keeper_tick(w.keeper, now(&w));
    assert_true(w.writer.chunk->starts_file);
    end_file(&w);
    assert_int_equal(open_disk(&first, false, &reader), MD_OK);
    assert_int_equal(rec_folder_create(reader, &config, REC_WAITS, &before), MD_OK);
    first.expected_end = w.disk.expected_end = 0;
    assert_int_equal(rec_folder_seek(before, moment_ns, 0), MD_OK);
    struct rec_reader *second;
    assert_int_equal(open_disk(&w.disk, false, &second), MD_OK);
    assert_int_equal(rec_folder_create(second, &config, REC_WAITS, &after), MD_OK);
    assert_int_equal(rec_folder_seek(after, moment_ns, 0), MD_OK);
    compare_images(&w, before, after, 0);
    rec_folder_destroy(before);
    rec_folder_destroy(after);
    rec_reader_close(reader);
    rec_reader_close(second);
    free(first.bytes);
    world_fini(&w);
}

/* Files of a series, one behind the other; the number of bytes that each is long. */
static size_t make_series(struct world *w, uint8_t *bytes, size_t lengths[3])
{
    struct span spans[CHUNKS_MAX];
    unsigned count = 0;
    size_t all = 0;

    for (unsigned i = 0; i < 3; i++) {
        history(w, MESSAGES / 3, NO_TROUBLE);
        end_file(w);
        memcpy(bytes + all, w->disk.bytes, w->disk.length);
        all += lengths[i] = w->disk.length;
        memcpy(spans + count, w->spans, w->span_count * sizeof(*spans));
        count += w->span_count;
        if (i < 2) {
            rec_keeper_cut_file(w->keeper);
            start_file(w);
        }
    }
    memcpy(w->spans, spans, count * sizeof(*spans));
    w->span_count = count;
    return all;
}

static void a_series_is_read_as_one_recording(void **state)
{
    struct world w;
    struct disk files[3];
    struct rec_source sources[3];
    size_t lengths[3], at = 0;
    uint8_t *bytes = malloc(DISK_MAX);
    struct rec_reader *reader;
    struct rec_facts facts;

    (void)state;
    assert_non_null(bytes);
    world_init(&w, 21);
    (void)make_series(&w, bytes, lengths);
    for (unsigned i = 0; i < 3; i++) {
        files[i] = (struct disk){ .bytes = bytes + at, .length = lengths[i] };
        sources[i] =
            (struct rec_source){ .context = &files[i], .read = disk_read, .length = lengths[i] };
        at += lengths[i];
    }
    for (int walks = 0; walks < 2; walks++) {
        assert_int_equal(rec_reader_open_series(sources, 3, walks, &reader), MD_OK);
        rec_reader_facts(reader, &facts);
        assert_int_equal(facts.damages, 0);
        assert_true(facts.is_ended);
        assert_int_equal(facts.is_indexed, !walks);
        assert_int_equal(facts.chunks, w.span_count);
        read_back(&w, reader);
        compare_moments(&w, reader, 50);
        rec_reader_close(reader);
    }
    /* Without the one in the middle, its chunks are a hole. */
    sources[1] = sources[2];
    assert_int_equal(rec_reader_open_series(sources, 2, false, &reader), MD_OK);
    rec_reader_facts(reader, &facts);
    assert_int_equal(facts.damages, 1);
    assert_int_equal(rec_reader_damage(reader, 0)->kind, REC_DAMAGE_MISSING);
    assert_int_equal(rec_reader_damage(reader, 0)->chunks, w.span_count - facts.chunks);
    compare_moments(&w, reader, 50);
    rec_reader_close(reader);
    free(bytes);
    world_fini(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_is_read_back_by_its_index_and_without),
        cmocka_unit_test(what_finds_no_room_and_no_disk_is_told),
        cmocka_unit_test(the_image_of_a_moment_is_the_folding_up_to_it),
        cmocka_unit_test(images_come_before_too_much_has_to_be_read),
        cmocka_unit_test(what_is_intact_is_read_and_what_is_not_is_named),
        cmocka_unit_test(a_file_that_was_not_ended_is_whole_up_to_its_last_chunk),
        cmocka_unit_test(an_item_that_is_forgotten_is_in_no_further_file),
        cmocka_unit_test(another_file_has_every_image_of_its_beginning),
        cmocka_unit_test(a_series_is_read_as_one_recording),
    };

    if (argc > 1)
        damages = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
