/* emit.c - one update of one item, to everyone who watches it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/trace.h"
#include "base/writer.h"
#include "rmds/rwf.h"
#include "sds.h"
#include "seqdata.h"

/* A write of this much gains little by being larger. */
#define FLUSH_BYTES    16000u

#define AT_DOMAIN      3
#define AT_STREAM      4

#define HEADER_MIN     8u /* an update's header is never shorter, nor twice as long */
#define TIME_FIELD_MAX 11u
/* Of a Marketfeed record: what stands around the fields, and how much longer than RWF they are: a
 * price of one byte of mantissa takes five bytes there, and at most 25 as text. */
#define RECORD_HEAD_MAX 300u
#define RECORD_GROWTH   6u

/*
 * Messages are built by copying: a header encoded once, then the payload. What changes is the
 * domain, the stream id, with the time one field more, and with the convention the values.
 */
struct emitter {
    struct sds *sds;
    struct watch *pending; /* the next one to get `message`; NULL: none is under way */
    size_t length;
    size_t header_length;
    uint8_t header[64];
    size_t type_at; /* of the update type within the header */
    size_t seq_at;  /* of the sequence number; 0: there is none */
    uint8_t message[MESSAGE_MAX];
    uint8_t fields[MESSAGE_MAX]; /* what becomes a Marketfeed record */
};

int emitter_create(struct sds *sds, struct emitter **out)
{
    struct emitter *emitter = calloc(1, sizeof(*emitter));
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = 1,
        .container = RWF_TYPE_FIELD_LIST,
        .update_type = 0xfa, /* to be found again */
        .flags = sds->options.seqnum ? RWF_UPDATE_HAS_SEQ_NUM : 0,
    };
    struct rwf_layout layout;

    if (sds->marketfeed)
        msg.container = MF_CONTAINER;

    *out = emitter;
    if (!emitter)
        return MD_ERR_NOMEM;
    emitter->sds = sds;
    rwf_encoder_init(&enc, emitter->header, sizeof(emitter->header));
    rwf_msg_encode(&enc, &msg);
    emitter->header_length = rwf_encoder_bytes(&enc).length;
    emitter->type_at = AT_STREAM + 4;
    while (emitter->type_at < emitter->header_length && emitter->header[emitter->type_at] != 0xfa)
        emitter->type_at++;
    if (rwf_layout_decode(rwf_encoder_bytes(&enc), &layout) == RWF_OK)
        emitter->seq_at = layout.seq_num.at;
    return MD_OK;
}

void emitter_destroy(struct emitter *emitter)
{
    free(emitter);
}

void emitter_forget(struct emitter *emitter, const struct watch *watch)
{
    if (emitter && emitter->pending == watch)
        emitter->pending = watch->next;
}

/* One field more, at the end: the time in microseconds, as long as it has to be. */
static size_t add_time(uint8_t *payload, size_t length, uint64_t us)
{
    unsigned bytes = us ? (71u - (unsigned)__builtin_clzll(us)) / 8 : 1;
    uint16_t count = (uint16_t)((payload[1] << 8 | payload[2]) + 1);

    md_put_be16(payload + 1, count);
    md_put_be16(payload + length, SEQDATA_FID_TIME);
    payload[length + 2] = (uint8_t)bytes;
    for (unsigned i = 0; i < bytes; i++)
        payload[length + 3 + i] = (uint8_t)(us >> (8 * (bytes - 1 - i)));
    return length + 3 + bytes;
}

static bool is_built_in(const struct item *item)
{
    return !item->sample || item->sample->update_count == 0;
}

/* As long as the item's next message may be. */
static size_t length_max(const struct emitter *emitter, const struct item *item, bool is_stamped)
{
    size_t payload =
        is_built_in(item) ? SEQDATA_UPDATE_BYTES : item->sample->updates[item->step].length;

    payload += is_stamped ? TIME_FIELD_MAX : 0;
    if (emitter->sds->marketfeed)
        payload = RECORD_HEAD_MAX + payload * RECORD_GROWTH;
    return emitter->header_length + payload;
}

/* The payload of the item's next update. */
static size_t build_payload(struct emitter *emitter, struct item *item, uint8_t *payload,
                            uint8_t *type)
{
    item->count++;
    if (is_built_in(item)) {
        seqdata_update(item->hash, item->count, payload);
        *type = RWF_UPDATE_QUOTE;
        return SEQDATA_UPDATE_BYTES;
    }
    const struct sample_update *update = &item->sample->updates[item->step];
    if (++item->step == item->sample->update_count) {
        item->step = 0;
        item->is_silent = !emitter->sds->options.loop;
    }
    memcpy(payload, update->payload, update->length);
    *type = update->type;
    return update->length;
}

/* The record of emitter->fields; it may be as long as is reserved for it. */
static size_t put_record(struct emitter *emitter, const struct item *item, size_t length,
                         uint8_t *out)
{
    const struct mf_head head = { .update_type = RWF_UPDATE_UNSPECIFIED };
    size_t room = RECORD_HEAD_MAX + length * RECORD_GROWTH;

    return sds_record(emitter->sds, item, &head, rwf_bytes(emitter->fields, length), out,
                      room < MESSAGE_MAX - sizeof(emitter->header)
                          ? room
                          : MESSAGE_MAX - sizeof(emitter->header))
        .length;
}

static size_t build(struct emitter *emitter, struct item *item, bool is_stamped, uint64_t due_ns,
                    uint8_t *message)
{
    size_t head = emitter->header_length;
    uint64_t stamp_ns = 0;

    /* The published method: just before the encode. */
    if (is_stamped)
        stamp_ns = emitter->sds->options.due ? due_ns : md_clock_mono_ns();
    memcpy(message, emitter->header, HEADER_MIN); /* both ends of it: they overlap */
    memcpy(message + head - HEADER_MIN, emitter->header + head - HEADER_MIN, HEADER_MIN);
    message[AT_DOMAIN] = item->domain;
    bool is_record = emitter->sds->marketfeed != NULL;
    uint8_t *payload = is_record ? emitter->fields : message + head;
    size_t length = build_payload(emitter, item, payload, message + emitter->type_at);
    if (emitter->seq_at)
        md_put_be32(message + emitter->seq_at, item->count);
    if (is_stamped) {
        length = add_time(payload, length, stamp_ns / MD_NS_PER_US);
        emitter->sds->stats.stamped++;
    }
    emitter->sds->stats.updates++;
    return head + (is_record ? put_record(emitter, item, length, message + head) : length);
}

static bool is_leaving(const struct client *client)
{
    return !client->outq || rssl_outq_message_max(client->outq) == 0;
}

/* NULL: its queue is as full as updates may make it. What is beyond that is for answers, which a
 * publisher that cannot keep its rate would never find room for. */
static uint8_t *reserve_now(struct client *client, size_t length)
{
    if (!rssl_outq_fits_frame(client->outq, length) &&
        rssl_outq_depth(client->outq) >= SDS_UPDATE_BUFFERS)
        return NULL;
    return rssl_outq_reserve(client->outq, length);
}

static uint8_t *reserve(struct client *client, size_t length)
{
    uint8_t *room = reserve_now(client, length);

    if (room)
        return room;
    client->unflushed = 0;
    return link_flush(client->link) == MD_OK ? reserve_now(client, length) : NULL;
}

static void commit(struct emitter *emitter, const struct watch *watch, uint8_t *room, size_t length)
{
    struct client *client = watch->client;

    md_put_be32(room + AT_STREAM, (uint32_t)watch->stream_id);
    md_trace_tick(MD_TRACE_MADE, room, length);
    rssl_outq_commit(client->outq, length);
    emitter->sds->stats.messages++;
    emitter->sds->stats.bytes += length;
    client->unflushed += length;
    if (client->unflushed >= FLUSH_BYTES) {
        client->unflushed = 0;
        (void)link_flush(client->link);
        (void)sched_yield(); /* whoever shares this CPU can begin with it */
    }
}

/* False: its queue is full. */
static bool deliver(struct emitter *emitter, struct watch *watch)
{
    bool is_told = watch->is_told;

    watch->is_told = false;
    if (is_told || is_leaving(watch->client))
        return true;
    uint8_t *room = reserve(watch->client, emitter->length);
    if (!room)
        return false;
    memcpy(room, emitter->message, emitter->length);
    commit(emitter, watch, room, emitter->length);
    return true;
}

/* Built where it goes out from: to copy what was just put together byte by byte means to wait
 * for those bytes. False: there is no room, nothing has happened. */
static bool build_in_place(struct emitter *emitter, struct item *item, bool is_stamped,
                           uint64_t due_ns)
{
    const struct watch *watch = item->watches;

    if (!watch || is_leaving(watch->client))
        return false;
    uint8_t *room = reserve(watch->client, length_max(emitter, item, is_stamped));
    if (!room)
        return false;
    size_t length = build(emitter, item, is_stamped, due_ns, room);
    if (watch->next) {
        memcpy(emitter->message, room, length);
        emitter->length = length;
    }
    emitter->pending = watch->next;
    commit(emitter, watch, room, length);
    return true;
}

/* The faults that tests of a checker ask for: lose one in n, send one in n twice. */
static unsigned copies(struct emitter *emitter)
{
    struct sds *sds = emitter->sds;

    if (sds->options.drop_every && sds->stats.updates % sds->options.drop_every == 0) {
        sds->stats.dropped++;
        return 0;
    }
    if (sds->options.duplicate_every && sds->stats.updates % sds->options.duplicate_every == 0) {
        sds->stats.duplicated++;
        return 2;
    }
    return 1;
}

static bool has_faults(const struct sds_options *options)
{
    return options->drop_every || options->duplicate_every;
}

bool emitter_update(struct emitter *emitter, struct item *item, bool is_stamped, uint64_t due_ns)
{
    if (emitter->pending)
        return emitter_resume(emitter);
    if (item->is_silent)
        return true;
    if (!has_faults(&emitter->sds->options) && build_in_place(emitter, item, is_stamped, due_ns))
        return emitter_resume(emitter);
    emitter->length = build(emitter, item, is_stamped, due_ns, emitter->message);
    unsigned n = copies(emitter);
    if (n == 0)
        return true;
    if (n == 2 && item->watches)
        (void)deliver(emitter, item->watches);
    emitter->pending = item->watches;
    return emitter_resume(emitter);
}

void emitter_told(struct emitter *emitter, struct watch *watch)
{
    const struct watch *left = emitter->pending;

    while (left && left != watch)
        left = left->next;
    watch->is_told = left != NULL;
}

bool emitter_resume(struct emitter *emitter)
{
    while (emitter->pending) {
        if (!deliver(emitter, emitter->pending))
            return false;
        emitter->pending = emitter->pending->next;
    }
    return true;
}
