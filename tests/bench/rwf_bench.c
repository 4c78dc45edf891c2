/* rwf_bench.c - what the codec costs per message, and what ETA Java costs on the same work. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"
#include "rmds/rwf_rmtes.h"

/*
 * Each work is done in batches of about a millisecond, ROUNDS times ROUND_NS; a round's figure is
 * the mean of its batches, the result the median of the rounds, with the fastest and slowest
 * beside it. The messages stand in COPIES places, so that they come from the cache a receiver
 * would find them in, and no branch is learned from one address.
 */
#define ROUNDS         15
#define ROUND_NS       60000000u
#define COPIES         64
#define MESSAGE_MAX    2048
#define FIELDS_MAX     80
#define RESULTS_MAX    32
#define DICTIONARY_MAX (1 << 20)

struct message {
    size_t length;
    uint8_t bytes[COPIES][MESSAGE_MAX];
};

/* The fields of a message as a program wants to have them. */
struct decoded {
    struct rwf_real real[FIELDS_MAX];
    struct rwf_time time;
    struct rwf_date date;
    uint64_t number;
    struct rwf_bytes text;
    unsigned count;
};

struct result {
    const char *name;
    double ns;
    double ns_min;
    double ns_max;
};

struct bench {
    struct rwf_dictionary *dictionary;
    char *dictionary_text;
    size_t dictionary_length;
    struct message update;
    struct message refresh;
    uint8_t out[MESSAGE_MAX];
    struct decoded decoded;
    struct rwf_encoder encoder;
    struct result result[RESULTS_MAX];
    unsigned results;
    bool csv;
    bool cpu_time;
    const char *only; /* a part of the names to measure; NULL: all */
};

/* Does `count` times the work; returns something of it, so that it has to be done. */
typedef uint64_t (*work_fn)(struct bench *b, unsigned count);

static void keep(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* ---- the messages ---- */

#define REAL(id, v, h)                                                                             \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .type = RWF_TYPE_REAL, .real = { v, h }                                                \
        }                                                                                          \
    }

struct field {
    int16_t id;
    struct rwf_value value;
};

/* The stock update of the published figures: 12 fields, 74 bytes of field list. */
static const struct field update_fields[] = {
    REAL(22, 39810, 12),
    REAL(25, 39815, 12),
    REAL(30, 1, 14),
    REAL(31, 1, 14),
    REAL(6, 39812, 12),
    REAL(178, 100, 14),
    REAL(32, 8719016, 14),
    REAL(11, 535, 12),
    { 18, { .type = RWF_TYPE_TIME, .time = { 15, 52, 12, 0, 0, 0 } } },
    { 14, { .type = RWF_TYPE_ENUM, .u = 1 } },
    { 16, { .type = RWF_TYPE_DATE, .date = { 2005, 11, 16 } } },
    { 131, { .type = RWF_TYPE_ENUM, .u = 1 } },
};

#define UPDATE_FIELDS  (sizeof(update_fields) / sizeof(update_fields[0]))
#define UPDATE_LIST    74
#define REFRESH_FIELDS 60

static void check(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "rwf_bench: %s: %s\n", what, rwf_err_name(rc));
        exit(1);
    }
}

static const struct rwf_msg update_head = {
    .msg_class = RWF_CLASS_UPDATE,
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .stream_id = 5,
    .container = RWF_TYPE_FIELD_LIST,
    .update_type = RWF_UPDATE_QUOTES_TRADE,
};

static struct rwf_msg refresh_head(void)
{
    return (struct rwf_msg){
        .msg_class = RWF_CLASS_REFRESH,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_QOS | RWF_REFRESH_SOLICITED |
                 RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE,
        .stream_id = 5,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .group_id = rwf_bytes("\0\1", 2),
        .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
                 .service_id = 260,
                 .name = rwf_text("IBM.N") },
    };
}

/* Forty reals, then times, dates, enums and texts; ids that the dictionary knows. */
static void add_refresh_fields(struct rwf_encoder *enc)
{
    for (unsigned i = 0; i < REFRESH_FIELDS; i++) {
        const struct field *field = &update_fields[i % UPDATE_FIELDS];

        if (i % UPDATE_FIELDS == UPDATE_FIELDS - 1)
            rwf_field_add_bytes(enc, 3, rwf_text("INTL BUS MACHINE"));
        else
            rwf_field_add(enc, field->id, &field->value);
    }
}

static void store(struct message *message, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);

    message->length = bytes.length;
    for (unsigned i = 0; i < COPIES; i++)
        memcpy(message->bytes[i], bytes.data, bytes.length);
}

static struct rwf_bytes copy_of(const struct message *message, unsigned i)
{
    return rwf_bytes(message->bytes[i % COPIES], message->length);
}

static void make_messages(struct bench *b)
{
    struct rwf_msg refresh = refresh_head();
    struct rwf_encoder *enc = &b->encoder;
    struct rwf_peek peek;

    rwf_encoder_init(enc, b->out, sizeof(b->out));
    rwf_msg_start(enc, &update_head);
    rwf_field_list_start(enc, NULL);
    for (unsigned i = 0; i < UPDATE_FIELDS; i++)
        rwf_field_add(enc, update_fields[i].id, &update_fields[i].value);
    rwf_field_list_finish(enc);
    check(rwf_msg_finish(enc), "update");
    store(&b->update, enc);
    check(rwf_peek(copy_of(&b->update, 0), &peek), "update");
    if (peek.payload_length != UPDATE_LIST) {
        fprintf(stderr, "rwf_bench: the update has %zu bytes, not %d\n", peek.payload_length,
                UPDATE_LIST);
        exit(1);
    }

    rwf_encoder_init(enc, b->out, sizeof(b->out));
    rwf_msg_start(enc, &refresh);
    rwf_field_list_start(enc, NULL);
    add_refresh_fields(enc);
    rwf_field_list_finish(enc);
    check(rwf_msg_finish(enc), "refresh");
    store(&b->refresh, enc);
}

/* ---- peek and patch ---- */

static uint64_t work_peek(struct bench *b, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        struct rwf_peek peek;

        rwf_peek(copy_of(&b->update, i), &peek);
        sum += peek.msg_class + (uint64_t)peek.stream_id + peek.flags + peek.payload_at;
    }
    return sum;
}

static uint64_t work_peek_patch(struct bench *b, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        struct rwf_peek peek;

        rwf_peek(copy_of(&b->update, i), &peek);
        rwf_patch_stream_id(b->update.bytes[i % COPIES], (int32_t)i);
        sum += peek.msg_class + peek.flags + peek.payload_at;
    }
    keep(b->update.bytes);
    return sum;
}

/* What stands at the entry of the backbone: no key, no group, stream 0. */
static uint64_t work_splice(struct bench *b, unsigned count)
{
    static const struct rwf_splice splice = {
        .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY | RWF_SPLICE_GROUP_ID,
    };
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        size_t length;

        rwf_splice(copy_of(&b->update, i), &splice, b->out, sizeof(b->out), &length);
        sum += length;
        keep(b->out);
    }
    return sum;
}

/* ---- decode ---- */

/* Every field to its C type, the type from the dictionary. */
static int decode_fields(struct bench *b, struct rwf_bytes payload)
{
    struct decoded *d = &b->decoded;
    struct rwf_field_list list;
    struct rwf_field field;
    uint16_t code;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    d->count = 0;
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        const struct rwf_field_def *def = rwf_dictionary_field(b->dictionary, field.id);
        unsigned type = def ? def->rwf_type : RWF_TYPE_UNKNOWN;

        if (type == RWF_TYPE_REAL) { /* most fields of most messages */
            rc = rwf_real_decode(field.content, &d->real[d->count++]);
            continue;
        }
        switch (type) {
        case RWF_TYPE_ENUM:
            rc = rwf_enum_decode(field.content, &code);
            d->number += code;
            break;
        case RWF_TYPE_TIME:
            rc = rwf_time_decode(field.content, &d->time);
            break;
        case RWF_TYPE_DATE:
            rc = rwf_date_decode(field.content, &d->date);
            break;
        case RWF_TYPE_UINT:
            rc = rwf_uint_decode(field.content, &d->number);
            break;
        default:
            d->text = field.content;
            break;
        }
        d->count++;
    }
    return rc;
}

static uint64_t decode(struct bench *b, const struct message *message, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        struct rwf_msg msg;

        if (rwf_msg_decode(copy_of(message, i), &msg) < 0 || decode_fields(b, msg.payload) < 0)
            abort();
        keep(&b->decoded);
        sum += b->decoded.count + msg.update_type;
    }
    return sum;
}

static uint64_t work_decode_update(struct bench *b, unsigned count)
{
    return decode(b, &b->update, count);
}

static uint64_t work_decode_refresh(struct bench *b, unsigned count)
{
    return decode(b, &b->refresh, count);
}

/* ---- encode ---- */

static int add_field(struct rwf_encoder *enc, const struct field *field)
{
    switch (field->value.type) {
    case RWF_TYPE_REAL:
        return rwf_field_add_real(enc, field->id, &field->value.real);
    case RWF_TYPE_ENUM:
        return rwf_field_add_enum(enc, field->id, (uint16_t)field->value.u);
    case RWF_TYPE_TIME:
        return rwf_field_add_time(enc, field->id, &field->value.time);
    default:
        return rwf_field_add_date(enc, field->id, &field->value.date);
    }
}

static uint64_t work_encode_update(struct bench *b, unsigned count)
{
    struct rwf_encoder *enc = &b->encoder;
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        rwf_encoder_init(enc, b->out, sizeof(b->out));
        rwf_msg_start(enc, &update_head);
        rwf_field_list_start(enc, NULL);
        for (unsigned j = 0; j < UPDATE_FIELDS; j++)
            add_field(enc, &update_fields[j]);
        rwf_field_list_finish(enc);
        if (rwf_msg_finish(enc) < 0)
            abort();
        keep(b->out);
        sum += rwf_encoder_bytes(enc).length;
    }
    return sum;
}

static uint64_t work_encode_refresh(struct bench *b, unsigned count)
{
    struct rwf_msg head = refresh_head();
    struct rwf_encoder *enc = &b->encoder;
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        rwf_encoder_init(enc, b->out, sizeof(b->out));
        rwf_msg_start(enc, &head);
        rwf_field_list_start(enc, NULL);
        for (unsigned j = 0; j < REFRESH_FIELDS; j++) {
            if (j % UPDATE_FIELDS == UPDATE_FIELDS - 1)
                rwf_field_add_bytes(enc, 3, rwf_text("INTL BUS MACHINE"));
            else
                add_field(enc, &update_fields[j % UPDATE_FIELDS]);
        }
        rwf_field_list_finish(enc);
        if (rwf_msg_finish(enc) < 0)
            abort();
        keep(b->out);
        sum += rwf_encoder_bytes(enc).length;
    }
    return sum;
}

/* ---- strings and dictionaries ---- */

static uint64_t work_rmtes(struct bench *b, unsigned count)
{
    static const char string[] = "INTERNATIONAL BUSINESS MACHINES\x1b\x25\x30 \xe2\x82\xac";
    uint64_t sum = 0;
    (void)b;

    for (unsigned i = 0; i < count; i++) {
        char text[128];
        size_t length;

        rwf_rmtes_to_utf8((const uint8_t *)string, sizeof(string) - 1, text, sizeof(text), &length);
        keep(text);
        sum += length;
    }
    return sum;
}

static uint64_t work_rmtes_partial(struct bench *b, unsigned count)
{
    static const char partial[] = "\x1b[7`AB\x1b[20`CDEF";
    uint64_t sum = 0;
    (void)b;

    for (unsigned i = 0; i < count; i++) {
        uint8_t stored[64] = "INTERNATIONAL BUSINESS MACHINES";
        size_t length = 31;

        rwf_rmtes_apply(stored, sizeof(stored), &length, (const uint8_t *)partial,
                        sizeof(partial) - 1);
        keep(stored);
        sum += length;
    }
    return sum;
}

static struct rwf_dictionary *load(const char *text, size_t length)
{
    struct rwf_dictionary_error error = { 0 };
    struct rwf_dictionary *dictionary;

    if (rwf_dictionary_create(&dictionary) < 0 ||
        rwf_dictionary_load_fields(dictionary, "RDMFieldDictionary", text, length, &error) < 0) {
        fprintf(stderr, "rwf_bench: %s\n", error.text);
        exit(1);
    }
    return dictionary;
}

static uint64_t work_dictionary(struct bench *b, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        struct rwf_dictionary *dictionary = load(b->dictionary_text, b->dictionary_length);

        sum += rwf_dictionary_field_count(dictionary);
        rwf_dictionary_destroy(dictionary);
    }
    return sum;
}

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* With --cpu-time what the thread had of the CPU: for a machine that others use, too. */
static uint64_t now_ns(const struct bench *b)
{
    struct timespec ts;

    if (!b->cpu_time)
        return md_clock_mono_ns();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t run_ns(struct bench *b, work_fn work, unsigned count)
{
    uint64_t start = now_ns(b);
    uint64_t sum = work(b, count);

    keep(&sum);
    return now_ns(b) - start;
}

static void measure(struct bench *b, const char *name, work_fn work)
{
    struct result *result = &b->result[b->results];
    double round[ROUNDS];
    unsigned batch = 1;

    if (b->only && !strstr(name, b->only))
        return;
    b->results++;
    while (run_ns(b, work, batch) < 1000000 && batch < 1u << 24)
        batch *= 2;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t ns = 0;
        uint64_t done = 0;

        while (ns < ROUND_NS) {
            ns += run_ns(b, work, batch);
            done += batch;
        }
        round[i] = (double)ns / (double)done;
    }
    qsort(round, ROUNDS, sizeof(round[0]), compare);
    *result = (struct result){ name, round[ROUNDS / 2], round[0], round[ROUNDS - 1] };
    if (b->csv)
        printf("%s,%.2f,%.2f,%.2f,%.0f\n", name, result->ns, result->ns_min, result->ns_max,
               1e9 / result->ns);
    else
        printf("%-34s %9.1f %9.1f %9.1f %15.0f\n", name, result->ns, result->ns_min, result->ns_max,
               1e9 / result->ns);
    fflush(stdout);
}

/* ---- ETA Java, on the same work ---- */

static const struct result *find_result(const struct bench *b, const char *name)
{
    for (unsigned i = 0; i < b->results; i++) {
        if (strcmp(b->result[i].name, name) == 0)
            return &b->result[i];
    }
    return NULL;
}

/* A line "name,ns" of the Java program, under one of our names. */
static bool java_line(const struct bench *b, char *line)
{
    char *comma = strchr(line, ',');

    if (!comma)
        return false;
    *comma = '\0';
    const struct result *ours = find_result(b, line);
    double ns = strtod(comma + 1, NULL);
    if (!ours || ns <= 0) {
        *comma = ',';
        return false;
    }
    if (b->csv)
        printf("ETA Java %s,%.2f,%.2f\n", line, ns, ns / ours->ns);
    else
        printf("ETA Java: %-24s %9.1f ns, ours %9.1f ns: %.1f times faster\n", line, ns, ours->ns,
               ns / ours->ns);
    return true;
}

static void run_java(const struct bench *b)
{
    static const char command[] = "sh '" RMDS_SOURCE_DIR "/tests/interop/run.sh' '" RMDS_BINARY_DIR
                                  "' RwfBench '" RMDS_SOURCE_DIR "/conf/RDMFieldDictionary'";
    char with_time[sizeof(command) + 16];
    char line[256];

    snprintf(with_time, sizeof(with_time), "%s %s 2>&1", command, b->cpu_time ? "cpu" : "wall");
    /* A constant command of our own tree. NOLINTNEXTLINE(cert-env33-c) */
    FILE *java = popen(with_time, "r");

    if (!java)
        return;
    while (fgets(line, sizeof(line), java)) {
        if (!java_line(b, line) && !b->only)
            fputs(line, stderr);
    }
    int status = pclose(java);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("ETA Java: not here\n");
    else if (status != 0)
        printf("ETA Java: failed\n");
}

/* ---- the program ---- */

static void load_dictionary(struct bench *b, const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file) {
        fprintf(stderr, "rwf_bench: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    b->dictionary_text = malloc(DICTIONARY_MAX);
    if (!b->dictionary_text)
        exit(2);
    b->dictionary_length = fread(b->dictionary_text, 1, DICTIONARY_MAX, file);
    fclose(file);
    b->dictionary = load(b->dictionary_text, b->dictionary_length);
}

static void say_where(void)
{
    char model[256] = "unknown CPU";
    char line[256];
    struct utsname name = { 0 };
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "model name : %255[^\n]", model) == 1)
            break;
    }
    if (file)
        fclose(file);
    uname(&name);
    printf("%s, %s %s, gcc " __VERSION__ "\n", model, name.sysname, name.release);
}

static void usage(FILE *out)
{
    fputs("usage: rwf_bench [--cpu N] [--csv] [--cpu-time] [--no-java] [--only PART-OF-A-NAME]\n"
          "Prints nanoseconds per message: the median of 15 rounds, the fastest and the slowest.\n",
          out);
}

int main(int argc, char **argv)
{
    struct bench *b = calloc(1, sizeof(*b));
    bool java = true;
    struct md_cpu_set cpus = { 0 };
    bool bind = false;

    if (!b)
        return 2;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--csv") == 0) {
            b->csv = true;
        } else if (strcmp(argv[i], "--no-java") == 0) {
            java = false;
        } else if (strcmp(argv[i], "--cpu") == 0 && i + 1 < argc) {
            md_cpu_set_add(&cpus, (unsigned)strtoul(argv[++i], NULL, 10));
            bind = true;
        } else if (strcmp(argv[i], "--cpu-time") == 0) {
            b->cpu_time = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            b->only = argv[++i];
        } else {
            usage(stderr);
            free(b);
            return 2;
        }
    }
    md_clock_init();
    if (bind && md_cpu_bind(&cpus) < 0)
        fputs("rwf_bench: not bound to that CPU\n", stderr);
    load_dictionary(b, RMDS_SOURCE_DIR "/conf/RDMFieldDictionary");
    make_messages(b);
    if (!b->csv) {
        say_where();
        printf("update of %zu bytes (field list %d, 12 fields), refresh of %zu (60 fields)\n\n",
               b->update.length, UPDATE_LIST, b->refresh.length);
        printf("%-34s %9s %9s %9s %15s\n", "", "ns", "min", "max", "per second");
    }
    measure(b, "peek", work_peek);
    measure(b, "peek and patch stream id", work_peek_patch);
    measure(b, "strip key and group, copy update", work_splice);
    measure(b, "decode update", work_decode_update);
    measure(b, "encode update", work_encode_update);
    measure(b, "decode refresh", work_decode_refresh);
    measure(b, "encode refresh", work_encode_refresh);
    measure(b, "RMTES to UTF-8, 36 bytes", work_rmtes);
    measure(b, "RMTES partial update", work_rmtes_partial);
    measure(b, "load field dictionary", work_dictionary);
    if (java)
        run_java(b);
    rwf_dictionary_destroy(b->dictionary);
    free(b->dictionary_text);
    free(b);
    return 0;
}
