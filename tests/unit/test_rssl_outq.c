/* test_rssl_outq.c - how messages become frames, and what bounds the queue. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl_pair.h"

#include <stdio.h>

/* A queue of an open server channel whose output the tests look at. */
struct fixture {
    struct pair *pair;
    struct rssl_outq *q;
    unsigned breaches;
    unsigned reliefs;
};

static void count_pressure(void *user, bool is_slow)
{
    struct fixture *f = user;

    if (is_slow)
        f->breaches++;
    else
        f->reliefs++;
}

static struct fixture open_queue(uint16_t size, uint32_t guaranteed, uint32_t max)
{
    struct fixture f = { .pair = pair_create() };

    f.pair->server_config.message_size_max = size;
    f.pair->server_config.guaranteed_buffers = guaranteed;
    f.pair->server_config.max_buffers = max;
    pair_connect(f.pair, 0);
    f.q = rssl_channel_outq(f.pair->server.ch);
    return f;
}

static void write_text(struct rssl_outq *q, const char *text)
{
    assert_int_equal(rssl_outq_write(q, text, strlen(text)), MD_OK);
}

/* What the queue sends, compared to a string of hex digits. */
static void assert_sent(struct fixture *f, const char *hex)
{
    static uint8_t bytes[1u << 20];
    char text[2048];
    size_t length = end_take(&f->pair->server, 0, bytes, sizeof(bytes));

    for (size_t i = 0; i < length && i < 1000; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[length < 1000 ? 2 * length : 2000] = '\0';
    assert_string_equal(text, hex);
}

static void messages_queued_together_share_a_frame(void **state)
{
    struct fixture f = open_queue(100, 10, 10);

    (void)state;
    write_text(f.q, "ab");
    write_text(f.q, "cde");
    assert_sent(&f, "000c12"
                    "0002"
                    "6162"
                    "0003"
                    "636465");
    struct rssl_outq_stats stats;
    rssl_outq_stats(f.q, &stats);
    assert_int_equal(stats.message_count, 2);
    assert_int_equal(stats.packed_count, 2);
    assert_int_equal(stats.frame_count, 1);
    assert_int_equal(stats.flush_count, 2); /* the handshake's was one */
    pair_destroy(f.pair);
}

static void a_message_alone_is_a_plain_frame(void **state)
{
    struct fixture f = open_queue(100, 10, 10);

    (void)state;
    write_text(f.q, "ab");
    assert_sent(&f, "000502"
                    "6162");
    pair_destroy(f.pair);
}

static void without_packing_each_message_has_its_frame(void **state)
{
    struct fixture f = open_queue(100, 10, 10);

    (void)state;
    write_text(f.q, "x");
    rssl_outq_set_packing(f.q, false);
    write_text(f.q, "ab");
    write_text(f.q, "c");
    assert_sent(&f, "00040278"
                    "0005026162"
                    "00040263");
    pair_destroy(f.pair);
}

static void a_frame_is_filled_to_its_last_byte(void **state)
{
    struct fixture f = open_queue(20, 10, 10);

    (void)state;
    write_text(f.q, "12345678");
    write_text(f.q, "abcdefgh"); /* 2 * (2 + 8) = 20 */
    write_text(f.q, "z");
    assert_sent(&f, "001712"
                    "00083132333435363738"
                    "00086162636465666768"
                    "0004027a");
    write_text(f.q, "123456789012345678"); /* 18 and its length fill a frame */
    write_text(f.q, "1234567890123456789");
    write_text(f.q, "12345678901234567890");
    assert_sent(&f, "001502313233343536373839303132333435363738"
                    "00160231323334353637383930313233343536373839"
                    "0017023132333435363738393031323334353637383930");
    pair_destroy(f.pair);
}

static void a_longer_message_is_cut_in_fragments(void **state)
{
    struct fixture f = open_queue(20, 10, 10);

    (void)state;
    write_text(f.q, "123456789012345678901"); /* 21 */
    assert_sent(&f, "00170308"
                    "00000015"
                    "0001"
                    "31323334353637383930313233"
                    "000e0304"
                    "0001"
                    "3435363738393031");
    write_text(f.q, "123456789012345678901");
    assert_sent(&f, "00170308"
                    "00000015"
                    "0002"
                    "31323334353637383930313233"
                    "000e0304"
                    "0002"
                    "3435363738393031");
    pair_destroy(f.pair);
}

static void the_fragment_id_0_is_never_used(void **state)
{
    struct fixture f = open_queue(20, 10, 10);
    uint8_t bytes[128];

    (void)state;
    for (uint32_t i = 1; i <= 70000; i++) {
        write_text(f.q, "123456789012345678901");
        assert_true(end_take(&f.pair->server, 0, bytes, sizeof(bytes)) > 10);
        assert_int_equal(bytes[8] << 8 | bytes[9], i <= 65535 ? i : i - 65535);
    }
    pair_destroy(f.pair);
}

static void room_reserved_and_not_committed_is_forgotten(void **state)
{
    struct fixture f = open_queue(20, 10, 10);
    size_t lengths[] = { 1, 18, 19, 20, 21, 100 };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        assert_non_null(rssl_outq_reserve(f.q, lengths[i]));
    assert_sent(&f, "");
    assert_true(rssl_outq_is_empty(f.q));
    pair_destroy(f.pair);
}

static void less_may_be_committed_than_was_reserved(void **state)
{
    struct fixture f = open_queue(20, 10, 10);
    size_t lengths[] = { 3, 19, 50 };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint8_t *room = rssl_outq_reserve(f.q, lengths[i]);
        assert_non_null(room);
        room[0] = (uint8_t)('a' + i);
        rssl_outq_commit(f.q, 1);
        assert_sent(&f, i == 0 ? "00040261" : i == 1 ? "00040262" : "00040263");
    }
    pair_destroy(f.pair);
}

static void a_queue_holds_its_maximum_and_no_more(void **state)
{
    struct fixture f = open_queue(100, 2, 5);
    unsigned count = 0;

    (void)state;
    while (rssl_outq_write(f.q, "12345678901234567890123456789012345678901234567", 47) == MD_OK)
        count++;
    assert_int_equal(count, 10); /* two in each of five frames */
    assert_int_equal(rssl_outq_depth(f.q), 5);
    assert_null(rssl_outq_reserve(f.q, 1));
    assert_int_equal(f.q->stats.full_count, 2);
    pair_destroy(f.pair);
}

static void what_goes_beyond_the_guaranteed_comes_from_the_shared_pool(void **state)
{
    struct rssl_pool_config shared = { .shared_bytes = 3 * 103 };
    struct pair *a = pair_create();
    struct pair *b = pair_create();
    uint8_t message[100] = { 0 };

    (void)state;
    rssl_pool_destroy(a->pool);
    rssl_pool_destroy(b->pool);
    assert_int_equal(rssl_pool_create(&shared, &a->pool), MD_OK);
    b->pool = a->pool;
    a->server_config.message_size_max = b->server_config.message_size_max = 100;
    a->server_config.guaranteed_buffers = b->server_config.guaranteed_buffers = 2;
    a->server_config.max_buffers = b->server_config.max_buffers = 10;
    pair_connect(a, 0);
    pair_connect(b, 0);
    struct rssl_outq *qa = rssl_channel_outq(a->server.ch);
    struct rssl_outq *qb = rssl_channel_outq(b->server.ch);
    for (int i = 0; i < 5; i++) /* two of its own, three shared */
        assert_int_equal(rssl_outq_write(qa, message, 100), MD_OK);
    assert_int_equal(rssl_outq_write(qa, message, 100), MD_ERR_FULL);
    for (int i = 0; i < 2; i++) /* the other still has its own */
        assert_int_equal(rssl_outq_write(qb, message, 100), MD_OK);
    assert_int_equal(rssl_outq_write(qb, message, 100), MD_ERR_FULL);
    pump(&a->client, &a->server, 0); /* what was sent is shared again */
    assert_int_equal(rssl_outq_write(qb, message, 100), MD_OK);
    pump(&b->client, &b->server, 0);

    rssl_channel_destroy(b->client.ch);
    rssl_channel_destroy(b->server.ch);
    free(b);
    pair_destroy(a);
}

static void the_last_quarter_of_the_pool_is_for_parties_that_have_little(void **state)
{
    struct rssl_pool_config shared = { .shared_bytes = 16 * 103, .share_max = 2 * 103 };
    struct md_share parties[2] = { 0 };
    struct pair *pairs[3];
    struct rssl_outq *q[3];
    uint8_t message[100] = { 0 };
    struct rssl_pool *pool;

    (void)state;
    assert_int_equal(rssl_pool_create(&shared, &pool), MD_OK);
    for (int i = 0; i < 3; i++) {
        pairs[i] = pair_create();
        rssl_pool_destroy(pairs[i]->pool);
        pairs[i]->pool = pool;
        pairs[i]->server_config.message_size_max = 100;
        pairs[i]->server_config.guaranteed_buffers = 2;
        pairs[i]->server_config.max_buffers = 30;
        pair_connect(pairs[i], 0);
        rssl_channel_share_set(pairs[i]->server.ch, 0, &parties[i / 2]); /* two are of one party */
        q[i] = rssl_channel_outq(pairs[i]->server.ch);
    }
    for (int i = 0; i < 2 + 8; i++)
        assert_int_equal(rssl_outq_write(q[0], message, 100), MD_OK);
    for (int i = 0; i < 2 + 4; i++)
        assert_int_equal(rssl_outq_write(q[1], message, 100), MD_OK);
    assert_int_equal(rssl_outq_write(q[0], message, 100), MD_ERR_FULL);
    assert_int_equal(rssl_outq_write(q[1], message, 100), MD_ERR_FULL);
    for (int i = 0; i < 2 + 2; i++)
        assert_int_equal(rssl_outq_write(q[2], message, 100), MD_OK);
    assert_int_equal(rssl_outq_write(q[2], message, 100), MD_ERR_FULL);
    rssl_channel_share_set(pairs[2]->server.ch, 0, NULL); /* who is nobody's has the rest */
    assert_int_equal(atomic_load(&parties[1].bytes), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rssl_outq_write(q[2], message, 100), MD_OK);
    assert_int_equal(rssl_outq_write(q[2], message, 100), MD_ERR_FULL);
    pump(&pairs[1]->client, &pairs[1]->server, 0);
    assert_int_equal(rssl_outq_write(q[0], message, 100), MD_ERR_FULL); /* it has eight */
    pump(&pairs[0]->client, &pairs[0]->server, 0);
    assert_int_equal(atomic_load(&parties[0].bytes), 0);
    for (int i = 0; i < 3; i++) {
        rssl_channel_destroy(pairs[i]->client.ch);
        rssl_channel_destroy(pairs[i]->server.ch);
        free(pairs[i]);
    }
    rssl_pool_destroy(pool);
}

static void crossing_the_marks_is_told_once_each_way(void **state)
{
    struct fixture f = { .pair = pair_create() };
    uint8_t message[100] = { 0 };

    (void)state;
    f.pair->server_config.message_size_max = 100;
    f.pair->server_config.guaranteed_buffers = f.pair->server_config.max_buffers = 10;
    f.pair->server_config.pressure = count_pressure;
    f.pair->server_config.pressure_user = &f;
    pair_connect(f.pair, 0);
    f.q = rssl_channel_outq(f.pair->server.ch);
    for (int i = 1; i <= 10; i++) { /* breach above 30 % */
        assert_int_equal(rssl_outq_write(f.q, message, 100), MD_OK);
        assert_int_equal(f.breaches, i > 3);
    }
    struct md_slice slices[4];
    assert_int_equal(rssl_channel_output(f.pair->server.ch, slices, 4), 1);
    for (int i = 1; i <= 10; i++) { /* relief below 10 % */
        rssl_channel_sent(f.pair->server.ch, 0, 103);
        assert_int_equal(f.reliefs, i == 10);
    }
    assert_int_equal(f.breaches, 1);
    pair_destroy(f.pair);
}

static void a_write_may_stop_anywhere(void **state)
{
    struct fixture f = open_queue(6144, 100, 400);
    static uint8_t bytes[2u << 20];
    uint64_t seed = 3;
    size_t total = 0, filled = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint8_t *room = rssl_outq_reserve(f.q, 74);
        assert_non_null(room);
        memset(room, i, 74);
        rssl_outq_commit(f.q, 74);
        total++;
    }
    while (!rssl_outq_is_empty(f.q)) {
        struct md_slice slices[2];
        size_t n = rssl_channel_output(f.pair->server.ch, slices, 2);
        assert_true(n > 0);
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        size_t offered = slices[0].length + (n > 1 ? slices[1].length : 0);
        size_t part = 1 + (size_t)(seed >> 33) % offered;
        size_t first = part < slices[0].length ? part : slices[0].length;
        memcpy(bytes + filled, slices[0].bytes, first);
        if (part > first)
            memcpy(bytes + filled + first, slices[1].bytes, part - first);
        filled += part;
        rssl_channel_sent(f.pair->server.ch, 0, part);
    }
    end_give(&f.pair->client, 0, bytes, filled);
    assert_int_equal(f.pair->client.messages, total);
    pair_destroy(f.pair);
}

static void an_idle_queue_holds_no_chunk(void **state)
{
    struct fixture f = open_queue(6144, 10, 10);
    struct rssl_pool_stats stats;

    (void)state;
    write_text(f.q, "something");
    pump(&f.pair->server, &f.pair->client, 0);
    rssl_pool_stats(f.pair->pool, &stats);
    assert_int_equal(stats.chunk_idle_count, stats.chunk_count);
    pair_destroy(f.pair);
}

static void the_longest_message_is_known_and_fits(void **state)
{
    static uint8_t message[100000];

    (void)state;
    for (uint32_t buffers = 1; buffers < 40; buffers++) {
        struct fixture f = open_queue(100, buffers, buffers);
        size_t max = rssl_outq_message_max(f.q);
        assert_true(max >= 100);
        assert_int_equal(rssl_outq_write(f.q, message, max), MD_OK);
        assert_true(rssl_outq_depth(f.q) <= buffers);
        pump(&f.pair->server, &f.pair->client, 0);
        assert_int_equal(f.pair->client.length, max);
        assert_int_equal(rssl_outq_write(f.q, message, max + 1), MD_ERR_RANGE);
        assert_int_equal(rssl_outq_write(f.q, message, 0), MD_ERR_RANGE);
        pair_destroy(f.pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_queued_together_share_a_frame),
        cmocka_unit_test(a_message_alone_is_a_plain_frame),
        cmocka_unit_test(without_packing_each_message_has_its_frame),
        cmocka_unit_test(a_frame_is_filled_to_its_last_byte),
        cmocka_unit_test(a_longer_message_is_cut_in_fragments),
        cmocka_unit_test(the_fragment_id_0_is_never_used),
        cmocka_unit_test(room_reserved_and_not_committed_is_forgotten),
        cmocka_unit_test(less_may_be_committed_than_was_reserved),
        cmocka_unit_test(a_queue_holds_its_maximum_and_no_more),
        cmocka_unit_test(what_goes_beyond_the_guaranteed_comes_from_the_shared_pool),
        cmocka_unit_test(the_last_quarter_of_the_pool_is_for_parties_that_have_little),
        cmocka_unit_test(crossing_the_marks_is_told_once_each_way),
        cmocka_unit_test(a_write_may_stop_anywhere),
        cmocka_unit_test(an_idle_queue_holds_no_chunk),
        cmocka_unit_test(the_longest_message_is_known_and_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
