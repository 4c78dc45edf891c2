/* net_relay.c - see net_relay.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net_relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/log.h"
#include "net_loop.h"
#include "net_peers.h"
#include "net_private.h"
#include "net_users.h"
#include "stats/rows.h"

/*
 * One turn, for each network: what has come goes to the forwarder, then what it has for the network
 * goes to the engine until that is full, then packets out. A network that is full holds up nothing
 * but its own queue.
 */
enum { INPUT_ROUNDS = 4, SUBMIT_MAX = 2048 };

#define STATS_NS 250000000ull

#define FORWARDED(kind, name, member)                                                              \
    STATS_ROW(STATS_KIND_##kind, "relay." name, struct forward_counters, member)
#define HEARD(kind, name, member)                                                                  \
    STATS_ROW(STATS_KIND_##kind, "relay." name, struct relay_far_counters, member)

static const struct stats_row forward_rows[] = {
    FORWARDED(COUNTER, "msgs", messages),
    FORWARDED(COUNTER, "bytes", bytes),
    FORWARDED(COUNTER, "notWanted", not_wanted),
    FORWARDED(COUNTER, "dropped", dropped),
    FORWARDED(COUNTER, "tooLong", too_long),
    FORWARDED(COUNTER, "lost", lost),
    FORWARDED(COUNTER, "noRoute", no_route),
    FORWARDED(COUNTER, "tooManyHops", hops),
    FORWARDED(COUNTER, "early", early),
    FORWARDED(COUNTER, "refused", refused),
    FORWARDED(COUNTER, "full", full),
    FORWARDED(COUNTER, "switches", switches),
    FORWARDED(GAUGE, "queueBytes", queue),
    FORWARDED(GAUGE, "queueHighBytes", queue_high),
    FORWARDED(GAUGE, "nodesCarried", carried),
    FORWARDED(GAUGE, "nodesStandingBy", standing_by),
};

static const struct stats_row heard_rows[] = {
    HEARD(GAUGE, "relaysHeard", relays_now),
    HEARD(COUNTER, "malformed", malformed),
    HEARD(COUNTER, "relaysFull", relays_full),
};

struct side {
    struct net *net;
    struct wish wish; /* what is forwarded */
    uint64_t stats_ns;
    uint64_t told_other; /* a relay with other services */
    uint64_t told_dropped, told_at_ns;
    uint64_t told_hops, hops_at_ns;
    uint64_t told_carried, told_standing_by;
    struct stats_entry *forward[STATS_ROW_COUNT(forward_rows)];
    struct stats_entry *heard[STATS_ROW_COUNT(heard_rows)];
};

struct net_relay {
    struct side sides[FORWARD_SIDES];
    struct forward *forward;
    struct md_thread thread;
    _Atomic bool must_end;
    uint64_t busy_ns, idle_since_ns; /* busyPoll, the longer of both networks' */
};

/* ---- a turn --------------------------------------------------------------------------------- */

static void deliver(struct net_relay *relay, int index, uint64_t now_ns)
{
    struct net *net = relay->sides[index].net;
    int count;

    while ((count = rrcp_event(net->engine, net->events, NET_EVENT_MAX)) > 0)
        for (int i = 0; i < count; i++) {
            const struct backbone_event *event = &net->events[i];

            if (event->type == BACKBONE_TX_READY) {
                net->is_full = false;
                continue;
            }
            if (event->type != BACKBONE_MESSAGE)
                net_peers_event(net, event);
            forward_input(relay->forward, now_ns, index, event);
        }
}

static int submit(struct net_relay *relay, int index, uint64_t now_ns)
{
    struct net *net = relay->sides[index].net;
    const struct rrcp_counters *engine = rrcp_counters(net->engine);
    struct rrcp_msg msg;
    int count = 0;

    while (!net->is_full && count < SUBMIT_MAX && forward_peek(relay->forward, index, &msg)) {
        uint64_t dropped = engine->unicast_dropped;

        int err = rrcp_submit(net->engine, now_ns, RELAY_PORT, &msg);
        if (err == MD_ERR_FULL) {
            net->is_full = true;
            break;
        }
        forward_take(relay->forward, index, err || engine->unicast_dropped != dropped);
        count++;
    }
    return count;
}

static int turn_side(struct net_relay *relay, int index)
{
    struct net *net = relay->sides[index].net;
    int work = 0;

    if (atomic_load_explicit(&net->in.has_mail, memory_order_relaxed))
        net_take_mail(net, md_clock_mono_ns());
    for (int i = 0; i < INPUT_ROUNDS; i++) {
        uint64_t now_ns = md_clock_mono_ns();
        int count = attach_node_input(net->node, now_ns);

        deliver(relay, index, now_ns);
        work += count;
        if (count == 0)
            break;
    }
    return work;
}

static int send_side(struct net_relay *relay, int index)
{
    struct net *net = relay->sides[index].net;
    uint64_t now_ns = md_clock_mono_ns();
    int work = submit(relay, index, now_ns);

    work += attach_node_output(net->node, now_ns);
    deliver(relay, index, now_ns);
    net->turns++;
    return work;
}

/* ---- books ---------------------------------------------------------------------------------- */

static void show(struct net_relay *relay, int index)
{
    struct side *side = &relay->sides[index];

    stats_rows_set(forward_rows, STATS_ROW_COUNT(forward_rows), side->forward,
                   forward_counters(relay->forward, index));
    stats_rows_set(heard_rows, STATS_ROW_COUNT(heard_rows), side->heard,
                   forward_heard(relay->forward, index));
}

static void tell(struct net_relay *relay, int index, uint64_t now_ns)
{
    struct side *side = &relay->sides[index];
    const struct net *to = relay->sides[1 - index].net;
    const struct forward_counters *counters = forward_counters(relay->forward, index);
    uint64_t other = forward_other_services(relay->forward, index);

    net_relays_tell(side->net, forward_heard(relay->forward, index), now_ns);
    if (other && other != side->told_other)
        md_log(MD_LOG_ERROR,
               "node %s of network %s relays, too, but other services: what it carries is not "
               "carried here; give both the same relayServices and relayTopics",
               net_peer_name(side->net, other), side->net->config.node.network);
    side->told_other = other;
    if (counters->carried != side->told_carried || counters->standing_by != side->told_standing_by)
        md_log(MD_LOG_NOTICE,
               "nodes of network %s that are carried onto network %s: %llu; by other relays, for "
               "which this one stands by: %llu",
               side->net->config.node.network, to->config.node.network,
               (unsigned long long)counters->carried, (unsigned long long)counters->standing_by);
    side->told_carried = counters->carried;
    side->told_standing_by = counters->standing_by;
    if (net_must_tell(counters->hops, &side->told_hops, &side->hops_at_ns, now_ns))
        md_log(MD_LOG_WARNING,
               "%llu messages from network %s were dropped so far: they had come over %d relays, "
               "the most there may be; their senders are told",
               (unsigned long long)side->told_hops, side->net->config.node.network, RELAY_HOPS_MAX);
    if (net_must_tell(counters->dropped + counters->too_long, &side->told_dropped,
                      &side->told_at_ns, now_ns))
        md_log(
            MD_LOG_WARNING,
            "%llu messages from network %s were dropped so far: network %s does not take them as "
            "fast as they come, or they are longer than its maxMsgSize; its nodes are told",
            (unsigned long long)side->told_dropped, side->net->config.node.network,
            to->config.node.network);
}

static void keep_books(struct net_relay *relay, uint64_t begin_ns, int work)
{
    for (int i = 0; i < FORWARD_SIDES; i++) {
        struct side *side = &relay->sides[i];

        net_keep_books(side->net, begin_ns, work);
        if (begin_ns < side->stats_ns)
            continue;
        side->stats_ns = begin_ns + STATS_NS;
        show(relay, i);
        tell(relay, i, begin_ns);
    }
}

static bool is_idle(struct net_relay *relay, uint64_t now_ns, uint64_t *deadline_ns)
{
    struct rrcp_msg msg;

    *deadline_ns = forward_deadline(relay->forward);
    for (int i = 0; i < FORWARD_SIDES; i++) {
        struct net *net = relay->sides[i].net;
        uint64_t due_ns = attach_node_deadline(net->node);

        if (due_ns < *deadline_ns)
            *deadline_ns = due_ns;
        if (!attach_node_is_idle(net->node) || !attach_node_arm(net->node) ||
            atomic_load_explicit(&net->in.has_mail, memory_order_relaxed) ||
            (!net->is_full && forward_peek(relay->forward, i, &msg)))
            return false;
    }
    return *deadline_ns > now_ns;
}

/* busyPoll: it looks again before it sleeps. */
static bool must_look(struct net_relay *relay, uint64_t now_ns, int work)
{
    if (work > 0 || relay->idle_since_ns == 0)
        relay->idle_since_ns = now_ns;
    if (now_ns - relay->idle_since_ns >= relay->busy_ns)
        return false;
    if (md_cpu_yield())
        relay->idle_since_ns = now_ns - relay->busy_ns;
    return true;
}

static void *run(void *argument)
{
    struct net_relay *relay = argument;

    net_settle_thread(&relay->sides[0].net->config);
    md_thread_settled(&relay->thread);
    while (!atomic_load_explicit(&relay->must_end, memory_order_relaxed)) {
        uint64_t begin_ns = md_clock_mono_ns();
        uint64_t deadline_ns;
        int work = 0;

        for (int i = 0; i < FORWARD_SIDES; i++)
            work += turn_side(relay, i);
        forward_tick(relay->forward, md_clock_mono_ns());
        for (int i = 0; i < FORWARD_SIDES; i++)
            work += send_side(relay, i);
        keep_books(relay, begin_ns, work);
        uint64_t now_ns = md_clock_mono_ns();
        if (!must_look(relay, now_ns, work) && is_idle(relay, now_ns, &deadline_ns)) {
            net_sleep_until(relay->sides[0].net, now_ns, deadline_ns);
            relay->idle_since_ns = 0;
        }
    }
    return NULL;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static int open_side(struct net_relay *relay, int index, const struct net_config *config, char *why,
                     size_t why_size)
{
    struct side *side = &relay->sides[index];
    char prefix[STATS_PATH_BYTES];
    int err = net_open(config, why, why_size, &side->net);

    if (err)
        return err;
    snprintf(prefix, sizeof(prefix), "%s.", config->process);
    stats_rows_add(forward_rows, STATS_ROW_COUNT(forward_rows), config->stats, prefix,
                   side->forward);
    stats_rows_add(heard_rows, STATS_ROW_COUNT(heard_rows), config->stats, prefix, side->heard);
    return 0;
}

/* The one that has run longest goes before; random bits tell two of the same moment apart. */
static uint64_t new_id(void)
{
    uint32_t noise = 0;

    (void)!getrandom(&noise, sizeof(noise), 0);
    return (md_clock_wall_ns() / MD_NS_PER_MS) << 20 | (noise & 0xFFFFFu);
}

/* In a mesh others leave out what is not forwarded. */
static void tell_interest(struct net_relay *relay)
{
    for (int i = 0; i < FORWARD_SIDES; i++) {
        struct net *net = relay->sides[i].net;
        struct wish *wish = &relay->sides[i].wish;
        int count = forward_interest(relay->forward, wish->topics, WISHES_TOPICS_MAX);

        wish->count = count >= 0 ? (uint32_t)count : WISHES_WANT_ALL;
        wishes_add(&net->wishes, md_clock_mono_ns(), wish);
        net_tell_interest(net, md_clock_mono_ns());
        if (count < 0 && net->config.node.uses_mesh)
            md_log(MD_LOG_WARNING,
                   "nodes of mesh %s send this relay all that they send: relayTopics has a NAME*, "
                   "or there are more than %d services and topics",
                   net->config.node.network, WISHES_TOPICS_MAX - 1); /* one is the relays' */
    }
}

static int open_forward(struct net_relay *relay, const struct forward_config *names, char *why,
                        size_t why_size)
{
    struct forward_config config = *names;

    config.id = new_id();
    (void)!getrandom(config.secret, sizeof(config.secret), 0);
    for (int i = 0; i < FORWARD_SIDES; i++) {
        config.session[i] = relay->sides[i].net->session;
        config.peer_timeout_ns[i] = relay->sides[i].net->config.node.engine.peer_timeout_ns;
        config.message_bytes_max[i] = relay->sides[i].net->config.node.engine.message_bytes_max;
        if (relay->sides[i].net->config.busy_poll_ns > relay->busy_ns)
            relay->busy_ns = relay->sides[i].net->config.busy_poll_ns;
    }
    int err = forward_create(&config, &relay->forward);
    if (err == MD_ERR_RANGE)
        snprintf(why, why_size,
                 "relayServices: a name is longer than 255 bytes, or there are more than %d",
                 FORWARD_NAMES_MAX);
    else if (err)
        snprintf(why, why_size, "out of memory");
    return err;
}

/* One sleep for both: what wakes the second wakes the first, and mail rings one bell. */
static int join_descriptors(struct net *first, struct net *second)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = second->epoll_fd };

    close(second->mail_fd);
    second->mail_fd = dup(first->mail_fd);
    if (second->mail_fd < 0 ||
        epoll_ctl(first->epoll_fd, EPOLL_CTL_ADD, second->epoll_fd, &event) != 0)
        return MD_ERR_SYS;
    return 0;
}

int net_relay_start(const struct net_config configs[FORWARD_SIDES],
                    const struct forward_config *names, char *why, size_t why_size,
                    struct net_relay **out)
{
    struct net_relay *relay = calloc(1, sizeof(*relay));
    int err = relay ? 0 : MD_ERR_NOMEM;

    *out = NULL;
    snprintf(why, why_size, "out of memory");
    for (int i = 0; !err && i < FORWARD_SIDES; i++)
        err = open_side(relay, i, &configs[i], why, why_size);
    if (!err)
        err = open_forward(relay, names, why, why_size);
    if (!err)
        err = join_descriptors(relay->sides[0].net, relay->sides[1].net);
    if (!err)
        tell_interest(relay);
    if (!err)
        err = md_thread_start(&relay->thread, run, relay);
    if (err) {
        net_relay_destroy(relay);
        return err;
    }
    *out = relay;
    return 0;
}

void net_relay_destroy(struct net_relay *relay)
{
    if (!relay)
        return;
    atomic_store_explicit(&relay->must_end, true, memory_order_relaxed);
    if (relay->thread.is_started) {
        uint64_t one = 1;

        (void)!write(relay->sides[0].net->mail_fd, &one, sizeof(one));
        md_thread_join(&relay->thread);
    }
    forward_destroy(relay->forward);
    for (int i = 0; i < FORWARD_SIDES; i++)
        net_destroy(relay->sides[i].net);
    free(relay);
}

struct net *net_relay_net(struct net_relay *relay, int side)
{
    return relay->sides[side].net;
}
