/* delay_dir.c - see delay_dir.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delay_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/thread.h"

#define JOBS_MAX   64          /* chunks that wait to be written or removed */
#define WAIT_MAX   (32u << 20) /* their bytes */
#define NAME_BYTES 32
#define CHUNK_LAST 0x7FFFFFFFu

enum work { WORK_WRITE, WORK_REMOVE };

struct job {
    enum work work;
    uint64_t chunk;
    uint8_t *bytes;
    size_t length;
};

struct found {
    uint64_t chunk;
    size_t length;
};

struct delay_dir {
    char path[600];
    struct found *found; /* chunks of earlier lives, in order */
    size_t found_count, found_next;
    int folder, lock_file;
    struct md_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    /* Guarded by the lock. */
    struct job jobs[JOBS_MAX]; /* a ring */
    unsigned first, count;
    size_t waiting; /* bytes */
    bool stops, has_failed;
    bool is_logged;  /* the thread's: the last write failed */
    uint64_t wanted; /* to be read; 0: nothing */
    uint64_t ready;  /* it is in `bytes`; 0: nothing is */
    int ready_err;
    uint8_t *bytes; /* of chunk_max */
    size_t chunk_max, length;
};

static void name_of(uint64_t chunk, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%016" PRIx64 ".chunk", chunk);
}

/* ---- files ---- */

static int write_all(int file, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t n = write(file, bytes + at, length - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MD_ERR_SYS;
        at += (size_t)n;
    }
    return MD_OK;
}

static int write_file(const struct delay_dir *dir, const struct job *job)
{
    char name[NAME_BYTES];

    name_of(job->chunk, name);
    int file = openat(dir->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return MD_ERR_SYS;
    int err = write_all(file, job->bytes, job->length);
    int why = errno;
    if (close(file) != 0 && err == MD_OK) {
        err = MD_ERR_SYS;
        why = errno;
    }
    if (err != MD_OK)
        unlinkat(dir->folder, name, 0);
    errno = why;
    return err;
}

static int read_file(const struct delay_dir *dir, uint64_t chunk, uint8_t *bytes, size_t size,
                     size_t *length)
{
    char name[NAME_BYTES];

    name_of(chunk, name);
    int file = openat(dir->folder, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return MD_ERR_NOT_FOUND;
    *length = 0;
    ssize_t n = 1;
    while (n > 0 && *length < size) {
        n = read(file, bytes + *length, size - *length);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            *length += (size_t)n;
    }
    close(file);
    return n < 0 ? MD_ERR_SYS : MD_OK;
}

static void remove_file(const struct delay_dir *dir, uint64_t chunk)
{
    char name[NAME_BYTES];

    name_of(chunk, name);
    unlinkat(dir->folder, name, 0);
}

/* ---- the thread ---- */

static void do_job(struct delay_dir *dir)
{
    struct job job = dir->jobs[dir->first];

    /* It stays in the ring meanwhile: a chunk that waits is read there. */
    pthread_mutex_unlock(&dir->lock);
    int err = MD_OK;
    if (job.work == WORK_WRITE)
        err = write_file(dir, &job);
    else
        remove_file(dir, job.chunk);
    if (err != MD_OK && !dir->is_logged)
        md_log(MD_LOG_ERROR, "delayDir %s: cannot write: %s; delayed data are lost", dir->path,
               strerror(errno));
    else if (err == MD_OK && job.work == WORK_WRITE && dir->is_logged)
        md_log(MD_LOG_NOTICE, "delayDir %s: can be written again", dir->path);
    if (job.work == WORK_WRITE)
        dir->is_logged = err != MD_OK;
    pthread_mutex_lock(&dir->lock);
    dir->has_failed |= err != MD_OK;
    dir->first = (dir->first + 1) % JOBS_MAX;
    dir->count--;
    dir->waiting -= job.length;
    free(job.bytes);
}

static void do_read(struct delay_dir *dir)
{
    uint64_t chunk = dir->wanted;
    size_t length = 0;

    pthread_mutex_unlock(&dir->lock);
    int err = read_file(dir, chunk, dir->bytes, dir->chunk_max, &length);
    pthread_mutex_lock(&dir->lock);
    dir->ready = chunk;
    dir->ready_err = err;
    dir->length = length;
    dir->wanted = 0;
}

static void *run(void *argument)
{
    struct delay_dir *dir = argument;

    pthread_setname_np(pthread_self(), "delayDir");
    md_thread_settled(&dir->thread);
    pthread_mutex_lock(&dir->lock);
    while (!dir->stops || dir->count > 0) {
        if (dir->wanted != 0)
            do_read(dir);
        else if (dir->count > 0)
            do_job(dir);
        else
            pthread_cond_wait(&dir->news, &dir->lock);
    }
    pthread_mutex_unlock(&dir->lock);
    return NULL;
}

/* ---- for the line ---- */

static int next_chunk(void *context, uint64_t after, uint64_t *chunk, size_t *length)
{
    struct delay_dir *dir = context;

    while (dir->found_next < dir->found_count && dir->found[dir->found_next].chunk <= after)
        dir->found_next++;
    if (dir->found_next == dir->found_count)
        return MD_ERR_NOT_FOUND;
    *chunk = dir->found[dir->found_next].chunk;
    *length = dir->found[dir->found_next].length;
    return MD_OK;
}

/* False: no room. */
static bool put_job(struct delay_dir *dir, const struct job *job)
{
    if (dir->count == JOBS_MAX || dir->waiting + job->length > WAIT_MAX)
        return false;
    dir->jobs[(dir->first + dir->count++) % JOBS_MAX] = *job;
    dir->waiting += job->length;
    pthread_cond_signal(&dir->news);
    return true;
}

static int write_chunk(void *context, uint64_t chunk, const uint8_t *bytes, size_t length)
{
    struct delay_dir *dir = context;
    struct job job = { .work = WORK_WRITE, .chunk = chunk, .length = length };

    job.bytes = malloc(length);
    if (!job.bytes)
        return MD_ERR_NOMEM;
    memcpy(job.bytes, bytes, length);
    pthread_mutex_lock(&dir->lock);
    /* An earlier one could not be written: the line learns it by this one. */
    bool is_put = !dir->has_failed && put_job(dir, &job);
    dir->has_failed = false;
    pthread_mutex_unlock(&dir->lock);
    if (!is_put)
        free(job.bytes);
    return is_put ? MD_OK : MD_ERR_FULL;
}

static bool is_waiting(const struct delay_dir *dir, uint64_t chunk, const struct job **out)
{
    for (unsigned i = 0; i < dir->count; i++) {
        *out = &dir->jobs[(dir->first + i) % JOBS_MAX];
        if ((*out)->work == WORK_WRITE && (*out)->chunk == chunk)
            return true;
    }
    return false;
}

static int take_ready(struct delay_dir *dir, uint8_t *bytes, size_t size, size_t *length)
{
    dir->ready = 0;
    if (dir->ready_err != MD_OK)
        return dir->ready_err;
    if (dir->length > size)
        return MD_ERR_MALFORMED;
    memcpy(bytes, dir->bytes, dir->length);
    *length = dir->length;
    return MD_OK;
}

/* Made for the longest chunk of the line, once. */
static bool has_buffer(struct delay_dir *dir, size_t size)
{
    if (!dir->bytes)
        dir->bytes = malloc(size);
    if (dir->bytes)
        dir->chunk_max = size;
    return dir->bytes != NULL;
}

static int read_chunk(void *context, uint64_t chunk, uint8_t *bytes, size_t size, size_t *length)
{
    struct delay_dir *dir = context;
    const struct job *job;
    int err = MD_ERR_AGAIN;

    pthread_mutex_lock(&dir->lock);
    if (is_waiting(dir, chunk, &job) && job->length <= size) {
        memcpy(bytes, job->bytes, job->length);
        *length = job->length;
        err = MD_OK;
    } else if (dir->ready == chunk) {
        err = take_ready(dir, bytes, size, length);
    } else if (dir->wanted == 0 && has_buffer(dir, size)) {
        dir->ready = 0;
        dir->wanted = chunk;
        pthread_cond_signal(&dir->news);
    }
    pthread_mutex_unlock(&dir->lock);
    return err;
}

static void remove_chunk(void *context, uint64_t chunk)
{
    struct delay_dir *dir = context;
    const struct job job = { .work = WORK_REMOVE, .chunk = chunk };

    pthread_mutex_lock(&dir->lock);
    bool is_put = put_job(dir, &job);
    pthread_mutex_unlock(&dir->lock);
    if (!is_put)
        remove_file(dir, chunk);
}

/* ---- life ---- */

static bool chunk_of(const char *name, uint64_t *chunk)
{
    char again[NAME_BYTES];

    if (sscanf(name, "%16" SCNx64, chunk) != 1 || *chunk == 0 || *chunk > CHUNK_LAST)
        return false;
    name_of(*chunk, again);
    return strcmp(name, again) == 0;
}

static int by_number(const void *a, const void *b)
{
    const struct found *left = a, *right = b;

    return left->chunk < right->chunk ? -1 : left->chunk > right->chunk;
}

static bool grow(struct delay_dir *dir, size_t *room)
{
    if (dir->found_count < *room)
        return true;
    *room = *room ? *room * 2 : 256;
    struct found *found = realloc(dir->found, *room * sizeof(*found));
    if (found)
        dir->found = found;
    return found != NULL;
}

static int find_chunks(struct delay_dir *dir)
{
    DIR *list = opendir(dir->path);
    struct dirent *entry;
    size_t room = 0;
    int err = list ? MD_OK : MD_ERR_SYS;

    while (err == MD_OK && (entry = readdir(list)) != NULL) {
        struct stat info;
        uint64_t chunk;

        if (!chunk_of(entry->d_name, &chunk) || fstatat(dir->folder, entry->d_name, &info, 0) != 0)
            continue;
        if (grow(dir, &room))
            dir->found[dir->found_count++] = (struct found){ chunk, (size_t)info.st_size };
        else
            err = MD_ERR_NOMEM;
    }
    if (list)
        closedir(list);
    if (dir->found_count)
        qsort(dir->found, dir->found_count, sizeof(*dir->found), by_number);
    return err;
}

/* Another process may not have it. */
static int open_folder(struct delay_dir *dir, char *why, size_t size)
{
    if (mkdir(dir->path, 0700) != 0 && errno != EEXIST) {
        snprintf(why, size, "delayDir %s: cannot be made: %s", dir->path, strerror(errno));
        return MD_ERR_SYS;
    }
    dir->folder = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->folder >= 0)
        dir->lock_file = openat(dir->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (dir->lock_file < 0) {
        snprintf(why, size, "delayDir %s: cannot be written: %s", dir->path, strerror(errno));
        return MD_ERR_SYS;
    }
    if (flock(dir->lock_file, LOCK_EX | LOCK_NB) != 0) {
        snprintf(why, size, "delayDir %s: another process uses it", dir->path);
        return MD_ERR_STATE;
    }
    return MD_OK;
}

int delay_dir_open(const char *folder, const char *name, char *why, size_t size,
                   struct delay_dir **out)
{
    struct delay_dir *dir = calloc(1, sizeof(*dir));

    *out = NULL;
    snprintf(why, size, "delayDir %s: no memory", folder);
    if (!dir)
        return MD_ERR_NOMEM;
    dir->folder = dir->lock_file = -1;
    pthread_mutex_init(&dir->lock, NULL);
    pthread_cond_init(&dir->news, NULL);
    int length = snprintf(dir->path, sizeof(dir->path), "%s/%s", folder, name);
    int err = length > 0 && (size_t)length < sizeof(dir->path) ? MD_OK : MD_ERR_RANGE;
    if (err != MD_OK)
        snprintf(why, size, "delayDir %s: the path is too long", folder);
    if (err == MD_OK)
        err = open_folder(dir, why, size);
    if (err == MD_OK)
        err = find_chunks(dir);
    if (err == MD_OK)
        err = md_thread_start(&dir->thread, run, dir);
    if (err == MD_OK)
        *out = dir;
    else
        delay_dir_close(dir);
    return err;
}

void delay_dir_close(struct delay_dir *dir)
{
    if (!dir)
        return;
    pthread_mutex_lock(&dir->lock);
    dir->stops = true;
    pthread_cond_signal(&dir->news);
    pthread_mutex_unlock(&dir->lock);
    md_thread_join(&dir->thread);
    if (dir->lock_file >= 0)
        close(dir->lock_file);
    if (dir->folder >= 0)
        close(dir->folder);
    pthread_cond_destroy(&dir->news);
    pthread_mutex_destroy(&dir->lock);
    free(dir->found);
    free(dir->bytes);
    free(dir);
}

struct delay_disk delay_dir_disk(struct delay_dir *dir)
{
    return (struct delay_disk){ dir, next_chunk, write_chunk, read_chunk, remove_chunk };
}
