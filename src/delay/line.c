/* line.c - see line.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/err.h"

#define CHUNKS_MIN 4096u /* by their age; more by their size */
#define ROOM_SHARE 8u    /* a full line takes again when an eighth of it is free */
#define SEAL_MIN   50000000ull
#define SEAL_MAX   5000000000ull
#define SEAL_SHARE 256u

int delay_line_create(struct delay *d)
{
    uint64_t chunks = CHUNKS_MIN + d->config.bytes_max / d->config.chunk_bytes * 2;
    uint64_t room = 1;

    while (room < chunks)
        room *= 2;
    d->seal_ns = d->config.delay_ns / SEAL_SHARE;
    if (d->seal_ns < SEAL_MIN)
        d->seal_ns = SEAL_MIN < d->config.delay_ns / 4 ? SEAL_MIN : d->config.delay_ns / 4;
    if (d->seal_ns > SEAL_MAX)
        d->seal_ns = SEAL_MAX;
    d->in.gap = 1;
    d->in.size = DELAY_CHUNK_HEAD + 2 * d->config.chunk_bytes +
                 delay_record_size(DELAY_KEY_MAX, d->config.message_max);
    if (room > UINT32_MAX || d->in.size > UINT32_MAX / 2 ||
        d->config.bytes_max < 4 * d->config.chunk_bytes || d->config.bytes_max < 2 * d->in.size)
        return MD_ERR_RANGE;
    d->in.mask = (uint32_t)room - 1;
    d->in.sizes = calloc(room, sizeof(*d->in.sizes));
    d->in.bytes = malloc(d->in.size);
    return d->in.sizes && d->in.bytes ? MD_OK : MD_ERR_NOMEM;
}

void delay_line_destroy(struct delay *d)
{
    free(d->in.sizes);
    free(d->in.bytes);
}

static void lose(struct delay *d, uint64_t now_ns)
{
    d->stats.chunks_lost++;
    delay_line_gap(d, now_ns);
}

void delay_line_seal(struct delay *d, uint64_t now_ns)
{
    uint64_t chunk = d->in.head.number;
    size_t length = d->in.length;

    if (length < DELAY_CHUNK_HEAD || d->in.head.number - d->in.first >= d->in.mask)
        return; /* chunks that are taken out make room for its number */
    delay_chunk_seal(d->in.bytes, length, &d->in.head);
    int err = d->config.disk.write(d->config.disk.context, chunk, d->in.bytes, length);
    *delay_chunk_size(d, chunk) = err == MD_OK ? (uint32_t)length : 0;
    d->stats.bytes_now -= err == MD_OK ? 0 : length;
    d->in.length = 0;
    d->in.ends_in_gap = false;
    d->in.head.number++;
    if (err != MD_OK)
        lose(d, now_ns);
}

uint64_t delay_line_deadline(const struct delay *d)
{
    if (d->in.length == 0 || d->in.head.number - d->in.first >= d->in.mask)
        return UINT64_MAX;
    return d->in.head.mono_ns + d->seal_ns;
}

bool delay_line_is_ripe(const struct delay *d, uint64_t now_ns)
{
    return d->in.length >= d->config.chunk_bytes ||
           (d->in.length > 0 && now_ns - d->in.head.mono_ns >= d->seal_ns);
}

static void append(struct delay *d, uint64_t now_ns, const struct delay_record *record)
{
    struct delay_record own = *record;
    size_t size = delay_record_size(record->key.length, record->message.length);

    if (now_ns > d->in.last_ns)
        d->in.last_ns = now_ns;
    own.mono_ns = d->in.last_ns;
    if (d->in.length == 0) {
        d->in.head.first = d->in.count;
        d->in.head.boot = d->config.boot;
        d->in.head.identity = d->config.identity;
        d->in.head.mono_ns = own.mono_ns;
        d->in.head.wall_ns = own.mono_ns + (uint64_t)d->wall_offset_ns;
        d->in.head.count = 0;
        d->in.length = DELAY_CHUNK_HEAD;
        d->stats.bytes_now += DELAY_CHUNK_HEAD;
    }
    MD_ASSERT(size <= d->in.size - d->in.length);
    struct md_wr wr = md_wr_init(d->in.bytes, d->in.size);
    md_wr_take(&wr, d->in.length);
    delay_record_put(&wr, &own);
    d->in.length += size;
    d->in.head.count++;
    d->in.count++;
    d->in.ends_in_gap = record->kind == DELAY_GAP;
    d->stats.bytes_now += size;
}

void delay_line_gap(struct delay *d, uint64_t now_ns)
{
    const struct delay_record gap = { .kind = DELAY_GAP };

    d->in.gap++;
    d->stats.gaps++;
    d->walk.is_missed = true;
    if (!d->in.ends_in_gap)
        append(d, now_ns, &gap);
}

static bool has_room(const struct delay *d, size_t size)
{
    return d->stats.bytes_now + size <= d->config.bytes_max &&
           d->in.head.number - d->in.first < d->in.mask;
}

static bool is_drained(const struct delay *d)
{
    return d->stats.bytes_now <= d->config.bytes_max - d->config.bytes_max / ROOM_SHARE &&
           d->in.head.number - d->in.first <= d->in.mask - d->in.mask / ROOM_SHARE;
}

bool delay_line_takes(struct delay *d)
{
    if (d->in.is_full && is_drained(d))
        d->in.is_full = false;
    return !d->in.is_full;
}

bool delay_line_add(struct delay *d, uint64_t now_ns, const struct delay_record *record)
{
    size_t size = delay_record_size(record->key.length, record->message.length);

    if (!delay_line_takes(d))
        return false;
    /* Before the record, not behind it: a chunk that cannot be written takes its records along.
     * Half a chunk stays free for a gap, which a line that is full still takes. */
    if (d->in.length >= d->config.chunk_bytes ||
        (d->in.length > 0 && d->in.length + size > d->in.size - d->config.chunk_bytes / 2))
        delay_line_seal(d, now_ns);
    if (!has_room(d, size)) {
        d->in.is_full = true;
        delay_line_gap(d, now_ns);
        return false;
    }
    append(d, now_ns, record);
    d->stats.taken++;
    return true;
}

void delay_line_release(struct delay *d, uint64_t chunk)
{
    for (; d->in.first < chunk && d->in.first < d->in.head.number; d->in.first++) {
        uint32_t *size = delay_chunk_size(d, d->in.first);

        if (*size)
            d->config.disk.remove(d->config.disk.context, d->in.first);
        d->stats.bytes_now -= *size;
        *size = 0;
    }
}
