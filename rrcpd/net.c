/* net.c - the net loop: receive, deliver, submit, send, sleep. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "daemon/threads.h"
#include "net_loop.h"
#include "net_mesh.h"
#include "net_peers.h"
#include "net_private.h"
#include "net_stats.h"
#include "net_users.h"

/*
 * One turn takes a bounded piece of everything there is, in this order:
 *
 *      users' rings -> engine -> packets out -> own messages for local readers -> publish, wake
 *      packets in -> inbound ring -> publish, wake readers
 *
 * and sleeps when the network was found empty and all rings are. Before it sleeps it raises
 * daemon_sleeps in every user's ring and looks once more; the network's descriptors say by
 * themselves if something has come meanwhile.
 */
enum { INPUT_ROUNDS = 4, ROUNDS_MAX = 8 };

#define SLEEP_MAX_NS 400000000ull
#define HELD_NS      200000ull /* how often readers that are waited for are looked at */
#define STATS_NS     250000000ull

/* ---- mail ----------------------------------------------------------------------------------- */

void net_mail_send(struct net *net, struct net_mail mail)
{
    uint64_t one = 1;
    struct net_mail old;

    if (mail.kind == NET_ADD || mail.kind == NET_REMOVE)
        (void)md_mailbox_put(&net->in, &mail);
    else if (md_mailbox_replace(&net->in, &mail, &old))
        free(old.keys);
    (void)!write(net->mail_fd, &one, sizeof(one));
}

bool net_mail_take(struct net *net, struct net_mail *out)
{
    return md_mailbox_take(&net->out, out);
}

static void change_keys(struct net *net, struct net_keys *keys)
{
    int err = rrcp_keys_set(net->engine, keys->keys, keys->count);

    if (err == MD_ERR_STATE)
        md_log(MD_LOG_ERROR, "authKeyFile: authentication is switched on or off by a restart only; "
                             "the old keys stay");
    else if (err)
        md_log(MD_LOG_ERROR,
               "authKeyFile: the new keys cannot be used: %s; the old keys stay; send SIGHUP again",
               md_err_name(err));
    else if (keys->count > 0) {
        md_log(MD_LOG_NOTICE, "key %u seals now, %u accepted", keys->keys[0].id, keys->count);
        net->config.node.engine.keys[0].id = keys->keys[0].id;
    }
    memset(keys, 0, sizeof(*keys));
    free(keys);
}

static void change_shim(struct net *net, const struct net_shim_config *shim)
{
    if (net_shim_set(attach_node_io(net->node), shim) != 0)
        return; /* none was asked for at the start */
    md_log(MD_LOG_NOTICE,
           "for tests: of the packets received %.2f %% are lost, %.2f %% late by up to %u us",
           shim->loss_ppm / 1e4, shim->delay_ppm / 1e4, shim->delay_us);
}

void net_take_mail(struct net *net, uint64_t now_ns)
{
    struct net_mail mail;

    while (md_mailbox_take(&net->in, &mail)) {
        if (mail.kind == NET_ADD) {
            net_user_add(net, mail.user, now_ns);
        } else if (mail.kind == NET_REMOVE) {
            net_user_leave(net, mail.user, (enum backbone_user_reason)mail.value);
        } else if (mail.kind == NET_STOP && !net->is_stopping) {
            net->is_stopping = true;
            rrcp_stop(net->engine, now_ns, mail.value);
        } else if (mail.kind == NET_KEYS) {
            change_keys(net, mail.keys);
        } else if (mail.kind == NET_SHIM) {
            change_shim(net, &mail.shim);
        }
    }
}

/* ---- a turn --------------------------------------------------------------------------------- */

/* disconnectOnGaps: told once; the control loop leaves the network and joins it anew. */
static void report_gap(struct net *net, const struct backbone_event *gap)
{
    if (gap->reason == BACKBONE_GAP_REJOIN)
        return;
    net->config.wants_gaps = false;
    net_post(net, NET_GAP, NULL, (int)gap->reason);
}

/* Users that sleep need not be woken for what they sent themselves. */
static void note_sender(struct net *net, const struct backbone_event *event)
{
    bool is_own = event->session == net->session && event->type == BACKBONE_MESSAGE;
    int port = is_own ? event->src_port : NET_PORT_MANY;

    if (net->put_by == 0)
        net->put_by = port;
    else if (net->put_by != port)
        net->put_by = NET_PORT_MANY;
}

static void deliver(struct net *net)
{
    int count;

    while ((count = attach_node_event(net->node, net->events, NET_EVENT_MAX)) > 0)
        for (int i = 0; i < count; i++) {
            if (net->events[i].type == BACKBONE_TX_READY) {
                net->is_full = false;
                continue;
            }
            if (net->events[i].type == BACKBONE_GAP && net->config.wants_gaps)
                report_gap(net, &net->events[i]);
            if (net->events[i].type != BACKBONE_MESSAGE)
                net_peers_event(net, &net->events[i]);
            md_trace_tick(MD_TRACE_PUT, net->events[i].bytes, net->events[i].length);
            note_sender(net, &net->events[i]);
            attach_inbound_put(net->inbound, &net->events[i]);
        }
}

static void publish(struct net *net)
{
    if (attach_inbound_publish(net->inbound))
        net_users_wake(net);
    net->put_by = 0;
    md_trace_end(MD_TRACE_PUBLISHED);
}

/* Due packets go out between two batches: a request waits for one batch, not for a whole turn. */
static int receive(struct net *net)
{
    int total = 0;

    for (int i = 0; i < INPUT_ROUNDS; i++) {
        uint64_t now_ns = md_clock_mono_ns();
        int count = attach_node_input(net->node, now_ns);

        md_trace_mark(MD_TRACE_RECEIVED);
        deliver(net);
        publish(net);
        total += count;
        if (count > 0 && attach_node_deadline(net->node) <= now_ns)
            total += attach_node_output(net->node, now_ns);
        if (count == 0)
            break;
    }
    return total;
}

/* Returns how much there was to do. */
static int turn(struct net *net)
{
    int work = 0;

    md_trace_turn();
    if (atomic_load_explicit(&net->in.has_mail, memory_order_relaxed))
        net_take_mail(net, md_clock_mono_ns());
    net->is_held = net->config.node.engine.flow_control == RRCP_FLOW_CONTROL_MIN &&
                   net_users_behind(net, md_clock_mono_ns());
    if (net->is_held) {
        attach_node_output(net->node, md_clock_mono_ns());
        return 0;
    }
    /* Users first: looking at their rings is no system call, looking at the network is. */
    for (int i = 0; i < ROUNDS_MAX; i++) {
        uint64_t now_ns = md_clock_mono_ns();
        int submitted = net_users_submit(net, now_ns);
        int sent = attach_node_output(net->node, now_ns);

        md_trace_end(MD_TRACE_SENT);
        deliver(net);
        work += submitted + sent;
        if (submitted == 0 || net->is_full)
            break;
    }
    publish(net);
    work += receive(net);
    net->turns++;
    return work;
}

/* ---- sleeping ------------------------------------------------------------------------------- */

enum { WAKE_MAX = 32 };

/* Sockets that epoll did not report are empty: skip their next receive call. */
static void tell_quiet(struct net *net, const struct epoll_event events[], int count)
{
    struct net_packet_io *io = attach_node_io(net->node);
    int fd;

    for (int i = 0; (fd = net_packet_fd(io, i)) >= 0; i++) {
        bool is_readable = false;

        for (int j = 0; j < count; j++)
            is_readable = is_readable || events[j].data.fd == fd;
        if (!is_readable)
            net_packet_quiet(io, i);
    }
}

void net_sleep_until(struct net *net, uint64_t now_ns, uint64_t deadline_ns)
{
    struct epoll_event events[WAKE_MAX];
    struct timespec wait = { 0 };
    uint64_t left = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

    if (left > SLEEP_MAX_NS)
        left = SLEEP_MAX_NS;
    wait.tv_nsec = (long)left;
    net->sleeps++;
    int count = epoll_pwait2(net->epoll_fd, events, WAKE_MAX, &wait, NULL);
    if (count >= 0 && count < WAKE_MAX)
        tell_quiet(net, events, count);
    for (int i = 0; i < count; i++) {
        uint64_t value;

        if (events[i].data.fd == net->mail_fd)
            (void)!read(net->mail_fd, &value, sizeof(value));
    }
}

static void rest(struct net *net, uint64_t *idle_since_ns)
{
    uint64_t now_ns = md_clock_mono_ns();
    uint64_t deadline_ns = attach_node_deadline(net->node);
    uint64_t users_ns = net_users_deadline(net);

    if (users_ns < deadline_ns)
        deadline_ns = users_ns;
    if (net->is_held) {
        struct timespec pause = { .tv_nsec = HELD_NS };

        nanosleep(&pause, NULL);
        return;
    }
    if (deadline_ns <= now_ns || !attach_node_is_idle(net->node))
        return;
    if (net->config.busy_poll_ns) {
        if (*idle_since_ns == 0)
            *idle_since_ns = now_ns;
        if (now_ns - *idle_since_ns < net->config.busy_poll_ns) {
            if (md_cpu_yield())
                *idle_since_ns = now_ns - net->config.busy_poll_ns;
            return;
        }
    }
    if (net_users_arm(net, now_ns) && attach_node_arm(net->node))
        net_sleep_until(net, now_ns, deadline_ns);
    net_users_disarm(net);
    *idle_since_ns = 0;
}

void net_keep_books(struct net *net, uint64_t begin_ns, int work)
{
    uint64_t now_ns = md_clock_mono_ns();

    atomic_store_explicit(&net->alive_ns, now_ns, memory_order_relaxed);
    if (now_ns - begin_ns > net->turn_max_ns)
        net->turn_max_ns = now_ns - begin_ns;
    if (work > 0)
        md_hist_record(net->turn_us, (now_ns - begin_ns) / MD_NS_PER_US);
    if (now_ns >= net->stats_at_ns) {
        net->stats_at_ns = now_ns + STATS_NS;
        net_stats_update(net, now_ns);
        net_users_tell_denied(net);
        net_strangers_tell(net, now_ns);
        net_mesh_tell(net, now_ns);
        if (net->inbound)
            net_relays_tell(net, attach_node_relayed(net->node), now_ns);
    }
    if (net->is_stopping && !net->has_stopped && rrcp_is_stopped(net->engine)) {
        net->has_stopped = true;
        net_post(net, NET_STOPPED, NULL, 0);
    }
}

void net_settle_thread(const struct net_config *config)
{
    prctl(PR_SET_NAME, "rrcpd-net");
    prctl(PR_SET_TIMERSLACK, 1UL);
    daemon_thread_settle(&config->object, "rrcpThreadCpu");
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static int watch(struct net *net, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    return epoll_ctl(net->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : MD_ERR_SYS;
}

static int open_descriptors(struct net *net)
{
    struct net_packet_io *io = attach_node_io(net->node);
    int fd;

    net->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    net->mail_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->epoll_fd < 0 || net->mail_fd < 0)
        return MD_ERR_SYS;
    int err = watch(net, net->mail_fd);
    for (int i = 0; !err && (fd = net_packet_fd(io, i)) >= 0; i++)
        err = watch(net, fd);
    return err;
}

static void warn_about_buffers(const struct net_config *config, const struct net_udp_report *report)
{
    size_t asked = config->node.udp.receive_buffer;

    if (config->node.uses_verbs)
        md_log(MD_LOG_NOTICE, "network %s on %s, group %s, %s", config->node.network,
               report->interface[0], config->node.group[0], report->transport);
    else if (config->node.uses_mesh)
        md_log(MD_LOG_NOTICE, "network %s on %s port %u, %s%s", config->node.network,
               report->interface[0], report->unicast_port, report->transport,
               report->has_segmentation ? ", with segmentation offload" : "");
    else
        md_log(MD_LOG_NOTICE, "network %s on %s, group %s port %u, unicast port %u%s",
               config->node.network, report->interface[0], config->node.group[0],
               config->node.udp.group_port, report->unicast_port,
               report->has_segmentation ? ", with segmentation offload" : "");
    if (report->receive_buffer_got && report->receive_buffer_got < asked)
        md_log(MD_LOG_WARNING,
               "udpRecvBufSize: asked for %zu KB, the kernel grants %zu KB; raise it with sysctl "
               "net.core.rmem_max=%zu",
               asked / 1024, report->receive_buffer_got / 1024, asked);
    if (report->port_is_ephemeral)
        md_log(MD_LOG_WARNING,
               "multicastPort or unicastPort lies in net.ipv4.ip_local_port_range, where any "
               "program may get it by chance; choose another or raise the range's lower end");
}

static void say_how_packets_are_sealed(const struct net *net)
{
    const struct rrcp_config *engine = &net->config.node.engine;

    if (engine->key_count == 0)
        md_log(MD_LOG_WARNING, "authKeyFile: there is no key, packets are not authenticated");
    else
        md_log(MD_LOG_NOTICE, "packets are %s: AES-%s-GCM by %s",
               engine->encrypts ? "encrypted" : "authenticated",
               engine->cipher == RRCP_CIPHER_AES_256_GCM ? "256" : "128",
               attach_node_sealer(net->node));
}

static int open_all(struct net *net, char *why, size_t why_size)
{
    struct net_udp_report report = { 0 };
    struct attach_node_config node = net->config.node;

    node.note = net_note;
    node.note_argument = net;
    int err = attach_node_open(&node, &report, why, why_size, &net->node);
    if (err)
        return err;
    memcpy(net->interfaces, report.interface, sizeof(net->interfaces));
    warn_about_buffers(&net->config, &report);
    say_how_packets_are_sealed(net);
    net->engine = attach_node_engine(net->node);
    net->session = rrcp_session(net->engine);
    struct attach_inbound_config inbound = { .size = net->config.inbound_bytes,
                                             .lag_max = net->config.lag_max,
                                             .session = net->session,
                                             .message_max = node.engine.message_bytes_max };
    err = inbound.size ? attach_inbound_create(&inbound, &net->inbound) : 0;
    if (err) {
        snprintf(why, why_size,
                 "inboundRing: %llu bytes: %s (a power of two, at least four times maxMsgSize)",
                 (unsigned long long)inbound.size, md_err_name(err));
        return err;
    }
    err = open_descriptors(net);
    if (!err)
        err = net_stats_create(net, report.transport[0] ? report.transport : "UDP");
    if (!err)
        err = net_peers_create(net);
    if (err)
        snprintf(why, why_size, "cannot start the net loop: %s", strerror(errno));
    return err;
}

/*
 * The kernel takes orders for an RDMA device only with the very credentials that opened it, and
 * this thread has just given up its capabilities: what it is to use it opens itself.
 */
static bool open_here(struct net *net)
{
    net->open_err = open_all(net, net->why, sizeof(net->why));
    bool is_open = net->open_err == 0;
    sem_post(&net->opened);
    return is_open;
}

static void *run(void *argument)
{
    struct net *net = argument;
    uint64_t idle_since_ns = 0;

    net_settle_thread(&net->config);
    md_thread_settled(&net->thread);
    if (net->config.node.uses_verbs && !open_here(net))
        return NULL;
    while (!atomic_load_explicit(&net->must_end, memory_order_relaxed)) {
        uint64_t begin_ns = md_clock_mono_ns();
        int work = turn(net);

        net_keep_books(net, begin_ns, work);
        if (work > 0)
            idle_since_ns = 0;
        rest(net, &idle_since_ns);
    }
    return NULL;
}

static int start_thread(struct net *net, char *why, size_t why_size)
{
    int err = md_thread_start(&net->thread, run, net);

    if (err) {
        snprintf(why, why_size, "cannot start a thread");
        return err;
    }
    if (!net->config.node.uses_verbs)
        return 0;
    while (sem_wait(&net->opened) != 0)
        ; /* a signal */
    if (net->open_err)
        snprintf(why, why_size, "%s", net->why);
    return net->open_err;
}

int net_open(const struct net_config *config, char *why, size_t why_size, struct net **out)
{
    struct net *net = calloc(1, sizeof(*net));

    *out = NULL;
    snprintf(why, why_size, "out of memory");
    if (!net)
        return MD_ERR_NOMEM;
    net->config = *config;
    net->epoll_fd = net->mail_fd = -1;
    net->judged = malloc(config->node.engine.message_bytes_max);
    sem_init(&net->opened, 0, 0);
    int err = net->judged ? md_mailbox_init(&net->in, sizeof(struct net_mail), MAIL_MAX, 3)
                          : MD_ERR_NOMEM;
    if (!err)
        err = md_mailbox_init(&net->out, sizeof(struct net_mail), MAIL_MAX, 0);
    if (!err && !config->node.uses_verbs)
        err = open_all(net, why, why_size);
    if (err) {
        net_destroy(net);
        return err;
    }
    atomic_store_explicit(&net->alive_ns, md_clock_mono_ns(), memory_order_relaxed);
    *out = net;
    return 0;
}

int net_start(const struct net_config *config, char *why, size_t why_size, struct net **out)
{
    int err = net_open(config, why, why_size, out);

    if (err)
        return err;
    err = start_thread(*out, why, why_size);
    if (err) {
        net_destroy(*out);
        *out = NULL;
    }
    return err;
}

void net_destroy(struct net *net)
{
    if (!net)
        return;
    atomic_store_explicit(&net->must_end, true, memory_order_relaxed);
    if (net->thread.is_started) {
        uint64_t one = 1;

        (void)!write(net->mail_fd, &one, sizeof(one));
        md_thread_join(&net->thread);
    }
    net_stats_destroy(net);
    net_mesh_destroy(net);
    net_peers_destroy(net);
    attach_inbound_destroy(net->inbound);
    attach_node_close(net->node);
    if (net->epoll_fd >= 0)
        close(net->epoll_fd);
    if (net->mail_fd >= 0)
        close(net->mail_fd);
    free(net->judged);
    sem_destroy(&net->opened);
    md_mailbox_fini(&net->in);
    md_mailbox_fini(&net->out);
    free(net);
}

const char *net_interface(const struct net *net, int path)
{
    return net->interfaces[path];
}

bool net_filters(const struct net *net)
{
    return net->config.node.uses_mesh;
}

uint64_t net_session(const struct net *net)
{
    return rrcp_session(net->engine);
}

int net_inbound_fd(const struct net *net)
{
    return attach_inbound_fd(net->inbound);
}

uint64_t net_inbound_bytes(const struct net *net)
{
    return sizeof(struct attach_inbound_map) + net->config.inbound_bytes;
}

uint64_t net_alive_ns(const struct net *net)
{
    return atomic_load_explicit(&net->alive_ns, memory_order_relaxed);
}
