/* shown.c - see shown.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "stats/rows.h"
#include "words.h"

#define ROW(kind, name, member) STATS_ROW(STATS_KIND_##kind, name, struct shown_figures, member)

static const struct stats_row rows[] = {
    ROW(GAUGE, "connected", is_connected),
    ROW(GAUGE, "itemsNow", items),
    ROW(GAUGE, "itemsOpen", items_open),
    ROW(COUNTER, "msgsRcvd", messages),
    ROW(COUNTER, "bytes", bytes),
    ROW(COUNTER, "images", images),
    ROW(COUNTER, "messagesLost", messages_lost),
    ROW(GAUGE, "messagesPerSecond", rate),
    ROW(GAUGE, "bytesPerSecond", byte_rate),
    ROW(COUNTER, "files", files),
    ROW(GAUGE, "fileBytesNow", file_bytes),
    ROW(COUNTER, "chunks", chunks),
    ROW(COUNTER, "bytesWritten", chunk_bytes),
    ROW(COUNTER, "recordsWritten", records),
    ROW(COUNTER, "chunksLost", chunks_lost),
    ROW(TIME, "lastChunk", last_chunk_ns),
    ROW(GAUGE, "bufferNow", buffer),
    ROW(GAUGE, "bufferMax", buffer_max),
    ROW(GAUGE, "bufferSize", buffer_size),
    ROW(COUNTER, "linksLost", links_lost),
    ROW(COUNTER, "gapsSeen", suspects),
    ROW(COUNTER, "overruns", overruns),
    ROW(COUNTER, "recordsLost", records_lost),
    ROW(COUNTER, "denied", denied),
    ROW(COUNTER, "itemsRefused", refused),
};

struct shown {
    struct stats_segment *segment;
    struct stats_entry *entries[STATS_ROW_COUNT(rows)];
    struct stats_entry *ready;     /* NULL: the segment is that of a daemon */
    struct stats_entry *file;      /* NULL: none is shown yet */
    struct stats_entry *disk_free; /* NULL: nobody knows */
    struct stats_entry *trouble;   /* NULL: there is none */
};

int shown_open(const char *run_dir, const char *name, struct shown **out)
{
    struct shown *shown = calloc(1, sizeof(*shown));
    const struct stats_config config = { .run_dir = run_dir, .process = PROGRAM, .instance = name };
    pid_t holder = 0;

    *out = shown;
    if (!shown)
        return -1;
    int err = stats_segment_open(&config, &shown->segment, &holder);
    if (err == MD_ERR_EXISTS && holder > 0)
        fprintf(stderr, PROGRAM ": %s/" PROGRAM ".%s belongs to process %d; -name gives another\n",
                run_dir, name, (int)holder);
    else if (err != MD_OK)
        fprintf(stderr, PROGRAM ": cannot make %s/" PROGRAM ".%s/stats: %s\n", run_dir, name,
                err == MD_ERR_SYS ? strerror(errno) : md_err_name(err));
    if (err != MD_OK)
        return -1;
    stats_rows_add(rows, STATS_ROW_COUNT(rows), shown->segment, PROGRAM ".", shown->entries);
    shown->ready = stats_entry_add(shown->segment, STATS_KIND_GAUGE, "ready");
    return 0;
}

void shown_close(struct shown *shown)
{
    if (!shown)
        return;
    if (shown->ready)
        stats_segment_close(shown->segment);
    free(shown);
}

int shown_join(struct stats_segment *segment, struct shown **out)
{
    struct shown *shown = calloc(1, sizeof(*shown));

    *out = shown;
    if (!shown)
        return -1;
    shown->segment = segment;
    stats_rows_add(rows, STATS_ROW_COUNT(rows), segment, PROGRAM ".", shown->entries);
    return 0;
}

void shown_file_set(struct shown *shown, const char *path)
{
    size_t length = strlen(path);
    const char *end = length < STATS_STRING_BYTES ? path : path + length - STATS_STRING_BYTES + 1;

    if (!shown->file)
        shown->file = stats_string_add(shown->segment, PROGRAM ".file", end);
    else
        stats_string_set(shown->segment, shown->file, end);
}

static void show_room(struct shown *shown, uint64_t room)
{
    if (room == UINT64_MAX && shown->disk_free) {
        stats_entry_remove(shown->segment, shown->disk_free);
        shown->disk_free = NULL;
    } else if (room != UINT64_MAX && !shown->disk_free) {
        shown->disk_free = stats_entry_add(shown->segment, STATS_KIND_GAUGE, PROGRAM ".diskFree");
    }
    if (shown->disk_free)
        stats_gauge_set(shown->disk_free, room);
}

void shown_set(struct shown *shown, uint64_t now_ns, const struct shown_figures *figures,
               const char *trouble)
{
    stats_rows_set(rows, STATS_ROW_COUNT(rows), shown->entries, figures);
    show_room(shown, figures->disk_free);
    if (!shown->ready)
        return;
    stats_segment_beat(shown->segment, now_ns);
    stats_gauge_set(shown->ready, !*trouble);
    if (!*trouble && shown->trouble) {
        stats_entry_remove(shown->segment, shown->trouble);
        shown->trouble = NULL;
    } else if (*trouble && !shown->trouble) {
        shown->trouble = stats_string_add(shown->segment, "trouble", trouble);
    } else if (*trouble) {
        stats_string_set(shown->segment, shown->trouble, trouble);
    }
}
