/* inbound.c - the daemon's side of the broadcast ring; see attach/shm.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/shm.h"
#include "base/err.h"
#include "racy.h"
#include "relay/far.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

_Static_assert(RELAY_NODES_MAX < ATTACH_SESSION_MAX, "our own has a row, too");

enum { CLAIM_BYTES = 256 * 1024, DIRTY_MAX = 64, SLOT_COUNT = 4096 };

struct attach_inbound_writer {
    struct attach_inbound_map *map;
    uint8_t *data;
    uint64_t mask;
    uint64_t position;  /* what is put */
    uint64_t published; /* what readers know of */
    uint64_t claimed;
    size_t map_bytes;
    int fd;

    /* Our own copy of the session table; rows that changed since the last publish. */
    struct attach_session_row rows[ATTACH_SESSION_MAX];
    bool is_dirty[ATTACH_SESSION_MAX];
    uint32_t dirty[ATTACH_SESSION_MAX];
    uint32_t dirty_count;
    uint32_t row_count;
    uint32_t row_last;          /* row of the last message: mostly the next one's too */
    uint16_t slots[SLOT_COUNT]; /* open addressing: row + 1 */
};

/* ---- the session table ---------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t session)
{
    return (uint32_t)((session * 0x9e3779b97f4a7c15ull) >> 52) % SLOT_COUNT;
}

static uint32_t row_find(const struct attach_inbound_writer *writer, uint64_t session)
{
    for (uint32_t s = slot_of(session); writer->slots[s]; s = (s + 1) % SLOT_COUNT)
        if (writer->rows[writer->slots[s] - 1].session == session)
            return writer->slots[s] - 1u;
    return ATTACH_SESSION_MAX;
}

static void mark_dirty(struct attach_inbound_writer *writer, uint32_t row)
{
    if (writer->is_dirty[row])
        return;
    writer->is_dirty[row] = true;
    writer->dirty[writer->dirty_count++] = row;
}

static uint32_t row_add(struct attach_inbound_writer *writer, uint64_t session)
{
    uint32_t row = 0;

    while (row < writer->row_count && writer->rows[row].session != 0)
        row++;
    if (row == ATTACH_SESSION_MAX)
        return row; /* maxPeers above 1,099, or near nodes that come when far ones have the rows */
    if (row == writer->row_count)
        writer->row_count++;
    memset(&writer->rows[row], 0, sizeof(writer->rows[row]));
    writer->rows[row].session = session;
    uint32_t s = slot_of(session);
    while (writer->slots[s])
        s = (s + 1) % SLOT_COUNT;
    writer->slots[s] = (uint16_t)(row + 1);
    mark_dirty(writer, row);
    return row;
}

static void row_remove(struct attach_inbound_writer *writer, uint64_t session)
{
    uint32_t row = row_find(writer, session);

    if (row == ATTACH_SESSION_MAX)
        return;
    writer->rows[row].session = 0;
    mark_dirty(writer, row);
    memset(writer->slots, 0, sizeof(writer->slots)); /* rare: fill anew */
    for (uint32_t i = 0; i < writer->row_count; i++) {
        if (!writer->rows[i].session)
            continue;
        uint32_t s = slot_of(writer->rows[i].session);
        while (writer->slots[s])
            s = (s + 1) % SLOT_COUNT;
        writer->slots[s] = (uint16_t)(i + 1);
    }
}

static void row_name(struct attach_inbound_writer *writer, uint64_t session, const uint8_t *name,
                     uint32_t length)
{
    uint32_t row = row_find(writer, session);

    if (row == ATTACH_SESSION_MAX || !name)
        return;
    if (length > ATTACH_NAME_MAX)
        length = ATTACH_NAME_MAX;
    memcpy(writer->rows[row].name, name, length);
    writer->rows[row].name_length = length;
    mark_dirty(writer, row);
}

static void row_message(struct attach_inbound_writer *writer, const struct backbone_event *event)
{
    uint32_t row = writer->row_last;

    if (writer->rows[row].session != event->session) {
        row = row_find(writer, event->session);
        if (row == ATTACH_SESSION_MAX)
            return;
        writer->row_last = row;
    }
    writer->rows[row].messages++;
    if (!(event->flags & BACKBONE_FLAG_UNICAST))
        writer->rows[row].last_seq = event->seq;
    mark_dirty(writer, row);
}

/* ---- making it ------------------------------------------------------------------------------ */

static int map_open(struct attach_inbound_writer *writer,
                    const struct attach_inbound_config *config)
{
    writer->fd = memfd_create("rrcpd-inbound", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (writer->fd < 0)
        return MD_ERR_SYS;
    writer->map_bytes = sizeof(struct attach_inbound_map) + config->size;
    if (ftruncate(writer->fd, (off_t)writer->map_bytes) != 0)
        return MD_ERR_SYS;
    /* All pages now: a fault per page on the first lap would cost more than writing the page. */
    void *map = mmap(NULL, writer->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     writer->fd, 0);
    if (map == MAP_FAILED)
        return MD_ERR_SYS;
    writer->map = map;
    /* After this our mapping stays writable and no other ever is. */
    if (fcntl(writer->fd, F_ADD_SEALS,
              F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return MD_ERR_SYS;
    return 0;
}

int attach_inbound_create(const struct attach_inbound_config *config,
                          struct attach_inbound_writer **out)
{
    *out = NULL;
    if (config->size < 65536 || (config->size & (config->size - 1)) != 0 ||
        config->size / 4 < config->message_max)
        return MD_ERR_RANGE;
    struct attach_inbound_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return MD_ERR_NOMEM;
    writer->fd = -1;
    int err = map_open(writer, config);
    if (err) {
        attach_inbound_destroy(writer);
        return err;
    }
    struct attach_inbound_map *map = writer->map;
    map->version = ATTACH_SHM_VERSION;
    map->data_offset = sizeof(*map);
    map->size = config->size;
    map->lag_max =
        config->lag_max && config->lag_max < config->size ? config->lag_max : config->size;
    map->session = config->session;
    map->message_max = config->message_max;
    map->magic = ATTACH_INBOUND_MAGIC;
    writer->data = (uint8_t *)map + sizeof(*map);
    writer->mask = config->size - 1;
    writer->rows[row_add(writer, config->session)].is_self = 1;
    attach_inbound_publish(writer);
    *out = writer;
    return 0;
}

void attach_inbound_destroy(struct attach_inbound_writer *writer)
{
    if (!writer)
        return;
    if (writer->map)
        munmap(writer->map, writer->map_bytes);
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer);
}

int attach_inbound_fd(const struct attach_inbound_writer *writer)
{
    return writer->fd;
}

uint64_t attach_inbound_position(const struct attach_inbound_writer *writer)
{
    return writer->position;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Bytes up to `end` are about to be overwritten: say so first, some way ahead so that it is rare.
 */
static void claim(struct attach_inbound_writer *writer, uint64_t end)
{
    if (end <= writer->claimed)
        return;
    writer->claimed = end + CLAIM_BYTES / 4;
    atomic_store_explicit(&writer->map->claimed, writer->claimed, memory_order_relaxed);
    attach_fence(memory_order_seq_cst); /* the bytes must not be changed before it is seen */
}

static uint8_t *reserve(struct attach_inbound_writer *writer, uint32_t length)
{
    uint64_t need = (length + 7u) & ~7ull;
    uint64_t offset = writer->position & writer->mask;
    uint64_t size = writer->mask + 1;

    if (offset + need > size) {
        struct attach_record pad = { .length = (uint32_t)(size - offset),
                                     .type = ATTACH_RECORD_PAD };

        claim(writer, writer->position + (size - offset));
        racy_store(writer->data + offset, &pad, 8); /* all that is sure to be there */
        writer->position += size - offset;
        offset = 0;
    }
    claim(writer, writer->position + need);
    writer->position += need;
    return writer->data + offset;
}

static void write_record(struct attach_inbound_writer *writer, struct attach_record *record,
                         const void *payload, uint32_t length)
{
    record->length = (uint32_t)sizeof(*record) + length;
    uint8_t *to = reserve(writer, record->length);

    racy_store(to, record, sizeof(*record));
    if (length)
        racy_store(to + sizeof(*record), payload, length);
}

static uint16_t flags_of(const struct attach_inbound_writer *writer,
                         const struct backbone_event *event)
{
    uint16_t flags = 0;

    if (event->flags & BACKBONE_FLAG_UNICAST)
        flags |= BACKBONE_FLAG_UNICAST;
    if (event->flags & BACKBONE_FLAG_DIRECTED)
        flags |= BACKBONE_FLAG_DIRECTED;
    if (event->session == writer->map->session)
        flags |= BACKBONE_FLAG_LOCAL;
    return flags;
}

static void put_other(struct attach_inbound_writer *writer, const struct backbone_event *event,
                      struct attach_record *record)
{
    struct attach_record_gap gap;

    switch ((enum backbone_event_type)event->type) {
    case BACKBONE_GAP:
        gap = (struct attach_record_gap){
            .first = event->seq, .last = event->last, .count = event->count, .reason = event->reason
        };
        record->flags = flags_of(writer, event);
        write_record(writer, record, &gap, sizeof(gap));
        return;
    case BACKBONE_PEER_UP:
        if (row_find(writer, event->session) == ATTACH_SESSION_MAX)
            row_add(writer, event->session);
        row_name(writer, event->session, event->bytes, event->length);
        break;
    case BACKBONE_PEER_INFO:
        row_name(writer, event->session, event->bytes, event->length);
        break;
    case BACKBONE_PEER_DOWN:
        row_remove(writer, event->session);
        record->flags = event->reason;
        break;
    case BACKBONE_USER_DOWN:
        record->flags = event->reason;
        break;
    case BACKBONE_TX_DROPPED:
    case BACKBONE_DENIED:
        record->seq = event->count;
        break;
    case BACKBONE_MESSAGE:
    case BACKBONE_TX_READY:
    case BACKBONE_OVERRUN:
    case BACKBONE_ATTACHED:
    case BACKBONE_DETACHED:
        return;
    }
    write_record(writer, record, event->bytes, event->bytes ? event->length : 0);
}

/*
 * Fields are stored one by one, in place: a copy of a record just filled would wait for its small
 * stores. They are relaxed atomics because a lapped reader may be loading them (see racy.h).
 */
static void put_message(struct attach_inbound_writer *writer, const struct backbone_event *event)
{
    uint32_t length = (uint32_t)sizeof(struct attach_record) + event->length;
    struct attach_record *record = (void *)reserve(writer, length);

    __atomic_store_n(&record->length, length, __ATOMIC_RELAXED);
    __atomic_store_n(&record->type, ATTACH_RECORD_MSG, __ATOMIC_RELAXED);
    __atomic_store_n(&record->flags, flags_of(writer, event), __ATOMIC_RELAXED);
    __atomic_store_n(&record->session, event->session, __ATOMIC_RELAXED);
    __atomic_store_n(&record->seq, event->seq, __ATOMIC_RELAXED);
    __atomic_store_n(&record->topic, event->topic, __ATOMIC_RELAXED);
    __atomic_store_n(&record->src_port, event->src_port, __ATOMIC_RELAXED);
    __atomic_store_n(&record->dst_port, event->dst_port, __ATOMIC_RELAXED);
    __atomic_store_n(&record->rx_ns, event->rx_ns, __ATOMIC_RELAXED);
    if (event->length)
        racy_store(record + 1, event->bytes, event->length);
}

void attach_inbound_put(struct attach_inbound_writer *writer, const struct backbone_event *event)
{
    if (event->type == BACKBONE_MESSAGE) {
        row_message(writer, event);
        put_message(writer, event);
        return;
    }
    struct attach_record record = { .type = event->type,
                                    .session = event->session,
                                    .seq = event->seq,
                                    .topic = event->topic,
                                    .src_port = event->src_port,
                                    .dst_port = event->dst_port,
                                    .rx_ns = event->rx_ns };
    put_other(writer, event, &record);
}

bool attach_inbound_publish(struct attach_inbound_writer *writer)
{
    struct attach_inbound_map *map = writer->map;
    uint64_t version = atomic_load_explicit(&map->table_version, memory_order_relaxed);

    if (writer->position == writer->published && writer->dirty_count == 0)
        return false;
    atomic_store_explicit(&map->table_version, version + 1, memory_order_relaxed);
    attach_fence(memory_order_release);
    for (uint32_t i = 0; i < writer->dirty_count; i++) {
        uint32_t row = writer->dirty[i];

        racy_store(&map->rows[row], &writer->rows[row], sizeof(map->rows[row]));
        writer->is_dirty[row] = false;
    }
    writer->dirty_count = 0;
    atomic_store_explicit(&map->table_count, writer->row_count, memory_order_relaxed);
    atomic_store_explicit(&map->table_position, writer->position, memory_order_relaxed);
    atomic_store_explicit(&map->written, writer->position, memory_order_release);
    atomic_store_explicit(&map->table_version, version + 2, memory_order_release);
    writer->published = writer->position;
    return true;
}
