/* source.c - a recording opened for reading, of one file or all of its series. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "rmds/rwf.h"
#include "source.h"
#include "words.h"

static int read_file(void *context, uint64_t at, uint8_t *bytes, size_t length)
{
    const struct source_file *file = context;

    while (length > 0) {
        ssize_t n = pread(file->fd, bytes, length, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MD_ERR_SYS;
        bytes += n;
        at += (uint64_t)n;
        length -= (size_t)n;
    }
    return MD_OK;
}

static void expect_file(void *context, uint64_t at, uint64_t length)
{
    const struct source_file *file = context;

    (void)posix_fadvise(file->fd, (off_t)at, (off_t)length, POSIX_FADV_WILLNEED);
}

static struct rec_source bytes_of(struct source_file *file)
{
    return (struct rec_source){ file, read_file, file->length, expect_file };
}

/* ---- the files of a series ---- */

static void close_file(struct source_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->path);
    *file = (struct source_file){ .fd = -1 };
}

/* False: errno says why. It waits for no writer of a pipe. */
static bool open_file(const char *path, struct source_file *file)
{
    struct stat st;

    *file = (struct source_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
                                  .path = strdup(path) };
    bool is_open = file->fd >= 0 && file->path && fstat(file->fd, &st) == 0;
    if (is_open && S_ISREG(st.st_mode)) {
        file->length = (uint64_t)st.st_size;
        return true;
    }
    int why = !is_open ? errno : S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;
    close_file(file);
    errno = why;
    return false;
}

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return length > 0;
}

/* A file's name without folder: what stands before the number of its part, and behind it. */
struct name {
    const char *stem;
    size_t length;
    const char *ending;
};

static struct name split(const char *base, uint32_t part)
{
    const char *dot = strrchr(base, '.');
    struct name name = { .stem = base,
                         .length = dot ? (size_t)(dot - base) : strlen(base),
                         .ending = dot ? dot : "" };
    size_t length = name.length;

    if (part > 0 && dot && is_number(dot + 1, strlen(dot + 1))) {
        name.ending = "";
        return name;
    }
    while (part > 0 && length > 0 && base[length - 1] != '.')
        length--;
    if (length > 1 && is_number(base + length, name.length - length))
        name.length = length - 1;
    return name;
}

static bool is_further_part(const struct name *name, const char *base)
{
    size_t length = strlen(base), ending = strlen(name->ending);

    if (length < name->length + 2 + ending || memcmp(base, name->stem, name->length) != 0 ||
        base[name->length] != '.' || strcmp(base + length - ending, name->ending) != 0)
        return false;
    return is_number(base + name->length + 1, length - name->length - 1 - ending);
}

/* False: there are too many, or no memory; told. */
static bool take_part(struct source *source, const char *path)
{
    struct source_file file;
    uint64_t series;

    if (!open_file(path, &file))
        return true; /* the hole that it leaves is named by its chunks */
    const struct rec_source bytes = bytes_of(&file);
    if (rec_source_series(&bytes, &series, &file.part) != MD_OK || series != source->series ||
        file.part <= source->files[0].part) {
        close_file(&file);
        return true;
    }
    if (source->count == SOURCE_FILES_MAX) {
        fprintf(stderr, PROGRAM ": there are more than %u files behind %s: name a later one\n",
                SOURCE_FILES_MAX, source->files[0].path);
        close_file(&file);
        return false;
    }
    source->files[source->count++] = file;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct source_file *x = a, *y = b;

    return x->part < y->part ? -1 : x->part > y->part;
}

static bool find_parts(struct source *source)
{
    const char *path = source->files[0].path, *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    const struct rec_source bytes = bytes_of(&source->files[0]);
    char text[4096];

    if (rec_source_series(&bytes, &source->series, &source->files[0].part) != MD_OK) {
        fprintf(stderr, PROGRAM ": the first block of %s is damaged: nothing says its series\n",
                path);
        return false;
    }
    const struct name name = split(path + folder, source->files[0].part);
    (void)snprintf(text, sizeof(text), "%.*s", folder, path);
    DIR *dir = opendir(folder ? text : ".");
    if (!dir) {
        fprintf(stderr, PROGRAM ": cannot read the folder of %s: %s\n", path, strerror(errno));
        return false;
    }
    const struct dirent *entry;
    bool fits = true;
    while (fits && (entry = readdir(dir)) != NULL) {
        int length = snprintf(text, sizeof(text), "%.*s%s", folder, path, entry->d_name);
        if (length < (int)sizeof(text) && is_further_part(&name, entry->d_name))
            fits = take_part(source, text);
    }
    (void)closedir(dir);
    qsort(source->files + 1, source->count - 1, sizeof(*source->files), compare);
    return fits;
}

static bool read_all(struct source *source, bool walks)
{
    struct rec_source *bytes = calloc(source->count, sizeof(*bytes));
    int rc = bytes ? MD_OK : MD_ERR_NOMEM;

    for (size_t i = 0; i < source->count && bytes; i++)
        bytes[i] = bytes_of(&source->files[i]);
    if (rc == MD_OK)
        rc = rec_reader_open_series(bytes, source->count, walks, &source->reader);
    free(bytes);
    if (rc != MD_OK)
        fprintf(stderr, PROGRAM ": %s is no recording%s\n", source->files[0].path,
                rc == MD_ERR_NOMEM ? " that memory suffices for" : ": no block of it is whole");
    return rc == MD_OK;
}

bool source_open(const char *path, bool walks, bool is_series, struct source *source)
{
    *source = (struct source){ .files = calloc(is_series ? SOURCE_FILES_MAX : 1,
                                               sizeof(struct source_file)) };
    if (!source->files || !open_file(path, &source->files[0])) {
        fprintf(stderr, PROGRAM ": cannot read %s: %s\n", path, strerror(errno));
        source_close(source);
        return false;
    }
    source->count = 1;
    if ((!is_series || find_parts(source)) && read_all(source, walks))
        return true;
    source_close(source);
    return false;
}

void source_close(struct source *source)
{
    rec_reader_close(source->reader);
    for (size_t i = 0; i < source->count; i++)
        close_file(&source->files[i]);
    free(source->files);
    *source = (struct source){ .count = 0 };
}

void source_print_time(uint64_t wall_ns, char out[32])
{
    time_t seconds = (time_t)(wall_ns / MD_NS_PER_S);
    struct tm tm = { 0 };
    char date[24];

    (void)gmtime_r(&seconds, &tm);
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, 32, "%.19s.%06uZ", date, (unsigned)(wall_ns % MD_NS_PER_S / MD_NS_PER_US));
}

void source_print_damages(const struct source *source, FILE *out)
{
    const struct rec_reader *reader = source->reader;
    const struct rec_damage *damage;
    struct rec_facts facts;

    rec_reader_facts(reader, &facts);
    for (size_t i = 0; (damage = rec_reader_damage(reader, i)) != NULL; i++) {
        fprintf(out, "damaged     %s", rec_damage_name(damage->kind));
        if (damage->kind != REC_DAMAGE_MISSING)
            fprintf(out, ", at byte %" PRIu64, damage->at);
        if (damage->kind != REC_DAMAGE_MISSING && source->count > 1)
            fprintf(out, " of %s", source->files[damage->file].path);
        if (damage->length > 0)
            fprintf(out, ", %" PRIu64 " bytes", damage->length);
        if (damage->chunks == 1)
            fprintf(out, ", chunk %" PRIu64, damage->chunk);
        else if (damage->chunks > 1)
            fprintf(out, ", chunks %" PRIu64 " to %" PRIu64, damage->chunk,
                    damage->chunk + damage->chunks - 1);
        fprintf(out, "\n");
    }
    if (facts.damages > REC_DAMAGES_MAX)
        fprintf(out, "damaged     %" PRIu64 " more places\n", facts.damages - REC_DAMAGES_MAX);
}

static bool is_dictionary(const struct rec_reader *reader, uint32_t number)
{
    const struct rec_key *key = rec_reader_item(reader, number);

    return key && key->domain == RWF_DOMAIN_DICTIONARY;
}

/* Else all of it would be read to find none. */
static bool has_dictionary(const struct rec_reader *reader)
{
    struct rec_facts facts;
    uint32_t number = 1;

    rec_reader_facts(reader, &facts);
    while (number <= facts.items && !is_dictionary(reader, number))
        number++;
    return number <= facts.items;
}

static bool is_same_service(const struct rec_key *a, const struct rec_key *b)
{
    return a->service.length == b->service.length &&
           (a->service.length == 0 ||
            memcmp(a->service.data, b->service.data, a->service.length) == 0);
}

struct rwf_dictionary *source_dictionary(struct rec_reader *reader)
{
    struct rwf_dictionary *dictionary;
    struct rec_cursor *cursor;
    struct rec_record record;
    struct rwf_msg msg;
    const struct rec_key *of = NULL; /* whose it is: not a part of one service's and of another's */
    unsigned whole = 0;

    if (!has_dictionary(reader) || rwf_dictionary_create(&dictionary) != MD_OK)
        return NULL;
    if (rec_cursor_create(reader, &cursor) != MD_OK) {
        rwf_dictionary_destroy(dictionary);
        return NULL;
    }
    /* They are asked for before any item. */
    while (whole < 2 && rec_cursor_next(cursor, &record) > 0) {
        if (record.kind != REC_MESSAGE || !is_dictionary(reader, record.number) ||
            rwf_msg_decode(record.bytes, &msg) != RWF_OK || msg.msg_class != RWF_CLASS_REFRESH)
            continue;
        const struct rec_key *key = rec_reader_item(reader, record.number);
        if (of && !is_same_service(of, key)) {
            rwf_dictionary_destroy(dictionary);
            dictionary = NULL;
            whole = 0;
            if (rwf_dictionary_create(&dictionary) != MD_OK)
                break;
        }
        of = key;
        if (rwf_dictionary_decode(dictionary, msg.payload) != RWF_OK)
            continue; /* the next service's may do */
        whole += (msg.flags & RWF_REFRESH_COMPLETE) != 0;
    }
    rec_cursor_destroy(cursor);
    if (whole == 2)
        return dictionary;
    rwf_dictionary_destroy(dictionary);
    return NULL;
}
