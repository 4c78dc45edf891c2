/* fuzz_rrmp_engine.c - any bytes are a schedule of records, notices, calls and time for both
 * engines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "rrmp/source.h"

#define OUT_MAX  65536
#define PIPE_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Both engines talk to each other; the input drops, mangles and invents what passes between. */
struct pipe {
    uint8_t room[OUT_MAX];
    struct {
        struct backbone_target target;
        uint8_t *bytes;
        size_t length;
    } queue[PIPE_MAX];
    size_t count;
    bool is_full;
};

static uint8_t *pipe_reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct pipe *pipe = context;

    if (pipe->is_full || length > OUT_MAX || pipe->count == PIPE_MAX)
        return NULL;
    pipe->queue[pipe->count].target = *target;
    return pipe->room;
}

static void pipe_commit(void *context, size_t length)
{
    struct pipe *pipe = context;

    if (length == 0)
        return;
    uint8_t *copy = malloc(length);
    if (!copy)
        abort();
    memcpy(copy, pipe->room, length);
    pipe->queue[pipe->count].bytes = copy;
    pipe->queue[pipe->count++].length = (uint32_t)length;
}

static unsigned pipe_fill(void *context)
{
    return ((struct pipe *)context)->is_full ? 256 : 0;
}

struct bench {
    struct rrmp_source *source;
    struct rrmp_sink *sink;
    struct pipe from_source, from_sink;
    uint64_t now_ns;
    uint16_t svc;
};

static void key_make(uint8_t n, uint8_t out[16], size_t *length)
{
    const struct rrmp_key key = {
        .domain = 6, .members = RRMP_KEY_NAME, .name_type = 1, .name = { .bytes = &n, .length = 1 }
    };
    struct md_wr wr = md_wr_init(out, 16);

    rrmp_key_encode(&wr, &key);
    *length = md_wr_length(&wr);
}

static void image_say(struct bench *bench, uint32_t item, uint8_t bits)
{
    const struct rrmp_part part = { .is_first = bits & 1,
                                    .is_last = bits & 2,
                                    .is_cached = bits & 4,
                                    .is_solicited = bits & 8,
                                    .state = 9 };
    uint8_t *room;

    if (rrmp_source_image_begin(bench->source, bench->now_ns, item, &part, 4, &room) != 0)
        return;
    memset(room, bits, 4);
    rrmp_source_publish_commit(bench->source, 4);
}

static void source_take(struct bench *bench)
{
    struct rrmp_source_event events[4];
    size_t count;

    while ((count = rrmp_source_event(bench->source, events, 4)) > 0) {
        for (size_t i = 0; i < count; i++) {
            if (events[i].kind == RRMP_SOURCE_WANTED || events[i].kind == RRMP_SOURCE_IMAGE_WANTED)
                image_say(bench, events[i].item, 15);
            if (events[i].kind == RRMP_SOURCE_DICTIONARY || events[i].kind == RRMP_SOURCE_SNAPSHOT)
                rrmp_source_refuse(bench->source, events[i].ask,
                                   &(struct rrmp_ending){ .state = 34 });
        }
    }
}

static void sink_take(struct bench *bench)
{
    struct rrmp_sink_event events[4];
    size_t count;

    while ((count = rrmp_sink_event(bench->sink, events, 4)) > 0) {
        for (size_t i = 0; i < count; i++) {
            volatile uint8_t sum = 0;
            for (size_t j = 0; j < events[i].message.length; j++)
                sum = (uint8_t)(sum + events[i].message.bytes[j]);
            struct rrmp_view rest = events[i].message, key;
            while (events[i].kind == RRMP_SINK_BOUND && events[i].type == RRMP_LISTPART &&
                   rrmp_list_next(&rest, &key))
                sum = (uint8_t)(sum + key.bytes[key.length - 1]);
        }
    }
}

static void give(struct bench *bench, bool to_sink, const struct backbone_event *message)
{
    if (to_sink) {
        while (rrmp_sink_input(bench->sink, bench->now_ns, message, 1) == 0)
            sink_take(bench);
        sink_take(bench);
    } else {
        while (rrmp_source_input(bench->source, bench->now_ns, message, 1) == 0)
            source_take(bench);
        source_take(bench);
    }
}

/* What waits in a pipe arrives, but for one that is dropped or mangled. */
static void pump(struct bench *bench, bool to_sink, uint8_t spoil, uint8_t how)
{
    struct pipe *pipe = to_sink ? &bench->from_source : &bench->from_sink;
    size_t count = pipe->count;
    uint8_t *held[PIPE_MAX];
    size_t lengths[PIPE_MAX];
    struct backbone_target targets[PIPE_MAX];

    for (size_t i = 0; i < count; i++) {
        held[i] = pipe->queue[i].bytes;
        lengths[i] = pipe->queue[i].length;
        targets[i] = pipe->queue[i].target;
    }
    pipe->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_spoiled = spoil && i % 16 == (spoil & 15);
        if (is_spoiled && how < 128)
            lengths[i] = 0;
        else if (is_spoiled)
            held[i][how % lengths[i]] ^= (uint8_t)(1u << how % 8);
        if (lengths[i] > 0) {
            bool is_unicast = targets[i].path == BACKBONE_PATH_UNICAST;
            struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                              .flags = is_unicast ? BACKBONE_FLAG_UNICAST : 0,
                                              .session = to_sink ? 1 : 2,
                                              .src_port = 1,
                                              .dst_port = targets[i].port,
                                              .topic = targets[i].topic,
                                              .bytes = held[i],
                                              .length = (uint32_t)lengths[i] };
            give(bench, to_sink, &message);
        }
        free(held[i]);
    }
}

/* A record of the fuzzer's own. */
static void invent(struct bench *bench, bool to_sink, struct md_rd *rd)
{
    size_t length = md_rd_u8(rd);
    length = length < md_rd_left(rd) ? length : md_rd_left(rd);
    const uint8_t *bytes = md_rd_bytes(rd, length);
    uint8_t *copy = malloc(length ? length : 1);

    if (!copy)
        abort();
    if (length)
        memcpy(copy, bytes, length);
    if (length > 1)
        copy[1] = (uint8_t)(RRMP_VERSION << 4 | (copy[1] & 15));
    bool is_control = length > 0 && (copy[0] == RRMP_INSTANCE || copy[0] == RRMP_SERVICE);
    struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                      .flags = is_control ? 0 : BACKBONE_FLAG_UNICAST,
                                      .session = to_sink ? 1 : 2,
                                      .src_port = 1,
                                      .dst_port = 1,
                                      .topic = RRMP_TOPIC_CONTROL,
                                      .bytes = copy,
                                      .length = (uint32_t)length };
    give(bench, to_sink, &message);
    free(copy);
}

static void notices(struct bench *bench, uint8_t which)
{
    static const uint8_t types[] = { BACKBONE_GAP,       BACKBONE_OVERRUN,   BACKBONE_PEER_UP,
                                     BACKBONE_PEER_DOWN, BACKBONE_USER_DOWN, BACKBONE_TX_DROPPED,
                                     BACKBONE_ATTACHED,  BACKBONE_DETACHED };
    const struct backbone_event notice = { .type = types[which % 8],
                                           .session = which & 8 ? 1 : 2,
                                           .src_port = 1,
                                           .dst_port = 1,
                                           .reason = which >> 4 };

    if (which & 64) {
        rrmp_sink_input(bench->sink, bench->now_ns, &notice, 1);
        sink_take(bench);
    } else {
        rrmp_source_input(bench->source, bench->now_ns, &notice, 1);
        source_take(bench);
    }
}

static void call(struct bench *bench, uint8_t what, uint8_t n)
{
    uint8_t key[16];
    uint32_t item;
    uint8_t *room;
    struct rrmp_sink_open open = { .service = 0,
                                   .is_private = what & 16,
                                   .is_snapshot = what & 32,
                                   .is_follower = what & 64,
                                   .priority_class = 1,
                                   .priority_count = n };

    key_make(n % 8, key, &open.key.length);
    open.key.bytes = key;
    switch (what % 8) {
    case 0:
        if (what & 128)
            rrmp_sink_follow(bench->sink, bench->now_ns, 0);
        rrmp_sink_item_open(bench->sink, bench->now_ns, &open, &item);
        break;
    case 1:
        rrmp_sink_item_close(bench->sink, bench->now_ns, n % 16);
        break;
    case 2:
        rrmp_sink_item_want_image(bench->sink, bench->now_ns, n % 16);
        break;
    case 3:
        rrmp_sink_post(bench->sink, bench->now_ns, n % 16, 0, open.key, open.key, true, n);
        rrmp_sink_dictionary(bench->sink, bench->now_ns, 0, open.key, 7, n);
        break;
    case 4:
        if (rrmp_source_publish_begin(bench->source, n % 16, what & 16 ? RRMP_STATUS : RRMP_UPDATE,
                                      4, &room) == 0)
            rrmp_source_publish_commit(bench->source, n & 64 ? 0 : 4);
        break;
    case 5:
        image_say(bench, n % 16, n >> 4);
        break;
    case 6:
        rrmp_source_item_close(bench->source, bench->now_ns, n % 16,
                               &(struct rrmp_ending){ .state = 34, .scope = 1 + n % 3 });
        break;
    case 7:
        bench->from_source.is_full = n & 1;
        bench->from_sink.is_full = n & 2;
        break;
    }
    sink_take(bench);
    source_take(bench);
}

static void step(struct bench *bench, struct md_rd *rd)
{
    uint8_t what = md_rd_u8(rd);
    uint8_t a = md_rd_u8(rd);

    switch (what & 7) {
    case 0:
        bench->now_ns += (uint64_t)a * a * 1000000;
        rrmp_source_tick(bench->source, bench->now_ns, what & 8);
        source_take(bench);
        rrmp_sink_tick(bench->sink, bench->now_ns, what & 8);
        sink_take(bench);
        break;
    case 1:
    case 2:
        pump(bench, what & 1, what >> 3, a);
        break;
    case 3:
        invent(bench, what & 8, rd);
        break;
    case 4:
        notices(bench, a);
        break;
    default:
        call(bench, a, what >> 3);
        break;
    }
    if (rrmp_sink_stats(bench->sink)->memory_now > rrmp_sink_memory_max(bench->sink) ||
        rrmp_source_stats(bench->source)->memory_now > rrmp_source_memory_max(bench->source))
        abort();
}

static struct backbone_send send_of(struct pipe *pipe)
{
    return (struct backbone_send){
        .context = pipe, .reserve = pipe_reserve, .commit = pipe_commit, .fill = pipe_fill
    };
}

static void pipe_fini(struct pipe *pipe)
{
    for (size_t i = 0; i < pipe->count; i++)
        free(pipe->queue[i].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    struct md_rd rd = md_rd_init(data, size);
    static const uint8_t name[] = "S";

    if (!bench)
        abort();
    bench->now_ns = 1000000;
    struct rrmp_source_config source = { .name = "fuzz",
                                         .send = send_of(&bench->from_source),
                                         .random = 1,
                                         .item_limit = 16,
                                         .handle_limit = 32,
                                         .requester_limit = 4,
                                         .gap_log = 16,
                                         .service_limit = 2,
                                         .ask_limit = 16 };
    struct rrmp_sink_config sink = { .send = send_of(&bench->from_sink),
                                     .random = 2,
                                     .item_limit = 16,
                                     .instance_limit = 4,
                                     .service_limit = 4,
                                     .link_limit = 8,
                                     .post_limit = 8,
                                     .open_window_minimum = 4,
                                     .hold_records = 4 };
    const struct rrmp_service service = { .state = 3,
                                          .features = 7,
                                          .name = { .bytes = name, .length = 1 } };
    if (rrmp_source_create(&source, &bench->source) != 0 ||
        rrmp_sink_create(&sink, &bench->sink) != 0 ||
        rrmp_source_service_offer(bench->source, 0, &service, &bench->svc) != 0)
        abort();
    rrmp_source_input(
        bench->source, bench->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 }, 1);
    rrmp_sink_input(
        bench->sink, bench->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 }, 1);
    pump(bench, true, 0, 0);
    while (md_rd_left(&rd) > 1) {
        step(bench, &rd);
        MD_ASSERT(!rrmp_source_check(bench->source));
        MD_ASSERT(!rrmp_sink_check(bench->sink));
    }
    rrmp_source_destroy(bench->source);
    rrmp_sink_destroy(bench->sink);
    pipe_fini(&bench->from_source);
    pipe_fini(&bench->from_sink);
    free(bench);
    return 0;
}
