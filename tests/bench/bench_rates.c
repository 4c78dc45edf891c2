/* bench_rates.c - an update through the core of src_dist: as it comes, filtered, merged. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_rates [UPDATES [CASE]]
 *
 * A publisher, the core of src_dist and a requester's engine in one process: no socket, no thread,
 * time stands still. 1,000,000 updates of ten fields for each case unless told otherwise; a case by
 * itself is for a count of instructions:
 *     valgrind --tool=callgrind --toggle-collect=srcdist_provider_message bench_rates 2000 none
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "itemkey/itemkey.h"
#include "omm/directory.h"
#include "omm/login.h"
#include "rates/rates.h"
#include "rmds/rwf.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "srcdist/core/core.h"

#define QUEUE    256u
#define SIZE     2048u
#define FIELDS   10
#define STREAM   (-5)
#define SERVICE  3
#define UPDATES  1000000u
#define SECOND   1000000000ull
#define WARM     64u
#define VARIANTS 16u /* updates of different values, so that images change */

static const struct kind {
    const char *name;
    const char *lines; /* NULL: none */
    uint8_t update_type;
    uint64_t out; /* of a hundred updates */
} kinds[] = {
    { "none", NULL, RWF_UPDATE_QUOTE, 100 },
    { "lines of other items", "drop * OTHER* * 22\ninterval * OTHER* * 1s\n", RWF_UPDATE_QUOTE,
      100 },
    { "a type that passes", "types * * * 1 2\n", RWF_UPDATE_QUOTE, 100 },
    { "a type that is left out", "types * * * 2\n", RWF_UPDATE_QUOTE, 0 },
    { "no field to leave out", "drop * * * 1709\n", RWF_UPDATE_QUOTE, 100 },
    { "one field of ten left out", "drop * * * 25\n", RWF_UPDATE_QUOTE, 100 },
    { "nine fields of ten kept", "keep * * * 22 25 30 31 6 32 178 1000 3\n", RWF_UPDATE_QUOTE,
      100 },
    { "an interval, exempt", "interval * * * 1s\n", RWF_UPDATE_TRADE, 100 },
    { "an interval, merged", "interval * * * 1s\n", RWF_UPDATE_QUOTE, 0 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Messages that one side has sent. */
struct batch {
    bool is_void; /* nobody listens */
    uint8_t bytes[QUEUE][SIZE];
    struct backbone_target targets[QUEUE];
    size_t lengths[QUEUE];
    size_t count;
};

struct bench {
    struct srcdist_core *core;
    struct rrmp_sink *sink;
    uint32_t provider;
    uint64_t now_ns;
    uint8_t updates[VARIANTS][256];
    size_t lengths[VARIANTS];
};

static struct batch down, up;

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_rates: %s\n", what);
    exit(1);
}

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct batch *batch = context;

    if (batch->count == QUEUE || length > SIZE)
        return NULL;
    batch->targets[batch->count] = *target;
    return batch->bytes[batch->count];
}

static void commit(void *context, size_t length)
{
    struct batch *batch = context;

    if (length && !batch->is_void)
        batch->lengths[batch->count++] = length;
}

static unsigned fill(void *context)
{
    return ((struct batch *)context)->count > QUEUE / 2 ? 200 : 0;
}

/* ---- the backbone ---- */

static struct backbone_event event_of(const struct batch *batch, size_t i, uint64_t session)
{
    return (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                    .session = session,
                                    .flags = batch->targets[i].path == BACKBONE_PATH_UNICAST
                                                 ? BACKBONE_FLAG_UNICAST
                                                 : 0,
                                    .topic = batch->targets[i].topic,
                                    .src_port = 1,
                                    .dst_port = batch->targets[i].port,
                                    .bytes = batch->bytes[i],
                                    .length = (uint32_t)batch->lengths[i] };
}

static void to_sink(struct bench *bench)
{
    struct rrmp_sink_event event;

    for (size_t i = 0; i < down.count; i++) {
        struct backbone_event sent = event_of(&down, i, 1);
        rrmp_sink_input(bench->sink, bench->now_ns, &sent, 1);
        while (rrmp_sink_event(bench->sink, &event, 1) == 1)
            continue;
    }
    down.count = 0;
}

static void to_core(struct bench *bench)
{
    for (size_t i = 0; i < up.count; i++) {
        struct backbone_event sent = event_of(&up, i, 2);
        srcdist_core_backbone(bench->core, bench->now_ns, &sent, 1);
    }
    up.count = 0;
}

static void pass(struct bench *bench)
{
    struct rrmp_sink_event event;

    for (int i = 0; i < 100; i++) {
        bench->now_ns += SECOND / 50;
        srcdist_core_tick(bench->core, bench->now_ns, true);
        srcdist_core_settle(bench->core, bench->now_ns);
        to_sink(bench);
        rrmp_sink_tick(bench->sink, bench->now_ns, true);
        while (rrmp_sink_event(bench->sink, &event, 1) == 1)
            continue;
        to_core(bench);
    }
}

static void attach(struct bench *bench)
{
    const struct backbone_event source = { .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 };
    const struct backbone_event sink = { .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 };

    srcdist_core_backbone(bench->core, bench->now_ns, &source, 1);
    rrmp_sink_input(bench->sink, bench->now_ns, &sink, 1);
}

/* ---- the publisher ---- */

static int hear(void *self, struct rwf_bytes bytes)
{
    (void)self;
    (void)bytes;
    return MD_OK;
}

static void closed(void *self, const char *reason)
{
    (void)self;
    must(false, reason);
}

static const struct srcdist_link publisher = { .send = hear, .close = closed };

static void say(struct bench *bench, const struct rwf_encoder *enc)
{
    must(rwf_encoder_error(enc) == RWF_OK, "a message cannot be written");
    must(srcdist_provider_message(bench->core, bench->now_ns, bench->provider,
                                  rwf_encoder_bytes(enc)) == MD_OK,
         "the core takes no message of the publisher");
}

static void log_in(struct bench *bench)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    const struct omm_login_request request = { .stream_id = OMM_LOGIN_STREAM,
                                               .is_streaming = true,
                                               .user = rwf_text("bench"),
                                               .name_type = RWF_NAME_LOGIN_USER,
                                               .role = OMM_ROLE_PROVIDER,
                                               .single_open = true,
                                               .allow_suspect_data = true };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_request_encode(&enc, &request);
    say(bench, &enc);
}

static void offer(struct bench *bench)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    const struct omm_directory_head head = {
        .is_first = true, .is_complete = true, .is_streaming = true, .filter = 3
    };
    const struct omm_service service = { .id = SERVICE,
                                         .action = RWF_MAP_ADD,
                                         .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
                                         .name = rwf_text("S"),
                                         .capability_count = 1,
                                         .capabilities = { RWF_DOMAIN_MARKET_PRICE },
                                         .is_up = true };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    say(bench, &enc);
}

static void put_fields(struct rwf_encoder *enc, unsigned variant)
{
    static const int16_t ids[FIELDS] = { 22, 25, 30, 31, 6, 32, 178, 1000, 3, 11 };

    rwf_field_list_start(enc, NULL);
    for (unsigned i = 0; i < FIELDS; i++)
        rwf_field_add_uint(enc, ids[i], 70000 + variant * 100 + i);
    rwf_field_list_finish(enc);
}

static void publish(struct bench *bench)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = STREAM,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE |
                 RWF_REFRESH_HAS_QOS,
        .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = SERVICE,
                 .name = rwf_text("POPULAR"),
                 .name_type = RWF_NAME_RIC },
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .container = RWF_TYPE_FIELD_LIST,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    put_fields(&enc, 0);
    rwf_msg_finish(&enc);
    say(bench, &enc);
}

static void prepare_updates(struct bench *bench, uint8_t update_type)
{
    struct rwf_encoder enc;
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .stream_id = STREAM,
                                 .update_type = update_type,
                                 .container = RWF_TYPE_FIELD_LIST };

    for (unsigned i = 0; i < VARIANTS; i++) {
        rwf_encoder_init(&enc, bench->updates[i], sizeof(bench->updates[i]));
        rwf_msg_start(&enc, &msg);
        put_fields(&enc, i);
        must(rwf_msg_finish(&enc) == RWF_OK, "an update cannot be written");
        bench->lengths[i] = rwf_encoder_bytes(&enc).length;
    }
}

static void update(struct bench *bench, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned variant = i % VARIANTS;
        must(srcdist_provider_message(
                 bench->core, bench->now_ns, bench->provider,
                 rwf_bytes(bench->updates[variant], bench->lengths[variant])) == MD_OK,
             "the core takes no update");
    }
}

/* ---- a case ---- */

static struct srcdist_service_config service_config(void *owner, struct rwf_bytes name)
{
    (void)owner;
    (void)name;
    return (struct srcdist_service_config){ .cache_location = SRCDIST_CACHE_SRC_DIST,
                                            .load_factor = 1 };
}

static void use_lines(struct bench *bench, const char *lines)
{
    struct rates *rules;

    if (!lines)
        return;
    must(rates_create(lines, strlen(lines), NULL, NULL, NULL, &rules) == MD_OK &&
             rates_exempt(rules, "2", "", NULL, NULL, NULL) == MD_OK &&
             srcdist_core_rates_set(bench->core, bench->now_ns, rules) == MD_OK,
         "the lines cannot be used");
}

/* Its image is wanted by one p2ps, which has got it. */
static void open_item(struct bench *bench)
{
    const struct rwf_key key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                                 .name = rwf_text("POPULAR"),
                                 .name_type = RWF_NAME_RIC };
    const struct rwf_qos qos = { .timeliness = RWF_TIMELINESS_REALTIME,
                                 .rate = RWF_RATE_TICK_BY_TICK };
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    struct rrmp_sink_item info;
    size_t length;
    uint32_t item;

    must(itemkey_encode(RWF_DOMAIN_MARKET_PRICE, &key, &qos, bytes, sizeof(bytes), &length) ==
             RWF_OK,
         "the key cannot be written");
    const struct rrmp_sink_open open = {
        .service =
            rrmp_sink_service_find(bench->sink, (struct rrmp_view){ (const uint8_t *)"S", 1 }),
        .key = { bytes, length },
        .priority_class = 1,
        .priority_count = 1,
    };
    must(rrmp_sink_item_open(bench->sink, bench->now_ns, &open, &item) == MD_OK,
         "the item cannot be opened");
    rrmp_sink_item_want_image(bench->sink, bench->now_ns, item);
    pass(bench);
    must(rrmp_sink_item_info(bench->sink, item, &info) && info.state == RRMP_SINK_LIVE,
         "the item is not live");
}

static void create(struct bench *bench, const struct kind *kind)
{
    const struct srcdist_core_config config = {
        .source = { .name = "bench",
                    .send = { .context = &down,
                              .reserve = reserve,
                              .commit = commit,
                              .fill = fill } },
        .service = service_config,
        .user = "bench",
        .position = "127.0.0.1/net",
        .application_name = "src_dist",
        .message_max = 65536,
        .rules = { .ripples = true },
        .has_rates = kind->lines != NULL,
    };
    const struct rrmp_sink_config sink = {
        .send = { .context = &up, .reserve = reserve, .commit = commit, .fill = fill }
    };

    *bench = (struct bench){ .now_ns = SECOND };
    down.is_void = false;
    must(srcdist_core_create(&config, &bench->core) == MD_OK &&
             rrmp_sink_create(&sink, &bench->sink) == MD_OK,
         "no memory");
    use_lines(bench, kind->lines);
    attach(bench);
    pass(bench);
    must(srcdist_provider_add(bench->core, bench->now_ns, SRCDIST_NON_INTERACTIVE, 0, "bench",
                              &publisher, bench, &bench->provider) == MD_OK,
         "no place for the publisher");
    log_in(bench);
    offer(bench);
    publish(bench);
    pass(bench);
    open_item(bench);
    prepare_updates(bench, kind->update_type);
    down.is_void = true;
    update(bench, WARM);
}

static void destroy(struct bench *bench)
{
    srcdist_core_destroy(bench->core);
    rrmp_sink_destroy(bench->sink);
    down.count = up.count = 0;
}

static double clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void measure(const struct kind *kind, unsigned count)
{
    static struct bench bench;

    create(&bench, kind);
    uint64_t before = srcdist_core_stats(bench.core)->updates_out;
    double start = clock_s();
    update(&bench, count);
    double each_ns = (clock_s() - start) * 1e9 / count;
    uint64_t out = srcdist_core_stats(bench.core)->updates_out - before;
    must(out * 100 == kind->out * count, "other updates went out than should");
    printf("  %-32s %8.1f ns\n", kind->name, each_ns);
    destroy(&bench);
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : UPDATES;
    const char *name = argc > 2 ? argv[2] : NULL;
    bool is_known = name == NULL;

    if (count == 0) {
        fputs("usage: bench_rates [UPDATES [CASE]]\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < KINDS; i++) {
        if (name && strcmp(name, kinds[i].name) != 0)
            continue;
        is_known = true;
        measure(&kinds[i], count);
    }
    must(is_known, "there is no case of that name");
    return 0;
}
