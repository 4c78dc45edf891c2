/* node_far.c - see node_far.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "node_far.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

_Static_assert(RELAY_PORT == RRCP_PORT_RESERVED, "the engine looks out for messages of relays");

int node_far_open(struct node_far *f, const struct rrcp *engine, uint32_t message_max)
{
    f->message_max = message_max;
    return relay_far_create(rrcp_session(engine), false, &f->far);
}

void node_far_close(struct node_far *f)
{
    relay_far_destroy(f->far);
    free(f->message);
    f->far = NULL;
    f->message = NULL;
}

/* Its name is the table's, which may change with the next event. */
static bool is_view_of_table(const struct relay_event *event)
{
    return event->hops > 0 &&
           (event->event.type == BACKBONE_PEER_UP || event->event.type == BACKBONE_PEER_INFO);
}

static int take_raw(struct node_far *f, struct backbone_event out[], int max)
{
    struct relay_event event;
    int made = 0;

    while (made < max && (f->has_more || f->next < f->count)) {
        const struct backbone_event *in = f->has_more ? NULL : &f->raw[f->next++];

        f->has_more = relay_far_take(f->far, in, &event);
        if (!f->has_more)
            continue;
        out[made++] = event.event;
        if (is_view_of_table(&event))
            break;
    }
    return made;
}

/*
 * Batches of nothing but messages of users, and that is nearly all, stay where the engine put them:
 * the engine knows which these are. Of a batch that was for relays alone nothing comes: the next
 * one follows.
 */
int node_far_event(struct node_far *f, struct rrcp *engine, struct backbone_event out[], int max)
{
    int made = 0;

    while (made == 0) {
        if (!f->is_busy) {
            int count = rrcp_event(engine, out, max < NODE_RAW_MAX ? max : NODE_RAW_MAX);

            if (__builtin_expect(rrcp_events_are_plain(engine), 1))
                return count;
            memcpy(f->raw, out, (size_t)count * sizeof(out[0]));
            f->next = 0;
            f->count = count;
            f->is_busy = true;
        } else if (f->next == f->count && !f->has_more) {
            f->has_more = relay_far_has_more(f->far);
            f->is_busy = f->has_more;
        }
        if (f->is_busy)
            made = take_raw(f, out, max);
    }
    return made;
}

static uint8_t *room(struct node_far *f, size_t length)
{
    if (length > f->size) {
        uint8_t *message = realloc(f->message, 2 * length);

        if (!message)
            return NULL;
        f->message = message;
        f->size = 2 * length;
    }
    return f->message;
}

int node_far_submit(struct node_far *f, struct rrcp *engine, uint64_t now_ns, int port,
                    const struct rrcp_msg *msg)
{
    struct relay_far_place place;
    bool is_unicast = msg->flags & RRCP_MSG_UNICAST;

    if (msg->session == 0 || relay_far_counters(f->far)->sessions_now == 0)
        return rrcp_submit(engine, now_ns, port, msg);
    uint64_t self = rrcp_session(engine);
    if (msg->session == self || !relay_far_find(f->far, msg->session, &place) || place.is_native)
        return rrcp_submit(engine, now_ns, port, msg);

    bool has_topic = !is_unicast && !place.was_native;
    size_t length = msg->length + (size_t)RELAY_TO_BYTES;
    uint8_t *bytes = length <= f->message_max ? room(f, length) : NULL;
    struct relay_message head = { .kind = RELAY_TO,
                                  .flags = (uint8_t)((is_unicast ? RELAY_FLAG_UNICAST : 0) |
                                                     (has_topic ? RELAY_FLAG_TOPIC : 0)),
                                  .port = (uint16_t)port,
                                  .number = has_topic ? msg->topic : 0,
                                  .origin = self,
                                  .target = msg->session };
    struct rrcp_msg through = *msg;
    uint64_t dropped = rrcp_counters(engine)->unicast_dropped;

    if (!bytes) {
        relay_far_too_long(f->far, msg->session, (uint16_t)port);
        f->is_busy = true;
        return MD_OK;
    }
    (void)relay_encode(&head, bytes);
    if (msg->length > 0)
        memcpy(bytes + RELAY_TO_BYTES, msg->bytes, msg->length);
    through.bytes = bytes;
    through.length = (uint32_t)length;
    if (is_unicast) {
        through.session = place.via;
        through.lane = msg->session;
    } else { /* relays hear the whole stream: the one that carries us passes it on */
        through.session = 0;
        if (has_topic) /* else it may hear us directly, which wants the topic itself alone */
            through.topic = RELAY_TOPIC;
    }
    int err = rrcp_submit(engine, now_ns, RELAY_PORT, &through);
    if (rrcp_counters(engine)->unicast_dropped != dropped) {
        relay_far_dropped(f->far, msg->session, (uint16_t)port);
        f->is_busy = true;
    }
    return err;
}
