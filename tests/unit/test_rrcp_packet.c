/* test_rrcp_packet.c - packet formats against vectors made by an independent script. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rrcp/rrcp.h"
#include "rrcp_introduce.h"
#include "seal/seal.h"

/* Vectors made by an independent script. network `net1`, session 0x0123456789abcdef, sender's
 * clock 10 000 000 us. */
static const char vector_data[] = "525211010000003f0123456789abcdef99bfe84b009896800000000000000007"
                                  "00000003000200280005c000000001010003000068656c6c6f0002e0006f6b";
static const char vector_beacon[] =
    "52521104000000500123456789abcdef99bfe84b009896800000000000000008"
    "00000000000000040000019b76daa800000000019c410000000007d0000a0d00"
    "686f7374612e312e7272637064000000";
static const char vector_nak[] = "525211050000003c111122223333444499bfe84b009896800123456789abcdef"
                                 "00000000000000040002000100000000000000010000000200000001";
static const char vector_ncf[] = "52521106000000300123456789abcdef99bfe84b00989680"
                                 "000000000000000400010200000000000000000000000001";
static const char vector_auth[] = "52521101020000570123456789abcdef99bfe84b009896800000000000000007"
                                  "00000003000200280005c000000001010003000068656c6c6f0002e0006f6b01"
                                  "02000000000005d36f22a45b4e579ae030a5a22f8ff7eb";
static const char vector_sealed[] =
    "52521101060000570123456789abcdef99bfe84b0098968000433d8eb3f03c8b"
    "1cb23e0a6eac89d93f7bb4f2c06306d716063eae9cd18b24078536b438ae6401"
    "02000000000006d9dd2852b2fffddc568721a0fcdd31ec";
static const char vector_256[] = "52521101060000570123456789abcdef99bfe84b009896803bf67735f056040f"
                                 "b22962ee6779bbd0314c26747d46ba3b3507084969ee237294bf63e78d115c01"
                                 "030000000000078620626c042c96827e52178a6fbe820d";

#define SESSION 0x0123456789abcdefull
#define NOW     10000000000ull
#define MS      1000000ull

static void *take(void *context, size_t bytes)
{
    (void)context;
    return calloc(1, bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static struct rrcp_seal seal;
static enum rrcp_note last_note;

static struct rrcp *engine(uint64_t session, bool with_key)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { session, 1 }, .seal = &seal };
    struct rrcp_config config;
    struct rrcp *r;

    rrcp_config_init(&config);
    config.network = "net1";
    config.node = "hosta.1.rrcpd";
    config.session = session;
    config.pool_packets = 1024;
    config.start_ms = 1767225600000;
    config.unicast_port = 40001;
    if (with_key) {
        config.key_count = 1;
        config.keys[0].id = 1;
        for (int i = 0; i < 32; i++)
            config.keys[0].bytes[i] = (uint8_t)i;
    }
    assert_int_equal(rrcp_create(&config, &env, &r), 0);
    return r;
}

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        unsigned byte;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return n;
}

static void input_hex(struct rrcp *r, const char *hex, const uint8_t **bytes_out)
{
    static uint8_t bytes[2048];
    static const struct rrcp_address from = { .length = 2, .bytes = { 1, 2 } };
    struct rrcp_arrival arrival = { .bytes = bytes, .from = &from, .is_group = true };

    arrival.length = (uint32_t)unhex(hex, bytes);
    rrcp_input(r, NOW, &arrival, 1);
    if (bytes_out)
        *bytes_out = bytes;
}

/* The node of the vectors is known, and will send packet 7 next. */
static void meet(struct rrcp *r)
{
    static const struct rrcp_address from = { .length = 2, .bytes = { 1, 2 } };
    struct backbone_event ev[8];

    assert_true(introduce(r, NOW, "net1", SESSION, 7, &from));
    assert_int_equal(rrcp_event(r, ev, 8), 2);
    assert_int_equal(ev[0].type, BACKBONE_PEER_UP);
    assert_true(ev[0].session == SESSION);
    assert_int_equal(rrcp_event(r, ev, 8), 0);
}

static void the_data_vector_is_two_messages(void **state)
{
    struct rrcp *r = engine(5, false);
    struct backbone_event ev[8];

    (void)state;
    meet(r);
    input_hex(r, vector_data, NULL);
    assert_int_equal(rrcp_event(r, ev, 8), 2);
    assert_int_equal(ev[0].type, BACKBONE_MESSAGE);
    assert_int_equal(ev[0].topic, 0x101);
    assert_int_equal(ev[0].src_port, 3);
    assert_int_equal(ev[0].dst_port, 0);
    assert_int_equal(ev[0].length, 5);
    assert_memory_equal(ev[0].bytes, "hello", 5);
    assert_true(ev[0].seq == 7);
    assert_int_equal(ev[1].topic, 0x101);
    assert_int_equal(ev[1].length, 2);
    assert_memory_equal(ev[1].bytes, "ok", 2);
    assert_int_equal(rrcp_event(r, ev, 8), 0);
    rrcp_destroy(r);
}

static void the_beacon_vector_introduces_a_peer_by_name(void **state)
{
    static const struct rrcp_address from = { .length = 2, .bytes = { 1, 2 } };
    struct rrcp *r = engine(5, false);
    struct backbone_event ev[8];
    uint8_t bytes[128];
    uint8_t nonce[8] = { 0 };

    (void)state;
    input_hex(r, vector_beacon, NULL);
    assert_int_equal(rrcp_event(r, ev, 8), 0); /* it is asked first */
    assert_true(introduce_asked(r, NOW, SESSION, nonce));
    unhex(vector_beacon, bytes);
    introduce_feed(r, NOW, bytes, introduce_echo(r, bytes, nonce), &from, false);
    assert_int_equal(rrcp_event(r, ev, 8), 2);
    assert_int_equal(ev[0].type, BACKBONE_PEER_UP);
    assert_int_equal(ev[1].type, BACKBONE_PEER_INFO);
    assert_int_equal(ev[1].length, 13);
    assert_memory_equal(ev[1].bytes, "hosta.1.rrcpd", 13);
    rrcp_destroy(r);
}

/* Drives an engine until it has said everything up to now; returns the packet of that type. */
static uint32_t collect(struct rrcp *r, uint64_t now, uint8_t type, uint8_t *bytes)
{
    struct rrcp_packet out[64];
    uint32_t length = 0;
    int n;

    rrcp_tick(r, now);
    while ((n = rrcp_output(r, now, out, 64)) > 0)
        for (int i = 0; i < n; i++)
            if (out[i].type == type && length == 0) {
                length = out[i].length;
                memcpy(bytes, out[i].bytes, length);
            }
    return length;
}

/* Through its first three beacons; data may flow afterwards. */
static void start(struct rrcp *r, uint64_t *now)
{
    uint8_t bytes[2048];

    for (int i = 0; i < 4; i++, *now += 50 * MS)
        collect(r, *now, 0xff, bytes);
}

static void our_data_is_the_vector(void **state)
{
    struct rrcp *r = engine(SESSION, false);
    const struct rrcp_user user = { .receives = false };
    uint8_t want[2048];
    uint8_t got[2048];
    uint64_t now = NOW - 300 * MS;
    struct rrcp_msg filler = { .bytes = (const uint8_t *)"x", .length = 1, .topic = 9 };
    struct rrcp_msg hello = { .bytes = (const uint8_t *)"hello", .length = 5, .topic = 0x101 };
    struct rrcp_msg ok = { .bytes = (const uint8_t *)"ok", .length = 2, .topic = 0x101 };

    (void)state;
    start(r, &now);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(rrcp_user_add(r, &user), i);
    for (int i = 1; i <= 3; i++) { /* packets 1..3 age away, 4..6 stay: held = 3 */
        assert_int_equal(rrcp_submit(r, now - 2000 * MS, 3, &filler), 0);
        collect(r, now - 2000 * MS, 0xff, got);
    }
    for (int i = 4; i <= 6; i++) {
        assert_int_equal(rrcp_submit(r, now, 3, &filler), 0);
        collect(r, now, 0xff, got);
    }
    assert_int_equal(rrcp_submit(r, NOW, 3, &hello), 0);
    assert_int_equal(rrcp_submit(r, NOW, 3, &ok), 0);
    uint32_t length = collect(r, NOW, 1, got);

    assert_int_equal(length, unhex(vector_data, want));
    assert_memory_equal(got, want, length);
    rrcp_destroy(r);
}

static void a_signed_packet_is_accepted_and_a_changed_one_is_not(void **state)
{
    struct rrcp *r = engine(5, true);
    struct backbone_event ev[8];
    char changed[sizeof(vector_auth)];

    (void)state;
    memcpy(changed, vector_auth, sizeof(changed));
    changed[100] = changed[100] == '0' ? '1' : '0';
    input_hex(r, changed, NULL);
    assert_int_equal(rrcp_event(r, ev, 8), 0);
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_AUTH_TAG], 1);
    input_hex(r, vector_data, NULL);
    assert_int_equal(rrcp_event(r, ev, 8), 0);
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_AUTH_MISSING], 1);
    input_hex(r, vector_auth, NULL); /* good, but of a session that has not echoed */
    input_hex(r, vector_sealed, NULL);
    input_hex(r, vector_256, NULL);
    assert_int_equal(rrcp_event(r, ev, 8), 0);
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_UNKNOWN], 3);
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_AUTH_TAG], 1);
    rrcp_destroy(r);
}

static void requests_and_confirmations_are_well_formed(void **state)
{
    struct rrcp *r = engine(5, false);
    struct backbone_event ev[8];

    (void)state;
    input_hex(r, vector_nak, NULL); /* of a stranger: nothing is owed */
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_UNKNOWN], 1);
    meet(r);
    input_hex(r, vector_data, NULL);
    while (rrcp_event(r, ev, 8) > 0)
        ;
    input_hex(r, vector_ncf, NULL);
    assert_int_equal(rrcp_counters(r)->ncf_rcvd[2], 1);
    rrcp_destroy(r);
}

static void every_shortened_or_flipped_packet_is_dropped_or_harmless(void **state)
{
    static const char *const vectors[] = { vector_data, vector_beacon, vector_nak,
                                           vector_ncf,  vector_auth,   vector_sealed };
    static const struct rrcp_address from = { .length = 2, .bytes = { 1, 2 } };
    uint8_t bytes[256];
    struct backbone_event ev[8];

    (void)state;
    for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
        struct rrcp *r = engine(5, false);
        size_t length = unhex(vectors[v], bytes);

        for (size_t i = 0; i < length * 8; i++) {
            struct rrcp_arrival a = { .bytes = bytes, .length = (uint32_t)length, .from = &from };

            bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
            rrcp_input(r, NOW, &a, 1);
            while (rrcp_event(r, ev, 8) > 0)
                ;
            bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
            a.length = (uint32_t)(i / 8);
            rrcp_input(r, NOW, &a, 1);
            assert_int_equal(rrcp_event(r, ev, 8), 0);
        }
        rrcp_destroy(r);
    }
}

static void two_keys_are_accepted_while_one_is_replaced(void **state)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { 1, 1 }, .seal = &seal };
    struct backbone_event ev[8];
    struct rrcp_config config;
    struct rrcp *r;

    (void)state;
    rrcp_config_init(&config);
    config.network = "net1";
    config.node = "b";
    config.session = 5;
    config.pool_packets = 256;
    config.key_count = 2;
    config.keys[0].id = 2;
    config.keys[1].id = 1;
    for (int i = 0; i < 32; i++)
        config.keys[1].bytes[i] = (uint8_t)i;
    assert_int_equal(rrcp_create(&config, &env, &r), 0);
    input_hex(r, vector_auth, NULL);
    assert_int_equal(rrcp_event(r, ev, 8), 0);
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_AUTH_TAG], 0);
    assert_int_equal(rrcp_counters(r)->drop[RRCP_DROP_UNKNOWN], 1);
    rrcp_destroy(r);
}

static void remember_note(void *context, enum rrcp_note note, uint64_t session, uint64_t value)
{
    (void)context;
    (void)session;
    (void)value;
    last_note = note;
}

/* What an engine says in its first 200 ms whose first packet has this counter. */
static int packets_from(uint64_t counter)
{
    struct rrcp_env env = {
        .take = take, .give = give, .note = remember_note, .seed = { 1, 1 }, .seal = &seal
    };
    struct rrcp_config config;
    struct rrcp_packet out[16];
    struct rrcp *r;
    int count = 0;

    rrcp_config_init(&config);
    config.network = "net1";
    config.node = "b";
    config.pool_packets = 256;
    config.key_count = 1;
    config.first_counter = counter;
    last_note = RRCP_NOTE_count;
    assert_int_equal(rrcp_create(&config, &env, &r), 0);
    for (uint64_t now = NOW; now < NOW + 200 * MS; now += 10 * MS) {
        int n;

        rrcp_tick(r, now);
        while ((n = rrcp_output(r, now, out, 16)) > 0)
            count += n;
    }
    rrcp_destroy(r);
    return count;
}

static void a_session_asks_for_a_new_one_long_before_its_counters_end(void **state)
{
    (void)state;
    assert_true(packets_from((1ull << 47) - 1000) >= 3);
    assert_int_equal(last_note, RRCP_NOTE_count);
    assert_true(packets_from(1ull << 47) >= 3);
    assert_int_equal(last_note, RRCP_NOTE_COUNTER_EXHAUSTED);
    assert_int_equal(packets_from((1ull << 48) - 1000), 0); /* silent sooner than a nonce again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_data_vector_is_two_messages),
        cmocka_unit_test(the_beacon_vector_introduces_a_peer_by_name),
        cmocka_unit_test(our_data_is_the_vector),
        cmocka_unit_test(a_signed_packet_is_accepted_and_a_changed_one_is_not),
        cmocka_unit_test(requests_and_confirmations_are_well_formed),
        cmocka_unit_test(every_shortened_or_flipped_packet_is_dropped_or_harmless),
        cmocka_unit_test(two_keys_are_accepted_while_one_is_replaced),
        cmocka_unit_test(a_session_asks_for_a_new_one_long_before_its_counters_end),
    };

    if (seal_open(&seal) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    seal_close(&seal);
    return failed;
}
