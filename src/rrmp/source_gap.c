/* source_gap.c - what was lost (GAPQUERY), and who disagrees (SUM, AUDIT). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <string.h>

#include "base/cursor.h"

#define GAP_ROWS_MAX    1000u          /* rows of one answer: 8 KB */
#define SUM_PATIENCE    3u             /* differing SUMs running that start an audit */
#define AUDIT_RECENT_NS 10000000000ull /* an item asked for since then is not judged */
#define AUDIT_ROWS_MAX  4096u

struct gap_answer {
    struct rrmp_source *source;
    const struct backbone_event *message;
    uint16_t svc;
    struct rrmp_gapitems items;
    uint8_t rows[8 * GAP_ROWS_MAX];
};

static void gap_send(struct gap_answer *answer, bool has_more)
{
    struct rrmp_record record = { .header = { .type = RRMP_GAPITEMS, .svc = answer->svc } };

    record.u.gapitems = answer->items;
    record.u.gapitems.flags |= has_more ? RRMP_GAPITEMS_MORE : 0;
    record.u.gapitems.rows = answer->rows;
    source_unicast(answer->source, answer->message->session, answer->message->src_port, &record);
    answer->items.count = 0;
}

static void gap_row(struct gap_answer *answer, uint32_t handle)
{
    struct rrmp_source *source = answer->source;
    uint32_t number = source_handle_item(source, handle);
    uint32_t seq = 0xFFFFFFFF; /* void now */

    if (number != MD_NIL && !source_item_at(source, number)->is_private) {
        struct source_item *item = source_item_at(source, number);
        if (item->stamp == source->stamp)
            return; /* listed already */
        item->stamp = source->stamp;
        seq = item->item_seq;
    }
    if (answer->items.count == GAP_ROWS_MAX)
        gap_send(answer, true);
    uint8_t *row = answer->rows + 8u * answer->items.count++;
    md_put_be32(row, handle);
    md_put_be32(row + 4, seq);
}

void source_gapquery(struct rrmp_source *source, const struct backbone_event *message,
                     const struct rrmp_record *record)
{
    const struct rrmp_gapquery *query = &record->u.gapquery;
    uint16_t svc = record->header.svc;
    struct gap_answer answer = {
        .source = source,
        .message = message,
        .svc = svc,
        .items = { .id = query->id, .first = query->first, .last = query->last }
    };

    source->stats.gap_queries++;
    bool is_known = svc < source->service_count && source->services[svc].gap_log;
    const struct source_service *service = is_known ? &source->services[svc] : NULL;
    if (!service || rrmp_after(service->log_first, query->first) ||
        service->svc_seq - query->first >= source->config.gap_log ||
        query->last - query->first >= source->config.gap_log) {
        source->stats.gap_not_held++;
        answer.items.flags = RRMP_GAPITEMS_NOT_HELD;
        gap_send(&answer, false);
        return;
    }
    source->stamp++;
    for (uint32_t seq = query->first; !rrmp_after(seq, query->last); seq++) {
        uint32_t handle = rrmp_after(seq, service->svc_seq)
                              ? RRMP_HANDLE_NONE
                              : service->gap_log[seq & (source->config.gap_log - 1)];
        if (handle == RRMP_HANDLE_NONE)
            answer.items.flags |= RRMP_GAPITEMS_SERVICE;
        else
            gap_row(&answer, handle);
    }
    gap_send(&answer, false);
}

void source_sum(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                const struct rrmp_record *record)
{
    struct source_requester *who = source_requester_at(source, requester);
    const struct rrmp_sum *sum = &record->u.sum;

    who->heard_ns = now_ns;
    if (sum->newest_id == who->newest_id && sum->count == who->sum_count &&
        sum->key_xor == who->sum_xor) {
        who->mismatches = 0;
        who->after_reset = false;
        return;
    }
    source->stats.sum_mismatch++;
    who->mismatches++;
    if (who->mismatches < (who->after_reset ? SUM_PATIENCE - 1 : SUM_PATIENCE))
        return;
    who->mismatches = 0;
    who->newest_id = sum->newest_id; /* what is missing is missing; the audit mends it */
    struct rrmp_record answer = { .header = { .type = RRMP_AUDITDIFF, .svc = RRMP_SVC_NONE } };
    source_unicast(source, who->session, who->port, &answer);
}

struct audit_answer {
    uint16_t count;
    uint8_t rows[12 * AUDIT_ROWS_MAX];
};

static void audit_row(struct audit_answer *answer, uint32_t handle, uint32_t seq, uint8_t verdict)
{
    if (answer->count == AUDIT_ROWS_MAX)
        return; /* the next audit finds the rest */
    uint8_t *row = answer->rows + 12u * answer->count++;
    md_put_be32(row, handle);
    md_put_be32(row + 4, seq);
    memset(row + 8, 0, 4);
    row[8] = verdict;
}

/* One handle the requester holds: do we agree? */
static void audit_held(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                       struct audit_answer *answer, uint32_t handle, uint32_t seq)
{
    uint32_t number = source_handle_item(source, handle);
    bool is_active;

    if (number == MD_NIL) {
        audit_row(answer, handle, 0, RRMP_AUDIT_UNKNOWN);
        return;
    }
    struct source_item *item = source_item_at(source, number);
    if (item->is_private)
        return;
    item->stamp = source->stamp;
    if (!source_interest_get(source, item, requester, &is_active) || !is_active) {
        source_interest_set(source, number, requester, true);
        source_item_settle(source, now_ns, number);
        source->stats.audit_mended++;
        audit_row(answer, handle, item->item_seq, RRMP_AUDIT_ENTERED);
    } else if (rrmp_after(item->item_seq, seq)) {
        audit_row(answer, handle, item->item_seq, RRMP_AUDIT_BEHIND);
    }
}

void source_audit(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                  const struct rrmp_record *record)
{
    const struct rrmp_audit *audit = &record->u.audit;
    const struct source_requester *who = source_requester_at(source, requester);
    struct audit_answer answer = { .count = 0 };

    source->stamp++;
    for (uint16_t i = 0; i < audit->count; i++)
        audit_held(source, now_ns, requester, &answer, md_be32(audit->rows + 8u * i),
                   md_be32(audit->rows + 8u * i + 4));
    uint32_t to = audit->to < source->handles.high ? audit->to : source->handles.high;
    for (uint32_t index = audit->from; index < to; index++) {
        const struct source_handle *handle = md_slots_at(&source->handles, index);
        bool is_active;
        uint32_t number = handle->word;
        if (number >= HANDLE_FREE)
            continue;
        const struct source_item *item = source_item_at(source, number);
        bool is_recent = source_was_requested_within(item, now_ns, AUDIT_RECENT_NS);
        if (item->stamp == source->stamp || item->is_private || is_recent ||
            !source_interest_get(source, item, requester, &is_active) || !is_active)
            continue;
        source->stats.audit_mended++;
        source_asks_drop(source, number, requester);
        source_interest_clear(source, number, requester);
        source_item_settle(source, now_ns, number);
    }
    struct rrmp_record reply = {
        .header = { .type = RRMP_AUDITDIFF, .svc = record->header.svc },
        .u.auditdiff = { .id = audit->id, .count = answer.count, .rows = answer.rows },
    };
    source_unicast(source, who->session, who->port, &reply);
}
