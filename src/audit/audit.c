/* audit.c - the thread that writes the trail. See audit/audit.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/thread.h"
#include "file.h"
#include "ring.h"

#define PAUSE_NS   (20 * MD_NS_PER_MS)
#define RETRY_NS   MD_NS_PER_S /* after the file has taken nothing; and between two syncs */
#define HEAD_NS    (3600 * MD_NS_PER_S)
#define SAY_NS     (60 * MD_NS_PER_S)
#define BATCH      65536u
#define BATCH_ROOM (BATCH + AUDIT_LINE_MAX)

struct audit {
    struct md_thread thread;
    struct audit_config config;
    struct audit_file file;
    struct audit_chain chain;
    struct audit_ring *rings;
    struct audit_taken *taken;
    char *batch; /* lines that are in the chain and not in the file yet */
    size_t length;
    size_t done; /* of them, bytes in the file */
    uint64_t head_ns, synced_ns, failed_ns, said_ns, rotate_ns;
    bool is_dirty;
    sem_t stop;
    _Atomic bool is_moved;
    _Atomic uint64_t written, lost, errors;
};

static void tell_head(struct audit *audit, const char *when)
{
    md_log(MD_LOG_NOTICE, "audit trail %s: %s, line %" PRIu64 " has SHA-256 %s", audit->file.path,
           when, audit->chain.n, audit->chain.head);
    audit->head_ns = md_clock_mono_ns();
}

/* ---- the file ---- */

static void fail(struct audit *audit, const char *what)
{
    uint64_t now_ns = md_clock_mono_ns();

    atomic_fetch_add_explicit(&audit->errors, 1, memory_order_relaxed);
    if (audit->said_ns == 0 || now_ns - audit->said_ns > SAY_NS) {
        md_log(MD_LOG_ERROR,
               "audit trail %s; records wait in their queues, and are lost when those are full",
               what);
        audit->said_ns = now_ns;
    }
    audit->failed_ns = now_ns;
}

/* False: not now. */
static bool open_again(struct audit *audit)
{
    char why[PATH_MAX + 128];

    if (audit->file.fd >= 0)
        return true;
    char path[PATH_MAX];
    memcpy(path, audit->file.path, sizeof(path));
    if (audit_file_open(&audit->file, path, why, sizeof(why)) == MD_OK)
        return true;
    fail(audit, why);
    return false;
}

/* True: nothing is left to write. */
static bool flush(struct audit *audit)
{
    char what[PATH_MAX + 128];

    if (audit->done == audit->length)
        return true;
    if (audit->failed_ns && md_clock_mono_ns() - audit->failed_ns < RETRY_NS)
        return false;
    if (!open_again(audit))
        return false;
    audit->done +=
        audit_file_write(&audit->file, audit->batch + audit->done, audit->length - audit->done);
    audit->is_dirty = true;
    if (audit->done < audit->length) {
        snprintf(what, sizeof(what), "%s: %s", audit->file.path, strerror(errno));
        fail(audit, what);
        return false;
    }
    audit->done = audit->length = 0;
    audit->failed_ns = audit->said_ns = 0;
    return true;
}

/* A file that cannot be put aside grows on. */
static void put_aside(struct audit *audit)
{
    uint64_t now_ns = md_clock_mono_ns();
    char what[PATH_MAX + 128];

    if (audit->rotate_ns && now_ns - audit->rotate_ns < SAY_NS)
        return;
    if (!audit_file_rotate(&audit->file, audit->config.keep)) {
        snprintf(what, sizeof(what), "%s cannot be put aside: %s", audit->file.path,
                 strerror(errno));
        atomic_fetch_add_explicit(&audit->errors, 1, memory_order_relaxed);
        md_log(MD_LOG_ERROR, "audit trail %s; it grows on", what);
        audit->rotate_ns = now_ns;
        return;
    }
    tell_head(audit, "it is put aside");
    audit->rotate_ns = 0;
    (void)open_again(audit);
}

/* All is written: this is a place between two lines. */
static void tend(struct audit *audit)
{
    uint64_t now_ns = md_clock_mono_ns();

    if (audit->is_dirty && now_ns - audit->synced_ns > RETRY_NS) {
        (void)fdatasync(audit->file.fd);
        audit->synced_ns = now_ns;
        audit->is_dirty = false;
    }
    if (now_ns - audit->head_ns > HEAD_NS)
        tell_head(audit, "it grows");
    if (atomic_exchange_explicit(&audit->is_moved, false, memory_order_relaxed)) {
        audit_file_close(&audit->file);
        (void)open_again(audit);
    }
    if (audit->config.size_max && audit->file.size >= audit->config.size_max)
        put_aside(audit);
}

/* ---- records ---- */

static void count_line(struct audit *audit, size_t length)
{
    audit->length += length;
    atomic_fetch_add_explicit(&audit->written, 1, memory_order_relaxed);
}

/* False: the file does not take what there is. */
static bool has_room(struct audit *audit)
{
    return audit->length < BATCH || flush(audit);
}

static void tell_lost(struct audit *audit, unsigned ring)
{
    uint64_t lost = atomic_exchange_explicit(&audit->rings[ring].lost, 0, memory_order_relaxed);

    if (lost == 0)
        return;
    atomic_fetch_add_explicit(&audit->lost, lost, memory_order_relaxed);
    count_line(audit, audit_chain_lost(&audit->chain, ring, md_clock_wall_ns(), lost,
                                       audit->batch + audit->length));
}

static bool drain(struct audit *audit, unsigned ring)
{
    while (has_room(audit)) {
        if (!audit_ring_take(&audit->rings[ring], audit->taken)) {
            tell_lost(audit, ring);
            return true;
        }
        count_line(audit, audit_chain_record(&audit->chain, ring, audit->taken->wall_ns,
                                             &audit->taken->record, audit->batch + audit->length));
    }
    return false;
}

static void write_all(struct audit *audit)
{
    for (unsigned i = 0; i < audit->config.rings; i++) {
        if (!drain(audit, i))
            return;
    }
    if (flush(audit))
        tend(audit);
}

static bool is_stopped(struct audit *audit)
{
    uint64_t until_ns = md_clock_wall_ns() + PAUSE_NS;
    struct timespec until = { .tv_sec = (time_t)(until_ns / MD_NS_PER_S),
                              .tv_nsec = (long)(until_ns % MD_NS_PER_S) };
    int rc;

    while ((rc = sem_timedwait(&audit->stop, &until)) != 0 && errno == EINTR)
        continue;
    return rc == 0;
}

static void *run(void *argument)
{
    struct audit *audit = argument;

    md_thread_settled(&audit->thread);
    while (!is_stopped(audit))
        write_all(audit);
    audit->failed_ns = 0; /* once more, whatever it said */
    write_all(audit);
    if (audit->file.fd >= 0)
        (void)fdatasync(audit->file.fd);
    return NULL;
}

bool audit_put(struct audit *audit, unsigned ring, const struct entitle_record *record)
{
    return audit_ring_put(&audit->rings[ring], md_clock_wall_ns(), record);
}

bool audit_has_room(const struct audit *audit, unsigned ring)
{
    return audit_ring_has_room(&audit->rings[ring]);
}

void audit_reopen(struct audit *audit)
{
    atomic_store_explicit(&audit->is_moved, true, memory_order_relaxed);
}

void audit_stats(const struct audit *audit, struct audit_stats *out)
{
    *out = (struct audit_stats){
        .written = atomic_load_explicit(&audit->written, memory_order_relaxed),
        .lost = atomic_load_explicit(&audit->lost, memory_order_relaxed),
        .errors = atomic_load_explicit(&audit->errors, memory_order_relaxed),
    };
}

/* ---- life ---- */

/* The last process left a part of a line, or all of it but the newline. */
static void take_part(struct audit *audit, const struct audit_end *end)
{
    audit->batch[0] = '\n';
    audit->length = 1;
    if (audit_chain_follow(&audit->chain, end->part, end->part_length) != NULL)
        count_line(audit, audit_chain_cut(&audit->chain, md_clock_wall_ns(), end->part,
                                          end->part_length, audit->batch + 1));
}

/* The chain goes on where the last process left it. */
static int take_up(struct audit *audit, char *why, size_t size)
{
    struct audit_end end;
    int err = audit_file_end(&audit->file, &end, why, size);

    if (err != MD_OK)
        return err;
    audit->chain = end.chain;
    if (end.part)
        take_part(audit, &end);
    free(end.part);
    return MD_OK;
}

static int take_memory(struct audit *audit)
{
    int err = MD_OK;

    audit->batch = malloc(BATCH_ROOM);
    audit->taken = malloc(sizeof(*audit->taken));
    audit->rings = calloc(audit->config.rings, sizeof(*audit->rings));
    if (!audit->batch || !audit->taken || !audit->rings)
        return MD_ERR_NOMEM;
    for (unsigned i = 0; i < audit->config.rings && err == MD_OK; i++)
        err = audit_ring_init(&audit->rings[i], audit->config.ring_bytes);
    return err;
}

static void give_memory(struct audit *audit)
{
    for (unsigned i = 0; audit->rings && i < audit->config.rings; i++)
        audit_ring_fini(&audit->rings[i]);
    free(audit->rings);
    free(audit->taken);
    free(audit->batch);
    audit_file_close(&audit->file);
    sem_destroy(&audit->stop);
    free(audit);
}

int audit_open(const struct audit_config *config, char *why, size_t size, struct audit **out)
{
    struct audit *audit = calloc(1, sizeof(*audit));

    *out = NULL;
    snprintf(why, size, "%s: no memory, or no thread", config->path);
    if (!audit)
        return MD_ERR_NOMEM;
    audit->config = *config;
    audit->file.fd = -1;
    sem_init(&audit->stop, 0, 0);
    int err = take_memory(audit);
    if (err == MD_OK)
        err = audit_file_open(&audit->file, config->path, why, size);
    if (err == MD_OK)
        err = take_up(audit, why, size);
    if (err == MD_OK) {
        tell_head(audit, "it goes on");
        err = md_thread_start(&audit->thread, run, audit);
    }
    if (err != MD_OK) {
        give_memory(audit);
        return err;
    }
    audit->config.path = audit->file.path;
    *out = audit;
    return MD_OK;
}

void audit_close(struct audit *audit)
{
    if (!audit)
        return;
    sem_post(&audit->stop);
    md_thread_join(&audit->thread);
    if (audit->done < audit->length)
        md_log(MD_LOG_ERROR, "audit trail %s: %zu bytes of lines could not be written",
               audit->file.path, audit->length - audit->done);
    else
        tell_head(audit, "it ends for now");
    give_memory(audit);
}
