/* check.c - in order, once, or told: what comes for each item is held against what came before. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "omm/directory.h"
#include "seqdata.h"
#include "watch.h"

void violation(struct watch *w, const struct item *item, const char *format, ...)
{
    va_list args;

    w->violations++;
    printf("V %llu %s ", (unsigned long long)md_clock_mono_ns(), item ? item->name : "-");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

static struct item *item_of(struct watch *w, int32_t stream_id)
{
    uint32_t at = (uint32_t)(stream_id - STREAM_FIRST);

    if (stream_id < STREAM_FIRST)
        return NULL;
    struct item *item = &w->items[at % w->item_count];
    return at / w->item_count == item->opened && item->state != ITEM_WAITING ? item : NULL;
}

static void ask_again(struct item *item, uint64_t delay_ns)
{
    item->state = ITEM_WAITING;
    item->due_ns = md_clock_mono_ns() + delay_ns;
    item->has_count = false;
}

void check_lost(struct watch *w)
{
    for (uint32_t i = 0; i < w->item_count; i++) {
        ask_again(&w->items[i], 0);
        w->items[i].group_length = 0;
    }
}

/* ---- data ---- */

static void on_update(struct watch *w, struct item *item, struct rwf_bytes payload)
{
    uint32_t count, by;
    int fid;
    enum seqdata_verdict verdict = seqdata_update_check(item->hash, payload, false, &count, &fid);

    w->updates++;
    item->data_ns = md_clock_mono_ns();
    if (verdict != SEQDATA_GOOD) {
        violation(w, item, "update: %s, field %d", seqdata_verdict_name(verdict), fid);
        return;
    }
    if (!item->has_count) {
        violation(w, item, "update %u before its image", count);
        return;
    }
    uint32_t last = item->count;
    item->count = count;
    switch (seqdata_step(last, count, &by)) {
    case SEQDATA_NEXT:
        break;
    case SEQDATA_GAP:
        if (item->is_conflated) {
            w->resyncs++;
            w->told_missing += by;
            break;
        }
        violation(w, item, "update %u after %u, %u missing%s", count, last, by,
                  item->is_suspect ? ", suspect but without an image" : "");
        break;
    case SEQDATA_DUPLICATE:
        violation(w, item, "update %u twice", count);
        break;
    case SEQDATA_REORDER:
        violation(w, item, "update %u after %u", count, last);
        break;
    }
}

static void on_image(struct watch *w, struct item *item, const struct rwf_msg *msg)
{
    uint32_t count, by;
    int fid;
    enum seqdata_verdict verdict = seqdata_image_check(item->hash, item->name, item->name_length,
                                                       msg->payload, false, &count, &fid);

    w->images++;
    item->data_ns = md_clock_mono_ns();
    if (verdict != SEQDATA_GOOD) {
        violation(w, item, "image: %s, field %d", seqdata_verdict_name(verdict), fid);
        return;
    }
    if (item->has_count && count != item->count) {
        bool is_ahead = seqdata_step(item->count, count, &by) <= SEQDATA_GAP;
        if (!item->may_jump)
            violation(w, item, "image %u after %u, and nothing was told", count, item->count);
        else if (!item->is_suspect && !is_ahead)
            violation(w, item, "image %u goes back behind %u, told as conflation", count,
                      item->count);
        w->resyncs++;
        w->told_missing += is_ahead ? by + 1 : 0;
    }
    item->count = count;
    item->has_count = true;
    item->state = ITEM_OPEN;
    item->is_suspect = item->may_jump = msg->state.data_state == RWF_DATA_SUSPECT;
    item->group_length = 0;
    if (msg->group_id.length <= GROUP_MAX) {
        item->group_length = (uint8_t)msg->group_id.length;
        if (msg->group_id.length)
            memcpy(item->group, msg->group_id.data, msg->group_id.length);
    }
}

/* ---- states ---- */

static void on_state(struct watch *w, struct item *item, const struct rwf_state *state)
{
    if (state->stream_state == RWF_STREAM_CLOSED || state->stream_state == RWF_STREAM_REDIRECTED) {
        violation(w, item, "closed for good: %s \"%.*s\"", rwf_state_code_name(state->code),
                  (int)state->text.length, (const char *)state->text.data);
        ask_again(item, MD_NS_PER_S);
        return;
    }
    if (state->stream_state == RWF_STREAM_CLOSED_RECOVER) {
        w->suspects++;
        ask_again(item, MD_NS_PER_S / 4);
        return;
    }
    if (state->code == RWF_CODE_JIT_CONFLATION_STARTED)
        item->may_jump = item->is_conflated = true;
    else if (state->code == RWF_CODE_REALTIME_RESUMED)
        item->is_conflated = false;
    if (state->data_state == RWF_DATA_SUSPECT) {
        w->suspects++;
        item->is_suspect = item->may_jump = true;
    } else if (state->data_state == RWF_DATA_OK && item->is_suspect) {
        /* Good again without an image: then nothing may be missing. */
        item->is_suspect = item->may_jump = false;
    }
}

static void on_group(struct watch *w, const struct omm_group *group)
{
    for (uint32_t i = 0; i < w->item_count; i++) {
        struct item *item = &w->items[i];
        if (item->state != ITEM_OPEN || item->group_length != group->group.length ||
            memcmp(item->group, group->group.data, item->group_length) != 0)
            continue;
        if (group->merged_to.length && group->merged_to.length <= GROUP_MAX) {
            item->group_length = (uint8_t)group->merged_to.length;
            memcpy(item->group, group->merged_to.data, item->group_length);
        }
        if (group->has_status)
            on_state(w, item, &group->status);
    }
}

static void on_service(struct watch *w, const struct omm_service *service)
{
    if ((service->filters & OMM_FILTER_INFO) &&
        rwf_bytes_equal(service->name, rwf_text(w->service))) {
        w->service_id = service->id;
        w->has_service = true;
    }
    if (!w->has_service || service->id != w->service_id)
        return;
    bool is_gone = service->action == RWF_MAP_DELETE;
    if (is_gone)
        w->has_service = false;
    for (uint32_t i = 0; i < w->item_count; i++) {
        if (w->items[i].state != ITEM_OPEN)
            continue;
        if (is_gone)
            ask_again(&w->items[i], 0);
        else if ((service->filters & OMM_FILTER_STATE) && service->has_status)
            on_state(w, &w->items[i], &service->status);
    }
}

void check_service(struct watch *w, const struct rwf_msg *msg)
{
    struct omm_directory directory;
    struct omm_service service;
    struct omm_group group;

    if (msg->msg_class != RWF_CLASS_REFRESH && msg->msg_class != RWF_CLASS_UPDATE)
        return;
    int rc = omm_directory_start(msg, &directory);
    while (rc >= 0 && (rc = omm_directory_next(&directory, &service)) > 0) {
        on_service(w, &service);
        while ((rc = omm_directory_group(&directory, &group)) > 0) {
            if (w->has_service && service.id == w->service_id)
                on_group(w, &group);
        }
    }
    if (rc < 0)
        violation(w, NULL, "a source directory that cannot be read: %d", rc);
}

void check_message(struct watch *w, const struct rssl_event *event)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) != RWF_OK) {
        violation(w, NULL, "a message of %u bytes that cannot be decoded", event->length);
        return;
    }
    if (msg.domain == RWF_DOMAIN_LOGIN || msg.domain == RWF_DOMAIN_SOURCE) {
        watch_setup(w, &msg);
        return;
    }
    struct item *item = item_of(w, msg.stream_id);
    if (!item)
        return; /* under way for a stream that was closed */
    if (msg.msg_class == RWF_CLASS_UPDATE)
        on_update(w, item, msg.payload);
    else if (msg.msg_class == RWF_CLASS_REFRESH)
        on_image(w, item, &msg);
    else if (msg.msg_class == RWF_CLASS_STATUS && (msg.flags & RWF_STATUS_HAS_STATE))
        on_state(w, item, &msg.state);
}
