/* test_seal_libraries.c - the two libraries of src/seal against each other, over random packets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/prng.h"
#include "seal/seal.h"

#define ROUNDS  4000
#define LONGEST RRCP_PACKET_BYTES_MAX

enum { MB, OPENSSL, LIBRARIES };

static struct rrcp_seal seals[LIBRARIES];
static struct md_prng prng;

/* Rooms that end where no memory is: a byte too much read or written is a signal. */
static uint8_t *ends[4];

static uint8_t *room_of(size_t bytes)
{
    size_t whole = (bytes + 4095) / 4096 * 4096;
    uint8_t *room =
        mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(room != MAP_FAILED);
    assert_int_equal(mprotect(room + whole, 4096, PROT_NONE), 0);
    return room + whole;
}

static uint32_t draw(uint32_t below)
{
    return md_prng_below(&prng, below);
}

static void fill(uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)draw(256);
}

/* ---- a packet ----------------------------------------------------------------------------- */

struct packet {
    struct rrcp_key key;
    struct rrcp_seal_id id;
    uint64_t counter;
    uint32_t clear, length;
    uint8_t *bytes;
    uint8_t *sealed[LIBRARIES];
    uint8_t tag[LIBRARIES][RRCP_TAG_BYTES];
};

/* All lengths that the engine may ask for, short ones often; nothing, all or a part encrypted. */
static void draw_packet(struct packet *p)
{
    uint32_t longest = draw(4) == 0 ? LONGEST : draw(2) == 0 ? 1500 : 200;

    p->key.id = (uint8_t)draw(256);
    fill(p->key.bytes, sizeof(p->key.bytes));
    p->id = (struct rrcp_seal_id){ .key = &p->key,
                                   .session = md_prng_u64(&prng),
                                   .network_id = draw(UINT32_MAX),
                                   .cipher = draw(2) == 0 ? RRCP_CIPHER_AES_128_GCM
                                                          : RRCP_CIPHER_AES_256_GCM };
    p->counter = md_prng_u64(&prng) >> 16;
    p->length = 1 + draw(longest);
    p->clear = draw(3) == 0 ? p->length : draw(p->length + 1);
    p->bytes = ends[0] - p->length;
    fill(p->bytes, p->length);
}

static void seal_packet(struct packet *p, void *const states[], bool is_in_place)
{
    for (int i = 0; i < LIBRARIES; i++) {
        uint8_t *to = ends[1 + i] - p->length;

        if (is_in_place)
            memcpy(to, p->bytes, p->length);
        seals[i].seal(states[i], p->counter, to, is_in_place ? to : p->bytes, p->clear, p->length,
                      p->tag[i]);
        p->sealed[i] = to;
    }
}

/* Library `i` opens what the other one has sealed. */
static bool opens(const struct packet *p, void *state, int i, uint8_t *to)
{
    return seals[i].open(state, p->counter, to, p->sealed[!i], p->clear, p->length, p->tag[!i]);
}

static void begin(const struct packet *p, void *states[])
{
    for (int i = 0; i < LIBRARIES; i++) {
        states[i] = seals[i].begin(seals[i].context, states[i], &p->id);
        assert_non_null(states[i]);
    }
}

static void end(void *states[])
{
    for (int i = 0; i < LIBRARIES; i++)
        seals[i].end(seals[i].context, states[i]);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void both_make_the_same_bytes_and_each_opens_the_others(void **unused)
{
    void *states[LIBRARIES] = { NULL };
    struct packet p;

    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        draw_packet(&p);
        if (round == 0 || draw(4) == 0)
            begin(&p, states); /* the states of the last key take this one */
        seal_packet(&p, states, draw(2) == 0);
        assert_memory_equal(p.sealed[MB], p.sealed[OPENSSL], p.length);
        assert_memory_equal(p.sealed[MB], p.bytes, p.clear);
        assert_memory_equal(p.tag[MB], p.tag[OPENSSL], RRCP_TAG_BYTES);
        for (int i = 0; i < LIBRARIES; i++) {
            uint8_t *to = draw(2) == 0 ? ends[3] - p.length : p.sealed[!i]; /* in place or not */

            if (p.clear == p.length && draw(2) == 0)
                to = NULL;
            assert_true(opens(&p, states[i], i, to));
            if (to)
                assert_memory_equal(to, p.bytes, p.length);
        }
    }
    end(states);
}

static void neither_opens_a_packet_with_a_bit_flipped(void **unused)
{
    void *states[LIBRARIES] = { NULL };
    struct packet p;

    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        draw_packet(&p);
        begin(&p, states);
        seal_packet(&p, states, false);
        int i = (int)draw(LIBRARIES);
        uint32_t bit = draw(8 * (p.length + RRCP_TAG_BYTES));
        uint8_t *byte =
            bit / 8 < p.length ? &p.sealed[!i][bit / 8] : &p.tag[!i][bit / 8 - p.length];

        *byte ^= (uint8_t)(1u << bit % 8);
        assert_false(opens(&p, states[i], i, ends[3] - p.length));
        *byte ^= (uint8_t)(1u << bit % 8);
        p.counter ^= 1ull << draw(48);
        assert_false(opens(&p, states[i], i, ends[3] - p.length));
    }
    end(states);
}

/* The shortest packets, and those around each multiple of a block. */
static void each_length_and_each_clear_part_is_sealed_alike(void **unused)
{
    void *states[LIBRARIES] = { NULL };
    struct packet p;

    (void)unused;
    draw_packet(&p);
    begin(&p, states);
    for (p.length = 0; p.length <= 320; p.length++)
        for (p.clear = 0; p.clear <= p.length; p.clear += p.length > 130 ? 23 : 1) {
            p.bytes = ends[0] - p.length;
            p.counter++;
            seal_packet(&p, states, false);
            assert_memory_equal(p.sealed[MB], p.sealed[OPENSSL], p.length);
            assert_memory_equal(p.tag[MB], p.tag[OPENSSL], RRCP_TAG_BYTES);
            assert_true(opens(&p, states[MB], MB, ends[3] - p.length));
        }
    end(states);
}

static void the_faster_library_is_the_one_that_is_taken(void **unused)
{
    struct rrcp_seal seal;

    (void)unused;
    assert_int_equal(seal_open(&seal), 0);
    assert_string_equal(seal_library(&seal), seal_library(&seals[MB]));
    assert_string_not_equal(seal_library(&seal), seal_library(&seals[OPENSSL]));
    seal_close(&seal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_make_the_same_bytes_and_each_opens_the_others),
        cmocka_unit_test(neither_opens_a_packet_with_a_bit_flipped),
        cmocka_unit_test(each_length_and_each_clear_part_is_sealed_alike),
        cmocka_unit_test(the_faster_library_is_the_one_that_is_taken),
    };
    int err = seal_open_by(SEAL_MULTIBUFFER, &seals[MB]);

    if (err == MD_ERR_NOT_FOUND) {
        puts("libipsec-mb is not installed, or not for this processor");
        return 77;
    }
    if (err || seal_open_by(SEAL_OPENSSL, &seals[OPENSSL]) != 0) {
        printf("a library cannot be opened: %s\n", md_err_name(err));
        return 1;
    }
    prng = md_prng_init(20261123);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        ends[i] = room_of(LONGEST);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    seal_close(&seals[MB]);
    seal_close(&seals[OPENSSL]);
    return failed;
}
