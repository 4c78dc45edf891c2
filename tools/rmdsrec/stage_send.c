/* stage_send.c - what goes to listeners: images, records as they come, states. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "omm/item.h"
#include "stage.h"
#include "words.h"

#define PAY_NS MD_NS_PER_MS

/* Records and images take half of a queue; answers find room beyond. */
static bool has_room(struct listener *listener)
{
    uint32_t most = listener->stage->buffers / 2;

    if (!listener->outq || listener->is_doomed || rssl_outq_depth(listener->outq) < most)
        return true;
    (void)link_flush(listener->link);
    return rssl_outq_depth(listener->outq) < most;
}

bool stage_has_room(struct stage *stage)
{
    for (struct listener *l = stage->listeners; l; l = l->next) {
        if (!has_room(l))
            return false;
    }
    return true;
}

/* A message cannot be queued. Its receiver would not know, so it is disconnected. */
static void doom(struct listener *listener, size_t length)
{
    if (listener->is_doomed)
        return;
    fprintf(stderr,
            PROGRAM ": %s: no room for a message of %zu bytes in its queue of %" PRIu32
                    " buffers; disconnected\n",
            client_session_peer(link_session(listener->link)), length, listener->stage->buffers);
    listener->is_doomed = true;
    listener->stage->stats.dropped++;
    link_close(listener->link);
}

void stage_flush(struct stage *stage)
{
    for (struct listener *l = stage->listeners; l; l = l->next) {
        if (l->has_output)
            (void)link_flush(l->link);
        l->has_output = false;
    }
}

void stage_send(struct listener *listener, struct rwf_bytes message)
{
    struct stage *stage = listener->stage;

    if (!listener->outq || listener->is_doomed || rssl_outq_message_max(listener->outq) == 0)
        return; /* it is leaving */
    if (rssl_outq_write(listener->outq, message.data, message.length) != MD_OK) {
        doom(listener, message.length);
        return;
    }
    listener->has_output = true;
    stage->stats.messages++;
    stage->stats.bytes += message.length;
}

void stage_send_status(struct listener *listener, int32_t stream_id, uint8_t domain,
                       struct rwf_state state)
{
    struct stage *stage = listener->stage;
    const struct omm_status status = { .stream_id = stream_id, .domain = domain, .state = state };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, stage->message, sizeof(stage->message));
    if (omm_status_encode(&enc, &status) == RWF_OK)
        stage_send(listener, rwf_encoder_bytes(&enc));
}

/* ---- messages of items ---- */

/* With the key of ours and this stream's id. */
static void send_spliced(struct watch *watch, struct rwf_bytes message, uint16_t set,
                         uint16_t clear)
{
    struct stage *stage = watch->listener->stage;
    const struct rwf_key key = {
        .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_SERVICE_ID,
        .service_id = watch->item->service->id,
        .name = rwf_bytes(watch->item->name, watch->item->name_length),
        .name_type = RWF_NAME_RIC,
    };
    const struct rwf_splice splice = {
        .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_SET_KEY | (set || clear ? RWF_SPLICE_FLAGS : 0u),
        .stream_id = watch->stream_id,
        .flags_set = set,
        .flags_clear = clear,
        .key = &key,
    };
    size_t length;

    if (rwf_splice(message, &splice, stage->message, sizeof(stage->message), &length) == RWF_OK)
        stage_send(watch->listener, rwf_bytes(stage->message, length));
    else
        stage->stats.errors++;
}

static void tell_no_image(struct watch *watch)
{
    const struct rwf_state none = { .stream_state = watch->is_snapshot ? RWF_STREAM_CLOSED_RECOVER
                                                                       : RWF_STREAM_OPEN,
                                    .data_state = RWF_DATA_SUSPECT,
                                    .text = rwf_text("the recording has no image yet") };

    stage_send_status(watch->listener, watch->stream_id, watch->item->domain, none);
}

static void send_parts(struct watch *watch, const struct cache_image *image, bool is_answer)
{
    struct stage *stage = watch->listener->stage;
    struct rwf_state state = cache_image_state(image);
    struct cache_cursor cursor = { 0 };
    bool is_last = false;
    size_t length;

    if (state.stream_state >= RWF_STREAM_CLOSED_RECOVER) {
        stage_send_status(watch->listener, watch->stream_id, watch->item->domain, state);
        return;
    }
    while (!is_last) {
        if (cache_image_part(image, &cursor, stage->part, sizeof(stage->part), &length, &is_last) !=
            MD_OK) {
            stage->stats.errors++;
            return;
        }
        struct rwf_layout layout;
        if (watch->is_snapshot &&
            rwf_layout_decode(rwf_bytes(stage->part, length), &layout) == RWF_OK)
            stage->part[layout.state.at] =
                rwf_state_byte(RWF_STREAM_NON_STREAMING, state.data_state);
        send_spliced(watch, rwf_bytes(stage->part, length), is_answer ? RWF_REFRESH_SOLICITED : 0,
                     0);
    }
    stage->stats.images++;
    watch->has_image = true;
}

static void send_image(struct watch *watch, bool is_answer)
{
    const struct cache_image *image = player_image(watch->listener->stage->player, watch->item);

    watch->has_image = false;
    if (image)
        send_parts(watch, image, is_answer);
    else if (is_answer)
        tell_no_image(watch);
    if (watch->is_snapshot)
        watch_remove(watch);
}

/* ---- images that wait for room ---- */

static void owe(struct watch *watch, bool is_answer)
{
    struct listener *listener = watch->listener;
    struct stage *stage = listener->stage;

    watch->has_image = false;
    watch->is_answer = is_answer || (watch->is_owed && watch->is_answer);
    if (watch->is_owed)
        return;
    watch->is_owed = true;
    watch->owed_before = listener->owed_last;
    watch->owed_next = NULL;
    if (listener->owed_last)
        listener->owed_last->owed_next = watch;
    else
        listener->owed = watch;
    listener->owed_last = watch;
    stage->stats.owed++;
    (void)md_loop_timer_at(stage->payer, md_clock_mono_ns() + PAY_NS);
}

void stage_forgive(struct watch *watch)
{
    struct listener *listener = watch->listener;

    if (!watch->is_owed)
        return;
    if (watch->owed_before)
        watch->owed_before->owed_next = watch->owed_next;
    else
        listener->owed = watch->owed_next;
    if (watch->owed_next)
        watch->owed_next->owed_before = watch->owed_before;
    else
        listener->owed_last = watch->owed_before;
    watch->is_owed = false;
}

void stage_send_image(struct watch *watch, bool is_answer)
{
    struct listener *listener = watch->listener;

    if (listener->owed || !has_room(listener))
        owe(watch, is_answer);
    else
        send_image(watch, is_answer);
}

void stage_pay(void *owner)
{
    struct stage *stage = owner;
    bool is_owing = false;

    for (struct listener *l = stage->listeners; l; l = l->next) {
        while (l->owed && has_room(l)) {
            struct watch *watch = l->owed;
            stage_forgive(watch);
            send_image(watch, watch->is_answer);
        }
        is_owing = is_owing || l->owed;
    }
    stage_flush(stage);
    if (is_owing)
        (void)md_loop_timer_at(stage->payer, md_clock_mono_ns() + PAY_NS);
}

static void send_update(struct watch *watch, const struct rwf_peek *peek, struct rwf_bytes message)
{
    struct stage *stage = watch->listener->stage;
    uint8_t *room;

    if (peek->flags & RWF_UPDATE_HAS_KEY) {
        send_spliced(watch, message, 0, 0);
        return;
    }
    if (!watch->listener->outq || watch->listener->is_doomed)
        return;
    room = rssl_outq_reserve(watch->listener->outq, message.length);
    if (!room) {
        doom(watch->listener, message.length);
        return;
    }
    memcpy(room, message.data, message.length);
    rwf_patch_stream_id(room, watch->stream_id);
    rssl_outq_commit(watch->listener->outq, message.length);
    watch->listener->has_output = true;
    stage->stats.messages++;
    stage->stats.bytes += message.length;
}

static void send_as_status(struct watch *watch, struct rwf_bytes message)
{
    const struct rwf_splice splice = { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY,
                                       .stream_id = watch->stream_id };
    struct stage *stage = watch->listener->stage;
    size_t length;

    if (rwf_splice(message, &splice, stage->message, sizeof(stage->message), &length) == RWF_OK)
        stage_send(watch->listener, rwf_bytes(stage->message, length));
}

static void play_message(struct watch *watch, const struct rec_record *record,
                         const struct rwf_peek *peek)
{
    switch (peek->msg_class) {
    case RWF_CLASS_REFRESH:
        if (watch->is_owed || (!watch->has_image && !(record->flags & REC_FIRST)))
            return;
        watch->has_image = true;
        send_spliced(watch, record->bytes, 0, RWF_REFRESH_SOLICITED);
        break;
    case RWF_CLASS_UPDATE:
        if (watch->has_image)
            send_update(watch, peek, record->bytes);
        break;
    case RWF_CLASS_STATUS:
        send_as_status(watch, record->bytes);
        break;
    default:
        break;
    }
}

static bool ends_stream(struct rwf_bytes message)
{
    struct rwf_msg msg;

    return rwf_msg_decode(message, &msg) == RWF_OK && msg.msg_class == RWF_CLASS_STATUS &&
           (msg.flags & RWF_STATUS_HAS_STATE) &&
           msg.state.stream_state >= RWF_STREAM_CLOSED_RECOVER;
}

static void play_item(struct play_item *item, const struct rec_record *record)
{
    struct rwf_peek peek;
    bool is_image = record->kind == REC_IMAGE;

    /* Images of the recorder's are for those who were told of a loss. */
    if (rwf_peek(record->bytes, &peek) != RWF_OK || (is_image && !item->is_torn))
        return;
    for (struct watch *watch = item->watches; watch; watch = watch->next)
        play_message(watch, record, &peek);
    if (record->flags & (is_image ? REC_LAST : REC_FIRST))
        item->is_torn = false;
    if (peek.msg_class == RWF_CLASS_STATUS && ends_stream(record->bytes)) {
        while (item->watches)
            watch_remove(item->watches);
    }
}

/* ---- losses ---- */

static void make_suspect(struct play_item *item, const char *why)
{
    const struct rwf_state state = { .stream_state = RWF_STREAM_OPEN,
                                     .data_state = RWF_DATA_SUSPECT,
                                     .text = rwf_text(why) };

    item->is_torn = true;
    for (struct watch *watch = item->watches; watch; watch = watch->next)
        stage_send_status(watch->listener, watch->stream_id, item->domain, state);
}

static void make_all_suspect(struct stage *stage, const char *why)
{
    for (uint32_t i = 0; i < stage->player->item_count; i++)
        make_suspect(stage->player->items[i], why);
}

/* ---- the directory ---- */

static void send_group(struct stage *stage, const struct play_service *service,
                       const struct omm_group *group)
{
    for (struct listener *l = stage->listeners; l; l = l->next) {
        struct rwf_encoder enc;
        const struct omm_directory_head head = {
            .stream_id = l->directory_stream,
            .is_update = true,
            .filter = OMM_FILTER_GROUP,
        };
        if (!l->has_directory)
            continue;
        rwf_encoder_init(&enc, stage->message, sizeof(stage->message));
        omm_directory_encode_start(&enc, &head);
        omm_directory_encode_group(&enc, service->id, group);
        if (omm_directory_encode_finish(&enc) == RWF_OK)
            stage_send(l, rwf_encoder_bytes(&enc));
    }
}

static void set_state(struct stage *stage, struct play_service *service, bool is_up)
{
    if (service->is_up == is_up)
        return;
    service->is_up = is_up;
    for (struct listener *l = stage->listeners; l; l = l->next) {
        if (l->has_directory)
            stage_send_directory(l, true, service);
    }
}

static void play_directory(struct stage *stage, struct rwf_bytes message)
{
    struct omm_directory directory;
    struct omm_service service;
    struct omm_group group;
    struct rwf_msg msg;

    if (rwf_msg_decode(message, &msg) != RWF_OK || omm_directory_start(&msg, &directory) != RWF_OK)
        return;
    while (omm_directory_next(&directory, &service) > 0) {
        struct play_service *ours = player_service(stage->player, service.id);
        while (omm_directory_group(&directory, &group) > 0) {
            if (ours)
                send_group(stage, ours, &group);
        }
        if (ours && service.action == RWF_MAP_DELETE)
            set_state(stage, ours, false);
        else if (ours && service.filters & OMM_FILTER_STATE)
            set_state(stage, ours, service.is_up);
    }
}

/* ---- records ---- */

void stage_play(struct stage *stage)
{
    struct player *player = stage->player;
    const struct rec_record *record = &player->record;
    const struct rec_key *key = rec_reader_item(player->source.reader, record->number);
    struct play_item *item =
        record->number <= player->facts.items ? player->by_number[record->number] : NULL;

    switch (record->kind) {
    case REC_MESSAGE:
    case REC_IMAGE:
        if (item)
            play_item(item, record);
        else if (key && key->domain == RWF_DOMAIN_SOURCE && record->kind == REC_MESSAGE)
            play_directory(stage, record->bytes);
        break;
    case REC_LOST:
        if (item)
            make_suspect(item, "messages are missing in the recording");
        break;
    case REC_HOLE:
        make_all_suspect(stage, "a part of the recording is missing");
        break;
    case REC_CUT:
        make_all_suspect(stage, "the recorder had lost its connection");
        break;
    default:
        break;
    }
}

void stage_refresh_all(struct stage *stage)
{
    for (uint32_t i = 0; i < stage->player->item_count; i++) {
        struct play_item *item = stage->player->items[i];
        item->is_torn = false;
        for (struct watch *watch = item->watches, *next; watch; watch = next) {
            next = watch->next;
            stage_send_image(watch, false);
        }
    }
    for (struct listener *l = stage->listeners; l; l = l->next) {
        if (l->has_directory)
            stage_send_directory(l, true, NULL);
    }
}
