/* sink_loss.c - what was lost: ask, judge, mend; and the digests that find disagreement. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_follow.h"
#include "sink_impl.h"
#include "sink_tell.h"

#include "base/cursor.h"

#define MS              1000000ull
#define SEC             1000000000ull

#define WHOLE_AGAIN_NS  (10 * SEC) /* again within 10 s waits first: rrmp.md 8 */
#define PAUSE_MIN_NS    (200 * MS)
#define PAUSE_MAX_NS    (5 * SEC)
#define AUDIT_SLICE     100u
#define AUDIT_STEP_NS   (10 * MS)
#define AUDIT_CHECK_NS  (1 * SEC)
#define QUERY_SPREAD_NS (10 * MS)

static const struct rrmp_view no_text;

static void gap_query(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_link *link = sink_link_at(sink, number);
    struct rrmp_record record = {
        .header = { .type = RRMP_GAPQUERY, .svc = link->svc },
        .u.gapquery = { .first = link->lost_first, .last = link->lost_last },
    };

    link->query_id = ++sink->next_query;
    record.u.gapquery.id = link->query_id;
    sink->stats.gap_queries++;
    sink_send(sink, link->instance, &record);
}

/* Records first..last of the link are lost. Which items that hits, the instance knows. */
void sink_link_lost(struct rrmp_sink *sink, uint32_t number, uint32_t first, uint32_t last)
{
    struct sink_link *link = sink_link_at(sink, number);

    sink->stats.svc_seq_jumps++;
    sink->stats.records_lost += last - first + 1;
    sink_list_begin(sink, number);
    if (link->item_count == 0)
        return;
    if (!(link->row_state & RRMP_SERVICE_UP)) {
        link->is_unsure = true;
        sink_query_later(sink, QUERY_SPREAD_NS);
    }
    if (!link->is_in_doubt) {
        link->is_in_doubt = true;
        link->lost_first = first;
        link->doubt_ns = sink->now_ns;
    }
    link->lost_last = last;
    /* A later loss asks again for all of it, but may not put off the end for ever. */
    uint64_t latest = link->doubt_ns + 2 * sink->config.gap_verify_ns;
    link->verify_due_ns = sink->now_ns + sink->config.gap_verify_ns;
    if (link->verify_due_ns > latest)
        link->verify_due_ns = latest;
    gap_query(sink, number);
}

/* The whole service at this instance is told suspect and asked for again, at the usual pace. */
void sink_link_recover(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_link *link = sink_link_at(sink, number);

    link->is_in_doubt = false;
    sink->stats.whole_service_recoveries++;
    bool is_again = link->whole_ns && sink->now_ns - link->whole_ns < WHOLE_AGAIN_NS;
    if (!is_again)
        link->pause_ns = 0;
    else
        link->pause_ns = link->pause_ns ? link->pause_ns * 2 : PAUSE_MIN_NS;
    if (link->pause_ns > PAUSE_MAX_NS)
        link->pause_ns = PAUSE_MAX_NS;
    link->whole_ns = sink->now_ns;
    link->paused_until_ns = sink->now_ns + link->pause_ns;
    sink_link_tell(sink, number, RRMP_GROUP_NONE, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_GAP_DETECTED,
                   no_text, SINK_LOST);
    for (uint32_t n = link->items, next; n != MD_NIL; n = next) {
        const struct sink_item *item = sink_item_at(sink, n);
        bool is_waiting = item->state == RRMP_SINK_QUEUED && item->queue == QUEUE_NONE;
        next = item->list_next;
        if (!is_waiting && !item->is_snapshot)
            sink_item_lost(sink, n, RRMP_CODE_GAP_DETECTED);
    }
}

/* Is the item of this row hit by the loss? */
static uint32_t row_hits(const struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                         const uint8_t *row)
{
    const struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, instance), md_be32(row));
    uint32_t seq = md_be32(row + 4);

    if (!slot || sink_item_at(sink, slot->item)->link != link)
        return MD_NIL;
    bool is_void = seq == 0xFFFFFFFF;
    return is_void || rrmp_after(seq, slot->last_seq) ? slot->item : MD_NIL;
}

void sink_gapitems_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record)
{
    const struct rrmp_gapitems *answer = &record->u.gapitems;
    const struct sink_instance *from = sink_instance_at(sink, instance);
    uint16_t svc = record->header.svc;
    uint32_t number = svc < from->svc_count ? from->links[svc] : MD_NIL;
    uint32_t hits = 0;

    if (number == MD_NIL || sink_link_at(sink, number)->service == RRMP_SERVICE_NONE)
        return;
    struct sink_link *link = sink_link_at(sink, number);
    if (!link->is_in_doubt)
        return; /* the whole service is under way already */
    for (uint16_t i = 0; i < answer->count; i++)
        hits += row_hits(sink, instance, number, answer->rows + 8u * i) != MD_NIL;
    bool is_whole = answer->flags & (RRMP_GAPITEMS_NOT_HELD | RRMP_GAPITEMS_SERVICE);
    bool is_many = hits > 8 && hits > link->item_count / 4;
    if (answer->flags & RRMP_GAPITEMS_NOT_HELD)
        sink->stats.gap_not_held++;
    if (is_whole || is_many || hits > SINK_ROWS_MAX) {
        sink_link_recover(sink, number);
        return;
    }
    sink->stats.gap_items_hit += hits;
    for (uint16_t i = 0; i < answer->count; i++) {
        uint32_t item = row_hits(sink, instance, number, answer->rows + 8u * i);
        if (item != MD_NIL)
            sink_item_lost(sink, item, RRMP_CODE_GAP_DETECTED);
    }
    if (answer->id == link->query_id && !(answer->flags & RRMP_GAPITEMS_MORE))
        link->is_in_doubt = false;
}

/* ---- digests ---- */

static void sum_send(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_instance *instance = sink_instance_at(sink, number);
    struct rrmp_record record = {
        .header = { .type = RRMP_SUM, .svc = RRMP_SVC_NONE },
        .u.sum = { .newest_id = instance->newest_id,
                   .count = instance->sum_count,
                   .key_xor = instance->sum_xor },
    };

    sink_send(sink, number, &record);
    instance->sum_due_ns =
        sink->now_ns + (instance->sum_again ? 1 * SEC : sink->config.sum_interval_ns);
    instance->sum_again = false;
}

static bool slot_is_ours(const struct rrmp_sink *sink, const struct sink_slot *slot)
{
    if (!slot->bits)
        return false;
    const struct sink_item *item = sink_item_at(sink, slot->item);
    return item->is_asked && sink_item_is_summed(item);
}

/* The next hundred handles we hold. */
static void audit_step(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_instance *instance = sink_instance_at(sink, number);
    uint8_t rows[8 * AUDIT_SLICE];
    uint16_t count = 0;
    uint32_t index = instance->audit_from;

    for (; index < instance->map_high && count < AUDIT_SLICE; index++) {
        const struct sink_slot *chunk = instance->map ? instance->map[index / SINK_CHUNK] : NULL;
        if (!chunk) {
            index |= SINK_CHUNK - 1;
            continue;
        }
        const struct sink_slot *slot = &chunk[index % SINK_CHUNK];
        if (!slot_is_ours(sink, slot))
            continue;
        md_put_be32(rows + 8u * count, sink_item_at(sink, slot->item)->handle);
        md_put_be32(rows + 8u * count + 4, slot->last_seq);
        count++;
    }
    bool is_last = index >= instance->map_high;
    struct rrmp_record record = {
        .header = { .type = RRMP_AUDIT, .svc = RRMP_SVC_NONE },
        .u.audit = { .id = instance->audit_id,
                     .from = instance->audit_from,
                     .to = is_last ? 0xFFFFFFFF : index,
                     .count = count,
                     .rows = rows },
    };
    sink_send(sink, number, &record);
    instance->audit_from = index;
    instance->audit_due_ns = sink->now_ns + AUDIT_STEP_NS;
    if (is_last)
        instance->audit_id = 0;
}

void sink_auditdiff_in(struct rrmp_sink *sink, uint32_t number, const struct rrmp_record *record)
{
    const struct rrmp_auditdiff *diff = &record->u.auditdiff;
    struct sink_instance *instance = sink_instance_at(sink, number);

    if (diff->id == 0) {
        if (instance->audit_id == 0) {
            instance->audit_id = ++sink->next_query ? sink->next_query : ++sink->next_query;
            instance->audit_from = 0;
            instance->audit_due_ns = sink->now_ns;
            sink->stats.audits++;
        }
        return;
    }
    for (uint16_t i = 0; i < diff->count && i < SINK_ROWS_MAX; i++) {
        const uint8_t *row = diff->rows + 12u * i;
        struct sink_slot *slot = sink_slot_find(sink, instance, md_be32(row));
        if (!slot)
            continue;
        struct sink_item *item = sink_item_at(sink, slot->item);
        if (row[8] == RRMP_AUDIT_UNKNOWN) {
            sink->stats.audit_mended++;
            sink_unask(sink, item);
            sink_item_lost(sink, slot->item, RRMP_CODE_GAP_DETECTED);
        } else if (row[8] == RRMP_AUDIT_ENTERED) {
            sink->stats.audit_mended++;
        } else if (row[8] == RRMP_AUDIT_BEHIND && item->state == RRMP_SINK_LIVE &&
                   !item->wants_image) {
            /* The answer overtakes what is in flight: look again when that must be here. */
            sink_work_take(sink, slot->item)->check_seq = md_be32(row + 4);
            sink_timer_set(sink, slot->item, sink->now_ns + AUDIT_CHECK_NS);
        }
    }
}

/* The item must have by now all that an audit said its instance had sent. */
void sink_item_check(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);
    uint32_t check_seq = sink_work_of(sink, item)->check_seq;

    if (check_seq == 0) {
        sink_work_settle(sink, number);
        return;
    }
    const struct sink_link *link = sink_link_at(sink, item->link);
    const struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, link->instance), item->handle);
    if (slot && rrmp_after(check_seq, slot->last_seq)) {
        sink->stats.audit_mended++;
        sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
    }
    sink_work_take(sink, number)->check_seq = 0;
    sink_work_settle(sink, number);
}

/* Of all instances, or what is due. */
void sink_sums(struct rrmp_sink *sink, bool at_once)
{
    for (uint32_t n = 0; n < sink->instances.high; n++) {
        struct sink_instance *instance = sink_instance_at(sink, n);
        if (!instance->in_use)
            continue;
        bool is_due = at_once || sink->now_ns >= instance->sum_due_ns;
        if (is_due && (instance->newest_id || instance->sums_idle < SINK_SUMS_IDLE)) {
            if (instance->newest_id == 0)
                instance->sums_idle++;
            instance->sum_again = instance->sum_again || at_once;
            sum_send(sink, n);
        }
        if (instance->audit_id && sink->now_ns >= instance->audit_due_ns)
            audit_step(sink, n);
    }
}

static void repeat_unanswered(struct rrmp_sink *sink, uint32_t number, bool is_reset)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->is_private && is_reset) {
        sink_private_end(sink, number, RRMP_CLOSE_NOBODY);
    } else if (item->state == RRMP_SINK_ASKED || item->state == RRMP_SINK_FILLING) {
        sink->stats.requests_repeated++;
        if (item->is_resuming) /* from its place, of which consumers have all: no need to tell */
            sink_item_requeue(sink, number, QUEUE_RECOVERY);
        else
            sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
    } else if (item->state == RRMP_SINK_LIVE && item->wants_image && item->queue == QUEUE_NONE) {
        sink_queue_put(sink, number, QUEUE_RECOVERY);
    }
}

/* A GAP of its session may have swallowed answers: ask again for all that is unanswered. What came
 * by unicast alone, private streams, is not mended: it ends. */
void sink_repeat_unanswered(struct rrmp_sink *sink, uint32_t instance, bool is_reset)
{
    const struct sink_instance *from = sink_instance_at(sink, instance);

    for (uint16_t svc = 0; svc < from->svc_count; svc++) {
        if (from->links[svc] == MD_NIL)
            continue;
        for (uint32_t n = sink_link_at(sink, from->links[svc])->items, next; n != MD_NIL;
             n = next) {
            next = sink_item_at(sink, n)->list_next;
            repeat_unanswered(sink, n, is_reset);
        }
    }
}

uint64_t sink_loss_tick(struct rrmp_sink *sink)
{
    uint64_t next = RRMP_NEVER;

    for (uint32_t n = 0; n < sink->links.high; n++) {
        struct sink_link *link = sink_link_at(sink, n);
        if (!link->in_use)
            continue;
        if (link->is_in_doubt && sink->now_ns >= link->verify_due_ns && sink_event_room(sink))
            sink_link_recover(sink, n);
        if (link->is_in_doubt && link->verify_due_ns < next)
            next = link->verify_due_ns;
        if (link->paused_until_ns && sink->now_ns >= link->paused_until_ns) {
            link->paused_until_ns = 0;
            sink->may_send = true;
        }
        if (link->paused_until_ns && link->paused_until_ns < next)
            next = link->paused_until_ns;
    }
    return next;
}
