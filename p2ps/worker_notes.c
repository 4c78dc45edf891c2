/* worker_notes.c - what a worker's core has noted, as lines of the log. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "mount.h"
#include "worker.h"

static void log_forgotten(const struct p2ps_worker *worker, const struct p2ps_note *note)
{
    int length = (int)note->service.length;
    const char *name = (const char *)note->service.data;

    if (note->makes_room)
        md_log(MD_LOG_WARNING,
               "service %.*s: no src_dist offers it, and there are too many services: deleted from "
               "the directory, worker %u closed %u items",
               length, name, worker->config.index, note->items);
    else
        md_log(MD_LOG_WARNING,
               "service %.*s: no src_dist has offered it for serviceForget: deleted from the "
               "directory, worker %u closed %u items",
               length, name, worker->config.index, note->items);
}

static void log_slow(const struct p2ps_worker *worker, const struct p2ps_note *note)
{
    struct p2ps_client_info client;

    if (!p2ps_client_info(worker->core, note->client, &client) || !client.is_used)
        return;
    const struct p2ps_mount *mount = client.self;
    const char *application = client.application[0] ? client.application : client.application_id;
    if (note->kind == P2PS_NOTE_SLOW)
        md_log(MD_LOG_WARNING, "mount: host=%s application=%s is conflated: %s",
               p2ps_mount_label(mount), application, note->text);
    else
        md_log(MD_LOG_NOTICE, "mount: host=%s application=%s is not conflated any more: %s",
               p2ps_mount_label(mount), application, note->text);
}

static void log_behind(const struct p2ps_worker *worker, const struct p2ps_note *note)
{
    if (note->kind == P2PS_NOTE_BEHIND)
        md_log(MD_LOG_WARNING, "worker %u is behind: %s", worker->config.index, note->text);
    else
        md_log(MD_LOG_NOTICE, "worker %u has caught up: %s", worker->config.index, note->text);
}

/* Every worker hears of every service: one of them says so. */
void p2ps_worker_note(void *owner, const struct p2ps_note *note)
{
    const struct p2ps_worker *worker = owner;
    char state[160];

    if (note->kind == P2PS_NOTE_SLOW || note->kind == P2PS_NOTE_KEEPS_UP)
        log_slow(worker, note);
    if (note->kind == P2PS_NOTE_BEHIND || note->kind == P2PS_NOTE_CAUGHT_UP)
        log_behind(worker, note);
    if (note->kind == P2PS_NOTE_SERVICE && worker->config.index == 0)
        md_log(note->is_up ? MD_LOG_NOTICE : MD_LOG_ERROR,
               "service %.*s is %s, offered by %u src_dist", (int)note->service.length,
               (const char *)note->service.data, note->is_up ? "up" : "down", note->instances);
    if (note->kind == P2PS_NOTE_FORGOTTEN)
        log_forgotten(worker, note);
    if (note->kind == P2PS_NOTE_RELEASED)
        p2ps_service_released(worker, note);
    if (note->kind != P2PS_NOTE_STATE)
        return;
    rwf_state_to_text(&note->state, state, sizeof(state));
    md_log(note->state.data_state == RWF_DATA_SUSPECT ? MD_LOG_WARNING : MD_LOG_NOTICE,
           "service %.*s: worker %u told %u items %s", (int)note->service.length,
           (const char *)note->service.data, worker->config.index, note->items, state);
}

void p2ps_worker_look_behind(struct p2ps_worker *worker, uint64_t now_ns)
{
    struct attach_counters most = { 0 };

    for (unsigned i = 0; i < worker->config.core.network_count; i++) {
        struct attach_counters now;

        attach_counters(worker->networks[i].attach, &now);
        if (now.behind_max && now.behind * most.behind_max >= most.behind * now.behind_max)
            most = now;
    }
    p2ps_core_lag(worker->core, now_ns, most.behind, most.behind_max);
}
