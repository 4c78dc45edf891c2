/* json_bench.c - an update of ten fields as JSON, and a request of JSON as RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rmds/rwf.h"
#include "json/read.h"
#include "json/write.h"

#define ROUNDS    2000000
#define PARTS     5 /* the best of them counts: others use the machine, too */
#define MUST_NS   400.0
#define GOAL_NS   200.0
#define TEXT_MAX  4096
#define DICT_SIZE (1 << 20)

static const char update[] =
    "{\"ID\":5,\"Type\":\"Update\",\"UpdateType\":\"Quote\",\"Key\":{\"Service\":\"DIRECT_FEED\","
    "\"Name\":\"TRI.N\"},\"SeqNumber\":20894,\"Fields\":{\"BID\":21.42,\"ASK\":21.43,\"BIDSIZE\":7,"
    "\"ASKSIZE\":7,\"TRDPRC_1\":21.42,\"TRDVOL_1\":300,\"ACVOL_1\":4589021,\"NETCHNG_1\":-1.60,"
    "\"TRDTIM_1\":\"14:33:00\",\"PRCTCK_1\":\"\xE2\x87\xA7\"}}";
static const char request[] =
    "{\"ID\":5,\"Domain\":\"MarketPrice\",\"Streaming\":true,\"Key\":{\"Name\":\"TRI.N\","
    "\"Service\":\"DIRECT_FEED\"},\"View\":[\"BID\",\"ASK\"]}";

static void fail(const char *what)
{
    fprintf(stderr, "json_bench: %s\n", what);
    exit(1);
}

/* CPU time: a conversion waits for nothing. */
static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static size_t load(const char *path, char *text)
{
    FILE *in = fopen(path, "re");
    size_t length = in ? fread(text, 1, DICT_SIZE, in) : 0;

    if (in)
        fclose(in);
    return length;
}

static struct rwf_dictionary *load_dictionary(void)
{
    static char text[DICT_SIZE];
    struct rwf_dictionary_error error;
    struct rwf_dictionary *dictionary = NULL;
    size_t length = load(RMDS_SOURCE_DIR "/conf/RDMFieldDictionary", text);

    if (rwf_dictionary_create(&dictionary) != RWF_OK ||
        rwf_dictionary_load_fields(dictionary, "fields", text, length, &error) != RWF_OK)
        fail("the dictionary cannot be loaded");
    length = load(RMDS_SOURCE_DIR "/conf/enumtype.def", text);
    if (rwf_dictionary_load_enums(dictionary, "enums", text, length, &error) != RWF_OK)
        fail("the enumerations cannot be loaded");
    return dictionary;
}

static struct rwf_bytes service_name(void *owner, uint16_t id)
{
    (void)owner;
    (void)id;
    return rwf_text("DIRECT_FEED");
}

static int service_id(void *owner, struct rwf_bytes name)
{
    (void)owner;
    (void)name;
    return 257;
}

static double write_ns(const struct json_write_context *context, struct rwf_bytes message,
                       uint8_t *out, size_t *length)
{
    struct json_written written;
    double start = now_ns();

    for (unsigned i = 0; i < ROUNDS / PARTS; i++) {
        if (json_write_message(context, message, out, TEXT_MAX, &written) != RWF_OK)
            fail("the update cannot be written");
    }
    *length = written.length;
    return (now_ns() - start) / (ROUNDS / PARTS);
}

static double read_ns(struct json_reader *reader, const struct json_read_context *context,
                      const char *text, struct json_read *read)
{
    double start = now_ns();

    for (unsigned i = 0; i < ROUNDS / PARTS; i++) {
        json_reader_start(reader, context, rwf_text(text));
        if (!json_reader_next(reader, read) || read->kind != JSON_READ_MESSAGE)
            fail("the request cannot be read");
    }
    return (now_ns() - start) / (ROUNDS / PARTS);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    static uint8_t message[TEXT_MAX], out[TEXT_MAX];
    struct rwf_dictionary *dictionary;
    struct json_reader *reader;
    struct json_read read;
    size_t length = 0;
    double write = 1e9, request_ns = 1e9;

    if (argc > 1) {
        printf("json_bench: an update of ten fields as JSON, and a request of JSON as RWF, "
               "nanoseconds of CPU.\n");
        return strcmp(argv[1], "-h") == 0 ? 0 : 2;
    }
    dictionary = load_dictionary();
    if (json_reader_create(TEXT_MAX, &reader) != 0)
        fail("no memory");
    const struct json_write_context out_context = {
        .dictionary = dictionary,
        .expands_enums = true,
        .service_name = service_name,
    };
    const struct json_read_context in_context = {
        .dictionary = dictionary,
        .catches_fields = true,
        .service_id = service_id,
    };
    read_ns(reader, &in_context, update, &read);
    size_t size = read.message.length;
    memcpy(message, read.message.data, size);
    for (int i = 0; i < PARTS; i++) {
        write = least(write, write_ns(&out_context, rwf_bytes(message, size), out, &length));
        request_ns = least(request_ns, read_ns(reader, &in_context, request, &read));
    }
    const char *from = strstr(update, ",\"Type\"");
    if (length != strlen(from) || memcmp(out, from, length) != 0)
        fail("the update is another one");
    printf("an update of %zu bytes as %zu bytes of JSON\n", size, length);
    printf("  update to JSON   %7.1f ns   must %.0f, goal %.0f\n", write, MUST_NS, GOAL_NS);
    printf("  request to RWF   %7.1f ns\n", request_ns);
    json_reader_destroy(reader);
    rwf_dictionary_destroy(dictionary);
    return write <= MUST_NS ? 0 : 1;
}
