/* verbs.c - packet I/O over a UD queue pair: sending, receiving, sleeping. */
/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "verbs_private.h"

/*
 * A packet that is taken gets a flight, which counts on how many ports it is posted. Completions
 * of a queue pair come in order and only where they were asked for: at the end of each batch and
 * every 32 packets within. What cannot be sent (a port is away, the packet is too large) is lost
 * and complete at once: the engine's repair deals with it.
 *
 * Received packets are views of the ring's slots; the slots are posted again by the next receive,
 * all with one call. There is no flow control below: when the ring is empty, the device drops.
 */

/* ---- completions -------------------------------------------------------------------------- */

static void poll_sent(struct verbs_io *verbs, struct verbs_path *path)
{
    uint64_t number;
    int got;

    if (!path->device || path->sent_number == path->posted_number)
        return;
    while ((got = verbs->device->poll_sent(path->device, &number)) > 0)
        for (; path->sent_number <= number && path->sent_number < path->posted_number;
             path->sent_number++)
            verbs_flight_landed(verbs, path->posted[path->sent_number % path->info.send_depth]);
    if (got < 0)
        verbs_path_break(verbs, path, "a send has failed");
}

static int verbs_complete(struct net_packet_io *io, uint32_t cookies[], int max)
{
    struct verbs_io *verbs = verbs_of(io);

    for (int i = 0; i < verbs_paths(verbs); i++)
        poll_sent(verbs, &verbs->paths[i]);
    return verbs_flights_done(verbs, cookies, max);
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint32_t room(const struct verbs_path *path)
{
    return path->info.send_depth - (uint32_t)(path->posted_number - path->sent_number);
}

/* The sends of one call to the devices of both paths. */
struct batch {
    struct verbs_send sends[2][VERBS_BATCH];
    int count[2];
};

static bool is_for(const struct net_packet *packet, int path)
{
    return packet->path == path || packet->path == NET_PATH_ALL || (path == 0 && packet->path > 1);
}

static bool has_room(const struct verbs_io *verbs, const struct batch *batch,
                     const struct net_packet *packet)
{
    if (verbs->free_count == 0)
        return false;
    for (int i = 0; i < verbs_paths(verbs); i++)
        if (is_for(packet, i) && verbs->paths[i].device &&
            (batch->count[i] == VERBS_BATCH || room(&verbs->paths[i]) <= (uint32_t)batch->count[i]))
            return false;
    return true;
}

/* Prepare `packet` as the path's send of that number; false: it is lost there. */
static bool prepare(struct verbs_io *verbs, struct verbs_path *path,
                    const struct net_packet *packet, uint64_t number, struct verbs_send *out)
{
    struct net_packet_counters *counters = &verbs->io.counters;

    if (path->state != VERBS_UP || path->is_broken) {
        counters->send_errors++;
        counters->send_errno = ENETDOWN;
        return false;
    }
    if (packet->length > verbs->payload_max) {
        counters->send_too_big++;
        return false;
    }
    *out =
        (struct verbs_send){ .bytes = packet->bytes, .length = packet->length, .number = number };
    if (!packet->to)
        return true;
    struct verbs_handle *handle = verbs_handle_get(verbs, path, packet->to);
    if (!handle) {
        counters->send_errors++;
        counters->send_errno = EHOSTUNREACH;
        return false;
    }
    handle->last_number = number + 1;
    out->handle = handle->handle;
    out->queue_pair = verbs_address_queue_pair(packet->to);
    return true;
}

static void add(struct verbs_io *verbs, struct batch *batch, const struct net_packet *packet)
{
    uint32_t flight = verbs_flight_begin(verbs, packet->cookie);

    for (int i = 0; i < verbs_paths(verbs); i++) {
        struct verbs_path *path = &verbs->paths[i];
        uint64_t number = path->posted_number + (uint64_t)batch->count[i];

        if (!is_for(packet, i) ||
            !prepare(verbs, path, packet, number, &batch->sends[i][batch->count[i]]))
            continue;
        path->posted[number % path->info.send_depth] = flight;
        verbs_flight_posted(verbs, flight);
        batch->count[i]++;
        verbs->io.counters.packets_sent++;
        verbs->io.counters.bytes_sent += packet->length;
    }
    verbs_flight_landed(verbs, flight); /* from this call; the others from their paths */
}

/*
 * Our own accounting has kept room, so a refusal means that the queue pair or the device has
 * failed: all that was posted lands when the path is closed.
 */
static void post(struct verbs_io *verbs, struct verbs_path *path, struct verbs_send sends[],
                 int count)
{
    if (count == 0)
        return;
    for (int i = VERBS_SIGNAL_EVERY - 1; i < count; i += VERBS_SIGNAL_EVERY)
        sends[i].is_signalled = true;
    sends[count - 1].is_signalled = true;
    int sent = verbs->device->send(path->device, sends, count);
    verbs->io.counters.send_calls++;
    path->posted_number += (uint64_t)count;
    if (sent == count)
        return;
    char what[80];
    verbs->io.counters.send_errno = (uint64_t)errno;
    verbs->io.counters.send_errors += (uint64_t)(count - (sent < 0 ? 0 : sent));
    snprintf(what, sizeof(what), "sends are refused: %s", strerror(errno));
    verbs_path_break(verbs, path, what);
}

static int verbs_send(struct net_packet_io *io, const struct net_packet packets[], int count)
{
    struct verbs_io *verbs = verbs_of(io);
    int taken = 0;

    while (taken < count) {
        struct batch batch;
        int before = taken;

        batch.count[0] = batch.count[1] = 0;
        while (taken < count && has_room(verbs, &batch, &packets[taken]))
            add(verbs, &batch, &packets[taken++]);
        for (int i = 0; i < verbs_paths(verbs); i++)
            post(verbs, &verbs->paths[i], batch.sends[i], batch.count[i]);
        if (taken > before)
            continue;
        for (int i = 0; i < verbs_paths(verbs); i++)
            poll_sent(verbs, &verbs->paths[i]);
        batch.count[0] = batch.count[1] = 0;
        if (!has_room(verbs, &batch, &packets[taken])) {
            io->counters.send_full++;
            break;
        }
    }
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Slots that the caller has read are posted again, with one call. */
static void repost(struct verbs_io *verbs, struct verbs_path *path)
{
    if (path->given_count == 0 || !path->device)
        return;
    if (verbs->device->post_receive(path->device, path->given, path->given_count) != 0)
        verbs_path_break(verbs, path, "receives are refused");
    path->given_count = 0;
}

/* False: not for us. The slot is posted again either way. */
static bool take(struct verbs_io *verbs, struct verbs_path *path, const struct verbs_got *got,
                 struct rrcp_address *from, struct rrcp_arrival *out)
{
    struct net_packet_counters *counters = &verbs->io.counters;
    const uint8_t *slot = path->slots + (size_t)got->slot * path->slot_bytes;

    path->given[path->given_count++] = got->slot;
    if (got->length < VERBS_GRH_BYTES || got->length > path->slot_bytes ||
        !verbs_address_read(slot, got, from, &out->is_group)) {
        counters->foreign++;
        return false;
    }
    if (memcmp(from->bytes, path->local.bytes, 20) == 0)
        return false; /* our own, from the group */
    if (!verbs->config.any_source &&
        !verbs_address_is_allowed(&verbs->config.sources[path - verbs->paths],
                                  path->info.is_infiniband, from)) {
        counters->outside++;
        counters->outside_from = *from;
        return false;
    }
    out->bytes = slot + VERBS_GRH_BYTES;
    out->length = got->length - VERBS_GRH_BYTES;
    out->path = (uint8_t)(path - verbs->paths);
    out->from = from;
    return true;
}

static int poll_path(struct verbs_io *verbs, struct verbs_path *path, struct verbs_got got[],
                     int max)
{
    if (path->has_peeked) {
        path->has_peeked = false;
        got[0] = path->peeked;
        return 1;
    }
    int count = verbs->device->poll_receive(path->device, got, max);

    verbs->io.counters.receive_calls++;
    if (count < 0) {
        verbs->io.counters.receive_errors++;
        verbs_path_break(verbs, path, "a receive has failed");
        return 0;
    }
    return count;
}

static int receive_from(struct verbs_io *verbs, struct verbs_path *path, struct rrcp_arrival out[],
                        int max, int have)
{
    struct verbs_got got[VERBS_BATCH];
    int count = 0;

    while (path->device && !path->is_broken && have + count < max &&
           have + count < VERBS_GIVEN_MAX && path->given_count < VERBS_GIVEN_MAX) {
        int most = VERBS_GIVEN_MAX - path->given_count;

        most = most < max - have - count ? most : max - have - count;
        most = most < VERBS_GIVEN_MAX - have - count ? most : VERBS_GIVEN_MAX - have - count;
        most = most < VERBS_BATCH ? most : VERBS_BATCH;
        int polled = poll_path(verbs, path, got, most);
        for (int i = 0; i < polled; i++) {
            struct rrcp_arrival *arrival = &out[have + count];

            if (!take(verbs, path, &got[i], &verbs->from[have + count], arrival))
                continue;
            verbs->io.counters.bytes_received += arrival->length;
            count++;
        }
        if (polled < most)
            break;
    }
    return count;
}

/* After a sleep the descriptors are asked what woke it; while polling, ten times a second. */
static void look(struct verbs_io *verbs)
{
    struct epoll_event ready[8];
    uint64_t now_ns = md_clock_mono_ns();
    int count = epoll_wait(verbs->epoll_fd, ready, 8, 0);

    for (int i = 0; i < count; i++) {
        struct verbs_path *path = &verbs->paths[ready[i].data.u64 >> 8 & 1];

        if ((ready[i].data.u64 & 0xff) == 0 && path->device)
            verbs->device->disarm(path->device);
    }
    verbs->has_slept = false;
    verbs->look_ns = now_ns + VERBS_LOOK_NS;
    verbs_paths_look(verbs, now_ns);
}

static int verbs_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
{
    struct verbs_io *verbs = verbs_of(io);
    int count = 0;

    for (int i = 0; i < verbs_paths(verbs); i++)
        repost(verbs, &verbs->paths[i]);
    if (verbs->has_slept || verbs->paths[0].is_broken || verbs->paths[1].is_broken)
        look(verbs);
    for (int i = 0; i < verbs_paths(verbs); i++)
        count += receive_from(verbs, &verbs->paths[i], out, max, count);
    io->counters.packets_received += (uint64_t)count;
    if (count == 0 && md_clock_mono_ns() >= verbs->look_ns)
        look(verbs);
    return count;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/*
 * Ask for a wake-up first, then look once more: what came in between would make no event. A send
 * queue that is more than half full wakes, too.
 */
static bool verbs_arm(struct net_packet_io *io)
{
    struct verbs_io *verbs = verbs_of(io);
    bool is_busy = verbs->free_count < verbs->flight_max / 2;

    for (int i = 0; i < verbs_paths(verbs); i++) {
        struct verbs_path *path = &verbs->paths[i];

        if (!path->device || path->is_broken)
            continue;
        if (!path->has_peeked && verbs->device->arm(path->device, is_busy) == 0)
            path->has_peeked = verbs->device->poll_receive(path->device, &path->peeked, 1) == 1;
        if (path->has_peeked)
            return false;
    }
    verbs->has_slept = true;
    return true;
}

static bool verbs_readable(struct net_packet_io *io)
{
    const struct verbs_io *verbs = verbs_of(io);

    return verbs->paths[0].has_peeked || verbs->paths[1].has_peeked;
}

static int verbs_fd(const struct net_packet_io *io, int index)
{
    return index == 0 ? verbs_of_const(io)->epoll_fd : -1;
}

static uint64_t verbs_deadline(const struct net_packet_io *io)
{
    return verbs_paths_deadline(verbs_of_const(io));
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void verbs_limits(const struct net_packet_io *io, struct net_packet_limits *out)
{
    const struct verbs_io *verbs = verbs_of_const(io);

    *out = (struct net_packet_limits){ .payload_max = verbs->payload_max,
                                       .send_depth = verbs->flight_max,
                                       .batch_max = VERBS_BATCH,
                                       .bits_per_s = verbs->paths[0].info.bits_per_s,
                                       .path_count = (uint8_t)verbs->config.path_count };
}

static int verbs_memory(struct net_packet_io *io, void *base, size_t size)
{
    struct verbs_io *verbs = verbs_of(io);

    if (verbs->slab_count == VERBS_REGIONS_MAX)
        return MD_ERR_FULL;
    verbs->slabs[verbs->slab_count] = (struct verbs_slab){ base, size };
    for (int i = 0; i < verbs_paths(verbs); i++) {
        int err = verbs->paths[i].device
                      ? verbs_path_memory(verbs, &verbs->paths[i], &verbs->slabs[verbs->slab_count])
                      : 0;
        if (err)
            return err;
    }
    verbs->slab_count++;
    return 0;
}

static const char *verbs_why(const struct net_packet_io *io)
{
    return verbs_of_const(io)->why;
}

static void verbs_local(const struct net_packet_io *io, int path, struct rrcp_address *out)
{
    const struct verbs_io *verbs = verbs_of_const(io);

    memset(out, 0, sizeof(*out));
    if (path >= 0 && path < verbs_paths(verbs))
        *out = verbs->paths[path].local;
}

static void verbs_close(struct net_packet_io *io)
{
    struct verbs_io *verbs = verbs_of(io);

    for (int i = 0; i < 2; i++) {
        verbs_path_close(verbs, i);
        free(verbs->paths[i].slots);
        free(verbs->paths[i].posted);
        free(verbs->paths[i].handles);
    }
    if (verbs->epoll_fd >= 0)
        close(verbs->epoll_fd);
    verbs_flights_free(verbs);
    free(verbs);
}

static const struct net_packet_table verbs_table = {
    .name = "verbs",
    .limits = verbs_limits,
    .memory = verbs_memory,
    .why = verbs_why,
    .send = verbs_send,
    .complete = verbs_complete,
    .receive = verbs_receive,
    .fd = verbs_fd,
    .readable = verbs_readable,
    .arm = verbs_arm,
    .deadline = verbs_deadline,
    .local = verbs_local,
    .close = verbs_close,
};

/* ---- opening --------------------------------------------------------------------------------- */

/* The subnet manager, or the kernel, answers in its own time. */
static int wait_for_groups(struct verbs_io *verbs, char *why, size_t why_size)
{
    uint64_t end_ns = md_clock_mono_ns() + VERBS_JOIN_NS;

    for (int i = 0; i < verbs_paths(verbs); i++) {
        struct verbs_path *path = &verbs->paths[i];

        while (path->state != VERBS_UP && !path->must_join && !path->is_broken) {
            struct epoll_event ready;

            if (md_clock_mono_ns() >= end_ns)
                break;
            (void)epoll_wait(verbs->epoll_fd, &ready, 1, 100);
            verbs_paths_look(verbs, md_clock_mono_ns());
        }
        if (path->state == VERBS_UP)
            continue;
        snprintf(why, why_size, "multicastAddress: %s", path->trouble);
        if (!path->trouble[0])
            snprintf(why, why_size,
                     "multicastAddress: %s port %u: no answer to the request to join the group; is "
                     "a subnet manager running?",
                     path->info.name, path->info.port);
        return MD_ERR_NOT_FOUND;
    }
    return 0;
}

static int open_paths(struct verbs_io *verbs, char *why, size_t why_size)
{
    verbs->payload_max = verbs->config.payload_max;
    for (int i = 0; i < verbs_paths(verbs); i++) {
        int err = verbs_path_open(verbs, i, why, why_size);

        if (err)
            return err;
    }
    /* Of two ports the smaller packet counts. */
    for (int i = 0; !verbs->config.payload_max && i < verbs_paths(verbs); i++)
        if (verbs->payload_max == 0 || verbs->paths[i].info.mtu < verbs->payload_max)
            verbs->payload_max = verbs->paths[i].info.mtu;
    int err = verbs_flights_make(verbs);
    if (err)
        snprintf(why, why_size, err == MD_ERR_NOMEM ? "out of memory" : "no room for a send");
    return err;
}

int verbs_open_on(const struct verbs_device_table *device, const struct verbs_config *config,
                  struct verbs_report *report, char *why, size_t why_size,
                  struct net_packet_io **out)
{
    struct verbs_io *verbs = calloc(1, sizeof(*verbs));

    *out = NULL;
    snprintf(why, why_size, "out of memory");
    if (!verbs)
        return MD_ERR_NOMEM;
    verbs->io.table = &verbs_table;
    verbs->device = device;
    verbs->config = *config;
    if (verbs->config.retry_ns == 0)
        verbs->config.retry_ns = VERBS_RETRY_NS;
    verbs->has_slept = true; /* the first receive asks for events */
    verbs->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int err = verbs->epoll_fd < 0 ? MD_ERR_SYS : open_paths(verbs, why, why_size);
    if (!err)
        err = wait_for_groups(verbs, why, why_size);
    if (err) {
        verbs_close(&verbs->io);
        return err;
    }
    for (int i = 0; i < verbs_paths(verbs); i++)
        report->paths[i] = verbs->paths[i].info;
    report->payload_max = verbs->payload_max;
    verbs->is_open = true;
    why[0] = '\0';
    *out = &verbs->io;
    return 0;
}
