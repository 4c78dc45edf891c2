/* history.c - see stats/history.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rundir.h"

struct layout {
    uint8_t magic[8];
    uint32_t version;
    uint32_t sample_bytes;
    uint32_t capacity;
    uint32_t every_ms;
    uint64_t pid;
    _Atomic uint64_t count;
    uint64_t reserved[3];
    struct stats_sample samples[STATS_HISTORY_CAPACITY];
};

_Static_assert(offsetof(struct layout, count) == 32, "layout");
_Static_assert(offsetof(struct layout, samples) == 64, "layout");
_Static_assert(sizeof(struct stats_sample) == 72, "layout");

struct stats_history {
    struct layout *layout;
    int folder_fd; /* -1: private memory */
};

static int make_file(int folder_fd)
{
    (void)unlinkat(folder_fd, STATS_HISTORY_FILE, 0); /* of one that was killed */
    int fd = openat(folder_fd, STATS_HISTORY_FILE,
                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return -1;
    int error = posix_fallocate(fd, 0, sizeof(struct layout)); /* no signal later on a full disk */
    if (error) {
        close(fd);
        (void)unlinkat(folder_fd, STATS_HISTORY_FILE, 0);
        errno = error;
        return -1;
    }
    (void)fchmod(fd, 0640); /* a umask of 077 took the right of the group */
    md_rundir_share(fd);
    return fd;
}

static int map(struct stats_history *history)
{
    int fd = history->folder_fd >= 0 ? make_file(history->folder_fd) : -1;
    int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

    if (fd < 0 && history->folder_fd >= 0)
        return MD_ERR_SYS;
    void *at = mmap(NULL, sizeof(struct layout), PROT_READ | PROT_WRITE, flags, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return MD_ERR_SYS;
    history->layout = at;
    memcpy(history->layout->magic, STATS_HISTORY_MAGIC, sizeof(history->layout->magic));
    history->layout->version = STATS_HISTORY_VERSION;
    history->layout->sample_bytes = sizeof(struct stats_sample);
    history->layout->capacity = STATS_HISTORY_CAPACITY;
    history->layout->every_ms = STATS_HISTORY_EVERY_MS;
    history->layout->pid = (uint64_t)getpid();
    return MD_OK;
}

int stats_history_open(const char *run_dir, const char *name, struct stats_history **out)
{
    struct stats_history *history = calloc(1, sizeof(*history));

    *out = NULL;
    if (!history)
        return MD_ERR_NOMEM;
    history->folder_fd = -1;
    int err = run_dir ? md_rundir_enter(run_dir, name, &history->folder_fd) : MD_OK;
    if (!err)
        err = map(history);
    if (err) {
        int error = errno;
        stats_history_close(history);
        errno = error;
        return err;
    }
    *out = history;
    return MD_OK;
}

void stats_history_close(struct stats_history *history)
{
    if (!history)
        return;
    if (history->layout) {
        munmap(history->layout, sizeof(struct layout));
        if (history->folder_fd >= 0)
            (void)unlinkat(history->folder_fd, STATS_HISTORY_FILE, 0);
    }
    if (history->folder_fd >= 0)
        close(history->folder_fd);
    free(history);
}

void stats_history_add(struct stats_history *history, const struct stats_sample *sample)
{
    uint64_t count = atomic_load_explicit(&history->layout->count, memory_order_relaxed);

    history->layout->samples[count % STATS_HISTORY_CAPACITY] = *sample;
    atomic_store_explicit(&history->layout->count, count + 1, memory_order_release);
}

/* Samples `from` to `to` of the ring, oldest first. */
static unsigned take(const struct stats_sample *ring, uint64_t from, uint64_t to,
                     struct stats_sample *out)
{
    unsigned taken = 0;

    for (uint64_t i = from; i < to; i++)
        out[taken++] = ring[i % STATS_HISTORY_CAPACITY];
    return taken;
}

unsigned stats_history_copy(const struct stats_history *history, struct stats_sample *out)
{
    uint64_t count = atomic_load_explicit(&history->layout->count, memory_order_acquire);
    uint64_t from = count > STATS_HISTORY_CAPACITY ? count - STATS_HISTORY_CAPACITY : 0;

    return take(history->layout->samples, from, count, out);
}

static bool is_ours(const struct layout *layout, int64_t pid)
{
    return memcmp(layout->magic, STATS_HISTORY_MAGIC, sizeof(layout->magic)) == 0 &&
           layout->version == STATS_HISTORY_VERSION && (int64_t)layout->pid == pid &&
           layout->sample_bytes == sizeof(struct stats_sample) &&
           layout->capacity == STATS_HISTORY_CAPACITY;
}

static int examine(int fd, uid_t folder_owner)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return MD_ERR_SYS;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != folder_owner)
        return MD_ERR_EXISTS;
    return st.st_size == (off_t)sizeof(struct layout) ? MD_OK : MD_ERR_MALFORMED;
}

/* The file as it is; then once more its count: what it passed meanwhile is not to be trusted. */
static int read_samples(int fd, int64_t pid, struct stats_sample *out)
{
    struct layout *layout = malloc(sizeof(*layout));
    uint64_t later = 0;
    int taken = MD_ERR_MALFORMED;

    if (!layout)
        return MD_ERR_NOMEM;
    if (pread(fd, layout, sizeof(*layout), 0) == (ssize_t)sizeof(*layout) &&
        pread(fd, &later, sizeof(later), offsetof(struct layout, count)) ==
            (ssize_t)sizeof(later) &&
        is_ours(layout, pid)) {
        uint64_t count = atomic_load_explicit(&layout->count, memory_order_relaxed);
        /* The place behind the newest one may be half written. */
        uint64_t from = later >= STATS_HISTORY_CAPACITY ? later - STATS_HISTORY_CAPACITY + 1 : 0;
        bool is_whole =
            count <= later && count - (from < count ? from : count) <= STATS_HISTORY_CAPACITY;
        taken = is_whole ? (int)take(layout->samples, from, count, out) : MD_ERR_MALFORMED;
    }
    free(layout);
    return taken;
}

int stats_history_read(const char *run_dir, const char *name, int64_t pid, struct stats_sample *out)
{
    uid_t folder_owner;
    int folder_fd;
    int err = md_rundir_visit(run_dir, name, &folder_fd, &folder_owner);

    if (err)
        return err;
    int fd = openat(folder_fd, STATS_HISTORY_FILE,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    close(folder_fd);
    if (fd < 0)
        return MD_ERR_SYS;
    err = examine(fd, folder_owner);
    if (!err)
        err = read_samples(fd, pid, out);
    close(fd);
    return err;
}
