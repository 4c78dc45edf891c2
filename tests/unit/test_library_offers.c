/* test_library_offers.c - services of an application: requests as they come from the backbone, and
 * a ring that never has room. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"
#include "itemkey/itemkey.h"
#include "rmds/rwf.h"
#include "rrmp/record.h"

enum { MAX = 16, STREAM = RRMP_REQUEST_STREAMING | RRMP_REQUEST_IMAGE };

struct app {
    struct rmds_backbone *backbone;
    struct rmds_offer *offer;
    struct rmds_offered *last;
    uint32_t id;
    int opened, images, closed;
    int image_err;
    bool ends_in_open, ends_in_close, sends_in_open, refuses, cannot_encode;
};

static void end_it(struct rmds_offered *item)
{
    const struct rwf_state state = { .stream_state = RWF_STREAM_CLOSED,
                                     .data_state = RWF_DATA_SUSPECT };

    assert_int_equal(rmds_offered_end(item, &state), 0);
}

static void send_image(struct app *app, struct rmds_offered *item)
{
    static const uint8_t bytes[40000];
    struct rmds_data data;

    rmds_data_init(&data, sizeof(data));
    data.payload = rwf_bytes(bytes, 2);
    if (app->cannot_encode)
        data.perm_data = rwf_bytes(bytes, sizeof(bytes));
    app->image_err = rmds_offered_image(item, &data);
}

static bool on_open(void *owner, struct rmds_offered *item)
{
    struct app *app = owner;

    app->opened++;
    app->last = item;
    if (app->sends_in_open)
        send_image(app, item);
    if (app->ends_in_open)
        end_it(item);
    return !app->refuses;
}

static void on_image(void *owner, struct rmds_offered *item)
{
    struct app *app = owner;

    assert_true(++app->images < 1000); /* a turn that does not end */
    send_image(app, item);
}

static void on_close(void *owner, struct rmds_offered *item)
{
    struct app *app = owner;

    app->closed++;
    if (app->ends_in_close)
        end_it(item);
}

static void event(struct app *app, const struct backbone_event *one)
{
    library_source_input(app->backbone, rmds_now(), one, 1);
}

static int setup(void **state)
{
    static struct app app;
    struct rmds_backbone_options options;
    struct rmds_offer_options offer;

    app = (struct app){ 0 };
    rmds_backbone_options_init(&options, sizeof(options));
    options.run_dir = "/nonexistent/rmds";
    options.item_limit = MAX;
    assert_int_equal(rmds_backbone_open(&options, &app.backbone), 0);
    rmds_offer_options_init(&offer, sizeof(offer));
    offer.service = "RISK";
    offer.owner = &app;
    offer.on_open = on_open;
    offer.on_image = on_image;
    offer.on_close = on_close;
    assert_int_equal(rmds_offer_open(app.backbone, &offer, &app.offer), 0);
    event(&app, &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 });
    *state = &app;
    return 0;
}

static int teardown(void **state)
{
    struct app *app = *state;

    rmds_backbone_close(app->backbone);
    return 0;
}

/* Somebody asks for an item. */
static void ask_as(struct app *app, const char *name, size_t length, uint8_t name_type,
                   uint16_t flags)
{
    const struct rwf_qos qos = { .timeliness = RWF_TIMELINESS_REALTIME,
                                 .rate = RWF_RATE_TICK_BY_TICK };
    const struct rwf_key key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                                 .name_type = name_type,
                                 .name = rwf_bytes(name, length) };
    struct rrmp_record record = { .header = { .type = RRMP_REQUEST, .svc = app->offer->svc } };
    uint8_t bytes[RRMP_KEY_SIZE_MAX], out[1024];
    struct md_wr wr = md_wr_init(out, sizeof(out));

    assert_int_equal(
        itemkey_encode(RWF_DOMAIN_MARKET_PRICE, &key, &qos, bytes, sizeof(bytes), &length), RWF_OK);
    record.u.request.id = ++app->id;
    record.u.request.flags = flags;
    record.u.request.key_hash = rrmp_key_hash(bytes, length);
    record.u.request.key = (struct rrmp_view){ bytes, length };
    rrmp_record_encode(&wr, &record);
    assert_true(md_wr_ok(&wr));
    event(app, &(struct backbone_event){ .type = BACKBONE_MESSAGE,
                                         .flags = BACKBONE_FLAG_UNICAST,
                                         .session = 10,
                                         .src_port = 1,
                                         .dst_port = 1,
                                         .bytes = out,
                                         .length = (uint32_t)md_wr_length(&wr) });
}

static void ask(struct app *app, const char *name, uint16_t flags)
{
    ask_as(app, name, strlen(name), RWF_NAME_RIC, flags);
}

static void turn(struct app *app)
{
    app->backbone->now_ns = rmds_now();
    library_source_settle(app->backbone, app->backbone->now_ns, true);
}

/* Each turn asks again, and ends. */
static void an_image_without_room_does_not_hold_the_turn(void **state)
{
    struct app *app = *state;

    ask(app, "A", STREAM);
    ask(app, "B", STREAM);
    turn(app);
    assert_int_equal(app->opened, 2);
    assert_int_equal(app->image_err, RMDS_ERROR_FULL);
    for (int i = 0; i < 10; i++) {
        int before = app->images;

        turn(app);
        assert_in_range(app->images, before + 1, before + 4);
    }
}

/* p2ps judges the whole name; the application would see "A". */
static void a_name_that_is_no_string_is_no_item(void **state)
{
    struct app *app = *state;

    ask_as(app, "A\0B", 3, RWF_NAME_RIC, STREAM);
    ask_as(app, "A\0B", 3, RWF_NAME_RIC, RRMP_REQUEST_IMAGE);
    ask_as(app, "A", 1, RWF_NAME_RIC + 1, STREAM);
    turn(app);
    assert_int_equal(app->opened, 0);
    ask_as(app, "A", 1, RWF_NAME_RIC, STREAM);
    turn(app);
    assert_int_equal(app->opened, 1);
}

static uint32_t items_now(const struct app *app)
{
    return app->backbone->source.slots.count;
}

static void callbacks_may_end_their_item(void **state)
{
    struct app *app = *state;

    app->ends_in_open = true;
    for (int refuses = 0; refuses < 2; refuses++) {
        app->refuses = refuses;
        ask(app, "A", STREAM);
        ask(app, "B", RRMP_REQUEST_IMAGE);
        turn(app);
        assert_int_equal(items_now(app), 0);
    }
    assert_int_equal(app->opened, 4);
    assert_int_equal(app->images + app->closed, 0);
    app->ends_in_open = app->refuses = false;
    app->sends_in_open = app->ends_in_close = true;
    ask(app, "A", STREAM);
    ask(app, "B", STREAM);
    turn(app);
    assert_int_equal(items_now(app), 2);
    for (uint64_t s = 1; s < 200 && items_now(app) > 0; s++) /* its consumer is silent: it died */
        library_source_settle(app->backbone, rmds_now() + s * 1000000000, true);
    assert_int_equal(app->closed, 2);
    assert_int_equal(items_now(app), 0);
}

/* A snapshot that found no room is asked for again, and goes with its consumer. */
static void a_snapshot_waits_for_room(void **state)
{
    struct app *app = *state;

    ask(app, "A", RRMP_REQUEST_IMAGE);
    for (int i = 1; i < 10; i++) {
        turn(app);
        assert_true(app->images >= i);
    }
    assert_int_equal(app->opened, 1);
    event(app, &(struct backbone_event){ .type = BACKBONE_DETACHED });
    turn(app);
    assert_int_equal(items_now(app), 0);
    assert_int_equal(app->closed, 1);
}

static void more_items_than_may_be_are_not_opened(void **state)
{
    struct app *app = *state;
    char name[8];

    for (int i = 0; i < MAX + 5; i++) {
        snprintf(name, sizeof(name), "I%d", i);
        ask(app, name, i % 2 ? STREAM : RRMP_REQUEST_IMAGE);
    }
    turn(app);
    assert_int_equal(app->opened, MAX);
    assert_int_equal(items_now(app), MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_image_without_room_does_not_hold_the_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_name_that_is_no_string_is_no_item, setup, teardown),
        cmocka_unit_test_setup_teardown(callbacks_may_end_their_item, setup, teardown),
        cmocka_unit_test_setup_teardown(a_snapshot_waits_for_room, setup, teardown),
        cmocka_unit_test_setup_teardown(more_items_than_may_be_are_not_opened, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
