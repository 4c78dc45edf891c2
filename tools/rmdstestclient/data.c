/* data.c - images, updates and states of items: the hot path of a consumer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/trace.h"
#include "page_view.h"
#include "seqdata.h"
#include "tc.h"

#define TIME_FID_HIGH (SEQDATA_FID_TIME >> 8)
#define TIME_FID_LOW  (SEQDATA_FID_TIME & 0xff)

static struct slot *slot_of(struct conn *conn, int32_t stream_id)
{
    uint32_t at = (uint32_t)(stream_id - STREAM_FIRST);

    return at < conn->slot_count && conn->slots[at].item != NO_ITEM ? &conn->slots[at] : NULL;
}

/* Once per slot: for the start of the clock. */
static void settle(struct conn *conn, struct slot *slot)
{
    if (conn->pending > 0)
        conn->pending--;
    conn_ask(conn);
    if (slot->is_counted)
        return;
    slot->is_counted = true;
    conn->settled++;
    report_settled(conn->tc);
}

/* ---- sequence ---- */

static void wrong(struct conn *conn, const struct tc_item *item, const char *what,
                  enum seqdata_verdict verdict, int fid)
{
    conn->tc->stats.wrong++;
    report_complain(conn->tc, conn, item, "%s: %s, field %d", what, seqdata_verdict_name(verdict),
                    fid);
}

static void check_image(struct conn *conn, struct slot *slot, const struct tc_item *item,
                        struct rwf_bytes payload)
{
    struct tc *tc = conn->tc;
    uint32_t count, by;
    int fid;

    tc->stats.checked++;
    enum seqdata_verdict verdict =
        seqdata_image_check(item->hash, item->name, item->name_length, payload,
                            tc->options.view_count > 0, &count, &fid);
    if (verdict != SEQDATA_GOOD) {
        wrong(conn, item, "image", verdict, fid);
        slot->has_count = false;
        return;
    }
    /* An image says openly where the item stands now: what lies between was lost, but told. */
    if (slot->has_count && count != slot->count) {
        tc->stats.resyncs++;
        if (seqdata_step(slot->count, count, &by) == SEQDATA_GAP)
            tc->stats.told_missing += by + 1;
        else if (count == ((slot->count + 1) & SEQDATA_COUNT_MASK))
            tc->stats.told_missing++;
    }
    slot->count = count;
    slot->has_count = true;
}

/* True when it is what the convention says, whatever its place in the sequence. */
static bool check_update(struct conn *conn, struct slot *slot, const struct tc_item *item,
                         struct rwf_bytes payload)
{
    struct tc *tc = conn->tc;
    uint32_t count, by;
    int fid;

    tc->stats.checked++;
    enum seqdata_verdict verdict =
        seqdata_update_check(item->hash, payload, tc->options.view_count > 0, &count, &fid);
    if (__builtin_expect(verdict != SEQDATA_GOOD, 0)) {
        wrong(conn, item, "update", verdict, fid);
        return false;
    }
    if (__builtin_expect(slot->has_count && count == ((slot->count + 1) & SEQDATA_COUNT_MASK), 1)) {
        slot->count = count;
        return true;
    }
    if (!slot->has_count) {
        tc->stats.early++;
        report_complain(tc, conn, item, "update %u before its image", count);
        slot->count = count;
        slot->has_count = true;
        return true;
    }
    uint32_t last = slot->count;
    switch (seqdata_step(last, count, &by)) {
    case SEQDATA_NEXT:
        break;
    case SEQDATA_GAP:
        slot->count = count;
        if (slot->is_conflated) {
            tc->stats.resyncs++;
            tc->stats.told_missing += by;
            break;
        }
        tc->stats.gaps++;
        tc->stats.missing += by;
        report_complain(tc, conn, item, "gap: %u after %u, %u missing", count, last, by);
        break;
    case SEQDATA_DUPLICATE:
        tc->stats.duplicates++;
        report_complain(tc, conn, item, "duplicate of %u", count);
        break;
    case SEQDATA_REORDER: /* the place it left was counted as a gap, and stays counted */
        tc->stats.reorders++;
        report_complain(tc, conn, item, "out of order: %u after %u", count, last);
        break;
    }
    return true;
}

/* ---- time ---- */

/* The value of TIM_TRK_1 in a field list of standard data, or 0. */
static uint64_t find_time(struct rwf_bytes payload)
{
    const uint8_t *at = payload.data, *end = at + payload.length;

    if (payload.length < 3 || at[0] != RWF_LIST_HAS_STANDARD_DATA) {
        struct rwf_field_list list;
        struct rwf_field field;
        uint64_t value = 0;
        int rc = rwf_field_list_decode(payload, NULL, &list);
        while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
            if (field.id == SEQDATA_FID_TIME)
                return rwf_uint_decode(field.content, &value) == RWF_OK ? value : 0;
        }
        return 0;
    }
    /* The same, for the frequent form: 12 steps for each update of a million a second. */
    for (at += 3; end - at >= 3;) {
        size_t length = at[2], head = 3;
        if (__builtin_expect(length == 0xfe, 0)) {
            if (end - at < 5)
                return 0;
            length = (size_t)at[3] << 8 | at[4];
            head = 5;
        } else if (__builtin_expect(length == 0xff, 0)) {
            return 0; /* nothing of ours */
        }
        if ((size_t)(end - at) < head + length)
            return 0;
        if (at[0] == TIME_FID_HIGH && at[1] == TIME_FID_LOW) {
            uint64_t value = 0;
            for (size_t i = 0; i < length && i < 8; i++)
                value = value << 8 | at[head + i];
            return value;
        }
        at += head + length;
    }
    return 0;
}

/* ---- messages ---- */

/* Of one connection: each has all updates of its items. */
static void show_page(const struct conn *conn, const struct tc_item *item,
                      const struct rwf_msg *msg)
{
    if (conn->tc->pages && conn->number == 0)
        page_view_message(conn->tc->pages, item->name, msg);
}

static void on_update(struct conn *conn, const struct rssl_event *event,
                      const struct rwf_peek *peek)
{
    struct tc *tc = conn->tc;
    struct slot *slot = slot_of(conn, peek->stream_id);

    tc->stats.updates++;
    md_trace_tick(MD_TRACE_TAKEN, event->bytes, event->length);
    if (__builtin_expect(!slot || slot->state == SLOT_FAILED, 0)) {
        if (!slot)
            tc->stats.errors++;
        return; /* one that was closed: what was under way then */
    }
    const struct tc_item *item = &tc->items[slot->item];
    struct rwf_bytes payload = rwf_bytes(event->bytes + peek->payload_at, peek->payload_length);
    bool is_known = tc->options.seqcheck && check_update(conn, slot, item, payload);
    /* An update of the convention that has its bare length is known to carry no time. */
    if (tc->options.times &&
        !(is_known && !tc->options.view_count && payload.length == SEQDATA_UPDATE_BYTES)) {
        uint64_t stamp_us = find_time(payload);
        if (stamp_us)
            report_latency(tc, item, md_clock_mono_ns(), stamp_us);
    }
    if (tc->options.decode || tc->options.log >= 3 || tc->pages) {
        struct rwf_msg msg;
        if (rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) != RWF_OK ||
            !decode_payload(tc, item, &msg))
            tc->stats.errors++;
        else
            show_page(conn, item, &msg);
    }
}

static void note_data_state(struct tc *tc, struct slot *slot, const struct rwf_msg *msg)
{
    if (msg->state.data_state == RWF_DATA_NO_CHANGE)
        return;
    slot->is_suspect = msg->state.data_state == RWF_DATA_SUSPECT;
    tc->stats.suspects += slot->is_suspect;
}

static void on_refresh(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;
    struct slot *slot = slot_of(conn, msg->stream_id);

    tc->stats.refreshes++;
    if (!slot) {
        tc->stats.errors++;
        return;
    }
    const struct tc_item *item = &tc->items[slot->item];
    bool is_complete = (msg->flags & RWF_REFRESH_COMPLETE) != 0;
    if (tc->options.seqcheck && msg->container == RWF_TYPE_FIELD_LIST)
        check_image(conn, slot, item, msg->payload);
    show_page(conn, item, msg);
    if ((tc->options.decode || tc->options.log >= 2) && !decode_payload(tc, item, msg))
        tc->stats.errors++;
    note_data_state(tc, slot, msg);
    slot->is_conflated = slot->is_conflated && slot->state != SLOT_ASKED;
    if (slot->state != SLOT_ASKED || !is_complete)
        return;
    chain_image(conn, item, msg); /* the items move */
    slot->state = tc->options.snapshot ? SLOT_DONE : SLOT_OPEN;
    conn->open++;
    settle(conn, slot);
}

static void on_status(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;
    struct slot *slot = slot_of(conn, msg->stream_id);

    tc->stats.statuses++;
    if (!slot || !(msg->flags & RWF_STATUS_HAS_STATE))
        return; /* the end of a batch, or of a stream we have closed */
    const struct tc_item *item = &tc->items[slot->item];
    char words[1024];
    (void)show_words(msg->state.text, words, sizeof(words));
    if (tc->options.log >= 2 || tc->options.shows_states)
        printf("STATUS  %s %s/%s/%s \"%s\"\n", item->name,
               rwf_stream_state_name(msg->state.stream_state),
               rwf_data_state_name(msg->state.data_state), rwf_state_code_name(msg->state.code),
               words);
    note_data_state(tc, slot, msg);
    if (msg->state.code == RWF_CODE_JIT_CONFLATION_STARTED)
        slot->is_conflated = true;
    else if (msg->state.code == RWF_CODE_REALTIME_RESUMED)
        slot->is_conflated = false;
    if (msg->state.stream_state == RWF_STREAM_OPEN || slot->state == SLOT_FAILED)
        return;
    if (slot->state == SLOT_OPEN)
        conn->open--;
    char reason[REASON_SIZE];
    snprintf(reason, sizeof(reason), "%s \"%.320s\"", rwf_state_code_name(msg->state.code), words);
    if (msg->state.stream_state == RWF_STREAM_CLOSED_RECOVER) {
        snprintf(tc->answer_for_now, sizeof(tc->answer_for_now), "%.127s", reason);
        if (conn->pending > 0 && slot->state == SLOT_ASKED)
            conn->pending--;
        conn_again(conn, slot);
        return;
    }
    bool was_asked = slot->state == SLOT_ASKED;
    slot->state = SLOT_FAILED;
    tc->failed++;
    if (refusals_note(tc, item, reason))
        report_complain(tc, conn, item, "closed: %s", reason);
    if (was_asked)
        settle(conn, slot);
}

static void on_ack(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;
    uint64_t sent_ns = tc->post_ns[msg->ack_id % (sizeof(tc->post_ns) / sizeof(tc->post_ns[0]))];

    if ((msg->flags & RWF_ACK_HAS_NAK_CODE) && msg->nak_code != RWF_NAK_NONE)
        tc->stats.naks++;
    else
        tc->stats.acks++;
    latency_record(tc->posts, (int64_t)((md_clock_mono_ns() - sent_ns) / MD_NS_PER_US));
}

void data_message(struct conn *conn, const struct rssl_event *event)
{
    struct tc *tc = conn->tc;
    struct rwf_peek peek;
    struct rwf_msg msg;

    if (!conn->json)
        tc->stats.bytes += event->length;
    if (rwf_peek(rwf_bytes(event->bytes, event->length), &peek) != RWF_OK) {
        tc->stats.errors++;
        return;
    }
    if (__builtin_expect(peek.msg_class == RWF_CLASS_UPDATE && peek.domain > RWF_DOMAIN_DICTIONARY,
                         1)) {
        on_update(conn, event, &peek);
        return;
    }
    if (rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) != RWF_OK) {
        tc->stats.errors++;
        return;
    }
    if (setup_message(conn, &msg))
        return;
    if (msg.msg_class == RWF_CLASS_REFRESH)
        on_refresh(conn, &msg);
    else if (msg.msg_class == RWF_CLASS_STATUS)
        on_status(conn, &msg);
    else if (msg.msg_class == RWF_CLASS_ACK)
        on_ack(conn, &msg);
    else
        tc->stats.generics++;
}
