/* attach.c - what both kinds of attachment have in common; see attach/attach.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/attach.h"

#include <string.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/trace.h"
#include "internal.h"

int attach_open(const struct attach_config *config, struct attach **out)
{
    uint32_t bytes = config->outbound_bytes;

    *out = NULL;
    if (bytes != 0 && (bytes < 65536 || bytes > 1u << 30 || (bytes & (bytes - 1)) != 0))
        return MD_ERR_RANGE;
    if (config->user_name && strlen(config->user_name) >= ATTACH_NAME_MAX)
        return MD_ERR_RANGE;
    int err = config->in_process ? in_process_open(config, out) : attached_open(config, out);
    if (err)
        return err;
    (*out)->busy_poll_ns = config->busy_poll_ns;
    (*out)->idle_since_ns = UINT64_MAX;
    return MD_OK;
}

void attach_close(struct attach *user)
{
    if (user)
        user->kind->close(user);
}

int attach_fd(const struct attach *user)
{
    return user->kind->fd(user);
}

int attach_also(const struct attach *user, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    return epoll_ctl(attach_fd(user), EPOLL_CTL_ADD, fd, &event) == 0 ? MD_OK : MD_ERR_SYS;
}

uint64_t attach_deadline(const struct attach *user)
{
    return user->is_looking ? 0 : user->kind->deadline(user);
}

void attach_wakes_for_own(struct attach *user, bool wakes)
{
    user->sleep = wakes ? ATTACH_SLEEP_ANY : ATTACH_SLEEP_OTHERS;
}

bool attach_self(const struct attach *user, uint64_t *session, uint16_t *port)
{
    *session = user->session;
    *port = user->port;
    return user->port != 0;
}

int attach_poll(struct attach *user, uint64_t now_ns, struct backbone_event events[], int max)
{
    return user->kind->poll(user, now_ns, events, max);
}

/* ---- sending -------------------------------------------------------------------------------- */

static int may_send(const struct attach *user, const struct backbone_target *target, size_t length)
{
    if (!user->out.map || user->port == 0)
        return MD_ERR_CLOSED;
    if (length > user->message_max || target->topic == RRCP_TOPIC_USER_DOWN ||
        (target->path != BACKBONE_PATH_MULTICAST && target->session == 0))
        return MD_ERR_RANGE;
    return 0;
}

static int claim(struct attach *user, const struct backbone_target *target, size_t length,
                 uint8_t **room)
{
    int err = outbound_claim(&user->out, target, length, room);

    if (err == MD_ERR_FULL)
        user->counters.send_full++;
    return err;
}

int attach_send(struct attach *user, const struct backbone_target *target,
                const struct attach_piece pieces[], int count)
{
    size_t length = 0;
    uint8_t *room;

    for (int i = 0; i < count; i++)
        length += pieces[i].length;
    int err = may_send(user, target, length);
    if (err)
        return err;
    if (user->kind->send) {
        err = user->kind->send(user, target, pieces, count, length);
        if (err != MD_ERR_AGAIN)
            return err;
    }
    err = claim(user, target, length, &room);
    if (err)
        return err;
    for (int i = 0; i < count; i++) {
        if (pieces[i].length)
            memcpy(room, pieces[i].bytes, pieces[i].length);
        room += pieces[i].length;
    }
    attach_commit(user, length);
    return 0;
}

int attach_claim(struct attach *user, const struct backbone_target *target, size_t length,
                 uint8_t **room)
{
    int err = may_send(user, target, length);

    *room = NULL;
    return err ? err : claim(user, target, length, room);
}

void attach_commit(struct attach *user, size_t length)
{
    outbound_commit(&user->out, length);
    user->counters.messages_sent++;
    user->counters.bytes_sent += length;
}

int attach_want(struct attach *user, const uint32_t topics[], uint32_t count)
{
    if (!user->filters)
        return MD_OK;
    int err = outbound_want(&user->out, count > BACKBONE_TOPICS_MAX ? NULL : topics, count);
    if (err == MD_ERR_FULL)
        user->counters.send_full++;
    return err;
}

static uint8_t *sender_reserve(void *context, const struct backbone_target *target, size_t length)
{
    uint8_t *room;

    md_trace_mark(MD_TRACE_RESERVED);
    return attach_claim(context, target, length, &room) == MD_OK ? room : NULL;
}

static void sender_commit(void *context, size_t length)
{
    struct attach *user = context;

    if (length)
        attach_commit(user, length);
    else
        user->out.claimed = 0;
}

static unsigned sender_fill(void *context)
{
    size_t used;
    size_t size;

    attach_fill(context, &used, &size);
    return size ? (unsigned)(used * 256 / size) : 256;
}

static bool sender_want(void *context, const uint32_t topics[], uint32_t count)
{
    return attach_want(context, topics, count) == MD_OK;
}

struct backbone_send attach_sender(struct attach *user)
{
    return (struct backbone_send){
        .context = user,
        .reserve = sender_reserve,
        .commit = sender_commit,
        .fill = sender_fill,
        .want = sender_want,
    };
}

void attach_flush(struct attach *user)
{
    user->kind->flush(user);
}

size_t attach_message_max(const struct attach *user)
{
    return user->out.map && user->port != 0 ? (size_t)user->message_max : 0;
}

void attach_fill(const struct attach *user, size_t *used, size_t *size)
{
    *used = 0;
    *size = user->out.size;
    if (user->out.map)
        *used = (size_t)(user->out.head -
                         atomic_load_explicit(&user->out.map->tail, memory_order_acquire));
}

void attach_counters(const struct attach *user, struct attach_counters *out)
{
    *out = user->counters;
}

const struct attach_refusal *attach_refusal(const struct attach *user)
{
    return &user->refusal;
}
