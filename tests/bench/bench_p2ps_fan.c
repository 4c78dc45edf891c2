/* bench_p2ps_fan.c - one item and many consumers: an update to all, all leaving; and long lists. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_p2ps_fan [CLIENTS [UPDATES [rules]]]
 *        bench_p2ps_fan open CLIENTS ITEMS
 *
 * The core of p2ps in one process with a source engine: no socket, no thread. With CLIENTS and
 * UPDATES it does that alone, for a count of instructions:
 * With `rules` an access file decides who sees the item.
 *     valgrind --tool=callgrind --toggle-collect=p2ps_core_backbone bench_p2ps_fan 100 2000
 * With `open` each of the CLIENTS opens ITEMS, all in the same order and at the same time; a turn
 * is said to last 100 us, so the images a write do not depend on the machine.
 *     valgrind --tool=callgrind --toggle-collect=open_lists bench_p2ps_fan open 100 500
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/writer.h"
#include "p2ps/core/core.h"
#include "p2ps/core/rwf_forms.h"
#include "rrmp/record.h"
#include "rrmp/source.h"

#define CLIENTS_MAX 20000u
#define ROUNDS      5
#define QUEUE       4096u
#define SIZE        512u
#define FIELDS_SIZE 40u   /* of an update */
#define FIELDS_MAX  360u  /* of an image, when lists are opened */
#define FRAME_SIZE  6144u /* a write of more is worth it */
#define TURN_NS     100000u

/* What one side has sent. */
struct batch {
    uint8_t bytes[QUEUE][SIZE];
    struct backbone_target targets[QUEUE];
    size_t lengths[QUEUE];
    size_t count;
};

/* A consumer: the place its messages are copied to. */
struct consumer {
    uint32_t number;
    uint64_t messages;
    uint32_t next; /* of its list */
    uint32_t items;
    size_t queued; /* bytes, since the last write */
    uint64_t writes;
    uint8_t bytes[SIZE];
};

struct bench {
    struct rrmp_source *source;
    struct p2ps_core *core;
    uint64_t now_ns;
    uint32_t item; /* of the source */
    uint16_t service_id;
};

static struct batch down, up;
static size_t image_size = FIELDS_SIZE;
static struct bench *opening; /* whose lists are opened */
static struct consumer consumers[CLIENTS_MAX];

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

    if (length == 0)
        return;
    batch->lengths[batch->count++] = length;
}

static unsigned fill(void *context)
{
    return ((struct batch *)context)->count > QUEUE / 2 ? 200 : 0;
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of this process: it does not count the time of others. */
static uint64_t cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_p2ps_fan: %s\n", what);
    exit(1);
}

/* ---- the front: a copy for each message ---- */

static int put(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot)
{
    struct consumer *consumer = self;

    if (made->length > SIZE)
        return MD_ERR_FULL;
    p2ps_rwf_write(consumer->bytes, made, stream_id, solicited, snapshot);
    consumer->messages++;
    consumer->queued += made->length;
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
    struct consumer *consumer = self;

    consumer->writes += consumer->queued > 0;
    consumer->queued = 0;
}

static bool is_full(const void *self)
{
    const struct consumer *consumer = self;

    return consumer->queued > FRAME_SIZE;
}

static bool resume(void *self);

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
    .resume = resume,
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

/* ---- the backbone ---- */

static size_t message(uint8_t *out, bool is_image)
{
    static uint8_t fields[FIELDS_MAX];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = is_image ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = 6,
        .container = RWF_TYPE_OPAQUE,
        .payload = rwf_bytes(fields, is_image ? image_size : FIELDS_SIZE),
        .flags = is_image ? RWF_REFRESH_COMPLETE | RWF_REFRESH_SOLICITED : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    rwf_encoder_init(&enc, out, SIZE);
    must(rwf_msg_encode(&enc, &msg) == RWF_OK, "a message cannot be written");
    return rwf_encoder_bytes(&enc).length;
}

static uint8_t flags_of(const struct backbone_target *target)
{
    return target->path == BACKBONE_PATH_UNICAST ? BACKBONE_FLAG_UNICAST : 0;
}

static void to_core(struct bench *bench)
{
    static struct backbone_event messages[QUEUE];
    size_t count = down.count;

    for (size_t i = 0; i < count; i++)
        messages[i] = (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                               .session = 1,
                                               .src_port = 1,
                                               .flags = flags_of(&down.targets[i]),
                                               .dst_port = down.targets[i].port,
                                               .topic = down.targets[i].topic,
                                               .bytes = down.bytes[i],
                                               .length = (uint32_t)down.lengths[i] };
    down.count = 0;
    p2ps_core_backbone(bench->core, 0, bench->now_ns, messages, count);
}

static void to_source(struct bench *bench)
{
    const struct rrmp_part part = {
        .is_first = true, .is_last = true, .is_cached = true, .is_solicited = true, .state = 9
    };
    struct rrmp_source_event event;
    uint8_t *room;

    for (size_t i = 0; i < up.count; i++) {
        struct backbone_event sent = { .type = BACKBONE_MESSAGE,
                                       .session = 2,
                                       .src_port = 1,
                                       .dst_port = up.targets[i].port,
                                       .bytes = up.bytes[i],
                                       .length = (uint32_t)up.lengths[i] };
        rrmp_source_input(bench->source, bench->now_ns, &sent, 1);
        while (rrmp_source_event(bench->source, &event, 1) == 1) {
            if (event.kind != RRMP_SOURCE_WANTED)
                continue;
            uint8_t image[SIZE];
            size_t length = message(image, true);

            bench->item = event.item;
            must(rrmp_source_image_begin(bench->source, bench->now_ns, event.item, &part, length,
                                         &room) == 0,
                 "an image has no room");
            memcpy(room, image, length);
            rrmp_source_publish_commit(bench->source, length);
        }
    }
    up.count = 0;
}

static void pass(struct bench *bench)
{
    for (int i = 0; i < 100; i++) {
        bench->now_ns += 20000000;
        rrmp_source_tick(bench->source, bench->now_ns, true);
        to_core(bench);
        p2ps_core_tick(bench->core, bench->now_ns, 1);
        p2ps_core_settle(bench->core, bench->now_ns);
        p2ps_core_flush(bench->core);
        to_source(bench);
    }
}

static void update_all(struct bench *bench, uint32_t count)
{
    uint8_t bytes[SIZE];
    size_t length = message(bytes, false);
    uint8_t *room;

    for (uint32_t i = 0; i < count; i++) {
        must(rrmp_source_publish_begin(bench->source, bench->item, RRMP_UPDATE, length, &room) == 0,
             "an update has no room");
        memcpy(room, bytes, length);
        rrmp_source_publish_commit(bench->source, length);
        to_core(bench);
        p2ps_core_flush(bench->core);
    }
}

/* ---- consumers ---- */

static const char access_file[] = "default items deny\nrole all\nuser bench role=all\n"
                                  "content S lock\nallow @all S POP*\n";
static struct entitle_rules *rules; /* NULL: nobody decides */
static entitle_rules_slot slot;

static void create(struct bench *bench)
{
    const struct rrmp_source_config source = {
        .name = "bench",
        .send = { .context = &down, .reserve = reserve, .commit = commit, .fill = fill }
    };
    struct p2ps_core_config config = {
        .sink = { .send = { .context = &up, .reserve = reserve, .commit = commit, .fill = fill } },
        .authority = { .ask = ask, .answers = answers },
        .client_limit = CLIENTS_MAX,
        .message_max = 65536,
        .keeps_images = true,
    };
    const uint8_t capabilities[] = { 6 };
    uint8_t tlvs[16];
    struct md_wr wr = md_wr_init(tlvs, sizeof(tlvs));
    struct rrmp_service service = { .state = 3, .name = { (const uint8_t *)"S", 1 } };
    uint16_t svc;

    if (rules)
        config.authority = entitle_rules_authority(&slot);
    rrmp_tlv_put(&wr, RRMP_TLV_CAPABILITIES, capabilities, sizeof(capabilities));
    service.tlvs = (struct rrmp_view){ tlvs, md_wr_length(&wr) };
    service.tlv_count = 1;
    *bench = (struct bench){ .now_ns = 1000000000 };
    must(rrmp_source_create(&source, &bench->source) == 0 &&
             p2ps_core_create(&config, &bench->core) == 0 &&
             rrmp_source_service_offer(bench->source, bench->now_ns, &service, &svc) == 0,
         "no memory");
    p2ps_core_backbone(
        bench->core, 0, bench->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 }, 1);
    rrmp_source_input(
        bench->source, bench->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 }, 1);
    pass(bench);
    bench->service_id = p2ps_core_service_id(bench->core, 0, 0);
    must(bench->service_id != 0, "the service is not there");
}

static void destroy(struct bench *bench)
{
    p2ps_core_destroy(bench->core);
    rrmp_source_destroy(bench->source);
}

static void log_in(struct bench *bench, struct consumer *c)
{
    const struct omm_login_request login = {
        .stream_id = 1,
        .is_streaming = true,
        .user = rwf_text("bench"),
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
    };

    must(p2ps_client_add(bench->core, bench->now_ns, &front, c, "bench", 0, &c->number) == 0,
         "no place for a client");
    p2ps_client_login(bench->core, bench->now_ns, c->number, &login);
}

/* As it is in a message of the client. */
static void open_one(struct bench *bench, const struct consumer *c, int32_t stream_id,
                     const char *name)
{
    struct omm_item_request request;
    struct rwf_encoder enc;
    uint8_t bytes[SIZE];
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = 6,
        .stream_id = stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = RWF_REQUEST_STREAMING,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = bench->service_id,
                 .name = rwf_text(name),
                 .name_type = RWF_NAME_RIC },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    must(rwf_msg_encode(&enc, &msg) == RWF_OK &&
             rwf_msg_decode(rwf_encoder_bytes(&enc), &msg) == RWF_OK,
         "a request cannot be written");
    omm_item_request_decode(&msg, &request);
    p2ps_client_item(bench->core, bench->now_ns, c->number, &request);
}

static void come(struct bench *bench, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        log_in(bench, &consumers[i]);
        open_one(bench, &consumers[i], 5, "POPULAR");
        if (i == 0)
            pass(bench);
    }
    pass(bench);
    must(p2ps_core_stats(bench->core)->watches_now == count, "not all are open");
}

/* The next request of its list, as a front hands it over. */
static bool resume(void *self)
{
    struct consumer *consumer = self;
    char name[16];

    if (consumer->next == consumer->items)
        return false;
    snprintf(name, sizeof(name), "RIC%u.O", consumer->next);
    open_one(opening, consumer, (int32_t)consumer->next++ + 5, name);
    return true;
}

static __attribute__((noinline)) void open_lists(struct bench *bench, uint32_t clients,
                                                 uint32_t items)
{
    opening = bench;
    for (uint32_t i = 0; i < clients; i++) {
        consumers[i].items = items;
        while (p2ps_client_takes(bench->core, consumers[i].number))
            must(resume(&consumers[i]), "a list is too short for a turn");
    }
    while (p2ps_core_has_work(bench->core)) {
        bench->now_ns += TURN_NS;
        rrmp_source_tick(bench->source, bench->now_ns, true);
        to_core(bench);
        p2ps_core_tick(bench->core, bench->now_ns, 1);
        p2ps_core_settle(bench->core, bench->now_ns);
        p2ps_core_flush(bench->core);
        to_source(bench);
    }
    pass(bench);
}

static void measure_lists(uint32_t clients, uint32_t items)
{
    struct bench bench;

    must(clients > 0 && clients <= CLIENTS_MAX && items > 0, "one to 20000 clients, and items");
    image_size = FIELDS_MAX;
    create(&bench);
    for (uint32_t i = 0; i < clients; i++)
        log_in(&bench, &consumers[i]);
    pass(&bench);
    uint64_t start = cpu_ns();
    open_lists(&bench, clients, items);
    double each_ns = (double)(cpu_ns() - start) / clients / items;
    uint64_t writes = 0;
    for (uint32_t i = 0; i < clients; i++)
        writes += consumers[i].writes;
    const struct p2ps_core_stats *stats = p2ps_core_stats(bench.core);
    must(stats->watches_now == clients * items, "not all are open");
    printf("%u clients, %u items: %.0f ns of CPU a stream, %.1f images a write\n", clients, items,
           each_ns, (double)stats->refresh_out / (double)writes);
    destroy(&bench);
}

/* Nanoseconds for each client that leaves, all in one turn or each in a turn of its own. */
static double leave(struct bench *bench, uint32_t count, bool is_together)
{
    uint64_t start = clock_ns();

    for (uint32_t i = 0; i < count; i++) {
        p2ps_client_gone(bench->core, bench->now_ns, consumers[i].number);
        if (!is_together)
            p2ps_core_settle(bench->core, bench->now_ns);
    }
    do {
        p2ps_core_settle(bench->core, bench->now_ns);
    } while (p2ps_core_has_work(bench->core));
    double each_ns = (double)(clock_ns() - start) / count;
    must(p2ps_core_stats(bench->core)->items_now == 0, "the item is still there");
    to_source(bench);
    return each_ns;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof(values[0]), by_value);
    return values[ROUNDS / 2];
}

static void measure(uint32_t count, uint32_t updates)
{
    double together[ROUNDS], apart[ROUNDS], fan[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        struct bench bench;

        create(&bench);
        come(&bench, count);
        uint64_t start = clock_ns();
        update_all(&bench, updates);
        fan[i] = (double)(clock_ns() - start) / updates / count;
        together[i] = leave(&bench, count, true);
        destroy(&bench);
        create(&bench);
        come(&bench, count);
        apart[i] = leave(&bench, count, false);
        destroy(&bench);
    }
    printf("%8u  %12.1f  %16.0f  %16.0f\n", count, median(fan), median(together), median(apart));
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "open") == 0) {
        measure_lists((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
        return 0;
    }
    if (argc > 1) {
        uint32_t count = (uint32_t)strtoul(argv[1], NULL, 10);
        uint32_t updates = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;
        struct bench bench;

        must(count > 0 && count <= CLIENTS_MAX, "CLIENTS is 1 to 20000");
        must(argc < 4 || entitle_rules_create(access_file, strlen(access_file), NULL, NULL,
                                              &rules) == MD_OK,
             "the access file has a mistake");
        atomic_store(&slot, rules);
        create(&bench);
        come(&bench, count);
        uint64_t start = clock_ns();
        update_all(&bench, updates);
        printf("  %-34s %10.1f ns\n", "an update to a client",
               (double)(clock_ns() - start) / updates / count);
        printf("%u clients, %u updates, %llu delivered\n", count, updates,
               (unsigned long long)p2ps_core_stats(bench.core)->updates_out);
        leave(&bench, count, true);
        destroy(&bench);
        entitle_rules_destroy(rules);
        return 0;
    }
    printf("one item, median of %d; nanoseconds\n", ROUNDS);
    printf(" clients  update/client  leave together/client  leave apart/client\n");
    measure(1250, 400);
    measure(2500, 200);
    measure(5000, 100);
    measure(20000, 25);
    return 0;
}
