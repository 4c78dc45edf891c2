/* users.c - see users.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rundir.h"
#include "base/runfile.h"
#include "guests.h"

enum state { STATE_NEW, STATE_ADDING, STATE_UP, STATE_LEAVING };

/* Connections may outnumber users a little: some have only just come, some are on their way out. */
enum { CONNECTION_MAX = RRCP_USER_MAX + 32, RING_DEFAULT = 16 << 20, RING_MAX = 256 << 20 };

#define SILENT_NS (5 * MD_NS_PER_S)

struct user {
    struct net_user net; /* lent to the net loop */
    struct users *users;
    enum state state;
    bool has_detached;
    bool has_place; /* of its uid's quota */
    int socket_fd;
    struct md_loop_fd *watch;
    struct md_loop_timer *silence;
    int ring_fd, wake_read_fd; /* for the reply only */
    struct ucred peer;
};

struct users {
    struct md_loop *loop;
    struct net *net;
    int listen_fd;
    struct md_loop_fd *watch;
    char path[108];
    struct user *list[CONNECTION_MAX];
    int count;
    uint64_t ring_bytes, ring_bytes_max;
    struct guests guests;
    const struct access *access;
    struct md_ctr *refused_access, *refused_rate, *refused_quota, *refused_connections,
        *refused_rings;
    void (*exhausted)(void *owner);
    void *owner;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- the end of a user ---------------------------------------------------------------------- */

static void close_socket(struct user *user)
{
    md_loop_fd_remove(user->watch);
    user->watch = NULL;
    md_loop_timer_destroy(user->silence);
    user->silence = NULL;
    close_fd(&user->socket_fd);
}

static void destroy(struct user *user)
{
    struct users *users = user->users;

    close_socket(user);
    users->ring_bytes -= user->net.ring_bytes;
    if (user->has_place)
        guests_leave(&users->guests, user->peer.uid);
    if (user->net.map)
        munmap(user->net.map, attach_outbound_map_bytes(user->net.ring_bytes));
    close_fd(&user->ring_fd);
    close_fd(&user->wake_read_fd);
    close_fd(&user->net.wake_fd);
    close_fd(&user->net.doorbell_fd);
    for (int i = 0; i < users->count; i++)
        if (users->list[i] == user)
            users->list[i] = users->list[--users->count];
    free(user);
}

/* The socket is gone, or is to be. What happens next depends on how far the user had come. */
static void hang_up(struct user *user, enum backbone_user_reason reason)
{
    close_socket(user);
    switch (user->state) {
    case STATE_NEW:
        destroy(user);
        return;
    case STATE_UP:
        user->state = STATE_LEAVING;
        md_log(MD_LOG_INFO, "user %s (port %d, pid %d) %s", user->net.name, user->net.port,
               (int)user->peer.pid,
               reason == BACKBONE_USER_DETACHED ? "has detached"
               : reason == BACKBONE_USER_DIED   ? "has died"
                                                : "is thrown out");
        net_mail_send(
            user->users->net,
            (struct net_mail){ .kind = NET_REMOVE, .user = &user->net, .value = (int)reason });
        return;
    case STATE_ADDING:
    case STATE_LEAVING:
        return; /* the net loop's answer is awaited */
    }
}

/* ---- attaching ------------------------------------------------------------------------------ */

static void reply(struct user *user, const struct attach_reply *reply, const int fds[])
{
    alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(ATTACH_FD_COUNT * sizeof(int))];
    struct attach_reply copy = *reply;
    struct iovec iov = { &copy, sizeof(copy) };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

    memset(control, 0, sizeof(control));
    if (fds) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(ATTACH_FD_COUNT * sizeof(int));
        memcpy(CMSG_DATA(c), fds, ATTACH_FD_COUNT * sizeof(int));
    }
    if (sendmsg(user->socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        md_log(MD_LOG_WARNING, "user %s: cannot answer: %s", user->net.name, strerror(errno));
}

static void refuse(struct user *user, int err, const char *why)
{
    struct attach_reply answer = { .magic = ATTACH_PROTOCOL_MAGIC,
                                   .version = ATTACH_SHM_VERSION,
                                   .result = err };

    snprintf(answer.why, sizeof(answer.why), "%s", why);
    md_log(MD_LOG_WARNING, "attach refused: user %s pid=%d uid=%d: %s", user->net.name,
           (int)user->peer.pid, (int)user->peer.uid, why);
    reply(user, &answer, NULL);
}

static int make_rings(struct user *user, uint32_t bytes)
{
    int pipe_fds[2];

    int err = attach_outbound_create(bytes, &user->ring_fd, &user->net.map);
    if (err)
        return err;
    user->net.ring_bytes = bytes;
    user->users->ring_bytes += bytes;
    /*
     * A pipe and not an eventfd: O_NONBLOCK belongs to the open file, and the user shares an
     * eventfd's. With its own end of a pipe it cannot make our writes block.
     */
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return MD_ERR_SYS;
    user->wake_read_fd = pipe_fds[0];
    user->net.wake_fd = pipe_fds[1];
    user->net.doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return user->net.doorbell_fd < 0 ? MD_ERR_SYS : 0;
}

static bool is_source(const char *name)
{
    return strncmp(name, "src_dist.", 9) == 0;
}

static bool is_sink(const char *name)
{
    return strncmp(name, "p2ps.", 5) == 0;
}

/* The groups that the kernel says the program is in. */
static int groups_of(const struct user *user, gid_t groups[ACCESS_GROUPS_MAX])
{
    socklen_t length = (ACCESS_GROUPS_MAX - 1) * sizeof(gid_t);

    groups[0] = user->peer.gid;
    if (getsockopt(user->socket_fd, SOL_SOCKET, SO_PEERGROUPS, groups + 1, &length) != 0)
        return 1; /* more than there is room for: its first group counts */
    return 1 + (int)(length / sizeof(gid_t));
}

/* False: refused, since no rule lets the uid do anything. */
static bool has_access(struct user *user, bool is_application)
{
    const struct access *access = user->users->access;
    gid_t groups[ACCESS_GROUPS_MAX];
    access_rules rules;

    rules = access_find(access, user->peer.uid, groups, groups_of(user, groups));
    if (access_is_daemon(access, user->peer.uid) && (!is_application || rules == 0))
        return true;
    if (rules == 0) {
        md_ctr_inc(user->users->refused_access);
        refuse(user, MD_ERR_STATE,
               "attachAccess lets this uid and its groups do nothing; uid=NAME consume, "
               "publish=SERVICE "
               "or all would");
        return false;
    }
    user->net.limits = access_limits(access, rules);
    if (!access_is_all(access, rules)) {
        user->net.access = access;
        user->net.rules = rules;
    }
    return true;
}

/* False: refused, since its uid attaches too often, or has its places. */
static bool is_within_quota(struct user *user)
{
    struct users *users = user->users;
    uint64_t now_ns = md_clock_mono_ns();
    const char *name = user->net.name;
    const char *daemon = is_source(name) || is_sink(name) ? name : NULL;

    if (!guests_attach(&users->guests, user->peer.uid, daemon, now_ns)) {
        md_ctr_inc(users->refused_rate);
        refuse(user, MD_ERR_AGAIN, "this uid attaches too often; once a second is allowed now");
        return false;
    }
    user->has_place = guests_enter(&users->guests, user->peer.uid, now_ns);
    if (!user->has_place) {
        md_ctr_inc(users->refused_quota);
        refuse(user, MD_ERR_FULL, "this uid has 48 places, which is the most");
    }
    return user->has_place;
}

/* False: refused, since there is no memory for its ring, or no more for its uid. */
static bool has_room(struct user *user, uint32_t bytes)
{
    struct users *users = user->users;
    uint64_t of_uid = bytes;

    if (users->ring_bytes_max == 0)
        return true;
    for (int i = 0; i < users->count; i++)
        if (users->list[i]->peer.uid == user->peer.uid)
            of_uid += users->list[i]->net.ring_bytes;
    bool is_fair = guests_may_have_rings(user->peer.uid, of_uid, users->ring_bytes_max);
    if (is_fair && users->ring_bytes + bytes <= users->ring_bytes_max)
        return true;
    md_ctr_inc(users->refused_rings);
    refuse(user, MD_ERR_NOMEM,
           is_fair ? "the rings of all users would go beyond memoryLimit"
                   : "the rings of this uid would take more than 3/4 of the memory for rings");
    return false;
}

static void attach(struct user *user, const struct attach_request *request)
{
    uint32_t bytes = request->outbound_bytes ? request->outbound_bytes : RING_DEFAULT;

    memcpy(user->net.name, request->name, sizeof(user->net.name));
    md_loop_timer_stop(user->silence);
    if (!has_access(user, request->flags & ATTACH_REQUEST_APPLICATION) || !is_within_quota(user)) {
        hang_up(user, BACKBONE_USER_DIED);
        return;
    }
    if (bytes > RING_MAX) {
        refuse(user, MD_ERR_RANGE, "the outbound ring asked for is too large (256 MiB at most)");
        hang_up(user, BACKBONE_USER_DIED);
        return;
    }
    if (!has_room(user, bytes)) {
        hang_up(user, BACKBONE_USER_DIED);
        return;
    }
    int err = make_rings(user, bytes);
    if (err) {
        refuse(user, err,
               err == MD_ERR_RANGE ? "the outbound ring's size is no power of two"
                                   : "no memory or descriptors for its rings");
        hang_up(user, BACKBONE_USER_DIED);
        return;
    }
    user->net.receives = !(request->flags & ATTACH_REQUEST_SENDS_ONLY);
    /* One that was not told that it may say what it wants would never do so. */
    bool says_wants = request->flags & ATTACH_REQUEST_WANTS && net_filters(user->users->net);
    bool wants_none = says_wants || request->flags & ATTACH_REQUEST_CONTROL;
    user->net.wish.count = wants_none ? 0 : WISHES_WANT_ALL;
    user->net.owner = user;
    user->state = STATE_ADDING;
    net_mail_send(user->users->net, (struct net_mail){ .kind = NET_ADD, .user = &user->net });
}

static void added(struct user *user, int port)
{
    struct net *net = user->users->net;
    struct attach_reply answer = { .magic = ATTACH_PROTOCOL_MAGIC,
                                   .version = ATTACH_SHM_VERSION,
                                   .port = (uint16_t)port,
                                   .session = net_session(net),
                                   .inbound_bytes = net_inbound_bytes(net),
                                   .outbound_bytes = user->net.ring_bytes,
                                   .flags = net_filters(net) ? ATTACH_REPLY_FILTERS : 0 };
    const int fds[ATTACH_FD_COUNT] = {
        [ATTACH_FD_INBOUND] = net_inbound_fd(net),
        [ATTACH_FD_OUTBOUND] = user->ring_fd,
        [ATTACH_FD_WAKE] = user->wake_read_fd,
        [ATTACH_FD_DOORBELL] = user->net.doorbell_fd,
    };

    if (port < 0) {
        if (user->socket_fd >= 0)
            refuse(user, port,
                   port == MD_ERR_RANGE
                       ? "all 65534 ports of this session are used up: rrcpd joins anew"
                       : "64 users are attached, which is the most");
        struct users *users = user->users;
        destroy(user);
        if (port == MD_ERR_RANGE && users->exhausted)
            users->exhausted(users->owner);
        return;
    }
    user->state = STATE_UP;
    if (user->socket_fd < 0) { /* it went away meanwhile */
        hang_up(user, BACKBONE_USER_DIED);
        return;
    }
    md_log(MD_LOG_INFO, "user %s attached: port %d, pid=%d uid=%d", user->net.name, port,
           (int)user->peer.pid, (int)user->peer.uid);
    reply(user, &answer, fds);
    close_fd(&user->ring_fd);
    close_fd(&user->wake_read_fd);
}

void users_limit_rings(struct users *users, uint64_t bytes)
{
    users->ring_bytes_max = bytes;
}

void users_access_set(struct users *users, const struct access *access)
{
    users->access = access;
}

void users_show(struct users *users, struct stats_segment *stats, const char *process)
{
    users->refused_access =
        &stats_entry_addf(stats, STATS_KIND_COUNTER, "%s.usersRefused.access", process)->value;
    users->refused_rate =
        &stats_entry_addf(stats, STATS_KIND_COUNTER, "%s.usersRefused.rate", process)->value;
    users->refused_quota =
        &stats_entry_addf(stats, STATS_KIND_COUNTER, "%s.usersRefused.quota", process)->value;
    users->refused_connections =
        &stats_entry_addf(stats, STATS_KIND_COUNTER, "%s.usersRefused.connections", process)->value;
    users->refused_rings =
        &stats_entry_addf(stats, STATS_KIND_COUNTER, "%s.usersRefused.rings", process)->value;
}

void users_on_exhausted(struct users *users, void (*exhausted)(void *owner), void *owner)
{
    users->exhausted = exhausted;
    users->owner = owner;
}

void users_mail(struct users *users, const struct net_mail *mail)
{
    struct user *user = mail->user ? mail->user->owner : NULL;

    (void)users;
    if (!user)
        return; /* mail about the network itself is not ours */
    if (mail->kind == NET_ADDED)
        added(user, mail->value);
    else if (mail->kind == NET_VIOLATED && user->state == STATE_UP)
        hang_up(user, BACKBONE_USER_VIOLATED);
    else if (mail->kind == NET_REMOVED)
        destroy(user);
}

/* ---- the socket ----------------------------------------------------------------------------- */

static void on_request(void *owner, int fd, unsigned events)
{
    struct user *user = owner;
    struct attach_request request;
    uint8_t bytes[256];
    ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)events;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (got <= 0) {
        hang_up(user, user->has_detached ? BACKBONE_USER_DETACHED : BACKBONE_USER_DIED);
        return;
    }
    int err = attach_request_check(bytes, (size_t)got, &request);
    if (!err && request.kind == ATTACH_REQUEST_ATTACH && user->state == STATE_NEW) {
        attach(user, &request);
    } else if (!err && request.kind == ATTACH_REQUEST_DETACH && user->state == STATE_UP) {
        user->has_detached = true;
    } else {
        refuse(user, MD_ERR_MALFORMED, "this is not a request of the attach protocol, version 1");
        hang_up(user, BACKBONE_USER_VIOLATED);
    }
}

static void on_silence(void *owner)
{
    struct user *user = owner;

    refuse(user, MD_ERR_STATE, "nothing was asked for in 5 s");
    hang_up(user, BACKBONE_USER_DIED);
}

/* False: refused. A uid that is not known is taken for nobody's. */
static bool may_connect(struct users *users, int socket_fd, struct ucred *peer)
{
    socklen_t length = sizeof(*peer);
    const char *why = "the kernel does not tell its uid";
    int of_uid = 0;

    *peer = (struct ucred){ .pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1 };
    if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, peer, &length) == 0) {
        for (int i = 0; i < users->count; i++)
            of_uid += users->list[i]->peer.uid == peer->uid;
        why = guests_connect(peer->uid, of_uid, users->count, CONNECTION_MAX);
    }
    if (!why)
        return true;
    md_ctr_inc(users->refused_connections);
    md_log(MD_LOG_WARNING, "attach refused: pid=%d uid=%d: %s", (int)peer->pid, (int)peer->uid,
           why);
    return false;
}

static void on_connect(void *owner, int fd, unsigned events)
{
    struct users *users = owner;
    struct ucred peer;
    int socket_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (socket_fd < 0)
        return;
    struct user *user = may_connect(users, socket_fd, &peer) ? calloc(1, sizeof(*user)) : NULL;
    if (!user) {
        close(socket_fd);
        return;
    }
    user->users = users;
    user->socket_fd = socket_fd;
    user->ring_fd = user->wake_read_fd = user->net.wake_fd = user->net.doorbell_fd = -1;
    user->peer = peer;
    snprintf(user->net.name, sizeof(user->net.name), "?");
    users->list[users->count++] = user;
    if (md_loop_fd_add(users->loop, socket_fd, MD_LOOP_READ, on_request, user, &user->watch) != 0 ||
        md_loop_timer_create(users->loop, on_silence, user, &user->silence) != 0 ||
        md_loop_timer_after(user->silence, SILENT_NS) != 0)
        destroy(user);
}

int users_open(struct md_loop *loop, struct net *net, const char *path, char *why, size_t why_size,
               struct users **out)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct users *users = calloc(1, sizeof(*users));

    *out = NULL;
    snprintf(why, why_size, "out of memory");
    if (!users)
        return MD_ERR_NOMEM;
    users->loop = loop;
    users->net = net;
    snprintf(users->path, sizeof(users->path), "%s", path);
    memcpy(address.sun_path, users->path, sizeof(address.sun_path));
    users->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (users->listen_fd < 0 || md_runfile_clear_socket(path) != 0)
        goto fail;
    mode_t old = umask(0117);
    int bound = bind(users->listen_fd, (struct sockaddr *)&address, sizeof(address));
    umask(old);
    if (bound == 0)
        md_rundir_share_path(path);
    if (bound != 0 || listen(users->listen_fd, RRCP_USER_MAX) != 0 ||
        md_loop_fd_add(loop, users->listen_fd, MD_LOOP_READ, on_connect, users, &users->watch) != 0)
        goto fail;
    *out = users;
    return 0;

fail:
    snprintf(why, why_size, "attach socket %s: %s", path, strerror(errno));
    close_fd(&users->listen_fd);
    free(users);
    return MD_ERR_SYS;
}

void users_stop(struct users *users)
{
    if (users->listen_fd < 0)
        return;
    md_loop_fd_remove(users->watch);
    users->watch = NULL;
    close_fd(&users->listen_fd);
    unlink(users->path);
}

void users_close(struct users *users)
{
    if (!users)
        return;
    users_stop(users);
    while (users->count > 0)
        destroy(users->list[users->count - 1]);
    free(users);
}

bool users_have_both_sides(const struct users *users)
{
    bool has_source = false, has_sink = false;

    for (int i = 0; i < users->count; i++) {
        const char *name = users->list[i]->net.name;

        has_source |= name[0] && !is_sink(name);
        has_sink |= name[0] && !is_source(name);
    }
    return has_source && has_sink;
}
