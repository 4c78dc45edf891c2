/* reader.c - see stats/reader.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "stats/segment.h"

#define TRIES 100

struct stats_reader {
    const struct stats_header *mapped;
    size_t bytes;               /* 0: it is not ours to unmap */
    struct stats_header header; /* checked at open; the fields that do not change */
    uint64_t *copy;             /* of everything behind the header */
    ino_t inode;
    char path[PATH_MAX];
};

static uint64_t entries_bytes(const struct stats_header *header)
{
    return (uint64_t)header->entry_count * STATS_ENTRY_BYTES;
}

static uint64_t strings_bytes(const struct stats_header *header)
{
    return (uint64_t)header->string_count * STATS_STRING_BYTES;
}

static bool is_sound(const struct stats_header *header, size_t bytes)
{
    uint64_t need = STATS_HEADER_BYTES + entries_bytes(header) + strings_bytes(header) +
                    (uint64_t)header->histogram_count * sizeof(struct md_hist);

    return memcmp(header->magic, STATS_MAGIC, sizeof(header->magic)) == 0 &&
           header->version == STATS_VERSION && header->entry_bytes == STATS_ENTRY_BYTES &&
           header->total_bytes <= bytes && need <= header->total_bytes;
}

static int map_reader(struct stats_reader *reader)
{
    struct stat st;
    int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return errno == ENOENT ? MD_ERR_NOT_FOUND : MD_ERR_SYS;
    if (fstat(fd, &st) != 0) {
        close(fd);
        return MD_ERR_SYS;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)STATS_HEADER_BYTES || st.st_size > UINT32_MAX) {
        close(fd);
        return MD_ERR_MALFORMED;
    }
    reader->bytes = (size_t)st.st_size;
    reader->inode = st.st_ino;
    void *at = mmap(NULL, reader->bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return MD_ERR_SYS;
    reader->mapped = at;
    memcpy(&reader->header, at, sizeof(reader->header));
    return is_sound(&reader->header, reader->bytes) ? MD_OK : MD_ERR_MALFORMED;
}

static int make_copy(struct stats_reader *reader)
{
    reader->copy = malloc(reader->header.total_bytes - STATS_HEADER_BYTES);
    return reader->copy ? MD_OK : MD_ERR_NOMEM;
}

int stats_reader_attach(const struct stats_segment *segment, struct stats_reader **out)
{
    *out = NULL;
    struct stats_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return MD_ERR_NOMEM;
    reader->mapped = stats_segment_header(segment);
    memcpy(&reader->header, reader->mapped, sizeof(reader->header));
    if (make_copy(reader) != MD_OK) {
        stats_reader_close(reader);
        return MD_ERR_NOMEM;
    }
    (void)stats_reader_refresh(reader);
    *out = reader;
    return MD_OK;
}

int stats_reader_open(const char *shm_dir, const char *name, struct stats_reader **out)
{
    *out = NULL;
    struct stats_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return MD_ERR_NOMEM;
    int length = snprintf(reader->path, sizeof(reader->path), "%s/%s", shm_dir, name);
    int err = (size_t)length < sizeof(reader->path) ? map_reader(reader) : MD_ERR_RANGE;
    if (!err)
        err = make_copy(reader);
    if (err) {
        stats_reader_close(reader);
        return err;
    }
    (void)stats_reader_refresh(reader);
    *out = reader;
    return MD_OK;
}

void stats_reader_close(struct stats_reader *reader)
{
    if (!reader)
        return;
    if (reader->mapped && reader->bytes > 0) {
        void *at;
        memcpy(&at, &reader->mapped, sizeof(at)); /* munmap wants it without const */
        munmap(at, reader->bytes);
    }
    free(reader->copy);
    free(reader);
}

const char *stats_liveness_name(enum stats_liveness liveness)
{
    switch (liveness) {
    case STATS_ALIVE:
        return "alive";
    case STATS_HUNG:
        return "hung";
    case STATS_DEAD:
        return "dead";
    }
    return "unknown";
}

static uint64_t generation(const struct stats_reader *reader)
{
    return atomic_load_explicit(&reader->mapped->generation, memory_order_acquire);
}

static void copy_words(const struct stats_reader *reader, uint64_t from, uint64_t to)
{
    const _Atomic uint64_t *words =
        (const _Atomic uint64_t *)(const void *)((const uint8_t *)reader->mapped +
                                                 STATS_HEADER_BYTES);

    for (uint64_t i = from / 8; i < to / 8; i++)
        reader->copy[i] = atomic_load_explicit(&words[i], memory_order_acquire);
}

static const struct stats_entry *entry_at(const struct stats_reader *reader, size_t i)
{
    return (const struct stats_entry *)(const void *)reader->copy + i;
}

/* Only histograms in use are copied: the pages of the others are not even there. */
static void copy_histograms(const struct stats_reader *reader)
{
    uint64_t start = entries_bytes(&reader->header) + strings_bytes(&reader->header);

    for (uint32_t i = 0; i < reader->header.entry_count; i++) {
        const struct stats_entry *entry = entry_at(reader, i);
        uint64_t number = md_ctr_get(&entry->value);
        if (atomic_load_explicit(&entry->kind, memory_order_relaxed) != STATS_KIND_HISTOGRAM ||
            number >= reader->header.histogram_count)
            continue;
        uint64_t at = start + number * sizeof(struct md_hist);
        copy_words(reader, at, at + sizeof(struct md_hist));
    }
}

int stats_reader_refresh(struct stats_reader *reader)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = generation(reader);
        copy_words(reader, 0, entries_bytes(&reader->header) + strings_bytes(&reader->header));
        copy_histograms(reader);
        if (before % 2 == 0 && generation(reader) == before)
            return MD_OK;
    }
    return MD_ERR_AGAIN;
}

bool stats_reader_next(const struct stats_reader *reader, size_t *at, struct stats_value *out)
{
    const uint8_t *strings = (const uint8_t *)reader->copy + entries_bytes(&reader->header);
    const uint8_t *histograms = strings + strings_bytes(&reader->header);

    while (*at < reader->header.entry_count) {
        const struct stats_entry *entry = entry_at(reader, (*at)++);
        uint32_t kind = atomic_load_explicit(&entry->kind, memory_order_relaxed);
        uint64_t value = md_ctr_get(&entry->value);
        const char *path = (const char *)entry;

        if (kind == STATS_KIND_FREE || kind > STATS_KIND_HISTOGRAM ||
            !memchr(path, '\0', STATS_PATH_BYTES))
            continue;
        *out = (struct stats_value){ .path = path,
                                     .kind = (enum stats_kind)kind,
                                     .flags = atomic_load(&entry->flags),
                                     .value = value,
                                     .aux = md_ctr_get(&entry->aux) };
        if (kind == STATS_KIND_STRING) {
            const uint8_t *text = strings + value % (1ull << 32) * STATS_STRING_BYTES;
            if (value >= reader->header.string_count || !memchr(text, '\0', STATS_STRING_BYTES))
                continue;
            out->text = (const char *)text;
        } else if (kind == STATS_KIND_HISTOGRAM) {
            if (value >= reader->header.histogram_count)
                continue;
            out->hist = (const struct md_hist *)(const void *)histograms + value;
        }
        return true;
    }
    return false;
}

bool stats_reader_find(const struct stats_reader *reader, const char *path, struct stats_value *out)
{
    size_t at = 0;

    while (stats_reader_next(reader, &at, out)) {
        if (strcmp(out->path, path) == 0)
            return true;
    }
    *out = (struct stats_value){ 0 };
    return false;
}

pid_t stats_reader_pid(const struct stats_reader *reader)
{
    return (pid_t)reader->header.pid;
}

uint64_t stats_reader_start_ns(const struct stats_reader *reader)
{
    return reader->header.start_ns;
}

uint64_t stats_reader_heartbeat_ns(const struct stats_reader *reader)
{
    return atomic_load_explicit(&reader->mapped->heartbeat_ns, memory_order_relaxed);
}

bool stats_reader_is_replaced(const struct stats_reader *reader)
{
    struct stat st;

    return stat(reader->path, &st) != 0 || st.st_ino != reader->inode;
}

/* It has ended, and nobody has asked how: as in a container whose first process is no init. */
static bool is_zombie(pid_t pid)
{
    char path[32], text[512];

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") Z", 3) == 0;
}

enum stats_liveness stats_reader_liveness(const struct stats_reader *reader, uint64_t now_ns)
{
    uint64_t heartbeat = stats_reader_heartbeat_ns(reader);

    if (kill(stats_reader_pid(reader), 0) != 0 && errno == ESRCH)
        return STATS_DEAD;
    if (now_ns <= heartbeat || now_ns - heartbeat <= STATS_HUNG_NS)
        return STATS_ALIVE;
    return is_zombie(stats_reader_pid(reader)) ? STATS_DEAD : STATS_HUNG;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

int stats_segment_list(const char *shm_dir, char (*names)[STATS_NAME_BYTES], int max)
{
    DIR *dir = opendir(shm_dir);
    int count = 0;

    if (!dir)
        return MD_ERR_SYS;
    for (struct dirent *file = readdir(dir); file; file = readdir(dir)) {
        size_t length = strlen(file->d_name);
        bool is_new = length > 4 && strcmp(file->d_name + length - 4, ".new") == 0;
        if (strncmp(file->d_name, "rmds.", 5) != 0 || is_new || length >= STATS_NAME_BYTES)
            continue;
        if (count < max)
            memcpy(names[count], file->d_name, length + 1);
        count++;
    }
    closedir(dir);
    qsort(names, (size_t)(count < max ? count : max), sizeof(names[0]), compare_names);
    return count;
}
