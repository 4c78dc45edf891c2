/* disk.c - see disk.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "say.h"

#define CHUNKS_MAX 4096u
#define PARTS_MAX  100000u /* of a series */
#define PATH_BYTES 4096u

struct queue {
    struct rec_chunk *chunks[CHUNKS_MAX];
    unsigned first, count;
};

struct disk {
    struct disk_config config;
    struct md_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct queue empty, full; /* under the lock, as is_over and stats */
    bool is_over;
    struct disk_stats stats;
    char path[PATH_BYTES];  /* of the file, under the lock */
    char tried[PATH_BYTES]; /* the last one that was to be begun; so, too */
    /* Of the thread: */
    struct rec_file *file;
    int fd; /* -1: no file could be begun */
    uint64_t length, series, synced_ns, looked_ns;
    uint32_t part;
    uint64_t files; /* begun */
    int error;
    struct rec_file_stats counted; /* of this file, in stats */
};

static void push(struct queue *queue, struct rec_chunk *chunk)
{
    queue->chunks[(queue->first + queue->count++) % CHUNKS_MAX] = chunk;
}

static struct rec_chunk *pop(struct queue *queue)
{
    if (queue->count == 0)
        return NULL;
    struct rec_chunk *chunk = queue->chunks[queue->first];
    queue->first = (queue->first + 1) % CHUNKS_MAX;
    queue->count--;
    return chunk;
}

/* ---- the side that records ---- */

static struct rec_chunk *take(void *context)
{
    struct disk *disk = context;

    pthread_mutex_lock(&disk->lock);
    struct rec_chunk *chunk = pop(&disk->empty);
    pthread_mutex_unlock(&disk->lock);
    return chunk;
}

static void give(void *context, struct rec_chunk *chunk)
{
    struct disk *disk = context;

    pthread_mutex_lock(&disk->lock);
    push(&disk->full, chunk);
    disk->stats.waiting = disk->full.count;
    if (disk->full.count > disk->stats.waiting_max)
        disk->stats.waiting_max = disk->full.count;
    pthread_cond_signal(&disk->more);
    pthread_mutex_unlock(&disk->lock);
}

const struct rec_writer_ops disk_ops = { take, give };

void disk_stats(struct disk *disk, struct disk_stats *out)
{
    pthread_mutex_lock(&disk->lock);
    *out = disk->stats;
    pthread_mutex_unlock(&disk->lock);
}

void disk_path(struct disk *disk, char *out, size_t size)
{
    pthread_mutex_lock(&disk->lock);
    snprintf(out, size, "%s", disk->path);
    pthread_mutex_unlock(&disk->lock);
}

void disk_tried(struct disk *disk, char *out, size_t size)
{
    pthread_mutex_lock(&disk->lock);
    snprintf(out, size, "%s", disk->tried);
    pthread_mutex_unlock(&disk->lock);
}

/* ---- the thread ---- */

/* All of it or none: what was written of a block is taken back. */
static int write_block(void *context, const uint8_t *head, size_t head_length, const uint8_t *bytes,
                       size_t length)
{
    struct disk *disk = context;
    struct iovec parts[2] = {
        { (void *)(uintptr_t)head, head_length },
        { (void *)(uintptr_t)bytes, length },
    };
    size_t done = 0, all = head_length + length;

    while (done < all) {
        ssize_t n = done < head_length ? writev(disk->fd, parts, 2)
                                       : write(disk->fd, bytes + (done - head_length), all - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            disk->error = n < 0 ? errno : ENOSPC;
            if (ftruncate(disk->fd, (off_t)disk->length) == 0)
                (void)lseek(disk->fd, (off_t)disk->length, SEEK_SET);
            return disk->error == ENOSPC ? MD_ERR_FULL : MD_ERR_SYS;
        }
        done += (size_t)n;
        if (done < head_length) {
            parts[0].iov_base = (uint8_t *)(uintptr_t)head + done;
            parts[0].iov_len = head_length - done;
        }
    }
    disk->length += all;
    disk->error = 0;
    return MD_OK;
}

/* day.rrec, then day.1.rrec */
static void name_of(const struct disk *disk, char *out, size_t size)
{
    const char *path = disk->config.path;
    const char *dot = strrchr(path, '.');

    if (!dot || strchr(dot, '/'))
        dot = path + strlen(path);
    if (disk->part == 0)
        snprintf(out, size, "%s", path);
    else
        snprintf(out, size, "%.*s.%u%s", (int)(dot - path), path, disk->part, dot);
}

/* False: disk->error says why. */
static bool open_file(struct disk *disk)
{
    char path[PATH_BYTES];
    uint64_t identity;
    struct rec_file_info info = {
        .mono_ns = md_clock_mono_ns(),
        .wall_ns = md_clock_wall_ns(),
        .series = disk->series,
        .part = disk->part,
        .program = rwf_text("rmdsrec " RMDS_VERSION),
        .source = rwf_text(disk->config.source),
    };

    name_of(disk, path, sizeof(path));
    if (getrandom(&identity, sizeof(identity), 0) != (ssize_t)sizeof(identity))
        identity = info.wall_ns;
    disk->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    /* A file of an earlier series is passed by; the first one is refused to the user of a verb. */
    while (disk->fd < 0 && errno == EEXIST && (disk->part > 0 || disk->config.is_patient) &&
           disk->part < PARTS_MAX) {
        info.part = ++disk->part;
        name_of(disk, path, sizeof(path));
        disk->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    }
    if (disk->fd < 0)
        disk->error = errno;
    pthread_mutex_lock(&disk->lock);
    snprintf(disk->tried, sizeof(disk->tried), "%s", path);
    pthread_mutex_unlock(&disk->lock);
    if (disk->fd < 0)
        return false;
    (void)fchmod(disk->fd, 0640);
    disk->length = 0;
    if (rec_file_start(disk->file, identity, &info) != MD_OK) {
        (void)close(disk->fd);
        (void)unlink(path);
        disk->fd = -1;
        return false;
    }
    disk->part++;
    disk->files++;
    pthread_mutex_lock(&disk->lock);
    snprintf(disk->path, sizeof(disk->path), "%s", path);
    pthread_mutex_unlock(&disk->lock);
    if (rec_is_daemon)
        md_log(MD_LOG_NOTICE, "recording into %s", path);
    return true;
}

static void count(struct disk *disk, const struct rec_chunk *lost)
{
    struct rec_file_stats now = { 0 };

    if (disk->fd >= 0)
        rec_file_stats(disk->file, &now);
    pthread_mutex_lock(&disk->lock);
    struct disk_stats *stats = &disk->stats;
    stats->bytes += now.bytes - disk->counted.bytes;
    stats->chunks += now.chunks - disk->counted.chunks;
    if (now.chunks > disk->counted.chunks)
        stats->last_ns = md_clock_wall_ns();
    stats->records += now.records - disk->counted.records;
    stats->failed_chunks += lost != NULL;
    stats->failed_records += lost ? lost->records : 0;
    stats->file_bytes = now.bytes;
    stats->file_chunks = now.chunks;
    stats->files = disk->files;
    stats->error = disk->error;
    pthread_mutex_unlock(&disk->lock);
    disk->counted = now;
}

static void close_file(struct disk *disk)
{
    if (disk->fd < 0)
        return;
    (void)rec_file_end(disk->file);
    count(disk, NULL);
    if (disk->config.syncs_chunks || disk->config.sync_ns)
        (void)fdatasync(disk->fd);
    (void)close(disk->fd);
    disk->fd = -1;
}

static void sync_file(struct disk *disk)
{
    uint64_t now_ns = md_clock_mono_ns();

    if (disk->config.syncs_chunks ||
        (disk->config.sync_ns && now_ns - disk->synced_ns >= disk->config.sync_ns)) {
        (void)fdatasync(disk->fd);
        disk->synced_ns = now_ns;
    }
}

static void write_chunk(struct disk *disk, const struct rec_chunk *chunk)
{
    if (chunk->starts_file && disk->files > 0 && disk->counted.chunks > 0) {
        close_file(disk);
        disk->counted = (struct rec_file_stats){ 0 };
    }
    if (disk->fd < 0) {
        disk->counted = (struct rec_file_stats){ 0 };
        (void)open_file(disk);
    }
    bool is_written = disk->fd >= 0 && rec_file_add(disk->file, chunk) == MD_OK;
    if (is_written)
        sync_file(disk);
    count(disk, is_written ? NULL : chunk);
}

/* Each second; a file system that hangs must hold up this thread alone. Without the lock. */
static void look_for_room(struct disk *disk)
{
    uint64_t now_ns = md_clock_mono_ns();
    const char *slash = strrchr(disk->config.path, '/');
    char folder[PATH_BYTES] = ".";
    struct statvfs info;

    if (now_ns - disk->looked_ns < MD_NS_PER_S)
        return;
    disk->looked_ns = now_ns;
    if (slash)
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - disk->config.path + 1),
                 disk->config.path);
    bool is_known = statvfs(folder, &info) == 0;
    uint64_t room = is_known ? (uint64_t)info.f_bavail * info.f_frsize : UINT64_MAX;
    pthread_mutex_lock(&disk->lock);
    disk->stats.free = room;
    pthread_mutex_unlock(&disk->lock);
    if (disk->fd < 0 && disk->config.is_patient) {
        disk->counted = (struct rec_file_stats){ 0 };
        (void)open_file(disk);
        count(disk, NULL);
    }
}

/* Under the lock. */
static void wait_a_second(struct disk *disk)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    (void)pthread_cond_timedwait(&disk->more, &disk->lock, &until);
}

static void *run(void *argument)
{
    struct disk *disk = argument;

    (void)pthread_setname_np(pthread_self(), "disk");
    if (disk->config.settle)
        disk->config.settle(disk->config.owner);
    md_thread_settled(&disk->thread);
    for (;;) {
        look_for_room(disk);
        pthread_mutex_lock(&disk->lock);
        struct rec_chunk *chunk = pop(&disk->full);
        disk->stats.waiting = disk->full.count;
        bool is_over = !chunk && disk->is_over;
        if (!chunk && !is_over) {
            disk->stats.busy_ns = 0;
            wait_a_second(disk);
        }
        disk->stats.busy_ns = md_clock_mono_ns();
        pthread_mutex_unlock(&disk->lock);
        if (is_over)
            return NULL;
        if (!chunk)
            continue;
        write_chunk(disk, chunk);
        pthread_mutex_lock(&disk->lock);
        push(&disk->empty, chunk);
        pthread_mutex_unlock(&disk->lock);
    }
}

static bool make(struct disk *disk)
{
    const struct rec_disk ops = { disk, write_block };

    for (unsigned i = 0; i < disk->config.chunks; i++) {
        struct rec_chunk *chunk;
        if (rec_chunk_create(&chunk) != MD_OK)
            return false;
        push(&disk->empty, chunk);
    }
    return rec_file_create(disk->config.level, &ops, &disk->file) == MD_OK;
}

bool disk_start(const struct disk_config *config, struct disk **out)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    pthread_condattr_t monotonic;

    *out = disk;
    if (!disk)
        return false;
    disk->config = *config;
    disk->stats.free = UINT64_MAX;
    if (disk->config.chunks > CHUNKS_MAX)
        disk->config.chunks = CHUNKS_MAX;
    disk->fd = -1;
    disk->series = md_clock_wall_ns();
    (void)pthread_mutex_init(&disk->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&disk->more, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (!make(disk)) {
        rec_say(MD_LOG_ERROR, "no memory for %u chunks of 1 MiB", config->chunks);
        return false;
    }
    if (!open_file(disk) && !config->is_patient) {
        rec_say(MD_LOG_ERROR, "cannot begin %s: %s", config->path, strerror(disk->error));
        return false;
    }
    count(disk, NULL);
    if (md_thread_start(&disk->thread, run, disk) != MD_OK) {
        rec_say(MD_LOG_ERROR, "no thread: %s", strerror(errno));
        return false;
    }
    return true;
}

void disk_stop(struct disk *disk)
{
    if (!disk || !disk->thread.is_started)
        return;
    pthread_mutex_lock(&disk->lock);
    disk->is_over = true;
    pthread_cond_signal(&disk->more);
    pthread_mutex_unlock(&disk->lock);
    md_thread_join(&disk->thread);
    close_file(disk);
}

void disk_destroy(struct disk *disk)
{
    struct rec_chunk *chunk;

    if (!disk)
        return;
    while ((chunk = pop(&disk->empty)) != NULL || (chunk = pop(&disk->full)) != NULL)
        rec_chunk_destroy(chunk);
    rec_file_destroy(disk->file);
    if (disk->fd >= 0)
        (void)close(disk->fd);
    pthread_mutex_destroy(&disk->lock);
    pthread_cond_destroy(&disk->more);
    free(disk);
}
