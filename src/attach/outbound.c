/* outbound.c - a user's own ring towards the daemon; see attach/shm.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/shm.h"
#include "base/err.h"

size_t attach_outbound_map_bytes(uint32_t size)
{
    return sizeof(struct attach_outbound_map) + size;
}

int attach_outbound_create(uint32_t size, int *fd, struct attach_outbound_map **out)
{
    *fd = -1;
    *out = NULL;
    if (size < 65536 || size > 1u << 30 || (size & (size - 1)) != 0)
        return MD_ERR_RANGE;
    int memory = memfd_create("rrcpd-outbound", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0)
        return MD_ERR_SYS;
    size_t bytes = attach_outbound_map_bytes(size);
    /* Sealed in size: a user that cut it short would otherwise kill the daemon (SIGBUS). */
    if (ftruncate(memory, (off_t)bytes) != 0 ||
        fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        goto fail;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (map == MAP_FAILED)
        goto fail;
    struct attach_outbound_map *ring = map;
    ring->magic = ATTACH_OUTBOUND_MAGIC;
    ring->size = size;
    *fd = memory;
    *out = ring;
    return 0;

fail:
    close(memory);
    return MD_ERR_SYS;
}

/* ---- the daemon's side ---------------------------------------------------------------------- */

void attach_outbound_reader_init(struct attach_outbound_reader *reader,
                                 struct attach_outbound_map *map, uint32_t size)
{
    *reader = (struct attach_outbound_reader){ .map = map, .size = size };
}

bool attach_outbound_waiting(struct attach_outbound_reader *reader)
{
    return reader->head != reader->tail ||
           (!reader->is_final &&
            atomic_load_explicit(&reader->map->head, memory_order_acquire) != reader->tail);
}

/* Fields are read once each, so that what was checked is what is used. */
static struct attach_outbound_record read_once(const uint8_t *at)
{
    const volatile uint64_t *words = (const volatile uint64_t *)(const volatile void *)at;
    uint64_t copy[3] = { words[0], words[1], words[2] };
    struct attach_outbound_record record;

    memcpy(&record, copy, sizeof(record));
    return record;
}

/* Look for more; false: nothing, or *err says that head is a lie. */
static bool look(struct attach_outbound_reader *reader, int *err)
{
    *err = 0;
    if (reader->head != reader->tail)
        return true;
    if (reader->is_final)
        return false;
    uint64_t head = atomic_load_explicit(&reader->map->head, memory_order_acquire);
    if (head - reader->tail > reader->size || (head & 7) != 0) {
        *err = MD_ERR_MALFORMED;
        return false;
    }
    reader->head = head;
    return head != reader->tail;
}

int attach_outbound_end(struct attach_outbound_reader *reader)
{
    uint64_t head = atomic_load_explicit(&reader->map->head, memory_order_acquire);

    if (head - reader->tail > reader->size || (head & 7) != 0)
        return MD_ERR_MALFORMED;
    reader->head = head;
    reader->is_final = true;
    return 0;
}

/* The record at `at`, which has `limit` bytes at most, becomes a message. */
static int read_record(struct attach_outbound_reader *reader, const uint8_t *at, uint32_t limit,
                       const struct attach_outbound_record *record, struct rrcp_msg *out)
{
    uint32_t length = record->length - (uint32_t)sizeof(*record);

    if (record->length < sizeof(*record) || record->length > limit ||
        ((record->length + 7u) & ~7u) > limit)
        return MD_ERR_MALFORMED;
    *out = (struct rrcp_msg){ .bytes = at + sizeof(*record), .length = length };
    reader->record_bytes = (record->length + 7u) & ~7u;
    if (record->type == ATTACH_OUTBOUND_SEND) {
        out->topic = record->topic;
        out->session = record->dst_session;
        out->port = record->dst_port;
        if (record->flags & ATTACH_OUTBOUND_UNICAST)
            out->flags = RRCP_MSG_UNICAST;
        return ATTACH_PEEK_MESSAGE;
    }
    reader->wants_all = record->flags & ATTACH_OUTBOUND_EVERYTHING;
    bool is_want = record->type == ATTACH_OUTBOUND_WANT && length % sizeof(uint32_t) == 0 &&
                   length <= BACKBONE_TOPICS_MAX * sizeof(uint32_t);
    return is_want && !(reader->wants_all && length > 0) ? ATTACH_PEEK_WANT : MD_ERR_MALFORMED;
}

int attach_outbound_peek(struct attach_outbound_reader *reader, struct rrcp_msg *out)
{
    int err;

    while (look(reader, &err)) {
        uint32_t offset = (uint32_t)reader->tail & (reader->size - 1);
        const uint8_t *at = reader->map->data + offset;
        uint64_t left = reader->head - reader->tail;
        uint32_t to_end = reader->size - offset;

        if (to_end < sizeof(struct attach_outbound_record)) {
            /* A stub too short for a header: it is skipped like a PAD. */
            if (left < to_end)
                return MD_ERR_MALFORMED;
            reader->tail += to_end;
            continue;
        }
        if (left < sizeof(struct attach_outbound_record))
            return MD_ERR_MALFORMED;
        struct attach_outbound_record record = read_once(at);
        uint32_t limit = left < to_end ? (uint32_t)left : to_end;

        if (record.type == ATTACH_OUTBOUND_PAD) {
            if (record.length != to_end || left < to_end)
                return MD_ERR_MALFORMED;
            reader->tail += to_end;
            continue;
        }
        return read_record(reader, at, limit, &record, out);
    }
    return err;
}

/* The length is known from the message peeked; it is not read again from shared memory. */
void attach_outbound_take(struct attach_outbound_reader *reader)
{
    reader->tail += reader->record_bytes;
}

void attach_outbound_release(struct attach_outbound_reader *reader)
{
    atomic_store_explicit(&reader->map->tail, reader->tail, memory_order_release);
}

bool attach_outbound_wake(struct attach_outbound_reader *reader)
{
    _Atomic uint32_t *flag = &reader->map->producer_waits;

    attach_fence(
        memory_order_seq_cst); /* our tail before its flag, as it writes flag before tail */
    if (atomic_load_explicit(flag, memory_order_relaxed) == 0)
        return false;
    uint64_t head = atomic_load_explicit(&reader->map->head, memory_order_relaxed);
    return head - reader->tail <= reader->size / 2 &&
           atomic_exchange_explicit(flag, 0, memory_order_relaxed) != 0;
}

/* ---- the attach socket ---------------------------------------------------------------------- */

int attach_request_check(const void *bytes, size_t length, struct attach_request *out)
{
    if (length != sizeof(*out))
        return MD_ERR_MALFORMED;
    memcpy(out, bytes, sizeof(*out));
    if (out->magic != ATTACH_PROTOCOL_MAGIC || out->version != ATTACH_SHM_VERSION ||
        (out->kind != ATTACH_REQUEST_ATTACH && out->kind != ATTACH_REQUEST_DETACH))
        return MD_ERR_MALFORMED;
    out->name[ATTACH_NAME_MAX - 1] = '\0';
    return 0;
}

int attach_socket_path(char *out, size_t size, const char *run_dir, const char *network,
                       const char *instance)
{
    int length = snprintf(out, size, "%s/rrcpd.%s.%s/attach", run_dir, network, instance);

    return length < 0 || (size_t)length >= size ? MD_ERR_RANGE : 0;
}
