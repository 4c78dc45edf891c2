/* record_daemon.c - rmdsrec without a verb: a recorder that lives as the other daemons do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_daemon.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "base/err.h"
#include "daemon/threads.h"
#include "rec.h"
#include "say.h"

static void settle(void *owner)
{
    const struct record_daemon *self = owner;

    daemon_thread_settle(&self->daemon.object, "diskThreadCpu");
}

static int build(void *owner)
{
    struct record_daemon *self = owner;
    struct recorder *recorder = &self->recorder;

    signal(SIGXFSZ, SIG_IGN); /* a limit of a file's size is as a full disk */
    itemlist_init(&recorder->list);
    recorder->feed.loop = self->daemon.loop;
    daemon_memory_configure(&self->memory, &self->daemon.object);
    if (record_conf_read(self) != MD_OK || record_conf_plan(self) != MD_OK)
        return MD_EXIT_CONFIG;
    recorder->disk_config.settle = settle;
    recorder->disk_config.owner = self;
    if (shown_join(self->daemon.stats, &recorder->shown) != 0 || recorder_start(recorder) != MD_OK)
        return MD_EXIT_FILE;
    return -1;
}

static void take_down(void *owner)
{
    struct record_daemon *self = owner;
    struct recorder *recorder = &self->recorder;
    struct rec_keeper_stats kept = { .full_service = "" };
    struct recorder_figures figures = { 0 };
    struct disk_stats disk = { 0 };

    recorder_finish(recorder);
    if (recorder->feed.keeper)
        rec_keeper_stats(recorder->feed.keeper, &kept);
    recorder_figures(recorder, &figures);
    if (recorder->disk)
        disk_stats(recorder->disk, &disk);
    if (self->daemon.is_started)
        md_log(MD_LOG_NOTICE,
               "recorded %" PRIu64 " messages of %u items into %" PRIu64 " files, %" PRIu64
               " bytes; lost %" PRIu64 " messages, %" PRIu64 " chunks",
               kept.messages, figures.items, disk.files, disk.bytes, kept.lost, disk.failed_chunks);
    shown_close(recorder->shown);
    recorder_fini(recorder);
}

static void stop(void *owner)
{
    struct record_daemon *self = owner;

    recorder_stop(&self->recorder);
}

static bool beat(void *owner)
{
    struct record_daemon *self = owner;
    char path[RECORD_PATH_MAX + 16];

    daemon_memory_beat(&self->memory);
    disk_path(self->recorder.disk, path, sizeof(path));
    shown_file_set(self->recorder.shown, path);
    return true;
}

/* ---- orders ---- */

struct change {
    struct record_daemon *self;
    struct md_conf_object object;
};

static void commit(void *fresh)
{
    struct change *change = fresh;

    record_conf_take(&change->self->recorder, &change->object);
    free(change);
}

static void reload(void *owner, struct daemon_reload *reload)
{
    struct change *change = calloc(1, sizeof(*change));

    if (!change) {
        daemon_reload_refuse(reload, "no memory");
        return;
    }
    change->self = owner;
    change->object = reload->object;
    daemon_reload_add(reload, &(struct daemon_reload_step){ commit, free, change });
}

static void rotate(void *owner, struct daemon_request *request)
{
    struct record_daemon *self = owner;
    char path[RECORD_PATH_MAX + 16];
    struct disk_stats disk;

    disk_path(self->recorder.disk, path, sizeof(path));
    disk_stats(self->recorder.disk, &disk);
    if (disk.file_chunks + disk.waiting == 0 && !self->recorder.writer.chunk) {
        daemon_request_refuse(request, "%s has no message yet", path[0] ? path : "the file");
        return;
    }
    recorder_rotate(&self->recorder);
    daemon_text_add(daemon_request_text(request),
                    "%s ends with what it has; the next message begins another file\n",
                    path[0] ? path : "a file that could not be begun");
    daemon_request_done(request, "another file begins with the next message");
}

static const struct daemon_verb verbs[] = {
    { "rotate", "", "another file, from the next message on", 0, true, rotate },
};

static int build_and_listen(void *owner)
{
    struct record_daemon *self = owner;
    int code = build(owner);

    if (code < 0)
        daemon_admin_open(&self->daemon, verbs, sizeof(verbs) / sizeof(verbs[0]), self);
    return code;
}

int record_daemon_main(int argc, char **argv)
{
    static const struct md_program program = {
        .name = PROGRAM,
        .section = 1,
        .summary = PROGRAM " - records market data by rmds.cnf, as a daemon",
    };
    static struct record_daemon self;
    const struct daemon_hooks hooks = {
        .owner = &self,
        .build = build_and_listen,
        .take_down = take_down,
        .reload = reload,
        .beat = beat,
        .can_serve = record_troubles_look,
        .stop = stop,
        .tell = record_troubles_tell,
    };

    rec_is_daemon = true;
    return daemon_main(&self.daemon, &program, &hooks, argc, argv);
}
