/* test_rssl_channel.c - negotiation, time, and what hostile peers send. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl_pair.h"

#include <zlib.h>

#include "base/writer.h"
#include "rssl/handshake.h"

static const enum rssl_version versions[] = { RSSL_VERSION_11, RSSL_VERSION_12, RSSL_VERSION_13,
                                              RSSL_VERSION_14 };

static void every_version_opens_both_ends_with_the_same_terms(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4 * 2 * 3; i++) {
        struct pair *pair = pair_create();
        static const uint8_t kinds[] = { 0, RSSL_COMPRESSION_BIT_ZLIB, RSSL_COMPRESSION_BIT_LZ4 };
        pair->client_config.version = versions[i % 4];
        pair->client_config.key_exchange = i / 4 % 2;
        pair->client_config.compression_bits = pair->server_config.compression_bits = kinds[i / 8];
        pair_connect(pair, S);
        assert_true(pair->client.opened);
        /* Without a key the server waits for the client's first word. */
        bool has_key = versions[i % 4] == RSSL_VERSION_14 && pair->client_config.key_exchange;
        assert_int_equal(pair->server.opened, has_key);
        assert_int_equal(rssl_outq_write(rssl_channel_outq(pair->client.ch), "hi", 2), MD_OK);
        pump(&pair->client, &pair->server, S);
        assert_true(pair->server.opened);
        assert_int_equal(pair->server.messages, 1);
        const struct rssl_info *a = rssl_channel_info(pair->client.ch);
        const struct rssl_info *b = rssl_channel_info(pair->server.ch);
        assert_int_equal(a->version, versions[i % 4]);
        assert_int_equal(a->version, b->version);
        assert_int_equal(a->compression, b->compression);
        assert_int_equal(a->compression, i / 8);
        assert_int_equal(a->message_size_max, b->message_size_max);
        assert_int_equal(a->ping_timeout_s, b->ping_timeout_s);
        if (versions[i % 4] >= RSSL_VERSION_13)
            assert_string_equal(a->component, "openrmds " RMDS_VERSION);
        pair_destroy(pair);
    }
}

static void the_ping_timeout_granted_lies_within_the_servers_limits(void **state)
{
    static const uint8_t cases[][2] = { { 0, 20 }, { 5, 20 }, { 20, 20 }, { 30, 30 }, { 255, 60 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pair *pair = pair_create();
        pair->client_config.ping_timeout_s = cases[i][0] ? cases[i][0] : 1;
        pair_connect(pair, S);
        assert_int_equal(rssl_channel_info(pair->client.ch)->ping_timeout_s, cases[i][1]);
        pair_destroy(pair);
    }
}

static void the_older_data_format_of_both_is_taken(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    pair->client_config.rwf_major = 13;
    pair->client_config.rwf_minor = 7;
    pair_connect(pair, S);
    assert_int_equal(rssl_channel_info(pair->client.ch)->rwf_major, 13);
    assert_int_equal(rssl_channel_info(pair->server.ch)->rwf_major, 13);
    assert_int_equal(rssl_channel_info(pair->server.ch)->rwf_minor, 7);
    pair_destroy(pair);
}

static void compression_needs_both_unless_it_is_forced(void **state)
{
    (void)state;
    for (int forced = 0; forced < 2; forced++) {
        struct pair *pair = pair_create();
        pair->server_config.compression_bits = RSSL_COMPRESSION_BIT_LZ4;
        pair->server_config.compression_forced = forced != 0;
        pair_connect(pair, S);
        assert_int_equal(rssl_channel_info(pair->client.ch)->compression,
                         forced ? RSSL_COMPRESSION_LZ4 : RSSL_COMPRESSION_NONE);
        pair_destroy(pair);
    }
}

static void a_refused_client_learns_the_reason_and_does_not_fall_back(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    assert_int_equal(rssl_channel_create(&pair->client_config, pair->pool, 0, &pair->client.ch), 0);
    assert_int_equal(rssl_channel_create(&pair->server_config, pair->pool, 0, &pair->server.ch), 0);
    rssl_channel_refuse(pair->server.ch, "Maximum number of mounts reached");
    rssl_channel_start(pair->client.ch, 0);
    pump(&pair->client, &pair->server, 0);
    assert_true(pair->client.closed && pair->server.closed);
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_REFUSED_BY_US);
    assert_true(rssl_channel_is_finished(pair->server.ch));
    assert_int_equal(rssl_channel_reason(pair->client.ch), RSSL_REASON_REFUSED);
    assert_string_equal(rssl_channel_reason_detail(pair->client.ch),
                        "Maximum number of mounts reached");
    assert_int_equal(rssl_channel_older_version(pair->client.ch), 0);
    pair_destroy(pair);
}

static void a_server_hangs_up_on_a_newer_version_and_the_client_takes_the_one_before(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    pair->server_config.version = RSSL_VERSION_12;
    pair_connect(pair, 0);
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_BAD_VERSION);
    assert_true(rssl_channel_is_finished(pair->server.ch)); /* without a byte */
    rssl_channel_input_end(pair->client.ch, false);
    end_events(&pair->client);
    assert_true(pair->client.closed);
    assert_int_equal(rssl_channel_older_version(pair->client.ch), RSSL_VERSION_13);
    pair_destroy(pair);
}

static void nothing_can_be_queued_before_the_channel_is_open(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    assert_int_equal(rssl_channel_create(&pair->server_config, pair->pool, 0, &pair->server.ch), 0);
    struct rssl_outq *q = rssl_channel_outq(pair->server.ch);
    assert_null(rssl_outq_reserve(q, 1));
    assert_int_equal(rssl_outq_write(q, "x", 1), MD_ERR_STATE);
    rssl_channel_close(pair->server.ch);
    assert_null(rssl_outq_reserve(q, 1));
    pair_destroy(pair);
}

static void a_handshake_that_takes_too_long_is_ended(void **state)
{
    struct pair *pair = pair_create();
    struct end *ends[] = { &pair->client, &pair->server };

    (void)state;
    pair->client_config.handshake_timeout_ns = pair->server_config.handshake_timeout_ns = 5 * S;
    assert_int_equal(rssl_channel_create(&pair->client_config, pair->pool, S, &pair->client.ch), 0);
    assert_int_equal(rssl_channel_create(&pair->server_config, pair->pool, S, &pair->server.ch), 0);
    rssl_channel_start(pair->client.ch, S);
    /* A byte now and then buys no time. */
    end_give(&pair->server, 4 * S, "\0\x32\0", 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rssl_channel_deadline(ends[i]->ch), 6 * S);
        rssl_channel_tick(ends[i]->ch, 6 * S - 1);
        end_events(ends[i]);
        assert_false(ends[i]->closed);
        rssl_channel_tick(ends[i]->ch, 6 * S);
        end_events(ends[i]);
        assert_true(ends[i]->closed);
        assert_int_equal(rssl_channel_reason(ends[i]->ch), RSSL_REASON_HANDSHAKE_TIMEOUT);
    }
    assert_int_equal(rssl_channel_older_version(pair->client.ch), 0);
    pair_destroy(pair);
}

static void a_ping_is_sent_after_a_third_of_the_timeout_in_silence(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    pair->client_config.ping_timeout_s = 30;
    pair_connect(pair, S);
    assert_int_equal(rssl_channel_deadline(pair->server.ch), 11 * S);
    rssl_channel_tick(pair->server.ch, 11 * S);
    pump(&pair->client, &pair->server, 11 * S);
    assert_int_equal(pair->client.pings, 1);
    /* A message is as good a sign of life. */
    assert_int_equal(rssl_outq_write(rssl_channel_outq(pair->server.ch), "x", 1), MD_OK);
    pump(&pair->client, &pair->server, 20 * S);
    rssl_channel_tick(pair->server.ch, 21 * S);
    pump(&pair->client, &pair->server, 21 * S);
    assert_int_equal(pair->client.pings, 1);
    rssl_channel_tick(pair->server.ch, 30 * S);
    pump(&pair->client, &pair->server, 30 * S);
    assert_int_equal(pair->client.pings, 2);
    pair_destroy(pair);
}

static void a_configured_interval_pings_sooner_but_never_later(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair *pair = pair_create();
        pair->server_config.ping_interval_s = i ? 5 : 200;
        pair_connect(pair, S);
        assert_int_equal(rssl_channel_deadline(pair->server.ch), (i ? 6 : 21) * S);
        pair_destroy(pair);
    }
}

static void a_peer_not_heard_for_the_timeout_is_dropped(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    pair->client_config.ping_timeout_s = 30;
    pair_connect(pair, S);
    end_give(&pair->server, 20 * S, "\0", 1); /* half a length is life enough */
    rssl_channel_tick(pair->server.ch, 50 * S - 1);
    end_events(&pair->server);
    assert_false(pair->server.closed);
    rssl_channel_tick(pair->server.ch, 50 * S);
    end_events(&pair->server);
    assert_true(pair->server.closed);
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_PING_TIMEOUT);
    pair_destroy(pair);
}

static void a_peer_that_need_not_ping_is_not_supervised(void **state)
{
    struct pair *pair = pair_create();

    (void)state;
    pair->server_config.client_pings = false;
    pair->server_config.server_pings = false;
    pair_connect(pair, S);
    assert_true(rssl_channel_deadline(pair->server.ch) == RSSL_NEVER);
    assert_true(rssl_channel_deadline(pair->client.ch) == RSSL_NEVER);
    pair_destroy(pair);
}

static void a_peer_that_takes_nothing_is_dropped(void **state)
{
    struct pair *pair = pair_create();
    struct md_slice slices[4];

    (void)state;
    pair->server_config.stall_timeout_ns = 10 * S;
    pair->server_config.client_pings = false;
    pair_connect(pair, S);
    assert_int_equal(rssl_outq_write(rssl_channel_outq(pair->server.ch), "12345", 5), MD_OK);
    assert_int_equal(rssl_channel_output(pair->server.ch, slices, 4), 1);
    rssl_channel_sent(pair->server.ch, 2 * S, 0);
    rssl_channel_sent(pair->server.ch, 8 * S, 1); /* some progress */
    rssl_channel_sent(pair->server.ch, 15 * S, 0);
    rssl_channel_tick(pair->server.ch, 18 * S - 1);
    end_events(&pair->server);
    assert_false(pair->server.closed);
    rssl_channel_tick(pair->server.ch, 18 * S);
    end_events(&pair->server);
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_STALLED);
    pair_destroy(pair);
}

static void what_is_queued_at_the_close_goes_out_but_not_for_ever(void **state)
{
    struct pair *pair = pair_create();
    struct md_slice slices[4];

    (void)state;
    pair_connect(pair, S);
    assert_int_equal(rssl_outq_write(rssl_channel_outq(pair->server.ch), "12345", 5), MD_OK);
    rssl_channel_close(pair->server.ch);
    end_events(&pair->server);
    assert_true(pair->server.closed);
    assert_false(rssl_channel_is_finished(pair->server.ch));
    assert_int_equal(rssl_channel_output(pair->server.ch, slices, 4), 1);
    assert_int_equal(slices[0].length, 8);
    uint64_t due = rssl_channel_deadline(pair->server.ch);
    assert_true(due < 10 * S);
    rssl_channel_tick(pair->server.ch, due);
    assert_true(rssl_channel_is_finished(pair->server.ch));
    pair_destroy(pair);
}

/* Bytes as hex to a server that waits for a request, and what becomes of them. */
static const struct {
    const char *hex;
    enum rssl_reason reason;
} requests[] = {
    { "474554202f20485454502f312e310d0a", RSSL_REASON_NOT_RSSL },
    { "160301020001000100", RSSL_REASON_NOT_RSSL },
    { "0000", RSSL_REASON_NOT_RSSL },
    { "ffff", RSSL_REASON_NOT_RSSL },
    { "000b000000001700000000", RSSL_REASON_NOT_RSSL },
    { "00320000000018081c003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267",
      RSSL_REASON_BAD_VERSION },
    { "00320000000013081c003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267",
      RSSL_REASON_BAD_VERSION },
    /* header length, component length, host length wrong */
    { "00320000000017081d003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267",
      RSSL_REASON_BAD_REQUEST },
    { "00320000000017081c003c00000e0102766d093132372e302e302e3116146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267",
      RSSL_REASON_BAD_REQUEST },
    { "00320000000017081c003c00000e01ff766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267",
      RSSL_REASON_BAD_REQUEST },
    /* protocol type 2 */
    { "00320000000017081c003c00020e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267",
      RSSL_REASON_REFUSED_BY_US },
    /* CR LF at the end is tolerated, others are not */
    { "00340000000017081c003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "7272670d0a",
      RSSL_REASON_NONE },
    { "00340000000017081c003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "7272670a0d",
      RSSL_REASON_BAD_REQUEST },
    /* the key message: wrong flags, empty */
    { "00320000000017081c003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "727267000c020800000000000000000",
      RSSL_REASON_BAD_KEY },
    { "00320000000017081c003c00000e0102766d093132372e302e302e3115146574616a332e392e312e4c312e616c6c"
      "2e"
      "7272670000",
      RSSL_REASON_BAD_LENGTH },
};

static size_t unhex(const char *hex, uint8_t *bytes)
{
    size_t length = strlen(hex) / 2;

    for (size_t i = 0; i < length; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], 0 };
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return length;
}

static void malformed_openings_end_the_channel_with_the_right_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        for (int pieces = 0; pieces < 2; pieces++) {
            struct pair *pair = pair_create();
            uint8_t bytes[256];
            size_t length = unhex(requests[i].hex, bytes);
            assert_int_equal(
                rssl_channel_create(&pair->server_config, pair->pool, 0, &pair->server.ch), 0);
            for (size_t at = 0; at < length; at += pieces ? 1 : length)
                end_give(&pair->server, 0, bytes + at, pieces ? 1 : length);
            assert_int_equal(rssl_channel_reason(pair->server.ch), requests[i].reason);
            assert_int_equal(pair->server.closed, requests[i].reason != RSSL_REASON_NONE);
            pair_destroy(pair);
        }
    }
}

static void http_is_answered_in_its_own_words(void **state)
{
    struct pair *pair = pair_create();
    uint8_t bytes[256] = { 0 };

    (void)state;
    assert_int_equal(rssl_channel_create(&pair->server_config, pair->pool, 0, &pair->server.ch), 0);
    end_give(&pair->server, 0, "POST / HTTP/1.1\r\n", 17);
    assert_true(pair->server.closed);
    assert_true(end_take(&pair->server, 0, bytes, sizeof(bytes) - 1) > 0);
    assert_memory_equal(bytes, "HTTP/1.1 501 ", 13);
    assert_true(rssl_channel_is_finished(pair->server.ch));
    pair_destroy(pair);
}

/* Acks that a client must not accept, as changes to a good one. */
static void malformed_answers_end_the_channel(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = { { 2, 0 },  { 3, 4 },  { 9, 8 },   { 10, 0 },
                    { 17, 3 }, { 19, 9 }, { 21, 23 }, { 45, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct pair *pair = pair_create();
        uint8_t bytes[RSSL_HANDSHAKE_MAX];
        struct rssl_ack ack = { .protocol_version = 9,
                                .message_size_max = 19,
                                .session_flags = 3,
                                .ping_timeout_s = 60,
                                .rwf_major = 14,
                                .rwf_minor = 1,
                                .has_key_block = true,
                                .key_type = 1,
                                .key_p = 7,
                                .key_g = 5,
                                .key_k = 3,
                                .component = { (const uint8_t *)"me", 2 } };
        if (changes[i].at != 10)
            ack.message_size_max = 6144;
        size_t length = rssl_ack_encode(&ack, RSSL_VERSION_14, bytes);
        bytes[changes[i].at] = changes[i].value;
        assert_int_equal(rssl_channel_create(&pair->client_config, pair->pool, 0, &pair->client.ch),
                         0);
        rssl_channel_start(pair->client.ch, 0);
        end_give(&pair->client, 0, bytes, length);
        if (changes[i].at == 45) /* the component container's length does not matter */
            assert_true(pair->client.opened);
        else
            assert_int_equal(rssl_channel_reason(pair->client.ch), RSSL_REASON_BAD_ACK);
        pair_destroy(pair);
    }
}

/* Frames to an open server (fragments of at most 6144, messages of at most 100000 bytes). */
static const struct {
    const char *name;
    const char *hex;
    enum rssl_reason reason;
    unsigned messages;
    uint8_t compression;
} frames[] = {
    { "length 0", "0000", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "length 1", "0001", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "length 2", "0002", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "one more than agreed", "1804", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "65535", "ffff", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "a message before a bad length", "000402aa0000", RSSL_REASON_BAD_LENGTH, 1, 0 },
    { "ping with no flags", "000300", RSSL_REASON_NONE, 0, 0 },
    { "neither data nor compressed", "000400aa", RSSL_REASON_BAD_OPCODE, 0, 0 },
    { "ack again", "00040101", RSSL_REASON_BAD_OPCODE, 0, 0 },
    { "unknown bits are ignored", "000462aa", RSSL_REASON_NONE, 1, 0 },
    { "compressed without agreement", "000504aabb", RSSL_REASON_BAD_COMPRESSION, 0, 0 },
    { "extended with no flags is ignored", "00050300aa000402bb", RSSL_REASON_NONE, 1, 0 },
    { "extended flags missing", "00040308", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "fragment header cut", "000903080000000a00", RSSL_REASON_BAD_LENGTH, 0, 0 },
    { "fragment of an unknown message", "000703040007aa", RSSL_REASON_NONE, 0, 0 },
    { "more than announced at once", "000c0308000000010001aabb", RSSL_REASON_BAD_FRAGMENT, 0, 0 },
    { "more than announced later", "000b0308000000020001aa000803040001bbcc",
      RSSL_REASON_BAD_FRAGMENT, 0, 0 },
    { "two fragments", "000b0308000000020001aa000703040001bb", RSSL_REASON_NONE, 1, 0 },
    { "all in the first", "000b0308000000010001aa", RSSL_REASON_NONE, 1, 0 },
    { "nothing announced is ignored", "000a0308000000000001", RSSL_REASON_NONE, 0, 0 },
    { "begun anew", "000b0308000000020001aa000b0308000000020001cc000703040001bb", RSSL_REASON_NONE,
      1, 0 },
    { "announced: 1.7 GB", "000b0308656c6c6f0001aa", RSSL_REASON_TOO_BIG, 0, 0 },
    { "announced: one too many", "000b0308000186a10001aa", RSSL_REASON_TOO_BIG, 0, 0 },
    { "packed", "000b120001aa0003bbccdd", RSSL_REASON_NONE, 2, 0 },
    { "packed, ended early", "0009120001aa0000ff", RSSL_REASON_NONE, 1, 0 },
    { "packed, over the end", "0007120001aa00", RSSL_REASON_BAD_PACKING, 1, 0 },
    { "packed, over the end by one", "0009120001aa0002bb", RSSL_REASON_BAD_PACKING, 1, 0 },
    { "packed, huge", "000612ffff00", RSSL_REASON_BAD_PACKING, 0, 0 },
    { "not zlib", "000604aabbcc", RSSL_REASON_BAD_COMPRESSION, 0, RSSL_COMPRESSION_BIT_ZLIB },
    { "not LZ4", "000604ffffff", RSSL_REASON_BAD_COMPRESSION, 0, RSSL_COMPRESSION_BIT_LZ4 },
    { "plain between compressed", "000402aa", RSSL_REASON_NONE, 1, RSSL_COMPRESSION_BIT_ZLIB },
    { "second half with extended flags", "00060caabbcc00070504aabbcc", RSSL_REASON_BAD_COMPRESSION,
      0, RSSL_COMPRESSION_BIT_LZ4 },
};

static void illegal_frames_end_the_channel_and_odd_ones_do_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        for (int pieces = 0; pieces < 2; pieces++) {
            struct pair *pair = pair_create();
            uint8_t bytes[256];
            size_t length = unhex(frames[i].hex, bytes);
            pair->server_config.message_max = 100000;
            pair->server_config.compression_bits = frames[i].compression;
            pair->client_config.compression_bits = frames[i].compression;
            pair_connect(pair, 0);
            for (size_t at = 0; at < length; at += pieces ? 1 : length)
                end_give(&pair->server, 0, bytes + at, pieces ? 1 : length);
            enum rssl_reason reason = rssl_channel_reason(pair->server.ch);
            if (frames[i].reason != reason)
                fail_msg("%s: %s", frames[i].name, rssl_reason_text(reason));
            if (frames[i].messages != pair->server.messages)
                fail_msg("%s: %u messages", frames[i].name, pair->server.messages);
            pair_destroy(pair);
        }
    }
}

static void a_reason_comes_with_what_was_wrong(void **state)
{
    static const struct {
        const char *hex;
        const char *detail;
    } cases[] = {
        { "1804", "length 6148, at most 6147 agreed" },
        { "000b0308000186a10001aa", "message of 100001 bytes, at most 100000" },
        { "000b0308000000020001aa000803040001bbcc", "fragments beyond the 2 bytes announced" },
        { "000400aa", "flags 0, extended 0" },
        { "0007120001aa00", "a packed length runs over the end of its frame, 1 bytes left" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pair *pair = pair_create();
        uint8_t bytes[64];
        pair->server_config.message_max = 100000;
        pair_connect(pair, 0);
        end_give(&pair->server, 0, bytes, unhex(cases[i].hex, bytes));
        assert_string_equal(rssl_channel_reason_detail(pair->server.ch), cases[i].detail);
        pair_destroy(pair);
    }
}

static void a_frame_that_inflates_beyond_a_frame_is_a_bomb(void **state)
{
    /* 7000 zeros, as LZ4: one literal, a match at distance 1 */
    uint8_t frame[64] = { 0, 0, 0x04, 0x1f, 0x00, 0x01, 0x00 };
    size_t length = 7;
    struct pair *pair = pair_create();

    (void)state;
    for (int left = 7000; left >= 0; left -= 255)
        frame[length++] = left >= 255 ? 255 : (uint8_t)left;
    frame[length++] = 0x50;
    length += 5;
    frame[1] = (uint8_t)length;
    pair->server_config.compression_bits = pair->client_config.compression_bits =
        RSSL_COMPRESSION_BIT_LZ4;
    pair_connect(pair, 0);
    end_give(&pair->server, 0, frame, length);
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_BAD_COMPRESSION);
    pair_destroy(pair);
}

static void the_same_as_zlib(void **state)
{
    static uint8_t zeros[7000];
    uint8_t frame[512] = { 0, 0, 0x04 };
    struct pair *pair = pair_create();
    z_stream z = { .next_in = zeros, .next_out = frame + 3, .avail_out = sizeof(frame) - 3 };

    (void)state;
    pair->server_config.compression_bits = pair->client_config.compression_bits =
        RSSL_COMPRESSION_BIT_ZLIB;
    pair_connect(pair, 0);
    assert_int_equal(deflateInit(&z, 9), Z_OK);
    for (int i = 0; i < 2; i++) { /* as much as a frame may hold; then one byte more */
        z.next_in = zeros;
        z.avail_in = 6147u + (unsigned)i;
        z.next_out = frame + 3;
        z.avail_out = sizeof(frame) - 3;
        assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
        size_t length = sizeof(frame) - z.avail_out;
        md_put_be16(frame, (uint16_t)length);
        end_give(&pair->server, 0, frame, length);
        assert_int_equal(pair->server.messages, 1);
    }
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_BAD_COMPRESSION);
    deflateEnd(&z);
    pair_destroy(pair);
}

static void too_many_messages_in_fragments_at_once_are_refused(void **state)
{
    struct pair *pair = pair_create();
    uint8_t frame[] = { 0, 11, 3, 8, 0, 0, 0, 9, 0, 0, 0xaa };

    (void)state;
    pair_connect(pair, 0);
    for (int id = 1; id <= 16; id++) {
        frame[9] = (uint8_t)id;
        end_give(&pair->server, 0, frame, sizeof(frame));
        assert_false(pair->server.closed);
    }
    frame[9] = 17;
    end_give(&pair->server, 0, frame, sizeof(frame));
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_TOO_BIG);
    pair_destroy(pair);
}

static void the_memory_promised_to_fragments_is_bounded(void **state)
{
    struct pair *pair = pair_create();
    uint8_t frame[] = { 0, 11, 3, 8, 0, 0, 0xea, 0x60, 0, 0, 0xaa }; /* 60000 of 100000 */

    (void)state;
    pair->server_config.message_max = 100000;
    pair_connect(pair, 0);
    for (int id = 1; id <= 4; id++) {
        frame[9] = (uint8_t)id;
        end_give(&pair->server, 0, frame, sizeof(frame));
        assert_int_equal(pair->server.closed, id == 4);
    }
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_TOO_BIG);
    pair_destroy(pair);
}

/* One channel may take all that the pool has for messages in the making; the next finds none. */
static void the_memory_of_all_fragments_together_is_bounded(void **state)
{
    struct rssl_pool_config config = { .assembly_bytes = 60000 };
    struct pair *pair = pair_create();
    uint8_t frame[] = { 0, 11, 3, 8, 0, 0, 0xea, 0x60, 0, 1, 0xaa }; /* of 60000 bytes */
    struct rssl_pool_stats stats;

    (void)state;
    rssl_pool_destroy(pair->pool);
    assert_int_equal(rssl_pool_create(&config, &pair->pool), MD_OK);
    pair_connect(pair, 0);
    end_give(&pair->server, 0, frame, sizeof(frame));
    assert_false(pair->server.closed);
    rssl_pool_stats(pair->pool, &stats);
    assert_int_equal(stats.assembly_bytes, 60000);
    frame[9] = 2;
    end_give(&pair->server, 0, frame, sizeof(frame));
    assert_int_equal(rssl_channel_reason(pair->server.ch), RSSL_REASON_NO_MEMORY);
    rssl_pool_stats(pair->pool, &stats);
    assert_int_equal(stats.refused_count, 1);
    pair_destroy(pair);
}

static void random_bytes(uint8_t *bytes, size_t length, uint64_t seed, bool regular)
{
    for (size_t i = 0; i < length; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        bytes[i] = (uint8_t)(regular ? i % 36 + 'A' : seed >> 56);
    }
}

/* Every size up to three frames, each kind of frame, each version, back again. */
static void whatever_is_written_is_read_back(void **state)
{
    static const uint8_t kinds[] = { 0, RSSL_COMPRESSION_BIT_ZLIB, RSSL_COMPRESSION_BIT_LZ4 };
    static const uint16_t limits[] = { 20, 100, 700 };
    static uint8_t message[4096];

    (void)state;
    for (unsigned i = 0; i < 4 * 3 * 3 * 2; i++) {
        struct pair *pair = pair_create();
        uint16_t limit = limits[i / 12 % 3];
        pair->client_config.version = versions[i % 4];
        pair->server_config.message_size_max = limit;
        pair->server_config.packing = i / 36;
        pair->client_config.compression_bits = pair->server_config.compression_bits =
            kinds[i / 4 % 3];
        pair_connect(pair, 0);
        assert_int_equal(rssl_outq_write(rssl_channel_outq(pair->client.ch), "x", 1), MD_OK);
        pump(&pair->client, &pair->server, 0);
        for (size_t length = 1; length <= 3u * limit; length++) {
            random_bytes(message, length, length, length & 1);
            assert_int_equal(rssl_outq_write(rssl_channel_outq(pair->server.ch), message, length),
                             MD_OK);
            pump(&pair->server, &pair->client, 0);
            assert_int_equal(pair->client.messages, length);
            assert_int_equal(pair->client.length, length);
            assert_memory_equal(pair->client.bytes, message, length);
        }
        pair_destroy(pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_opens_both_ends_with_the_same_terms),
        cmocka_unit_test(the_ping_timeout_granted_lies_within_the_servers_limits),
        cmocka_unit_test(the_older_data_format_of_both_is_taken),
        cmocka_unit_test(compression_needs_both_unless_it_is_forced),
        cmocka_unit_test(a_refused_client_learns_the_reason_and_does_not_fall_back),
        cmocka_unit_test(a_server_hangs_up_on_a_newer_version_and_the_client_takes_the_one_before),
        cmocka_unit_test(nothing_can_be_queued_before_the_channel_is_open),
        cmocka_unit_test(a_handshake_that_takes_too_long_is_ended),
        cmocka_unit_test(a_ping_is_sent_after_a_third_of_the_timeout_in_silence),
        cmocka_unit_test(a_configured_interval_pings_sooner_but_never_later),
        cmocka_unit_test(a_peer_not_heard_for_the_timeout_is_dropped),
        cmocka_unit_test(a_peer_that_need_not_ping_is_not_supervised),
        cmocka_unit_test(a_peer_that_takes_nothing_is_dropped),
        cmocka_unit_test(what_is_queued_at_the_close_goes_out_but_not_for_ever),
        cmocka_unit_test(malformed_openings_end_the_channel_with_the_right_reason),
        cmocka_unit_test(http_is_answered_in_its_own_words),
        cmocka_unit_test(malformed_answers_end_the_channel),
        cmocka_unit_test(illegal_frames_end_the_channel_and_odd_ones_do_not),
        cmocka_unit_test(a_reason_comes_with_what_was_wrong),
        cmocka_unit_test(a_frame_that_inflates_beyond_a_frame_is_a_bomb),
        cmocka_unit_test(the_same_as_zlib),
        cmocka_unit_test(too_many_messages_in_fragments_at_once_are_refused),
        cmocka_unit_test(the_memory_promised_to_fragments_is_bounded),
        cmocka_unit_test(the_memory_of_all_fragments_together_is_bounded),
        cmocka_unit_test(whatever_is_written_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
