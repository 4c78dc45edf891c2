/* publish.c - what an application publishes: images, updates and states, written into the ring. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "internal.h"
#include "rmds/rwf.h"

enum {
    HEAD_MAX = 64,   /* of a message, its permission data and text aside */
    RECORD_MAX = 96, /* around a message, the key's name aside */
    GROUP = 1,       /* all items of a service are one group */
};

const char *rmds_offered_name(const struct rmds_offered *item)
{
    return item->name;
}

uint8_t rmds_offered_domain(const struct rmds_offered *item)
{
    return item->domain;
}

bool rmds_offered_is_wanted(const struct rmds_offered *item)
{
    struct rrmp_source_item info;

    return item->ask != RRMP_ITEM_NONE ||
           (rrmp_source_item_info(item->offer->backbone->source.source, item->source_item, &info) &&
            info.is_active);
}

void rmds_offered_set_user(struct rmds_offered *item, void *user)
{
    item->user = user;
}

void *rmds_offered_user(const struct rmds_offered *item)
{
    return item->user;
}

void rmds_data_init(struct rmds_data *data, size_t size)
{
    struct rmds_data usual = {
        .size = size,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .is_first = true,
        .is_last = true,
    };

    memset(data, 0, size);
    memcpy(data, &usual, size < sizeof(usual) ? size : sizeof(usual));
}

static void take_data(struct rmds_data *own, const struct rmds_data *data)
{
    rmds_data_init(own, sizeof(*own));
    memcpy(own, data, data->size < sizeof(*own) ? data->size : sizeof(*own));
}

static int outcome(struct library_source *s, int err)
{
    if (err == MD_ERR_FULL)
        s->is_full = true;
    return err == MD_ERR_STATE ? MD_OK : err; /* nobody takes it */
}

/* Of a message whose room would be `size` bytes; no ring has room for it, ever. */
static bool is_too_long(const struct rmds_offered *item, size_t size)
{
    const struct attach *attach = item->offer->backbone->attach;
    size_t message_max = attach_message_max(attach);
    size_t used, ring;

    attach_fill(attach, &used, &ring);
    return message_max > 0 && (size > message_max || size > ring / 4);
}

/* The message into room that was had; 0: it does not fit, and the room goes back. */
static size_t write_message(uint8_t *room, size_t size, const struct rwf_msg *msg)
{
    struct rwf_encoder encoder;

    rwf_encoder_init(&encoder, room, size);
    return rwf_msg_encode(&encoder, msg) == RWF_OK ? rwf_encoder_bytes(&encoder).length : 0;
}

static int send_room(struct library_source *s, uint8_t *room, size_t size,
                     const struct rwf_msg *msg)
{
    size_t length = write_message(room, size, msg);

    rrmp_source_publish_commit(s->source, length);
    return length ? MD_OK : MD_ERR_RANGE;
}

int rmds_offered_update(struct rmds_offered *item, const struct rmds_data *data)
{
    struct library_source *s = &item->offer->backbone->source;
    struct rmds_data d;
    uint8_t *room;

    take_data(&d, data);
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = item->domain,
        .flags = (uint16_t)((d.has_seq_num ? RWF_UPDATE_HAS_SEQ_NUM : 0) |
                            (d.perm_data.length ? RWF_UPDATE_HAS_PERM_DATA : 0)),
        .container = d.container,
        .update_type = d.update_type,
        .seq_num = d.seq_num,
        .perm_data = d.perm_data,
        .payload = d.payload,
    };
    size_t size = d.payload.length + d.perm_data.length + HEAD_MAX;
    if (is_too_long(item, size + RECORD_MAX))
        return MD_ERR_RANGE;
    int err = item->ask != RRMP_ITEM_NONE ? MD_ERR_STATE
                                          : rrmp_source_publish_begin(s->source, item->source_item,
                                                                      RRMP_UPDATE, size, &room);

    return err == MD_OK ? send_room(s, room, size, &msg) : outcome(s, err);
}

static struct rwf_msg refresh_of(const struct rmds_offered *item, const struct rmds_data *d)
{
    return (struct rwf_msg){
        .msg_class = RWF_CLASS_REFRESH,
        .domain = item->domain,
        .flags = (uint16_t)(RWF_REFRESH_HAS_QOS | (d->is_first ? RWF_REFRESH_CLEAR_CACHE : 0) |
                            (d->is_last ? RWF_REFRESH_COMPLETE : 0) |
                            (d->has_seq_num ? RWF_REFRESH_HAS_SEQ_NUM : 0) |
                            (d->perm_data.length ? RWF_REFRESH_HAS_PERM_DATA : 0)),
        .container = d->container,
        .seq_num = d->seq_num,
        .qos = item->offer->options.qos,
        .state = d->state,
        .perm_data = d->perm_data,
        .payload = d->payload,
    };
}

/* The image found no room, or cannot be written. */
static void not_sent(struct rmds_offered *item, int err)
{
    struct rrmp_source *source = item->offer->backbone->source.source;

    if (item->ask != RRMP_ITEM_NONE) {
        item->is_broken = err == MD_ERR_RANGE || item->has_parts;
        library_offered_due(item);
    } else if (err == MD_ERR_RANGE) {
        rrmp_source_image_refuse(source, rmds_now(), item->source_item);
    } else if (item->has_image) {
        rrmp_source_image_abort(source, item->source_item);
    } else {
        library_offered_due(item);
    }
}

int rmds_offered_image(struct rmds_offered *item, const struct rmds_data *data)
{
    struct library_source *s = &item->offer->backbone->source;
    struct rmds_data d;
    uint8_t *room = NULL;
    int err;

    take_data(&d, data);
    struct rwf_msg msg = refresh_of(item, &d);
    struct rrmp_part part = { .is_first = d.is_first,
                              .is_last = d.is_last,
                              .is_solicited = true,
                              .state = (uint8_t)(d.state.stream_state << 3 | d.state.data_state),
                              .code = d.state.code,
                              .group = GROUP };
    size_t size = d.payload.length + d.perm_data.length + d.state.text.length + HEAD_MAX;
    if (is_too_long(item, size + RECORD_MAX + strlen(item->name)))
        return MD_ERR_RANGE;
    if (item->ask != RRMP_ITEM_NONE) {
        msg.state.stream_state = RWF_STREAM_NON_STREAMING;
        part.state = (uint8_t)(RWF_STREAM_NON_STREAMING << 3 | d.state.data_state);
        err = rrmp_source_snapshot_begin(s->source, item->ask, &part, size, &room);
    } else {
        err = rrmp_source_image_begin(s->source, rmds_now(), item->source_item, &part, size, &room);
    }
    if (err == MD_OK && room)
        err = send_room(s, room, size, &msg);
    if (err == MD_ERR_FULL || err == MD_ERR_RANGE)
        not_sent(item, err);
    item->has_parts |= err == MD_OK;
    if ((err == MD_OK && d.is_last) || err == MD_ERR_STATE)
        item->has_image = true;
    if (err == MD_OK && d.is_last && item->ask != RRMP_ITEM_NONE)
        library_offered_give(item);
    return outcome(s, err);
}

static struct rwf_msg status_of(const struct rmds_offered *item, const struct rwf_state *state)
{
    return (struct rwf_msg){ .msg_class = RWF_CLASS_STATUS,
                             .domain = item->domain,
                             .flags = RWF_STATUS_HAS_STATE,
                             .container = RWF_TYPE_NO_DATA,
                             .state = *state };
}

int rmds_offered_state(struct rmds_offered *item, const struct rwf_state *state)
{
    struct library_source *s = &item->offer->backbone->source;
    const struct rwf_msg msg = status_of(item, state);
    size_t size = state->text.length + HEAD_MAX;
    uint8_t *room;
    int err;

    if (state->stream_state != RWF_STREAM_OPEN ||
        is_too_long(item, size + 2 * RECORD_MAX + strlen(item->name))) /* a BIND may be before it */
        return MD_ERR_RANGE;
    err = item->ask != RRMP_ITEM_NONE
              ? MD_ERR_STATE
              : rrmp_source_publish_begin(s->source, item->source_item, RRMP_STATUS, size, &room);
    return err == MD_OK ? send_room(s, room, size, &msg) : outcome(s, err);
}

int rmds_offered_end(struct rmds_offered *item, const struct rwf_state *state)
{
    struct library_source *s = &item->offer->backbone->source;
    const struct rwf_msg msg = status_of(item, state);
    uint8_t bytes[HEAD_MAX + 512];
    struct rrmp_ending ending = { .state = (uint8_t)(state->stream_state << 3 | state->data_state),
                                  .code = state->code,
                                  .scope = state->stream_state == RWF_STREAM_CLOSED
                                               ? RRMP_REFUSE_FINAL
                                               : RRMP_REFUSE_LATER,
                                  .text = { state->text.data, state->text.length } };
    int err;

    if (state->stream_state < RWF_STREAM_CLOSED_RECOVER || state->text.length > 255)
        return MD_ERR_RANGE;
    ending.message = (struct rrmp_view){ bytes, write_message(bytes, sizeof(bytes), &msg) };
    err = item->ask != RRMP_ITEM_NONE
              ? rrmp_source_refuse(s->source, item->ask, &ending)
              : rrmp_source_item_close(s->source, rmds_now(), item->source_item, &ending);
    if (err == MD_ERR_NOT_FOUND)
        err = MD_OK; /* nobody waits any more */
    if (err == MD_OK)
        library_offered_give(item);
    return outcome(s, err);
}
