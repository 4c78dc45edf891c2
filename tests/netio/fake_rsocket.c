/* fake_rsocket.c - see fake_rsocket.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_rsocket.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_MAX 16384
#define BUFFER  131072 /* what the library pins each way, unless it is told */

struct fake {
    bool is_used;
    bool is_listener;
    bool is_opening;
    int tcp;
    int polls;  /* that are under way with it */
    int rounds; /* polls that it still lets pass before it is open */
    int buffers[2];
};

static struct fake fakes[FDS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct {
    atomic_uint short_percent, again_percent, spurious_percent;
    atomic_bool is_without_device;
} manners;
static bool is_held;
static unsigned open_count;
static atomic_ulong poll_count;
static atomic_uint dice = 1;

void fake_rsocket_manners_set(const struct fake_rsocket_manners *wanted)
{
    atomic_store(&manners.short_percent, wanted->short_percent);
    atomic_store(&manners.again_percent, wanted->again_percent);
    atomic_store(&manners.spurious_percent, wanted->spurious_percent);
    atomic_store(&manners.is_without_device, wanted->is_without_device);
}

void fake_rsocket_hold(bool is_on)
{
    pthread_mutex_lock(&lock);
    is_held = is_on;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

unsigned fake_rsocket_open_count(void)
{
    pthread_mutex_lock(&lock);
    unsigned count = open_count;
    pthread_mutex_unlock(&lock);
    return count;
}

unsigned long fake_rsocket_poll_count(void)
{
    return atomic_load(&poll_count);
}

static void refuse(const char *why)
{
    fprintf(stderr, "fake rsocket: %s\n", why);
    abort();
}

static bool happens(unsigned percent)
{
    unsigned x = atomic_fetch_add(&dice, 1) * 2654435761u;

    return (x >> 8) % 100 < percent;
}

/* The real library lets no thread give orders but one with the credentials of the first. */
static void order(void)
{
    if (syscall(SYS_gettid) == getpid())
        refuse("an order by the first thread of the process");
}

/* Locked. */
static struct fake *find(int fd)
{
    if (fd < 0 || fd >= FDS_MAX || !fakes[fd].is_used)
        refuse("a call to what is no rsocket, or not any more");
    return &fakes[fd];
}

static int tcp_of(int fd)
{
    pthread_mutex_lock(&lock);
    int tcp = find(fd)->tcp;
    pthread_mutex_unlock(&lock);
    return tcp;
}

static int insert(int tcp, const struct fake *like)
{
    int fd = eventfd(0, EFD_CLOEXEC);

    if (fd < 0 || fd >= FDS_MAX)
        refuse("too many descriptors");
    pthread_mutex_lock(&lock);
    fakes[fd] = *like;
    fakes[fd].is_used = true;
    fakes[fd].tcp = tcp;
    open_count++;
    pthread_mutex_unlock(&lock);
    return fd;
}

static int fake_socket(int domain, int type, int protocol)
{
    struct fake fresh = { .buffers = { BUFFER, BUFFER } };

    order();
    if (manners.is_without_device || type != SOCK_STREAM || protocol != 0) {
        errno = manners.is_without_device ? ENODEV : EOPNOTSUPP;
        return -1;
    }
    int tcp = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return tcp < 0 ? -1 : insert(tcp, &fresh);
}

static int fake_bind(int fd, const struct sockaddr *address, socklen_t length)
{
    order();
    return bind(tcp_of(fd), address, length);
}

static int fake_listen(int fd, int backlog)
{
    order();
    pthread_mutex_lock(&lock);
    find(fd)->is_listener = true;
    pthread_mutex_unlock(&lock);
    return listen(tcp_of(fd), backlog);
}

static int fake_accept(int fd, struct sockaddr *address, socklen_t *length)
{
    struct fake fresh = { .is_opening = true, .rounds = 2 };

    order();
    if (happens(manners.again_percent)) {
        errno = EAGAIN;
        return -1;
    }
    int tcp = accept4(tcp_of(fd), address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (tcp < 0)
        return -1;
    pthread_mutex_lock(&lock);
    memcpy(fresh.buffers, find(fd)->buffers, sizeof(fresh.buffers));
    pthread_mutex_unlock(&lock);
    return insert(tcp, &fresh);
}

static int fake_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    order();
    pthread_mutex_lock(&lock);
    find(fd)->is_opening = true;
    find(fd)->rounds = 2;
    pthread_mutex_unlock(&lock);
    return connect(tcp_of(fd), address, length);
}

/* So many bytes of it are read or written; 0: say EAGAIN. */
static size_t part(int fd, size_t size)
{
    pthread_mutex_lock(&lock);
    if (find(fd)->is_opening)
        refuse("data before it was seen to be open: two threads would open it");
    pthread_mutex_unlock(&lock);
    if (happens(manners.again_percent))
        return 0;
    return size > 1 && happens(manners.short_percent) ? 1 + size / 3 : size;
}

static ssize_t fake_recv(int fd, void *bytes, size_t size, int flags)
{
    size_t some = part(fd, size);

    errno = EAGAIN;
    return some == 0 ? -1 : recv(tcp_of(fd), bytes, some, flags | MSG_DONTWAIT);
}

static ssize_t fake_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct msghdr first = *message;
    struct iovec iov;

    if (message->msg_iovlen == 0)
        refuse("the library reads the first part of a message that has none");
    iov = message->msg_iov[0];
    size_t some = part(fd, iov.iov_len);
    errno = EAGAIN;
    if (some == 0 && iov.iov_len > 0)
        return -1;
    if (some < iov.iov_len) {
        iov.iov_len = some;
        first.msg_iov = &iov;
        first.msg_iovlen = 1;
    }
    return sendmsg(tcp_of(fd), &first, flags | MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The library does not look at an rsocket while another thread of ours takes it apart. */
static void mark(const struct pollfd *fds, nfds_t count, struct pollfd *real, int step)
{
    pthread_mutex_lock(&lock);
    for (nfds_t i = 0; i < count; i++) {
        struct fake *fake = &fakes[fds[i].fd];

        if (fds[i].fd >= FDS_MAX)
            refuse("a descriptor beyond the table");
        if (step > 0)
            real[i] = (struct pollfd){ .fd = fake->is_used ? fake->tcp : fds[i].fd,
                                       .events = fds[i].events };
        if (fake->is_used)
            fake->polls += step;
    }
    pthread_mutex_unlock(&lock);
}

/* One that opens is missed by those who sleep already: a thread of the library takes the event, and
 * does not wake who was about to sleep. Returns how many others are ready. */
static int miss(const struct pollfd *fds, nfds_t count, struct pollfd *real)
{
    int ready = 0;

    pthread_mutex_lock(&lock);
    for (nfds_t i = 0; i < count; i++) {
        struct fake *fake = &fakes[fds[i].fd];

        if (fake->is_used && fake->is_opening && (!real[i].revents || fake->rounds-- > 0))
            real[i] = (struct pollfd){ .fd = -1 };
        ready += real[i].revents != 0;
    }
    pthread_mutex_unlock(&lock);
    return ready;
}

static int fake_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct pollfd *real = calloc(count, sizeof(*real));
    int found = 0;

    order();
    if (timeout_ms > 0)
        refuse("a time that may run out, after which the real one may spin in rpoll for ever");
    atomic_fetch_add(&poll_count, 1);
    mark(fds, count, real, 1);
    (void)poll(real, count, 0);
    if (miss(fds, count, real) == 0 && !happens(manners.spurious_percent) &&
        poll(real, count, timeout_ms) < 0)
        refuse("poll failed");
    mark(fds, count, real, -1);
    pthread_mutex_lock(&lock);
    for (nfds_t i = 0; i < count; i++) {
        fds[i].revents = real[i].revents;
        found += fds[i].revents != 0;
        if (fds[i].revents)
            fakes[fds[i].fd].is_opening = false;
    }
    pthread_mutex_unlock(&lock);
    free(real);
    return found;
}

static struct fake *hold(int fd)
{
    order();
    pthread_mutex_lock(&lock);
    if (find(fd)->polls > 0)
        refuse("it is ended or closed while a thread waits for it");
    while (is_held)
        pthread_cond_wait(&released, &lock);
    return find(fd);
}

static int fake_shutdown(int fd, int how)
{
    int tcp = hold(fd)->tcp;

    pthread_mutex_unlock(&lock);
    return shutdown(tcp, how);
}

static int fake_close(int fd)
{
    struct fake *fake = hold(fd);

    fake->is_used = false;
    open_count--;
    close(fake->tcp);
    pthread_mutex_unlock(&lock);
    return close(fd);
}

static int fake_getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    order();
    return getsockname(tcp_of(fd), address, length);
}

static int fake_getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
    order();
    return getpeername(tcp_of(fd), address, length);
}

static int fake_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    order();
    if (level != SOL_SOCKET || (name != SO_SNDBUF && name != SO_RCVBUF))
        return getsockopt(tcp_of(fd), level, name, value, length);
    pthread_mutex_lock(&lock);
    memcpy(value, &find(fd)->buffers[name == SO_RCVBUF], sizeof(int));
    pthread_mutex_unlock(&lock);
    return 0;
}

static int fake_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    int bytes = 0;

    order();
    if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF)) {
        memcpy(&bytes, value, sizeof(bytes));
        pthread_mutex_lock(&lock);
        find(fd)->buffers[name == SO_RCVBUF] = 2 * bytes;
        pthread_mutex_unlock(&lock);
    }
    return setsockopt(tcp_of(fd), level, name, value, length);
}

static int fake_set_nonblocking(int fd)
{
    order();
    (void)tcp_of(fd);
    return 0;
}

/* The object is loaded as the plug-in, too, by programs that are tested with it. */
extern const struct rsocket_calls rmds_rsocket_calls
    __attribute__((alias("fake_rsocket_calls"), visibility("default")));

__attribute__((constructor)) static void read_manners(void)
{
    struct fake_rsocket_manners wanted = { 0 };

    if (getenv("RMDS_FAKE_RSOCKET_UNKIND"))
        wanted = (struct fake_rsocket_manners){ .short_percent = 20,
                                                .again_percent = 10,
                                                .spurious_percent = 10 };
    wanted.is_without_device = getenv("RMDS_FAKE_RSOCKET_NO_DEVICE") != NULL;
    fake_rsocket_manners_set(&wanted);
}

const struct rsocket_calls fake_rsocket_calls = {
    .size = sizeof(struct rsocket_calls),
    .version = RMDS_VERSION,
    .socket = fake_socket,
    .bind = fake_bind,
    .listen = fake_listen,
    .accept = fake_accept,
    .connect = fake_connect,
    .recv = fake_recv,
    .sendmsg = fake_sendmsg,
    .poll = fake_poll,
    .shutdown = fake_shutdown,
    .close = fake_close,
    .getsockname = fake_getsockname,
    .getpeername = fake_getpeername,
    .getsockopt = fake_getsockopt,
    .setsockopt = fake_setsockopt,
    .set_nonblocking = fake_set_nonblocking,
};
