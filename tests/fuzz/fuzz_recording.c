/* fuzz_recording.c - any bytes as the blocks of a recording, with right checksums and compression.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "block.h"
#include "recording/images.h"
#include "recording/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORDS_MAX 5000u
#define PART_MAX    65000u
#define FILE_MAX    262144u

struct file {
    uint8_t bytes[FILE_MAX];
    size_t length;
};

static int read_file(void *context, uint64_t at, uint8_t *bytes, size_t length)
{
    const struct file *file = context;

    if (at > file->length || length > file->length - at)
        return MD_ERR_SHORT;
    if (length)
        memcpy(bytes, file->bytes + at, length);
    return MD_OK;
}

/* The contents of a block as they stand in the file: what is compressed there comes as it is. */
static size_t store(struct rec_packer *packer, unsigned kind, struct md_rd body, uint8_t *out,
                    size_t size)
{
    size_t plain = kind == REC_BLOCK_CHUNK ? REC_CHUNK_PREAMBLE : 0;
    size_t length = md_rd_left(&body);

    if (kind == REC_BLOCK_FILE || kind == REC_BLOCK_END || length < plain) {
        memcpy(out, body.pos, length);
        return length;
    }
    memcpy(out, body.pos, plain);
    return plain + rec_pack(packer, out + plain, size - plain, body.pos + plain, length - plain);
}

/* Two bytes with the length of what describes the columns, which is compressed; the planes stand
 * behind it. *expanded: so many bytes the records shall have, in two bytes in front. */
static size_t store_columns(struct rec_packer *packer, struct md_rd body, uint8_t *out, size_t size,
                            uint32_t *expanded)
{
    struct md_wr wr = md_wr_init(out, size);

    md_wr_bytes(&wr, md_rd_bytes(&body, REC_CHUNK_PREAMBLE), REC_CHUNK_PREAMBLE);
    *expanded = md_rd_u16(&body);
    size_t length = md_rd_u16(&body);
    if (length > md_rd_left(&body))
        length = md_rd_left(&body);
    const uint8_t *meta = md_rd_bytes(&body, length);
    uint8_t *lengths = md_wr_take(&wr, 8);
    size_t packed = rec_pack(packer, md_wr_mark(&wr), md_wr_left(&wr), meta, length);
    (void)md_wr_take(&wr, packed);
    md_put_be32(lengths, (uint32_t)length);
    md_put_be32(lengths + 4, (uint32_t)packed);
    md_wr_bytes(&wr, body.pos, md_rd_left(&body));
    return md_wr_length(&wr);
}

/* Of each block: its kind, its number less that of the one before, the length of its contents. A
 * kind with the highest bit is none: its bytes stand there as they are. One with the next bit has
 * columns, see store_columns(). */
static void build(struct file *file, struct rec_packer *packer, const uint8_t *data, size_t size)
{
    struct md_rd rd = md_rd_init(data, size);
    uint64_t number = 0;

    file->length = 0;
    while (md_rd_left(&rd) > 4 && FILE_MAX - file->length > 70000) {
        uint8_t *at = file->bytes + file->length;
        struct rec_block block = { .kind = md_rd_u8(&rd), .identity = 77 };
        number += md_rd_u8(&rd);
        block.number = number;
        size_t length = md_rd_u16(&rd);
        if (length > md_rd_left(&rd))
            length = md_rd_left(&rd);
        struct md_rd body = md_rd_sub(&rd, length);
        if (block.kind & 0x80) {
            memcpy(at, body.pos, length);
            file->length += length;
            continue;
        }
        bool has_columns =
            block.kind == (REC_BLOCK_CHUNK | 0x40) && length >= REC_CHUNK_PREAMBLE + 4u;
        if (has_columns) {
            block.kind = REC_BLOCK_CHUNK;
            block.coding = REC_CODING_COLUMNS;
            block.stored =
                (uint32_t)store_columns(packer, body, at + REC_BLOCK_HEAD,
                                        FILE_MAX - file->length - REC_BLOCK_HEAD, &block.expanded);
            rec_block_seal(at, &block, at + REC_BLOCK_HEAD);
            file->length += REC_BLOCK_HEAD + block.stored;
            continue;
        }
        block.stored = (uint32_t)store(packer, block.kind, body, at + REC_BLOCK_HEAD,
                                       FILE_MAX - file->length - REC_BLOCK_HEAD);
        block.expanded = (uint32_t)length;
        if (block.kind == REC_BLOCK_CHUNK && length >= REC_CHUNK_PREAMBLE)
            block.expanded -= REC_CHUNK_PREAMBLE;
        rec_block_seal(at, &block, at + REC_BLOCK_HEAD);
        file->length += REC_BLOCK_HEAD + block.stored;
    }
}

/* The same image, by a folder that is asked after each record and by one that is asked at last. */
static void compare(struct rec_folder *asked, struct rec_folder *late, uint32_t number)
{
    static uint8_t x[PART_MAX], y[PART_MAX];
    const struct cache_image *a = rec_folder_image(asked, number);
    const struct cache_image *b = rec_folder_image(late, number);
    struct cache_cursor at_a = { 0 }, at_b = { 0 };
    size_t length_a = 0, length_b = 0;
    bool is_last_a = false, is_last_b = false;

    if (!a != !b)
        abort();
    while (a && !is_last_a) {
        int rc = cache_image_part(a, &at_a, x, sizeof(x), &length_a, &is_last_a);
        if (cache_image_part(b, &at_b, y, sizeof(y), &length_b, &is_last_b) != rc)
            abort();
        if (rc != MD_OK)
            return;
        if (is_last_a != is_last_b || length_a != length_b || memcmp(x, y, length_a) != 0)
            abort();
    }
}

static void play(struct rec_cursor *cursor, struct rec_folder *asked, struct rec_folder *late)
{
    struct rec_record record;

    for (unsigned i = 0; i < RECORDS_MAX && rec_cursor_next(cursor, &record) > 0; i++) {
        rec_folder_apply(asked, &record);
        (void)rec_folder_image(asked, record.number);
        rec_folder_apply(late, &record);
    }
}

static void read_all(struct rec_reader *reader)
{
    struct cache_config config = { .bytes_max = 64u << 20, .keeps_pages = true };
    struct rec_folder *asked, *late;
    struct rec_cursor *cursor;
    struct rec_facts facts;

    rec_reader_facts(reader, &facts);
    if (rec_cursor_create(reader, &cursor) != MD_OK ||
        rec_folder_create(reader, &config, 4096, &asked) != MD_OK ||
        rec_folder_create(reader, &config, 65536, &late) != MD_OK)
        abort();
    play(cursor, asked, late);
    for (uint32_t i = 1; i <= facts.items && i <= RECORDS_MAX; i++)
        compare(asked, late, i);
    uint64_t middle = facts.first_mono_ns + (facts.last_mono_ns - facts.first_mono_ns) / 2;
    (void)rec_folder_seek(asked, middle, 0);
    for (uint32_t i = 1; i <= facts.items && i <= RECORDS_MAX; i++)
        (void)rec_folder_image(asked, i);
    (void)rec_folder_seek(late, middle, 0);
    (void)rec_cursor_seek(cursor, middle);
    play(cursor, asked, late);
    for (uint32_t i = 1; i <= facts.items && i <= RECORDS_MAX; i++)
        compare(asked, late, i);
    rec_folder_destroy(asked);
    rec_folder_destroy(late);
    rec_cursor_destroy(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct file file;
    struct rec_packer *packer;

    if (rec_packer_create(1, &packer) != MD_OK)
        abort();
    build(&file, packer, data, size);
    rec_packer_destroy(packer);
    const struct rec_source source = { .context = &file, .read = read_file, .length = file.length };
    for (int walks = 0; walks < 2; walks++) {
        struct rec_reader *reader;
        if (rec_reader_open(&source, walks, &reader) != MD_OK)
            continue;
        read_all(reader);
        rec_reader_close(reader);
    }
    return 0;
}
