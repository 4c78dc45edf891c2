/* test_rssl_vectors.c - recorded sessions of real peers, cut at every byte, read by the channel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/err.h"
#include "rssl/channel.h"

#define CLIENT_SIDE 0 /* bytes the connecting side sent, read by a server channel */
#define SERVER_SIDE 1
#define CUTS_ALONE  2000
#define CUTS_APART  509
#define MESSAGE_MAX 256

struct message {
    uint32_t length;
    uint32_t crc;
};

struct stream {
    uint8_t *bytes;
    size_t length;
    struct message wanted[MESSAGE_MAX];
    size_t wanted_count;
};

/* One TCP connection of a recording. */
struct connection {
    struct stream side[2];
    bool answered; /* the server did more than close */
    uint8_t request[16];
    uint8_t ack[20];
};

struct recording {
    struct connection connections[6];
    size_t count;
};

static void append(struct stream *stream, const char *hex)
{
    size_t length = strlen(hex) / 2;

    stream->bytes = realloc(stream->bytes, stream->length + length + 1);
    assert_non_null(stream->bytes);
    for (size_t i = 0; i < length; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], 0 };
        stream->bytes[stream->length++] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static void expect(struct stream *stream, const char *comment)
{
    for (const char *at = comment; (at = strstr(at, "message len=")) != NULL; at += 12) {
        unsigned length, crc;
        assert_int_equal(sscanf(at, "message len=%u crc32=%x", &length, &crc), 2);
        assert_true(stream->wanted_count < MESSAGE_MAX);
        stream->wanted[stream->wanted_count++] = (struct message){ length, crc };
    }
}

static void read_recording(const char *name, struct recording *recording)
{
    static char line[200000], comment[200000];
    char path[512];

    memset(recording, 0, sizeof(*recording));
    snprintf(path, sizeof(path), RMDS_SOURCE_DIR "/tests/vectors/rssl/%s.hex", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    comment[0] = '\0';
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '#') {
            memcpy(comment, line, strlen(line) + 1);
            if (strstr(line, "connection request, version"))
                recording->count++;
            continue;
        }
        if (line[0] != 'C' && line[0] != 'S')
            continue;
        struct connection *connection = &recording->connections[recording->count - 1];
        struct stream *stream = &connection->side[line[0] == 'S'];
        bool is_first = stream->length == 0;
        append(stream, line + 2);
        if (is_first && line[0] == 'C')
            memcpy(connection->request, stream->bytes, sizeof(connection->request));
        if (is_first && line[0] == 'S') {
            connection->answered = true;
            memcpy(connection->ack, stream->bytes, sizeof(connection->ack));
        }
        expect(stream, comment);
        comment[0] = '\0';
    }
    fclose(file);
}

static void free_recording(struct recording *recording)
{
    for (size_t i = 0; i < recording->count; i++) {
        free(recording->connections[i].side[0].bytes);
        free(recording->connections[i].side[1].bytes);
    }
}

/* A channel as the recorded reader was set up. */
static struct rssl_channel *reader_of(const struct connection *connection, int side,
                                      struct rssl_pool *pool)
{
    bool is_client = side == SERVER_SIDE;
    struct rssl_config config =
        rssl_config_default(is_client ? RSSL_ROLE_CLIENT : RSSL_ROLE_SERVER);
    struct rssl_channel *ch;

    if (is_client) {
        config.version = (enum rssl_version)md_be32(connection->request + 3);
        config.key_exchange = (connection->request[7] & 8) != 0;
    } else if (connection->answered && connection->ack[3] == 1) {
        uint16_t compression = md_be16(connection->ack + 16);
        config.message_size_max = md_be16(connection->ack + 10);
        config.compression_bits = (uint8_t)(compression ? 1u << (compression - 1) : 0);
        config.compression_forced = (connection->ack[2] & 0x80) != 0;
    }
    assert_int_equal(rssl_channel_create(&config, pool, 0, &ch), MD_OK);
    if (is_client)
        rssl_channel_start(ch, 0);
    return ch;
}

/* What a reader told, as numbers to compare. */
struct outcome {
    size_t message_count;
    size_t ping_count;
    bool opened;
    enum rssl_reason reason;
    struct message messages[MESSAGE_MAX];
};

static void drain(struct rssl_channel *ch, struct outcome *outcome, size_t batch)
{
    struct rssl_event events[64];
    size_t n;

    while ((n = rssl_channel_events(ch, events, batch)) > 0) {
        for (size_t i = 0; i < n; i++) {
            switch (events[i].kind) {
            case RSSL_EVENT_OPENED:
                outcome->opened = true;
                break;
            case RSSL_EVENT_MESSAGE:
                assert_true(outcome->message_count < MESSAGE_MAX);
                outcome->messages[outcome->message_count++] =
                    (struct message){ events[i].length,
                                      (uint32_t)crc32(0, events[i].bytes, events[i].length) };
                break;
            case RSSL_EVENT_PING:
                outcome->ping_count++;
                break;
            case RSSL_EVENT_CLOSED:
                outcome->reason = rssl_channel_reason(ch);
                break;
            }
        }
    }
}

/* Give the stream in pieces, each from memory of its exact size. */
static void feed(struct rssl_channel *ch, const uint8_t *bytes, size_t length,
                 struct outcome *outcome, size_t batch)
{
    uint8_t *copy = malloc(length ? length : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, length);
    rssl_channel_input(ch, 1, copy, length);
    drain(ch, outcome, batch);
    free(copy);
}

static void assert_wanted(const struct stream *stream, const struct outcome *outcome)
{
    assert_int_equal(outcome->message_count, stream->wanted_count);
    assert_memory_equal(outcome->messages, stream->wanted,
                        stream->wanted_count * sizeof(stream->wanted[0]));
}

typedef size_t (*piece_fn)(size_t at, size_t left, void *user);

static struct outcome replay(const struct connection *connection, int side, piece_fn piece,
                             void *user, size_t batch)
{
    struct outcome outcome = { 0 };
    const struct stream *stream = &connection->side[side];
    struct rssl_pool *pool;

    assert_int_equal(rssl_pool_create(NULL, &pool), MD_OK);
    struct rssl_channel *ch = reader_of(connection, side, pool);
    for (size_t at = 0; at < stream->length;) {
        size_t n = piece(at, stream->length - at, user);
        feed(ch, stream->bytes + at, n, &outcome, batch);
        at += n;
    }
    rssl_channel_input_end(ch, false);
    drain(ch, &outcome, batch);
    rssl_channel_destroy(ch);
    rssl_pool_destroy(pool);
    return outcome;
}

static size_t all_at_once(size_t at, size_t left, void *user)
{
    (void)at;
    (void)user;
    return left;
}

static size_t byte_by_byte(size_t at, size_t left, void *user)
{
    (void)at;
    (void)left;
    (void)user;
    return 1;
}

static size_t cut_once(size_t at, size_t left, void *user)
{
    size_t cut = *(size_t *)user;
    return at < cut ? cut - at : left;
}

/* At each place that is CUTS_APART or a multiple of it behind the first one. */
static size_t cut_often(size_t at, size_t left, void *user)
{
    size_t first = *(size_t *)user;
    size_t next = (CUTS_APART + first - at % CUTS_APART) % CUTS_APART;

    next = next > 0 ? next : CUTS_APART;
    return next < left ? next : left;
}

static size_t random_pieces(size_t at, size_t left, void *user)
{
    uint64_t *seed = user;

    (void)at;
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    size_t n = 1 + (size_t)(*seed >> 33) % (*seed >> 62 ? 40 : 8000);
    return n < left ? n : left;
}

static const char *const names[] = {
    "01-plain",       "02-fragment-small", "03-fragment-6144", "04-zlib-level6",
    "05-zlib-level0", "06-zlib-split",     "07-lz4",           "08-zlib-forced",
    "09-nak",         "10-fallback-13",    "11-fallback-12",   "12-fallback-11",
    "20-ema-plain",   "21-ema-zlib-pings", "22-ema-lz4",       "23-ema-login-reject",
};

typedef void (*check_fn)(const struct connection *connection, int side);

static void for_each_stream(check_fn check)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static struct recording recording;
        read_recording(names[i], &recording);
        assert_true(recording.count > 0);
        for (size_t c = 0; c < recording.count; c++) {
            check(&recording.connections[c], CLIENT_SIDE);
            check(&recording.connections[c], SERVER_SIDE);
        }
        free_recording(&recording);
    }
}

static void check_whole(const struct connection *connection, int side)
{
    struct outcome outcome = replay(connection, side, all_at_once, NULL, 64);
    bool was_acked = connection->answered && connection->ack[3] == 1;

    assert_wanted(&connection->side[side], &outcome);
    if (was_acked) {
        assert_true(outcome.opened);
        assert_int_equal(outcome.reason, RSSL_REASON_PEER_CLOSED);
    } else if (connection->answered && side == SERVER_SIDE) {
        assert_int_equal(outcome.reason, RSSL_REASON_REFUSED);
    }
}

static void check_pieces(const struct connection *connection, int side)
{
    struct outcome whole = replay(connection, side, all_at_once, NULL, 64);
    struct outcome bytes = replay(connection, side, byte_by_byte, NULL, 1);
    uint64_t seed = 7;

    assert_memory_equal(&whole, &bytes, sizeof(whole));
    for (int i = 0; i < 200; i++) {
        struct outcome random = replay(connection, side, random_pieces, &seed, 1 + (size_t)i % 7);
        assert_memory_equal(&whole, &random, sizeof(whole));
    }
}

/* Alone in the first bytes, where streams differ most; further on with others far from it. */
static void check_every_cut(const struct connection *connection, int side)
{
    struct outcome whole = replay(connection, side, all_at_once, NULL, 64);
    size_t length = connection->side[side].length;

    for (size_t first = 0; length > CUTS_ALONE && first < CUTS_APART; first++) {
        struct outcome outcome = replay(connection, side, cut_often, &first, 64);
        assert_memory_equal(&whole, &outcome, sizeof(whole));
    }
    for (size_t cut = 1; cut < length && cut < CUTS_ALONE; cut++) {
        struct outcome outcome = replay(connection, side, cut_once, &cut, 64);
        assert_memory_equal(&whole, &outcome, sizeof(whole));
    }
}

static void every_recording_delivers_the_recorded_messages(void **state)
{
    (void)state;
    for_each_stream(check_whole);
}

static void pieces_of_any_size_deliver_the_same(void **state)
{
    (void)state;
    for_each_stream(check_pieces);
}

static void a_cut_at_any_byte_delivers_the_same(void **state)
{
    (void)state;
    for_each_stream(check_every_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recording_delivers_the_recorded_messages),
        cmocka_unit_test(pieces_of_any_size_deliver_the_same),
        cmocka_unit_test(a_cut_at_any_byte_delivers_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
