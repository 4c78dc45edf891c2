/* in_process.c - the library form: the engine inside this process, no rrcpd, no shared memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "attach/node.h"
#include "backbone/topic.h"
#include "base/clock.h"
#include "base/err.h"
#include "internal.h"

/*
 * attach_poll() receives and gives the engine's events as views into packets. As long as the
 * caller may still look at them the engine must not be touched, so what is sent meanwhile waits in
 * a private ring, of the same form as an attached user's, and goes at the next poll or flush.
 * Otherwise attach_send() goes straight into the packet being filled.
 */
enum { DEFAULT_RING = 16 << 20 };

struct in_process {
    struct attach user;
    struct attach_node *node;
    struct rrcp *engine;
    int epoll_fd;
    bool has_views;   /* the caller holds events */
    bool wants_flush; /* asked for while it did */
    bool is_blocked;  /* submit said full */
    bool is_unsent;   /* submitted since the last output */
    bool skips_topics;
    attach_want_fn *want;
    void *want_argument;
    struct attach_outbound_reader waiting;
    struct backbone_event up; /* ATTACHED, told first */
    bool has_told_up;
};

static struct in_process *in_process_of(struct attach *user)
{
    return (struct in_process *)user;
}

static const struct in_process *in_process_of_const(const struct attach *user)
{
    return (const struct in_process *)user;
}

/* ---- sending -------------------------------------------------------------------------------- */

static int submit(struct in_process *p, const struct rrcp_msg *msg, uint64_t now_ns)
{
    int err = attach_node_submit(p->node, now_ns, p->user.port, msg);

    if (err == MD_ERR_FULL) {
        p->is_blocked = true;
        return err;
    }
    p->is_unsent = true;
    return 0;
}

/* Submits the messages that wait in the private ring, until the engine is full. */
static void submit_waiting(struct in_process *p, uint64_t now_ns)
{
    struct rrcp_msg msg;

    outbound_publish(&p->user.out);
    while (!p->is_blocked && attach_outbound_peek(&p->waiting, &msg) > 0 &&
           submit(p, &msg, now_ns) == 0)
        attach_outbound_take(&p->waiting);
    attach_outbound_release(&p->waiting);
}

/* Submit and send until nothing is left or nothing goes any more. */
static void push(struct in_process *p, uint64_t now_ns)
{
    for (;;) {
        submit_waiting(p, now_ns);
        int sent = attach_node_output(p->node, now_ns);

        p->is_unsent = false;
        if (!p->is_blocked || sent == 0 || attach_node_is_blocked(p->node))
            return;
        p->is_blocked = false; /* room was made: try again */
    }
}

static void flush(struct attach *user)
{
    struct in_process *p = in_process_of(user);

    if (p->has_views)
        p->wants_flush = true;
    else
        push(p, md_clock_mono_ns());
}

static int send_now(struct attach *user, const struct backbone_target *target,
                    const struct attach_piece pieces[], int count, size_t length)
{
    struct in_process *p = in_process_of(user);

    if (count != 1 || p->has_views || p->is_blocked || p->user.out.head != p->waiting.tail)
        return MD_ERR_AGAIN;
    struct rrcp_msg msg = { .bytes = pieces[0].bytes,
                            .length = (uint32_t)length,
                            .topic = target->topic,
                            .port = target->port };
    if (target->path != BACKBONE_PATH_MULTICAST)
        msg.session = target->session;
    if (target->path == BACKBONE_PATH_UNICAST)
        msg.flags = RRCP_MSG_UNICAST;
    if (submit(p, &msg, md_clock_mono_ns()) != 0)
        return MD_ERR_AGAIN;
    user->counters.messages_sent++;
    user->counters.bytes_sent += length;
    return 0;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* False: not for this user. */
static bool is_ours(struct in_process *p, struct backbone_event *event)
{
    switch ((enum backbone_event_type)event->type) {
    case BACKBONE_MESSAGE:
        if (event->session == p->user.session)
            event->flags |= BACKBONE_FLAG_LOCAL;
        if ((event->dst_port && event->dst_port != p->user.port) ||
            (p->skips_topics && backbone_topic_is(event->bytes, event->length)) ||
            (p->want && !p->want(p->want_argument, event))) {
            p->user.counters.messages_skipped++;
            return false;
        }
        p->user.counters.messages_received++;
        p->user.counters.bytes_received += event->length;
        return true;
    case BACKBONE_TX_DROPPED:
        return event->dst_port == p->user.port;
    case BACKBONE_TX_READY:
        p->is_blocked = false;
        return false;
    default:
        return true;
    }
}

/* Events of the engine; *empty: it has none left. */
static int take_events(struct in_process *p, struct backbone_event events[], int max, bool *empty)
{
    int count = 0;
    int got = attach_node_event(p->node, events, max);

    *empty = got == 0;
    p->user.counters.packets_repaired = rrcp_counters(p->engine)->packets_repaired;
    for (int i = 0; i < got; i++)
        if (is_ours(p, &events[i]))
            events[count++] = events[i];
    p->has_views = count > 0;
    return count;
}

static int poll_node(struct attach *user, uint64_t now_ns, struct backbone_event events[], int max)
{
    struct in_process *p = in_process_of(user);
    bool empty;

    p->has_views = false;
    if (!p->has_told_up) {
        p->has_told_up = true;
        events[0] = p->up;
        return 1;
    }
    for (;;) {
        do {
            int count = take_events(p, events, max, &empty);
            if (count > 0)
                return count;
        } while (!empty);
        if (p->wants_flush || attach_outbound_waiting(&p->waiting)) {
            p->wants_flush = false;
            push(p, now_ns);
        }
        if (attach_node_input(p->node, now_ns) > 0)
            continue;
        if (rrcp_deadline(p->engine) <= now_ns || p->is_unsent || attach_node_is_blocked(p->node)) {
            push(p, now_ns);
            int count = take_events(p, events, max, &empty);
            if (count > 0 || empty)
                return count;
            continue;
        }
        return take_events(p, events, max, &empty);
    }
}

static int poll_in_process(struct attach *user, uint64_t now_ns, struct backbone_event events[],
                           int max)
{
    int count = poll_node(user, now_ns, events, max);

    (void)attach_looks_again(user, now_ns, count > 0);
    return count;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int fd_of(const struct attach *user)
{
    return in_process_of_const(user)->epoll_fd;
}

static uint64_t deadline(const struct attach *user)
{
    const struct in_process *p = in_process_of_const(user);

    return p->has_told_up ? attach_node_deadline(p->node) : 0;
}

/* Leave in good order: BYE goes out three times, 10 ms apart. */
static void say_goodbye(struct in_process *p)
{
    uint64_t now_ns = md_clock_mono_ns();
    uint64_t end_ns = now_ns + 100 * MD_NS_PER_MS;
    struct backbone_event events[16];

    rrcp_stop(p->engine, now_ns, 1);
    while (!rrcp_is_stopped(p->engine) && now_ns < end_ns) {
        struct timespec pause = { .tv_nsec = 1000000 };

        attach_node_input(p->node, now_ns);
        while (rrcp_event(p->engine, events, 16) > 0) {
        }
        attach_node_output(p->node, now_ns);
        nanosleep(&pause, NULL);
        now_ns = md_clock_mono_ns();
    }
}

static void close_in_process(struct attach *user)
{
    struct in_process *p = in_process_of(user);

    if (p->user.port) {
        p->has_views = false;
        push(p, md_clock_mono_ns());
        (void)rrcp_user_remove(p->engine, md_clock_mono_ns(), p->user.port, BACKBONE_USER_DETACHED);
        say_goodbye(p);
    }
    attach_node_close(p->node);
    free(p->user.out.map);
    if (p->epoll_fd >= 0)
        close(p->epoll_fd);
    free(p);
}

static const struct attach_kind in_process_kind = {
    .poll = poll_in_process,
    .send = send_now,
    .flush = flush,
    .fd = fd_of,
    .deadline = deadline,
    .close = close_in_process,
};

static int watch_network(struct in_process *p)
{
    struct epoll_event event = { .events = EPOLLIN };
    struct net_packet_io *io = attach_node_io(p->node);
    int fd;

    p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll_fd < 0)
        return MD_ERR_SYS;
    for (int i = 0; (fd = net_packet_fd(io, i)) >= 0; i++)
        if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
            return MD_ERR_SYS;
    return 0;
}

static int make_ring(struct in_process *p, uint32_t bytes)
{
    struct attach_outbound_map *map = NULL;

    if (posix_memalign((void **)&map, ATTACH_PAGE, attach_outbound_map_bytes(bytes)) != 0)
        return MD_ERR_NOMEM;
    memset(map, 0, sizeof(*map));
    outbound_writer_init(&p->user.out, map, bytes);
    attach_outbound_reader_init(&p->waiting, map, bytes);
    return 0;
}

/* Each engine is a node, and a node's name is its own: a worker's is that of the process and the
 * worker's, "vm.1.p2ps.worker1". */
static void name_apart(struct attach_node_config *node, const char *user_name)
{
    const char *instance = user_name ? strchr(user_name, '.') : NULL;
    const char *part = instance ? strchr(instance + 1, '.') : NULL;
    size_t length = strlen(node->node);

    if (part)
        snprintf(node->node + length, sizeof(node->node) - length, "%s", part);
}

static int open_node(struct in_process *p, const struct attach_config *config)
{
    char why[256];
    struct attach_node_config *own = malloc(sizeof(*own));

    if (!own)
        return MD_ERR_NOMEM;
    *own = *config->in_process;
    name_apart(own, config->user_name);
    int err = attach_node_open(own, NULL, config->why ? config->why : why,
                               config->why ? config->why_size : sizeof(why), &p->node);
    free(own);
    return err;
}

int in_process_open(const struct attach_config *config, struct attach **out)
{
    struct in_process *p = calloc(1, sizeof(*p));
    struct rrcp_user self = { .receives = !config->sends_only };

    *out = NULL;
    if (!p)
        return MD_ERR_NOMEM;
    p->user.kind = &in_process_kind;
    p->epoll_fd = -1;
    p->skips_topics = config->skips_topics;
    p->want = config->want;
    p->want_argument = config->want_argument;
    int err = make_ring(p, config->outbound_bytes ? config->outbound_bytes : DEFAULT_RING);
    if (!err)
        err = open_node(p, config);
    if (!err)
        err = watch_network(p);
    if (!err) {
        p->engine = attach_node_engine(p->node);
        int port = rrcp_user_add(p->engine, &self);

        if (port > 0)
            p->user.port = (uint16_t)port;
        else
            err = port;
    }
    if (err) {
        close_in_process(&p->user);
        return err;
    }
    p->user.session = rrcp_session(p->engine);
    p->user.message_max = config->in_process->engine.message_bytes_max;
    p->up = (struct backbone_event){ .type = BACKBONE_ATTACHED,
                                     .session = p->user.session,
                                     .dst_port = p->user.port };
    *out = &p->user;
    return 0;
}
