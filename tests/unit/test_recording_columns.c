/* test_recording_columns.c - chunks by columns: every byte comes back, damage is found, and files
 * of the version before are read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/prng.h"
#include "column_get.h"
#include "column_put.h"
#include "forms.h"
#include "join.h"
#include "planes.h"
#include "recording/reader.h"
#include "rmds/rwf.h"
#include "split.h"

#define ITEMS   300u
#define STORED  (4u << 20)
#define MESSAGE 4000u

struct world {
    struct md_prng prng;
    struct rec_packer *packer;
    struct rec_split *split;
    struct rec_join *join;
    struct rec_chunk *chunk;
    struct rec_item items[ITEMS];
    uint64_t at_ns;
    uint8_t *stored, *again;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->prng = md_prng_init(1);
    w->stored = malloc(STORED);
    w->again = malloc(REC_CHUNK_MAX);
    assert_non_null(w->stored);
    assert_non_null(w->again);
    assert_int_equal(rec_packer_create(3, &w->packer), MD_OK);
    assert_int_equal(rec_split_create(&w->split), MD_OK);
    assert_int_equal(rec_join_create(&w->join), MD_OK);
    assert_int_equal(rec_chunk_create(&w->chunk), MD_OK);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    rec_packer_destroy(w->packer);
    rec_split_destroy(w->split);
    rec_join_destroy(w->join);
    rec_chunk_destroy(w->chunk);
    free(w->stored);
    free(w->again);
    free(w);
    return 0;
}

static void begin(struct world *w)
{
    struct rec_chunk *chunk = w->chunk;

    w->at_ns += 1000;
    chunk->length = chunk->records = chunk->touched_count = chunk->lost = 0;
    chunk->first_mono_ns = chunk->last_mono_ns = w->at_ns;
    for (unsigned i = 0; i < ITEMS; i++)
        w->items[i] = (struct rec_item){ .key = { .domain = 6, .service = rwf_text("SERVICE") },
                                         .number = 1 + 3 * i,
                                         .chunk = UINT64_MAX };
}

static void put(struct world *w, unsigned kind, unsigned item, struct rwf_bytes bytes)
{
    struct rec_item *of = &w->items[item];
    const struct rec_put record = {
        .kind = (uint8_t)kind, .item = of, .bytes = bytes, .count = item
    };

    if (w->chunk->length + bytes.length + 700 > REC_CHUNK_MAX)
        return;
    w->at_ns += md_prng_below(&w->prng, 3000);
    if (of->chunk != 0)
        rec_chunk_put_item(w->chunk, w->at_ns, of);
    of->chunk = 0;
    rec_chunk_put(w->chunk, w->at_ns, &record);
}

/* The length of what the columns take; 0: they are none. */
static size_t goes_round(struct world *w)
{
    const struct rec_chunk *chunk = w->chunk;
    size_t length = rec_split_chunk(w->split, w->packer, chunk, w->stored, STORED);

    if (length == 0)
        return 0;
    assert_int_equal(rec_join_chunk(w->join, w->packer, w->again, chunk->length, w->stored, length),
                     MD_OK);
    assert_memory_equal(w->again, chunk->bytes, chunk->length);
    return length;
}

/* ---- messages ---- */

/* A value that is no number of any form, or is one in a strange way. */
static struct rwf_bytes strange(struct world *w, uint8_t out[600])
{
    static const uint16_t lengths[] = { 0, 1, 2, 3, 7, 8, 9, 40, 253, 254, 255, 600 };
    size_t length = lengths[md_prng_below(&w->prng, 12)];

    memset(out, (int)(md_prng_below(&w->prng, 3) * 0x7f), length);
    if (length > 2 && md_prng_below(&w->prng, 2))
        out[md_prng_below(&w->prng, (uint32_t)length)] = (uint8_t)md_prng_u32(&w->prng);
    return rwf_bytes(out, length);
}

static void add_fields(struct world *w, struct rwf_encoder *enc, unsigned kind, unsigned count)
{
    const struct rwf_real price = { .value = 10000 + (int64_t)(w->at_ns % 977),
                                    .hint = RWF_HINT_EXP_0 - 2 };
    uint8_t bytes[600];

    rwf_field_add_real(enc, 22, &price);
    rwf_field_add_uint(enc, 32, 100u * (1 + md_prng_below(&w->prng, 9)));
    rwf_field_add_int(enc, 33, (int64_t)md_prng_below(&w->prng, 400) - 200);
    rwf_field_add_uint(enc, 1025, w->at_ns / 1000);
    for (unsigned i = 0; i < count; i++) {
        int16_t id = (int16_t)(kind == 2 ? 100 + (int)md_prng_below(&w->prng, 40)
                                         : 200 + (int)i - 400 * (int)(i % 2));
        rwf_field_add_bytes(enc, id, strange(w, bytes));
    }
}

static size_t encode(struct world *w, unsigned kind, unsigned item, uint8_t *out)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = kind == 1 ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = 6,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = kind == 1 ? RWF_REFRESH_HAS_SEQ_NUM | RWF_REFRESH_HAS_KEY
                           : RWF_UPDATE_HAS_SEQ_NUM | (kind == 3 ? RWF_UPDATE_HAS_KEY : 0),
        .seq_num = (uint32_t)(w->at_ns / 500),
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .group_id = rwf_bytes("\0", 2),
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = (uint16_t)item,
                 .name = rwf_text(item % 2 ? "A.LONG.NAME" : "B.LONG.NAME") },
    };

    rwf_encoder_init(&enc, out, MESSAGE);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    add_fields(w, &enc, kind, kind == 0 ? 0 : 2 + md_prng_below(&w->prng, kind == 2 ? 4 : 1));
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc).length;
}

static void say(struct world *w, unsigned kinds)
{
    uint8_t bytes[MESSAGE];
    unsigned item = md_prng_below(&w->prng, ITEMS), kind = md_prng_below(&w->prng, kinds);
    size_t length;

    switch (kind) {
    case 4: /* torn, or no RWF at all */
        length = encode(w, 1, item, bytes);
        put(w, REC_MESSAGE, item, rwf_bytes(bytes, md_prng_below(&w->prng, (uint32_t)length)));
        break;
    case 5:
        put(w, REC_LOST, item, rwf_bytes(NULL, 0));
        break;
    case 6:
        put(w, REC_CUT, item, rwf_text("the server has gone"));
        break;
    default:
        length = encode(w, kind, item, bytes);
        put(w, kind == 1 ? REC_IMAGE : REC_MESSAGE, item, rwf_bytes(bytes, length));
    }
}

/* ---- the tests ---- */

static void every_byte_comes_back(void **state)
{
    struct world *w = *state;

    for (unsigned round = 0; round < 60; round++) {
        begin(w);
        for (unsigned i = 0; i < 1u + round * round; i++)
            say(w, 1 + round % 7);
        size_t length = goes_round(w);
        if (round > 20)
            assert_true(length > 0 && length < w->chunk->length);
    }
}

static void what_is_alike_takes_little_room(void **state)
{
    struct world *w = *state;

    begin(w);
    for (unsigned i = 0; i < 15000; i++)
        say(w, 1);
    size_t length = goes_round(w);
    /* Items and times are noise, two bytes each; the sequence number and the price are not. */
    assert_true(length / w->chunk->records < 9);
}

static void damaged_columns_are_no_records(void **state)
{
    struct world *w = *state;
    unsigned refused = 0;

    begin(w);
    for (unsigned i = 0; i < 400; i++)
        say(w, 7);
    size_t length = goes_round(w);
    assert_true(length > 0);
    uint8_t *whole = malloc(length);
    assert_non_null(whole);
    memcpy(whole, w->stored, length);
    for (unsigned i = 0; i < 2000; i++) {
        size_t at = md_prng_below(&w->prng, (uint32_t)length), end = i % 4 ? length : at;
        memcpy(w->stored, whole, length);
        w->stored[at] ^= (uint8_t)(1u << md_prng_below(&w->prng, 8));
        refused +=
            rec_join_chunk(w->join, w->packer, w->again, w->chunk->length, w->stored, end) != MD_OK;
    }
    assert_true(refused > 1000); /* a bit of a plain value is another value */
    assert_int_equal(
        rec_join_chunk(w->join, w->packer, w->again, w->chunk->length - 1, whole, length),
        MD_ERR_MALFORMED);
    free(whole);
}

/* What describes the columns is changed before it is compressed: any bytes, read to the end. */
static void a_damaged_description_is_no_description(void **state)
{
    struct world *w = *state;
    uint8_t *meta = malloc(REC_META_MAX), *changed = malloc(STORED);

    assert_non_null(meta);
    assert_non_null(changed);
    for (unsigned round = 0; round < 20; round++) {
        begin(w);
        for (unsigned i = 0; i < 20 + 40 * round; i++)
            say(w, 7);
        size_t length = goes_round(w);
        assert_true(length > 0);
        uint32_t plain = md_be32(w->stored), packed = md_be32(w->stored + 4);
        assert_int_equal(rec_unpack(w->packer, meta, plain, w->stored + 8, packed), MD_OK);
        for (unsigned i = 0; i < 200; i++) {
            uint32_t at = md_prng_below(&w->prng, i % 2 ? plain : plain < 60 ? plain : 60);
            uint8_t before = meta[at];
            meta[at] = (uint8_t)md_prng_u32(&w->prng);
            size_t stored = rec_pack(w->packer, changed + 8, STORED - 8 - length, meta, plain);
            md_put_be32(changed, plain);
            md_put_be32(changed + 4, (uint32_t)stored);
            memcpy(changed + 8 + stored, w->stored + 8 + packed, length - 8 - packed);
            (void)rec_join_chunk(w->join, w->packer, w->again, w->chunk->length, changed,
                                 length - packed + stored);
            meta[at] = before;
        }
    }
    free(meta);
    free(changed);
}

static void a_chunk_without_fields_has_no_columns(void **state)
{
    struct world *w = *state;

    begin(w);
    for (unsigned i = 0; i < 100; i++)
        put(w, REC_CUT, i, rwf_text("the server has gone"));
    assert_int_equal(goes_round(w), 0);
}

/* ---- the version before ---- */

struct file {
    uint8_t bytes[65536];
    size_t length;
};

static int write_file(void *context, const uint8_t *head, size_t head_length, const uint8_t *bytes,
                      size_t length)
{
    struct file *file = context;

    assert_true(file->length + head_length + length <= sizeof(file->bytes));
    memcpy(file->bytes + file->length, head, head_length);
    memcpy(file->bytes + file->length + head_length, bytes, length);
    /* As it was: another version, no coding. */
    uint8_t *there = file->bytes + file->length;
    assert_int_equal(there[6], REC_CODING_ROWS);
    there[5] = 1;
    md_put_be64(there + 40, rec_sum(there, 40));
    file->length += head_length + length;
    return MD_OK;
}

static int read_file(void *context, uint64_t at, uint8_t *bytes, size_t length)
{
    const struct file *file = context;

    if (at > file->length || length > file->length - at)
        return MD_ERR_SHORT;
    memcpy(bytes, file->bytes + at, length);
    return MD_OK;
}

static void a_file_of_the_version_before_is_read(void **state)
{
    static struct file file;
    struct world *w = *state;
    const struct rec_disk disk = { &file, write_file };
    const struct rec_file_info info = { .series = 1 };
    const struct rec_source source = { .context = &file, .read = read_file };
    struct rec_source whole = source;
    struct rec_reader *reader;
    struct rec_cursor *cursor;
    struct rec_record record;
    struct rec_file *out;

    begin(w);
    put(w, REC_CUT, 1, rwf_text("the server has gone"));
    assert_int_equal(rec_file_create(3, &disk, &out), MD_OK);
    assert_int_equal(rec_file_start(out, 1, &info), MD_OK);
    w->chunk->number = 0;
    assert_int_equal(rec_file_add(out, w->chunk), MD_OK);
    assert_int_equal(rec_file_end(out), MD_OK);
    rec_file_destroy(out);
    whole.length = file.length;
    assert_int_equal(rec_reader_open(&whole, false, &reader), MD_OK);
    assert_int_equal(rec_cursor_create(reader, &cursor), MD_OK);
    assert_int_equal(rec_cursor_next(cursor, &record), 1);
    assert_int_equal(record.kind, REC_CUT);
    assert_true(rwf_bytes_equal(record.bytes, rwf_text("the server has gone")));
    assert_int_equal(rec_cursor_next(cursor, &record), 0);
    rec_cursor_destroy(cursor);
    rec_reader_close(reader);
}

/* ---- the count of columns ---- */

/* A hostile recording leaves any number and length with an item; then the count comes round. */
static void what_an_item_had_before_the_count_wraps_is_nothing(void **state)
{
    struct world *w = *state;
    uint8_t meta[64], body[64], text[8 + REC_SLACK] = { 0 }, arena[64 + REC_SLACK];
    uint8_t is_other[1], plane[64];
    uint64_t residuals[1], firsts[1];
    struct rec_cell cell[1];
    static const uint16_t item[1] = { 7 };
    const struct rec_cells cells = { .cell = cell, .item = item, .count = 1 };
    static const uint64_t numbers[][2] = {
        { 1ull << 60, 4 }, { 8, 1 }, { 0, 9 }, { UINT64_MAX, 2 }
    };
    struct rec_get_scratch scratch = { .residuals = residuals,
                                       .firsts = firsts,
                                       .is_other = is_other,
                                       .text = text,
                                       .last = calloc(REC_CHUNK_ITEMS, sizeof(struct rec_known)),
                                       .arena = arena,
                                       .most = 64 };

    assert_non_null(scratch.last);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct rec_planes_in in = { md_wr_init(meta, sizeof(meta)), md_wr_init(body, sizeof(body)),
                                    w->packer, plane };
        const uint64_t token = 0; /* the same as before */
        md_wr_u8(&in.meta, REC_FORM_BYTES);
        rec_numbers_put(&in, &token, 1);
        rec_text_put(&in, text, 0);
        struct rec_planes_out out = { md_rd_init(meta, md_wr_length(&in.meta)),
                                      md_rd_init(body, md_wr_length(&in.body)), w->packer, plane };
        scratch.used = 0;
        scratch.column = UINT32_MAX;
        scratch.last[7] =
            (struct rec_known){ .number = numbers[i][0], .length = (uint32_t)numbers[i][1] };
        assert_false(rec_column_get(&out, &scratch, &cells));
    }
    scratch.column = REC_STAMP_MAX - 1;
    scratch.last[7].column = 1;
    rec_column_get_start(&scratch);
    assert_int_equal(scratch.last[7].column, 1);
    scratch.column = REC_STAMP_MAX;
    rec_column_get_start(&scratch);
    assert_int_equal(scratch.column, 0);
    assert_int_equal(scratch.last[7].column, 0);
    free(scratch.last);
}

/* ---- numbers ---- */

static void the_bytes_of_a_number_are_its_only_ones(void **state)
{
    static const uint64_t numbers[] = { 0,        1,          127,        128,       255,
                                        256,      32767,      32768,      65535,     0x7fffff,
                                        1u << 24, 0x7fffffff, UINT64_MAX, INT64_MAX, 1ull << 63 };
    static const struct rec_column columns[] = { { .form = REC_FORM_UNSIGNED },
                                                 { .form = REC_FORM_SIGNED },
                                                 { .form = REC_FORM_SCALED, .fixed = 12 },
                                                 { .form = REC_FORM_FIXED, .fixed = 8 } };

    (void)state;
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            uint8_t bytes[10];
            uint64_t number = 0;
            size_t length = rec_form_write(&columns[c], numbers[i], bytes);
            assert_true(rec_form_read(&columns[c], bytes, length, &number));
            assert_int_equal(number, numbers[i]);
        }
    }
    uint64_t number;
    assert_false(rec_form_read(&columns[0], (const uint8_t *)"\0\1", 2, &number));
    assert_false(rec_form_read(&columns[0], NULL, 0, &number));
    assert_false(rec_form_read(&columns[1], (const uint8_t *)"\0\1", 2, &number));
    assert_false(rec_form_read(&columns[1], (const uint8_t *)"\xff\x80", 2, &number));
    assert_false(rec_form_read(&columns[2], (const uint8_t *)"\x0d\x01", 2, &number));
    assert_false(rec_form_read(&columns[2], (const uint8_t *)"\x0c", 1, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_byte_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_alike_takes_little_room, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_columns_are_no_records, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_description_is_no_description, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chunk_without_fields_has_no_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_of_the_version_before_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(what_an_item_had_before_the_count_wraps_is_nothing, setup,
                                        teardown),
        cmocka_unit_test(the_bytes_of_a_number_are_its_only_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
