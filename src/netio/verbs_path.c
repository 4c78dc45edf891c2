/* verbs_path.c - one port of the verbs transport: opening, its events, healing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/log.h"
#include "verbs_private.h"

static void say(const struct verbs_io *verbs, int severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(const struct verbs_io *verbs, int severity, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    verbs->config.log(severity, text);
}

static void complain(const struct verbs_io *verbs, struct verbs_path *path, const char *sentence)
{
    if (strcmp(path->trouble, sentence) == 0)
        return;
    snprintf(path->trouble, sizeof(path->trouble), "%s", sentence);
    if (verbs->is_open)
        say(verbs, MD_LOG_ERROR, "%s; tried again each second", sentence);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int watch(struct verbs_io *verbs, struct verbs_path *path)
{
    int fd;

    for (int i = 0; (fd = verbs->device->fd(path->device, i)) >= 0; i++) {
        struct epoll_event event = { .events = EPOLLIN,
                                     .data.u64 =
                                         (uint64_t)(path - verbs->paths) << 8 | (uint64_t)i };

        /* Two ports of one device share a descriptor of events. */
        if (epoll_ctl(verbs->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST)
            return MD_ERR_SYS;
    }
    return 0;
}

/* Another port of the device may watch one of them: it watches again. */
static void unwatch(struct verbs_io *verbs, struct verbs_path *path)
{
    int fd;

    for (int i = 0; (fd = verbs->device->fd(path->device, i)) >= 0; i++)
        (void)epoll_ctl(verbs->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    for (int i = 0; i < verbs_paths(verbs); i++)
        if (&verbs->paths[i] != path && verbs->paths[i].device)
            (void)watch(verbs, &verbs->paths[i]);
}

/* The ring keeps its memory: the caller may still read arrivals of before. */
static int make_ring(struct verbs_io *verbs, struct verbs_path *path, char *why, size_t why_size)
{
    uint32_t bytes = (VERBS_GRH_BYTES + path->info.mtu + 63u) / 64u * 64u;
    uint32_t count = path->info.receive_depth;

    if (path->slots && (bytes != path->slot_bytes || count != path->slot_count)) {
        free(path->slots);
        path->slots = NULL;
    }
    if (!path->slots)
        path->slots = aligned_alloc(4096, ((size_t)bytes * count + 4095) / 4096 * 4096);
    if (!path->slots) {
        snprintf(why, why_size, "out of memory");
        return MD_ERR_NOMEM;
    }
    path->slot_bytes = bytes;
    path->slot_count = count;
    int err = verbs->device->ring(path->device, path->slots, bytes, count, why, why_size);
    for (uint32_t first = 0; !err && first < count; first += VERBS_GIVEN_MAX) {
        uint32_t slots[VERBS_GIVEN_MAX];
        uint32_t n = count - first < VERBS_GIVEN_MAX ? count - first : VERBS_GIVEN_MAX;

        for (uint32_t i = 0; i < n; i++)
            slots[i] = first + i;
        err = verbs->device->post_receive(path->device, slots, (int)n);
        if (err)
            snprintf(why, why_size, "%s refuses receives: %s", path->info.name, strerror(errno));
    }
    return err;
}

static int make_sends(struct verbs_path *path)
{
    free(path->posted);
    path->posted = calloc(path->info.send_depth, sizeof(*path->posted));
    if (!path->handles)
        path->handles = calloc(1, sizeof(*path->handles));
    path->posted_number = path->sent_number = 0;
    return path->posted && path->handles ? 0 : MD_ERR_NOMEM;
}

int verbs_path_memory(struct verbs_io *verbs, struct verbs_path *path,
                      const struct verbs_slab *slab)
{
    return verbs->device->memory(path->device, slab->base, slab->size, verbs->why,
                                 sizeof(verbs->why));
}

int verbs_path_open(struct verbs_io *verbs, int index, char *why, size_t why_size)
{
    struct verbs_path *path = &verbs->paths[index];
    int err =
        verbs->device->open(&verbs->config.paths[index], &path->info, why, why_size, &path->device);

    if (err) {
        path->device = NULL;
        return err;
    }
    if (verbs->payload_max && path->info.mtu < verbs->payload_max) {
        snprintf(why, why_size,
                 "maxPacketSize: packets of %zu bytes, and port %u of %s carries %u; write that, "
                 "or raise the MTU at all hosts and switches",
                 verbs->payload_max, path->info.port, path->info.name, path->info.mtu);
        err = MD_ERR_RANGE;
    }
    if (!err)
        err = make_sends(path);
    if (!err)
        err = make_ring(verbs, path, why, why_size);
    for (int i = 0; !err && i < verbs->slab_count; i++) {
        err = verbs_path_memory(verbs, path, &verbs->slabs[i]);
        if (err)
            snprintf(why, why_size, "%s", verbs->why);
    }
    if (!err)
        err = watch(verbs, path);
    if (err) {
        verbs_path_close(verbs, index);
        return err;
    }
    path->state = VERBS_JOINING;
    path->must_join = path->port_is_down = path->is_broken = false;
    path->retry_ns = UINT64_MAX;
    return 0;
}

/* Sends under way are lost with the queue pair: their memory is the caller's again. */
void verbs_path_close(struct verbs_io *verbs, int index)
{
    struct verbs_path *path = &verbs->paths[index];

    path->given_count = 0;
    path->has_peeked = false;
    path->state = VERBS_CLOSED;
    path->is_broken = false;
    if (!path->device)
        return;
    verbs_handles_clear(verbs, path);
    unwatch(verbs, path);
    verbs->device->close(path->device);
    path->device = NULL;
    for (; path->posted && path->sent_number < path->posted_number; path->sent_number++)
        verbs_flight_landed(verbs, path->posted[path->sent_number % path->info.send_depth]);
}

void verbs_path_break(struct verbs_io *verbs, struct verbs_path *path, const char *what)
{
    if (!path->is_broken)
        say(verbs, MD_LOG_ERROR,
            "%s port %u: %s; nothing is sent or heard until it can be opened again",
            path->info.name, path->info.port, what);
    path->is_broken = true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_join_failed(struct verbs_io *verbs, struct verbs_path *path, int status,
                           uint64_t now_ns)
{
    char text[256];

    snprintf(text, sizeof(text), "%s port %u: the group is refused: %s; %s", path->info.name,
             path->info.port, strerror(status < 0 ? -status : status),
             path->info.is_infiniband
                 ? "look at the subnet manager, the partition (P_Key) and its limit of groups"
                 : "look at the interface's address and whether it is up");
    complain(verbs, path, text);
    path->must_join = true;
    path->retry_ns = now_ns + verbs->config.retry_ns;
}

static void on_left(struct verbs_io *verbs, struct verbs_path *path, const char *what,
                    uint64_t now_ns)
{
    say(verbs, MD_LOG_WARNING, "%s port %u: %s; joining the group again", path->info.name,
        path->info.port, what);
    if (path->state == VERBS_UP)
        path->state = VERBS_JOINING;
    path->must_join = true;
    path->retry_ns = now_ns;
}

static void on_event(struct verbs_io *verbs, struct verbs_path *path,
                     const struct verbs_event *event, uint64_t now_ns)
{
    switch (event->kind) {
    case VERBS_NOTHING:
        break;
    case VERBS_JOINED:
        say(verbs, MD_LOG_NOTICE, "%s port %u: group joined, packets of %u bytes", path->info.name,
            path->info.port, path->info.mtu);
        path->local = event->local;
        path->state = VERBS_UP;
        path->trouble[0] = '\0';
        path->retry_ns = UINT64_MAX;
        break;
    case VERBS_JOIN_FAILED:
        on_join_failed(verbs, path, event->status, now_ns);
        break;
    case VERBS_LEFT:
        on_left(verbs, path, event->what, now_ns);
        break;
    case VERBS_PORT_DOWN:
        if (!path->port_is_down)
            say(verbs, MD_LOG_ERROR, "%s port %u is down: look at the cable and the switch",
                path->info.name, path->info.port);
        path->port_is_down = true;
        break;
    case VERBS_PORT_UP:
        if (path->port_is_down)
            say(verbs, MD_LOG_NOTICE, "%s port %u is up", path->info.name, path->info.port);
        path->port_is_down = false;
        break;
    case VERBS_GONE:
        verbs_path_break(verbs, path, event->what);
        break;
    }
}

/* Two ports of one device share what is told of it; whose descriptor it was does not matter. */
static void hand_out(struct verbs_io *verbs, const struct verbs_path *from,
                     const struct verbs_event *event, uint64_t now_ns)
{
    bool is_of_device = event->kind == VERBS_PORT_DOWN || event->kind == VERBS_PORT_UP ||
                        event->kind == VERBS_LEFT || event->kind == VERBS_GONE;

    for (int i = 0; i < verbs_paths(verbs); i++) {
        struct verbs_path *path = &verbs->paths[i];
        bool is_meant = path == from;

        if (is_of_device && path->device && strcmp(path->info.name, from->info.name) == 0)
            is_meant = event->port == 0 || event->port == path->info.port;
        else if (is_of_device && event->port != 0)
            is_meant = is_meant && event->port == path->info.port;
        if (is_meant)
            on_event(verbs, path, event, now_ns);
    }
}

static void reopen(struct verbs_io *verbs, int index, uint64_t now_ns)
{
    struct verbs_path *path = &verbs->paths[index];
    char why[256];

    if (verbs_path_open(verbs, index, why, sizeof(why)) == 0)
        return;
    complain(verbs, path, why);
    path->retry_ns = now_ns + verbs->config.retry_ns;
}

static void do_what_is_due(struct verbs_io *verbs, int index, uint64_t now_ns)
{
    struct verbs_path *path = &verbs->paths[index];

    if (path->is_broken) {
        verbs_path_close(verbs, index);
        path->retry_ns = now_ns + verbs->config.retry_ns;
        return;
    }
    if (now_ns < path->retry_ns)
        return;
    if (path->state == VERBS_CLOSED) {
        reopen(verbs, index, now_ns);
    } else if (path->must_join && path->sent_number == path->posted_number) {
        path->must_join = false; /* and no send with a handle of before is under way */
        path->retry_ns = UINT64_MAX;
        verbs_handles_clear(verbs, path);
        if (verbs->device->join(path->device) != 0)
            on_join_failed(verbs, path, errno, now_ns);
    }
}

void verbs_paths_look(struct verbs_io *verbs, uint64_t now_ns)
{
    for (int i = 0; i < verbs_paths(verbs); i++) {
        struct verbs_path *path = &verbs->paths[i];
        struct verbs_event event = { .kind = VERBS_NOTHING };

        for (int n = 0; path->device && n < 64; n++) {
            verbs->device->event(path->device, &event);
            if (event.kind == VERBS_NOTHING)
                break;
            hand_out(verbs, path, &event, now_ns);
        }
    }
    for (int i = 0; i < verbs_paths(verbs); i++)
        do_what_is_due(verbs, i, now_ns);
}

uint64_t verbs_paths_deadline(const struct verbs_io *verbs)
{
    uint64_t deadline = UINT64_MAX;

    for (int i = 0; i < verbs_paths(verbs); i++) {
        if (verbs->paths[i].is_broken)
            return 0;
        if (verbs->paths[i].retry_ns < deadline)
            deadline = verbs->paths[i].retry_ns;
    }
    return deadline;
}
