/* reader.c - a user's side of the broadcast ring: copy, check, and know what was missed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "backbone/topic.h"
#include "base/cpu.h"
#include "base/err.h"
#include "internal.h"
#include "racy.h"

/*
 * A batch is copied record by record into private memory; then, before anything is given to the
 * caller, the writer's `claimed` is read. If the writer had come around to where the batch began,
 * all of it is thrown away and the reader was lapped: it takes a consistent copy of the session
 * table, begins anew at the position that belongs to it, and says per session what it missed.
 * Lengths read meanwhile may be nonsense; they are kept within the ring, that is enough.
 */
enum { COPY_BYTES = 256 * 1024, READ_LAPPED = -1, SNAPSHOT_TRIES = 1000 };

/* ---- per-session tracks --------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t session)
{
    return (uint32_t)((session * 0x9e3779b97f4a7c15ull) >> 52) % TRACK_SLOTS;
}

static uint32_t track_find(const struct inbound_reader *reader, uint64_t session)
{
    for (uint32_t s = slot_of(session); reader->slots[s]; s = (s + 1) % TRACK_SLOTS)
        if (reader->tracks[reader->slots[s] - 1].session == session)
            return reader->slots[s] - 1u;
    return ATTACH_SESSION_MAX;
}

static void tracks_index(struct inbound_reader *reader)
{
    memset(reader->slots, 0, sizeof(reader->slots));
    for (uint32_t i = 0; i < reader->track_count; i++) {
        uint32_t s = slot_of(reader->tracks[i].session);

        while (reader->slots[s])
            s = (s + 1) % TRACK_SLOTS;
        reader->slots[s] = (uint16_t)(i + 1);
    }
}

static void track_add(struct inbound_reader *reader, uint64_t session)
{
    if (track_find(reader, session) != ATTACH_SESSION_MAX ||
        reader->track_count == ATTACH_SESSION_MAX)
        return;
    reader->tracks[reader->track_count++] = (struct track){ .session = session };
    tracks_index(reader);
}

static void track_remove(struct inbound_reader *reader, uint64_t session)
{
    uint32_t at = track_find(reader, session);

    if (at == ATTACH_SESSION_MAX)
        return;
    reader->tracks[at] = reader->tracks[--reader->track_count];
    tracks_index(reader);
}

/* False: no room to note it; the batch must end before this record. */
static bool touch(struct inbound_reader *reader, const struct backbone_event *message)
{
    uint32_t last = reader->touched_count - 1;

    if (reader->touched_count == 0 ||
        reader->tracks[reader->touched[last].track].session != message->session) {
        uint32_t track = track_find(reader, message->session);

        if (track == ATTACH_SESSION_MAX)
            return true; /* not in the table either */
        if (reader->touched_count == TOUCHED_MAX)
            return false;
        last = reader->touched_count++;
        reader->touched[last].track = track;
        reader->touched[last].messages = 0;
        reader->touched[last].last_seq = 0;
    }
    reader->touched[last].messages++;
    if (!(message->flags & BACKBONE_FLAG_UNICAST))
        reader->touched[last].last_seq = message->seq;
    return true;
}

static void touched_keep(struct inbound_reader *reader)
{
    for (uint32_t i = 0; i < reader->touched_count; i++) {
        struct track *track = &reader->tracks[reader->touched[i].track];

        track->messages += reader->touched[i].messages;
        if (reader->touched[i].last_seq)
            track->last_seq = reader->touched[i].last_seq;
    }
    reader->touched_count = 0;
}

/* ---- what was missed ------------------------------------------------------------------------ */

void inbound_pend(struct inbound_reader *reader, struct backbone_event event)
{
    uint32_t at = reader->pending_first + reader->pending_count;

    if (at < PENDING_MAX) {
        reader->pending[at] = event;
        reader->pending_count++;
    }
}

static int take_pending(struct inbound_reader *reader, struct backbone_event events[], int max)
{
    int count = 0;

    while (count < max && reader->pending_count > 0) {
        events[count++] = reader->pending[reader->pending_first++];
        reader->pending_count--;
    }
    if (reader->pending_count == 0)
        reader->pending_first = 0;
    return count;
}

/*
 * Copies the table and the position it belongs to. The writer changes it for a moment only, but it
 * may be killed in that moment: False: no consistent copy was to be had, try again later.
 */
static bool snapshot(struct inbound_reader *reader, uint32_t *count, uint64_t *position)
{
    const struct attach_inbound_map *map = reader->map;

    for (int tries = 0; tries < SNAPSHOT_TRIES; tries++) {
        uint64_t before = atomic_load_explicit(&map->table_version, memory_order_acquire);

        *count = atomic_load_explicit(&map->table_count, memory_order_relaxed);
        if (before & 1) {
            md_cpu_relax();
            continue;
        }
        if (*count > ATTACH_SESSION_MAX)
            *count = ATTACH_SESSION_MAX;
        racy_load(reader->rows, map->rows, *count * sizeof(map->rows[0]));
        *position = atomic_load_explicit(&map->table_position, memory_order_relaxed);
        attach_fence(memory_order_acquire);
        if (atomic_load_explicit(&map->table_version, memory_order_relaxed) == before)
            return true;
    }
    return false;
}

static void pend_peer_up(struct inbound_reader *reader, const struct attach_session_row *row)
{
    uint32_t length = row->name_length <= ATTACH_NAME_MAX ? row->name_length : 0;

    inbound_pend(reader, (struct backbone_event){ .type = BACKBONE_PEER_UP,
                                                  .session = row->session,
                                                  .bytes = (const uint8_t *)row->name,
                                                  .length = length });
}

static void compare_row(struct inbound_reader *reader, const struct attach_session_row *row)
{
    uint32_t at = track_find(reader, row->session);

    if (at == ATTACH_SESSION_MAX) {
        track_add(reader, row->session);
        at = track_find(reader, row->session);
        if (at == ATTACH_SESSION_MAX)
            return;
        if (!row->is_self)
            pend_peer_up(reader, row);
    } else if (reader->tracks[at].messages != row->messages) {
        inbound_pend(reader, (struct backbone_event){ .type = BACKBONE_GAP,
                                                      .reason = BACKBONE_GAP_OVERRUN,
                                                      .session = row->session,
                                                      .seq = reader->tracks[at].last_seq,
                                                      .last = row->last_seq,
                                                      .count = row->messages -
                                                               reader->tracks[at].messages });
    }
    reader->tracks[at].messages = row->messages;
    reader->tracks[at].last_seq = row->last_seq;
    reader->tracks[at].is_self = row->is_self != 0;
    reader->tracks[at].is_seen = true;
}

/*
 * Begins anew at the table's position and queues an event for all that lies between. False: the
 * table could not be copied now. The reader then stays without a place until a later call.
 */
static bool catch_up(struct inbound_reader *reader)
{
    uint64_t position;
    uint32_t count;

    reader->has_place = snapshot(reader, &count, &position);
    if (!reader->has_place)
        return false;
    for (uint32_t i = 0; i < reader->track_count; i++)
        reader->tracks[i].is_seen = false;
    for (uint32_t i = 0; i < count; i++)
        if (reader->rows[i].session)
            compare_row(reader, &reader->rows[i]);
    for (uint32_t i = 0; i < reader->track_count;) {
        if (reader->tracks[i].is_seen) {
            i++;
            continue;
        }
        inbound_pend(reader, (struct backbone_event){ .type = BACKBONE_PEER_DOWN,
                                                      .reason = BACKBONE_DOWN_TIMEOUT,
                                                      .session = reader->tracks[i].session });
        track_remove(reader, reader->tracks[i].session);
    }
    reader->cursor = position;
    return true;
}

static void lapped(struct inbound_reader *reader)
{
    uint64_t written = atomic_load_explicit(&reader->map->written, memory_order_acquire);
    uint64_t skipped = written - reader->cursor;

    reader->touched_count = 0;
    reader->counters->overruns++;
    reader->counters->overrun_bytes += skipped;
    inbound_pend(reader, (struct backbone_event){ .type = BACKBONE_OVERRUN, .count = skipped });
    (void)catch_up(reader);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Fields of a record that the writer may change meanwhile, read once; `whole` is its length in the
 * ring. */
struct head {
    const struct attach_record *record;
    uint32_t length; /* the one that was checked */
    uint16_t type;
};

/* The record at `position`: its length in the ring with padding, or READ_LAPPED if it is torn. */
static int64_t record_at(const struct inbound_reader *reader, uint64_t position, uint64_t limit,
                         struct head *out)
{
    uint64_t offset = position & (reader->size - 1);
    uint64_t to_end = reader->size - offset;
    const struct attach_record *record = (const void *)(reader->data + offset);

    *out = (struct head){ .record = record,
                          .length = __atomic_load_n(&record->length, __ATOMIC_RELAXED),
                          .type = __atomic_load_n(&record->type, __ATOMIC_RELAXED) };
    if (out->type == ATTACH_RECORD_PAD)
        return out->length == to_end && to_end <= limit ? (int64_t)to_end : READ_LAPPED;
    uint64_t whole = ((uint64_t)out->length + 7) & ~7ull;
    if (out->length < sizeof(*record) || whole > to_end || whole > limit)
        return READ_LAPPED;
    return (int64_t)whole;
}

static bool is_whole(const struct inbound_reader *reader, uint64_t begin)
{
    attach_fence(memory_order_acquire);
    uint64_t claimed = atomic_load_explicit(&reader->map->claimed, memory_order_relaxed);
    return claimed - begin <= reader->size || claimed < begin;
}

static bool is_wanted(const struct inbound_reader *reader, const struct backbone_event *event)
{
    if (event->dst_port != 0 && event->dst_port != reader->port)
        return false;
    if (reader->skips_topics && backbone_topic_is(event->bytes, event->length))
        return false;
    return !reader->want || reader->want(reader->want_argument, event);
}

/* Each field is loaded once; nothing of it is acted on before the record is known to be whole. */
static void event_of_message(const struct head *head, struct backbone_event *out)
{
    const struct attach_record *record = head->record;

    *out =
        (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                 .flags =
                                     (uint8_t)__atomic_load_n(&record->flags, __ATOMIC_RELAXED),
                                 .src_port = __atomic_load_n(&record->src_port, __ATOMIC_RELAXED),
                                 .dst_port = __atomic_load_n(&record->dst_port, __ATOMIC_RELAXED),
                                 .topic = __atomic_load_n(&record->topic, __ATOMIC_RELAXED),
                                 .length = head->length - (uint32_t)sizeof(*record),
                                 .bytes = (const uint8_t *)(record + 1),
                                 .session = __atomic_load_n(&record->session, __ATOMIC_RELAXED),
                                 .seq = __atomic_load_n(&record->seq, __ATOMIC_RELAXED),
                                 .rx_ns = __atomic_load_n(&record->rx_ns, __ATOMIC_RELAXED) };
}

/* A record that is not a message, alone in its batch. 1: an event for the caller. */
static int other_event(struct inbound_reader *reader, const struct attach_record *record,
                       const uint8_t *payload, struct backbone_event *out)
{
    struct attach_record_gap gap;
    uint32_t length = record->length - (uint32_t)sizeof(*record);

    *out = (struct backbone_event){ .session = record->session,
                                    .rx_ns = record->rx_ns,
                                    .reason = (uint8_t)record->flags };
    switch (record->type) {
    case ATTACH_RECORD_GAP:
        if (length < sizeof(gap))
            return 0;
        memcpy(&gap, payload, sizeof(gap));
        out->type = BACKBONE_GAP;
        out->flags = (uint8_t)record->flags;
        out->reason = (uint8_t)gap.reason;
        out->seq = gap.first;
        out->last = gap.last;
        out->count = gap.count;
        return 1;
    case ATTACH_RECORD_PEER_UP:
    case ATTACH_RECORD_PEER_INFO:
        out->type = record->type == ATTACH_RECORD_PEER_UP ? BACKBONE_PEER_UP : BACKBONE_PEER_INFO;
        out->bytes = payload;
        out->length = length;
        if (out->type == BACKBONE_PEER_UP)
            track_add(reader, record->session);
        return 1;
    case ATTACH_RECORD_PEER_DOWN:
        out->type = BACKBONE_PEER_DOWN;
        track_remove(reader, record->session);
        return 1;
    case ATTACH_RECORD_USER_DOWN:
        out->type = BACKBONE_USER_DOWN;
        out->src_port = record->src_port;
        return 1;
    case ATTACH_RECORD_TX_DROPPED:
        out->type = BACKBONE_TX_DROPPED;
        out->count = record->seq;
        return record->dst_port == reader->port;
    case ATTACH_RECORD_DENIED:
        out->type = BACKBONE_DENIED;
        out->count = record->seq;
        out->bytes = payload;
        out->length = length;
        return record->dst_port == reader->port;
    default:
        return 0; /* of a newer daemon */
    }
}

static int read_other(struct inbound_reader *reader, const struct head *head, int64_t whole,
                      struct backbone_event *out)
{
    uint64_t begin = reader->cursor;
    struct attach_record record;
    uint32_t length = head->length - (uint32_t)sizeof(record);

    if (length > reader->copy_size)
        return READ_LAPPED;
    racy_load(&record, head->record, sizeof(record));
    racy_load(reader->copy, head->record + 1, length);
    if (!is_whole(reader, begin))
        return READ_LAPPED;
    record.length = head->length; /* the values that were checked */
    record.type = head->type;
    reader->cursor = begin + (uint64_t)whole;
    return other_event(reader, &record, reader->copy, out);
}

/*
 * Messages from the cursor on, until `max`, the end, or something that is not a message. Sets
 * *other when the next record is of that kind.
 */
static int read_messages(struct inbound_reader *reader, uint64_t written,
                         struct backbone_event events[], int max, bool *other)
{
    uint64_t position = reader->cursor;
    size_t used = 0;
    int count = 0;
    uint64_t skipped = 0;

    *other = false;
    while (position != written && count < max) {
        struct head head;
        int64_t whole = record_at(reader, position, written - position, &head);

        if (whole == READ_LAPPED)
            return READ_LAPPED;
        if (head.type != ATTACH_RECORD_PAD) {
            struct backbone_event *event = &events[count];

            if (head.type != ATTACH_RECORD_MSG) {
                *other = true;
                break;
            }
            event_of_message(&head, event);
            if (used + event->length > reader->copy_size || !touch(reader, event))
                break;
            if (is_wanted(reader, event)) {
                racy_load(reader->copy + used, event->bytes, event->length);
                event->bytes = reader->copy + used;
                used += (event->length + 7u) & ~7u;
                count++;
            } else {
                skipped++;
            }
        }
        position += (uint64_t)whole;
    }
    if (!is_whole(reader, reader->cursor))
        return READ_LAPPED;
    reader->cursor = position;
    touched_keep(reader);
    reader->counters->messages_received += (uint64_t)count;
    reader->counters->bytes_received += used;
    reader->counters->messages_skipped += skipped;
    return count;
}

int inbound_read(struct inbound_reader *reader, struct backbone_event events[], int max)
{
    for (;;) {
        bool other;

        if (reader->pending_count > 0)
            return take_pending(reader, events, max);
        reader->counters->behind = 0;
        if (!reader->map || (!reader->has_place && !catch_up(reader)))
            return 0;
        if (reader->pending_count > 0)
            continue;
        uint64_t written = atomic_load_explicit(&reader->map->written, memory_order_acquire);
        reader->counters->behind = written - reader->cursor;
        if (written == reader->cursor)
            return 0;
        if (written - reader->cursor > reader->lag_max) {
            lapped(reader);
            continue;
        }
        uint64_t begin = reader->cursor;
        int count = read_messages(reader, written, events, max, &other);
        if (count > 0)
            return count;
        if (count == 0 && other) {
            struct head head;
            int64_t whole = record_at(reader, reader->cursor, written - reader->cursor, &head);

            count = whole == READ_LAPPED ? READ_LAPPED : read_other(reader, &head, whole, events);
            if (count > 0)
                return count;
        }
        if (count == READ_LAPPED || reader->cursor == begin)
            lapped(reader);
    }
}

/* Without a place: the daemon wakes who sleeps after it has made the table even again. */
bool inbound_has_more(const struct inbound_reader *reader)
{
    if (reader->pending_count > 0)
        return true;
    if (!reader->map)
        return false;
    if (!reader->has_place)
        return (atomic_load_explicit(&reader->map->table_version, memory_order_acquire) & 1) == 0;
    return atomic_load_explicit(&reader->map->written, memory_order_acquire) != reader->cursor;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

int inbound_start(struct inbound_reader *reader, const struct attach_inbound_map *map,
                  uint16_t port)
{
    size_t need = COPY_BYTES + map->message_max + 64;

    if (reader->copy_size < need) {
        uint8_t *copy = realloc(reader->copy, need);

        if (!copy)
            return MD_ERR_NOMEM;
        reader->copy = copy;
        reader->copy_size = need;
    }
    reader->map = map;
    reader->data = (const uint8_t *)map + map->data_offset;
    reader->size = map->size;
    reader->lag_max = map->lag_max;
    reader->counters->behind_max = map->lag_max;
    reader->message_max = map->message_max;
    reader->port = port;
    reader->track_count = 0;
    reader->touched_count = 0;
    memset(reader->slots, 0, sizeof(reader->slots));
    (void)catch_up(reader);
    return 0;
}

void inbound_stop(struct inbound_reader *reader)
{
    reader->map = NULL;
    reader->track_count = 0;
    reader->touched_count = 0;
    reader->pending_first = reader->pending_count = 0;
    memset(reader->slots, 0, sizeof(reader->slots));
}

void inbound_fini(struct inbound_reader *reader)
{
    free(reader->copy);
    reader->copy = NULL;
    reader->copy_size = 0;
}
