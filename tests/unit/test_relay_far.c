/* test_relay_far.c - nodes behind relays: who brings them, what is told of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "relay/far.h"

enum { SELF = 1, RELAY_A = 100, RELAY_B = 200, FAR_NODE = 7, ROOM = 256 };

struct bed {
    struct relay_far *far;
    struct relay_event out[32];
    char text[32][ROOM];
    int count;
    uint64_t rx_ns;
};

static void feed(struct bed *bed, const struct backbone_event *in)
{
    struct relay_event event;

    bed->count = 0;
    for (bool more = relay_far_take(bed->far, in, &event); more;
         more = relay_far_take(bed->far, NULL, &event)) {
        assert_true(bed->count < 32);
        if (event.event.bytes && event.event.length < ROOM)
            memcpy(bed->text[bed->count], event.event.bytes, event.event.length);
        bed->out[bed->count++] = event;
    }
    assert_null(relay_far_check(bed->far));
}

static void relayed(struct bed *bed, uint64_t relay, const struct relay_message *message,
                    const void *bytes, size_t length)
{
    uint8_t buffer[ROOM];
    size_t head = relay_encode(message, buffer);

    memcpy(buffer + head, bytes, length);
    feed(bed, &(struct backbone_event){ .type = BACKBONE_MESSAGE,
                                        .session = relay,
                                        .src_port = RELAY_PORT,
                                        .topic = 5,
                                        .rx_ns = bed->rx_ns,
                                        .bytes = buffer,
                                        .length = (uint32_t)(head + length) });
}

static void route(struct bed *bed, uint64_t relay, uint64_t id, uint8_t state, uint32_t number,
                  uint8_t hops)
{
    uint8_t bytes[ROOM];
    struct relay_route one = { .number = number,
                               .hops = hops,
                               .state = state,
                               .name_length = 3,
                               .session = FAR_NODE,
                               .weight = id,
                               .name = "far" };
    size_t length = relay_route_encode(&one, bytes);

    relayed(bed, relay, &(struct relay_message){ .kind = RELAY_ROUTES, .count = 1, .id = id },
            bytes, length);
}

static void stream(struct bed *bed, uint64_t relay, uint32_t number, uint64_t seq)
{
    relayed(bed, relay,
            &(struct relay_message){
                .kind = RELAY_STREAM, .hops = 1, .port = 3, .number = number, .seq = seq },
            "tick", 4);
}

static void engine(struct bed *bed, uint8_t type, uint64_t session, uint8_t reason)
{
    feed(bed, &(struct backbone_event){
                  .type = type, .session = session, .reason = reason, .count = 2 });
}

static void open_bed(struct bed *bed)
{
    *bed = (struct bed){ 0 };
    assert_int_equal(relay_far_create(SELF, false, &bed->far), 0);
    engine(bed, BACKBONE_PEER_UP, RELAY_A, 0);
    engine(bed, BACKBONE_PEER_UP, RELAY_B, 0);
}

static void a_node_behind_a_relay_looks_like_any_other(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    stream(&bed, RELAY_A, 1, 4);
    assert_int_equal(bed.count, 0); /* nobody has said what number 1 is */
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    assert_int_equal(bed.count, 2);
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_UP);
    assert_int_equal(bed.out[0].event.session, FAR_NODE);
    assert_int_equal(bed.out[1].event.type, BACKBONE_PEER_INFO);
    assert_memory_equal(bed.text[1], "far", 3);
    stream(&bed, RELAY_A, 1, 5);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.session, FAR_NODE);
    assert_int_equal(bed.out[0].event.src_port, 3);
    assert_int_equal(bed.out[0].event.seq, 5);
    assert_int_equal(bed.out[0].event.topic, 5);
    assert_int_equal(bed.out[0].event.length, 4);
    assert_memory_equal(bed.text[0], "tick", 4);
    relayed(&bed, RELAY_A,
            &(struct relay_message){ .kind = RELAY_NOTICE,
                                     .notice = RELAY_NOTICE_USER_DOWN,
                                     .port = 3,
                                     .number = 1,
                                     .reason = 2 },
            "", 0);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_USER_DOWN);
    assert_int_equal(bed.out[0].event.src_port, 3);
    engine(&bed, BACKBONE_PEER_DOWN, RELAY_A, BACKBONE_DOWN_BYE);
    assert_int_equal(bed.count, 2);
    assert_int_equal(bed.out[1].event.type, BACKBONE_PEER_DOWN);
    assert_int_equal(bed.out[1].event.session, FAR_NODE);
    assert_int_equal(bed.out[1].event.reason, BACKBONE_DOWN_BYE);
    relay_far_destroy(bed.far);
}

static void the_way_with_fewer_hops_brings_it_then_the_lower_weight(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 2);
    stream(&bed, RELAY_A, 1, 5);
    assert_int_equal(bed.count, 1);
    route(&bed, RELAY_B, 22, RELAY_ROUTE_UP, 9, 2);
    assert_int_equal(bed.count, 0); /* a higher weight */
    stream(&bed, RELAY_B, 9, 6);
    assert_int_equal(bed.count, 0);
    route(&bed, RELAY_B, 22, RELAY_ROUTE_UP, 9, 1);
    assert_int_equal(bed.count, 3); /* DOWN, UP, INFO: the change is told */
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_DOWN);
    assert_int_equal(bed.out[1].event.type, BACKBONE_PEER_UP);
    stream(&bed, RELAY_B, 9, 5);
    assert_int_equal(bed.count, 0); /* the other one has brought it */
    stream(&bed, RELAY_B, 9, 6);
    assert_int_equal(bed.count, 1);
    stream(&bed, RELAY_A, 1, 7);
    assert_int_equal(bed.count, 0);
    relay_far_destroy(bed.far);
}

static void one_that_is_heard_directly_is_not_taken_through_a_relay(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    engine(&bed, BACKBONE_PEER_UP, FAR_NODE, 0);
    assert_int_equal(bed.count, 2);
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_DOWN);
    assert_int_equal(bed.out[1].event.type, BACKBONE_PEER_UP);
    stream(&bed, RELAY_A, 1, 5);
    assert_int_equal(bed.count, 0);
    engine(&bed, BACKBONE_PEER_DOWN, FAR_NODE, BACKBONE_DOWN_TIMEOUT);
    assert_int_equal(bed.count, 3); /* and comes back through the relay */
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_DOWN);
    assert_int_equal(bed.out[1].event.type, BACKBONE_PEER_UP);
    relay_far_destroy(bed.far);
}

static void what_the_relay_lost_is_told_of_each_that_it_brings(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    engine(&bed, BACKBONE_GAP, RELAY_A, BACKBONE_GAP_TIMEOUT);
    assert_int_equal(bed.count, 2);
    assert_int_equal(bed.out[1].event.type, BACKBONE_GAP);
    assert_int_equal(bed.out[1].event.session, FAR_NODE);
    assert_int_equal(bed.out[1].event.reason, BACKBONE_GAP_TIMEOUT);
    engine(&bed, BACKBONE_GAP, RELAY_B, BACKBONE_GAP_TIMEOUT);
    assert_int_equal(bed.count, 1);
    relayed(&bed, RELAY_A,
            &(struct relay_message){ .kind = RELAY_NOTICE,
                                     .notice = RELAY_NOTICE_GAP,
                                     .number = 1,
                                     .seq = 8,
                                     .last = 9,
                                     .lost = 2,
                                     .reason = BACKBONE_GAP_NOT_HELD },
            "", 0);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.reason, BACKBONE_GAP_NOT_HELD);
    assert_int_equal(bed.out[0].event.seq, 8);
    assert_int_equal(bed.out[0].event.last, 9);
    relay_far_destroy(bed.far);
}

static void assert_reset(const struct bed *bed, int i)
{
    assert_int_equal(bed->out[i].event.type, BACKBONE_GAP);
    assert_int_equal(bed->out[i].event.session, FAR_NODE);
    assert_int_equal(bed->out[i].event.reason, BACKBONE_GAP_UNICAST_RESET);
    assert_int_equal(bed->out[i].event.flags, BACKBONE_FLAG_UNICAST);
}

static struct relay_message to_us(void)
{
    return (struct relay_message){ .kind = RELAY_TO,
                                   .hops = 1,
                                   .flags = RELAY_FLAG_UNICAST,
                                   .port = 3,
                                   .origin = FAR_NODE,
                                   .target = SELF };
}

static void unicast_that_comes_before_its_sender_or_another_way_is_told(void **state)
{
    struct bed bed;
    struct relay_message to = to_us();

    (void)state;
    open_bed(&bed);
    relayed(&bed, RELAY_B, &to, "x", 1); /* B has not said that it is a relay */
    route(&bed, RELAY_A, 11, RELAY_ROUTE_CLAIM, 0, 1);
    relayed(&bed, RELAY_A, &to, "x", 1);
    assert_int_equal(bed.count, 0);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    assert_int_equal(bed.count, 3);
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_UP);
    assert_reset(&bed, 2);
    relayed(&bed, RELAY_A, &to, "x", 1);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_MESSAGE);
    route(&bed, RELAY_B, 22, RELAY_ROUTE_UP, 1, 1);
    relayed(&bed, RELAY_B, &to, "x", 1); /* which does not bring it */
    assert_int_equal(bed.count, 1);
    assert_reset(&bed, 0);
    to.hops = 0; /* no relay has seen it: then it must be the sender's own */
    relayed(&bed, RELAY_A, &to, "x", 1);
    assert_int_equal(bed.count, 0);
    relay_far_destroy(bed.far);
}

static void resets_between_a_relay_and_us_are_told_of_all_that_it_brings(void **state)
{
    struct bed bed;
    struct relay_message reset = { .kind = RELAY_RESET, .hops = 1, .target = SELF };

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    engine(&bed, BACKBONE_GAP, RELAY_A, BACKBONE_GAP_UNICAST_RESET); /* we only send to it */
    assert_int_equal(bed.count, 2);
    assert_reset(&bed, 1);
    feed(&bed, &(struct backbone_event){ .type = BACKBONE_GAP,
                                         .session = RELAY_A,
                                         .reason = BACKBONE_GAP_POOL,
                                         .flags = BACKBONE_FLAG_UNICAST,
                                         .count = 1 });
    assert_int_equal(bed.count, 2);
    assert_reset(&bed, 1);
    relayed(&bed, RELAY_A, &reset, "", 0);
    assert_int_equal(bed.count, 1);
    assert_reset(&bed, 0);
    reset.origin = FAR_NODE;
    relayed(&bed, RELAY_A, &reset, "", 0);
    assert_int_equal(bed.count, 1);
    assert_reset(&bed, 0);
    reset.origin = 99; /* which it does not offer */
    relayed(&bed, RELAY_A, &reset, "", 0);
    assert_int_equal(bed.count, 0);
    relay_far_destroy(bed.far);
}

static void a_relay_speaks_for_those_that_it_brings_alone(void **state)
{
    struct bed bed;
    struct relay_message to = to_us();

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    relayed(&bed, RELAY_B,
            &(struct relay_message){ .kind = RELAY_ROUTES, .flags = RELAY_FLAG_FULL, .id = 5 }, "",
            0);
    to.origin = RELAY_A;
    relayed(&bed, RELAY_B, &to, "x", 1); /* heard directly */
    assert_int_equal(bed.count, 0);
    to = to_us();
    to.flags = 0;
    relayed(&bed, RELAY_B, &to, "x", 1);
    assert_int_equal(bed.count, 0);
    to.kind = RELAY_DROPPED;
    relayed(&bed, RELAY_B, &to, "", 0);
    assert_int_equal(bed.count, 0);
    relay_far_destroy(bed.far);
}

static void a_full_list_ends_what_is_not_in_it(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    relayed(&bed, RELAY_A,
            &(struct relay_message){ .kind = RELAY_ROUTES, .flags = RELAY_FLAG_FULL, .id = 11 }, "",
            0);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_DOWN);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 2, 1);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 3, 1);
    assert_int_equal(bed.count, 3); /* carried anew: what came between is not known */
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_DOWN);
    relay_far_destroy(bed.far);
}

static void drops_are_told_to_the_user_that_sent(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    relay_far_dropped(bed.far, FAR_NODE, 4);
    relay_far_dropped(bed.far, FAR_NODE, 4);
    feed(&bed, &(struct backbone_event){
                   .type = BACKBONE_TX_DROPPED, .session = RELAY_A, .dst_port = RELAY_PORT });
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_TX_DROPPED);
    assert_int_equal(bed.out[0].event.session, FAR_NODE);
    assert_int_equal(bed.out[0].event.dst_port, 4);
    assert_int_equal(bed.out[0].event.count, 2);
    relay_far_destroy(bed.far);
}

static void more_drops_than_can_be_counted_are_told_as_a_reset(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    for (uint16_t port = 1; port <= 64; port++)
        relay_far_dropped(bed.far, 99, port);
    assert_false(relay_far_has_more(bed.far));
    relay_far_dropped(bed.far, FAR_NODE, 4);
    assert_true(relay_far_has_more(bed.far));
    feed(&bed, NULL);
    assert_int_equal(bed.count, 1);
    assert_reset(&bed, 0);
    relay_far_destroy(bed.far);
}

static void a_message_too_long_for_the_head_is_told_at_once(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    relay_far_too_long(bed.far, FAR_NODE, 4);
    assert_true(relay_far_has_more(bed.far));
    feed(&bed, NULL);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_TX_DROPPED);
    assert_int_equal(bed.out[0].event.session, FAR_NODE);
    assert_int_equal(bed.out[0].event.dst_port, 4);
    assert_false(relay_far_has_more(bed.far));
    assert_int_equal(relay_far_counters(bed.far)->too_long, 1);
    relay_far_destroy(bed.far);
}

static void a_false_place_does_not_silence_a_node_for_ever(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bed.rx_ns = 1000000000;
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    stream(&bed, RELAY_A, 1, UINT64_MAX);
    assert_int_equal(bed.count, 1);
    stream(&bed, RELAY_A, 1, 5);
    assert_int_equal(bed.count, 0);
    bed.rx_ns += 11000000000;
    stream(&bed, RELAY_A, 1, 6);
    assert_int_equal(bed.count, 2);
    assert_int_equal(bed.out[0].event.type, BACKBONE_GAP);
    assert_int_equal(bed.out[0].event.flags, 0);
    assert_int_equal(bed.out[1].event.seq, 6);
    stream(&bed, RELAY_A, 1, 7);
    assert_int_equal(bed.count, 1);
    relay_far_destroy(bed.far);
}

/* Its relay is that far behind the one before. */
static void time_does_not_run_backward_and_the_silence_is_told(void **state)
{
    struct bed bed;
    int gaps = 0;

    (void)state;
    open_bed(&bed);
    bed.rx_ns = 1000000000;
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    stream(&bed, RELAY_A, 1, 1000);
    engine(&bed, BACKBONE_PEER_DOWN, RELAY_A, BACKBONE_DOWN_BYE);
    route(&bed, RELAY_B, 22, RELAY_ROUTE_UP, 1, 1);
    for (uint64_t seq = 1; seq <= 25; seq++) {
        bed.rx_ns += 1000000000;
        stream(&bed, RELAY_B, 1, seq);
        for (int i = 0; i < bed.count; i++) {
            assert_int_equal(bed.out[i].event.type, BACKBONE_GAP);
            gaps++;
        }
    }
    assert_int_equal(gaps, 2);
    stream(&bed, RELAY_B, 1, 1001);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_MESSAGE);
    relay_far_destroy(bed.far);
}

/* A reason of a later release. */
static void the_end_of_a_user_is_told_whatever_the_reason(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    for (int i = 0; i < 2; i++) {
        relayed(&bed, RELAY_A,
                &(struct relay_message){ .kind = RELAY_NOTICE,
                                         .notice = RELAY_NOTICE_USER_DOWN,
                                         .port = 3,
                                         .number = 1,
                                         .reason = i ? 200 : 0 },
                "", 0);
        assert_int_equal(bed.count, 1);
        assert_int_equal(bed.out[0].event.type, BACKBONE_USER_DOWN);
        assert_int_equal(bed.out[0].event.reason, BACKBONE_USER_DETACHED);
    }
    assert_int_equal(relay_far_counters(bed.far)->malformed, 0);
    relay_far_destroy(bed.far);
}

static void a_list_in_parts_ends_what_is_in_none_of_them(void **state)
{
    struct bed bed;
    struct relay_message part = { .kind = RELAY_ROUTES, .id = 11 };

    (void)state;
    open_bed(&bed);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    part.flags = RELAY_FLAG_LAST; /* the beginning was lost */
    relayed(&bed, RELAY_A, &part, "", 0);
    assert_int_equal(bed.count, 0);
    part.flags = RELAY_FLAG_FIRST;
    relayed(&bed, RELAY_A, &part, "", 0);
    route(&bed, RELAY_A, 11, RELAY_ROUTE_UP, 1, 1);
    part.flags = RELAY_FLAG_LAST;
    relayed(&bed, RELAY_A, &part, "", 0);
    assert_int_equal(bed.count, 0);
    part.flags = RELAY_FLAG_FIRST;
    relayed(&bed, RELAY_A, &part, "", 0);
    assert_int_equal(bed.count, 0);
    part.flags = RELAY_FLAG_LAST;
    relayed(&bed, RELAY_A, &part, "", 0);
    assert_int_equal(bed.count, 1);
    assert_int_equal(bed.out[0].event.type, BACKBONE_PEER_DOWN);
    relay_far_destroy(bed.far);
}

static void more_relays_than_there_are_places_are_counted(void **state)
{
    struct bed bed;
    struct relay_message routes = { .kind = RELAY_ROUTES, .flags = RELAY_FLAG_FULL, .id = 5 };

    (void)state;
    open_bed(&bed);
    for (uint64_t i = 0; i < RELAY_RELAYS_MAX; i++)
        relayed(&bed, 1000 + i, &routes, "", 0);
    assert_int_equal(relay_far_counters(bed.far)->relays_full, 0);
    relayed(&bed, 2000, &routes, "", 0);
    assert_int_equal(relay_far_counters(bed.far)->relays_full, 1);
    assert_int_equal(relay_far_counters(bed.far)->relays_now, 32);
    relay_far_destroy(bed.far);
}

/* Then an older release drops it: it would take it for a record of a version. */
static void byte_1_is_below_16_for_ever(void **state)
{
    uint8_t bytes[RELAY_TO_BYTES];
    struct relay_message message = { .kind = RELAY_TO, .port = 3, .origin = 1, .target = 2 }, out;

    (void)state;
    (void)relay_encode(&message, bytes);
    assert_true(relay_decode(bytes, sizeof(bytes), &out));
    bytes[1] = RELAY_BYTE_1_MAX;
    assert_true(relay_decode(bytes, sizeof(bytes), &out));
    bytes[1] = 16;
    assert_false(relay_decode(bytes, sizeof(bytes), &out));
}

static void nodes_behind_relays_are_bounded(void **state)
{
    struct bed bed;
    struct relay_route one = {
        .number = 1, .hops = 1, .state = RELAY_ROUTE_UP, .weight = 5, .name = ""
    };
    uint8_t bytes[RELAY_ROUTE_BYTES];

    (void)state;
    open_bed(&bed);
    for (uint32_t i = 1; i <= 600; i++) {
        one.session = 1000 + i;
        one.number = i;
        (void)relay_route_encode(&one, bytes);
        relayed(&bed, RELAY_A, &(struct relay_message){ .kind = RELAY_ROUTES, .count = 1, .id = 5 },
                bytes, sizeof(bytes));
    }
    assert_int_equal(relay_far_counters(bed.far)->sessions_now, RELAY_SESSIONS_MAX);
    assert_int_equal(relay_far_counters(bed.far)->full, 600 - RELAY_SESSIONS_MAX);
    relay_far_destroy(bed.far);
}

/* Users have a row for each node, near or far. */
static void nodes_near_and_far_together_are_bounded(void **state)
{
    struct bed bed;
    struct relay_route one = { .hops = 1, .state = RELAY_ROUTE_UP, .weight = 5 };
    uint8_t bytes[RELAY_ROUTE_BYTES];

    (void)state;
    open_bed(&bed);
    for (uint64_t i = 0; i < 1024 - 2; i++)
        engine(&bed, BACKBONE_PEER_UP, 10000 + i, 0);
    for (uint32_t i = 1; i <= 100; i++) {
        one.session = 1000 + i;
        one.number = i;
        (void)relay_route_encode(&one, bytes);
        relayed(&bed, RELAY_A, &(struct relay_message){ .kind = RELAY_ROUTES, .count = 1, .id = 5 },
                bytes, sizeof(bytes));
    }
    assert_int_equal(relay_far_counters(bed.far)->sessions_now, RELAY_NODES_MAX - 1024);
    assert_int_equal(relay_far_counters(bed.far)->full, 100 - (RELAY_NODES_MAX - 1024));
    relay_far_destroy(bed.far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_behind_a_relay_looks_like_any_other),
        cmocka_unit_test(the_way_with_fewer_hops_brings_it_then_the_lower_weight),
        cmocka_unit_test(one_that_is_heard_directly_is_not_taken_through_a_relay),
        cmocka_unit_test(what_the_relay_lost_is_told_of_each_that_it_brings),
        cmocka_unit_test(unicast_that_comes_before_its_sender_or_another_way_is_told),
        cmocka_unit_test(resets_between_a_relay_and_us_are_told_of_all_that_it_brings),
        cmocka_unit_test(a_relay_speaks_for_those_that_it_brings_alone),
        cmocka_unit_test(a_full_list_ends_what_is_not_in_it),
        cmocka_unit_test(drops_are_told_to_the_user_that_sent),
        cmocka_unit_test(more_drops_than_can_be_counted_are_told_as_a_reset),
        cmocka_unit_test(a_message_too_long_for_the_head_is_told_at_once),
        cmocka_unit_test(a_false_place_does_not_silence_a_node_for_ever),
        cmocka_unit_test(time_does_not_run_backward_and_the_silence_is_told),
        cmocka_unit_test(the_end_of_a_user_is_told_whatever_the_reason),
        cmocka_unit_test(a_list_in_parts_ends_what_is_in_none_of_them),
        cmocka_unit_test(more_relays_than_there_are_places_are_counted),
        cmocka_unit_test(byte_1_is_below_16_for_ever),
        cmocka_unit_test(nodes_behind_relays_are_bounded),
        cmocka_unit_test(nodes_near_and_far_together_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
