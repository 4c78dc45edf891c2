/* test_node_far.c - nodes behind relays, between an engine that is told what to say and users. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "node_far.h"

enum { SELF = 1, NEAR_NODE = 5, FAR_NODE = 7, OTHER_NODE = 8, RELAY = 100 };
enum { BATCHES = 4, EVENTS = 600, ROOM = 256, MESSAGE_MAX = 200 };

/* ---- the engine ----------------------------------------------------------------------------- */

/* A batch for each call of rrcp_event(), in order; what was submitted last. */
struct rrcp {
    struct rrcp_counters counters;
    struct backbone_event batches[BATCHES][EVENTS];
    int counts[BATCHES];
    int batch_count, next, asked;
    bool are_plain;
    uint8_t storage[16][ROOM];
    int stored;
    struct rrcp_msg msg;
    uint8_t bytes[ROOM];
    int port, submitted;
    int err;
    bool drops;
};

uint64_t rrcp_session(const struct rrcp *r)
{
    (void)r;
    return SELF;
}

const struct rrcp_counters *rrcp_counters(const struct rrcp *r)
{
    return &r->counters;
}

int rrcp_event(struct rrcp *r, struct backbone_event out[], int max)
{
    r->asked++;
    r->are_plain = true;
    if (r->next == r->batch_count)
        return 0;
    int count = r->counts[r->next];

    assert_true(count <= max);
    memcpy(out, r->batches[r->next++], (size_t)count * sizeof(out[0]));
    for (int i = 0; i < count; i++)
        r->are_plain &= out[i].type == BACKBONE_MESSAGE && out[i].src_port != RELAY_PORT;
    return count;
}

bool rrcp_events_are_plain(const struct rrcp *r)
{
    return r->are_plain;
}

int rrcp_submit(struct rrcp *r, uint64_t now_ns, int port, const struct rrcp_msg *msg)
{
    (void)now_ns;
    assert_true(msg->length <= ROOM);
    if (r->err)
        return r->err;
    r->msg = *msg;
    if (msg->length > 0)
        memcpy(r->bytes, msg->bytes, msg->length);
    r->port = port;
    r->submitted++;
    r->counters.unicast_dropped += r->drops;
    return MD_OK;
}

/* ---- the bed -------------------------------------------------------------------------------- */

struct bed {
    struct rrcp engine;
    struct node_far far;
    struct backbone_event out[EVENTS];
};

static void open_bed(struct bed *bed)
{
    memset(bed, 0, sizeof(*bed));
    assert_int_equal(node_far_open(&bed->far, &bed->engine, MESSAGE_MAX), MD_OK);
}

static void close_bed(struct bed *bed)
{
    assert_null(relay_far_check(bed->far.far));
    node_far_close(&bed->far);
}

static void add(struct bed *bed, const struct backbone_event *event)
{
    int last = bed->engine.batch_count - 1;

    assert_true(last >= 0 && bed->engine.counts[last] < EVENTS);
    bed->engine.batches[last][bed->engine.counts[last]++] = *event;
}

static void new_batch(struct bed *bed)
{
    assert_true(bed->engine.batch_count < BATCHES);
    bed->engine.batch_count++;
}

static void add_plain(struct bed *bed, uint64_t session, uint64_t seq)
{
    add(bed, &(struct backbone_event){ .type = BACKBONE_MESSAGE,
                                       .session = session,
                                       .src_port = 3,
                                       .seq = seq,
                                       .bytes = (const uint8_t *)"near",
                                       .length = 4 });
}

static void add_relayed(struct bed *bed, const struct relay_message *message, const void *bytes,
                        size_t length)
{
    assert_true(bed->engine.stored < 16);
    uint8_t *to = bed->engine.storage[bed->engine.stored++];
    size_t head = relay_encode(message, to);

    memcpy(to + head, bytes, length);
    add(bed, &(struct backbone_event){ .type = BACKBONE_MESSAGE,
                                       .session = RELAY,
                                       .src_port = RELAY_PORT,
                                       .topic = 5,
                                       .bytes = to,
                                       .length = (uint32_t)(head + length) });
}

static void add_route(struct bed *bed, uint64_t session, uint32_t number, const char *name)
{
    uint8_t bytes[ROOM];
    struct relay_route route = { .number = number,
                                 .hops = 1,
                                 .state = RELAY_ROUTE_UP,
                                 .name_length = (uint8_t)strlen(name),
                                 .session = session,
                                 .weight = 9,
                                 .name = name };
    size_t length = relay_route_encode(&route, bytes);

    add_relayed(bed, &(struct relay_message){ .kind = RELAY_ROUTES, .count = 1, .id = 9 }, bytes,
                length);
}

static void add_stream(struct bed *bed, uint32_t number, uint64_t seq)
{
    add_relayed(bed,
                &(struct relay_message){
                    .kind = RELAY_STREAM, .hops = 1, .port = 4, .number = number, .seq = seq },
                "far", 3);
}

static int events(struct bed *bed, int max)
{
    return node_far_event(&bed->far, &bed->engine, bed->out, max);
}

/* FAR_NODE is behind RELAY, and that has been told. */
static void bring(struct bed *bed)
{
    new_batch(bed);
    add_route(bed, FAR_NODE, 1, "far");
    while (events(bed, EVENTS) > 0)
        continue;
}

static int submit(struct bed *bed, uint64_t session, uint16_t flags, uint32_t length)
{
    static const uint8_t bytes[ROOM] = "asked";
    const struct rrcp_msg msg = { .bytes = length ? bytes : NULL,
                                  .length = length,
                                  .topic = 77,
                                  .session = session,
                                  .port = 6,
                                  .flags = flags };

    return node_far_submit(&bed->far, &bed->engine, 1, 2, &msg);
}

/* ---- events --------------------------------------------------------------------------------- */

static void plain_batches_stay_where_the_engine_put_them(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    new_batch(&bed);
    for (uint64_t i = 0; i < NODE_RAW_MAX; i++)
        add_plain(&bed, NEAR_NODE, i);
    assert_int_equal(events(&bed, NODE_RAW_MAX), NODE_RAW_MAX);
    for (uint64_t i = 0; i < NODE_RAW_MAX; i++)
        assert_int_equal(bed.out[i].seq, i);
    assert_int_equal(bed.engine.asked, 1);
    assert_int_equal(bed.far.count, 0); /* not copied */
    assert_int_equal(events(&bed, NODE_RAW_MAX), 0);
    close_bed(&bed);
}

/* The name is the table's: what comes next might change it. */
static void a_view_of_a_name_ends_the_batch(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    new_batch(&bed);
    add_plain(&bed, NEAR_NODE, 1);
    add_route(&bed, FAR_NODE, 1, "one");
    add_route(&bed, OTHER_NODE, 2, "two");
    add_stream(&bed, 1, 10);
    assert_int_equal(events(&bed, EVENTS), 2);
    assert_int_equal(bed.out[0].session, NEAR_NODE);
    assert_int_equal(bed.out[1].type, BACKBONE_PEER_UP);
    assert_int_equal(bed.out[1].session, FAR_NODE);
    assert_memory_equal(bed.out[1].bytes, "one", 3);
    assert_int_equal(events(&bed, EVENTS), 1);
    assert_int_equal(bed.out[0].type, BACKBONE_PEER_INFO);
    assert_int_equal(events(&bed, EVENTS), 1);
    assert_int_equal(bed.out[0].type, BACKBONE_PEER_UP);
    assert_memory_equal(bed.out[0].bytes, "two", 3);
    assert_int_equal(events(&bed, EVENTS), 1);
    assert_int_equal(bed.out[0].type, BACKBONE_PEER_INFO);
    assert_int_equal(bed.engine.asked, 1); /* not while some of the first batch is left */
    assert_int_equal(events(&bed, EVENTS), 1);
    assert_int_equal(bed.out[0].session, FAR_NODE);
    assert_int_equal(bed.out[0].src_port, 4);
    assert_int_equal(bed.out[0].seq, 10);
    assert_int_equal(bed.out[0].length, 3);
    assert_memory_equal(bed.out[0].bytes, "far", 3);
    assert_int_equal(events(&bed, EVENTS), 0);
    close_bed(&bed);
}

/* Views of the engine's bytes live until it is asked again. */
static void a_batch_is_given_to_its_end_before_the_engine_is_asked_again(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    new_batch(&bed);
    for (uint64_t i = 0; i < 6; i++) {
        add_plain(&bed, NEAR_NODE, 2 * i);
        add_stream(&bed, 1, 2 * i + 1);
    }
    new_batch(&bed);
    add_plain(&bed, NEAR_NODE, 12);
    int asked = bed.engine.asked + 1;

    /* The engine gives 12 at once; the user takes them one by one. */
    assert_int_equal(events(&bed, 12), 12);
    assert_int_equal(bed.engine.asked, asked);
    for (uint64_t i = 0; i < 12; i++) {
        assert_int_equal(bed.out[i].seq, i);
        assert_int_equal(bed.out[i].session, i % 2 ? FAR_NODE : NEAR_NODE);
    }
    assert_int_equal(events(&bed, EVENTS), 1);
    assert_int_equal(bed.out[0].seq, 12);
    close_bed(&bed);
}

/* More comes out of an event than there is room for. */
static void what_finds_no_room_comes_with_the_next_call(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    new_batch(&bed);
    add(&bed,
        &(struct backbone_event){
            .type = BACKBONE_GAP, .session = RELAY, .reason = BACKBONE_GAP_NOT_HELD, .count = 2 });
    int asked = bed.engine.asked + 1;

    assert_int_equal(events(&bed, 1), 1); /* of the relay itself */
    assert_int_equal(bed.out[0].session, RELAY);
    assert_int_equal(events(&bed, 1), 1);
    assert_int_equal(bed.out[0].type, BACKBONE_GAP);
    assert_int_equal(bed.out[0].session, FAR_NODE);
    assert_int_equal(bed.engine.asked, asked);
    assert_int_equal(events(&bed, 1), 0);
    close_bed(&bed);
}

/* 0 would mean that there is nothing more. */
static void a_batch_that_was_for_relays_alone_is_not_the_end(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    new_batch(&bed);
    add_stream(&bed, 9, 1); /* of a number that it has not named */
    new_batch(&bed);
    add_plain(&bed, NEAR_NODE, 1);
    assert_int_equal(events(&bed, EVENTS), 1);
    assert_int_equal(bed.out[0].session, NEAR_NODE);
    assert_int_equal(relay_far_counters(bed.far.far)->others, 1);
    close_bed(&bed);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void messages_to_near_nodes_are_not_touched(void **state)
{
    const uint64_t sessions[] = { 0, SELF, NEAR_NODE, OTHER_NODE };
    struct bed bed;

    (void)state;
    open_bed(&bed);
    new_batch(&bed);
    add(&bed, &(struct backbone_event){ .type = BACKBONE_PEER_UP, .session = NEAR_NODE });
    assert_int_equal(events(&bed, EVENTS), 1);
    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        uint16_t flags = (uint16_t)(i == 0 ? 0 : RRCP_MSG_UNICAST);

        assert_int_equal(submit(&bed, sessions[i], flags, 5), MD_OK);
        assert_int_equal(bed.engine.port, 2);
        assert_int_equal(bed.engine.msg.session, sessions[i]);
        assert_int_equal(bed.engine.msg.length, 5);
        assert_int_equal(bed.engine.msg.flags, flags);
    }
    assert_null(bed.far.message);
    close_bed(&bed);
}

static void through(struct bed *bed, uint16_t flags, uint32_t length, uint64_t session)
{
    struct relay_message head;
    int before = bed->engine.submitted;

    assert_int_equal(submit(bed, FAR_NODE, flags, length), MD_OK);
    assert_int_equal(bed->engine.submitted, before + 1);
    assert_int_equal(bed->engine.port, RELAY_PORT);
    assert_int_equal(bed->engine.msg.session, session);
    assert_int_equal(bed->engine.msg.flags, flags);
    assert_int_equal(bed->engine.msg.lane, flags ? FAR_NODE : 0);
    assert_int_equal(bed->engine.msg.topic, flags ? 77 : RELAY_TOPIC);
    assert_int_equal(bed->engine.msg.port, 6);
    assert_true(relay_decode(bed->engine.bytes, bed->engine.msg.length, &head));
    assert_int_equal(head.kind, RELAY_TO);
    assert_int_equal(head.hops, 0);
    assert_int_equal(head.flags, flags ? RELAY_FLAG_UNICAST : RELAY_FLAG_TOPIC);
    assert_int_equal(head.number, flags ? 0 : 77);
    assert_int_equal(head.port, 2);
    assert_int_equal(head.origin, SELF);
    assert_int_equal(head.target, FAR_NODE);
    assert_int_equal(head.length, length);
    if (length >= 5)
        assert_memory_equal(head.bytes, "asked", 5);
}

static void messages_to_far_nodes_go_to_the_relay(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    through(&bed, RRCP_MSG_UNICAST, 5, RELAY);
    /* In its place in the stream: relays hear it, the one that carries us passes it on. */
    through(&bed, 0, 5, 0);
    through(&bed, RRCP_MSG_UNICAST, 0, RELAY);
    through(&bed, RRCP_MSG_UNICAST, MESSAGE_MAX - RELAY_TO_BYTES, RELAY);
    close_bed(&bed);
}

/* Perhaps it still hears us directly, and on a mesh wants what it asked for alone. */
static void a_message_to_one_that_was_near_keeps_its_topic(void **state)
{
    struct relay_message head;
    struct bed bed;

    (void)state;
    open_bed(&bed);
    new_batch(&bed);
    add(&bed, &(struct backbone_event){ .type = BACKBONE_PEER_UP, .session = FAR_NODE });
    add(&bed, &(struct backbone_event){ .type = BACKBONE_PEER_DOWN,
                                        .session = FAR_NODE,
                                        .reason = BACKBONE_DOWN_TIMEOUT });
    (void)events(&bed, EVENTS);
    bring(&bed);
    assert_int_equal(submit(&bed, FAR_NODE, 0, 5), MD_OK);
    assert_int_equal(bed.engine.port, RELAY_PORT);
    assert_int_equal(bed.engine.msg.topic, 77);
    assert_true(relay_decode(bed.engine.bytes, bed.engine.msg.length, &head));
    assert_int_equal(head.flags, 0);
    assert_int_equal(head.number, 0);
    close_bed(&bed);
}

static void told_dropped(struct bed *bed, uint64_t count)
{
    assert_int_equal(events(bed, EVENTS), 1);
    assert_int_equal(bed->out[0].type, BACKBONE_TX_DROPPED);
    assert_int_equal(bed->out[0].session, FAR_NODE);
    assert_int_equal(bed->out[0].dst_port, 2);
    assert_int_equal(bed->out[0].count, count);
    assert_int_equal(events(bed, EVENTS), 0);
}

static void one_that_is_too_long_is_told_without_an_event_of_the_engine(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    for (int i = 0; i < 2; i++)
        assert_int_equal(submit(&bed, FAR_NODE, RRCP_MSG_UNICAST, MESSAGE_MAX - RELAY_TO_BYTES + 1),
                         MD_OK);
    assert_int_equal(bed.engine.submitted, 0);
    told_dropped(&bed, 2);
    assert_int_equal(relay_far_counters(bed.far.far)->too_long, 2);
    close_bed(&bed);
}

static void one_that_the_engine_drops_is_told_of_the_far_node(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    bed.engine.drops = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit(&bed, FAR_NODE, RRCP_MSG_UNICAST, 5), MD_OK);
    bed.engine.drops = false;
    assert_int_equal(submit(&bed, FAR_NODE, RRCP_MSG_UNICAST, 5), MD_OK);
    assert_int_equal(events(&bed, EVENTS), 0); /* the engine says it once for a burst */
    new_batch(&bed);
    add(&bed,
        &(struct backbone_event){
            .type = BACKBONE_TX_DROPPED, .session = RELAY, .dst_port = RELAY_PORT, .count = 3 });
    told_dropped(&bed, 3);
    close_bed(&bed);
}

static void a_full_engine_is_said_and_nothing_is_dropped(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    bed.engine.err = MD_ERR_FULL;
    assert_int_equal(submit(&bed, FAR_NODE, RRCP_MSG_UNICAST, 5), MD_ERR_FULL);
    assert_int_equal(submit(&bed, FAR_NODE, 0, 5), MD_ERR_FULL);
    bed.engine.err = MD_OK;
    through(&bed, RRCP_MSG_UNICAST, 5, RELAY);
    assert_false(relay_far_has_more(bed.far.far));
    assert_int_equal(relay_far_counters(bed.far.far)->too_long, 0);
    close_bed(&bed);
}

/* A message to it is the engine's again, which counts it. */
static void one_whose_relay_is_gone_is_far_no_more(void **state)
{
    struct bed bed;

    (void)state;
    open_bed(&bed);
    bring(&bed);
    new_batch(&bed);
    add(&bed, &(struct backbone_event){
                  .type = BACKBONE_PEER_DOWN, .session = RELAY, .reason = BACKBONE_DOWN_BYE });
    assert_int_equal(events(&bed, EVENTS), 2);
    assert_int_equal(bed.out[0].session, RELAY);
    assert_int_equal(bed.out[1].type, BACKBONE_PEER_DOWN);
    assert_int_equal(bed.out[1].session, FAR_NODE);
    assert_int_equal(submit(&bed, FAR_NODE, RRCP_MSG_UNICAST, 5), MD_OK);
    assert_int_equal(bed.engine.port, 2);
    assert_int_equal(bed.engine.msg.session, FAR_NODE);
    assert_int_equal(bed.engine.msg.length, 5);
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_batches_stay_where_the_engine_put_them),
        cmocka_unit_test(a_view_of_a_name_ends_the_batch),
        cmocka_unit_test(a_batch_is_given_to_its_end_before_the_engine_is_asked_again),
        cmocka_unit_test(what_finds_no_room_comes_with_the_next_call),
        cmocka_unit_test(a_batch_that_was_for_relays_alone_is_not_the_end),
        cmocka_unit_test(messages_to_near_nodes_are_not_touched),
        cmocka_unit_test(messages_to_far_nodes_go_to_the_relay),
        cmocka_unit_test(a_message_to_one_that_was_near_keeps_its_topic),
        cmocka_unit_test(one_that_is_too_long_is_told_without_an_event_of_the_engine),
        cmocka_unit_test(one_that_the_engine_drops_is_told_of_the_far_node),
        cmocka_unit_test(a_full_engine_is_said_and_nothing_is_dropped),
        cmocka_unit_test(one_whose_relay_is_gone_is_far_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
