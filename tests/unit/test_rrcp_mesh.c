/* test_rrcp_mesh.c - the book of addresses of a mesh, and who may use up what is a seed's. */
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
#include "seal/seal.h"

#define MS        1000000ull
#define SECOND    (1000 * MS)
#define PEER      5000
#define BOOK      (RRCP_MESH_SEEDS_MAX + RRCP_MESH_PEERS_MAX)
#define TRAILER   24
#define TLV_SELF  6
#define TLV_NAMED 7
#define FLOOD     600 /* beacons each 10 ms: 60,000 a second */

static uint64_t now;

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

static struct rrcp_address address_of(uint32_t number)
{
    struct rrcp_address out = { .length = 6, .host_length = 4, .bytes = { 10, 0, 0, 0, 33, 52 } };

    md_put_be16(out.bytes + 2, (uint16_t)number);
    return out;
}

/* A node at address `self` whose one seed is at address `seed`. */
static struct rrcp *start(uint32_t self, uint32_t seed, const struct rrcp_seal *seal)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { self, 7 }, .seal = seal };
    struct rrcp_config config;
    struct rrcp *r;
    char node[16];

    snprintf(node, sizeof(node), "node%u", self);
    rrcp_config_init(&config);
    config.pool_packets = 1024;
    config.window_packets = 256;
    config.missing_max = 128;
    config.peers_max = 16;
    config.arrivals_max = 16;
    config.network = "test";
    config.node = node;
    config.session = 1000 + self;
    config.key_count = seal ? 1 : 0;
    config.keys[0] = (struct rrcp_key){ .id = 1, .bytes = { 11 } };
    config.cipher = RRCP_CIPHER_AES_128_GCM;
    config.mesh.is_on = true;
    config.mesh.self = address_of(self);
    config.mesh.seed_count = 1;
    config.mesh.seeds[0] = address_of(seed);
    assert_int_equal(rrcp_create(&config, &env, &r), MD_OK);
    return r;
}

/* ---- the book ----------------------------------------------------------------------------- */

static uint32_t add_tlv(uint8_t *bytes, uint32_t length, uint8_t type, const uint8_t *value,
                        uint8_t size)
{
    bytes[63]++;
    bytes[length] = type;
    bytes[length + 1] = size;
    memcpy(bytes + length + 2, value, size);
    length += 2u + size;
    md_put_be16(bytes + 6, (uint16_t)length);
    return length;
}

/* A node without keys that has the invented peer at address 2. */
static struct rrcp *start_with_peer(void)
{
    struct rrcp *r = start(1, 2, NULL);
    struct rrcp_address home = address_of(2);
    uint8_t bytes[160];
    uint8_t nonce[8];
    uint32_t length;

    now = 100 * SECOND;
    length = introduce_beacon(bytes, "test", PEER, 1);
    introduce_feed(r, now, bytes, add_tlv(bytes, length, TLV_SELF, home.bytes, home.length), &home,
                   false);
    assert_true(introduce_asked(r, now, PEER, nonce));
    length = introduce_beacon(bytes, "test", PEER, 1);
    length = introduce_echo(r, bytes, nonce);
    introduce_feed(r, now, bytes, add_tlv(bytes, length, TLV_SELF, home.bytes, home.length), &home,
                   false);
    assert_int_equal(rrcp_counters(r)->peers_now, 1);
    return r;
}

/* The peer names the addresses `first` to `first + count - 1`. */
static void name(struct rrcp *r, uint32_t first, uint32_t count)
{
    struct rrcp_address home = address_of(2);
    uint8_t bytes[160];

    for (uint32_t i = 0; i < count; i++) {
        struct rrcp_address named = address_of(first + i);
        uint32_t length = introduce_beacon(bytes, "test", PEER, 1);

        length = add_tlv(bytes, length, TLV_SELF, home.bytes, home.length);
        length = add_tlv(bytes, length, TLV_NAMED, named.bytes, named.length);
        introduce_feed(r, now, bytes, length, &home, false);
    }
}

static bool has(const struct rrcp *r, uint32_t number)
{
    struct rrcp_address address = address_of(number);
    struct rrcp_mesh_info info;

    for (uint32_t i = 0; rrcp_mesh_info(r, i, &info); i++)
        if (memcmp(info.address.bytes, address.bytes, address.length) == 0)
            return true;
    return false;
}

static void a_stale_address_makes_room_for_one_that_a_peer_names_now(void **state)
{
    struct rrcp *r = start_with_peer();

    (void)state;
    name(r, 100, BOOK - 1); /* and the seed: it is full */
    assert_int_equal(rrcp_counters(r)->mesh_full, 0);
    now += 20 * SECOND;
    name(r, 101, BOOK - 3); /* all but the first and the last are named again */
    name(r, 1000, 2);
    assert_int_equal(rrcp_counters(r)->mesh_full, 0);
    assert_int_equal(rrcp_counters(r)->mesh_forgotten, 2);
    assert_true(has(r, 1000) && has(r, 1001) && has(r, 2) && has(r, 101));
    assert_true(!has(r, 100) && !has(r, 100 + BOOK - 2));
    rrcp_destroy(r);
}

static void addresses_named_in_one_breath_do_not_push_each_other_out(void **state)
{
    struct rrcp *r = start_with_peer();

    (void)state;
    name(r, 100, BOOK + 9);
    assert_int_equal(rrcp_counters(r)->mesh_full, 10);
    assert_int_equal(rrcp_counters(r)->mesh_forgotten, 0);
    for (uint32_t i = 0; i < BOOK - 1; i++)
        assert_true(has(r, 100 + i));
    assert_true(has(r, 2));
    rrcp_destroy(r);
}

/* ---- answers ------------------------------------------------------------------------------ */

static uint32_t solicit(uint8_t *bytes, uint64_t target)
{
    introduce_beacon(bytes, "test", PEER, 1);
    memset(bytes + 24, 0, 148 - 24);
    bytes[3] = INTRODUCE_SOLICIT;
    md_put_be64(bytes + 24, target);
    md_put_be16(bytes + 6, 148);
    return 148;
}

/* Of a node with this name and an address of so many bytes: how long its answer is, and the name in
 * it. */
static uint32_t answer_of(const char *node, uint8_t address_length, char said[65])
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { 3, 7 } };
    struct rrcp_address home = address_of(2);
    struct rrcp_packet out[16];
    struct rrcp_config config;
    uint8_t bytes[160];
    uint32_t length = 0;
    struct rrcp *r;

    rrcp_config_init(&config);
    config.network = "test";
    config.node = node;
    config.peers_max = 16;
    config.mesh.is_on = true;
    config.mesh.self = address_of(1);
    config.mesh.seeds[0] = home;
    config.mesh.self.length = config.mesh.seeds[0].length = home.length = address_length;
    config.mesh.seed_count = 1;
    assert_int_equal(rrcp_create(&config, &env, &r), MD_OK);
    introduce_feed(r, now, bytes, solicit(bytes, rrcp_session(r)), &home, false);
    for (int n; (n = rrcp_output(r, now, out, 16)) > 0;)
        for (int i = 0; i < n; i++) {
            if (out[i].type != INTRODUCE_BEACON || !out[i].to)
                continue;
            length = out[i].length;
            memset(said, 0, 65);
            memcpy(said, out[i].bytes + 64, out[i].bytes[62]);
        }
    rrcp_destroy(r);
    return length;
}

/* Eight digits stand for the part that a long name loses. */
static void assert_said(const char *said, const char *host, const char *tail)
{
    size_t at = strlen(host);

    assert_int_equal(strlen(said), at + 8 + strlen(tail));
    assert_memory_equal(said, host, at);
    assert_int_equal(strspn(said + at, "0123456789abcdef"), 8);
    assert_string_equal(said + at + 8, tail);
}

static void no_answer_is_longer_than_its_question(void **state)
{
    static const char node[] = "a-host-of-a-cloud.eu-west-1.compute.internal.zone-12.1.rrcpd";
    static const char whole[] = "a-name-of-64-bytes-without-a-single-dot-in-it-0123456789-0123456";
    char said[65];

    (void)state;
    now = 100 * SECOND;
    assert_int_equal(answer_of("host.1.rrcpd", 6, said), 64 + 12 + 18 + 8);
    assert_string_equal(said, "host.1.rrcpd");
    assert_int_equal(answer_of(node, 6, said), 146);
    assert_said(said, "a-host-of-a-cloud.eu-west-1.compute.inte", ".1.rrcpd");
    assert_int_equal(answer_of(node, 22, said), 146);
    assert_said(said, "a-host-of-a-cloud.eu-wes", ".1.rrcpd");
    assert_int_equal(answer_of(whole, 22, said), 146);
    assert_said(said, "a-name-of-64-bytes-without-a-sin", "");
}

static void long_names_that_begin_alike_are_told_apart(void **state)
{
    static const char *const nodes[] = {
        "a-host-of-a-cloud.eu-west-1.compute.internal.zone-12.1.rrcpd",
        "a-host-of-a-cloud.eu-west-1.compute.internal.zone-13.1.rrcpd",
        "a-host-of-a-cloud.eu-west-1.compute.internal.zone-12.2.rrcpd",
    };
    char said[3][65];

    (void)state;
    now = 100 * SECOND;
    for (unsigned bytes = 6; bytes <= 22; bytes += 16)
        for (int i = 0; i < 3; i++) {
            answer_of(nodes[i], (uint8_t)bytes, said[i]);
            for (int k = 0; k < i; k++)
                assert_string_not_equal(said[i], said[k]);
        }
}

/* ---- a seed whose address others claim ------------------------------------------------------ */

/* Beacons from there, each of another session and with a tag that is wrong. */
static void flood(struct rrcp *r, const struct rrcp_address *from)
{
    static uint64_t session = 1 << 20;
    uint8_t bytes[160];

    for (int i = 0; i < FLOOD; i++) {
        uint32_t length = introduce_beacon(bytes, "test", session++, 1);

        length = add_tlv(bytes, length, TLV_SELF, from->bytes, from->length);
        length = add_tlv(bytes, length, 8, bytes, 8);
        bytes[4] = 2;
        md_put_be16(bytes + 6, (uint16_t)(length + TRAILER));
        memset(bytes + length, 0xff, TRAILER);
        bytes[length] = 1;
        bytes[length + 1] = RRCP_CIPHER_AES_128_GCM;
        introduce_feed(r, now, bytes, length + TRAILER, from, false);
    }
}

/* What `from` sends arrives at `to`. */
static void carry(struct rrcp *from, struct rrcp *to, const struct rrcp_address *home)
{
    struct rrcp_packet out[16];

    rrcp_tick(from, now);
    for (int n; (n = rrcp_output(from, now, out, 16)) > 0;)
        for (int i = 0; i < n; i++)
            if (out[i].to) /* the group is empty until they have each other */
                introduce_feed(to, now, out[i].bytes, out[i].length, home, false);
}

static void others_that_claim_the_address_of_a_seed_do_not_keep_it_out(void **state)
{
    struct rrcp_address homes[2] = { address_of(1), address_of(2) };
    struct rrcp_seal seal;
    struct rrcp *nodes[2];

    (void)state;
    now = 100 * SECOND;
    assert_int_equal(seal_open(&seal), 0);
    nodes[0] = start(1, 2, &seal);
    nodes[1] = start(2, 1, &seal);
    for (int i = 0; i < 2; i++)
        for (int turn = 0; turn < 10; turn++)
            flood(nodes[i], &homes[1 - i]);
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < 2; i++) {
            flood(nodes[i], &homes[1 - i]);
            carry(nodes[1 - i], nodes[i], &homes[1 - i]);
        }
        now += 10 * MS;
    }
    for (int i = 0; i < 2; i++) {
        assert_true(rrcp_counters(nodes[i])->keys_refused > 0);
        assert_int_equal(rrcp_counters(nodes[i])->peers_now, 1);
        rrcp_destroy(nodes[i]);
    }
    seal_close(&seal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stale_address_makes_room_for_one_that_a_peer_names_now),
        cmocka_unit_test(addresses_named_in_one_breath_do_not_push_each_other_out),
        cmocka_unit_test(no_answer_is_longer_than_its_question),
        cmocka_unit_test(long_names_that_begin_alike_are_told_apart),
        cmocka_unit_test(others_that_claim_the_address_of_a_seed_do_not_keep_it_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
