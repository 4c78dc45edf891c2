/* uplink.c - see uplink/uplink.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "uplink/uplink.h"

#include "base/err.h"

/* ---- out ---- */

static uint8_t *reserve(void *context, size_t length)
{
    /* Where it goes is said at commit. */
    static const struct attach_target anywhere = { .path = ATTACH_PATH_MULTICAST };
    uint8_t *room;

    return attach_claim(context, &anywhere, length, &room) == MD_OK ? room : NULL;
}

static enum attach_path path_of(enum rrmp_path path)
{
    switch (path) {
    case RRMP_PATH_MULTICAST:
        return ATTACH_PATH_MULTICAST;
    case RRMP_PATH_DIRECTED:
        return ATTACH_PATH_DIRECTED;
    case RRMP_PATH_UNICAST:
        return ATTACH_PATH_UNICAST;
    }
    return ATTACH_PATH_MULTICAST;
}

static void commit(void *context, const struct rrmp_dest *dest, size_t length)
{
    if (length == 0) {
        attach_abandon(context);
        return;
    }
    struct attach_target target = {
        .path = (uint8_t)path_of(dest->path),
        .dst_port = dest->port,
        .topic = dest->topic,
        .dst_session = dest->session,
    };
    attach_commit_to(context, &target, length);
}

static unsigned fill(void *context)
{
    size_t used;
    size_t size;

    attach_fill(context, &used, &size);
    return size ? (unsigned)(used * 256 / size) : 256;
}

struct rrmp_send uplink_send(struct attach *user)
{
    return (struct rrmp_send){
        .context = user,
        .reserve = reserve,
        .commit = commit,
        .fill = fill,
    };
}

/* ---- in ---- */

static struct rrmp_notice notice_of(const struct attach_event *event, enum rrmp_notice_kind kind)
{
    struct rrmp_notice notice = {
        .kind = kind,
        .session = event->session,
        .port = event->src_port,
        .reason = event->reason,
    };

    if (kind == RRMP_NOTICE_ATTACHED)
        notice.port = event->dst_port;
    return notice;
}

/* True when the event is a notice; names are for people and make none. */
static bool to_notice(const struct attach_event *event, struct rrmp_notice *out)
{
    switch ((enum attach_event_type)event->type) {
    case ATTACH_GAP:
        *out = notice_of(event, RRMP_NOTICE_GAP);
        return true;
    case ATTACH_PEER_UP:
        *out = notice_of(event, RRMP_NOTICE_PEER_UP);
        return true;
    case ATTACH_PEER_DOWN:
        *out = notice_of(event, RRMP_NOTICE_PEER_DOWN);
        return true;
    case ATTACH_USER_DOWN:
        *out = notice_of(event, RRMP_NOTICE_USER_DOWN);
        return true;
    case ATTACH_TX_DROPPED:
        *out = notice_of(event, RRMP_NOTICE_TX_DROPPED);
        return true;
    case ATTACH_OVERRUN:
        *out = notice_of(event, RRMP_NOTICE_OVERRUN);
        return true;
    case ATTACH_DAEMON_UP:
        *out = notice_of(event, RRMP_NOTICE_ATTACHED);
        return true;
    case ATTACH_DAEMON_DOWN:
        *out = notice_of(event, RRMP_NOTICE_DETACHED);
        return true;
    case ATTACH_MESSAGE:
    case ATTACH_PEER_INFO:
        break;
    }
    return false;
}

int uplink_poll(struct attach *user, uint64_t now_ns, const struct uplink_handler *handler)
{
    struct attach_event events[UPLINK_BATCH];
    struct rrmp_message messages[UPLINK_BATCH];
    struct rrmp_notice notice;
    size_t waiting = 0;
    int count = attach_poll(user, now_ns, events, UPLINK_BATCH);

    for (int i = 0; i < count; i++) {
        const struct attach_event *event = &events[i];

        if (event->type == ATTACH_MESSAGE) {
            messages[waiting++] = (struct rrmp_message){
                .session = event->session,
                .src_port = event->src_port,
                .dst_port = event->dst_port,
                .topic = event->topic,
                .bytes = event->bytes,
                .length = event->length,
            };
            continue;
        }
        if (!to_notice(event, &notice))
            continue;
        if (waiting) {
            handler->messages(handler->owner, messages, waiting);
            waiting = 0;
        }
        handler->notice(handler->owner, &notice);
    }
    if (waiting)
        handler->messages(handler->owner, messages, waiting);
    return count;
}
