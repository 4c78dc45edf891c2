/* link.c - see link.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/trace.h"

#define EVENT_MAX  256
#define READS_MOST 64u /* before pings, timers and the other descriptors have their turn */

struct link {
    struct md_loop *loop;
    struct client_session *session;
    struct md_loop_fd *watch;
    struct md_loop_timer *timer;
    const struct link_ops *ops;
    void *owner;
    int descriptor; /* that `watch` is for */
    unsigned read_factor;
    bool is_paused;
    uint64_t due_ns; /* what the timer runs for */
};

static void turn(struct link *link);

static void on_ready(void *owner, int fd, unsigned events)
{
    (void)fd;
    (void)events;
    turn(owner);
}

static void on_time(void *owner)
{
    struct link *link = owner;

    link->due_ns = MD_NEVER;
    turn(link);
}

/* Tell the loop what this session waits for now. */
static void settle(struct link *link)
{
    if (link->is_paused)
        return;
    int descriptor = client_session_descriptor(link->session);
    unsigned wants = client_session_wants(link->session);
    unsigned events =
        (wants & NET_READABLE ? MD_LOOP_READ : 0) | (wants & NET_WRITABLE ? MD_LOOP_WRITE : 0);

    if (descriptor != link->descriptor) {
        md_loop_fd_remove(link->watch);
        link->watch = NULL;
        link->descriptor = descriptor;
        if (descriptor >= 0)
            (void)md_loop_fd_add(link->loop, descriptor, events, on_ready, link, &link->watch);
    } else if (link->watch) {
        (void)md_loop_fd_set(link->watch, events);
    }
    uint64_t due = client_session_deadline(link->session);
    if (descriptor < 0 && due > md_loop_now(link->loop) + NET_POLL_INTERVAL_NS)
        due = md_loop_now(link->loop) + NET_POLL_INTERVAL_NS;
    /* A timer that fires early does no harm, moving it all the time does. */
    if (due < link->due_ns) {
        link->due_ns = due;
        (void)md_loop_timer_at(link->timer, due);
    }
}

static void turn(struct link *link)
{
    struct rssl_event events[EVENT_MAX];
    uint64_t bytes_in = 0;
    unsigned reads = 0;
    size_t count;

    md_trace_turn();
    while (!link->is_paused && (count = client_session_turn(link->session, md_clock_mono_ns(),
                                                            events, EVENT_MAX)) > 0) {
        size_t first = 0;
        if (events[0].kind == RSSL_EVENT_OPENED) {
            link->ops->on_open(link->owner);
            first = 1;
        }
        if (first < count && events[count - 1].kind == RSSL_EVENT_CLOSED) {
            if (count - 1 > first)
                link->ops->on_messages(link->owner, events + first, count - 1 - first);
            link->ops->on_closed(link->owner, client_session_describe(link->session));
            return;
        }
        if (first < count)
            link->ops->on_messages(link->owner, events + first, count - first);
        uint64_t now_in = rssl_channel_stats(client_session_channel(link->session))->bytes_in;
        if (now_in != bytes_in && ++reads > link->read_factor && link->read_factor)
            break; /* unread: the deadline is 0, and the loop comes back after the others */
        bytes_in = now_in;
    }
    if (link->is_paused)
        return;
    (void)client_session_flush(link->session, md_clock_mono_ns());
    settle(link);
}

int link_create(struct md_loop *loop, struct client_session *session, const struct link_ops *ops,
                void *owner, struct link **out)
{
    struct link *link = calloc(1, sizeof(*link));

    *out = NULL;
    if (!link)
        return MD_ERR_NOMEM;
    link->loop = loop;
    link->session = session;
    link->ops = ops;
    link->owner = owner;
    link->descriptor = -1;
    link->read_factor = READS_MOST;
    link->due_ns = MD_NEVER;
    int rc = md_loop_timer_create(loop, on_time, link, &link->timer);
    if (rc != MD_OK) {
        free(link);
        return rc;
    }
    *out = link;
    return MD_OK;
}

void link_destroy(struct link *link)
{
    if (!link)
        return;
    md_loop_fd_remove(link->watch);
    md_loop_timer_destroy(link->timer);
    client_session_destroy(link->session);
    free(link);
}

void link_start(struct link *link)
{
    settle(link);
    link->due_ns = 0;
    (void)md_loop_timer_at(link->timer, 0);
}

int link_flush(struct link *link)
{
    int rc = client_session_flush(link->session, md_clock_mono_ns());

    md_trace_end(MD_TRACE_WROTE);
    if (rc != MD_OK)
        settle(link);
    return rc;
}

void link_close(struct link *link)
{
    rssl_channel_close(client_session_channel(link->session));
    link_start(link); /* the rest in a turn of its own, so that callers may go on using the link */
}

void link_set_read_factor(struct link *link, unsigned reads)
{
    link->read_factor = reads;
}

void link_pause(struct link *link, bool is_paused)
{
    if (link->is_paused == is_paused)
        return;
    link->is_paused = is_paused;
    if (!is_paused) {
        link_start(link);
        return;
    }
    md_loop_fd_remove(link->watch); /* a hang-up would be reported again and again */
    link->watch = NULL;
    link->descriptor = -1;
    link->due_ns = MD_NEVER;
    md_loop_timer_stop(link->timer);
}

struct client_session *link_session(struct link *link)
{
    return link->session;
}
