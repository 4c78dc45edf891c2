/* segment.c - see stats/segment.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rundir.h"
#include "base/runfile.h"
#include "base/table.h"

#define LOCK_NAME          "stats.lock"
#define TEMPORARY_NAME     "stats.new"

#define ENTRIES_DEFAULT    4096
#define STRINGS_DEFAULT    256
#define HISTOGRAMS_DEFAULT 16

struct stats_segment {
    struct stats_header *header;
    struct stats_entry *entries;
    struct stats_string *strings;
    struct md_hist *histograms;
    size_t bytes;
    int fd; /* -1: private memory */
    int folder_fd;
    char folder[PATH_MAX / 2];
    struct md_runfile lock_file; /* held as long as we live */
    pthread_mutex_t lock;
    struct md_table *by_path; /* key: the path inside the entry, which stays in place */
    uint32_t entry_hint;      /* no free entry below it */
    uint8_t *is_string_used;  /* one byte per slot */
    uint8_t *is_histogram_used;
    struct md_ctr *dropped;
    struct stats_entry spare; /* what callers write to when there is no room */
    struct md_hist *spare_histogram;
};

/* Text into words, whole words at a time, so that a reader never sees half of one. */
static void put_text(_Atomic uint64_t *words, size_t size, const char *text)
{
    char copy[STATS_PATH_BYTES] = { 0 };
    uint64_t word;

    memccpy(copy, text, '\0', size - 1);
    for (size_t i = 0; i < size / 8; i++) {
        memcpy(&word, copy + 8 * i, 8);
        atomic_store_explicit(&words[i], word, memory_order_release);
    }
}

static const char *entry_path(const struct stats_entry *entry)
{
    return (const char *)entry;
}

/*
 * The generation is odd between these two. Words are stored with release behind the odd value, so a
 * reader that saw a new word (acquire) sees the odd value, too.
 */
static void change_begin(struct stats_segment *segment)
{
    uint64_t generation = atomic_load_explicit(&segment->header->generation, memory_order_relaxed);

    atomic_store_explicit(&segment->header->generation, generation + 1, memory_order_release);
}

static void change_end(struct stats_segment *segment)
{
    uint64_t generation = atomic_load_explicit(&segment->header->generation, memory_order_relaxed);

    atomic_store_explicit(&segment->header->generation, generation + 1, memory_order_release);
}

/*
 * Is the name held by a living process? Its lock is a file that nobody but the owner can open: a
 * reader could lock the segment itself, and keep the next owner out.
 */
static int take_lock(struct stats_segment *segment, pid_t *holder)
{
    char path[PATH_MAX];
    pid_t other;

    if ((size_t)snprintf(path, sizeof(path), "%s/" LOCK_NAME, segment->folder) >= sizeof(path))
        return MD_ERR_RANGE;
    int err = md_runfile_open(&segment->lock_file, path, &other);
    if (err == MD_ERR_EXISTS && holder)
        *holder = other;
    return err;
}

/*
 * A file of our own under a name of our own; it gets its real name when it is complete. Its pages
 * are there from the start: a full disk is an error now, and no signal later.
 */
static int make_file(struct stats_segment *segment)
{
    (void)unlinkat(segment->folder_fd, TEMPORARY_NAME, 0); /* of one that was killed just here */
    segment->fd = openat(segment->folder_fd, TEMPORARY_NAME,
                         O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (segment->fd < 0)
        return MD_ERR_SYS;
    int error = posix_fallocate(segment->fd, 0, (off_t)segment->bytes);
    if (error) {
        (void)unlinkat(segment->folder_fd, TEMPORARY_NAME, 0);
        errno = error;
        return MD_ERR_SYS;
    }
    (void)fchmod(segment->fd, 0640); /* a umask of 077 took the right of the group */
    md_rundir_share(segment->fd);
    return MD_OK;
}

static int map_file(struct stats_segment *segment)
{
    int flags = segment->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *at = mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, flags, segment->fd, 0);

    if (at == MAP_FAILED)
        return MD_ERR_SYS;
    segment->header = at;
    return MD_OK;
}

static void lay_out(struct stats_segment *segment, uint32_t entries, uint32_t strings,
                    uint32_t histograms)
{
    struct stats_header *header = segment->header;
    uint8_t *at = (uint8_t *)header + STATS_HEADER_BYTES;

    memcpy(header->magic, STATS_MAGIC, sizeof(header->magic));
    header->version = STATS_VERSION;
    header->total_bytes = (uint32_t)segment->bytes;
    header->pid = (uint64_t)getpid();
    header->start_ns = md_clock_wall_ns();
    atomic_store_explicit(&header->heartbeat_ns, md_clock_mono_ns(), memory_order_relaxed);
    header->entry_count = entries;
    header->entry_bytes = STATS_ENTRY_BYTES;
    header->string_count = strings;
    header->histogram_count = histograms;
    segment->entries = (struct stats_entry *)(void *)at;
    at += (size_t)entries * STATS_ENTRY_BYTES;
    segment->strings = (struct stats_string *)(void *)at;
    at += (size_t)strings * STATS_STRING_BYTES;
    segment->histograms = (struct md_hist *)(void *)at;
}

/* The folder, its lock, and a file without its name yet. */
static int open_file(struct stats_segment *segment, const struct stats_config *config,
                     pid_t *holder)
{
    char name[STATS_NAME_BYTES];

    if ((size_t)snprintf(name, sizeof(name), "%s.%s", config->process, config->instance) >=
            sizeof(name) ||
        (size_t)snprintf(segment->folder, sizeof(segment->folder), "%s/%s", config->run_dir,
                         name) >= sizeof(segment->folder))
        return MD_ERR_RANGE;
    int err = md_rundir_enter(config->run_dir, name, &segment->folder_fd);
    if (!err)
        err = take_lock(segment, holder);
    return err ? err : make_file(segment);
}

static int open_memory(struct stats_segment *segment, const struct stats_config *config,
                       uint32_t entries, uint32_t strings, uint32_t histograms, pid_t *holder)
{
    int err = config->run_dir ? open_file(segment, config, holder) : MD_OK;

    if (!err)
        err = map_file(segment);
    if (err)
        return err;
    lay_out(segment, entries, strings, histograms);
    if (config->run_dir &&
        renameat(segment->folder_fd, TEMPORARY_NAME, segment->folder_fd, STATS_FILE) != 0) {
        (void)unlinkat(segment->folder_fd, TEMPORARY_NAME, 0);
        return MD_ERR_SYS;
    }
    return MD_OK;
}

static void release(struct stats_segment *segment)
{
    if (segment->header)
        munmap(segment->header, segment->bytes);
    if (segment->fd >= 0)
        close(segment->fd);
    if (segment->folder_fd >= 0)
        close(segment->folder_fd);
    md_runfile_close(&segment->lock_file);
    pthread_mutex_destroy(&segment->lock);
    md_table_destroy(segment->by_path);
    free(segment->is_string_used);
    free(segment->is_histogram_used);
    free(segment->spare_histogram);
    free(segment);
}

int stats_segment_open(const struct stats_config *config, struct stats_segment **out, pid_t *holder)
{
    uint32_t entries = config->entry_count ? config->entry_count : ENTRIES_DEFAULT;
    uint32_t strings = config->string_count ? config->string_count : STRINGS_DEFAULT;
    uint32_t histograms = config->histogram_count ? config->histogram_count : HISTOGRAMS_DEFAULT;
    uint64_t bytes = STATS_HEADER_BYTES + (uint64_t)entries * STATS_ENTRY_BYTES +
                     (uint64_t)strings * STATS_STRING_BYTES +
                     (uint64_t)histograms * sizeof(struct md_hist);

    *out = NULL;
    if (holder)
        *holder = 0;
    if (bytes > STATS_BYTES_MAX)
        return MD_ERR_RANGE;
    struct stats_segment *segment = calloc(1, sizeof(*segment));
    if (!segment)
        return MD_ERR_NOMEM;
    segment->fd = segment->folder_fd = segment->lock_file.fd = -1;
    segment->bytes = (size_t)bytes;
    pthread_mutex_init(&segment->lock, NULL);
    segment->is_string_used = calloc(strings, 1);
    segment->is_histogram_used = calloc(histograms, 1);
    segment->spare_histogram = calloc(1, sizeof(*segment->spare_histogram));
    int err = md_table_create(entries, &segment->by_path);
    if (!segment->is_string_used || !segment->is_histogram_used || !segment->spare_histogram)
        err = MD_ERR_NOMEM;
    if (!err)
        err = open_memory(segment, config, entries, strings, histograms, holder);
    if (err) {
        int saved_errno = errno;
        release(segment);
        errno = saved_errno;
        return err;
    }
    md_hist_init(segment->spare_histogram);
    segment->dropped = stats_counter(segment, "stats.dropped");
    *out = segment;
    return MD_OK;
}

void stats_segment_close(struct stats_segment *segment)
{
    if (!segment)
        return;
    if (segment->fd >= 0)
        (void)unlinkat(segment->folder_fd, STATS_FILE, 0);
    release(segment);
}

const struct stats_header *stats_segment_header(const struct stats_segment *segment)
{
    return segment->header;
}

void stats_segment_beat(struct stats_segment *segment, uint64_t now_ns)
{
    atomic_store_explicit(&segment->header->heartbeat_ns, now_ns, memory_order_relaxed);
}

static enum stats_kind kind_of(const struct stats_entry *entry)
{
    return (enum stats_kind)atomic_load_explicit(&entry->kind, memory_order_relaxed);
}

static struct stats_entry *dropped(struct stats_segment *segment)
{
    if (segment->dropped)
        md_ctr_add_shared(segment->dropped, 1);
    return &segment->spare;
}

static struct stats_entry *free_entry(struct stats_segment *segment)
{
    for (uint32_t i = segment->entry_hint; i < segment->header->entry_count; i++) {
        if (kind_of(&segment->entries[i]) == STATS_KIND_FREE) {
            segment->entry_hint = i + 1;
            return &segment->entries[i];
        }
    }
    segment->entry_hint = segment->header->entry_count;
    return NULL;
}

/* A free slot of a table, now used, or -1. */
static int64_t take_slot(uint8_t *is_used, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_used[i]) {
            is_used[i] = 1;
            return i;
        }
    }
    return -1;
}

/* The slot behind an entry that needs one, made ready; 0 for those that need none; -1: none left.
 */
static int64_t prepare_slot(struct stats_segment *segment, enum stats_kind kind)
{
    int64_t slot = 0;

    if (kind == STATS_KIND_STRING) {
        slot = take_slot(segment->is_string_used, segment->header->string_count);
        if (slot >= 0)
            put_text(segment->strings[slot].words, STATS_STRING_BYTES, "");
    } else if (kind == STATS_KIND_HISTOGRAM) {
        slot = take_slot(segment->is_histogram_used, segment->header->histogram_count);
        if (slot >= 0)
            md_hist_init(&segment->histograms[slot]);
    }
    return slot;
}

static void give_slot(struct stats_segment *segment, enum stats_kind kind, uint64_t slot)
{
    if (kind == STATS_KIND_STRING)
        segment->is_string_used[slot] = 0;
    else if (kind == STATS_KIND_HISTOGRAM)
        segment->is_histogram_used[slot] = 0;
}

/* Readers need not look behind it. */
static void note_used(struct stats_segment *segment, const struct stats_entry *entry)
{
    uint64_t used = (uint64_t)(entry - segment->entries) + 1;
    _Atomic uint64_t *most = &segment->entries[0].used;

    if (used > atomic_load_explicit(most, memory_order_relaxed))
        atomic_store_explicit(most, used, memory_order_release);
}

static struct stats_entry *add_new(struct stats_segment *segment, enum stats_kind kind,
                                   const char *path)
{
    struct stats_entry *entry = free_entry(segment);

    if (!entry)
        return dropped(segment);
    change_begin(segment);
    int64_t slot = prepare_slot(segment, kind);
    if (slot >= 0) {
        put_text(entry->path, STATS_PATH_BYTES, path);
        md_ctr_set(&entry->value, (uint64_t)slot);
        md_ctr_set(&entry->aux, 0);
        atomic_store_explicit(&entry->flags, 0, memory_order_relaxed);
        atomic_store_explicit(&entry->kind, (uint32_t)kind, memory_order_release);
        note_used(segment, entry);
    }
    change_end(segment);
    if (slot < 0 ||
        md_table_put(segment->by_path, entry_path(entry), strlen(path), entry) != MD_OK) {
        segment->entry_hint = (uint32_t)(entry - segment->entries);
        atomic_store_explicit(&entry->kind, STATS_KIND_FREE, memory_order_release);
        if (slot >= 0)
            give_slot(segment, kind, (uint64_t)slot);
        return dropped(segment);
    }
    return entry;
}

struct stats_entry *stats_entry_add(struct stats_segment *segment, enum stats_kind kind,
                                    const char *path)
{
    size_t length = strlen(path);
    struct stats_entry *entry;

    pthread_mutex_lock(&segment->lock);
    if (length == 0 || length >= STATS_PATH_BYTES) {
        entry = dropped(segment);
    } else {
        entry = md_table_get(segment->by_path, path, length);
        if (!entry)
            entry = add_new(segment, kind, path);
        else if (kind_of(entry) != kind)
            entry = dropped(segment);
    }
    pthread_mutex_unlock(&segment->lock);
    return entry;
}

struct stats_entry *stats_entry_addf(struct stats_segment *segment, enum stats_kind kind,
                                     const char *format, ...)
{
    char path[STATS_PATH_BYTES + 1];
    va_list args;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args); /* one byte too long is seen, and dropped */
    va_end(args);
    return stats_entry_add(segment, kind, path);
}

void stats_entry_remove(struct stats_segment *segment, struct stats_entry *entry)
{
    if (!entry || entry == &segment->spare)
        return;
    pthread_mutex_lock(&segment->lock);
    enum stats_kind kind = kind_of(entry);
    if (kind != STATS_KIND_FREE) {
        uint32_t at = (uint32_t)(entry - segment->entries);
        md_table_remove(segment->by_path, entry_path(entry), strlen(entry_path(entry)));
        change_begin(segment);
        give_slot(segment, kind, md_ctr_get(&entry->value));
        atomic_store_explicit(&entry->kind, STATS_KIND_FREE, memory_order_release);
        put_text(entry->path, STATS_PATH_BYTES, "");
        change_end(segment);
        if (at < segment->entry_hint)
            segment->entry_hint = at;
    }
    pthread_mutex_unlock(&segment->lock);
}

struct md_ctr *stats_counter(struct stats_segment *segment, const char *path)
{
    return &stats_entry_add(segment, STATS_KIND_COUNTER, path)->value;
}

struct stats_entry *stats_string_add(struct stats_segment *segment, const char *path,
                                     const char *text)
{
    struct stats_entry *entry = stats_entry_add(segment, STATS_KIND_STRING, path);

    stats_string_set(segment, entry, text);
    return entry;
}

void stats_string_set(struct stats_segment *segment, struct stats_entry *entry, const char *text)
{
    if (!text || entry == &segment->spare)
        return;
    struct stats_string *string = &segment->strings[md_ctr_get(&entry->value)];
    if (strncmp((const char *)string, text, STATS_STRING_BYTES - 1) == 0)
        return;
    pthread_mutex_lock(&segment->lock);
    change_begin(segment);
    put_text(string->words, STATS_STRING_BYTES, text);
    change_end(segment);
    pthread_mutex_unlock(&segment->lock);
}

void stats_segment_each(struct stats_segment *segment,
                        bool (*fn)(void *owner, const char *path, uint64_t value), void *owner)
{
    bool goes_on = true;

    pthread_mutex_lock(&segment->lock);
    for (uint32_t i = 0; goes_on && i < segment->header->entry_count; i++) {
        const struct stats_entry *entry = &segment->entries[i];
        uint32_t kind = atomic_load_explicit(&entry->kind, memory_order_relaxed);
        uint64_t value = md_ctr_get(&entry->value);

        if ((kind == STATS_KIND_COUNTER || kind == STATS_KIND_GAUGE) && value != 0)
            goes_on = fn(owner, entry_path(entry), value);
    }
    pthread_mutex_unlock(&segment->lock);
}

struct md_hist *stats_histogram_add(struct stats_segment *segment, const char *path)
{
    struct stats_entry *entry = stats_entry_add(segment, STATS_KIND_HISTOGRAM, path);

    if (entry == &segment->spare)
        return segment->spare_histogram;
    return &segment->histograms[md_ctr_get(&entry->value)];
}
