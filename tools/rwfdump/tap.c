/* tap.c - see tap.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "rssl/channel.h"
#include "rssl/handshake.h"

enum {
    HELD_MAX = 1 << 20, /* bytes of one side kept while the other's handshake is awaited */
    EVENTS = 16,
    FRAME_MAX = 63000,
    ACK_LEAST = 19,
    KEY_BLOCK_LENGTH = 24,
};

struct tap_side {
    struct rssl_channel *channel; /* NULL until the handshake is known */
    uint8_t *held;
    size_t held_length;
    size_t held_room;
    bool is_over;
    bool is_too_much; /* came before the other end's part of the handshake */
};

struct tap {
    struct rssl_pool *pool;
    tap_fn fn;
    void *user;
    struct tap_side side[2];
    int client; /* which side asked; -1: not known */
    uint32_t version;
    bool key_asked;
    uint8_t compression_bits;
    bool is_none_legal; /* of the compressions, when the server's choice is not known */
};

int tap_create(struct rssl_pool *pool, tap_fn fn, void *user, struct tap **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    (*out)->pool = pool;
    (*out)->fn = fn;
    (*out)->user = user;
    (*out)->client = -1;
    return MD_OK;
}

void tap_destroy(struct tap *tap)
{
    if (!tap)
        return;
    for (int i = 0; i < 2; i++) {
        rssl_channel_destroy(tap->side[i].channel);
        free(tap->side[i].held);
    }
    free(tap);
}

static void note(struct tap *tap, int side, const char *sentence)
{
    tap->side[side].is_over = true;
    tap->fn(tap->user, TAP_NOTE, side, (const uint8_t *)sentence, strlen(sentence));
}

static bool hold(struct tap_side *s, const uint8_t *bytes, size_t length)
{
    if (length > HELD_MAX - s->held_length)
        return false;
    if (s->held_length + length > s->held_room) {
        size_t room = (s->held_length + length) * 2;
        uint8_t *bigger = realloc(s->held, room);

        if (!bigger)
            return false;
        s->held = bigger;
        s->held_room = room;
    }
    if (length)
        memcpy(s->held + s->held_length, bytes, length);
    s->held_length += length;
    return true;
}

/* ---- an open direction ---- */

/* What the engine wants to answer goes nowhere. */
static void drop_output(struct rssl_channel *channel)
{
    struct md_slice slices[EVENTS];
    size_t count;

    while ((count = rssl_channel_output(channel, slices, EVENTS)) > 0) {
        size_t length = 0;

        for (size_t i = 0; i < count; i++)
            length += slices[i].length;
        if (length == 0)
            return;
        rssl_channel_sent(channel, 1, length);
    }
}

static const char *why_closed(const struct tap *tap, const struct rssl_channel *channel)
{
    enum rssl_reason reason = rssl_channel_reason(channel);

    if (tap->is_none_legal && reason == RSSL_REASON_BAD_COMPRESSION)
        return "a frame is compressed, and it cannot be told how: it is neither zlib nor LZ4";
    return rssl_reason_text(reason);
}

static void feed(struct tap *tap, int side, const uint8_t *bytes, size_t length)
{
    struct rssl_channel *channel = tap->side[side].channel;
    struct rssl_event events[EVENTS];
    size_t count;

    rssl_channel_input(channel, 1, bytes, length);
    while ((count = rssl_channel_events(channel, events, EVENTS)) > 0) {
        for (size_t i = 0; i < count; i++) {
            if (events[i].kind == RSSL_EVENT_MESSAGE)
                tap->fn(tap->user, TAP_MESSAGE, side, events[i].bytes, events[i].length);
            if (events[i].kind == RSSL_EVENT_PING)
                tap->fn(tap->user, TAP_PING, side, NULL, 0);
            if (events[i].kind == RSSL_EVENT_CLOSED)
                note(tap, side, why_closed(tap, channel));
        }
        drop_output(channel);
    }
    drop_output(channel);
}

static void open_side(struct tap *tap, int side, const struct rssl_config *config)
{
    struct tap_side *s = &tap->side[side];

    if (rssl_channel_create(config, tap->pool, 1, &s->channel) != MD_OK) {
        note(tap, side, "the handshake has values outside their limits");
        return;
    }
    if (config->role == RSSL_ROLE_CLIENT)
        rssl_channel_start(s->channel, 1);
    drop_output(s->channel);
}

static void feed_held(struct tap *tap, int side)
{
    struct tap_side *s = &tap->side[side];

    if (s->held_length && !s->is_over)
        feed(tap, side, s->held, s->held_length);
    s->held_length = 0;
}

/* ---- the handshake ---- */

/* The whole first message of a side, or 0 as long as it is not there. */
static size_t first_message(const struct tap_side *s)
{
    size_t length;

    if (s->held_length < 4)
        return 0;
    length = md_be16(s->held);
    return length >= 4 && length <= s->held_length ? length : 0;
}

static bool find_request(struct tap *tap, int side)
{
    const struct tap_side *s = &tap->side[side];
    struct rssl_request request;
    size_t length = first_message(s);

    if (length == 0 || length > RSSL_HANDSHAKE_MAX || s->held[2] != 0 ||
        rssl_request_decode(s->held, length, &request) != MD_OK)
        return false;
    tap->client = side;
    tap->version = request.version;
    tap->key_asked = request.flags & RSSL_REQUEST_KEY_FLAG;
    tap->compression_bits = request.compression_bits;
    return true;
}

/* The engine that takes the server's place must answer as the real server did. */
static struct rssl_config server_config(const struct rssl_ack *ack)
{
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);

    config.message_size_max = ack->message_size_max;
    config.compression_bits = 0;
    if (ack->compression == RSSL_COMPRESSION_ZLIB)
        config.compression_bits = RSSL_COMPRESSION_BIT_ZLIB;
    if (ack->compression == RSSL_COMPRESSION_LZ4)
        config.compression_bits = RSSL_COMPRESSION_BIT_LZ4;
    config.compression_forced = config.compression_bits != 0;
    return config;
}

static void find_ack(struct tap *tap)
{
    int server = 1 - tap->client;
    const struct tap_side *s = &tap->side[server];
    struct rssl_config config = rssl_config_default(RSSL_ROLE_CLIENT);
    size_t length = first_message(s);
    struct rssl_ack ack;

    if (length == 0)
        return;
    if (s->held[3] == 2) {
        note(tap, server, "the server refused the connection (nak)");
        return;
    }
    if (length > RSSL_HANDSHAKE_MAX ||
        rssl_ack_decode(s->held, length, tap->version, tap->key_asked, &ack) != MD_OK) {
        note(tap, server, "the server's answer is not legal");
        return;
    }
    config.version = (enum rssl_version)tap->version;
    config.key_exchange = tap->key_asked;
    config.compression_bits = tap->compression_bits;
    open_side(tap, server, &config);
    config = server_config(&ack);
    open_side(tap, tap->client, &config);
    feed_held(tap, server);
    feed_held(tap, tap->client);
}

/* ---- without a handshake ---- */

/* The head of a frame, with flags that frames have; the frame may be cut off. */
static bool is_frame(const uint8_t *bytes, size_t length)
{
    return length >= 3 && md_be16(bytes) >= 3 && !(bytes[2] & 0xe0) && (bytes[2] & 0x06);
}

size_t tap_frames(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (is_frame(bytes + at, length - at) && md_be16(bytes + at) <= length - at)
        at += md_be16(bytes + at);
    return at;
}

/* Frames end to end from the start of these bytes on. */
static bool looks_like_frames(const uint8_t *bytes, size_t length)
{
    size_t at = tap_frames(bytes, length);

    return length >= 3 && (length - at < 3 || is_frame(bytes + at, length - at));
}

/* The engine is told that a connection was made, and then hears the frames. */
static void open_without_handshake(struct tap *tap, int side)
{
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);
    const struct rssl_request request = {
        .version = RSSL_VERSION_14,
        .ping_timeout_s = 60,
        .rwf_major = 14,
        .rwf_minor = 1,
    };
    uint8_t bytes[RSSL_HANDSHAKE_MAX];

    config.message_size_max = FRAME_MAX;
    config.compression_bits = 0;
    config.compression_forced = false;
    open_side(tap, side, &config);
    if (tap->side[side].channel)
        feed(tap, side, bytes, rssl_request_encode(&request, bytes));
}

void tap_input(struct tap *tap, int side, const uint8_t *bytes, size_t length, bool from_start)
{
    struct tap_side *s = &tap->side[side];

    if (s->is_over || length == 0)
        return;
    if (s->channel) {
        feed(tap, side, bytes, length);
        return;
    }
    if (!from_start && tap->client < 0) {
        if (!looks_like_frames(bytes, length))
            return; /* another protocol, or the middle of a frame: wait for a better place */
        open_without_handshake(tap, side);
        if (s->channel)
            feed(tap, side, bytes, length);
        return;
    }
    if (!hold(s, bytes, length)) {
        s->is_over = s->is_too_much = true;
        return;
    }
    if (tap->client < 0 && !find_request(tap, side)) {
        if (first_message(s))
            s->is_over = true; /* not RSSL */
        return;
    }
    if (tap->client >= 0 && !tap->side[0].channel)
        find_ack(tap);
}

void tap_gap(struct tap *tap, int side)
{
    struct tap_side *s = &tap->side[side];

    if (s->is_over)
        return;
    tap->fn(tap->user, TAP_NOTE, side, (const uint8_t *)"bytes are missing in the capture", 32);
    s->held_length = 0;
    rssl_channel_destroy(s->channel);
    s->channel = NULL;
    tap->client = -1; /* go on as without a handshake */
}

int tap_finish(struct tap *tap, bool is_rssl)
{
    const struct tap_side *s = tap->side;
    bool has_request = tap->client >= 0;

    if (s[0].channel || s[1].channel || (s[0].held_length == 0 && s[1].held_length == 0))
        return MD_OK;
    if (has_request && (s[0].is_too_much || s[1].is_too_much || (!s[0].is_over && !s[1].is_over)))
        note(tap, tap->client, "the other end's answer to the connection request is missing");
    else if (!has_request && is_rssl)
        note(tap, s[0].held_length == 0, "there is no connection request before it");
    else
        return MD_OK;
    return MD_ERR_MALFORMED;
}

/* ---- one direction alone ---- */

static bool decode_first(const uint8_t *bytes, size_t length, struct rssl_request *request)
{
    size_t first = length >= 4 ? md_be16(bytes) : 0;

    return first >= 4 && first <= length && first <= RSSL_HANDSHAKE_MAX && bytes[2] == 0 &&
           rssl_request_decode(bytes, first, request) == MD_OK;
}

enum tap_start tap_start(const uint8_t *bytes, size_t length)
{
    struct rssl_request request;
    size_t first = length >= 4 ? md_be16(bytes) : 0;
    bool is_answer = first >= 8 && first <= length && first <= RSSL_HANDSHAKE_MAX;

    if (decode_first(bytes, length, &request))
        return TAP_START_REQUEST;
    if (is_answer && (bytes[2] & 0x7f) == 1 && bytes[3] == 1 && bytes[4] == 10 && first > ACK_LEAST)
        return TAP_START_ACK;
    if (is_answer && bytes[2] == 1 && bytes[3] == 2 && bytes[4] == 8)
        return TAP_START_NAK;
    return is_frame(bytes, length) ? TAP_START_FRAMES : TAP_START_UNKNOWN;
}

static void count_messages(void *user, enum tap_event event, int side, const uint8_t *bytes,
                           size_t length)
{
    size_t *count = user;

    (void)side;
    (void)bytes;
    (void)length;
    *count += event == TAP_MESSAGE;
}

/* Whether all the bytes are legal with that compression, and how many messages come of them. */
static bool is_legal_with(const struct tap *tap, const struct rssl_config *config,
                          const uint8_t *bytes, size_t length, size_t *count)
{
    struct tap trial = { .pool = tap->pool, .fn = count_messages, .user = count, .client = -1 };
    struct tap_side *s = &trial.side[0];

    *count = 0;
    open_side(&trial, 0, config);
    if (!s->is_over)
        feed(&trial, 0, bytes, length);
    rssl_channel_destroy(s->channel);
    return !s->is_over;
}

/*
 * What the server chose is not known, and it may even insist on what was not offered: what fits is
 * taken. zlib comes first: its head has a checksum, while much that is not LZ4 expands as such.
 */
static void open_after_request(struct tap *tap, const uint8_t *bytes, size_t length)
{
    static const uint8_t choices[] = { 0, RSSL_COMPRESSION_BIT_ZLIB, RSSL_COMPRESSION_BIT_LZ4 };
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);
    size_t count, most = 0;
    uint8_t best = 0;
    bool is_legal = false;

    config.message_size_max = FRAME_MAX;
    for (size_t i = 0; i < sizeof(choices) && !is_legal; i++) {
        config.compression_bits = choices[i];
        config.compression_forced = choices[i] != 0;
        is_legal = is_legal_with(tap, &config, bytes, length, &count);
        if (is_legal || i == 0 || count > most) {
            best = choices[i];
            most = count;
        }
    }
    config.compression_bits = best;
    config.compression_forced = best != 0;
    tap->is_none_legal = !is_legal && best == 0;
    open_side(tap, 0, &config);
}

/* The ack tells its version; whether a key was asked for shows in what follows its fixed part. */
static void open_after_ack(struct tap *tap, const uint8_t *bytes)
{
    struct rssl_config config = rssl_config_default(RSSL_ROLE_CLIENT);
    size_t length = md_be16(bytes);

    config.version = RSSL_VERSION_14;
    for (uint32_t v = RSSL_VERSION_11; v < RSSL_VERSION_14; v++)
        if (rssl_protocol_version(v) == md_be32(bytes + 6))
            config.version = (enum rssl_version)v;
    config.key_exchange = length >= ACK_LEAST + 3 + KEY_BLOCK_LENGTH && bytes[ACK_LEAST] == 8 &&
                          bytes[ACK_LEAST + 2] == KEY_BLOCK_LENGTH;
    config.compression_bits = RSSL_COMPRESSION_BIT_ZLIB | RSSL_COMPRESSION_BIT_LZ4;
    open_side(tap, 1, &config);
}

/* Whether the lengths lead from message to message up to the end. */
static bool ends_whole(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (length - at >= 3 && md_be16(bytes + at) >= 3 && md_be16(bytes + at) <= length - at)
        at += md_be16(bytes + at);
    return at == length;
}

int tap_whole(struct tap *tap, const uint8_t *bytes, size_t length)
{
    enum tap_start start = tap_start(bytes, length);
    int side = start == TAP_START_ACK || start == TAP_START_NAK;

    if (start == TAP_START_UNKNOWN)
        note(tap, side, "these are not the bytes that one end of an RSSL connection sent");
    else if (start == TAP_START_REQUEST)
        open_after_request(tap, bytes, length);
    else if (start == TAP_START_ACK)
        open_after_ack(tap, bytes);
    else if (start == TAP_START_FRAMES)
        open_without_handshake(tap, side);
    else
        note(tap, side, "the server refused the connection (nak)");
    if (start == TAP_START_NAK)
        return MD_OK;
    if (!tap->side[side].is_over)
        feed(tap, side, bytes, length);
    if (!tap->side[side].is_over && !ends_whole(bytes, length))
        note(tap, side, "the last frame is cut off");
    return tap->side[side].is_over ? MD_ERR_MALFORMED : MD_OK;
}
