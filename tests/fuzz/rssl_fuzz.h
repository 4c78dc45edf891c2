/* rssl_fuzz.h - a channel fed with anything, whole and in pieces: both must tell the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_FUZZ_H
#define RSSL_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "rssl/channel.h"

/*
 * Input: u8 settings, u8 seed of the pieces, then the stream.
 *   settings  bit 0..1 compression, bit 2 a good handshake comes first, bit 3 small frames
 */
#define FUZZ_MESSAGE_MAX 70000u

struct outcome {
    uint64_t messages;
    uint64_t pings;
    uint64_t sum;
    enum rssl_reason reason;
};

static void fuzz_drain(struct rssl_channel *ch, struct outcome *outcome, size_t batch)
{
    struct rssl_event events[16];
    size_t n;

    while ((n = rssl_channel_events(ch, events, batch)) > 0) {
        for (size_t i = 0; i < n; i++) {
            outcome->pings += events[i].kind == RSSL_EVENT_PING;
            if (events[i].kind == RSSL_EVENT_CLOSED)
                outcome->reason = rssl_channel_reason(ch);
            if (events[i].kind != RSSL_EVENT_MESSAGE)
                continue;
            MD_ASSERT(events[i].length > 0 && events[i].length <= FUZZ_MESSAGE_MAX);
            outcome->messages++;
            for (uint32_t k = 0; k < events[i].length; k++)
                outcome->sum = outcome->sum * 31 + events[i].bytes[k];
        }
    }
}

/* A piece in memory of exactly its size. */
static void fuzz_give(struct rssl_channel *ch, const uint8_t *bytes, size_t length,
                      struct outcome *outcome, size_t batch)
{
    uint8_t *copy = malloc(length ? length : 1);

    MD_ASSERT(copy);
    if (length)
        memcpy(copy, bytes, length);
    rssl_channel_input(ch, 1, copy, length);
    fuzz_drain(ch, outcome, batch);
    free(copy);
}

/* Send away what waits, some of it at a time. */
static void fuzz_flush(struct rssl_channel *ch)
{
    struct md_slice slices[4];
    size_t n;

    while ((n = rssl_channel_output(ch, slices, 4)) > 0)
        rssl_channel_sent(ch, 1, (slices[0].length + 1) / 2);
}

static struct outcome fuzz_run(enum rssl_role role, const uint8_t *opening, size_t opening_length,
                               const uint8_t *data, size_t size, uint64_t seed)
{
    struct rssl_config config = rssl_config_default(role);
    struct outcome outcome = { 0 };
    struct rssl_channel *ch;
    struct rssl_pool *pool;
    bool whole = seed == 0;

    config.compression_bits = data[0] & 3;
    config.message_size_max = data[0] & 8 ? 50 : 6144;
    config.message_max = FUZZ_MESSAGE_MAX;
    MD_ASSERT(rssl_pool_create(NULL, &pool) == MD_OK);
    MD_ASSERT(rssl_channel_create(&config, pool, 0, &ch) == MD_OK);
    rssl_channel_start(ch, 0);
    if (data[0] & 4)
        fuzz_give(ch, opening, opening_length, &outcome, 16);
    for (size_t at = 2; at < size;) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        size_t n = whole ? size - at : 1 + (size_t)(seed >> 33) % (seed >> 63 ? 7 : 700);
        if (n > size - at)
            n = size - at;
        fuzz_give(ch, data + at, n, &outcome, whole ? 16 : 1 + n % 3);
        (void)rssl_outq_write(rssl_channel_outq(ch), data, n % 4000 + 1 < size ? n % 4000 + 1 : 1);
        fuzz_flush(ch);
        at += n;
    }
    rssl_channel_input_end(ch, false);
    fuzz_drain(ch, &outcome, 16);
    MD_ASSERT(rssl_channel_state(ch) == RSSL_STATE_CLOSED);
    rssl_channel_destroy(ch);
    rssl_pool_destroy(pool);
    return outcome;
}

static void fuzz_both(enum rssl_role role, const uint8_t *opening, size_t opening_length,
                      const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    struct outcome a = fuzz_run(role, opening, opening_length, data, size, 0);
    struct outcome b = fuzz_run(role, opening, opening_length, data, size, data[1] + 1u);
    MD_ASSERT(a.messages == b.messages && a.pings == b.pings && a.sum == b.sum);
    MD_ASSERT(a.reason == b.reason);
}

#endif
