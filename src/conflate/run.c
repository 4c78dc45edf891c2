/* run.c - runs whose values stand in an image: what their heads say. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cursor.h"
#include "fields.h"

#define ESC                0x1b
#define SEQ_OR_DISCARDABLE ((unsigned)RWF_UPDATE_HAS_SEQ_NUM | RWF_UPDATE_DISCARDABLE)

static bool ripples(const struct rwf_msg *msg)
{
    return !(msg->flags & RWF_UPDATE_DO_NOT_RIPPLE);
}

/* ---- heads ---- */

struct conflate_head conflate_head_of(const struct rwf_msg *msg)
{
    return (struct conflate_head){
        .seq_num = msg->flags & RWF_UPDATE_HAS_SEQ_NUM ? msg->seq_num : 0,
        .flags = (uint16_t)(msg->flags & SEQ_OR_DISCARDABLE),
        .domain = msg->domain,
        .update_type = msg->update_type,
        .ripples = ripples(msg),
    };
}

uint32_t conflate_head_time(const struct conflate_pending *pending, uint64_t now_ns)
{
    uint64_t time_ms = now_ns > pending->first_ns ? (now_ns - pending->first_ns) / 1000000 : 0;

    return time_ms < UINT32_MAX ? (uint32_t)time_ms : UINT32_MAX;
}

void conflate_head_take(struct conflate_head *head, const struct rwf_msg *fresh)
{
    uint16_t both = head->flags & fresh->flags;

    head->flags = (uint16_t)((both & RWF_UPDATE_DISCARDABLE) |
                             ((head->flags | fresh->flags) & RWF_UPDATE_HAS_SEQ_NUM));
    if (fresh->flags & RWF_UPDATE_HAS_SEQ_NUM)
        head->seq_num = fresh->seq_num;
    if (head->update_type != fresh->update_type)
        head->update_type = RWF_UPDATE_MULTIPLE;
    head->ripples = head->ripples || ripples(fresh);
}

struct rwf_msg conflate_head_msg(const struct conflate_pending *pending,
                                 const struct conflate_head *head)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = head->domain,
        .update_type = head->update_type,
        .flags = head->flags | RWF_UPDATE_DO_NOT_RIPPLE,
        .container = RWF_TYPE_FIELD_LIST,
        .seq_num = head->seq_num,
    };

    conflate_head_info(pending, head->time_ms, &msg);
    return msg;
}

/* ---- runs ---- */

/* A command of a partial content begins so; other bytes may look like one. */
static bool has_command(struct rwf_bytes list)
{
    const uint8_t *end = list.data + list.length;
    const uint8_t *p = list.data;

    while ((p = memchr(p, ESC, (size_t)(end - p))) != NULL) {
        if (++p == end || *p == '[')
            return true;
    }
    return false;
}

static bool is_doubtful(const struct conflate *c, struct rwf_field_list list)
{
    struct rwf_field field;

    while (rwf_field_list_next(&list, &field) > 0) {
        if (conflate_field_is_doubtful(c, field.id, field.content))
            return true;
    }
    return false;
}

/* Most lists have standard data alone: nothing else of them is looked at. */
static bool is_plain(struct rwf_bytes list)
{
    return list.length >= 3 && list.data[0] == RWF_LIST_HAS_STANDARD_DATA;
}

unsigned conflate_run_fields(const struct conflate *c, const struct rwf_msg *update)
{
    struct rwf_bytes bytes = update->payload;
    struct rwf_field_list list;

    if (!conflate_may_try(update) || update->flags & RWF_UPDATE_HAS_KEY ||
        update->container != RWF_TYPE_FIELD_LIST || bytes.length == 0)
        return 0;
    bool may_be_partial = has_command(bytes);
    if (!may_be_partial && is_plain(bytes))
        return md_be16(bytes.data + 1);
    if (rwf_field_list_decode(bytes, NULL, &list) < 0 || list.info.flags & RWF_LIST_HAS_SET_DATA ||
        (may_be_partial && is_doubtful(c, list)))
        return 0;
    return list.count;
}

void conflate_run_begin(struct conflate_pending *pending, struct conflate_head *head,
                        const struct rwf_msg *first, uint64_t now_ns)
{
    *head = conflate_head_of(first);
    pending->count = conflate_count_of(first);
    pending->first_ns = conflate_begin_of(first, now_ns);
}

bool conflate_run_add(struct conflate_pending *pending, struct conflate_head *head,
                      const struct rwf_msg *fresh, uint64_t now_ns)
{
    if (head->domain != fresh->domain)
        return false;
    conflate_head_take(head, fresh);
    head->time_ms = conflate_head_time(pending, now_ns);
    pending->count = conflate_count_sum(pending->count, conflate_count_of(fresh));
    pending->is_merged = true;
    return true;
}

int conflate_run_write(const struct conflate_pending *pending, const struct conflate_head *head,
                       struct rwf_bytes fields, struct rwf_encoder *enc)
{
    const struct rwf_msg msg = conflate_head_msg(pending, head);

    rwf_msg_start(enc, &msg);
    rwf_raw_add(enc, fields);
    return rwf_msg_finish(enc);
}
