/* test_library_items.c - items of an application: a source on a made-up backbone sends what hurts.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "internal.h"
#include "itemkey/itemkey.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"
#include "rrmp/source.h"

#define MS 1000000ull

enum { SENT_MAX = 64 };

/* Messages that one side has sent, and the other one has not got. */
struct line {
    struct {
        struct backbone_target target;
        uint32_t length;
        uint8_t bytes[512];
    } sent[SENT_MAX];
    uint32_t count;
    uint8_t room[65536];
};

struct world {
    uint64_t now_ns;
    struct rmds_backbone *backbone;
    struct rrmp_source *source;
    struct line up, down;
    uint16_t svc;
    uint32_t wanted; /* the source's item */
    bool is_bad;     /* its images */
    char log[64];    /* I image, U update, ! state, X closed */
    struct rmds_item *item;
    uint32_t bound;
    bool follows; /* what is bound, if it does not already */
    bool is_open;
};

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct line *line = context;

    assert_true(line->count < SENT_MAX && length <= sizeof(line->room));
    line->sent[line->count].target = *target;
    return line->room;
}

static void commit(void *context, size_t length)
{
    struct line *line = context;

    if (length == 0)
        return;
    assert_true(length <= sizeof(line->sent[0].bytes));
    memcpy(line->sent[line->count].bytes, line->room, length);
    line->sent[line->count++].length = (uint32_t)length;
}

static unsigned fill(void *context)
{
    (void)context;
    return 0;
}

static struct backbone_send send_on(struct line *line)
{
    return (struct backbone_send){
        .context = line, .reserve = reserve, .commit = commit, .fill = fill
    };
}

static size_t message(uint8_t *out, uint8_t class, struct rwf_state state)
{
    const struct rwf_msg msg = { .msg_class = class,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .flags = class == RWF_CLASS_STATUS ? RWF_STATUS_HAS_STATE : 0,
                                 .container = RWF_TYPE_NO_DATA,
                                 .state = state };
    struct rwf_encoder encoder;

    rwf_encoder_init(&encoder, out, 256);
    assert_int_equal(rwf_msg_encode(&encoder, &msg), RWF_OK);
    return rwf_encoder_bytes(&encoder).length;
}

static void publish(struct world *world, uint8_t type, uint8_t stream, bool is_bad)
{
    const struct rwf_state state = { .stream_state = stream, .data_state = RWF_DATA_SUSPECT };
    uint8_t *room;

    assert_int_equal(rrmp_source_publish_begin(world->source, world->wanted, type, 256, &room),
                     MD_OK);
    size_t length = message(room, type == RRMP_STATUS ? RWF_CLASS_STATUS : RWF_CLASS_UPDATE, state);
    rrmp_source_publish_commit(world->source, is_bad ? 1 : length);
}

static void image(struct world *world)
{
    const struct rrmp_part part = { .is_first = true,
                                    .is_last = true,
                                    .is_solicited = true,
                                    .state = RWF_STREAM_OPEN << 3 | RWF_DATA_OK };
    uint8_t *room;

    if (rrmp_source_image_begin(world->source, world->now_ns, world->wanted, &part, 256, &room) !=
        MD_OK)
        return;
    size_t length = message(room, RWF_CLASS_REFRESH, (struct rwf_state){ .stream_state = 1 });
    rrmp_source_publish_commit(world->source, world->is_bad ? 1 : length);
}

static void source_take(struct world *world)
{
    struct rrmp_source_event event;

    while (rrmp_source_event(world->source, &event, 1) == 1) {
        if (event.kind == RRMP_SOURCE_WANTED)
            world->wanted = event.item;
        if (event.kind == RRMP_SOURCE_WANTED || event.kind == RRMP_SOURCE_IMAGE_WANTED)
            image(world);
    }
}

static void handle(const struct rmds_item_event *event)
{
    static const char letters[] = { [RMDS_ITEM_IMAGE] = 'I',
                                    [RMDS_ITEM_UPDATE] = 'U',
                                    [RMDS_ITEM_GENERIC] = 'G',
                                    [RMDS_ITEM_STATE] = '!',
                                    [RMDS_ITEM_CLOSED] = 'X' };
    struct world *world = event->user;

    world->is_open = world->is_open && event->kind != RMDS_ITEM_CLOSED;
    strncat(world->log, (char[2]){ letters[event->kind], 0 }, sizeof(world->log) - 1);
}

static void on_bound(void *owner, const struct rmds_bound *bound)
{
    struct world *world = owner;
    struct rmds_item_request request;

    assert_string_equal(bound->service, "RDFD");
    assert_int_equal(bound->domain, RWF_DOMAIN_MARKET_PRICE);
    assert_true(bound->is_plain);
    assert_true(rwf_bytes_equal(bound->name, rwf_text("TRI")));
    world->bound++;
    if (!world->follows || world->is_open)
        return;
    world->is_open = true;
    rmds_item_request_init(&request, sizeof(request));
    request.service = bound->service;
    request.key = bound->key;
    request.is_follower = true;
    request.handle = handle;
    request.user = world;
    assert_int_equal(rmds_item_open(world->backbone, &request, &world->item), 0);
}

/* Another requester opens TRI, or closes it. */
static void other_says(struct world *world, uint8_t type, uint32_t id)
{
    const struct rwf_qos best = { .timeliness = RWF_TIMELINESS_REALTIME,
                                  .rate = RWF_RATE_TICK_BY_TICK };
    const struct rwf_key name = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("TRI") };
    struct rrmp_record record = { .header = { .type = type, .svc = world->svc } };
    uint8_t key[64], bytes[256];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    size_t length;

    assert_int_equal(
        itemkey_encode(RWF_DOMAIN_MARKET_PRICE, &name, &best, key, sizeof(key), &length), RWF_OK);
    if (type == RRMP_REQUEST)
        record.u.request =
            (struct rrmp_request){ .id = id,
                                   .flags = RRMP_REQUEST_STREAMING | RRMP_REQUEST_IMAGE,
                                   .priority_class = 1,
                                   .priority_count = 1,
                                   .handle = RRMP_HANDLE_NONE,
                                   .key_hash = rrmp_key_hash(key, length),
                                   .key = { key, length } };
    else
        record.u.close = (struct rrmp_close){ .id = id,
                                              .handle = RRMP_HANDLE_NONE,
                                              .key_hash = rrmp_key_hash(key, length),
                                              .reason = RRMP_CLOSE_NOBODY,
                                              .key = { key, length } };
    rrmp_record_encode(&wr, &record);
    const struct backbone_event event = { .type = BACKBONE_MESSAGE,
                                          .flags = BACKBONE_FLAG_UNICAST,
                                          .session = 11,
                                          .src_port = 1,
                                          .dst_port = 1,
                                          .bytes = bytes,
                                          .length = (uint32_t)md_wr_length(&wr) };
    rrmp_source_input(world->source, world->now_ns, &event, 1);
    source_take(world);
}

/* All that was sent arrives, both sides have a turn; ten milliseconds pass. */
static void turn(struct world *world)
{
    struct line *copy = malloc(sizeof(*copy));

    assert_non_null(copy);
    world->now_ns += 10 * MS;
    world->backbone->now_ns = world->now_ns;
    for (int is_up = 0; is_up < 2; is_up++) {
        struct line *line = is_up ? &world->up : &world->down;

        *copy = *line;
        line->count = 0;
        for (uint32_t i = 0; i < copy->count; i++) {
            bool is_unicast = copy->sent[i].target.path == BACKBONE_PATH_UNICAST;
            const struct backbone_event event = { .type = BACKBONE_MESSAGE,
                                                  .flags = is_unicast ? BACKBONE_FLAG_UNICAST : 0,
                                                  .session = is_up ? 10 : 1,
                                                  .src_port = 1,
                                                  .dst_port = copy->sent[i].target.port,
                                                  .topic = copy->sent[i].target.topic,
                                                  .bytes = copy->sent[i].bytes,
                                                  .length = copy->sent[i].length };
            if (is_up)
                rrmp_source_input(world->source, world->now_ns, &event, 1);
            else
                library_items_input(world->backbone, world->now_ns, &event, 1);
            source_take(world);
        }
    }
    free(copy);
    rrmp_source_tick(world->source, world->now_ns, true);
    source_take(world);
    library_items_settle(world->backbone, world->now_ns, true);
}

static void turns(struct world *world, int count)
{
    for (int i = 0; i < count; i++)
        turn(world);
}

static void open_item(struct world *world)
{
    struct rmds_item_request request;

    rmds_item_request_init(&request, sizeof(request));
    request.service = "RDFD";
    request.name = "IBM";
    request.handle = handle;
    request.user = world;
    assert_int_equal(rmds_item_open(world->backbone, &request, &world->item), 0);
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct rmds_backbone_options options;
    uint8_t tlvs[64], qos[5];
    const struct rwf_qos best = { .timeliness = RWF_TIMELINESS_REALTIME,
                                  .rate = RWF_RATE_TICK_BY_TICK };
    struct md_wr wr = md_wr_init(tlvs, sizeof(tlvs));

    assert_non_null(world);
    world->now_ns = rmds_now();
    rmds_backbone_options_init(&options, sizeof(options));
    options.run_dir = "/nonexistent/rmds";
    options.item_limit = 16;
    options.owner = world;
    options.on_bound = on_bound;
    assert_int_equal(rmds_backbone_open(&options, &world->backbone), 0);
    rrmp_sink_destroy(world->backbone->items.sink);
    const struct rrmp_sink_config sink = { .send = send_on(&world->up), .item_limit = 16 };
    assert_int_equal(rrmp_sink_create(&sink, &world->backbone->items.sink), MD_OK);
    const struct rrmp_source_config config = {
        .name = "test", .send = send_on(&world->down), .item_limit = 16, .gap_log = 64
    };
    assert_int_equal(rrmp_source_create(&config, &world->source), MD_OK);
    itemkey_qos_pack(&best, qos);
    rrmp_tlv_put(&wr, RRMP_TLV_CAPABILITIES, (uint8_t[]){ RWF_DOMAIN_MARKET_PRICE }, 1);
    rrmp_tlv_put(&wr, RRMP_TLV_QOS, qos, sizeof(qos));
    const struct rrmp_service service = { .state = RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING,
                                          .open_window = 100,
                                          .features = RRMP_FEATURE_SNAPSHOTS,
                                          .tlv_count = 2,
                                          .name = { (const uint8_t *)"RDFD", 4 },
                                          .tlvs = { tlvs, md_wr_length(&wr) } };
    assert_int_equal(rrmp_source_service_offer(world->source, world->now_ns, &service, &world->svc),
                     MD_OK);
    struct backbone_event up = { .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 };
    rrmp_source_input(world->source, world->now_ns, &up, 1);
    up.session = 10;
    library_items_input(world->backbone, world->now_ns, &up, 1);
    turns(world, 10);
    open_item(world);
    turns(world, 20);
    assert_string_equal(world->log, "I");
    world->log[0] = 0;
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    rmds_backbone_close(world->backbone);
    rrmp_source_destroy(world->source);
    free(world);
    return 0;
}

static void a_bad_message_is_mended_by_an_image(void **state)
{
    struct world *world = *state;

    publish(world, RRMP_UPDATE, 0, false);
    publish(world, RRMP_UPDATE, 0, true);
    publish(world, RRMP_UPDATE, 0, true);
    publish(world, RRMP_UPDATE, 0, false); /* of no use before the image */
    turns(world, 300);
    assert_string_equal(world->log, "U!I");
    publish(world, RRMP_UPDATE, 0, false);
    turn(world);
    assert_string_equal(world->log, "U!IU");
}

static void a_source_whose_messages_are_all_bad_is_not_asked_for_each(void **state)
{
    struct world *world = *state;

    world->is_bad = true;
    publish(world, RRMP_UPDATE, 0, true);
    turns(world, 500);
    assert_in_range(strlen(world->log), 2, 6); /* five seconds */
    world->is_bad = false;
    turns(world, 300);
    assert_int_equal(world->log[strlen(world->log) - 1], 'I');
}

static void nothing_follows_the_end(void **state)
{
    struct world *world = *state;

    publish(world, RRMP_STATUS, RWF_STREAM_CLOSED, false);
    publish(world, RRMP_UPDATE, 0, false);
    turns(world, 10);
    assert_string_equal(world->log, "X");
    assert_int_equal(world->backbone->items.slots.count, 0);
}

static void an_item_may_be_opened_again_at_once(void **state)
{
    struct world *world = *state;

    rmds_item_close(world->item); /* between two turns */
    open_item(world);
    turns(world, 20);
    assert_string_equal(world->log, "I");
    assert_int_equal(world->backbone->items.slots.count, 1);
}

static void what_others_have_open_is_told_and_followed(void **state)
{
    struct world *world = *state;

    other_says(world, RRMP_REQUEST, 1);
    turns(world, 10);
    assert_int_equal(world->bound, 0); /* nobody asked */
    world->follows = true;
    assert_int_equal(rmds_backbone_follow(world->backbone, "RDFD"), 0);
    turns(world, 20);
    assert_int_equal(world->bound, 1);
    assert_string_equal(world->log, "I");
    publish(world, RRMP_UPDATE, 0, false);
    turns(world, 2);
    assert_string_equal(world->log, "IU");
    other_says(world, RRMP_CLOSE, 1);
    turns(world, 2);
    assert_string_equal(world->log, "IUX");
    other_says(world, RRMP_REQUEST, 2);
    turns(world, 20);
    assert_in_range(world->bound, 2, 3); /* by its image and by its binding */
    assert_string_equal(world->log, "IUXI");
}

static void a_follower_finds_nothing_that_nobody_has(void **state)
{
    struct world *world = *state;
    const struct rwf_qos best = { .timeliness = RWF_TIMELINESS_REALTIME,
                                  .rate = RWF_RATE_TICK_BY_TICK };
    struct rmds_item_request request;

    rmds_item_request_init(&request, sizeof(request));
    request.service = "RDFD";
    request.name = "NONE";
    request.has_qos = true;
    request.qos = best;
    request.is_follower = true;
    request.handle = handle;
    request.user = world;
    struct rmds_item *item;
    assert_int_equal(rmds_item_open(world->backbone, &request, &item), 0);
    turns(world, 20);
    assert_string_equal(world->log, "X");
    request.key = rwf_text("no key");
    assert_int_equal(rmds_item_open(world->backbone, &request, &item), RMDS_ERROR_RANGE);
}

static void an_item_that_is_followed_is_not_opened_beside(void **state)
{
    struct world *world = *state;
    struct rmds_item_request request;
    struct rmds_item *item;

    world->follows = true;
    other_says(world, RRMP_REQUEST, 1);
    assert_int_equal(rmds_backbone_follow(world->backbone, "RDFD"), 0);
    turns(world, 20);
    assert_string_equal(world->log, "I");
    rmds_item_request_init(&request, sizeof(request));
    request.service = "RDFD";
    request.name = "TRI";
    request.handle = handle;
    request.user = world;
    assert_int_equal(rmds_item_open(world->backbone, &request, &item), 0);
    turns(world, 20);
    assert_string_equal(world->log, "IX"); /* as the header says; the other goes on */
    publish(world, RRMP_UPDATE, 0, false);
    turns(world, 2);
    assert_string_equal(world->log, "IXU");
}

static void a_service_is_read(void **state)
{
    struct world *world = *state;
    struct rmds_service service = { .size = sizeof(service) };

    assert_int_equal(rmds_backbone_service(world->backbone, "NONE", &service),
                     RMDS_ERROR_NOT_FOUND);
    assert_int_equal(rmds_backbone_service(world->backbone, "RDFD", &service), 0);
    assert_true(service.is_up && service.is_accepting);
    assert_int_equal(service.capability_count, 1);
    assert_int_equal(service.capabilities[0], RWF_DOMAIN_MARKET_PRICE);
    assert_int_equal(service.qos_count, 1);
    assert_int_equal(service.qos[0].rate, RWF_RATE_TICK_BY_TICK);
}

static void on_dictionary(const struct rmds_dictionary_event *event)
{
    struct world *world = event->user;

    strcat(world->log, event->is_missing ? "?" : "D");
}

static void a_dictionary_that_nobody_has_is_missing(void **state)
{
    struct world *world = *state;

    assert_int_equal(rmds_backbone_dictionary(world->backbone, "NONE", "RWFFld",
                                              RWF_DICTIONARY_NORMAL, on_dictionary, world),
                     RMDS_ERROR_NOT_FOUND);
    for (int i = 0; i < 17; i++)
        assert_int_equal(rmds_backbone_dictionary(world->backbone, "RDFD", "RWFFld",
                                                  RWF_DICTIONARY_NORMAL, on_dictionary, world),
                         i < 16 ? 0 : RMDS_ERROR_FULL);
    turns(world, 3);
    assert_string_equal(world->log, "????????????????");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_bad_message_is_mended_by_an_image, setup, teardown),
        cmocka_unit_test_setup_teardown(a_source_whose_messages_are_all_bad_is_not_asked_for_each,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_follows_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(an_item_may_be_opened_again_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_others_have_open_is_told_and_followed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_follower_finds_nothing_that_nobody_has, setup, teardown),
        cmocka_unit_test_setup_teardown(an_item_that_is_followed_is_not_opened_beside, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_service_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dictionary_that_nobody_has_is_missing, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
