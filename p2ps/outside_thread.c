/* outside_thread.c - the socket to an authority, and the thread that it belongs to. See outside.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/err.h"
#include "base/log.h"
#include "outside_state.h"

#define SECOND_NS   1000000000ull
#define CONNECT_NS  (SECOND_NS / 10)
#define CONNECT_MAX (5 * SECOND_NS)
#define STEADY_NS   (3 * SECOND_NS) /* up for so long: the next attempt comes soon again */

/* ---- the socket ---- */

static void shut(struct p2ps_outside *o, const char *why)
{
    p2ps_outside_log_why(&o->log, o->config.now(), why);
    md_loop_fd_remove(o->watch);
    o->watch = NULL;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->distance_ns = o->distance_ns ? 2 * o->distance_ns : CONNECT_NS;
    if (o->distance_ns > CONNECT_MAX)
        o->distance_ns = CONNECT_MAX;
    o->connect_ns = o->config.now() + o->distance_ns;
    pthread_mutex_lock(&o->lock);
    p2ps_authority_close(o->authority, o->config.now());
    pthread_mutex_unlock(&o->lock);
}

static void send_some(struct p2ps_outside *o)
{
    size_t length;

    pthread_mutex_lock(&o->lock);
    const char *bytes = p2ps_authority_output(o->authority, &length);
    ssize_t sent = length ? send(o->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    int error = sent < 0 ? errno : 0;
    if (sent > 0)
        p2ps_authority_sent(o->authority, (size_t)sent);
    bool has_more = length > 0 && (size_t)sent != length;
    pthread_mutex_unlock(&o->lock);
    if (error && error != EAGAIN && error != EINTR)
        shut(o, strerror(error));
    else
        md_loop_fd_set(o->watch, has_more ? MD_LOOP_READ | MD_LOOP_WRITE : MD_LOOP_READ);
}

/* Once is enough: what is left is reported again. */
static void receive_some(struct p2ps_outside *o)
{
    char why[256];
    ssize_t got = recv(o->fd, o->buffer, sizeof(o->buffer), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        shut(o, got == 0 ? "it has closed the connection" : strerror(errno));
        return;
    }
    pthread_mutex_lock(&o->lock);
    const char *wrong = p2ps_authority_input(o->authority, o->config.now(), o->buffer, (size_t)got);
    pthread_mutex_unlock(&o->lock);
    if (!wrong)
        return;
    snprintf(why, sizeof(why), "the connection is closed, for %s", wrong);
    shut(o, why);
}

static bool is_ours(const struct p2ps_outside *o, int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid() || peer.uid == o->uid);
}

static void step(struct p2ps_outside *o);

static void on_socket(void *owner, int fd, unsigned events)
{
    struct p2ps_outside *o = owner;

    (void)fd;
    if (events & MD_LOOP_READ)
        receive_some(o);
    step(o);
}

static void open_socket(struct p2ps_outside *o)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, o->path, sizeof(address.sun_path));
    o->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (o->fd < 0 || connect(o->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        shut(o, strerror(errno));
        return;
    }
    if (!is_ours(o, o->fd)) {
        shut(o, "its process belongs neither to root, nor to the user of p2ps, nor to "
                "authorityUser");
        return;
    }
    if (md_loop_fd_add(o->loop, o->fd, MD_LOOP_READ, on_socket, o, &o->watch) != MD_OK) {
        shut(o, "no memory");
        return;
    }
    pthread_mutex_lock(&o->lock);
    p2ps_authority_open(o->authority, o->config.now());
    pthread_mutex_unlock(&o->lock);
}

/* ---- the thread ---- */

#define UP_OR_DOWN ((unsigned)ENTITLE_NEWS_UP | (unsigned)ENTITLE_NEWS_DOWN)

static void tell(struct p2ps_outside *o, unsigned news, uint64_t answered)
{
    for (unsigned i = 0; i < P2PS_AUTHORITY_ASKERS; i++) {
        struct outside_asker *asker = &o->askers[i];

        bool has_answers = answered >> i & 1;

        if (!news && !has_answers)
            continue;
        if (news & UP_OR_DOWN) /* the last of them counts */
            atomic_fetch_and_explicit(&asker->news, ~UP_OR_DOWN, memory_order_relaxed);
        atomic_fetch_or_explicit(&asker->news, news, memory_order_release);
        if (has_answers)
            atomic_store_explicit(&asker->has_answers, true, memory_order_release);
        if (asker->wake)
            asker->wake(asker->owner);
    }
}

/* One that hangs up right behind its hello is not asked again ten times a second. */
static void look_whether_steady(struct p2ps_outside *o)
{
    if (!o->is_up || o->config.now() - o->up_since_ns < STEADY_NS)
        return;
    o->distance_ns = 0;
    p2ps_outside_log_steady(&o->log);
}

/* News for the workers come from here alone. */
static void share(struct p2ps_outside *o)
{
    char user[ENTITLE_TEXT_MAX];

    pthread_mutex_lock(&o->lock);
    const char *unusable = p2ps_authority_unusable(o->authority, user);
    bool is_up = p2ps_authority_is_up(o->authority), was_up = o->is_up;
    uint64_t answered = p2ps_authority_answered(o->authority);
    unsigned news = p2ps_authority_news(o->authority, o->config.now());
    if (is_up && !was_up)
        o->up_since_ns = o->config.now();
    o->is_up = is_up;
    tell(o, news, answered);
    pthread_mutex_unlock(&o->lock);
    if (is_up != was_up)
        p2ps_outside_log_state(&o->log, is_up, o->config.allows);
    p2ps_outside_log_unusable(&o->log, o->config.now(), unusable, user);
    look_whether_steady(o);
}

static void set_timer(struct p2ps_outside *o)
{
    pthread_mutex_lock(&o->lock);
    uint64_t due_ns = p2ps_authority_deadline(o->authority);
    pthread_mutex_unlock(&o->lock);
    if (o->fd < 0 && o->connect_ns < due_ns)
        due_ns = o->connect_ns;
    md_loop_timer_at(o->timer, due_ns);
}

/* After whatever has happened. */
static void step(struct p2ps_outside *o)
{
    pthread_mutex_lock(&o->lock);
    const char *why = p2ps_authority_tick(o->authority, o->config.now());
    pthread_mutex_unlock(&o->lock);
    if (why && o->fd >= 0)
        shut(o, why);
    if (o->fd < 0 && o->config.now() >= o->connect_ns)
        open_socket(o);
    if (o->fd >= 0)
        send_some(o);
    share(o);
    set_timer(o);
}

static void on_wake(void *owner)
{
    step(owner);
}

static void *run(void *argument)
{
    struct p2ps_outside *o = argument;

    md_caps_drop();
    md_thread_settled(&o->thread);
    step(o);
    if (md_loop_run(o->loop) != MD_OK)
        md_log(MD_LOG_CRITICAL, "authority %s: its event loop failed", o->path);
    return NULL;
}

int p2ps_outside_thread_start(struct p2ps_outside *o)
{
    int err = md_loop_create(0, &o->loop);

    if (err == MD_OK)
        err = md_loop_wake_create(o->loop, on_wake, o, &o->wake);
    if (err == MD_OK)
        err = md_loop_timer_create(o->loop, on_wake, o, &o->timer);
    return err == MD_OK ? md_thread_start(&o->thread, run, o) : err;
}

void p2ps_outside_thread_end(struct p2ps_outside *o)
{
    if (o->thread.is_started)
        md_loop_stop(o->loop);
    md_thread_join(&o->thread);
    md_loop_fd_remove(o->watch);
    if (o->fd >= 0)
        close(o->fd);
    md_loop_timer_destroy(o->timer);
    if (o->wake)
        md_loop_wake_destroy(o->wake);
    md_loop_destroy(o->loop);
}
