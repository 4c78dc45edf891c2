/* test_attach_rings.c - the shared memory between rrcpd and its users, in one process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/attach.h"
#include "attach/shm.h"
#include "base/err.h"
#include "internal.h"

enum { RING = 65536, INBOUND = 1 << 17 };

/* ---- outbound ------------------------------------------------------------------------------- */

struct outbound {
    int fd;
    struct attach_outbound_map *map;
    struct outbound_writer writer;
    struct attach_outbound_reader reader;
};

static int outbound_setup(void **state)
{
    struct outbound *o = calloc(1, sizeof(*o));

    if (!o || attach_outbound_create(RING, &o->fd, &o->map) != 0)
        return -1;
    outbound_writer_init(&o->writer, o->map, RING);
    attach_outbound_reader_init(&o->reader, o->map, RING);
    *state = o;
    return 0;
}

static int outbound_teardown(void **state)
{
    struct outbound *o = *state;

    munmap(o->map, attach_outbound_map_bytes(RING));
    close(o->fd);
    free(o);
    return 0;
}

static int put(struct outbound *o, uint32_t topic, size_t length)
{
    struct backbone_target target = { .topic = topic };
    uint8_t *room;
    int err = outbound_claim(&o->writer, &target, length, &room);

    if (err)
        return err;
    memset(room, (int)(topic & 0xff), length);
    outbound_commit(&o->writer, length);
    return 0;
}

static void messages_come_out_as_they_went_in_over_many_laps(void **state)
{
    struct outbound *o = *state;
    struct rrcp_msg msg;
    uint32_t put_count = 0;
    uint32_t got_count = 0;

    while (got_count < 20000) {
        while (put(o, put_count, put_count % 700) == 0)
            put_count++;
        outbound_publish(&o->writer);
        while (attach_outbound_peek(&o->reader, &msg) == 1) {
            assert_int_equal(msg.topic, got_count);
            assert_int_equal(msg.length, got_count % 700);
            for (uint32_t i = 0; i < msg.length; i++)
                assert_int_equal(msg.bytes[i], got_count & 0xff);
            attach_outbound_take(&o->reader);
            got_count++;
        }
        attach_outbound_release(&o->reader);
    }
    assert_int_equal(put_count, got_count);
}

static void nothing_is_seen_before_it_is_published(void **state)
{
    struct outbound *o = *state;
    struct rrcp_msg msg;

    assert_int_equal(put(o, 1, 10), 0);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), 0);
    outbound_publish(&o->writer);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), 1);
}

static void a_full_ring_says_so_and_takes_more_once_it_is_read(void **state)
{
    struct outbound *o = *state;
    struct rrcp_msg msg;
    int count = 0;

    while (put(o, 7, 1000) == 0)
        count++;
    assert_int_equal(count, RING / 1024);
    assert_int_equal(put(o, 7, 1000), MD_ERR_FULL);
    outbound_publish(&o->writer);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), 1);
    attach_outbound_take(&o->reader);
    attach_outbound_release(&o->reader);
    assert_int_equal(put(o, 7, 1000), 0);
}

static void a_message_longer_than_half_the_ring_is_refused(void **state)
{
    assert_int_equal(put(*state, 7, RING / 2), MD_ERR_RANGE);
    assert_int_equal(put(*state, 7, RING / 2 - 24), 0);
}

static void what_a_user_wants_stands_among_its_messages(void **state)
{
    static const uint32_t topics[] = { 7, 0, 4000000000u };
    struct outbound *o = *state;
    struct rrcp_msg msg;

    assert_int_equal(put(o, 1, 10), 0);
    assert_int_equal(outbound_want(&o->writer, topics, 3), 0);
    assert_int_equal(put(o, 2, 10), 0);
    assert_int_equal(outbound_want(&o->writer, NULL, 0), 0);
    assert_int_equal(outbound_want(&o->writer, topics, 0), 0);
    outbound_publish(&o->writer);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), ATTACH_PEEK_MESSAGE);
    assert_int_equal(msg.topic, 1);
    attach_outbound_take(&o->reader);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), ATTACH_PEEK_WANT);
    assert_false(o->reader.wants_all);
    assert_int_equal(msg.length, sizeof(topics));
    assert_memory_equal(msg.bytes, topics, sizeof(topics));
    attach_outbound_take(&o->reader);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), ATTACH_PEEK_MESSAGE);
    assert_int_equal(msg.topic, 2);
    attach_outbound_take(&o->reader);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), ATTACH_PEEK_WANT);
    assert_true(o->reader.wants_all);
    attach_outbound_take(&o->reader);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), ATTACH_PEEK_WANT);
    assert_false(o->reader.wants_all);
    assert_int_equal(msg.length, 0);
    attach_outbound_take(&o->reader);
    assert_int_equal(attach_outbound_peek(&o->reader, &msg), ATTACH_PEEK_NOTHING);
}

static void a_wish_that_cannot_be_is_a_violation(void **state)
{
    static const struct attach_outbound_record wishes[] = {
        { .length = 24 + 4 * (BACKBONE_TOPICS_MAX + 1), .type = ATTACH_OUTBOUND_WANT },
        { .length = 24 + 5, .type = ATTACH_OUTBOUND_WANT },
        { .length = 24 + 4, .type = ATTACH_OUTBOUND_WANT, .flags = ATTACH_OUTBOUND_EVERYTHING },
        { .length = 24, .type = ATTACH_OUTBOUND_WANT + 1 },
    };
    struct outbound *o = *state;
    struct rrcp_msg msg;

    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        memcpy(o->map->data, &wishes[i], sizeof(wishes[i]));
        atomic_store(&o->map->head, 2048);
        o->reader.head = o->reader.tail = 0;
        assert_int_equal(attach_outbound_peek(&o->reader, &msg), MD_ERR_MALFORMED);
    }
}

static void a_lying_head_is_a_violation(void **state)
{
    static const uint64_t heads[] = { RING + 8, 4, 1ull << 63, UINT64_MAX };
    struct outbound *o = *state;
    struct rrcp_msg msg;

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        atomic_store(&o->map->head, heads[i]);
        assert_int_equal(attach_outbound_peek(&o->reader, &msg), MD_ERR_MALFORMED);
    }
}

static void a_lying_length_is_a_violation(void **state)
{
    static const uint32_t lengths[] = {
        0, 23, 33, 100, RING, RING + 1, UINT32_MAX - 3, UINT32_MAX
    };
    struct outbound *o = *state;
    struct rrcp_msg msg;

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct attach_outbound_record record = { .length = lengths[i],
                                                 .type = ATTACH_OUTBOUND_SEND };
        memcpy(o->map->data, &record, sizeof(record));
        atomic_store(&o->map->head, 32);
        o->reader.head = o->reader.tail = 0;
        assert_int_equal(attach_outbound_peek(&o->reader, &msg), MD_ERR_MALFORMED);
    }
}

/* ---- inbound -------------------------------------------------------------------------------- */

struct inbound {
    struct attach_inbound_writer *writer;
    const struct attach_inbound_map *map;
    struct attach_counters counters;
    struct inbound_reader reader;
};

enum { OWN = 1000, PEER = 2000, OTHER = 3000 };

static int inbound_setup(void **state)
{
    struct inbound *in = calloc(1, sizeof(*in));
    struct attach_inbound_config config = { .size = INBOUND, .session = OWN, .message_max = 8192 };

    if (!in || attach_inbound_create(&config, &in->writer) != 0)
        return -1;
    in->map = mmap(NULL, sizeof(*in->map) + INBOUND, PROT_READ, MAP_SHARED,
                   attach_inbound_fd(in->writer), 0);
    in->reader.counters = &in->counters;
    *state = in;
    return in->map == MAP_FAILED ? -1 : 0;
}

static int inbound_teardown(void **state)
{
    struct inbound *in = *state;

    inbound_fini(&in->reader);
    munmap((void *)(uintptr_t)in->map, sizeof(*in->map) + INBOUND);
    attach_inbound_destroy(in->writer);
    free(in);
    return 0;
}

static void say(struct inbound *in, uint8_t type, uint64_t session, uint64_t seq, uint32_t length,
                uint16_t port)
{
    static uint8_t bytes[8192];
    struct backbone_event event = { .type = type,
                                    .session = session,
                                    .seq = seq,
                                    .topic = 42,
                                    .dst_port = port,
                                    .bytes = bytes,
                                    .length = length };

    memset(bytes, (int)(seq & 0xff), sizeof(bytes));
    attach_inbound_put(in->writer, &event);
}

static void a_new_reader_is_told_of_every_peer_first(void **state)
{
    struct inbound *in = *state;
    struct backbone_event events[8];

    say(in, BACKBONE_PEER_UP, PEER, 0, 0, 0);
    say(in, BACKBONE_MESSAGE, PEER, 1, 10, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_start(&in->reader, in->map, 1), 0);
    say(in, BACKBONE_MESSAGE, PEER, 2, 10, 0);
    attach_inbound_publish(in->writer);

    assert_int_equal(inbound_read(&in->reader, events, 8), 1);
    assert_int_equal(events[0].type, BACKBONE_PEER_UP);
    assert_int_equal(events[0].session, PEER);
    assert_int_equal(inbound_read(&in->reader, events, 8), 1);
    assert_int_equal(events[0].type, BACKBONE_MESSAGE);
    assert_int_equal(events[0].seq, 2);
    assert_int_equal(inbound_read(&in->reader, events, 8), 0);
}

static void messages_for_another_port_are_skipped(void **state)
{
    struct inbound *in = *state;
    struct backbone_event events[8];

    assert_int_equal(inbound_start(&in->reader, in->map, 5), 0);
    say(in, BACKBONE_MESSAGE, PEER, 1, 10, 4);
    say(in, BACKBONE_MESSAGE, PEER, 2, 20, 5);
    say(in, BACKBONE_MESSAGE, PEER, 3, 30, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_read(&in->reader, events, 8), 2);
    assert_int_equal(events[0].length, 20);
    assert_int_equal(events[1].length, 30);
    assert_int_equal(in->counters.messages_skipped, 1);
}

static void a_reader_over_many_laps_misses_nothing_while_it_keeps_up(void **state)
{
    struct inbound *in = *state;
    struct backbone_event events[16];
    uint64_t seq = 0;
    uint64_t expected = 1;

    assert_int_equal(inbound_start(&in->reader, in->map, 1), 0);
    for (int round = 0; round < 3000; round++) {
        for (int i = 0; i < 10; i++) {
            seq++;
            say(in, BACKBONE_MESSAGE, PEER, seq, (uint32_t)(seq * 37 % 900), 0);
        }
        attach_inbound_publish(in->writer);
        int count;
        while ((count = inbound_read(&in->reader, events, 16)) > 0)
            for (int i = 0; i < count; i++) {
                assert_int_equal(events[i].seq, expected);
                assert_int_equal(events[i].length, expected * 37 % 900);
                for (uint32_t b = 0; b < events[i].length; b++)
                    assert_int_equal(events[i].bytes[b], expected & 0xff);
                expected++;
            }
    }
    assert_int_equal(expected, seq + 1);
    assert_int_equal(in->counters.overruns, 0);
}

static void a_lapped_reader_learns_exactly_what_it_missed_of_whom(void **state)
{
    struct inbound *in = *state;
    struct backbone_event events[16];

    say(in, BACKBONE_PEER_UP, PEER, 0, 0, 0);
    say(in, BACKBONE_PEER_UP, OTHER, 0, 0, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_start(&in->reader, in->map, 1), 0);
    assert_int_equal(inbound_read(&in->reader, events, 16), 2);
    say(in, BACKBONE_MESSAGE, OTHER, 77, 10, 0);
    say(in, BACKBONE_MESSAGE, PEER, 5, 10, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_read(&in->reader, events, 16), 2);

    for (uint64_t seq = 6; seq <= 405; seq++)
        say(in, BACKBONE_MESSAGE, PEER, seq, 1000, 0);
    attach_inbound_publish(in->writer);

    assert_int_equal(inbound_read(&in->reader, events, 16), 2);
    assert_int_equal(events[0].type, BACKBONE_OVERRUN);
    assert_int_equal(events[1].type, BACKBONE_GAP);
    assert_int_equal(events[1].reason, BACKBONE_GAP_OVERRUN);
    assert_int_equal(events[1].session, PEER);
    assert_int_equal(events[1].count, 400);
    assert_int_equal(events[1].last, 405);
    say(in, BACKBONE_MESSAGE, PEER, 406, 10, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_read(&in->reader, events, 16), 1);
    assert_int_equal(events[0].seq, 406);
}

static void a_lapped_reader_learns_who_came_and_went(void **state)
{
    struct inbound *in = *state;
    struct backbone_event events[16];

    say(in, BACKBONE_PEER_UP, PEER, 0, 0, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_start(&in->reader, in->map, 1), 0);
    assert_int_equal(inbound_read(&in->reader, events, 16), 1);
    for (uint64_t seq = 1; seq <= 200; seq++)
        say(in, BACKBONE_MESSAGE, PEER, seq, 1000, 0);
    say(in, BACKBONE_PEER_DOWN, PEER, 0, 0, 0);
    say(in, BACKBONE_PEER_UP, OTHER, 0, 0, 0);
    for (uint64_t seq = 1; seq <= 10; seq++)
        say(in, BACKBONE_MESSAGE, OTHER, seq, 1000, 0);
    attach_inbound_publish(in->writer);
    assert_int_equal(inbound_read(&in->reader, events, 16), 3);
    assert_int_equal(events[0].type, BACKBONE_OVERRUN);
    assert_int_equal(events[1].type, BACKBONE_PEER_UP);
    assert_int_equal(events[1].session, OTHER);
    assert_int_equal(events[2].type, BACKBONE_PEER_DOWN);
    assert_int_equal(events[2].session, PEER);
}

static void a_torn_record_reaches_nobody(void **state)
{
    struct inbound *in = *state;
    struct backbone_event events[16];

    assert_int_equal(inbound_start(&in->reader, in->map, 1), 0);
    say(in, BACKBONE_MESSAGE, PEER, 1, 100, 0);
    attach_inbound_publish(in->writer);
    /* The writer comes around but has not published: written still says there is one record. */
    for (uint64_t seq = 2; seq <= 140; seq++)
        say(in, BACKBONE_MESSAGE, PEER, seq, 1000, 0);
    int count = inbound_read(&in->reader, events, 16);
    for (int i = 0; i < count; i++)
        assert_int_not_equal(events[i].type, BACKBONE_MESSAGE);
    assert_int_equal(in->counters.overruns, 1);
}

static void the_ring_cannot_be_mapped_for_writing(void **state)
{
    struct inbound *in = *state;
    void *map =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, attach_inbound_fd(in->writer), 0);

    assert_ptr_equal(map, MAP_FAILED);
}

int main(void)
{
#define OUTBOUND(test)     cmocka_unit_test_setup_teardown(test, outbound_setup, outbound_teardown)
#define INBOUND_TEST(test) cmocka_unit_test_setup_teardown(test, inbound_setup, inbound_teardown)
    const struct CMUnitTest tests[] = {
        OUTBOUND(messages_come_out_as_they_went_in_over_many_laps),
        OUTBOUND(nothing_is_seen_before_it_is_published),
        OUTBOUND(a_full_ring_says_so_and_takes_more_once_it_is_read),
        OUTBOUND(a_message_longer_than_half_the_ring_is_refused),
        OUTBOUND(a_lying_head_is_a_violation),
        OUTBOUND(what_a_user_wants_stands_among_its_messages),
        OUTBOUND(a_wish_that_cannot_be_is_a_violation),
        OUTBOUND(a_lying_length_is_a_violation),
        INBOUND_TEST(a_new_reader_is_told_of_every_peer_first),
        INBOUND_TEST(messages_for_another_port_are_skipped),
        INBOUND_TEST(a_reader_over_many_laps_misses_nothing_while_it_keeps_up),
        INBOUND_TEST(a_lapped_reader_learns_exactly_what_it_missed_of_whom),
        INBOUND_TEST(a_lapped_reader_learns_who_came_and_went),
        INBOUND_TEST(a_torn_record_reaches_nobody),
        INBOUND_TEST(the_ring_cannot_be_mapped_for_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
