/* test_rrcp_keys.c - an engine with keys: repetitions, changes of keys, and where packets lie. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"
#include "rrcp_introduce.h"

#define MS      1000000ull
#define SESSION 1001
#define PEER    5000
#define TRAILER 24
#define UDATA   2
#define PIECES  256
#define FORGED  0xff

/* ---- the environment ---------------------------------------------------------------------- */

static struct {
    uint8_t *at;
    size_t bytes;
} pieces[PIECES];

static void *take(void *context, size_t bytes)
{
    uint8_t *at = calloc(1, bytes);

    (void)context;
    for (int i = 0; i < PIECES; i++)
        if (!pieces[i].at) {
            pieces[i].at = at;
            pieces[i].bytes = bytes;
            return at;
        }
    free(at);
    return NULL;
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    for (int i = 0; memory && i < PIECES; i++)
        if (pieces[i].at == memory)
            pieces[i].at = NULL;
    free(memory);
}

static bool lies_in_one_piece(const uint8_t *from, size_t length)
{
    for (int i = 0; i < PIECES; i++)
        if (pieces[i].at && from >= pieces[i].at && from + length <= pieces[i].at + pieces[i].bytes)
            return true;
    return false;
}

/* A cipher that changes no byte. Its tag is the first byte of the key; each tag opens but FORGED.
 */
static bool has_no_memory;

static void *seal_begin(void *context, void *state, const struct rrcp_seal_id *id)
{
    uint8_t *key = state ? state : malloc(1);

    (void)context;
    if (!key || has_no_memory) {
        free(key);
        return NULL;
    }
    *key = id->key->bytes[0];
    return key;
}

static void seal_end(void *context, void *state)
{
    (void)context;
    free(state);
}

static void seal_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, uint8_t tag[RRCP_TAG_BYTES])
{
    (void)counter;
    (void)clear;
    memmove(to, from, length);
    memset(tag, *(const uint8_t *)state, RRCP_TAG_BYTES);
}

static bool open_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, const uint8_t tag[RRCP_TAG_BYTES])
{
    (void)state;
    (void)counter;
    (void)clear;
    if (tag[0] == FORGED)
        return false;
    if (to)
        memcpy(to, from, length);
    return true;
}

static const struct rrcp_seal seal = {
    .begin = seal_begin, .end = seal_end, .seal = seal_packet, .open = open_packet
};

static const struct rrcp_address home = { .length = 3, .host_length = 2, .bytes = { 1, 2, 3 } };
static uint64_t now = 100000 * MS;
static int port;

static struct rrcp *start(bool encrypts, uint32_t headroom)
{
    const struct rrcp_user user = { .receives = true };
    struct rrcp_env env = { .take = take, .give = give, .seed = { 3, 7 }, .seal = &seal };
    struct rrcp_config config;
    struct rrcp *r;

    has_no_memory = false;
    rrcp_config_init(&config);
    config.pool_packets = 1024;
    config.window_packets = 256;
    config.missing_max = 128;
    config.peers_max = 16;
    config.arrivals_max = 16;
    config.headroom_bytes = headroom;
    config.network = "test";
    config.node = "node0";
    config.session = SESSION;
    config.key_count = 1;
    config.keys[0] = (struct rrcp_key){ .id = 1, .bytes = { 11 } };
    config.cipher = RRCP_CIPHER_AES_128_GCM;
    config.encrypts = encrypts;
    assert_int_equal(rrcp_create(&config, &env, &r), MD_OK);
    port = rrcp_user_add(r, &user);
    return r;
}

/* ---- the peer ----------------------------------------------------------------------------- */

static void feed(struct rrcp *r, uint8_t *bytes, uint32_t length, uint64_t counter, bool is_group)
{
    bytes[4] |= 2;
    md_put_be16(bytes + 6, (uint16_t)(length + TRAILER));
    memset(bytes + length, 0, TRAILER);
    bytes[length] = 1;
    bytes[length + 1] = RRCP_CIPHER_AES_128_GCM;
    md_put_be16(bytes + length + 2, (uint16_t)(counter >> 32));
    md_put_be32(bytes + length + 4, (uint32_t)counter);
    introduce_feed(r, now, bytes, length + TRAILER, &home, is_group);
}

static void meet(struct rrcp *r, uint64_t counter)
{
    uint8_t bytes[160];
    uint8_t nonce[8];

    feed(r, bytes, introduce_beacon(bytes, "test", PEER, 1), counter - 1, true);
    assert_true(introduce_asked(r, now, PEER, nonce));
    feed(r, bytes, introduce_echo(r, bytes, nonce), counter, false);
    assert_int_equal(rrcp_counters(r)->peers_now, 1);
}

/* BEACONs in the name of the peer's host, each of another session. */
static void flood(struct rrcp *r, uint64_t count, bool is_group)
{
    uint8_t bytes[160];

    for (uint64_t i = 0; i < count; i++) {
        uint32_t length = introduce_beacon(bytes, "test", 70000 + i, 1);

        bytes[4] = 2;
        md_put_be16(bytes + 6, (uint16_t)(length + TRAILER));
        memset(bytes + length, FORGED, TRAILER);
        bytes[length] = 1;
        bytes[length + 1] = RRCP_CIPHER_AES_128_GCM;
        introduce_feed(r, now, bytes, length + TRAILER, &home, is_group);
    }
}

static void feed_udata(struct rrcp *r, uint64_t useq, uint64_t counter)
{
    static uint8_t packets[4][160]; /* the engine reads them until its events are taken */
    uint8_t *bytes = packets[useq % 4];
    uint32_t at = 52;

    introduce_beacon(bytes, "test", PEER, 1);
    memset(bytes + 24, 0, sizeof(packets[0]) - 24);
    bytes[3] = UDATA;
    md_put_be64(bytes + 24, useq);
    md_put_be64(bytes + 32, SESSION);
    md_put_be16(bytes + at - 4, 1);
    md_put_be16(bytes + at - 2, (uint16_t)at);
    md_put_be16(bytes + at, 4);
    bytes[at + 2] = 0xc0;
    feed(r, bytes, at + 12 + 4, counter, false);
}

static int messages(struct rrcp *r)
{
    struct backbone_event out[16];
    int count = 0;

    for (int n; (n = rrcp_event(r, out, 16)) > 0;)
        for (int i = 0; i < n; i++)
            count += out[i].type == BACKBONE_MESSAGE;
    return count;
}

static void what_a_peer_sent_before_its_proof_is_a_repetition(void **state)
{
    struct rrcp *r = start(false, 0);
    const uint64_t *drops = rrcp_counters(r)->drop;

    (void)state;
    meet(r, 5000);
    assert_int_equal(drops[RRCP_DROP_REPLAY], 0);
    feed_udata(r, 1, 4999);
    feed_udata(r, 1, 4000);
    feed_udata(r, 1, 1);
    assert_int_equal(drops[RRCP_DROP_REPLAY], 3);
    assert_int_equal(messages(r), 0);
    feed_udata(r, 2, 5002);
    feed_udata(r, 1, 5001);
    assert_int_equal(drops[RRCP_DROP_REPLAY], 3);
    assert_int_equal(messages(r), 2);
    feed_udata(r, 3, 5002);
    assert_int_equal(drops[RRCP_DROP_REPLAY], 4);
    rrcp_destroy(r);
}

static void a_flood_by_unicast_does_not_hide_a_host_that_starts(void **state)
{
    struct rrcp *r = start(false, 0);

    (void)state;
    flood(r, 5000, false);
    assert_true(rrcp_counters(r)->keys_refused > 0);
    meet(r, 5000);
    rrcp_destroy(r);
}

static void a_flood_through_the_group_does_not_hide_a_proof(void **state)
{
    struct rrcp *r = start(false, 0);
    uint8_t bytes[160];
    uint8_t nonce[8];

    (void)state;
    feed(r, bytes, introduce_beacon(bytes, "test", PEER, 1), 1, true);
    assert_true(introduce_asked(r, now, PEER, nonce));
    flood(r, 5000, true); /* its key is not kept any more */
    flood(r, 5000, false);
    feed(r, bytes, introduce_echo(r, bytes, nonce), 2, false);
    assert_int_equal(rrcp_counters(r)->peers_now, 1);
    rrcp_destroy(r);
}

/* A datagram may have up to 65,507 bytes, a packet 9,000. */
static void feed_long(struct rrcp *r, uint64_t session, uint32_t length)
{
    uint8_t *bytes = calloc(1, 65536);

    introduce_beacon(bytes, "test", session, 1);
    bytes[3] = 1; /* DATA */
    bytes[4] = 6; /* AUTH, SEALED */
    md_put_be16(bytes + 6, (uint16_t)length);
    bytes[length - TRAILER] = 1;
    bytes[length - TRAILER + 1] = RRCP_CIPHER_AES_128_GCM;
    introduce_feed(r, now, bytes, length, &home, true);
    free(bytes);
}

static void a_packet_longer_than_any_node_sends_is_dropped_before_its_tag_is_read(void **state)
{
    static const uint32_t lengths[] = { 9001, 10240, 20000, 65507, 65535 };
    struct rrcp *r = start(false, 0);
    const uint64_t *drops = rrcp_counters(r)->drop;

    (void)state;
    meet(r, 5000);
    for (uint64_t i = 0; i < 5; i++) {
        feed_long(r, PEER, lengths[i]);
        feed_long(r, 70000 + i, lengths[i]);
        assert_int_equal(drops[RRCP_DROP_SIZE], 2 * (i + 1));
    }
    feed_long(r, PEER, 9000);
    assert_int_equal(drops[RRCP_DROP_SIZE], 10);
    assert_int_equal(drops[RRCP_DROP_AUTH_TAG], 0);
    feed_udata(r, 1, 5001);
    assert_int_equal(messages(r), 1);
    rrcp_destroy(r);
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Returns the tag of the next packet that the engine sends. */
static uint8_t next_tag(struct rrcp *r)
{
    struct rrcp_packet out[16];

    for (int i = 0; i < 1000; i++, now += MS) {
        rrcp_tick(r, now);
        if (rrcp_output(r, now, out, 16) > 0)
            return out[0].bytes[out[0].length - 1];
    }
    return 0;
}

static void keys_that_cannot_be_used_leave_the_old_ones_in_use(void **state)
{
    const struct rrcp_key other = { .id = 2, .bytes = { 22 } };
    struct rrcp *r = start(false, 0);

    (void)state;
    assert_int_equal(next_tag(r), 11);
    has_no_memory = true;
    assert_int_equal(rrcp_keys_set(r, &other, 1), MD_ERR_NOMEM);
    assert_int_equal(next_tag(r), 11);
    has_no_memory = false;
    meet(r, 5000); /* with the old key */
    assert_int_equal(rrcp_keys_set(r, &other, 1), MD_OK);
    assert_int_equal(next_tag(r), 22);
    rrcp_destroy(r);
}

static void an_encrypted_packet_has_the_headroom_that_the_transport_asked_for(void **state)
{
    struct rrcp *r = start(true, 64);
    struct rrcp_msg msg = { .bytes = (const uint8_t *)"text", .length = 4, .topic = 1 };
    struct rrcp_packet out[16];
    bool is_sealed = false;

    (void)state;
    meet(r, 5000);
    for (int i = 0; i < 1000; i++, now += MS) {
        rrcp_tick(r, now);
        (void)rrcp_submit(r, now, port, &msg);
        int n = rrcp_output(r, now, out, 16);

        for (int j = 0; j < n; j++) {
            assert_true(lies_in_one_piece(out[j].bytes - 64, 64 + out[j].length));
            is_sealed |= out[j].bytes[4] & 4;
        }
    }
    assert_true(is_sealed);
    rrcp_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_peer_sent_before_its_proof_is_a_repetition),
        cmocka_unit_test(a_flood_by_unicast_does_not_hide_a_host_that_starts),
        cmocka_unit_test(a_flood_through_the_group_does_not_hide_a_proof),
        cmocka_unit_test(a_packet_longer_than_any_node_sends_is_dropped_before_its_tag_is_read),
        cmocka_unit_test(keys_that_cannot_be_used_leave_the_old_ones_in_use),
        cmocka_unit_test(an_encrypted_packet_has_the_headroom_that_the_transport_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
