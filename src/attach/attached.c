/* attached.c - a user of an rrcpd on this host: attach, shared memory, wake-ups, coming back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "internal.h"

/*
 *      state        next
 *      AWAY         at retry_ns: connect, send the request -> ASKED; no daemon: stays
 *      ASKED        reply with four descriptors -> UP; refused, closed or 5 s -> AWAY
 *      UP           socket closed -> AWAY (BACKBONE_DETACHED)
 *
 * Sleeping. Before it sleeps the reader sets reader_sleeps in its own outbound ring (the inbound
 * one is read-only to it) and looks once more; the daemon, when it has published, clears the flag
 * and writes a byte into the pipe. So there is one write per sleep and none while the reader runs.
 */
enum state { STATE_AWAY, STATE_ASKED, STATE_UP };

enum { DEFAULT_RING = 16 << 20 };

#define SOCKET_LOOK_NS 5000000ull
#define ASK_TIMEOUT_NS 5000000000ull

struct attached {
    struct attach user;
    enum state state;
    char path[108];
    char role_path[108]; /* tried before it; "" for none */
    char name[ATTACH_NAME_MAX];
    uint32_t ring_bytes;
    uint32_t request_flags;
    uint64_t retry_ns;
    uint64_t retry_at_ns;
    uint64_t look_at_ns; /* when the socket is looked at again */
    struct attach_process *process;
    int epoll_fd;
    int socket_fd, wake_fd, doorbell_fd;
    bool is_armed;
    uint64_t told_cursor; /* in the ring, for statistics and flow control */
    uint32_t rings_owed;  /* bytes the daemon wrote, or is about to write, into the pipe */
    const struct attach_inbound_map *inbound;
    uint64_t inbound_bytes;
    struct inbound_reader reader;
};

static struct attached *attached_of(struct attach *user)
{
    return (struct attached *)user;
}

static const struct attached *attached_of_const(const struct attach *user)
{
    return (const struct attached *)user;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- coming and going ----------------------------------------------------------------------- */

static void leave(struct attached *a, uint64_t now_ns)
{
    bool was_up = a->state == STATE_UP;

    inbound_stop(&a->reader);
    if (a->inbound)
        process_unmap(a->process, a->inbound, a->inbound_bytes);
    a->inbound = NULL;
    if (a->user.out.map)
        munmap(a->user.out.map, attach_outbound_map_bytes(a->user.out.size));
    outbound_writer_init(&a->user.out, NULL, 0);
    close_fd(&a->socket_fd);
    close_fd(&a->wake_fd);
    close_fd(&a->doorbell_fd);
    a->user.session = 0;
    a->user.port = 0;
    a->user.filters = false;
    a->is_armed = false;
    a->rings_owed = 0;
    a->state = STATE_AWAY;
    a->retry_at_ns = now_ns + a->retry_ns;
    if (was_up)
        inbound_pend(&a->reader, (struct backbone_event){ .type = BACKBONE_DETACHED });
}

/* The daemon refused us, or is not there. The same reason again is no other one. */
static void refused(struct attached *a, int error, bool by_daemon, const char *why)
{
    struct attach_refusal *refusal = &a->user.refusal;
    bool is_same = refusal->error == error && refusal->by_daemon == by_daemon &&
                   strcmp(refusal->why, why) == 0;

    refusal->count += !is_same;
    refusal->error = error;
    refusal->by_daemon = by_daemon;
    snprintf(refusal->why, sizeof(refusal->why), "%s", why);
}

static void no_daemon(struct attached *a, const char *what, const char *why)
{
    char text[sizeof(a->user.refusal.why)];

    snprintf(text, sizeof(text), "%s %s: %s", what, a->path, why);
    refused(a, MD_ERR_CLOSED, false, text);
}

static void watch(const struct attached *a, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    (void)epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static bool try_path(struct attached *a, const char path[static 108])
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, path, sizeof(address.sun_path));
    return *path && connect(a->socket_fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static void ask(struct attached *a, uint64_t now_ns)
{
    struct attach_request request = { .magic = ATTACH_PROTOCOL_MAGIC,
                                      .version = ATTACH_SHM_VERSION,
                                      .kind = ATTACH_REQUEST_ATTACH,
                                      .flags = a->request_flags,
                                      .outbound_bytes = a->ring_bytes };

    a->retry_at_ns = now_ns + a->retry_ns;
    a->socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (a->socket_fd < 0) {
        no_daemon(a, "no socket for", strerror(errno));
        return;
    }
    memcpy(request.name, a->name, sizeof(request.name));
    if ((!try_path(a, a->role_path) && !try_path(a, a->path)) ||
        send(a->socket_fd, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request)) {
        no_daemon(a, "no rrcpd answers at", strerror(errno));
        close_fd(&a->socket_fd);
        return;
    }
    watch(a, a->socket_fd);
    a->state = STATE_ASKED;
    a->retry_at_ns = now_ns + ASK_TIMEOUT_NS;
}

/* The reply and its descriptors: its length, 0 closed, -1 nothing yet. */
static ssize_t receive_reply(int socket_fd, struct attach_reply *reply, int fds[], int *fd_count)
{
    alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(ATTACH_FD_COUNT * sizeof(int))];
    struct iovec iov = { reply, sizeof(*reply) };
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    ssize_t got = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *fd_count = 0;
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        *fd_count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), (size_t)*fd_count * sizeof(int));
    }
    return got;
}

static int take_rings(struct attached *a, const struct attach_reply *reply, const int fds[])
{
    int err = process_map(a->process, fds[ATTACH_FD_INBOUND], reply->inbound_bytes, &a->inbound);
    if (err)
        return err;
    a->inbound_bytes = reply->inbound_bytes;
    void *map = mmap(NULL, attach_outbound_map_bytes(reply->outbound_bytes), PROT_READ | PROT_WRITE,
                     MAP_SHARED, fds[ATTACH_FD_OUTBOUND], 0);
    if (map == MAP_FAILED)
        return MD_ERR_SYS;
    outbound_writer_init(&a->user.out, map, reply->outbound_bytes);
    return 0;
}

static void come_up(struct attached *a, const struct attach_reply *reply, int fds[])
{
    a->wake_fd = fds[ATTACH_FD_WAKE];
    a->doorbell_fd = fds[ATTACH_FD_DOORBELL];
    fds[ATTACH_FD_WAKE] = fds[ATTACH_FD_DOORBELL] = -1;
    watch(a, a->wake_fd);
    a->told_cursor = 0;
    a->user.session = reply->session;
    a->user.port = reply->port;
    a->user.message_max = a->inbound->message_max;
    if (a->user.message_max > a->user.out.size / 2 - 64)
        a->user.message_max = a->user.out.size / 2 - 64;
    a->user.filters =
        reply->flags & ATTACH_REPLY_FILTERS && a->request_flags & ATTACH_REQUEST_WANTS;
    a->state = STATE_UP;
    a->user.refusal.error = MD_OK;
    a->user.refusal.why[0] = '\0';
    a->user.counters.attaches++;
    inbound_pend(&a->reader,
                 (struct backbone_event){ .type = BACKBONE_ATTACHED,
                                          .flags = a->user.filters ? BACKBONE_FLAG_FILTERS : 0,
                                          .session = reply->session,
                                          .dst_port = reply->port });
}

/* No attachment came of what was asked. */
static void not_attached(struct attached *a, ssize_t got, const struct attach_reply *reply)
{
    char why[sizeof(reply->why) + 1];

    if (got != (ssize_t)sizeof(*reply) || reply->magic != ATTACH_PROTOCOL_MAGIC) {
        no_daemon(a, "no answer from", got == 0 ? "it hung up" : "it is silent");
    } else if (reply->version != ATTACH_SHM_VERSION) {
        refused(a, MD_ERR_STATE, true, "rrcpd is of another version");
    } else if (reply->result != 0) {
        memcpy(why, reply->why, sizeof(reply->why));
        why[sizeof(reply->why)] = '\0';
        refused(a, reply->result, true, why);
    } else {
        refused(a, MD_ERR_SYS, false, "the rings of rrcpd cannot be mapped");
    }
}

static void await_reply(struct attached *a, uint64_t now_ns)
{
    struct attach_reply reply;
    int fds[ATTACH_FD_COUNT] = { -1, -1, -1, -1 };
    int fd_count;
    ssize_t got = receive_reply(a->socket_fd, &reply, fds, &fd_count);

    if (got == -1 && now_ns < a->retry_at_ns)
        return;
    bool is_good = got == (ssize_t)sizeof(reply) && reply.magic == ATTACH_PROTOCOL_MAGIC &&
                   reply.version == ATTACH_SHM_VERSION && reply.result == 0 &&
                   fd_count == ATTACH_FD_COUNT;
    if (is_good && take_rings(a, &reply, fds) == 0) {
        come_up(a, &reply, fds);
        if (inbound_start(&a->reader, a->inbound, reply.port) != 0)
            leave(a, now_ns);
    } else {
        not_attached(a, got, &reply);
        leave(a, now_ns);
    }
    for (int i = 0; i < ATTACH_FD_COUNT; i++)
        close_fd(&fds[i]);
}

/* Is the daemon still there? It sends nothing after the reply, so anything but 'nothing' is no. */
static void look_at_socket(struct attached *a, uint64_t now_ns)
{
    uint8_t byte;

    a->look_at_ns = now_ns + SOCKET_LOOK_NS;
    ssize_t got = recv(a->socket_fd, &byte, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        leave(a, now_ns);
}

/* ---- sleeping and waking -------------------------------------------------------------------- */

static void drain_rings(struct attached *a)
{
    uint8_t bytes[16];
    struct outbound_writer *out = &a->user.out;

    if (out->is_waiting &&
        atomic_load_explicit(&out->map->producer_waits, memory_order_relaxed) == 0) {
        out->is_waiting = false; /* the daemon took the flag, so it writes a byte */
        a->rings_owed++;
    }

    while (a->rings_owed > 0) {
        ssize_t got = read(a->wake_fd, bytes, sizeof(bytes));

        if (got <= 0)
            return; /* on its way: the descriptor will say so */
        a->rings_owed -= (uint32_t)got < a->rings_owed ? (uint32_t)got : a->rings_owed;
    }
}

/* The byte in the pipe is read before the next sleep, not now: the messages are waiting. */
static void disarm(struct attached *a)
{
    struct attach_outbound_map *map = a->user.out.map;

    a->is_armed = false;
    if (atomic_exchange_explicit(&map->reader_sleeps, 0, memory_order_acq_rel) == 0) {
        a->rings_owed++;
        a->user.counters.wakeups++;
    }
}

/* True: armed. False: something came meanwhile. */
static bool arm(struct attached *a)
{
    struct attach_outbound_map *map = a->user.out.map;

    drain_rings(a);
    atomic_store_explicit(&map->cursor, a->reader.cursor, memory_order_relaxed);
    atomic_store_explicit(&map->reader_sleeps, a->user.sleep, memory_order_relaxed);
    attach_fence(memory_order_seq_cst);
    a->is_armed = true;
    if (!inbound_has_more(&a->reader))
        return true;
    disarm(a);
    return false;
}

/* ---- the table ------------------------------------------------------------------------------ */

static int poll_attached(struct attach *user, uint64_t now_ns, struct backbone_event events[],
                         int max)
{
    struct attached *a = attached_of(user);

    if (a->state == STATE_AWAY && now_ns >= a->retry_at_ns)
        ask(a, now_ns);
    if (a->state == STATE_ASKED)
        await_reply(a, now_ns);
    if (a->is_armed)
        disarm(a);
    for (;;) {
        int count = inbound_read(&a->reader, events, max);

        if (a->state == STATE_UP && a->told_cursor != a->reader.cursor) {
            a->told_cursor = a->reader.cursor; /* messages that it does not want count, too */
            atomic_store_explicit(&user->out.map->cursor, a->told_cursor, memory_order_relaxed);
        }
        if (a->state == STATE_UP && now_ns >= a->look_at_ns && count == 0)
            look_at_socket(a, now_ns);
        if (count == 0 && a->reader.pending_count > 0)
            continue;
        if (attach_looks_again(user, now_ns, count > 0 || a->state != STATE_UP)) {
            drain_rings(a); /* or the descriptor would stay readable */
            return 0;
        }
        if (count > 0 || a->state != STATE_UP || arm(a))
            return count;
    }
}

static void flush(struct attach *user)
{
    struct attached *a = attached_of(user);
    struct attach_outbound_map *map = a->user.out.map;
    uint64_t one = 1;

    if (!map || (a->user.out.head == a->user.out.published &&
                 atomic_load_explicit(&map->daemon_sleeps, memory_order_relaxed) == 0))
        return;
    outbound_publish(&a->user.out);
    attach_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&map->daemon_sleeps, memory_order_relaxed) == 0 ||
        atomic_load_explicit(&map->tail, memory_order_relaxed) == a->user.out.head ||
        atomic_exchange_explicit(&map->daemon_sleeps, 0, memory_order_acq_rel) == 0)
        return;
    user->counters.doorbells++;
    (void)!write(a->doorbell_fd, &one, sizeof(one));
}

static int fd_of(const struct attach *user)
{
    return attached_of_const(user)->epoll_fd;
}

static uint64_t deadline(const struct attach *user)
{
    const struct attached *a = attached_of_const(user);

    if (a->reader.pending_count > 0)
        return 0;
    return a->state == STATE_UP ? UINT64_MAX : a->retry_at_ns;
}

static void close_attached(struct attach *user)
{
    struct attached *a = attached_of(user);
    struct attach_request request = { .magic = ATTACH_PROTOCOL_MAGIC,
                                      .version = ATTACH_SHM_VERSION,
                                      .kind = ATTACH_REQUEST_DETACH };

    if (a->state == STATE_UP) {
        outbound_publish(&a->user.out);
        (void)send(a->socket_fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    leave(a, 0);
    inbound_fini(&a->reader);
    close_fd(&a->epoll_fd);
    free(a);
}

static const struct attach_kind attached_kind = {
    .poll = poll_attached,
    .flush = flush,
    .fd = fd_of,
    .deadline = deadline,
    .close = close_attached,
};

int attached_open(const struct attach_config *config, struct attach **out)
{
    struct attached *a = calloc(1, sizeof(*a));

    *out = NULL;
    if (!a)
        return MD_ERR_NOMEM;
    a->user.kind = &attached_kind;
    a->user.sleep = ATTACH_SLEEP_ANY;
    a->socket_fd = a->wake_fd = a->doorbell_fd = -1;
    a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    a->ring_bytes = config->outbound_bytes ? config->outbound_bytes : DEFAULT_RING;
    a->retry_ns = config->retry_ns ? config->retry_ns : MD_NS_PER_S;
    a->request_flags = (config->sends_only ? ATTACH_REQUEST_SENDS_ONLY : 0) |
                       (config->is_application ? ATTACH_REQUEST_APPLICATION : 0) |
                       (config->wants_no_data ? ATTACH_REQUEST_CONTROL : 0) |
                       (config->says_wants ? ATTACH_REQUEST_WANTS : 0);
    a->process = config->process;
    a->reader.skips_topics = config->skips_topics;
    a->reader.want = config->want;
    a->reader.want_argument = config->want_argument;
    a->reader.counters = &a->user.counters;
    if (config->user_name)
        memcpy(a->name, config->user_name, strlen(config->user_name));
    int err = a->epoll_fd < 0 ? MD_ERR_SYS
                              : attach_socket_path(a->path, sizeof(a->path), config->run_dir,
                                                   config->network, config->rrcpd_instance);
    if (!err && config->rrcpd_role &&
        attach_socket_path(a->role_path, sizeof(a->role_path), config->run_dir, config->network,
                           config->rrcpd_role) != 0)
        a->role_path[0] = '\0';
    if (err) {
        close_fd(&a->epoll_fd);
        free(a);
        return err;
    }
    *out = &a->user;
    return 0;
}
