/* recording_bench.c - what a recorded update costs in bytes and time, and reading one. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench recording [OPTION]...
 *
 *   -i ITEMS      items (1000)
 *   -n UPDATES    updates (2000000)
 *   -l LEVEL      of the compression (3)
 *   -s SECONDS    an image of each item so often (60)
 *   -r RATE       updates a second of the recording (100000)
 *   -t BYTES      a text of random bytes in each update (0): a large file in a short time
 *   -o FILE       into this file (memory); it is removed at the end
 *   -k            it stays: to be played
 */
/* Updates of 12 fields, a random walk with a seed: prices by a tick or none, sizes, times, a volume
 * that grows. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/prng.h"
#include "recording/images.h"
#include "recording/writer.h"

#define SEEKS      20u
#define READ_MAX   20000000u /* records that are read in order */
#define SIZES      9u
#define FIELDS     12u
#define MAKING_MAX 2000000u /* updates of the run that only makes them */
#define ITEMS_MAX  1000000
#define TEXT_MAX   800

struct quote {
    int64_t bid, last;
    uint64_t volume;
    uint32_t number;
};

struct bench {
    struct md_prng prng;
    struct quote *quotes;
    struct rec_chunk *chunk;
    struct rec_file *file;
    int fd;              /* -1: the file is memory, */
    uint8_t *file_bytes; /* all of it */
    size_t size;
    uint32_t text;   /* bytes in each update */
    uint32_t gap_ns; /* between two updates */
    uint64_t image_every_ns;
    uint64_t bytes, plain, at_ns;
    double compressing_ns;
};

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "recording_bench: %s\n", what);
    exit(1);
}

static double cpu_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ---- a disk of memory ---- */

static int write_memory(void *context, const uint8_t *head, size_t head_length,
                        const uint8_t *bytes, size_t length)
{
    struct bench *bench = context;

    if (bench->fd >= 0) {
        if (write(bench->fd, head, head_length) != (ssize_t)head_length ||
            write(bench->fd, bytes, length) != (ssize_t)length)
            fail("the file is not written");
        bench->bytes += head_length + length;
        return MD_OK;
    }
    while (bench->bytes + head_length + length > bench->size) {
        bench->size = 2 * bench->size + (64u << 20);
        bench->file_bytes = realloc(bench->file_bytes, bench->size);
        if (!bench->file_bytes)
            fail("out of memory");
    }
    memcpy(bench->file_bytes + bench->bytes, head, head_length);
    memcpy(bench->file_bytes + bench->bytes + head_length, bytes, length);
    bench->bytes += head_length + length;
    return MD_OK;
}

static int read_memory(void *context, uint64_t at, uint8_t *bytes, size_t length)
{
    const struct bench *bench = context;

    if (at > bench->bytes || length > bench->bytes - at)
        return MD_ERR_SHORT;
    if (bench->fd >= 0)
        return pread(bench->fd, bytes, length, (off_t)at) == (ssize_t)length ? MD_OK : MD_ERR_SYS;
    memcpy(bytes, bench->file_bytes + at, length);
    return MD_OK;
}

static void expect_memory(void *context, uint64_t at, uint64_t length)
{
    const struct bench *bench = context;

    if (bench->fd >= 0)
        (void)posix_fadvise(bench->fd, (off_t)at, (off_t)length, POSIX_FADV_WILLNEED);
}

static struct rec_chunk *take(void *context)
{
    return ((struct bench *)context)->chunk;
}

static void give(void *context, struct rec_chunk *chunk)
{
    struct bench *bench = context;
    double begin_ns = cpu_ns();

    if (rec_file_add(bench->file, chunk) != MD_OK)
        fail("a chunk is not written");
    bench->compressing_ns += cpu_ns() - begin_ns;
}

/* ---- data ---- */

static void add_real(struct rwf_encoder *enc, int16_t id, int64_t cents)
{
    const struct rwf_real real = { .value = cents, .hint = RWF_HINT_EXP_0 - 2 };

    rwf_field_add_real(enc, id, &real);
}

static void add_text(struct bench *bench, struct rwf_encoder *enc)
{
    uint64_t text[TEXT_MAX / 8];

    for (uint32_t i = 0; i < bench->text; i += 8)
        text[i / 8] = md_prng_u64(&bench->prng);
    rwf_field_add_bytes(enc, 3, rwf_bytes((const uint8_t *)text, bench->text));
}

static size_t encode(struct bench *bench, struct quote *quote, bool is_image, uint8_t *out,
                     size_t size)
{
    struct md_prng *prng = &bench->prng;
    uint64_t ms = bench->at_ns / 1000000;
    struct rwf_encoder enc;
    const struct rwf_msg msg = {
        .msg_class = is_image ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = 7,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = is_image ? RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .update_type = RWF_UPDATE_QUOTE,
    };

    quote->bid += (int64_t)md_prng_below(prng, 3) - 1;
    if (md_prng_below(prng, 4) == 0) {
        quote->last = quote->bid + md_prng_below(prng, 3);
        quote->volume += 100u * (1 + md_prng_below(prng, SIZES));
    }
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    add_real(&enc, 22, quote->bid);
    add_real(&enc, 25, quote->bid + 1 + md_prng_below(prng, 2));
    rwf_field_add_uint(&enc, 30, 100u * (1 + md_prng_below(prng, SIZES)));
    rwf_field_add_uint(&enc, 31, 100u * (1 + md_prng_below(prng, SIZES)));
    add_real(&enc, 6, quote->last);
    rwf_field_add_uint(&enc, 178, 100u * (1 + md_prng_below(prng, SIZES)));
    rwf_field_add_uint(&enc, 32, quote->volume);
    add_real(&enc, 11, quote->last - 10000);
    add_real(&enc, 12, quote->last | 127);
    add_real(&enc, 13, quote->last & ~127ll);
    rwf_field_add_uint(&enc, 1025, ms);
    rwf_field_add_uint(&enc, 3887, ++quote->number);
    if (bench->text > 0 && !is_image)
        add_text(bench, &enc);
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    if (rwf_encoder_error(&enc) != RWF_OK)
        fail("an update is not encoded");
    return rwf_encoder_bytes(&enc).length;
}

/* Bits that the generator draws for an update: item, gap, bid, ask, three sizes; in a quarter of
 * them a trade. */
static double entropy(uint32_t items, uint32_t gap_ns, uint32_t text)
{
    const double trade = 0.25 * log2(4) + 0.75 * log2(4.0 / 3) + 0.25 * (log2(3) + log2(SIZES));

    return 8.0 * text + log2(items) + log2(2.0 * gap_ns) + log2(3) + 1 + 3 * log2(SIZES) + trade;
}

/* ---- the run ---- */

static void begin(struct bench *bench, uint32_t items)
{
    bench->prng = md_prng_init(1);
    bench->at_ns = 1000000000;
    bench->plain = 0;
    for (uint32_t i = 0; i < items; i++)
        bench->quotes[i] = (struct quote){ .bid = 1000 + md_prng_below(&bench->prng, 100000) };
}

/* CPU time of all messages: made, and recorded if there is a keeper. */
static double feed(struct bench *bench, struct rec_keeper *keeper, const uint32_t *numbers,
                   uint32_t items, uint64_t updates)
{
    uint8_t message[1000 + TEXT_MAX];

    begin(bench, items);
    double begin_ns = cpu_ns();
    for (uint64_t i = 0; i < items + updates; i++) {
        uint32_t item = i < items ? (uint32_t)i : md_prng_below(&bench->prng, items);
        bench->at_ns += md_prng_below(&bench->prng, 2 * bench->gap_ns);
        const struct rec_moment now = { .mono_ns = bench->at_ns, .wall_ns = bench->at_ns };
        size_t length = encode(bench, &bench->quotes[item], i < items, message, sizeof(message));
        bench->plain += length;
        if (!keeper)
            continue;
        rec_keeper_message(keeper, now, numbers[item], rwf_bytes(message, length));
        if (i % 10000 == 0)
            rec_keeper_tick(keeper, now);
    }
    return cpu_ns() - begin_ns;
}

static double wall_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Reads for a seek come from the disk. */
static void drop_cache(const struct bench *bench)
{
    if (bench->fd >= 0 &&
        (fsync(bench->fd) != 0 || posix_fadvise(bench->fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
        fail("the file is not dropped from memory");
}

/* Every image of moments anywhere. */
static void seek_all(struct bench *bench, struct rec_folder *folder, const struct rec_facts *facts)
{
    uint64_t span = facts->last_mono_ns - facts->first_mono_ns, chunks = 0;
    double seeks_ns = 0, seek_max_ns = 0, cpus_ns = 0, cpu_max_ns = 0;

    drop_cache(bench);
    for (unsigned i = 0; i < SEEKS; i++) {
        double seek_ns = wall_ns(), cpu = cpu_ns();
        (void)rec_folder_seek(folder, facts->first_mono_ns + span / SEEKS * i, 0);
        for (uint32_t number = 1; number <= facts->items; number++)
            (void)rec_folder_image(folder, number);
        cpu = cpu_ns() - cpu;
        seek_ns = wall_ns() - seek_ns;
        seeks_ns += seek_ns;
        cpus_ns += cpu;
        seek_max_ns = seek_ns > seek_max_ns ? seek_ns : seek_max_ns;
        cpu_max_ns = cpu > cpu_max_ns ? cpu : cpu_max_ns;
        chunks += rec_folder_chunks_read(folder);
    }
    printf("seeking     %.1f ms for the images of a moment, %.1f at most; %.1f ms of CPU, %.1f at "
           "most; %.1f of %llu chunks read\n",
           seeks_ns / SEEKS / 1e6, seek_max_ns / 1e6, cpus_ns / SEEKS / 1e6, cpu_max_ns / 1e6,
           (double)chunks / SEEKS, (unsigned long long)facts->chunks);
}

/* All records in order: with `folder`, into the images, of which none is asked for. */
static void read_all(struct rec_reader *reader, struct rec_folder *folder)
{
    struct rec_cursor *cursor;
    struct rec_record record;
    uint64_t count = 0;

    if (rec_cursor_create(reader, &cursor) != MD_OK)
        fail("out of memory");
    double begin_ns = cpu_ns();
    while (count < READ_MAX && rec_cursor_next(cursor, &record) > 0) {
        if (folder)
            rec_folder_apply(folder, &record);
        count++;
    }
    double each_ns = (cpu_ns() - begin_ns) / (double)count;
    rec_cursor_destroy(cursor);
    printf("%s %.3f us of CPU for a record: %.2f million a second\n",
           folder ? "playing    " : "reading    ", each_ns / 1e3, 1e3 / each_ns);
}

/* All records in order, into nothing; then every image of moments anywhere. */
static void read_back(struct bench *bench)
{
    const struct rec_source source = { bench, read_memory, bench->bytes, expect_memory };
    const struct cache_config cache = { 0 };
    struct rec_reader *reader;
    struct rec_folder *folder;
    struct rec_facts facts;

    double begin_ns = cpu_ns(), opening_ns = wall_ns();
    if (rec_reader_open(&source, false, &reader) != MD_OK ||
        rec_folder_create(reader, &cache, REC_WAITS, &folder) != MD_OK)
        fail("it is not read");
    printf("opening     %.1f ms for a file of %.0f MB, %.1f of CPU\n",
           (wall_ns() - opening_ns) / 1e6, (double)bench->bytes / 1e6, (cpu_ns() - begin_ns) / 1e6);
    rec_reader_facts(reader, &facts);
    read_all(reader, NULL);
    read_all(reader, folder);
    seek_all(bench, folder, &facts);
    rec_folder_destroy(folder);
    rec_reader_close(reader);
}

static void number_items(struct rec_keeper *keeper, uint32_t *numbers, uint32_t items)
{
    for (uint32_t i = 0; i < items; i++) {
        char name[24];
        snprintf(name, sizeof(name), "ITEM%u.O", i);
        const struct rec_key key = { .domain = 6,
                                     .service = rwf_text("S"),
                                     .name = rwf_text(name) };
        numbers[i] = rec_keeper_item(keeper, &key);
    }
}

static void run(struct bench *bench, uint32_t items, uint64_t updates, int level)
{
    static const struct rec_writer_ops ops = { take, give };
    const struct rec_disk disk = { bench, write_memory };
    const struct rec_file_info info = { .part = 0 };
    struct rec_writer writer;
    struct rec_keeper *keeper;
    uint32_t *numbers = calloc(items, sizeof(*numbers));

    rec_writer_init(&writer, &ops, bench);
    const struct rec_keeper_config config = { .writer = &writer,
                                              .image_every_ns = bench->image_every_ns };
    if (!numbers || rec_keeper_create(&config, &keeper) != MD_OK ||
        rec_chunk_create(&bench->chunk) != MD_OK ||
        rec_file_create(level, &disk, &bench->file) != MD_OK ||
        rec_file_start(bench->file, 1, &info) != MD_OK)
        fail("out of memory");
    number_items(keeper, numbers, items);
    double n = (double)(items + updates);
    uint64_t making = updates < MAKING_MAX ? updates : MAKING_MAX;
    double making_ns = feed(bench, NULL, numbers, items, making) * n / (double)(items + making);
    double all_ns = feed(bench, keeper, numbers, items, updates);
    double recording_ns = all_ns - making_ns - bench->compressing_ns;
    rec_writer_flush(&writer, false);
    if (rec_file_end(bench->file) != MD_OK)
        fail("the file is not ended");
    printf("%u items, %llu updates of %u fields, level %d\n", items, (unsigned long long)updates,
           FIELDS, level);
    printf("bytes       %.1f in a file for %.1f of a message, with images and index\n",
           (double)bench->bytes / n, (double)bench->plain / n);
    printf("entropy     %.1f bytes: what the generator draws for an update\n",
           entropy(items, bench->gap_ns, bench->text) / 8);
    printf("time        %.3f us of CPU to record, %.3f us to compress\n", recording_ns / n / 1e3,
           bench->compressing_ns / n / 1e3);
    read_back(bench);
    free(bench->file_bytes);
    rec_keeper_destroy(keeper);
    rec_file_destroy(bench->file);
    rec_chunk_destroy(bench->chunk);
    free(numbers);
}

int main(int argc, char **argv)
{
    struct bench bench = { .bytes = 0 };
    long items = 1000, updates = 2000000, level = 3, seconds = 60, rate = 100000;
    long text = 0;
    const char *path = NULL;
    bool keeps = false;
    int option;

    while ((option = getopt(argc, argv, "i:n:l:s:r:t:o:kh")) != -1) {
        if (option == 'i')
            items = strtol(optarg, NULL, 10);
        else if (option == 'n')
            updates = strtol(optarg, NULL, 10);
        else if (option == 'l')
            level = strtol(optarg, NULL, 10);
        else if (option == 's')
            seconds = strtol(optarg, NULL, 10);
        else if (option == 'r')
            rate = strtol(optarg, NULL, 10);
        else if (option == 't')
            text = strtol(optarg, NULL, 10);
        else if (option == 'o')
            path = optarg;
        else if (option == 'k')
            keeps = true;
        else
            fail("options: -i ITEMS -n UPDATES -l LEVEL -s SECONDS -r RATE -t BYTES -o FILE -k");
    }
    if (text < 0 || text > TEXT_MAX)
        fail("-t is 0 to 800");
    bench.text = (uint32_t)text;
    bench.fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640) : -1;
    if (path && bench.fd < 0)
        fail("the file of -o cannot be made, or is there");
    if (seconds < 1 || rate < 1 || rate > 1000000000)
        fail("-s and -r are numbers from 1");
    bench.gap_ns = (uint32_t)(1000000000 / rate);
    bench.image_every_ns = (uint64_t)seconds * 1000000000;
    if (items < 1 || items > ITEMS_MAX || updates < 1 || level < 1 || level > 19)
        fail("-i, -n and -l are numbers; a level is 1 to 19");
    bench.quotes = calloc((size_t)items, sizeof(*bench.quotes));
    if (!bench.quotes)
        fail("out of memory");
    run(&bench, (uint32_t)items, (uint64_t)updates, (int)level);
    free(bench.quotes);
    if (path && (close(bench.fd) != 0 || (!keeps && unlink(path) != 0)))
        fail("the file of -o cannot be removed");
    return 0;
}
