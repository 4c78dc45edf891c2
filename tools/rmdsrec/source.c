/* source.c - a recording opened for reading. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
    const struct source *source = context;

    while (length > 0) {
        ssize_t n = pread(source->fd, bytes, length, (off_t)at);
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

bool source_open(const char *path, bool walks, struct source *source)
{
    struct stat st;

    *source = (struct source){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
    if (source->fd < 0 || fstat(source->fd, &st) != 0) {
        fprintf(stderr, PROGRAM ": cannot read %s: %s\n", path, strerror(errno));
        source_close(source);
        return false;
    }
    const struct rec_source bytes = { source, read_file, (uint64_t)st.st_size };
    int rc = rec_reader_open(&bytes, walks, &source->reader);
    if (rc == MD_OK)
        return true;
    fprintf(stderr, PROGRAM ": %s is no recording%s\n", path,
            rc == MD_ERR_NOMEM ? " that memory suffices for" : ": no block of it is whole");
    source_close(source);
    return false;
}

void source_close(struct source *source)
{
    rec_reader_close(source->reader);
    if (source->fd >= 0)
        (void)close(source->fd);
    *source = (struct source){ .fd = -1 };
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

void source_print_damages(const struct rec_reader *reader, FILE *out)
{
    const struct rec_damage *damage;
    struct rec_facts facts;

    rec_reader_facts(reader, &facts);
    for (size_t i = 0; (damage = rec_reader_damage(reader, i)) != NULL; i++) {
        fprintf(out, "damaged     %s", rec_damage_name(damage->kind));
        if (damage->kind != REC_DAMAGE_MISSING)
            fprintf(out, ", at byte %" PRIu64, damage->at);
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

struct rwf_dictionary *source_dictionary(struct rec_reader *reader)
{
    struct rwf_dictionary *dictionary;
    struct rec_cursor *cursor;
    struct rec_record record;
    struct rwf_msg msg;
    unsigned whole = 0;

    if (rwf_dictionary_create(&dictionary) != MD_OK)
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
        if (rwf_dictionary_decode(dictionary, msg.payload) != RWF_OK)
            break;
        whole += (msg.flags & RWF_REFRESH_COMPLETE) != 0;
    }
    rec_cursor_destroy(cursor);
    if (whole == 2)
        return dictionary;
    rwf_dictionary_destroy(dictionary);
    return NULL;
}
