/* test_forward.c - a relay alone: what it forwards, when it stands by, what it tells as lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backbone/topic.h"
#include "base/clock.h"
#include "forward/forward.h"
#include "rrmp/record.h"

enum { A = 0, B = 1, OWN_A = 10, OWN_B = 20, SOURCE = 1000, SINK = 2000, OTHER = 500 };

#define MAX_BYTES (64u << 10)

static uint64_t own_a = OWN_A, own_b = OWN_B; /* another relay has others */

struct bed {
    struct forward *f;
    uint64_t now_ns, seq;
    uint8_t record[4096];
    int streams, tos, drops, routes_up, routes_down, claims, notices, resets, parts, listed;
    uint64_t weight;
    size_t routes_bytes;
    int resets_of_sink;
    struct relay_message last; /* STREAM, TO, DROPPED, NOTICE */
    struct rrcp_msg last_msg;
    uint8_t bytes[4096];
};

static struct forward_name name(const char *text)
{
    return (struct forward_name){ text, strlen(text) };
}

static void open_with(struct bed *bed, uint32_t max_bytes, size_t topic_count)
{
    struct forward_name services[] = { name("IDN"), name("ELEKTRON") };
    struct forward_name topics[] = { name("risk.*"), name("clock") };
    struct forward_config config = { .session = { own_a, own_b },
                                     .id = 50,
                                     .services = services,
                                     .service_count = 2,
                                     .topics = topics,
                                     .topic_count = topic_count,
                                     .message_bytes_max = { MAX_BYTES, max_bytes } };

    *bed = (struct bed){ .now_ns = MD_NS_PER_S };
    assert_int_equal(forward_create(&config, &bed->f), 0);
}

static void open_bed(struct bed *bed)
{
    open_with(bed, MAX_BYTES, 0);
}

static void look_at_routes(struct bed *bed, const struct relay_message *message)
{
    struct relay_route route;
    size_t at = 0;

    bed->parts += message->count > 0;
    bed->listed += message->flags & RELAY_FLAG_LAST && message->count > 0;
    if (message->length + RELAY_ROUTES_BYTES > bed->routes_bytes)
        bed->routes_bytes = message->length + RELAY_ROUTES_BYTES;
    if (message->flags & RELAY_FLAG_FULL)
        return;
    while (relay_route_next(message, &at, &route)) {
        bed->weight = route.weight;
        bed->routes_up += route.state == RELAY_ROUTE_UP;
        bed->routes_down += route.state == RELAY_ROUTE_DOWN;
        bed->claims += route.state == RELAY_ROUTE_CLAIM;
    }
}

static void drain(struct bed *bed, int side)
{
    struct rrcp_msg msg;
    struct relay_message message;

    while (forward_peek(bed->f, side, &msg)) {
        assert_true(relay_decode(msg.bytes, msg.length, &message));
        if (message.kind == RELAY_ROUTES) {
            look_at_routes(bed, &message);
        } else {
            bed->streams += message.kind == RELAY_STREAM;
            bed->tos += message.kind == RELAY_TO;
            bed->drops += message.kind == RELAY_DROPPED;
            bed->notices += message.kind == RELAY_NOTICE;
            bed->resets += message.kind == RELAY_RESET;
            bed->resets_of_sink += message.kind == RELAY_RESET && message.target == SINK;
            bed->last = message;
            bed->last_msg = msg;
            if (message.length > 0 && message.length < 4096)
                memcpy(bed->bytes, message.bytes, message.length);
        }
        forward_take(bed->f, side, false);
    }
    assert_null(forward_check(bed->f));
}

static void pass(struct bed *bed, uint64_t ns)
{
    for (uint64_t end_ns = bed->now_ns + ns; bed->now_ns < end_ns;
         bed->now_ns += 10 * MD_NS_PER_MS) {
        forward_tick(bed->f, bed->now_ns);
        drain(bed, A);
        drain(bed, B);
    }
}

static void input(struct bed *bed, int side, struct backbone_event event)
{
    forward_input(bed->f, bed->now_ns, side, &event);
    assert_null(forward_check(bed->f));
}

static void peer(struct bed *bed, int side, uint64_t session, uint8_t type)
{
    input(bed, side, (struct backbone_event){ .type = type, .session = session, .reason = 2 });
}

static size_t encode(struct bed *bed, const struct rrmp_record *record)
{
    struct md_wr wr = md_wr_init(bed->record, sizeof(bed->record));

    rrmp_record_encode(&wr, record);
    assert_true(md_wr_ok(&wr));
    return md_wr_length(&wr);
}

static void message(struct bed *bed, int side, uint64_t session, uint32_t topic, size_t length)
{
    input(bed, side,
          (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                   .session = session,
                                   .src_port = 3,
                                   .seq = 77,
                                   .topic = topic,
                                   .bytes = bed->record,
                                   .length = (uint32_t)length });
}

static void instance(struct bed *bed, int side, uint64_t session)
{
    uint8_t rows[48];
    const char *const names[] = { "SECRET", "IDN", "OTHER" };
    struct rrmp_record record = { .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE },
                                  .u.instance = { .interval_ms = 1000,
                                                  .service_count = 3,
                                                  .name = { (const uint8_t *)"h.1.src", 7 },
                                                  .services = rows } };

    for (uint16_t i = 0; i < 3; i++) {
        struct rrmp_instance_row row = { .svc = i,
                                         .state = 3,
                                         .topic = rrmp_topic(names[i], strlen(names[i])),
                                         .version = 1,
                                         .last_seq = 9 };
        rrmp_instance_row_put(rows + (size_t)16 * i, &row);
    }
    message(bed, side, session, RRMP_TOPIC_CONTROL, encode(bed, &record));
}

/* A tick of the service, as far as the relay looks. */
static void tick(struct bed *bed, const char *service)
{
    memset(bed->record, 0, 64);
    bed->record[0] = RRMP_UPDATE;
    bed->record[1] = RRMP_VERSION << 4;
    message(bed, A, SOURCE, rrmp_topic(service, strlen(service)), 64);
    drain(bed, B);
}

/* The source is heard on A, offers IDN among others, and is carried onto B. */
static void carry(struct bed *bed)
{
    peer(bed, A, SOURCE, BACKBONE_PEER_UP);
    pass(bed, 3 * MD_NS_PER_S);
    assert_int_equal(bed->claims, 0);
    instance(bed, A, SOURCE);
    pass(bed, MD_NS_PER_S);
    assert_int_equal(bed->claims, 1);
    assert_int_equal(bed->routes_up, 1);
}

static void only_configured_services_go_on(void **state)
{
    struct bed bed;
    struct rrmp_record record;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    instance(&bed, A, SOURCE);
    drain(&bed, B);
    assert_int_equal(bed.streams, 1);
    assert_int_equal(rrmp_record_decode(bed.bytes, bed.last.length, &record), 0);
    assert_int_equal(record.u.instance.service_count, 1);
    assert_int_equal(rrmp_instance_row(&record.u.instance, 0).svc, 1);
    assert_int_equal(rrmp_instance_row(&record.u.instance, 0).last_seq, 9);
    tick(&bed, "SECRET");
    assert_int_equal(bed.streams, 1);
    tick(&bed, "IDN");
    assert_int_equal(bed.streams, 2);
    assert_int_equal(bed.last.seq, 77);
    assert_int_equal(bed.last.port, 3);
    assert_int_equal(bed.last.hops, 1);
    assert_int_equal(forward_counters(bed.f, A)->not_wanted, 1);
    forward_destroy(bed.f);
}

/* On a mesh others leave out the rest. */
static void it_wants_its_services_and_what_is_for_relays_alone(void **state)
{
    uint32_t topics[4] = { 0 };
    struct bed bed;

    (void)state;
    open_bed(&bed);
    assert_int_equal(forward_interest(bed.f, topics, 3), 3);
    assert_int_equal(topics[0], rrmp_topic("IDN", 3));
    assert_int_equal(topics[1], rrmp_topic("ELEKTRON", 8));
    assert_int_equal(topics[2], RELAY_TOPIC);
    assert_int_equal(forward_interest(bed.f, topics, 2), -1);
    forward_destroy(bed.f);
    open_with(&bed, MAX_BYTES, 1);
    assert_int_equal(forward_interest(bed.f, topics, 4), -1); /* risk.* */
    forward_destroy(bed.f);
}

/* SINK asks for something of the service at index `svc` of the instance at `target`. */
static void ask_of(struct bed *bed, uint64_t target, uint64_t from, uint8_t hops, uint8_t svc)
{
    uint8_t bytes[RELAY_TO_BYTES + 64] = { 0 };
    struct relay_message to = { .kind = RELAY_TO,
                                .hops = hops,
                                .flags = RELAY_FLAG_UNICAST,
                                .port = 8,
                                .origin = SINK,
                                .target = target };

    (void)relay_encode(&to, bytes);
    bytes[RELAY_TO_BYTES] = RRMP_REQUEST;
    bytes[RELAY_TO_BYTES + 3] = svc;
    input(bed, B,
          (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                   .session = from,
                                   .src_port = RELAY_PORT,
                                   .dst_port = 3,
                                   .flags = BACKBONE_FLAG_UNICAST,
                                   .bytes = bytes,
                                   .length = sizeof(bytes) });
}

static void ask(struct bed *bed, uint64_t from, uint8_t hops, uint8_t svc)
{
    ask_of(bed, SOURCE, from, hops, svc);
}

/* Both hear each other. */
static void carry_both(struct bed *bed)
{
    carry(bed);
    peer(bed, B, SINK, BACKBONE_PEER_UP);
    ask(bed, SINK, 0, 1);
    pass(bed, MD_NS_PER_S);
}

static void a_request_goes_to_the_services_that_are_forwarded(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    ask(&bed, SINK, 0, 1);
    drain(&bed, A);
    assert_int_equal(bed.tos, 1);
    assert_int_equal(bed.last.origin, SINK);
    assert_int_equal(bed.last.hops, 1);
    assert_int_equal(bed.last_msg.session, SOURCE);
    assert_int_equal(bed.last_msg.port, 3);
    assert_int_not_equal(bed.last_msg.lane, 0); /* of the two */
    ask(&bed, SINK, 0, 0);                      /* SECRET */
    drain(&bed, A);
    assert_int_equal(bed.tos, 1);
    ask(&bed, SINK, RELAY_HOPS_MAX, 1); /* and no relay is known that could have brought it */
    drain(&bed, A);
    assert_int_equal(bed.tos, 1);
    forward_destroy(bed.f);
}

static void a_request_before_its_sender_is_carried_is_told_behind_the_route(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    peer(&bed, B, SINK, BACKBONE_PEER_UP);
    ask(&bed, SINK, 0, 1);
    ask(&bed, SINK, 0, 1);
    drain(&bed, A);
    drain(&bed, B);
    assert_int_equal(bed.tos + bed.resets, 0);
    assert_int_equal(forward_counters(bed.f, B)->early, 2);
    pass(&bed, 200 * MD_NS_PER_MS);
    assert_int_equal(bed.resets, 0);
    int before = bed.routes_up;
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.routes_up, before + 1);
    assert_int_equal(bed.resets, 1);
    assert_int_equal(bed.last.origin, SOURCE);
    assert_int_equal(bed.last.target, SINK);
    assert_int_equal(bed.last_msg.session, SINK);
    forward_destroy(bed.f);
}

/* It does not know yet that this is a relay, and who is behind it. */
static void a_request_to_a_node_that_has_just_come_is_told(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    peer(&bed, A, OTHER, BACKBONE_PEER_UP);
    instance(&bed, A, OTHER);
    ask_of(&bed, OTHER, SINK, 0, 1);
    drain(&bed, A);
    assert_int_equal(bed.tos, 0);
    int before = bed.resets;
    pass(&bed, 500 * MD_NS_PER_MS);
    assert_int_equal(bed.resets, before + 1);
    assert_int_equal(bed.last.kind == RELAY_RESET && bed.last.target == SINK, 1);
    ask_of(&bed, OTHER, SINK, 0, 1);
    drain(&bed, A);
    assert_int_equal(bed.tos, 1);
    forward_destroy(bed.f);
}

static void lost_unicast_is_told_to_all_that_it_can_have_been_for(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    assert_int_equal(bed.resets, 1);
    peer(&bed, A, OTHER, BACKBONE_PEER_UP); /* not carried: nobody over there sent to it */
    input(&bed, B,
          (struct backbone_event){ .type = BACKBONE_GAP,
                                   .session = SINK,
                                   .flags = BACKBONE_FLAG_UNICAST,
                                   .reason = BACKBONE_GAP_UNICAST_RESET });
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.resets, 2);
    assert_int_equal(bed.last.origin, SINK);
    assert_int_equal(bed.last_msg.session, SOURCE);
    forward_destroy(bed.f);
}

static void what_cannot_be_told_now_is_told_later(void **state)
{
    struct bed bed;
    struct rrcp_msg msg;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    ask(&bed, SINK, 0, 1);
    while (forward_peek(bed.f, A, &msg))
        forward_take(bed.f, A, msg.flags & RRCP_MSG_UNICAST);
    while (forward_peek(bed.f, B, &msg)) /* SINK takes nothing, either: the DROPPED goes, too */
        forward_take(bed.f, B, msg.flags & RRCP_MSG_UNICAST);
    int before = bed.resets, sink = bed.resets_of_sink;
    assert_int_equal(bed.drops, 0);
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.resets, before + 1);
    assert_int_equal(bed.resets_of_sink, sink + 1);
    forward_destroy(bed.f);
}

/* An image for one node alone, as its sender or a relay says it. */
static void directed(struct bed *bed, uint64_t from, uint8_t hops, uint64_t seq)
{
    uint8_t bytes[RELAY_TO_BYTES + 64] = { 0 };
    struct relay_message to = { .kind = RELAY_TO,
                                .hops = hops,
                                .flags = RELAY_FLAG_TOPIC,
                                .port = 3,
                                .number = rrmp_topic("IDN", 3),
                                .seq = seq,
                                .origin = SOURCE,
                                .target = SINK };

    (void)relay_encode(&to, bytes);
    bytes[RELAY_TO_BYTES] = RRMP_IMAGE;
    bytes[RELAY_TO_BYTES + 1] = RRMP_VERSION << 4;
    input(bed, A,
          (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                   .session = from,
                                   .src_port = RELAY_PORT,
                                   .topic = RELAY_TOPIC,
                                   .bytes = bytes,
                                   .length = sizeof(bytes) });
    drain(bed, B);
}

static void routes_of(struct bed *bed, int side, uint64_t session, uint8_t what);

static void an_image_for_one_node_takes_the_way_of_the_stream(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    peer(&bed, B, SINK, BACKBONE_PEER_UP);
    directed(&bed, SOURCE, 0, 0); /* its sender is not carried */
    assert_int_equal(bed.streams + bed.tos, 0);
    carry(&bed);
    int before = bed.streams;
    directed(&bed, SOURCE, 0, 0);
    assert_int_equal(bed.streams, before + 1);
    assert_int_equal(bed.last_msg.session, SINK);
    assert_int_equal(bed.last_msg.topic, rrmp_topic("IDN", 3));
    peer(&bed, B, SINK, BACKBONE_PEER_DOWN);
    routes_of(&bed, B, SINK, RELAY_ROUTE_UP); /* behind another relay from now on */
    directed(&bed, SOURCE, 0, 0);
    assert_int_equal(bed.tos, 1);
    assert_int_equal(bed.last_msg.session, 0);
    assert_int_equal(bed.last_msg.topic, RELAY_TOPIC);
    assert_int_equal(bed.last.number, rrmp_topic("IDN", 3));
    assert_int_equal(bed.last.target, SINK);
    directed(&bed, OTHER, 1, 5); /* of one that does not bring the source */
    assert_int_equal(bed.tos, 1);
    forward_destroy(bed.f);
}

static void routes(struct bed *bed, int side, uint64_t id, const struct relay_route *route)
{
    uint8_t bytes[128];
    size_t head =
        relay_encode(&(struct relay_message){ .kind = RELAY_ROUTES, .count = 1, .id = id }, bytes);

    input(bed, side,
          (struct backbone_event){
              .type = BACKBONE_MESSAGE,
              .session = OTHER,
              .src_port = RELAY_PORT,
              .bytes = bytes,
              .length = (uint32_t)(RELAY_ROUTES_BYTES + relay_route_encode(route, bytes + head)) });
}

static void routes_of(struct bed *bed, int side, uint64_t session, uint8_t what)
{
    routes(bed, side, 60,
           &(struct relay_route){
               .number = 5, .hops = 1, .state = what, .session = session, .weight = 60 });
}

static void rights(struct bed *bed, int side, uint64_t id, uint8_t hops, uint8_t what)
{
    routes(bed, side, id,
           &(struct relay_route){
               .number = 4, .hops = hops, .state = what, .session = SOURCE, .weight = id });
}

static void the_relay_with_the_worse_right_stands_by_and_takes_over(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    peer(&bed, B, OTHER, BACKBONE_PEER_UP);
    rights(&bed, B, 60, 1, RELAY_ROUTE_UP); /* started later */
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.routes_down, 0);
    rights(&bed, B, 40, 1, RELAY_ROUTE_CLAIM);
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.routes_down, 1);
    int before = bed.streams;
    tick(&bed, "IDN");
    assert_int_equal(bed.streams, before);
    assert_int_equal(forward_counters(bed.f, A)->standing_by, 1);
    assert_int_equal(forward_counters(bed.f, A)->switches, 1);
    peer(&bed, B, OTHER, BACKBONE_PEER_DOWN);
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.routes_up, 2);
    tick(&bed, "IDN");
    assert_int_equal(bed.streams, before + 1);
    forward_destroy(bed.f);
}

/* Another relay's queue brings a node that is dead, and old data of it. */
static void nobody_is_carried_back_to_where_it_was_heard_directly(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    peer(&bed, B, SOURCE, BACKBONE_PEER_UP); /* near there: nobody has to carry it */
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.routes_down, 1);
    assert_int_equal(forward_counters(bed.f, A)->standing_by, 0);
    peer(&bed, B, SOURCE, BACKBONE_PEER_DOWN);
    for (int i = 0; i < 60; i++) {
        instance(&bed, A, SOURCE);
        pass(&bed, MD_NS_PER_S);
    }
    assert_int_equal(bed.claims, 1);
    assert_int_equal(bed.routes_up, 1);
    forward_destroy(bed.f);
}

static void what_it_has_no_room_for_is_told_before_the_next(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    memset(bed.record, 0, 64);
    bed.record[0] = RRMP_UPDATE;
    for (int i = 0; i < 400000; i++)
        message(&bed, A, SOURCE, rrmp_topic("IDN", 3), 64);
    const struct forward_counters *counters = forward_counters(bed.f, A);
    assert_true(counters->dropped > 0);
    assert_true(counters->queue_high <= 16u << 20);
    uint64_t dropped = counters->dropped;
    drain(&bed, B);
    assert_int_equal(bed.notices, 0);
    tick(&bed, "IDN");
    assert_int_equal(bed.notices, 1);
    assert_int_equal(bed.last.kind, RELAY_STREAM); /* behind it */
    assert_int_equal((uint64_t)bed.streams + dropped, 400001);
    input(&bed, A,
          (struct backbone_event){ .type = BACKBONE_GAP,
                                   .session = SOURCE,
                                   .reason = 2,
                                   .seq = 80,
                                   .last = 81,
                                   .count = 2 });
    drain(&bed, B);
    assert_int_equal(bed.notices, 2);
    assert_int_equal(bed.last.reason, BACKBONE_GAP_NOT_HELD);
    assert_int_equal(bed.last.seq, 80);
    assert_int_equal(bed.last.lost, 2);
    forward_destroy(bed.f);
}

static void bare_topics_go_by_their_whole_name(void **state)
{
    struct bed bed;
    const char *const names[] = { "risk.limits", "clock", "clocks", "other" };
    const int goes[] = { 1, 2, 2, 2 };

    (void)state;
    open_with(&bed, MAX_BYTES, 2);
    peer(&bed, A, SOURCE, BACKBONE_PEER_UP);
    pass(&bed, 4 * MD_NS_PER_S);
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(names[i]);
        size_t head = backbone_topic_head(bed.record, names[i], length, 1);

        message(&bed, A, SOURCE, backbone_topic_number(names[i], length), head + 4);
        drain(&bed, B);
        assert_int_equal(bed.streams, goes[i]);
    }
    forward_destroy(bed.f);
}

static void bare(struct bed *bed, uint64_t session)
{
    size_t head = backbone_topic_head(bed->record, "clock", 5, 1);

    message(bed, A, session, backbone_topic_number("clock", 5), head + 4);
    drain(bed, B);
}

static void a_node_is_carried_before_the_first_message_of_a_topic(void **state)
{
    struct bed bed;
    struct relay_message list = { .kind = RELAY_ROUTES, .id = 60, .flags = RELAY_FLAG_FULL };
    uint8_t bytes[RELAY_TO_BYTES];

    (void)state;
    open_with(&bed, MAX_BYTES, 2);
    pass(&bed, 3 * MD_NS_PER_S);
    peer(&bed, A, SOURCE, BACKBONE_PEER_UP);
    peer(&bed, A, OTHER, BACKBONE_PEER_UP);
    input(&bed, A,
          (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                   .session = OTHER,
                                   .src_port = RELAY_PORT,
                                   .bytes = bytes,
                                   .length = (uint32_t)relay_encode(&list, bytes) });
    pass(&bed, MD_NS_PER_S);
    assert_int_equal(bed.routes_up, 1); /* the other one is a relay */
    bare(&bed, SOURCE);
    assert_int_equal(bed.streams, 1);
    forward_destroy(bed.f);
}

static void a_stream_that_the_engine_refuses_is_told_to_all(void **state)
{
    struct bed bed;
    struct rrcp_msg msg;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    memset(bed.record, 0, 64);
    bed.record[0] = RRMP_UPDATE;
    message(&bed, A, SOURCE, rrmp_topic("IDN", 3), 64);
    assert_true(forward_peek(bed.f, B, &msg));
    forward_take(bed.f, B, true);
    assert_int_equal(forward_counters(bed.f, A)->refused, 1);
    tick(&bed, "IDN");
    assert_int_equal(bed.notices, 1);
    assert_int_equal(bed.last.kind, RELAY_STREAM); /* behind it */
    forward_destroy(bed.f);
}

/* A network that is behind gets no news that is older than that. */
static void no_message_waits_for_long(void **state)
{
    struct bed bed;
    struct rrcp_msg msg;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    memset(bed.record, 0, 64);
    bed.record[0] = RRMP_UPDATE;
    for (int i = 0; i < 100; i++) {
        message(&bed, A, SOURCE, rrmp_topic("IDN", 3), 64);
        bed.now_ns += 10 * MD_NS_PER_MS;
    }
    uint64_t dropped = forward_counters(bed.f, A)->dropped;
    assert_in_range(dropped, 55, 65);
    while (forward_peek(bed.f, B, &msg))
        forward_take(bed.f, B, false);
    message(&bed, A, SOURCE, rrmp_topic("IDN", 3), 64);
    drain(&bed, B);
    assert_int_equal(bed.notices, 1);
    assert_int_equal(bed.last.kind, RELAY_STREAM);
    assert_int_equal(forward_counters(bed.f, A)->dropped, dropped);
    forward_destroy(bed.f);
}

/* A member that says it is a relay. */
static void resets_of_others_go_on_five_times_a_second(void **state)
{
    struct bed bed;
    struct relay_message list = { .kind = RELAY_ROUTES, .id = 60, .flags = RELAY_FLAG_FULL };
    struct relay_message reset = { .kind = RELAY_RESET, .hops = 2, .target = SOURCE };
    struct backbone_event event = { .type = BACKBONE_MESSAGE,
                                    .session = OTHER,
                                    .src_port = RELAY_PORT };
    uint8_t bytes[RELAY_TO_BYTES];

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    peer(&bed, B, OTHER, BACKBONE_PEER_UP);
    event.bytes = bytes;
    event.length = (uint32_t)relay_encode(&list, bytes);
    input(&bed, B, event);
    pass(&bed, MD_NS_PER_S);
    int before = bed.resets;
    event.length = (uint32_t)relay_encode(&reset, bytes);
    event.flags = BACKBONE_FLAG_UNICAST;
    for (int i = 0; i < 1000; i++) {
        input(&bed, B, event);
        if (i % 10 == 0)
            pass(&bed, 10 * MD_NS_PER_MS);
    }
    assert_in_range(bed.resets - before, 3, 6);
    assert_int_equal(bed.last.hops, 3);
    assert_int_equal(bed.last.target, SOURCE);
    forward_destroy(bed.f);
}

static void a_message_that_the_engine_drops_is_told_to_its_sender(void **state)
{
    struct bed bed;
    struct rrcp_msg msg;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    ask(&bed, SINK, 0, 1);
    while (forward_peek(bed.f, A, &msg))
        forward_take(bed.f, A, msg.flags & RRCP_MSG_UNICAST);
    drain(&bed, B);
    assert_int_equal(bed.drops, 1);
    assert_int_equal(bed.last.origin, SOURCE);
    assert_int_equal(bed.last.target, SINK);
    assert_int_equal(bed.last.port, 8);
    assert_int_equal(forward_counters(bed.f, B)->refused, 1);
    forward_destroy(bed.f);
}

/* `from`, on B, sends SOURCE a record that is longer than A takes with the head. */
static void say_long(struct bed *bed, uint64_t from, uint8_t type)
{
    static uint8_t bytes[MAX_BYTES + 32];
    struct relay_message to = {
        .kind = RELAY_TO, .flags = RELAY_FLAG_UNICAST, .port = 8, .origin = from, .target = SOURCE
    };

    (void)relay_encode(&to, bytes);
    bytes[RELAY_TO_BYTES] = type;
    bytes[RELAY_TO_BYTES + 3] = 1;
    input(bed, B,
          (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                   .session = from,
                                   .src_port = RELAY_PORT,
                                   .dst_port = 3,
                                   .flags = BACKBONE_FLAG_UNICAST,
                                   .bytes = bytes,
                                   .length = sizeof(bytes) });
}

/* Those to SOURCE in the next 210 ms, by their origin; of all: 0. */
static int resets_to_source(struct bed *bed, const uint64_t origins[], int counts[], int count)
{
    struct relay_message message;
    struct rrcp_msg msg;
    int all = 0;

    for (int i = 0; i <= 21; i++, bed->now_ns += 10 * MD_NS_PER_MS) {
        forward_tick(bed->f, bed->now_ns);
        while (forward_peek(bed->f, A, &msg)) {
            assert_true(relay_decode(msg.bytes, msg.length, &message));
            for (int k = 0; message.kind == RELAY_RESET && k < count; k++)
                if (message.origin == origins[k]) {
                    counts[k]++;
                    bed->last_msg = msg;
                }
            all += message.kind == RELAY_RESET;
            forward_take(bed->f, A, false);
        }
        drain(bed, B);
    }
    return all;
}

/* A request is asked again; the end of a private stream is not said again. */
static void a_message_that_is_dropped_is_told_to_whom_it_was_for_if_it_is_said_once(void **state)
{
    static const uint64_t origins[] = { SINK, OTHER };
    int counts[2] = { 0 };
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    peer(&bed, B, OTHER, BACKBONE_PEER_UP);
    say_long(&bed, OTHER, RRMP_REQUEST); /* now it is carried */
    pass(&bed, 2 * MD_NS_PER_S);
    ask(&bed, SINK, 0, 1);
    struct rrcp_msg msg;
    assert_true(forward_peek(bed.f, A, &msg));
    uint64_t lane = msg.lane;
    drain(&bed, A);

    int before = bed.drops;
    for (int i = 0; i < 10; i++) {
        say_long(&bed, SINK, RRMP_REQUEST);
        say_long(&bed, OTHER, RRMP_REQUEST);
    }
    assert_int_equal(resets_to_source(&bed, origins, counts, 2), 0);
    assert_int_equal(bed.drops, before + 20);
    for (int i = 0; i < 10; i++) {
        say_long(&bed, OTHER, RRMP_CLOSE);
        say_long(&bed, SINK, RRMP_CLOSE);
    }
    assert_int_equal(resets_to_source(&bed, origins, counts, 2), 2);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    say_long(&bed, SINK, RRMP_CLOSE); /* behind what waits of the two */
    assert_int_equal(resets_to_source(&bed, origins, counts, 1), 1);
    assert_true(bed.last_msg.lane == lane && lane != 0);
    forward_destroy(bed.f);
}

/* Of more than 16 at a time: all of them. */
static void many_that_may_have_lost_something_are_told_as_all(void **state)
{
    static const uint64_t all[] = { 0 };
    int counts[1] = { 0 };
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 16u + (unsigned)round; i++) {
            if (round == 0 || i == 16)
                peer(&bed, B, 3000 + i, BACKBONE_PEER_UP);
            input(&bed, B,
                  (struct backbone_event){ .type = BACKBONE_GAP,
                                           .session = 3000 + i,
                                           .flags = BACKBONE_FLAG_UNICAST,
                                           .reason = BACKBONE_GAP_UNICAST_RESET });
        }
        assert_int_equal(resets_to_source(&bed, all, counts, 1), round == 0 ? 16 : 1);
        assert_int_equal(counts[0], round);
    }
    forward_destroy(bed.f);
}

/* It was dropped behind four relays; the node that is told is on this one's other side. */
static void what_is_told_of_a_loss_goes_the_last_way_at_the_limit(void **state)
{
    static const uint8_t kinds[] = { RELAY_DROPPED, RELAY_RESET };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct relay_message told = { .kind = kinds[i % 2],
                                      .hops = RELAY_HOPS_MAX,
                                      .port = i % 2 ? 0 : 8,
                                      .lost = i % 2 ? 0 : 1,
                                      .origin = SOURCE,
                                      .target = SINK };
        uint8_t bytes[RELAY_TO_BYTES];
        bool is_near = i < 2;
        struct bed bed;

        open_bed(&bed);
        carry_both(&bed);
        peer(&bed, A, SOURCE, BACKBONE_PEER_DOWN);
        routes_of(&bed, A, SOURCE, RELAY_ROUTE_UP);
        if (!is_near) {
            peer(&bed, B, SINK, BACKBONE_PEER_DOWN);
            routes_of(&bed, B, SINK, RELAY_ROUTE_UP);
        }
        pass(&bed, 6 * MD_NS_PER_S);
        int before = bed.drops + bed.resets;
        (void)relay_encode(&told, bytes);
        input(&bed, A,
              (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                       .session = OTHER,
                                       .src_port = RELAY_PORT,
                                       .flags = BACKBONE_FLAG_UNICAST,
                                       .bytes = bytes,
                                       .length = sizeof(bytes) });
        pass(&bed, MD_NS_PER_S);
        assert_int_equal(bed.drops + bed.resets, before + is_near);
        assert_int_equal(forward_counters(bed.f, A)->hops, !is_near);
        if (is_near) {
            assert_int_equal(bed.last.hops, RELAY_HOPS_MAX);
            assert_int_equal(bed.last.target, SINK);
        }
        forward_destroy(bed.f);
    }
}

/* ---- a chain of five: SINK, on the B side of the first; SOURCE, on the A side of the last ---- */

enum { CHAIN = 5 };

/* On network n: the A side of relay n - 1 and the B side of relay n. */
static uint64_t chain_session(int relay, int side)
{
    return 100u + 2u * (unsigned)relay + (unsigned)side;
}

static void chain_drain(struct bed beds[], int relay, int side)
{
    int next = side == A ? relay + 1 : relay - 1;
    bool has_next = next >= 0 && next < CHAIN;
    struct relay_message message;
    struct rrcp_msg msg;

    while (forward_peek(beds[relay].f, side, &msg)) {
        bool is_unicast = msg.flags & RRCP_MSG_UNICAST;

        assert_true(relay_decode(msg.bytes, msg.length, &message));
        if (msg.session == SINK && message.kind == RELAY_DROPPED) {
            beds[relay].drops++;
            beds[relay].last = message;
        }
        if (has_next && (msg.session == 0 || msg.session == chain_session(next, 1 - side)))
            input(&beds[next], 1 - side,
                  (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                           .session = chain_session(relay, side),
                                           .src_port = RELAY_PORT,
                                           .dst_port = msg.port,
                                           .topic = msg.topic,
                                           .seq = ++beds[relay].seq,
                                           .flags = is_unicast ? BACKBONE_FLAG_UNICAST : 0,
                                           .bytes = msg.bytes,
                                           .length = msg.length });
        forward_take(beds[relay].f, side, false);
    }
}

static void chain_pass(struct bed beds[], uint64_t ns)
{
    for (uint64_t at_ns = 0; at_ns < ns; at_ns += 10 * MD_NS_PER_MS) {
        if (at_ns % MD_NS_PER_S == 0) {
            instance(&beds[0], B, SINK);
            instance(&beds[CHAIN - 1], A, SOURCE);
        }
        for (int i = 0; i < CHAIN; i++) {
            beds[i].now_ns += 10 * MD_NS_PER_MS;
            forward_tick(beds[i].f, beds[i].now_ns);
            chain_drain(beds, i, A);
            chain_drain(beds, i, B);
        }
    }
}

/* SINK has heard of SOURCE when the way was shorter. The fifth relay drops what it asks. */
static void a_drop_behind_four_relays_reaches_its_sender(void **state)
{
    static struct bed beds[CHAIN];

    (void)state;
    for (int i = 0; i < CHAIN; i++) {
        own_a = chain_session(i, A);
        own_b = chain_session(i, B);
        open_bed(&beds[i]);
    }
    own_a = OWN_A;
    own_b = OWN_B;
    for (int i = 0; i + 1 < CHAIN; i++) {
        peer(&beds[i], A, chain_session(i + 1, B), BACKBONE_PEER_UP);
        peer(&beds[i + 1], B, chain_session(i, A), BACKBONE_PEER_UP);
    }
    peer(&beds[0], B, SINK, BACKBONE_PEER_UP);
    peer(&beds[CHAIN - 1], A, SOURCE, BACKBONE_PEER_UP);
    chain_pass(beds, 15 * MD_NS_PER_S);
    ask(&beds[0], SINK, 0, 1);
    chain_pass(beds, MD_NS_PER_S);
    assert_int_equal(forward_counters(beds[CHAIN - 1].f, B)->hops, 1);
    assert_int_equal(beds[0].drops, 1);
    assert_int_equal(beds[0].last.hops, RELAY_HOPS_MAX);
    assert_int_equal(beds[0].last.origin, SOURCE);
    assert_int_equal(beds[0].last.port, 8);
    for (int i = 0; i < CHAIN; i++)
        forward_destroy(beds[i].f);
}

/* Targets that follow each other have lanes that do not. */
static void pairs_have_lanes_of_their_own(void **state)
{
    struct rrcp_msg msg;
    uint64_t lanes[2];
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry_both(&bed);
    for (uint64_t i = 0; i < 2; i++) {
        if (i == 1) {
            peer(&bed, A, SOURCE + 1, BACKBONE_PEER_UP);
            instance(&bed, A, SOURCE + 1);
            pass(&bed, MD_NS_PER_S);
        }
        ask_of(&bed, SOURCE + i, SINK, 0, 1);
        assert_true(forward_peek(bed.f, A, &msg));
        lanes[i] = msg.lane;
        drain(&bed, A);
    }
    assert_true((lanes[0] ^ lanes[1]) > 3);
    forward_destroy(bed.f);
}

static void one_over_too_many_relays_is_counted_and_told_to_its_sender(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    carry(&bed);
    peer(&bed, B, OTHER, BACKBONE_PEER_UP);
    routes(&bed, B, 60,
           &(struct relay_route){ .number = 5,
                                  .hops = RELAY_HOPS_MAX,
                                  .state = RELAY_ROUTE_UP,
                                  .session = SINK,
                                  .weight = 60 });
    ask(&bed, OTHER, RELAY_HOPS_MAX, 1);
    assert_int_equal(forward_counters(bed.f, B)->hops, 1);
    drain(&bed, A);
    drain(&bed, B);
    assert_int_equal(bed.tos, 0);
    assert_int_equal(bed.drops, 1);
    assert_int_equal(bed.last.origin, SOURCE);
    assert_int_equal(bed.last.target, SINK);
    assert_int_equal(bed.last.port, 8);
    assert_int_equal(bed.last_msg.session, OTHER);
    forward_destroy(bed.f);
}

/* SOURCE, of network B, has died; nodes there notice after peerTimeout. Around a ring of relays its
 * words are still on their way. */
static void a_relay_that_starts_late_brings_no_dead_node_back(void **state)
{
    uint8_t bytes[RELAY_STREAM_BYTES + 64] = { 0 };

    (void)state;
    for (int dies = 0; dies < 2; dies++) {
        struct bed bed;

        open_bed(&bed);
        peer(&bed, A, OTHER, BACKBONE_PEER_UP);
        routes_of(&bed, A, SOURCE, RELAY_ROUTE_UP);
        (void)relay_encode(
            &(struct relay_message){
                .kind = RELAY_STREAM, .hops = 1, .port = 3, .number = 5, .seq = 9 },
            bytes);
        bytes[RELAY_STREAM_BYTES] = RRMP_UPDATE;
        bytes[RELAY_STREAM_BYTES + 1] = RRMP_VERSION << 4;
        input(&bed, A,
              (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                       .session = OTHER,
                                       .src_port = RELAY_PORT,
                                       .topic = rrmp_topic("IDN", 3),
                                       .bytes = bytes,
                                       .length = sizeof(bytes) });
        pass(&bed, 5 * MD_NS_PER_S);
        assert_int_equal(bed.claims, 0);
        if (dies) /* after 3.5 s, and 0.4 s at each relay */
            routes_of(&bed, A, SOURCE, RELAY_ROUTE_DOWN);
        pass(&bed, MD_NS_PER_S);
        assert_int_equal(bed.claims, !dies);
        assert_int_equal(bed.routes_up, !dies);
        forward_destroy(bed.f);
    }
}

/* A relay there says that it started at the end of time. */
static void relays_that_nobody_can_be_behind_are_not_equal(void **state)
{
    uint64_t weights[2];

    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        struct bed bed;

        own_a = OWN_A + 2 * i;
        open_bed(&bed);
        peer(&bed, B, OTHER, BACKBONE_PEER_UP);
        rights(&bed, B, RELAY_ID_MAX, 1, RELAY_ROUTE_UP);
        pass(&bed, MD_NS_PER_S);
        peer(&bed, B, OTHER, BACKBONE_PEER_DOWN);
        carry(&bed);
        weights[i] = bed.weight;
        forward_destroy(bed.f);
    }
    own_a = OWN_A;
    assert_true(weights[0] != weights[1]);
    for (int i = 0; i < 2; i++)
        assert_true(weights[i] < RELAY_ID_MAX && weights[i] > RELAY_ID_MAX - (1 << 20));
}

static void one_whose_clock_is_behind_takes_nothing_away(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    peer(&bed, B, OTHER, BACKBONE_PEER_UP);
    rights(&bed, B, 60, 1, RELAY_ROUTE_UP); /* the relay's own id is 50 */
    pass(&bed, MD_NS_PER_S);
    peer(&bed, B, OTHER, BACKBONE_PEER_DOWN);
    carry(&bed);
    assert_true(bed.weight > 60);
    forward_destroy(bed.f);
}

static void a_node_without_a_place_gets_one_later(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    for (uint64_t i = 0; i < 2048; i++)
        forward_input(bed.f, bed.now_ns, A,
                      &(struct backbone_event){ .type = BACKBONE_PEER_UP, .session = 10000 + i });
    peer(&bed, A, SOURCE, BACKBONE_PEER_UP);
    pass(&bed, 100 * MD_NS_PER_MS);
    assert_int_equal(forward_counters(bed.f, A)->full, 1);
    bed.now_ns += 3 * MD_NS_PER_S;
    peer(&bed, A, 10005, BACKBONE_PEER_DOWN);
    pass(&bed, 100 * MD_NS_PER_MS);
    instance(&bed, A, SOURCE);
    pass(&bed, 500 * MD_NS_PER_MS);
    assert_int_equal(bed.routes_up, 1);
    assert_int_equal(forward_counters(bed.f, A)->full, 1);
    forward_destroy(bed.f);
}

static void a_list_of_routes_is_no_longer_than_a_message_may_be(void **state)
{
    struct bed bed;
    struct rrmp_record query = { .header = { .type = RRMP_QUERY, .svc = RRMP_SVC_NONE } };

    (void)state;
    open_with(&bed, 1024, 0);
    for (uint64_t i = 0; i < 100; i++) {
        peer(&bed, A, 10000 + i, BACKBONE_PEER_UP);
        message(&bed, A, 10000 + i, RRMP_TOPIC_CONTROL, encode(&bed, &query));
    }
    pass(&bed, 5 * MD_NS_PER_S);
    assert_true(bed.routes_up >= 100);
    assert_true(bed.listed > 0);
    assert_true(bed.parts > bed.listed + 200);
    assert_true(bed.routes_bytes <= 1024);
    forward_destroy(bed.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_configured_services_go_on),
        cmocka_unit_test(it_wants_its_services_and_what_is_for_relays_alone),
        cmocka_unit_test(a_request_goes_to_the_services_that_are_forwarded),
        cmocka_unit_test(a_request_before_its_sender_is_carried_is_told_behind_the_route),
        cmocka_unit_test(a_request_to_a_node_that_has_just_come_is_told),
        cmocka_unit_test(lost_unicast_is_told_to_all_that_it_can_have_been_for),
        cmocka_unit_test(what_cannot_be_told_now_is_told_later),
        cmocka_unit_test(an_image_for_one_node_takes_the_way_of_the_stream),
        cmocka_unit_test(the_relay_with_the_worse_right_stands_by_and_takes_over),
        cmocka_unit_test(what_it_has_no_room_for_is_told_before_the_next),
        cmocka_unit_test(nobody_is_carried_back_to_where_it_was_heard_directly),
        cmocka_unit_test(bare_topics_go_by_their_whole_name),
        cmocka_unit_test(a_node_is_carried_before_the_first_message_of_a_topic),
        cmocka_unit_test(a_stream_that_the_engine_refuses_is_told_to_all),
        cmocka_unit_test(no_message_waits_for_long),
        cmocka_unit_test(resets_of_others_go_on_five_times_a_second),
        cmocka_unit_test(a_message_that_the_engine_drops_is_told_to_its_sender),
        cmocka_unit_test(a_message_that_is_dropped_is_told_to_whom_it_was_for_if_it_is_said_once),
        cmocka_unit_test(many_that_may_have_lost_something_are_told_as_all),
        cmocka_unit_test(what_is_told_of_a_loss_goes_the_last_way_at_the_limit),
        cmocka_unit_test(a_drop_behind_four_relays_reaches_its_sender),
        cmocka_unit_test(pairs_have_lanes_of_their_own),
        cmocka_unit_test(one_over_too_many_relays_is_counted_and_told_to_its_sender),
        cmocka_unit_test(a_relay_that_starts_late_brings_no_dead_node_back),
        cmocka_unit_test(relays_that_nobody_can_be_behind_are_not_equal),
        cmocka_unit_test(one_whose_clock_is_behind_takes_nothing_away),
        cmocka_unit_test(a_node_without_a_place_gets_one_later),
        cmocka_unit_test(a_list_of_routes_is_no_longer_than_a_message_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
