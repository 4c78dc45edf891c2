/* rssl_pair.h - two channels joined in memory, with time as a number. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_PAIR_H
#define RSSL_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rssl/channel.h"

#define S 1000000000ull

/* One end: the channel and what it told. */
struct end {
    struct rssl_channel *ch;
    bool opened;
    bool closed;
    unsigned pings;
    unsigned messages;
    size_t length;             /* of the last message */
    uint8_t bytes[256 * 1024]; /* its beginning */
};

static inline void end_events(struct end *end)
{
    struct rssl_event events[8];
    size_t n;

    while ((n = rssl_channel_events(end->ch, events, 8)) > 0) {
        for (size_t i = 0; i < n; i++) {
            assert_false(end->closed); /* CLOSED is the last */
            end->opened |= events[i].kind == RSSL_EVENT_OPENED;
            end->closed |= events[i].kind == RSSL_EVENT_CLOSED;
            end->pings += events[i].kind == RSSL_EVENT_PING;
            if (events[i].kind != RSSL_EVENT_MESSAGE)
                continue;
            assert_true(end->opened);
            end->messages++;
            end->length = events[i].length;
            memcpy(end->bytes, events[i].bytes,
                   end->length < sizeof(end->bytes) ? end->length : sizeof(end->bytes));
        }
    }
}

static inline void end_give(struct end *end, uint64_t now, const void *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);

    assert_non_null(copy);
    if (length)
        memcpy(copy, bytes, length);
    rssl_channel_input(end->ch, now, copy, length);
    end_events(end);
    free(copy);
}

/* All that waits in one channel's queue, as one piece; the length. */
static inline size_t end_take(struct end *end, uint64_t now, uint8_t *bytes, size_t size)
{
    struct md_slice slices[64];
    size_t total = 0, n;

    while ((n = rssl_channel_output(end->ch, slices, 64)) > 0) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            assert_true(total + slices[i].length <= size);
            memcpy(bytes + total, slices[i].bytes, slices[i].length);
            total += slices[i].length;
            sum += slices[i].length;
        }
        rssl_channel_sent(end->ch, now, sum);
    }
    return total;
}

/* Carry over what waits, both ways, until nothing does. */
static inline void pump(struct end *a, struct end *b, uint64_t now)
{
    static uint8_t bytes[8u << 20];
    size_t moved;

    do {
        moved = end_take(a, now, bytes, sizeof(bytes));
        end_give(b, now, bytes, moved);
        size_t back = end_take(b, now, bytes, sizeof(bytes));
        end_give(a, now, bytes, back);
        moved += back;
    } while (moved > 0);
}

struct pair {
    struct rssl_pool *pool;
    struct end client;
    struct end server;
    struct rssl_config client_config;
    struct rssl_config server_config;
};

static inline struct pair *pair_create(void)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    assert_int_equal(rssl_pool_create(NULL, &pair->pool), MD_OK);
    pair->client_config = rssl_config_default(RSSL_ROLE_CLIENT);
    pair->server_config = rssl_config_default(RSSL_ROLE_SERVER);
    return pair;
}

/* Make the channels and let them speak; call it once. */
static inline void pair_connect(struct pair *pair, uint64_t now)
{
    assert_int_equal(rssl_channel_create(&pair->client_config, pair->pool, now, &pair->client.ch),
                     MD_OK);
    assert_int_equal(rssl_channel_create(&pair->server_config, pair->pool, now, &pair->server.ch),
                     MD_OK);
    rssl_channel_start(pair->client.ch, now);
    pump(&pair->client, &pair->server, now);
}

static inline void pair_destroy(struct pair *pair)
{
    struct rssl_pool_stats stats;

    rssl_channel_destroy(pair->client.ch);
    rssl_channel_destroy(pair->server.ch);
    rssl_pool_stats(pair->pool, &stats);
    assert_int_equal(stats.chunk_count, stats.chunk_idle_count);
    assert_int_equal(stats.shared_bytes, 0);
    rssl_pool_destroy(pair->pool);
    free(pair);
}

#endif
