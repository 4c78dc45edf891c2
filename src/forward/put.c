/* put.c - see put.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "put.h"

#include "rrmp/record.h"

bool put_message(struct side *side, const struct rrcp_msg *msg, const struct relay_message *head,
                 bool is_own)
{
    uint8_t bytes[RELAY_TO_BYTES];
    size_t length = relay_encode(head, bytes);

    if (!is_own && side->is_over)
        return false;
    bool has_room = queue_put(&side->queue, msg, bytes, length, is_own);
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

bool put_lost(struct side *side, struct origin *o)
{
    if (o->has_reset &&
        put_notice(side, (struct relay_message){ .notice = RELAY_NOTICE_GAP,
                                                 .flags = RELAY_FLAG_UNICAST,
                                                 .number = o->number,
                                                 .reason = BACKBONE_GAP_UNICAST_RESET }))
        o->has_reset = false;
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
