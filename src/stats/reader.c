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
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rundir.h"
#include "stats/segment.h"

/* An owner changes entries within microseconds: looks at its generation, copies in all. */
enum { LOOKS = 200, COPIES = 8 };

struct stats_reader {
    const struct stats_header *memory; /* a segment of this process; NULL: a file */
    int fd;
    size_t bytes;
    struct stats_header header; /* checked at open; the fields that do not change */
    uint64_t *copy;             /* of everything behind the header */
    uint8_t *is_copied;         /* of each histogram, in one copy */
    uint64_t used;              /* entries of the copy: no more were ever in use */
    dev_t device;
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

/* Bytes of the file; what is not there (it was cut short) reads as zero. */
static void read_at(const struct stats_reader *reader, uint64_t at, void *out, size_t bytes)
{
    uint8_t *to = out;

    while (bytes > 0) {
        ssize_t got = pread(reader->fd, to, bytes, (off_t)at);
        if (got <= 0 && errno == EINTR && got < 0)
            continue;
        if (got <= 0)
            break;
        to += got;
        at += (uint64_t)got;
        bytes -= (size_t)got;
    }
    memset(to, 0, bytes);
}

static int examine(struct stats_reader *reader, uid_t folder_owner)
{
    struct stat st;

    if (fstat(reader->fd, &st) != 0)
        return MD_ERR_SYS;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != folder_owner)
        return MD_ERR_EXISTS;
    if (st.st_size < (off_t)STATS_HEADER_BYTES || st.st_size > (off_t)STATS_BYTES_MAX)
        return MD_ERR_MALFORMED;
    reader->bytes = (size_t)st.st_size;
    reader->device = st.st_dev;
    reader->inode = st.st_ino;
    read_at(reader, 0, &reader->header, sizeof(reader->header));
    return is_sound(&reader->header, reader->bytes) ? MD_OK : MD_ERR_MALFORMED;
}

/* O_NONBLOCK: a pipe under the name has no writer to wait for. */
static int open_file(struct stats_reader *reader, const char *run_dir, const char *name)
{
    uid_t folder_owner;
    int folder_fd;
    int length = snprintf(reader->path, sizeof(reader->path), "%s/%s/" STATS_FILE, run_dir, name);

    if ((size_t)length >= sizeof(reader->path))
        return MD_ERR_RANGE;
    int err = md_rundir_visit(run_dir, name, &folder_fd, &folder_owner);
    if (err)
        return err == MD_ERR_SYS && errno == ENOENT ? MD_ERR_NOT_FOUND : err;
    reader->fd =
        openat(folder_fd, STATS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    int error = errno;
    close(folder_fd);
    errno = error;
    if (reader->fd < 0)
        return error == ENOENT ? MD_ERR_NOT_FOUND : error == ELOOP ? MD_ERR_EXISTS : MD_ERR_SYS;
    return examine(reader, folder_owner);
}

static int make_copy(struct stats_reader *reader)
{
    reader->copy = calloc(1, reader->header.total_bytes - STATS_HEADER_BYTES + 8);
    reader->is_copied = calloc(1, (size_t)reader->header.histogram_count + 1);
    return reader->copy && reader->is_copied ? MD_OK : MD_ERR_NOMEM;
}

static struct stats_reader *make_reader(void)
{
    struct stats_reader *reader = calloc(1, sizeof(*reader));

    if (reader)
        reader->fd = -1;
    return reader;
}

int stats_reader_attach(const struct stats_segment *segment, struct stats_reader **out)
{
    *out = NULL;
    struct stats_reader *reader = make_reader();
    if (!reader)
        return MD_ERR_NOMEM;
    reader->memory = stats_segment_header(segment);
    memcpy(&reader->header, reader->memory, sizeof(reader->header));
    if (make_copy(reader) != MD_OK) {
        stats_reader_close(reader);
        return MD_ERR_NOMEM;
    }
    (void)stats_reader_refresh(reader);
    *out = reader;
    return MD_OK;
}

int stats_reader_open(const char *run_dir, const char *name, struct stats_reader **out)
{
    *out = NULL;
    struct stats_reader *reader = make_reader();
    if (!reader)
        return MD_ERR_NOMEM;
    int err = open_file(reader, run_dir, name);
    if (!err)
        err = make_copy(reader);
    if (err) {
        int error = errno;
        stats_reader_close(reader);
        errno = error;
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
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->copy);
    free(reader->is_copied);
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

/* One word of the header that changes, as it is now. */
static uint64_t header_word(const struct stats_reader *reader, const _Atomic uint64_t *word,
                            size_t offset)
{
    uint64_t value;

    if (reader->memory)
        return atomic_load_explicit(word, memory_order_acquire);
    read_at(reader, offset, &value, sizeof(value));
    return value;
}

static uint64_t generation(const struct stats_reader *reader)
{
    const _Atomic uint64_t *word = reader->memory ? &reader->memory->generation : NULL;

    return header_word(reader, word, offsetof(struct stats_header, generation));
}

/* Words `from` to `to`, in bytes behind the header. */
static void copy_words(const struct stats_reader *reader, uint64_t from, uint64_t to)
{
    const void *start = (const uint8_t *)reader->memory + STATS_HEADER_BYTES;
    const _Atomic uint64_t *words = start;

    if (!reader->memory) {
        read_at(reader, STATS_HEADER_BYTES + from, reader->copy + from / 8, (size_t)(to - from));
        return;
    }
    for (uint64_t i = from / 8; i < to / 8; i++)
        reader->copy[i] = atomic_load_explicit(&words[i], memory_order_acquire);
}

static const struct stats_entry *entry_at(const struct stats_reader *reader, size_t i)
{
    return (const struct stats_entry *)(const void *)reader->copy + i;
}

/* Only histograms in use are copied, each once however many entries name it. */
static void copy_histograms(const struct stats_reader *reader)
{
    uint64_t start = entries_bytes(&reader->header) + strings_bytes(&reader->header);

    memset(reader->is_copied, 0, reader->header.histogram_count);
    for (uint64_t i = 0; i < reader->used; i++) {
        const struct stats_entry *entry = entry_at(reader, i);
        uint64_t number = md_ctr_get(&entry->value);
        if (atomic_load_explicit(&entry->kind, memory_order_relaxed) != STATS_KIND_HISTOGRAM ||
            number >= reader->header.histogram_count || reader->is_copied[number])
            continue;
        uint64_t at = start + number * sizeof(struct md_hist);
        copy_words(reader, at, at + sizeof(struct md_hist));
        reader->is_copied[number] = 1;
    }
}

static void copy_all(struct stats_reader *reader)
{
    uint64_t entries = entries_bytes(&reader->header);

    copy_words(reader, 0, entries ? STATS_ENTRY_BYTES : 0);
    reader->used = atomic_load_explicit(&entry_at(reader, 0)->used, memory_order_relaxed);
    if (reader->used == 0 || reader->used > reader->header.entry_count)
        reader->used = reader->header.entry_count;
    copy_words(reader, 0, reader->used * STATS_ENTRY_BYTES);
    copy_words(reader, entries, entries + strings_bytes(&reader->header));
    copy_histograms(reader);
}

int stats_reader_refresh(struct stats_reader *reader)
{
    int copies = 0;

    for (int i = 0; i < LOOKS && copies < COPIES; i++) {
        uint64_t before = generation(reader);
        if (before % 2 != 0)
            continue;
        copy_all(reader);
        copies++;
        if (generation(reader) == before)
            return MD_OK;
    }
    if (copies == 0)
        copy_all(reader);
    return MD_ERR_AGAIN;
}

bool stats_reader_next(const struct stats_reader *reader, size_t *at, struct stats_value *out)
{
    const uint8_t *strings = (const uint8_t *)reader->copy + entries_bytes(&reader->header);
    const uint8_t *histograms = strings + strings_bytes(&reader->header);

    while (*at < reader->used) {
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
    const _Atomic uint64_t *word = reader->memory ? &reader->memory->heartbeat_ns : NULL;

    return header_word(reader, word, offsetof(struct stats_header, heartbeat_ns));
}

bool stats_reader_is_replaced(const struct stats_reader *reader)
{
    struct stat st;

    return lstat(reader->path, &st) != 0 || st.st_ino != reader->inode ||
           st.st_dev != reader->device;
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

    if (stats_reader_pid(reader) <= 0 || (kill(stats_reader_pid(reader), 0) != 0 && errno == ESRCH))
        return STATS_DEAD;
    if (now_ns <= heartbeat || now_ns - heartbeat <= STATS_HUNG_NS)
        return STATS_ALIVE;
    return is_zombie(stats_reader_pid(reader)) ? STATS_DEAD : STATS_HUNG;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* A folder with something under the segment's name; whether it may be read is another matter. */
static bool is_daemon(int run_fd, const char *name)
{
    char path[STATS_NAME_BYTES + sizeof(STATS_FILE) + 1];
    struct stat st;

    if (!md_rundir_is_name(name) || !strchr(name, '.') ||
        fstatat(run_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
        return false;
    snprintf(path, sizeof(path), "%.127s/" STATS_FILE, name);
    return fstatat(run_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno == EACCES;
}

int stats_segment_list(const char *run_dir, char (*names)[STATS_NAME_BYTES], int max)
{
    DIR *dir = opendir(run_dir);
    int count = 0;

    if (!dir)
        return MD_ERR_SYS;
    for (struct dirent *file = readdir(dir); file; file = readdir(dir)) {
        if (!is_daemon(dirfd(dir), file->d_name))
            continue;
        if (count < max)
            snprintf(names[count], STATS_NAME_BYTES, "%.127s", file->d_name);
        count++;
    }
    closedir(dir);
    qsort(names, (size_t)(count < max ? count : max), sizeof(names[0]), compare_names);
    return count;
}
