/* mount.c - see mount.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mount.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "names.h"
#include "pacer.h"
#include "worker.h"

#define SLICES_MAX   64
#define READS_A_TURN 4 /* then others have their turn */
#define LINGER_NS    2000000000ull
#define END_NS       1000000000ull /* for the peer to read our last words and to hang up */
#define NO_CLIENT    UINT32_MAX

/* ---- life ---- */

/* The input that waited is done, or nobody wants it any more. */
static void release(struct p2ps_mount *mount)
{
    struct p2ps_worker *worker = mount->worker;

    if (!mount->held)
        return;
    if (worker->spare)
        free(mount->held);
    else
        worker->spare = mount->held;
    mount->held = NULL;
    worker->held_count--;
}

void p2ps_mount_count(struct p2ps_worker *worker, const struct p2ps_protocol *protocol,
                      bool is_refused, int by)
{
    atomic_fetch_add_explicit(&worker->mount_count, (uint32_t)by, memory_order_relaxed);
    if (protocol == &p2ps_ws_protocol && !is_refused)
        atomic_fetch_add_explicit(&worker->ws_count, (uint32_t)by, memory_order_relaxed);
}

void p2ps_mount_uncount_host(struct p2ps_worker *worker, struct p2ps_party *host)
{
    if (!host)
        return;
    atomic_fetch_sub_explicit(&host->mounts, 1, memory_order_release);
    p2ps_parties_leave(worker->config.core.parties, host);
}

/* The address has room for another one: what is left is to say goodbye. */
static void uncount_host(struct p2ps_mount *mount)
{
    p2ps_mount_uncount_host(mount->worker, mount->host);
    mount->host = NULL;
}

static void set_holder(struct p2ps_mount *mount, size_t at, struct p2ps_party *party)
{
    struct p2ps_parties *parties = p2ps_core_parties(mount->worker->core);

    if (mount->holders[at] == party)
        return;
    p2ps_parties_hold(parties, party);
    mount->protocol->share(mount, at, party);
    p2ps_parties_leave(parties, mount->holders[at]);
    mount->holders[at] = party;
}

bool p2ps_mount_is_in(const struct p2ps_mount *mount)
{
    struct p2ps_client_info client;

    return p2ps_client_info(mount->worker->core, mount->client, &client) && client.is_in;
}

const char *p2ps_mount_label(const struct p2ps_mount *mount)
{
    return mount->label ? mount->label : net_stream_peer(mount->stream);
}

void p2ps_mount_user(void *self, const char *name, struct p2ps_party *user)
{
    struct p2ps_mount *mount = self;

    set_holder(mount, 1, user);
    p2ps_mount_ceiling_set(mount, p2ps_tuning_user(&mount->worker->tuning, name)->output_rate);
    if (mount->label)
        return;
    if (asprintf(&mount->label, "%s user=%s", net_stream_peer(mount->stream), name) < 0)
        mount->label = NULL; /* lines go without it */
    md_log(MD_LOG_INFO, "mount: host=%s logged in", p2ps_mount_label(mount));
}

const char *p2ps_mount_certificate(const void *self, uint64_t *expires_s)
{
    const struct p2ps_mount *mount = self;

    *expires_s = mount->certificate_ends_s > 0 ? (uint64_t)mount->certificate_ends_s : 0;
    return mount->certificate;
}

const char *p2ps_mount_serial(const void *self)
{
    const struct p2ps_mount *mount = self;

    return mount->serial;
}

void p2ps_mount_bury(struct p2ps_mount *mount)
{
    struct p2ps_worker *worker = mount->worker;

    if (mount->is_dead)
        return;
    mount->is_dead = true;
    if (mount->client != NO_CLIENT) {
        p2ps_mount_tell(mount, UINT64_MAX);
        p2ps_client_gone(worker->core, md_loop_now(worker->loop), mount->client);
        mount->client = NO_CLIENT;
    }
    release(mount);
    uncount_host(mount);
    md_loop_fd_remove(mount->watch);
    mount->watch = NULL;
    p2ps_pacer_leave(mount);
    if (mount->previous)
        mount->previous->next = mount->next;
    else
        worker->mounts = mount->next;
    if (mount->next)
        mount->next->previous = mount->previous;
    mount->next = worker->dead;
    worker->dead = mount;
    p2ps_mount_count(worker, mount->protocol, mount->is_refused, -1);
}

void p2ps_mount_destroy(struct p2ps_mount *mount)
{
    release(mount);
    uncount_host(mount);
    if (net_stream_descriptor(mount->stream) < 0)
        mount->worker->polled_mounts--;
    p2ps_pacer_leave(mount); /* of one that is not dead: the worker ends */
    mount->protocol->destroy(mount);
    for (size_t i = 0; i < MD_SHARES; i++)
        p2ps_parties_leave(p2ps_core_parties(mount->worker->core), mount->holders[i]);
    net_stream_close(mount->stream);
    p2ps_mount_stats_destroy(mount->stats);
    p2ps_name_release(mount->name);
    free(mount->label);
    free(mount);
}

/* ---- input ---- */

/* "10.1.2.3:40112" to a number in host order; 0 for anything else. */
static uint32_t address_v4(const char *peer)
{
    char text[64];
    struct in_addr address;

    snprintf(text, sizeof(text), "%s", peer);
    char *colon = strrchr(text, ':');
    if (colon)
        *colon = 0;
    return inet_pton(AF_INET, text, &address) == 1 ? ntohl(address.s_addr) : 0;
}

void p2ps_mount_opened(struct p2ps_mount *mount, uint64_t now_ns, const struct p2ps_front *front,
                       const char *said)
{
    const char *peer = net_stream_peer(mount->stream);

    (void)net_stream_identity(mount->stream, mount->worker->config.user_from, mount->certificate,
                              &mount->certificate_ends_s);
    (void)net_stream_serial(mount->stream, mount->serial);
    if (p2ps_client_add(mount->worker->core, now_ns, front, mount, peer, address_v4(peer),
                        &mount->client) != MD_OK) {
        p2ps_mount_close(mount, "no room for another mount");
        return;
    }
    md_log(MD_LOG_INFO, "mount: host=%s connected, %s", peer, said);
    if (mount->worker->config.names)
        mount->name = p2ps_names_ask(mount->worker->config.names, peer);
}

/* The consumer's turn is over: what was read of it stays where it is, and its socket is not read
 * until that is done. The worker reads the others to another place. */
static void hold(struct p2ps_mount *mount)
{
    struct p2ps_worker *worker = mount->worker;
    uint8_t *other = worker->spare ? worker->spare : malloc(worker->input_size);

    if (!other) {
        md_log(MD_LOG_ERROR, "mount: host=%s: no memory to keep its requests",
               p2ps_mount_label(mount));
        p2ps_mount_bury(mount);
        return;
    }
    worker->spare = NULL;
    mount->held = worker->input;
    worker->input = other;
    worker->held_count++;
}

/* False: nothing more is there, or it is not the consumer's turn any more. */
static bool read_once(struct p2ps_mount *mount, uint64_t now_ns)
{
    struct p2ps_worker *worker = mount->worker;
    int64_t got = net_stream_read(mount->stream, worker->input, worker->input_size);

    if (got == MD_ERR_AGAIN)
        return false;
    if (got <= 0) {
        mount->protocol->input_end(mount, now_ns, got != MD_ERR_CLOSED);
        p2ps_mount_bury(mount);
        return false;
    }
    bool is_taken = mount->protocol->input(mount, now_ns, worker->input, (size_t)got);
    if (mount->is_dead)
        return false;
    if (!is_taken) {
        hold(mount);
        return false;
    }
    return (size_t)got == worker->input_size || net_stream_poll(mount->stream) != 0;
}

static void read_some(struct p2ps_mount *mount, uint64_t now_ns)
{
    bool goes_on = true;

    /* Bytes that TLS holds above the descriptor must be read now: nothing wakes us for them. */
    for (int i = 0;
         goes_on && (i < READS_A_TURN || (mount->watch && net_stream_poll(mount->stream))); i++)
        goes_on = read_once(mount, now_ns);
}

/* Says to the loop which events to tell us of. */
static void want(struct p2ps_mount *mount)
{
    /* While its ceiling holds it back, nobody waits for the stream. */
    unsigned wants = net_stream_wants(mount->stream, !p2ps_pacer_holds(mount) &&
                                                         mount->protocol->has_output(mount));

    if (mount->watch)
        md_loop_fd_set(mount->watch, (wants & NET_READABLE && !mount->held ? MD_LOOP_READ : 0) |
                                         (wants & NET_WRITABLE ? MD_LOOP_WRITE : 0));
}

bool p2ps_mount_resume(void *self)
{
    struct p2ps_mount *mount = self;
    uint64_t now_ns = md_loop_now(mount->worker->loop);

    if (mount->is_dead || mount->is_choked)
        return false;
    if (mount->protocol->resume(mount, now_ns)) {
        if (!mount->is_dead)
            want(mount); /* the core does not know of errors and Pongs, and flushes nothing for them
                          */
        return !mount->is_dead && !mount->is_choked;
    }
    if (!mount->held || mount->is_dead || mount->is_choked)
        return false;
    release(mount);
    if (net_stream_poll(mount->stream)) /* TLS holds it, as above */
        read_some(mount, now_ns);
    if (!mount->is_dead && !mount->held)
        want(mount);
    return mount->held != NULL;
}

/* ---- output ---- */

/* The slices without what may not go out yet; returns how many are left. */
static size_t cut_slices(struct md_slice *slices, size_t count, size_t most)
{
    size_t i = 0;

    for (; i < count && most > 0; i++) {
        slices[i].length = slices[i].length < most ? slices[i].length : most;
        most -= slices[i].length;
    }
    return i;
}

void p2ps_mount_ceiling_set(struct p2ps_mount *mount, uint64_t rate)
{
    if (rate > 0 && rate < CEILING_RATE_MIN)
        rate = CEILING_RATE_MIN;
    if (rate == mount->ceiling.rate)
        return;
    p2ps_ceiling_set(&mount->ceiling, rate, md_loop_now(mount->worker->loop));
}

bool p2ps_mount_has_ceiling(const void *self)
{
    return ((const struct p2ps_mount *)self)->ceiling.rate != 0;
}

uint64_t p2ps_mount_full(const struct p2ps_mount *mount, const char **why)
{
    uint64_t of_rate = p2ps_ceiling_queue(&mount->ceiling);
    uint64_t of_time = p2ps_taking_queue(&mount->taking, mount->worker->config.output_time_ns);

    *why =
        of_rate < of_time ? "bytes of output for outputRate" : "bytes of output for maxOutputTime";
    return of_rate < of_time ? of_rate : of_time;
}

/* All has gone out. A peer with input of which we have not read would lose our last words if we
 * closed at once: it is given time to end the connection itself. */
static void finish(struct p2ps_mount *mount, uint64_t now_ns)
{
    if (!mount->is_lingering)
        net_stream_shutdown(mount->stream);
    if (!mount->is_closing) {
        p2ps_mount_bury(mount);
        return;
    }
    if (!mount->is_lingering && now_ns + END_NS < mount->closing_until_ns)
        mount->closing_until_ns = now_ns + END_NS;
    mount->is_lingering = true;
    want(mount);
}

void p2ps_mount_flush(struct p2ps_mount *mount)
{
    struct md_slice slices[SLICES_MAX];
    uint64_t now_ns = md_loop_now(mount->worker->loop);
    size_t count, sent = 0;

    if (mount->is_dead)
        return;
    while ((count = mount->protocol->output(mount, slices, SLICES_MAX)) > 0) {
        size_t offered = 0;

        /* One write for each time of the pacer, not one for each turn. */
        size_t most = p2ps_pacer_holds(mount) ? 0 : p2ps_ceiling_room(&mount->ceiling, now_ns);

        if (most == 0) {
            p2ps_pacer_wait(mount);
            break;
        }
        count = cut_slices(slices, count, most);
        for (size_t i = 0; i < count; i++)
            offered += slices[i].length;
        int64_t taken = net_stream_write(mount->stream, slices, count);
        if (taken < 0) {
            md_log(MD_LOG_INFO, "mount: host=%s ended: %s", p2ps_mount_label(mount),
                   net_stream_error(mount->stream));
            p2ps_mount_bury(mount);
            return;
        }
        mount->protocol->sent(mount, now_ns, (size_t)taken);
        p2ps_ceiling_spend(&mount->ceiling, offered, (size_t)taken);
        sent += (size_t)taken;
        if ((size_t)taken < offered)
            break;
    }
    if (mount->worker->config.output_time_ns)
        p2ps_taking_note(&mount->taking, sent, count > 0, now_ns);
    if (mount->is_leaving && !mount->protocol->has_output(mount))
        mount->protocol->close(mount, true);
    if (mount->protocol->is_finished(mount))
        finish(mount, now_ns);
    else
        want(mount);
}

static void send_on(struct p2ps_mount *mount)
{
    uint64_t before = mount->ceiling.paid_ns;

    p2ps_mount_flush(mount);
    if (!mount->is_dead && mount->client != NO_CLIENT &&
        (mount->ceiling.paid_ns != before || mount->ceiling.rate == 0))
        p2ps_client_writable(mount->worker->core, md_loop_now(mount->worker->loop), mount->client);
}

void p2ps_mount_pacer_turn(void *owner)
{
    struct p2ps_mount *mount;

    p2ps_pacer_begin(owner);
    while ((mount = p2ps_pacer_next(owner)) != NULL)
        send_on(mount);
}

void p2ps_mount_wind_up(struct p2ps_mount *mount, const char *reason)
{
    mount->is_closing = true;
    uncount_host(mount);
    mount->closing_until_ns = md_loop_now(mount->worker->loop) + LINGER_NS;
    if (mount->client != NO_CLIENT) {
        p2ps_client_lost(mount->worker->core, md_loop_now(mount->worker->loop), mount->client,
                         reason);
        mount->client = NO_CLIENT;
    }
}

void p2ps_mount_close(struct p2ps_mount *mount, const char *reason)
{
    if (mount->is_dead || mount->is_closing)
        return;
    md_log(MD_LOG_WARNING, "mount: host=%s cut: %s", p2ps_mount_label(mount), reason);
    p2ps_mount_wind_up(mount, reason);
    mount->protocol->close(mount, false);
    release(mount);
    p2ps_mount_flush(mount);
}

void p2ps_mount_send(void *self)
{
    p2ps_mount_flush(self);
}

void p2ps_mount_cut(void *self, const char *reason)
{
    struct p2ps_mount *mount = self;

    mount->client = NO_CLIENT;
    p2ps_mount_close(mount, reason);
}

void p2ps_mount_leave(struct p2ps_mount *mount, uint64_t until_ns)
{
    if (mount->is_dead || mount->is_closing)
        return;
    mount->is_closing = true;
    mount->is_leaving = true;
    mount->closing_until_ns = until_ns;
    mount->client = NO_CLIENT;
    while (mount->held && mount->protocol->resume(mount, until_ns))
        continue; /* nobody hears what waits */
    release(mount);
    p2ps_mount_flush(mount);
}

/* ---- the loop's calls ---- */

static void on_stream(void *owner, int fd, unsigned events)
{
    struct p2ps_mount *mount = owner;
    uint64_t now_ns = md_loop_now(mount->worker->loop);

    (void)fd;
    if (mount->is_dead)
        return;
    if (events & MD_LOOP_READ && !mount->held)
        read_some(mount, now_ns);
    if (mount->is_dead)
        return;
    p2ps_mount_flush(mount);
    if (events & MD_LOOP_WRITE && !mount->is_dead && mount->client != NO_CLIENT)
        p2ps_client_writable(mount->worker->core, now_ns, mount->client);
}

void p2ps_mount_poll(struct p2ps_mount *mount)
{
    unsigned ready = net_stream_poll(mount->stream);

    if (ready && !mount->watch)
        on_stream(mount, -1,
                  (ready & NET_READABLE ? MD_LOOP_READ : 0) |
                      (ready & NET_WRITABLE ? MD_LOOP_WRITE : 0));
}

void p2ps_mount_watch(struct p2ps_mount *mount)
{
    struct p2ps_mount_figures figures;

    mount->protocol->figures(mount, &figures);
    if (figures.is_slow == mount->is_slow || mount->is_closing)
        return;
    mount->is_slow = figures.is_slow;
    if (mount->is_slow)
        md_log(MD_LOG_WARNING, "mount: host=%s slow: %u of %u buffers in use",
               p2ps_mount_label(mount), figures.buffers, figures.buffers_max);
    else
        md_log(MD_LOG_NOTICE, "mount: host=%s keeps up again", p2ps_mount_label(mount));
}

void p2ps_mount_tick(struct p2ps_mount *mount, uint64_t now_ns)
{
    if (mount->is_closing && now_ns > mount->closing_until_ns) {
        p2ps_mount_bury(mount);
        return;
    }
    mount->protocol->tick(mount, now_ns);
    if (!mount->is_dead)
        p2ps_mount_flush(mount);
}

uint64_t p2ps_mount_deadline(const struct p2ps_mount *mount)
{
    uint64_t deadline = mount->protocol->deadline(mount);

    if (mount->is_closing && mount->closing_until_ns < deadline)
        deadline = mount->closing_until_ns;
    return deadline;
}

int p2ps_mount_create(struct p2ps_worker *worker, const struct p2ps_handed *handed)
{
    struct net_stream *stream = handed->stream;
    struct p2ps_mount *mount = calloc(1, sizeof(*mount));
    int fd = net_stream_descriptor(stream);
    int err = mount ? MD_OK : MD_ERR_NOMEM;

    if (err == MD_OK) {
        mount->worker = worker;
        mount->stream = stream;
        mount->protocol = handed->protocol;
        mount->is_refused = handed->refusal != NULL;
        mount->since_ns = md_loop_now(worker->loop);
        mount->client = NO_CLIENT;
        err = handed->protocol->open(mount, handed->refusal);
    }
    if (err == MD_OK && fd >= 0)
        err = md_loop_fd_add(worker->loop, fd, MD_LOOP_READ, on_stream, mount, &mount->watch);
    if (err != MD_OK) {
        md_log(MD_LOG_ERROR, "mount: host=%s refused: %s", net_stream_peer(stream),
               md_err_name(err));
        if (mount)
            handed->protocol->destroy(mount);
        free(mount);
        net_stream_close(stream);
        return err;
    }
    if (fd < 0)
        worker->polled_mounts++;
    mount->host = handed->host;
    set_holder(mount, 0, handed->host);
    mount->next = worker->mounts;
    if (mount->next)
        mount->next->previous = mount;
    worker->mounts = mount;
    return MD_OK;
}
