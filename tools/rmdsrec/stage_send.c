/* stage_send.c - what goes to listeners: images, records as they come, states. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "omm/item.h"
#include "stage.h"

#define DEPTH_MAX 15000u /* messages that may wait for a listener; answers find room beyond */

bool stage_has_room(struct stage *stage)
{
    for (struct listener *l = stage->listeners; l; l = l->next) {
        if (!l->outq || rssl_outq_depth(l->outq) < DEPTH_MAX)
            continue;
        (void)link_flush(l->link);
        if (rssl_outq_depth(l->outq) >= DEPTH_MAX)
            return false;
    }
    return true;
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

    if (!listener->outq || rssl_outq_message_max(listener->outq) == 0)
        return; /* it is leaving */
    if (rssl_outq_write(listener->outq, message.data, message.length) != MD_OK) {
        stage->stats.errors++;
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

void stage_send_image(struct watch *watch, bool is_solicited, bool is_streaming)
{
    struct stage *stage = watch->listener->stage;
    const struct cache_image *image = player_image(stage->player, watch->item);
    struct cache_cursor cursor = { 0 };
    bool is_last = false;
    size_t length;

    watch->has_image = false;
    if (!image)
        return;
    struct rwf_state state = cache_image_state(image);
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
        if (!is_streaming && rwf_layout_decode(rwf_bytes(stage->part, length), &layout) == RWF_OK)
            stage->part[layout.state.at] =
                rwf_state_byte(RWF_STREAM_NON_STREAMING, state.data_state);
        send_spliced(watch, rwf_bytes(stage->part, length),
                     is_solicited ? RWF_REFRESH_SOLICITED : 0, 0);
    }
    stage->stats.images++;
    watch->has_image = true;
}

static void send_update(struct watch *watch, const struct rwf_peek *peek, struct rwf_bytes message)
{
    struct stage *stage = watch->listener->stage;
    uint8_t *room;

    if (peek->flags & RWF_UPDATE_HAS_KEY) {
        send_spliced(watch, message, 0, 0);
        return;
    }
    room = watch->listener->outq ? rssl_outq_reserve(watch->listener->outq, message.length) : NULL;
    if (!room) {
        stage->stats.errors++;
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
        if (!watch->has_image && !(record->flags & REC_FIRST))
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
        for (struct watch *watch = item->watches; watch; watch = watch->next)
            stage_send_image(watch, false, true);
    }
    for (struct listener *l = stage->listeners; l; l = l->next) {
        if (l->has_directory)
            stage_send_directory(l, true, NULL);
    }
}
