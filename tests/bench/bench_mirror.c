/* bench_mirror.c - what mirrorSequence takes of an update: two src_dist and a p2ps, by turns. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_mirror [UPDATES [on|off]]
 *
 * The cores of two mirrored src_dist and of a p2ps with one consumer in one process: no socket, no
 * thread. Both sources hear the same numbered provider; each carries its share of the items and
 * keeps the others ready. Two such worlds, one with mirrorSequence and one without, get the same
 * updates by turns, UPDATES (1,000,000 unless told otherwise) in each. One world by itself is for a
 * count of instructions:
 *     valgrind --tool=callgrind --toggle-collect=srcdist_provider_message bench_mirror 20000 on
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cursor.h"
#include "base/err.h"
#include "omm/directory.h"
#include "omm/login.h"
#include "p2ps/core/core.h"
#include "p2ps/core/rwf_forms.h"
#include "rmds/rwf.h"
#include "srcdist/core/core.h"

#define SOURCES 2u
#define ITEMS   200u
#define BATCH   64u /* updates that come at once */
#define ROUND   20000u
#define ROUNDS  1000u
#define QUEUE   4096u
#define SIZE    512u
#define SERVICE 3
#define SECOND  1000000000ull
#define RATE    100000u /* updates a second, by the clock of the cores */
#define TICK_NS (SECOND / 50)
#define WARM_S  10u /* until then the blocks of the replay buffer are new memory */

struct batch {
    uint8_t bytes[QUEUE][SIZE];
    struct backbone_target targets[QUEUE];
    size_t lengths[QUEUE];
    size_t count;
};

struct source {
    struct world *world;
    struct srcdist_core *core;
    uint32_t provider;
    int32_t streams[ITEMS]; /* as it asked for them; 0: not yet */
    int32_t unanswered[4 * ITEMS];
    uint8_t asked[4 * ITEMS]; /* domains of these; the item is in `numbers` */
    uint32_t numbers[4 * ITEMS];
    size_t unanswered_count;
    struct batch down;
};

struct world {
    bool is_numbered;
    uint64_t now_ns;
    uint64_t tick_ns;
    uint32_t number;
    struct source sources[SOURCES];
    struct p2ps_core *sink;
    struct batch up;
    uint32_t client;
    uint8_t bytes[SIZE];
    uint64_t heard;
    uint64_t source_ns, sink_ns; /* of this round */
};

static struct world worlds[2];
static uint8_t update_bytes[SIZE];
static size_t update_length;
static uint32_t number_at;

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_mirror: %s\n", what);
    exit(1);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* ---- the backbone ---- */

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

    if (length)
        batch->lengths[batch->count++] = length;
}

static unsigned fill(void *context)
{
    return ((struct batch *)context)->count > QUEUE / 2 ? 200 : 0;
}

static struct backbone_send send_to(struct batch *batch)
{
    return (struct backbone_send){
        .context = batch, .reserve = reserve, .commit = commit, .fill = fill
    };
}

static struct backbone_event event_of(const struct batch *batch, size_t i, uint64_t session)
{
    bool is_unicast = batch->targets[i].path == BACKBONE_PATH_UNICAST;

    return (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                    .session = session,
                                    .flags = is_unicast ? BACKBONE_FLAG_UNICAST : 0,
                                    .topic = batch->targets[i].topic,
                                    .src_port = 1,
                                    .dst_port = is_unicast ? batch->targets[i].port : 0,
                                    .bytes = batch->bytes[i],
                                    .length = (uint32_t)batch->lengths[i] };
}

static uint64_t session_of(const struct source *source)
{
    return source == source->world->sources ? 1 : 3;
}

static void to_sink(struct world *world)
{
    static struct backbone_event messages[QUEUE];

    for (size_t k = 0; k < SOURCES; k++) {
        struct source *source = &world->sources[k];
        for (size_t i = 0; i < source->down.count; i++)
            messages[i] = event_of(&source->down, i, session_of(source));
        size_t count = source->down.count;
        source->down.count = 0;
        uint64_t start = clock_ns();
        p2ps_core_backbone(world->sink, 0, world->now_ns, messages, count);
        p2ps_core_flush(world->sink);
        world->sink_ns += clock_ns() - start;
    }
}

static void to_sources(struct world *world)
{
    for (size_t i = 0; i < world->up.count; i++) {
        const struct backbone_target *target = &world->up.targets[i];
        struct backbone_event sent = event_of(&world->up, i, 2);
        for (size_t k = 0; k < SOURCES; k++) {
            if (target->path == BACKBONE_PATH_MULTICAST ||
                target->session == session_of(&world->sources[k]))
                srcdist_core_backbone(world->sources[k].core, world->now_ns, &sent, 1);
        }
    }
    world->up.count = 0;
}

/* ---- the providers ---- */

static int hear(void *self, struct rwf_bytes bytes)
{
    struct source *source = self;
    size_t i = source->unanswered_count;
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK || msg.msg_class != RWF_CLASS_REQUEST)
        return MD_OK;
    must(i < 4 * ITEMS, "too many requests");
    source->unanswered[i] = msg.stream_id;
    source->asked[i] = msg.domain;
    if (msg.domain == RWF_DOMAIN_MARKET_PRICE)
        source->numbers[i] = (uint32_t)strtoul((const char *)msg.key.name.data + 1, NULL, 10);
    source->unanswered_count++;
    return MD_OK;
}

static void closed(void *self, const char *reason)
{
    (void)self;
    must(false, reason);
}

static const struct srcdist_link link_of_provider = { .send = hear, .close = closed };

static void say(struct source *source, const struct rwf_encoder *enc)
{
    must(rwf_encoder_error(enc) == RWF_OK, "a message cannot be written");
    must(srcdist_provider_message(source->core, source->world->now_ns, source->provider,
                                  rwf_encoder_bytes(enc)) == MD_OK,
         "a core takes no message of its provider");
}

static void say_login(struct source *source, int32_t stream_id)
{
    uint8_t bytes[SIZE];
    struct rwf_encoder enc;
    const struct omm_login_refresh refresh = { .stream_id = stream_id,
                                               .is_solicited = true,
                                               .state = { .stream_state = RWF_STREAM_OPEN,
                                                          .data_state = RWF_DATA_OK } };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_refresh_encode(&enc, &refresh);
    say(source, &enc);
}

static void say_directory(struct source *source, int32_t stream_id)
{
    uint8_t bytes[SIZE];
    struct rwf_encoder enc;
    const struct omm_directory_head head = { .stream_id = stream_id,
                                             .is_solicited = true,
                                             .is_first = true,
                                             .is_complete = true,
                                             .is_streaming = true,
                                             .filter = 3 };
    const struct omm_service service = { .id = SERVICE,
                                         .action = RWF_MAP_ADD,
                                         .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
                                         .name = rwf_text("S"),
                                         .capability_count = 1,
                                         .capabilities = { RWF_DOMAIN_MARKET_PRICE },
                                         .is_up = true,
                                         .is_accepting = true };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    say(source, &enc);
}

static struct rwf_bytes payload(void)
{
    static const uint8_t bytes[70];

    return rwf_bytes(bytes, sizeof(bytes));
}

static void say_image(struct source *source, int32_t stream_id)
{
    uint8_t bytes[SIZE];
    struct rwf_encoder enc;
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_REFRESH,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .stream_id = stream_id,
                                 .flags = RWF_REFRESH_COMPLETE | RWF_REFRESH_SOLICITED |
                                          RWF_REFRESH_CLEAR_CACHE | RWF_REFRESH_HAS_SEQ_NUM,
                                 .seq_num = source->world->number,
                                 .state = { .stream_state = RWF_STREAM_OPEN,
                                            .data_state = RWF_DATA_OK },
                                 .container = RWF_TYPE_OPAQUE,
                                 .payload = payload() };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    must(rwf_msg_encode(&enc, &msg) == RWF_OK, "an image cannot be written");
    say(source, &enc);
}

static void answer(struct source *source)
{
    for (size_t i = 0; i < source->unanswered_count; i++) {
        int32_t stream_id = source->unanswered[i];
        if (source->asked[i] == RWF_DOMAIN_LOGIN)
            say_login(source, stream_id);
        else if (source->asked[i] == RWF_DOMAIN_SOURCE)
            say_directory(source, stream_id);
        else if (source->asked[i] == RWF_DOMAIN_MARKET_PRICE)
            say_image(source, source->streams[source->numbers[i]] = stream_id);
    }
    source->unanswered_count = 0;
}

/* ---- the consumer ---- */

static int put(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot)
{
    struct world *world = self;

    if (made->length > SIZE)
        return MD_ERR_FULL;
    p2ps_rwf_write(world->bytes, made, stream_id, solicited, snapshot);
    world->heard++;
    return MD_OK;
}

static int login_refresh(void *self, const struct omm_login_refresh *refresh)
{
    (void)self;
    (void)refresh;
    return MD_OK;
}

static int tell(void *self, struct rwf_bytes bytes)
{
    (void)self;
    (void)bytes;
    return MD_OK;
}

static void flush(void *self)
{
    (void)self;
}

static bool is_full(const void *self)
{
    (void)self;
    return false;
}

static unsigned fill_of(const void *self)
{
    (void)self;
    return 0;
}

static const struct p2ps_front front = {
    .name = "bench",
    .make = p2ps_rwf_make,
    .put = put,
    .login_refresh = login_refresh,
    .message = tell,
    .flush = flush,
    .is_full = is_full,
    .fill = fill_of,
};

static enum entitle_verdict ask(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out)
{
    (void)self;
    (void)query;
    *out = (struct entitle_answer){ .ticket = ticket, .verdict = ENTITLE_ALLOW };
    return ENTITLE_ALLOW;
}

static int answers(void *self, struct entitle_answer out[], int max)
{
    (void)self;
    (void)out;
    (void)max;
    return 0;
}

static void open_items(struct world *world)
{
    const struct omm_login_request login = { .stream_id = 1,
                                             .is_streaming = true,
                                             .user = rwf_text("bench"),
                                             .name_type = RWF_NAME_LOGIN_USER,
                                             .single_open = true,
                                             .allow_suspect_data = true };
    char name[16];

    must(p2ps_client_add(world->sink, world->now_ns, &front, world, "bench", 0, &world->client) ==
             MD_OK,
         "no place for a client");
    p2ps_client_login(world->sink, world->now_ns, world->client, &login);
    for (uint32_t i = 0; i < ITEMS; i++) {
        snprintf(name, sizeof(name), "I%u", i);
        const struct omm_item_request request = {
            .stream_id = (int32_t)i + 5,
            .domain = RWF_DOMAIN_MARKET_PRICE,
            .is_streaming = true,
            .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                     .service_id = p2ps_core_service_id(world->sink, 0, 0),
                     .name = rwf_text(name),
                     .name_type = RWF_NAME_RIC },
            .container = RWF_TYPE_NO_DATA,
        };
        p2ps_client_item(world->sink, world->now_ns, world->client, &request);
    }
}

static void tick(struct world *world)
{
    for (size_t k = 0; k < SOURCES; k++) {
        srcdist_core_tick(world->sources[k].core, world->now_ns, true);
        srcdist_core_settle(world->sources[k].core, world->now_ns);
        answer(&world->sources[k]);
    }
    to_sink(world);
    p2ps_core_tick(world->sink, world->now_ns, 1);
    p2ps_core_settle(world->sink, world->now_ns);
    p2ps_core_flush(world->sink);
    to_sources(world);
}

static void pass(struct world *world, uint64_t time_ns)
{
    for (uint64_t end_ns = world->now_ns + time_ns; world->now_ns < end_ns;) {
        world->now_ns += TICK_NS;
        tick(world);
    }
}

static struct srcdist_service_config service_config(void *owner, struct rwf_bytes name)
{
    const struct source *source = owner;

    (void)name;
    return (struct srcdist_service_config){ .id = 7,
                                            .cache_location = SRCDIST_CACHE_SRC_DIST,
                                            .load_factor = 1,
                                            .mirror_group = "G",
                                            .mirror_hot = true,
                                            .mirror_sequence = source->world->is_numbered };
}

static void create_source(struct source *source)
{
    const struct srcdist_core_config config = {
        .source = { .name = session_of(source) == 1 ? "one" : "two",
                    .send = send_to(&source->down) },
        .service_owner = source,
        .service = service_config,
        .user = "bench",
        .position = "127.0.0.1/net",
        .application_name = "src_dist",
        .message_max = 65536,
    };
    const struct backbone_event notice = { .type = BACKBONE_ATTACHED,
                                           .session = session_of(source),
                                           .dst_port = 1 };

    must(srcdist_core_create(&config, &source->core) == MD_OK, "no memory");
    srcdist_core_backbone(source->core, source->world->now_ns, &notice, 1);
    must(srcdist_provider_add(source->core, source->world->now_ns, SRCDIST_INTERACTIVE, 0, "bench",
                              &link_of_provider, source, &source->provider) == MD_OK,
         "no place for a provider");
}

static void create(struct world *world, bool is_numbered)
{
    const struct p2ps_core_config config = {
        .sink = { .send = send_to(&world->up) },
        .sends = { send_to(&world->up) },
        .authority = { .ask = ask, .answers = answers },
        .client_limit = 4,
        .message_max = 65536,
    };
    const struct backbone_event notice = { .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 };
    uint64_t kept = 0, open = 0;

    world->is_numbered = is_numbered;
    world->now_ns = SECOND;
    must(p2ps_core_create(&config, &world->sink) == MD_OK, "no memory");
    p2ps_core_backbone(world->sink, 0, world->now_ns, &notice, 1);
    for (size_t k = 0; k < SOURCES; k++) {
        world->sources[k].world = world;
        create_source(&world->sources[k]);
    }
    pass(world, 2 * SECOND);
    open_items(world);
    pass(world, 4 * SECOND);
    for (size_t k = 0; k < SOURCES; k++) {
        const struct srcdist_core_stats *stats = srcdist_core_stats(world->sources[k].core);
        kept += stats->replay_items_now;
        open += stats->items_now;
    }
    must(open == SOURCES * ITEMS, "not all items are open at both");
    must(kept == (is_numbered ? ITEMS : 0), "not all items are kept ready");
}

static void prepare_update(void)
{
    struct rwf_encoder enc;
    struct rwf_layout layout;
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .stream_id = 5,
                                 .flags = RWF_UPDATE_HAS_SEQ_NUM,
                                 .update_type = RWF_UPDATE_QUOTE,
                                 .container = RWF_TYPE_OPAQUE,
                                 .payload = payload() };

    rwf_encoder_init(&enc, update_bytes, sizeof(update_bytes));
    must(rwf_msg_encode(&enc, &msg) == RWF_OK, "an update cannot be written");
    update_length = rwf_encoder_bytes(&enc).length;
    must(rwf_layout_decode(rwf_encoder_bytes(&enc), &layout) == RWF_OK, "it cannot be read");
    number_at = layout.seq_num.at;
}

static void prepare(const struct source *source, uint32_t first, uint8_t batch[BATCH][SIZE])
{
    for (uint32_t i = 0; i < BATCH; i++) {
        memcpy(batch[i], update_bytes, update_length);
        rwf_patch_stream_id(batch[i], source->streams[(first + i) % ITEMS]);
        md_put_be32(batch[i] + number_at, first + i);
    }
}

static void update(struct world *world, uint32_t count)
{
    static uint8_t batch[BATCH][SIZE];

    world->source_ns = world->sink_ns = 0;
    for (uint32_t done = 0; done < count; done += BATCH) {
        for (size_t k = 0; k < SOURCES; k++) {
            struct source *source = &world->sources[k];
            prepare(source, world->number + 1, batch);
            uint64_t start = clock_ns();
            for (uint32_t i = 0; i < BATCH; i++)
                must(srcdist_provider_message(source->core, world->now_ns, source->provider,
                                              rwf_bytes(batch[i], update_length)) == MD_OK,
                     "a core takes no update");
            world->source_ns += clock_ns() - start;
        }
        to_sink(world);
        world->number += BATCH;
        world->now_ns += BATCH * SECOND / RATE;
        if (world->now_ns - world->tick_ns >= TICK_NS) {
            world->tick_ns = world->now_ns;
            tick(world);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

static void measure(uint32_t updates)
{
    static double with[3][ROUNDS], without[3][ROUNDS], ratio[3][ROUNDS];
    static const char *const names[] = { "both src_dist", "p2ps", "all" };
    size_t rounds = updates / ROUND ? updates / ROUND : 1;

    rounds = rounds < ROUNDS ? rounds : ROUNDS;
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < 2; i++)
            update(&worlds[(r + i) % 2], ROUND);
        for (int k = 0; k < 3; k++) {
            const struct world *on = &worlds[0], *off = &worlds[1];
            with[k][r] = (double)((k != 1) * on->source_ns + (k != 0) * on->sink_ns) / ROUND;
            without[k][r] = (double)((k != 1) * off->source_ns + (k != 0) * off->sink_ns) / ROUND;
            ratio[k][r] = with[k][r] / without[k][r];
        }
    }
    printf("  %-14s %12s %12s %8s  (medians of %zu rounds)\n", "", "with, ns", "without, ns",
           "ratio", rounds);
    for (int k = 0; k < 3; k++)
        printf("  %-14s %12.1f %12.1f %8.3f\n", names[k], median(with[k], rounds),
               median(without[k], rounds), median(ratio[k], rounds));
}

int main(int argc, char **argv)
{
    uint32_t updates = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;

    if (argc > 3 || updates == 0) {
        fprintf(stderr, "usage: bench_mirror [UPDATES [on|off]]\n");
        return 2;
    }
    prepare_update();
    if (argc == 3) {
        create(&worlds[0], strcmp(argv[2], "on") == 0);
        uint64_t before = worlds[0].heard;
        update(&worlds[0], updates);
        printf("%llu updates heard\n", (unsigned long long)(worlds[0].heard - before));
    } else {
        printf("An update of %zu bytes of %u items, %u at once:\n", update_length, ITEMS, BATCH);
        for (int i = 0; i < 2; i++) {
            create(&worlds[i], i == 0);
            update(&worlds[i], updates < ROUND ? ROUND : WARM_S * RATE);
        }
        measure(updates);
    }
    return 0; /* all memory goes with the process */
}
