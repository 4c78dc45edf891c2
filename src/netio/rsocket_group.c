/* rsocket_group.c - threads that wait for rsockets; see rsocket_private.h and docs/design. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/thread.h"
#include "netio/rsocket.h"
#include "rsocket_private.h"

/*
 * rpoll looks at each of its rsockets whenever it is called, so one thread waits for GROUP_ENTRIES
 * of them. A second thread of the group ends and closes them: both may take seconds where the peer
 * is silent. An entry is in one list at a time, of the one or of the other thread; so nothing is
 * closed that is waited for.
 *
 * The first thread gives up its capabilities and starts all others. The kernel takes orders for a
 * device only with the credentials that opened it, and these threads give all of them.
 */
#define GROUP_ENTRIES 64u
#define ENTRIES_MAX   4096u
#define GROUPS_MAX    (ENTRIES_MAX / GROUP_ENTRIES)
#define REFUSED_MAX   64u /* beyond them, on their way to be closed */
/* A thread of the library carries a connection on, too. It wakes those that sleep in rpoll when it
 * has got something, but not the one that is about to: that one would sleep for five seconds. So a
 * timer among the descriptors wakes it. A time of rpoll itself must not run out: then the library
 * counts the thread among those that sleep for ever after, and the next one spins in rpoll and
 * hears of no descriptor any more (librdmacm of rdma-core up to 59 at least). */
#define OPENING_MS  10
#define OPEN_MS     1000
#define EXIT_NS     1000000000L /* how long the end of the process waits for orderly ends */

#define OWN_FDS     2u /* to be woken, and the timer */

#define ORDER_END   0x1u
#define ORDER_CLOSE 0x2u
#define ORDER_ENDED 0x4u

struct rsocket_group {
    const struct rsocket_calls *calls;
    struct md_thread waiter, closer;
    int wake_fd, timer_fd;
    _Atomic bool is_waiting;
    unsigned count; /* of entries; under the lock of all */
    pthread_mutex_t lock;
    pthread_cond_t has_jobs;
    struct rsocket_entry *incoming; /* for the waiter */
    struct rsocket_entry *jobs;     /* for the closer */
    /* The waiter's own. */
    struct rsocket_entry *held;
    struct pollfd *fds;
    struct rsocket_entry **polled; /* that of fds[i + OWN_FDS] */
    size_t room;
    bool has_opening; /* among them */
    int interval_ms;  /* of the timer */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_closed;
    struct rsocket_group *groups[GROUPS_MAX];
    unsigned group_count;
    unsigned closing;
    bool has_exit_handler;
    _Atomic uint64_t count, pinned, pinned_max, refused;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER,
          .has_closed = PTHREAD_COND_INITIALIZER,
          .pinned_max = 1ull << 30 };

void net_rsocket_memory_set(uint64_t bytes)
{
    atomic_store(&all.pinned_max, bytes);
}

void net_rsocket_figures(struct net_rsocket_figures *out)
{
    *out = (struct net_rsocket_figures){ .streams = atomic_load(&all.count),
                                         .pinned = atomic_load(&all.pinned),
                                         .refused = atomic_load(&all.refused) };
}

bool rsocket_entry_pin(struct rsocket_entry *entry, uint64_t bytes)
{
    if (atomic_fetch_add(&all.pinned, bytes) + bytes > atomic_load(&all.pinned_max)) {
        atomic_fetch_sub(&all.pinned, bytes);
        atomic_fetch_add(&all.refused, 1);
        return false;
    }
    entry->pinned = bytes;
    return true;
}

void rsocket_entry_unpin(struct rsocket_entry *entry)
{
    atomic_fetch_sub(&all.pinned, entry->pinned);
    entry->pinned = 0;
}

static void push(struct rsocket_entry **list, struct rsocket_entry *entry)
{
    entry->next = *list;
    *list = entry;
}

static struct rsocket_entry *pop(struct rsocket_entry **list)
{
    struct rsocket_entry *entry = *list;

    if (entry)
        *list = entry->next;
    return entry;
}

/* The waiter says that it will wait before it looks what to wait for, and an owner writes its wish
 * before it looks whether somebody waits: one of the two sees the other. */
static void wake(struct rsocket_group *group)
{
    const uint64_t one = 1;

    if (atomic_load(&group->is_waiting))
        (void)!write(group->wake_fd, &one, sizeof(one));
}

static void give(struct rsocket_group *group, struct rsocket_entry *entry)
{
    atomic_store(&entry->group, group);
    pthread_mutex_lock(&group->lock);
    push(&group->incoming, entry);
    pthread_mutex_unlock(&group->lock);
    wake(group);
}

/* ---- the closer ---- */

static void count_out(struct rsocket_group *group)
{
    pthread_mutex_lock(&all.lock);
    group->count--;
    all.closing--;
    atomic_fetch_sub(&all.count, 1);
    pthread_cond_broadcast(&all.has_closed);
    pthread_mutex_unlock(&all.lock);
}

static void *close_all(void *argument)
{
    struct rsocket_group *group = argument;

    md_thread_settled(&group->closer);
    for (;;) {
        pthread_mutex_lock(&group->lock);
        while (!group->jobs)
            pthread_cond_wait(&group->has_jobs, &group->lock);
        struct rsocket_entry *entry = pop(&group->jobs);
        pthread_mutex_unlock(&group->lock);
        if (!(atomic_load(&entry->orders) & ORDER_CLOSE)) {
            (void)group->calls->shutdown(entry->rs, SHUT_WR);
            atomic_fetch_or(&entry->orders, ORDER_ENDED);
            give(group, entry);
            continue;
        }
        if (entry->rs >= 0)
            (void)group->calls->close(entry->rs);
        close(entry->signal.other);
        pthread_mutex_lock(&all.lock); /* its owner is done with it, see rsocket_entry_close() */
        pthread_mutex_unlock(&all.lock);
        rsocket_entry_unpin(entry);
        entry->kind->destroy(entry);
        count_out(group);
    }
    return NULL;
}

static void let_close(struct rsocket_group *group, struct rsocket_entry *entry)
{
    pthread_mutex_lock(&group->lock);
    push(&group->jobs, entry);
    pthread_cond_signal(&group->has_jobs);
    pthread_mutex_unlock(&group->lock);
}

/* ---- the waiter ---- */

static void tell(struct rsocket_entry *entry, unsigned bits)
{
    bits &= atomic_load(&entry->wanted);
    if (!bits)
        return;
    rsocket_signal_raise(&entry->signal, bits);
    /* Last: the owner lowers only what is not wanted any more, so no signal outlives that. */
    atomic_fetch_and(&entry->wanted, ~bits);
}

static void fail(struct rsocket_entry *entry, int error)
{
    entry->error = error;
    atomic_store(&entry->phase, RSOCKET_FAILED);
    tell(entry, NET_READABLE | NET_WRITABLE);
}

static void open_entry(struct rsocket_entry *entry)
{
    atomic_store(&entry->phase, RSOCKET_OPENING);
    int error = entry->kind->open(entry, entry->calls);
    if (error)
        fail(entry, error);
    else if (entry->kind->accept)
        atomic_store(&entry->phase, RSOCKET_OPEN);
}

static void look_whether_open(struct rsocket_entry *entry, int revents)
{
    int error = 0;
    socklen_t length = sizeof(error);

    if (entry->calls->getsockopt(entry->rs, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (!error && revents & (POLLERR | POLLNVAL))
        error = ECONNRESET;
    if (error) {
        fail(entry, error);
        return;
    }
    entry->kind->opened(entry, entry->calls);
    atomic_store(&entry->phase, RSOCKET_OPEN);
    tell(entry, NET_WRITABLE);
}

static void deliver(struct rsocket_entry *entry, int revents)
{
    unsigned bits = (revents & POLLIN ? NET_READABLE : 0) | (revents & POLLOUT ? NET_WRITABLE : 0);

    if (atomic_load(&entry->phase) == RSOCKET_OPENING) {
        look_whether_open(entry, revents);
        return;
    }
    if (revents & (POLLERR | POLLHUP | POLLNVAL))
        bits = NET_READABLE | NET_WRITABLE;
    if (!entry->kind->accept || !entry->kind->accept(entry, entry->calls))
        tell(entry, bits);
}

static short events_of(const struct rsocket_entry *entry)
{
    unsigned wanted = atomic_load(&entry->wanted);

    switch (atomic_load(&entry->phase)) {
    case RSOCKET_OPENING:
        return POLLIN | POLLOUT;
    case RSOCKET_OPEN:
        return (short)((wanted & NET_READABLE ? POLLIN : 0) |
                       (wanted & NET_WRITABLE ? POLLOUT : 0));
    default:
        return 0;
    }
}

static bool make_room(struct rsocket_group *group, size_t count)
{
    size_t room = group->room ? group->room : GROUP_ENTRIES + OWN_FDS;

    while (room < count)
        room *= 2;
    if (room == group->room)
        return true;
    struct pollfd *fds = realloc(group->fds, room * sizeof(*fds));
    if (fds)
        group->fds = fds;
    struct rsocket_entry **polled = realloc(group->polled, room * sizeof(struct rsocket_entry *));
    if (polled)
        group->polled = polled;
    if (!fds || !polled)
        return false;
    group->room = room;
    return true;
}

static struct rsocket_group *create(const struct rsocket_calls *calls);

/* The group of a new entry: the first with room, this one where no other can be started. */
static struct rsocket_group *assign(struct rsocket_group *self, struct rsocket_entry *entry)
{
    struct rsocket_group *group = NULL;

    pthread_mutex_lock(&all.lock);
    for (unsigned i = 0; i < all.group_count && !group; i++)
        group = all.groups[i]->count < GROUP_ENTRIES ? all.groups[i] : NULL;
    if (!group && all.group_count < GROUPS_MAX) {
        group = create(self->calls);
        if (group)
            all.groups[all.group_count++] = group;
    }
    if (!group)
        group = self;
    group->count++;
    entry->is_counted = true;
    pthread_mutex_unlock(&all.lock);
    return group;
}

static void take_incoming(struct rsocket_group *group)
{
    struct rsocket_entry *entry;

    pthread_mutex_lock(&group->lock);
    struct rsocket_entry *list = group->incoming;
    group->incoming = NULL;
    pthread_mutex_unlock(&group->lock);
    while ((entry = pop(&list)) != NULL) {
        struct rsocket_group *to = entry->is_counted ? group : assign(group, entry);

        if (to == group)
            push(&group->held, entry);
        else
            give(to, entry);
    }
}

/* False: it is the closer's now. */
static bool obey(struct rsocket_group *group, struct rsocket_entry *entry)
{
    unsigned orders = atomic_load(&entry->orders);
    bool is_open = atomic_load(&entry->phase) == RSOCKET_OPEN;

    if (orders & ORDER_CLOSE || ((orders & (ORDER_END | ORDER_ENDED)) == ORDER_END && is_open)) {
        let_close(group, entry);
        return false;
    }
    if (atomic_load(&entry->phase) == RSOCKET_NEW)
        open_entry(entry);
    return true;
}

/* The entries to wait for. */
static nfds_t gather(struct rsocket_group *group)
{
    struct rsocket_entry **at = &group->held;
    nfds_t count = OWN_FDS;

    take_incoming(group);
    group->has_opening = false;
    group->fds[0] = (struct pollfd){ .fd = group->wake_fd, .events = POLLIN };
    group->fds[1] = (struct pollfd){ .fd = group->timer_fd, .events = POLLIN };
    while (*at) {
        struct rsocket_entry *entry = *at;

        *at = entry->next; /* it may be in another list in a moment */
        if (!obey(group, entry))
            continue;
        push(at, entry);
        at = &entry->next;
        short events = events_of(entry);
        if (!events || !make_room(group, count + 1))
            continue;
        group->has_opening |= atomic_load(&entry->phase) == RSOCKET_OPENING;
        group->polled[count - OWN_FDS] = entry;
        group->fds[count++] = (struct pollfd){ .fd = entry->rs, .events = events };
    }
    return count;
}

/* Nothing of it costs a system call while all are open. */
static void set_timer(struct rsocket_group *group)
{
    int ms = group->has_opening ? OPENING_MS : OPEN_MS;
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
    const struct itimerspec each = { .it_interval = time, .it_value = time };

    if (ms != group->interval_ms && timerfd_settime(group->timer_fd, 0, &each, NULL) == 0)
        group->interval_ms = ms;
}

static void quieten(const struct pollfd *own)
{
    uint64_t count;

    for (unsigned i = 0; i < OWN_FDS; i++) {
        if (own[i].revents)
            (void)!read(own[i].fd, &count, sizeof(count));
    }
}

static void *wait_for_all(void *argument)
{
    struct rsocket_group *group = argument;

    md_thread_settled(&group->waiter);
    for (;;) {
        atomic_store(&group->is_waiting, true);
        nfds_t count = gather(group);
        set_timer(group);
        int found = group->calls->poll(group->fds, count, -1);
        int error = errno;
        atomic_store(&group->is_waiting, false);
        if (found < 0 && error != EINTR) /* no memory, at most: later */
            (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        if (found <= 0)
            continue;
        quieten(group->fds);
        for (nfds_t i = OWN_FDS; i < count; i++) {
            if (group->fds[i].revents)
                deliver(group->polled[i - OWN_FDS], group->fds[i].revents);
        }
    }
    return NULL;
}

/* ---- life ---- */

static void abandon(struct rsocket_group *group)
{
    int error = errno;

    if (group->wake_fd >= 0)
        close(group->wake_fd);
    if (group->timer_fd >= 0)
        close(group->timer_fd);
    free(group->fds);
    free(group->polled);
    free(group);
    errno = error;
}

static struct rsocket_group *create(const struct rsocket_calls *calls)
{
    struct rsocket_group *group = calloc(1, sizeof(*group));

    if (!group)
        return NULL;
    group->calls = calls;
    group->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    group->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    (void)pthread_mutex_init(&group->lock, NULL);
    (void)pthread_cond_init(&group->has_jobs, NULL);
    if (group->wake_fd < 0 || group->timer_fd < 0 || !make_room(group, OWN_FDS)) {
        abandon(group);
        return NULL;
    }
    /* The waiter first: without a closer nothing is ever given to it, and it sleeps. */
    if (md_thread_start(&group->waiter, wait_for_all, group) != MD_OK) {
        abandon(group);
        return NULL;
    }
    if (md_thread_start(&group->closer, close_all, group) != MD_OK)
        return NULL;
    return group;
}

/* Bytes that were written before the end of the process still go out, as those of TCP do. */
static void finish(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += EXIT_NS / 1000000000L;
    pthread_mutex_lock(&all.lock);
    while (all.closing > 0 && pthread_cond_timedwait(&all.has_closed, &all.lock, &until) == 0)
        ;
    pthread_mutex_unlock(&all.lock);
}

static struct rsocket_group *first_group(const struct rsocket_calls *calls)
{
    pthread_mutex_lock(&all.lock);
    if (!all.has_exit_handler)
        all.has_exit_handler = atexit(finish) == 0;
    if (all.group_count == 0) {
        all.groups[0] = create(calls);
        all.group_count = all.groups[0] ? 1 : 0;
    }
    struct rsocket_group *group = all.groups[0];
    pthread_mutex_unlock(&all.lock);
    return group;
}

int rsocket_entry_add(struct rsocket_entry *entry)
{
    if (atomic_fetch_add(&all.count, 1) >= ENTRIES_MAX) {
        atomic_fetch_sub(&all.count, 1);
        atomic_fetch_add(&all.refused, 1);
        return MD_ERR_FULL;
    }
    struct rsocket_group *group = first_group(entry->calls);
    if (!group) {
        atomic_fetch_sub(&all.count, 1);
        return MD_ERR_SYS;
    }
    give(group, entry);
    return MD_OK;
}

bool rsocket_entry_refuse(struct rsocket_entry *entry)
{
    struct rsocket_group *group = first_group(entry->calls);

    if (!group)
        return false;
    if (atomic_fetch_add(&all.count, 1) >= ENTRIES_MAX + REFUSED_MAX) {
        atomic_fetch_sub(&all.count, 1);
        return false;
    }
    close(entry->signal.owner);
    entry->signal.owner = -1;
    pthread_mutex_lock(&all.lock);
    all.closing++;
    pthread_mutex_unlock(&all.lock);
    atomic_fetch_or(&entry->orders, ORDER_CLOSE);
    give(group, entry);
    return true;
}

/* ---- the owner ---- */

void rsocket_entry_rest(struct rsocket_entry *entry, unsigned bit)
{
    if (atomic_load(&entry->wanted) & bit)
        return;
    rsocket_signal_lower(&entry->signal, bit);
    atomic_fetch_or(&entry->wanted, bit);
    wake(atomic_load(&entry->group));
}

void rsocket_entry_end(struct rsocket_entry *entry)
{
    atomic_fetch_or(&entry->orders, ORDER_END);
    wake(atomic_load(&entry->group));
}

void rsocket_entry_close(struct rsocket_entry *entry)
{
    MD_ASSERT(entry->signal.owner >= 0);
    close(entry->signal.owner);
    entry->signal.owner = -1;
    /* Its thread may take it as soon as the order is there, but does not free it before this. */
    pthread_mutex_lock(&all.lock);
    all.closing++;
    atomic_fetch_or(&entry->orders, ORDER_CLOSE);
    wake(atomic_load(&entry->group));
    pthread_mutex_unlock(&all.lock);
}
