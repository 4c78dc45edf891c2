/* put.c - see put.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "put.h"

#include "base/siphash.h"
#include "rrmp/record.h"

bool put_message(struct side *side, const struct rrcp_msg *msg, const struct relay_message *head,
                 bool is_own)
{
    uint8_t bytes[RELAY_TO_BYTES];
    size_t length = relay_encode(head, bytes);

    if (!is_own && queue_age(&side->queue, side->now_ns) > PUT_WAIT_NS)
        side->is_over = true;
    if (!is_own && side->is_over)
        return false;
    bool has_room = queue_put(&side->queue, side->now_ns, msg, bytes, length, is_own);
    if (!has_room && !is_own)
        side->is_over = true;
    return has_room;
}

bool put_notice(struct side *side, struct relay_message notice)
{
    const struct rrcp_msg msg = { .topic = RRMP_TOPIC_CONTROL };

    notice.kind = RELAY_NOTICE;
    return put_message(side, &msg, &notice, true);
}

/* One for each pair of nodes. */
static uint64_t lane_of(const struct forward *f, const struct relay_message *head)
{
    const uint64_t pair[2] = { head->origin, head->target };

    return md_siphash(f->secret, pair, sizeof(pair));
}

bool put_unicast(const struct forward *f, struct side *side, const struct relay_message *head,
                 const struct backbone_event *event)
{
    struct relay_far_place place;
    struct rrcp_msg msg = { .flags = RRCP_MSG_UNICAST, .lane = lane_of(f, head) };

    if (!relay_far_find(side->far, head->target, &place))
        return false;
    msg.session = place.is_native ? head->target : place.via;
    if (event) {
        msg.bytes = event->bytes;
        msg.length = event->length;
        msg.topic = event->topic;
        msg.port = event->dst_port;
    }
    return put_message(side, &msg, head, event == NULL);
}

bool put_lost(struct side *side, struct origin *o)
{
    if (o->lost == 0)
        return true;
    if (side->is_over ||
        !put_notice(side, (struct relay_message){ .notice = RELAY_NOTICE_GAP,
                                                  .number = o->number,
                                                  .seq = o->lost_first,
                                                  .last = o->lost_last,
                                                  .lost = o->lost > UINT32_MAX ? UINT32_MAX
                                                                               : (uint32_t)o->lost,
                                                  .reason = BACKBONE_GAP_NOT_HELD }))
        return false;
    o->lost = 0;
    return true;
}
