/* import.c - rmdsrec import: a CSV, as export writes it, into a recording. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "csv.h"
#include "dictionary.h"
#include "disk.h"
#include "rec.h"
#include "recording/images.h"

#define MESSAGE_MAX   (1u << 20)
#define TEXT_MAX      32767u /* of a state */
#define FIELDS_MAX    4096u
#define CHUNKS        16u
#define IMAGE_NS      (60 * MD_NS_PER_S)
#define IMAGES_BYTES  (4ull << 30)
#define FULL_NS       MD_NS_PER_MS
#define SERVICE_ID    1u
#define STATES_MAX    8u
#define CODES_MAX     64u
#define CONTAINER_MAX 142u

enum cell { TIME, MONO, SERVICE, ITEM, DOMAIN, KIND, FIELD, VALUE };

struct importer {
    struct csv csv;
    struct rwf_dictionary *dictionary;
    struct cache_ripples *ripples;
    struct disk *disk;
    struct rec_writer writer;
    struct rec_keeper *keeper;
    /* The message that is made: */
    bool is_open, has_payload;
    uint32_t number; /* of its item */
    struct rec_moment now;
    struct rwf_encoder enc;
    struct rwf_msg msg;
    char head[1200]; /* what its rows begin with */
    uint64_t messages, fields, skipped;
    bool had[65536]; /* fields of the message */
    uint16_t ids[FIELDS_MAX];
    uint32_t id_count;
    char text[TEXT_MAX]; /* of its state */
    uint8_t bytes[CSV_LINE_MAX];
    uint8_t message[MESSAGE_MAX];
};

static bool is_word(struct rwf_bytes cell, const char *word)
{
    return rwf_bytes_equal(cell, rwf_text(word));
}

static int wrong(const struct importer *importer, const char *what, struct rwf_bytes cell)
{
    char text[MD_TEXT_DOTTED_MAX + 1];

    fprintf(stderr, PROGRAM ": line %" PRIu64 ": %s: \"%s\"\n", importer->csv.line, what,
            md_text_dotted(cell.data, cell.length, text));
    return REC_FILE;
}

/* ---- cells ---- */

static bool read_uint(struct rwf_bytes cell, uint64_t *out)
{
    char text[32];

    if (cell.length == 0 || cell.length >= sizeof(text))
        return false;
    memcpy(text, cell.data, cell.length);
    text[cell.length] = 0;
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && text[0] >= '0' && text[0] <= '9';
}

/* "2026-11-27T21:30:00.123456Z" */
static bool read_time(struct rwf_bytes cell, uint64_t *wall_ns)
{
    struct rwf_datetime at;

    if (cell.length == 0 || cell.data[cell.length - 1] != 'Z' ||
        rwf_datetime_from_text(rwf_bytes(cell.data, cell.length - 1), &at) != RWF_OK)
        return false;
    struct tm tm = { .tm_year = at.date.year - 1900,
                     .tm_mon = at.date.month - 1,
                     .tm_mday = at.date.day,
                     .tm_hour = at.time.hour,
                     .tm_min = at.time.minute,
                     .tm_sec = at.time.second };
    time_t seconds = timegm(&tm);
    if (seconds < 0)
        return false;
    *wall_ns = (uint64_t)seconds * MD_NS_PER_S + at.time.milli * 1000000ull +
               at.time.micro * 1000ull + at.time.nano;
    return true;
}

static unsigned find_name(const char *(*name)(unsigned), unsigned count, struct rwf_bytes word)
{
    unsigned i = 0;

    while (i < count && !is_word(word, name(i)))
        i++;
    return i;
}

/* "OPEN/OK/NONE text" */
static bool read_state(struct importer *importer, struct rwf_bytes cell)
{
    struct rwf_state *state = &importer->msg.state;
    struct rwf_bytes words[3];
    size_t at = 0;

    for (size_t i = 0; i < 3; i++) {
        size_t from = at;
        while (at < cell.length && cell.data[at] != (i < 2 ? '/' : ' '))
            at++;
        words[i] = rwf_bytes(cell.data + from, at - from);
        at += at < cell.length;
    }
    unsigned stream = find_name(rwf_stream_state_name, STATES_MAX, words[0]);
    unsigned data = find_name(rwf_data_state_name, STATES_MAX, words[1]);
    unsigned code = find_name(rwf_state_code_name, CODES_MAX, words[2]);
    size_t length = cell.length - at;
    if (length > sizeof(importer->text) || stream == STATES_MAX || data == STATES_MAX ||
        code == CODES_MAX)
        return false;
    memcpy(importer->text, cell.data + at, length);
    state->stream_state = (uint8_t)stream;
    state->data_state = (uint8_t)data;
    state->code = (uint8_t)code;
    state->text = rwf_bytes((const uint8_t *)importer->text, length);
    return true;
}

/* False: not an even number of hexadecimal digits. */
static bool read_hex(struct importer *importer, struct rwf_bytes cell, struct rwf_bytes *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < cell.length; i++) {
        const char *digit = cell.data[i] ? strchr(digits, cell.data[i]) : NULL;
        if (!digit || cell.length % 2)
            return false;
        unsigned value = (unsigned)(digit - digits);
        importer->bytes[i / 2] = (uint8_t)(i % 2 ? importer->bytes[i / 2] | value : value << 4);
    }
    *out = rwf_bytes(importer->bytes, cell.length / 2);
    return true;
}

/* ---- values ---- */

static bool read_int(struct rwf_bytes cell, int64_t *out)
{
    bool is_negative = cell.length > 0 && cell.data[0] == '-';
    uint64_t number;

    if (!read_uint(rwf_bytes(cell.data + is_negative, cell.length - is_negative), &number) ||
        number > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = (int64_t)(is_negative ? 0 - number : number);
    return true;
}

/* As it is printed: decimal, "inf" or "nan". */
static bool read_float(struct rwf_bytes cell, unsigned type, struct rwf_value *value)
{
    char text[64], *end;

    if (cell.length == 0 || cell.length >= sizeof(text) || cell.data[0] == ' ' ||
        memchr(cell.data, 'x', cell.length) || memchr(cell.data, 'X', cell.length))
        return false;
    memcpy(text, cell.data, cell.length);
    text[cell.length] = 0;
    errno = 0;
    double number = type == RWF_TYPE_FLOAT ? (double)strtof(text, &end) : strtod(text, &end);
    if (end == text || *end != 0 || (errno != 0 && !isfinite(number))) /* not: very small */
        return false;
    if (type == RWF_TYPE_FLOAT)
        value->f = (float)number;
    else
        value->d = number;
    return true;
}

/* False: it is no value of the type. */
static bool read_value(struct importer *importer, unsigned type, struct rwf_bytes cell,
                       struct rwf_value *value)
{
    *value = (struct rwf_value){ .type = (uint8_t)type, .is_blank = cell.length == 0 };
    if (value->is_blank)
        return true;
    switch (type) {
    case RWF_TYPE_INT:
        return read_int(cell, &value->i);
    case RWF_TYPE_UINT:
        return read_uint(cell, &value->u);
    case RWF_TYPE_ENUM:
        return read_uint(cell, &value->u) && value->u <= UINT16_MAX;
    case RWF_TYPE_FLOAT:
    case RWF_TYPE_DOUBLE:
        return read_float(cell, type, value);
    case RWF_TYPE_REAL:
        return rwf_real_from_text(cell, &value->real) >= 0;
    case RWF_TYPE_DATE:
        return rwf_date_from_text(cell, &value->date) >= 0;
    case RWF_TYPE_TIME:
        return rwf_time_from_text(cell, &value->time) >= 0;
    case RWF_TYPE_DATETIME:
        return rwf_datetime_from_text(cell, &value->datetime) >= 0;
    case RWF_TYPE_RMTES:
        return csv_rmtes(cell, importer->bytes, sizeof(importer->bytes), &value->bytes);
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
        value->bytes = cell;
        return true;
    default:
        return false;
    }
}

static bool is_text(unsigned type)
{
    return type == RWF_TYPE_RMTES || type == RWF_TYPE_ASCII || type == RWF_TYPE_UTF8;
}

/* The bytes of a field without text in a cell, or that stand there as "0x..." because they are no
 * value of its type. */
static bool read_bytes(struct importer *importer, const struct rwf_field_def *def,
                       struct rwf_bytes cell, struct rwf_bytes *out)
{
    bool has_mark = cell.length > 2 && cell.data[0] == '0' && cell.data[1] == 'x';
    bool has_text = def && csv_has_text(def->rwf_type);

    if (has_mark && !(has_text && is_text(def->rwf_type)))
        return read_hex(importer, rwf_bytes(cell.data + 2, cell.length - 2), out);
    return !has_text && read_hex(importer, cell, out);
}

/* ---- messages ---- */

static int finish(struct importer *importer)
{
    if (!importer->is_open)
        return REC_OK;
    importer->is_open = false;
    for (uint32_t i = 0; i < importer->id_count; i++)
        importer->had[importer->ids[i]] = false;
    if (importer->has_payload && importer->msg.container == RWF_TYPE_FIELD_LIST)
        rwf_field_list_finish(&importer->enc);
    if (importer->has_payload)
        rwf_msg_finish(&importer->enc);
    else
        rwf_msg_encode(&importer->enc, &importer->msg);
    if (rwf_encoder_error(&importer->enc) != RWF_OK ||
        rwf_encoder_bytes(&importer->enc).length > REC_MESSAGE_MAX)
        return wrong(importer, "the message in front of it cannot be made",
                     rwf_text(importer->head));
    rec_keeper_message(importer->keeper, importer->now, importer->number,
                       rwf_encoder_bytes(&importer->enc));
    rec_keeper_tick(importer->keeper, importer->now);
    importer->messages++;
    return REC_OK;
}

static int begin(struct importer *importer, unsigned class)
{
    const struct rwf_bytes *cells = importer->csv.cells;
    uint64_t domain = 0;
    struct rwf_msg *msg = &importer->msg;

    if (!read_time(cells[TIME], &importer->now.wall_ns))
        return wrong(importer, "no time", cells[TIME]);
    if (!read_uint(cells[MONO], &importer->now.mono_ns))
        return wrong(importer, "no number of nanoseconds", cells[MONO]);
    if (!read_uint(cells[DOMAIN], &domain) || domain <= RWF_DOMAIN_DICTIONARY || domain > 255)
        return wrong(importer, "no domain of items", cells[DOMAIN]);
    const struct rec_key key = { .domain = (uint8_t)domain,
                                 .service_id = SERVICE_ID,
                                 .service = cells[SERVICE],
                                 .name = cells[ITEM] };
    importer->number = rec_keeper_item(importer->keeper, &key);
    if (importer->number == 0)
        return wrong(importer, "an item too many, or a name too long", cells[ITEM]);
    *msg = (struct rwf_msg){ .msg_class = (uint8_t) class,
                             .domain = (uint8_t)domain,
                             .container = RWF_TYPE_NO_DATA };
    if (class == RWF_CLASS_REFRESH) {
        msg->flags = RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE;
        msg->group_id = rwf_bytes((const uint8_t *)"\0", 2);
        msg->state =
            (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
    }
    rwf_encoder_init(&importer->enc, importer->message, sizeof(importer->message));
    importer->is_open = true;
    importer->has_payload = false;
    importer->id_count = 0;
    return REC_OK;
}

static int start_payload(struct importer *importer, unsigned container)
{
    if (importer->has_payload)
        return REC_OK;
    importer->has_payload = true;
    importer->msg.container = (uint8_t)container;
    rwf_msg_start(&importer->enc, &importer->msg);
    if (container == RWF_TYPE_FIELD_LIST)
        rwf_field_list_start(&importer->enc, NULL);
    return REC_OK;
}

/* Another container than a field list: all of it, hexadecimal. */
static int add_container(struct importer *importer, unsigned container)
{
    struct rwf_bytes bytes;

    if (importer->has_payload || !read_hex(importer, importer->csv.cells[VALUE], &bytes))
        return wrong(importer, "no container in hexadecimal digits", importer->csv.cells[FIELD]);
    importer->msg.container = (uint8_t)container;
    importer->msg.payload = bytes;
    return finish(importer); /* while its bytes are here */
}

static unsigned container_of(struct rwf_bytes name)
{
    for (unsigned type = RWF_TYPE_OPAQUE; type <= CONTAINER_MAX; type++) {
        if (is_word(name, rwf_type_name(type)))
            return type;
    }
    return 0;
}

/* A name of the dictionary, or a number (*def is NULL then); false: it is none. */
static bool find_field(const struct importer *importer, struct rwf_bytes name,
                       const struct rwf_field_def **def, int16_t *id)
{
    int64_t number;

    *def = rwf_dictionary_field_named(importer->dictionary, (const char *)name.data, name.length);
    if (*def) {
        *id = (int16_t)(*def)->fid;
        return true;
    }
    if (!read_int(name, &number) || number < INT16_MIN || number > INT16_MAX)
        return false;
    *id = (int16_t)number;
    return true;
}

static int add_field(struct importer *importer)
{
    struct rwf_bytes name = importer->csv.cells[FIELD], cell = importer->csv.cells[VALUE];
    const struct rwf_field_def *def;
    struct rwf_value value;
    struct rwf_bytes bytes;
    int16_t id;

    if (!find_field(importer, name, &def, &id)) {
        unsigned container = container_of(name);
        return container ? add_container(importer, container)
                         : wrong(importer, "no field of the dictionary", name);
    }
    if (importer->id_count == FIELDS_MAX)
        return wrong(importer, "a field too many", name);
    start_payload(importer, RWF_TYPE_FIELD_LIST);
    importer->had[(uint16_t)id] = true;
    importer->ids[importer->id_count++] = (uint16_t)id;
    importer->fields++;
    if (read_bytes(importer, def, cell, &bytes))
        rwf_field_add_bytes(&importer->enc, id, bytes);
    else if (def && read_value(importer, def->rwf_type, cell, &value))
        rwf_field_add(&importer->enc, id, &value);
    else
        return wrong(importer, "no value of its field", cell);
    return REC_OK;
}

/* ---- rows ---- */

/* Whether the message that is made has this field already, or fields and this is a container:
 * another one begins. */
static bool begins_another(const struct importer *importer)
{
    const struct rwf_field_def *def;
    int16_t id;

    if (find_field(importer, importer->csv.cells[FIELD], &def, &id))
        return importer->had[(uint16_t)id];
    return importer->has_payload && container_of(importer->csv.cells[FIELD]) != 0;
}

static int take_row(struct importer *importer)
{
    const struct rwf_bytes *cells = importer->csv.cells;
    char head[sizeof(importer->head)];
    unsigned class = is_word(cells[KIND], "REFRESH")  ? RWF_CLASS_REFRESH
                     : is_word(cells[KIND], "UPDATE") ? RWF_CLASS_UPDATE
                     : is_word(cells[KIND], "STATUS") ? RWF_CLASS_STATUS
                                                      : 0;
    int rc = REC_OK;

    if (class == 0) {
        importer->skipped++;
        return finish(importer);
    }
    (void)snprintf(head, sizeof(head), "%.*s,%.*s,%.*s,%.*s,%u", (int)cells[MONO].length,
                   (const char *)cells[MONO].data, (int)cells[SERVICE].length,
                   (const char *)cells[SERVICE].data, (int)cells[ITEM].length,
                   (const char *)cells[ITEM].data, (int)cells[DOMAIN].length,
                   (const char *)cells[DOMAIN].data, class);
    bool is_state = cells[FIELD].length == 0;
    if (!importer->is_open || is_state || strcmp(head, importer->head) != 0 ||
        begins_another(importer)) {
        rc = finish(importer);
        if (rc == REC_OK)
            rc = begin(importer, class);
        memcpy(importer->head, head, sizeof(head));
    }
    if (rc != REC_OK || !is_state)
        return rc == REC_OK ? add_field(importer) : rc;
    if (class == RWF_CLASS_UPDATE || !read_state(importer, cells[VALUE]))
        return wrong(importer, "no state", cells[VALUE]);
    importer->msg.flags |= class == RWF_CLASS_STATUS ? RWF_STATUS_HAS_STATE : 0;
    return REC_OK;
}

static int take_rows(struct importer *importer)
{
    int rc = REC_OK, more;

    if (csv_next(&importer->csv) <= 0 || !is_word(importer->csv.cells[TIME], "time"))
        return wrong(importer, "the first line names the columns, as export writes it",
                     rwf_text(importer->csv.text));
    while (rc == REC_OK && (more = csv_next(&importer->csv)) != 0)
        rc = more > 0
                 ? take_row(importer)
                 : wrong(importer, "not eight cells, or too long", rwf_text(importer->csv.text));
    return rc == REC_OK ? finish(importer) : rc;
}

/* ---- the recording ---- */

/* Nothing is lost here: it waits for the disk. */
static struct rec_chunk *take(void *context)
{
    const struct timespec wait = { .tv_nsec = FULL_NS };
    struct rec_chunk *chunk;

    while (!(chunk = disk_ops.take(context)))
        (void)nanosleep(&wait, NULL);
    return chunk;
}

static void give(void *context, struct rec_chunk *chunk)
{
    disk_ops.give(context, chunk);
}

static unsigned field_type(void *context, int16_t id)
{
    const struct importer *importer = context;
    const struct rwf_field_def *def = rwf_dictionary_field(importer->dictionary, id);

    return def ? def->rwf_type : 0;
}

static int open_all(const struct words *w, struct importer *importer)
{
    static const struct rec_writer_ops ops = { take, give };
    struct disk_config disk = { .path = w->file, .source = w->csv, .chunks = CHUNKS, .level = 3 };
    char error[512];

    if (!w->csv)
        return rec_usage("-csv FILE is missing", NULL);
    importer->csv.file = strcmp(w->csv, "-") == 0 ? stdin : fopen(w->csv, "re");
    if (!importer->csv.file) {
        fprintf(stderr, PROGRAM ": cannot read %s: %s\n", w->csv, strerror(errno));
        return REC_FILE;
    }
    if (tool_dictionary_load(w->dict, &importer->dictionary, error, sizeof(error)) != MD_OK ||
        cache_ripples_create(&importer->ripples) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return REC_FILE;
    }
    cache_ripples_learn(importer->ripples, importer->dictionary);
    if (!disk_start(&disk, &importer->disk))
        return REC_FILE;
    rec_writer_init(&importer->writer, &ops, importer->disk);
    const struct rec_keeper_config keeper = {
        .cache = { .bytes_max = IMAGES_BYTES,
                   .field_type = field_type,
                   .context = importer,
                   .ripples = importer->ripples,
                   .keeps_pages = true },
        .writer = &importer->writer,
        .image_every_ns = IMAGE_NS,
    };
    return rec_keeper_create(&keeper, &importer->keeper) == MD_OK ? REC_OK : REC_FILE;
}

static int report(struct importer *importer, int rc)
{
    struct disk_stats stats;

    disk_stats(importer->disk, &stats);
    printf("messages    %" PRIu64 ", %" PRIu64 " fields\n", importer->messages, importer->fields);
    printf("written     %" PRIu64 " chunks, %" PRIu64 " bytes\n", stats.chunks, stats.bytes);
    if (importer->skipped > 0)
        printf("skipped     %" PRIu64 " rows that are no message\n", importer->skipped);
    if (stats.failed_chunks == 0)
        return rc;
    fprintf(stderr, PROGRAM ": cannot write: %s; %" PRIu64 " chunks are lost\n",
            strerror(stats.error), stats.failed_chunks);
    return REC_DAMAGED;
}

int import_run(const struct words *w)
{
    struct importer *importer = calloc(1, sizeof(*importer));

    if (!importer)
        return REC_FILE;
    int rc = open_all(w, importer);
    if (rc == REC_OK) {
        rc = take_rows(importer);
        rec_writer_flush(&importer->writer, false);
        disk_stop(importer->disk);
        rc = report(importer, rc);
    } else {
        disk_stop(importer->disk);
    }
    rec_keeper_destroy(importer->keeper);
    disk_destroy(importer->disk);
    cache_ripples_destroy(importer->ripples);
    rwf_dictionary_destroy(importer->dictionary);
    if (importer->csv.file && importer->csv.file != stdin)
        (void)fclose(importer->csv.file);
    free(importer);
    return rc;
}
