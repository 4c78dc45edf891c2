/* net_users.c - the net loop's side of its users: their rings in turn, their sleep, their end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net_users.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "net_stats.h"

/* Deficit round robin: each user may submit this much before the next has its turn. */
enum { QUANTUM_BYTES = 8 * 1024, ROUND_BYTES = 128 * 1024 };

/* flowControl min: for how long nobody waits for a reader that was given up; which part of
 * userQLimit buys a reader that is behind another fcTimeout. */
enum { GIVEN_UP_S = 60, CREDIT_PART = 64 };

/* A reader is woken for its own messages when they are this part of what it may lag behind. */
enum { OWN_PART = 8 };

/* ---- coming and going ----------------------------------------------------------------------- */

void net_tell_interest(struct net *net, uint64_t now_ns)
{
    uint32_t topics[WISHES_TOPICS_MAX];
    uint32_t count;

    if (wishes_take(&net->wishes, topics, &count))
        rrcp_interest_set(net->engine, now_ns, count == WISHES_WANT_ALL ? NULL : topics, count);
}

/* Topics from the user's ring, which it may change meanwhile: a copy is what it wants. */
static void user_wants(struct net *net, struct net_user *user, const struct rrcp_msg *msg,
                       uint64_t now_ns)
{
    uint32_t topics[WISHES_TOPICS_MAX];
    uint32_t count =
        user->ring.wants_all ? WISHES_WANT_ALL : msg->length / (uint32_t)sizeof(topics[0]);

    if (msg->length > 0)
        memcpy(topics, msg->bytes, msg->length);
    wishes_set(&net->wishes, now_ns, &user->wish, topics, count);
    net_tell_interest(net, now_ns);
    net_stats_user_wants(net, user);
}

void net_user_add(struct net *net, struct net_user *user, uint64_t now_ns)
{
    struct rrcp_user wish = { .receives = user->receives };
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = user->doorbell_fd };

    if (net->user_count == NET_USER_MAX || net->is_stopping) {
        net_post(net, NET_ADDED, user, MD_ERR_FULL);
        return;
    }
    int port = rrcp_user_add(net->engine, &wish);
    if (port < 0) {
        net_post(net, NET_ADDED, user, port);
        return;
    }
    /* Edge-triggered: each write of the doorbell wakes us and nothing has to be read. */
    if (epoll_ctl(net->epoll_fd, EPOLL_CTL_ADD, user->doorbell_fd, &event) != 0)
        md_log(MD_LOG_ERROR, "user %s: its doorbell cannot be watched", user->name);
    user->port = port;
    user->message_quota = quota_of(net->quotas.messages, user->limits.messages);
    user->byte_quota = quota_of(net->quotas.bytes, user->limits.bytes);
    attach_outbound_reader_init(&user->ring, user->map, user->ring_bytes);
    net->users[net->user_count++] = user;
    wishes_add(&net->wishes, now_ns, &user->wish);
    net_tell_interest(net, now_ns);
    net_stats_user_add(net, user);
    net_post(net, NET_ADDED, user, port);
}

/* Nothing it sends is believed from now on, also where it had begun to leave. */
static void violated(struct net *net, struct net_user *user)
{
    if (user->reason == BACKBONE_USER_VIOLATED && user->is_leaving)
        return;
    md_log(MD_LOG_ERROR, "user %s (port %d) broke its ring and is thrown out", user->name,
           user->port);
    net->users_violated++;
    user->is_leaving = true;
    user->reason = BACKBONE_USER_VIOLATED;
    if (!user->is_removing)
        net_post(net, NET_VIOLATED, user, 0);
}

void net_user_leave(struct net *net, struct net_user *user, enum backbone_user_reason reason)
{
    user->is_removing = true;
    if (user->is_leaving)
        return; /* it was thrown out before it hung up */
    /* The ring stays the user's to write: what it says now is its last word. */
    if (attach_outbound_end(&user->ring) != 0) {
        violated(net, user);
        return;
    }
    user->is_leaving = true;
    user->reason = reason;
}

/* Everything it had sent is with the engine: tell all nodes, then give it back. */
static void remove_user(struct net *net, int index, uint64_t now_ns)
{
    struct net_user *user = net->users[index];

    (void)rrcp_user_remove(net->engine, now_ns, user->port, user->reason);
    (void)epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, user->doorbell_fd, NULL);
    net_stats_user_remove(net, user);
    net->users[index] = net->users[--net->user_count];
    wishes_remove(&net->wishes, now_ns, &user->wish);
    net_post(net, NET_REMOVED, user, 0);
}

/* ---- their messages ------------------------------------------------------------------------- */

/* False: it may not send the message, which is dropped. The ring stays the user's to write, so the
 * message is judged and sent by a copy. */
static bool may_send(struct net *net, struct net_user *user, struct rrcp_msg *msg)
{
    const char *tried;

    if (!user->access || msg->length > net->config.node.engine.message_bytes_max)
        return true; /* the engine drops what is too long */
    if (msg->length > 0)
        memcpy(net->judged, msg->bytes, msg->length);
    msg->bytes = net->judged;
    tried = access_refuses(user->access, user->rules, msg);
    if (!tried)
        return true;
    if (user->denied++ == 0)
        md_log(MD_LOG_WARNING,
               "user %s (port %d) may not send %s (attachAccess); dropped, as all that follows of "
               "that kind",
               user->name, user->port, tried);
    user->tried = tried;
    net->messages_denied++;
    return false;
}

/* True: the user has used up its quota, and the rest waits in its ring. */
static bool is_held(struct net_user *user, uint64_t now_ns)
{
    uint64_t due_ns = quota_due_ns(user->message_quota);
    uint64_t bytes_due_ns = quota_due_ns(user->byte_quota);

    if (due_ns < bytes_due_ns)
        due_ns = bytes_due_ns;
    if (due_ns <= now_ns) {
        user->held_until_ns = 0;
        return false;
    }
    if (user->held_until_ns == 0 && user->held++ == 0)
        md_log(MD_LOG_WARNING,
               "user %s (port %d) sends more than rate or bytes of attachAccess allow; what is "
               "above waits in its ring",
               user->name, user->port);
    user->held_until_ns = due_ns;
    return true;
}

static bool waits_for_quota(const struct net_user *user, uint64_t now_ns)
{
    return user->held_until_ns > now_ns;
}

uint64_t net_users_deadline(const struct net *net)
{
    uint64_t first_ns = wishes_deadline(&net->wishes);

    if (net->is_full)
        return first_ns; /* nothing of theirs would be taken: the network has to speak first */
    for (int i = 0; i < net->user_count; i++)
        if (net->users[i]->held_until_ns > 0 && net->users[i]->held_until_ns < first_ns)
            first_ns = net->users[i]->held_until_ns;
    return first_ns;
}

void net_users_tell_denied(struct net *net)
{
    for (int i = 0; i < net->user_count; i++) {
        struct net_user *user = net->users[i];

        if (user->denied == user->denied_told)
            continue;
        user->denied_told = user->denied;
        net->put_by = NET_PORT_MANY; /* it is to be woken for this */
        attach_inbound_put(net->inbound,
                           &(struct backbone_event){ .type = BACKBONE_DENIED,
                                                     .session = net->session,
                                                     .dst_port = (uint16_t)user->port,
                                                     .count = user->denied,
                                                     .bytes = (const uint8_t *)user->tried,
                                                     .length = (uint32_t)strlen(user->tried) });
    }
}

/* Up to a quantum of one user. Returns bytes; sets net->is_full when the engine is. */
static int submit_some(struct net *net, struct net_user *user, uint64_t now_ns)
{
    struct rrcp_msg msg;
    int bytes = 0;
    int found = 0;

    while (bytes < QUANTUM_BYTES && (found = attach_outbound_peek(&user->ring, &msg)) > 0 &&
           !is_held(user, now_ns)) {
        if (found == ATTACH_PEEK_WANT) { /* dear enough to be all of the round */
            user_wants(net, user, &msg, now_ns);
            attach_outbound_take(&user->ring);
            quota_charge(user->message_quota, 1, now_ns);
            quota_charge(user->byte_quota, msg.length, now_ns);
            bytes += ROUND_BYTES;
            break;
        }
        int err = may_send(net, user, &msg)
                      ? attach_node_submit(net->node, now_ns, user->port, &msg)
                      : MD_ERR_STATE;

        if (err == MD_ERR_FULL) {
            net->is_full = true;
            break;
        }
        md_trace_tick(MD_TRACE_SUBMITTED, msg.bytes, msg.length);
        attach_outbound_take(&user->ring);
        quota_charge(user->message_quota, 1, now_ns);
        quota_charge(user->byte_quota, msg.length, now_ns);
        if (err)
            user->refused++;
        user->messages++;
        user->bytes += msg.length;
        bytes += (int)msg.length + 24;
    }
    if (bytes > 0) {
        attach_outbound_release(&user->ring);
        if (attach_outbound_wake(&user->ring))
            (void)!write(user->wake_fd, "", 1);
    }
    if (found < 0)
        violated(net, user);
    return bytes;
}

/* A user that has left does not wait for its quota, a full ring could take hours: the rest is
 * dropped. */
static bool is_drained(const struct net_user *user, uint64_t now_ns)
{
    return user->reason == BACKBONE_USER_VIOLATED || user->ring.tail == user->ring.head ||
           waits_for_quota(user, now_ns);
}

int net_users_submit(struct net *net, uint64_t now_ns)
{
    int total = 0;
    int idle = 0;

    if (now_ns >= wishes_deadline(&net->wishes)) {
        wishes_tick(&net->wishes, now_ns);
        net_tell_interest(net, now_ns);
    }
    while (net->user_count > 0 && idle < net->user_count && total < ROUND_BYTES && !net->is_full) {
        if (net->user_next >= net->user_count)
            net->user_next = 0;
        struct net_user *user = net->users[net->user_next];
        bool is_broken = user->is_leaving && user->reason == BACKBONE_USER_VIOLATED;
        int bytes = is_broken ? 0 : submit_some(net, user, now_ns);

        total += bytes;
        idle = bytes > 0 ? 0 : idle + 1;
        net->user_next++;
    }
    for (int i = net->user_count - 1; i >= 0; i--)
        if (net->users[i]->is_removing && is_drained(net->users[i], now_ns))
            remove_user(net, i, now_ns);
    return total;
}

/* ---- sleep ---------------------------------------------------------------------------------- */

/* It asked not to be woken for its own messages, there are no others, and it is not far behind. */
static bool sleeps_on(const struct net *net, const struct net_user *user, uint32_t sleep)
{
    uint64_t cursor = atomic_load_explicit(&user->map->cursor, memory_order_relaxed);

    return sleep == ATTACH_SLEEP_OTHERS && user->port == net->put_by &&
           attach_inbound_position(net->inbound) - cursor < net->config.lag_max / OWN_PART;
}

/* Readers that sleep are rung once. The pipe's write end is ours alone and never blocks. */
void net_users_wake(struct net *net)
{
    attach_fence(memory_order_seq_cst);
    for (int i = 0; i < net->user_count; i++) {
        struct net_user *user = net->users[i];
        _Atomic uint32_t *flag = &user->map->reader_sleeps;

        uint32_t sleep = atomic_load_explicit(flag, memory_order_relaxed);

        if (sleep == ATTACH_SLEEP_NOT || sleeps_on(net, user, sleep) ||
            atomic_exchange_explicit(flag, 0, memory_order_acq_rel) == 0)
            continue;
        user->wakes++;
        (void)!write(user->wake_fd, "", 1);
    }
}

bool net_users_arm(struct net *net, uint64_t now_ns)
{
    for (int i = 0; i < net->user_count; i++)
        atomic_store_explicit(&net->users[i]->map->daemon_sleeps, 1, memory_order_relaxed);
    attach_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&net->in.has_mail, memory_order_relaxed))
        return false;
    if (net->is_full)
        return true; /* more would not be taken: the network has to speak first */
    for (int i = 0; i < net->user_count; i++) {
        const struct net_user *user = net->users[i];

        if (!(user->is_leaving && user->reason == BACKBONE_USER_VIOLATED) &&
            !waits_for_quota(user, now_ns) && attach_outbound_waiting(&net->users[i]->ring))
            return false;
    }
    return true;
}

void net_users_disarm(struct net *net)
{
    for (int i = 0; i < net->user_count; i++)
        atomic_store_explicit(&net->users[i]->map->daemon_sleeps, 0, memory_order_relaxed);
}

/* A position that no reader can have: beyond what was written, or before one it had. */
static bool is_a_lie(const struct net_user *user, uint64_t cursor, uint64_t written)
{
    return cursor > written || cursor < user->cursor_seen;
}

static void give_up(struct net *net, struct net_user *user, uint64_t now_ns)
{
    user->given_up_ns = now_ns;
    net->users_given_up++;
    md_log(MD_LOG_WARNING,
           "flowControl min: user %s (port %d) was waited for and does not get on; nobody waits "
           "for it for the next %d s",
           user->name, user->port, GIVEN_UP_S);
}

/* True: the daemon waits for this reader, which costs it `passed_ns` of its credit. */
static bool is_waited_for(struct net *net, struct net_user *user, uint64_t lag, uint64_t now_ns,
                          uint64_t passed_ns)
{
    uint64_t timeout_ns = net->config.node.engine.flow_control_timeout_ns;

    if (user->given_up_ns && now_ns - user->given_up_ns < GIVEN_UP_S * MD_NS_PER_S)
        return false;
    if (user->given_up_ns || user->credited_at == 0 ||
        user->cursor_seen - user->credited_at >= net->config.lag_max / CREDIT_PART) {
        user->given_up_ns = 0;
        user->credited_at = user->cursor_seen;
        user->wait_left_ns = timeout_ns;
    }
    if (lag <= net->config.lag_max / 2 || lag > net->config.inbound_bytes)
        return false;
    user->wait_left_ns -= passed_ns < user->wait_left_ns ? passed_ns : user->wait_left_ns;
    if (user->wait_left_ns > 0)
        return true;
    give_up(net, user, now_ns);
    return false;
}

/*
 * With flowControl min nobody is to lose anything that can be waited for, so what holds for
 * receivers of the network holds for local readers too: one that is more than half of what it may
 * lag behind is waited for. The position is the user's word, so the wait is paid by progress: a
 * part of the lag it may have buys it fcTimeout, a reader that creeps or stands is given up for a
 * minute, and one whose position is impossible is thrown out.
 */
bool net_users_behind(struct net *net, uint64_t now_ns)
{
    uint64_t written = attach_inbound_position(net->inbound);
    uint64_t passed_ns = net->is_held && net->held_ns ? now_ns - net->held_ns : 0;
    bool is_behind = false;

    for (int i = 0; i < net->user_count; i++) {
        struct net_user *user = net->users[i];
        uint64_t cursor = atomic_load_explicit(&user->map->cursor, memory_order_relaxed);

        if (user->is_leaving || (cursor == 0 && user->cursor_seen == 0))
            continue;
        if (is_a_lie(user, cursor, written)) {
            violated(net, user);
            continue;
        }
        user->cursor_seen = cursor;
        if (is_waited_for(net, user, written - cursor, now_ns, passed_ns))
            is_behind = true;
    }
    net->held_ns = now_ns;
    return is_behind;
}
