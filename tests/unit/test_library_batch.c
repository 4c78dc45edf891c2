/* test_library_batch.c - rmds/backbone_batch.h: what finds no room is told, images bring states. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"
#include "list.h"
#include "rmds/backbone_batch.h"
#include "rmds/rwf.h"

enum { ROWS = 16384, ITEMS = ROWS + 5000, FIELDS = 100 };

struct world {
    struct rmds_backbone *backbone;
    struct rmds_batch *batch;
    struct rmds_batch_columns columns;
    uint32_t items;
    uint32_t item; /* that the test is about */
    int calls;
    uint8_t states[ITEMS];
};

static struct rmds_item *item_at(struct world *world, uint32_t number)
{
    return md_slots_at(&world->backbone->items.slots, number);
}

/* The next batch; `call` runs in its turn, in place of a source. */
static uint32_t turn(struct world *world, void (*call)(void *world))
{
    if (call)
        assert_int_equal(rmds_backbone_post(world->backbone, call, world), 0);
    world->columns.size = sizeof(world->columns);
    return (uint32_t)rmds_batch_turn(world->batch, 0, &world->columns);
}

/* The items follow their service, as if it were there. */
static void open_items(struct world *world, uint32_t count)
{
    struct library_items *items = &world->backbone->items;
    uint32_t number;
    char name[16];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "IT%u", i);
        assert_int_equal(rmds_batch_open(world->batch, "RDFD", name, 6, &number), 0);
        assert_int_equal(number, i);
    }
    while (library_list_take(&items->to_open))
        ;
    for (uint32_t i = 0; i < count; i++)
        item_at(world, i)->state = LIBRARY_STEP;
    world->items = count;
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct rmds_backbone_options options;
    struct rmds_batch_options batch;

    assert_non_null(world);
    rmds_backbone_options_init(&options, sizeof(options));
    options.run_dir = "/nonexistent/rmds";
    assert_int_equal(rmds_backbone_open(&options, &world->backbone), 0);
    rmds_batch_options_init(&batch, sizeof(batch));
    batch.rows = ROWS;
    assert_int_equal(rmds_batch_create(world->backbone, &batch, &world->batch), 0);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    rmds_batch_destroy(world->batch);
    rmds_backbone_close(world->backbone);
    free(world);
    return 0;
}

/* ---- what comes ---- */

static void tell(struct world *world, uint32_t number, uint8_t data_state, bool is_end)
{
    struct rmds_item *item = item_at(world, number);
    const struct rmds_item_event event = { .kind = is_end ? RMDS_ITEM_CLOSED : RMDS_ITEM_STATE,
                                           .item = item,
                                           .user = item->user,
                                           .state = { .stream_state = is_end ? RWF_STREAM_CLOSED
                                                                             : RWF_STREAM_OPEN,
                                                      .data_state = data_state,
                                                      .code = 7,
                                                      .text = rwf_bytes("why", 3) } };

    item->handle(&event);
}

static void all_suspect(void *argument)
{
    struct world *world = argument;

    for (uint32_t i = 0; i < world->items; i++)
        tell(world, i, RWF_DATA_SUSPECT, false);
}

static void all_suspect_then_ok_or_closed(void *argument)
{
    struct world *world = argument;

    all_suspect(world);
    for (uint32_t i = 0; i < world->items; i++)
        tell(world, i, i % 2 ? RWF_DATA_SUSPECT : RWF_DATA_OK, i % 2);
}

/* A message of `count` fields. */
static void send(struct world *world, struct rmds_item_event event, int count)
{
    static uint8_t bytes[8192];
    struct rmds_item *item = item_at(world, world->item);
    struct rwf_msg message = { .container = RWF_TYPE_FIELD_LIST };
    struct rwf_encoder encoder;

    rwf_encoder_init(&encoder, bytes, sizeof(bytes));
    assert_int_equal(rwf_field_list_start(&encoder, NULL), RWF_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(rwf_field_add_bytes(&encoder, (int16_t)(i + 1), rwf_bytes("x", 1)),
                         RWF_OK);
    assert_int_equal(rwf_field_list_finish(&encoder), RWF_OK);
    message.payload = rwf_encoder_bytes(&encoder);
    event.item = item;
    event.user = item->user;
    event.message = &message;
    item->handle(&event);
}

static void update(struct world *world, int count)
{
    send(world, (struct rmds_item_event){ .kind = RMDS_ITEM_UPDATE }, count);
}

static void image(struct world *world, bool is_first, bool is_last, uint8_t data_state)
{
    send(world,
         (struct rmds_item_event){
             .kind = RMDS_ITEM_IMAGE,
             .is_first = is_first,
             .is_last = is_last,
             .state = { .stream_state = RWF_STREAM_OPEN, .data_state = data_state } },
         2);
}

/* ---- tests ---- */

/* Takes batches until all has come; the last row of each item counts. */
static void take_states(struct world *world, void (*call)(void *world))
{
    for (uint32_t count = turn(world, call); count > 0; count = turn(world, NULL))
        for (uint32_t i = 0; i < count; i++) {
            assert_true(world->columns.flags[i] & RMDS_ROW_STATE);
            world->states[world->columns.item[i]] =
                (uint8_t)world->columns.value[i] | (world->columns.flags[i] & RMDS_ROW_CLOSED);
        }
}

static void each_item_has_its_state_when_all_lose_their_source(void **state)
{
    struct world *world = *state;

    open_items(world, ITEMS);
    take_states(world, all_suspect);
    for (uint32_t i = 0; i < ITEMS; i++)
        assert_int_equal(world->states[i], RWF_DATA_SUSPECT);
    assert_int_equal(turn(world, NULL), 0); /* once */
}

static void the_last_state_counts_and_an_end_is_never_lost(void **state)
{
    struct world *world = *state;

    open_items(world, ITEMS);
    take_states(world, all_suspect_then_ok_or_closed);
    for (uint32_t i = 0; i < ITEMS; i++)
        assert_int_equal(world->states[i],
                         i % 2 ? RWF_DATA_SUSPECT | RMDS_ROW_CLOSED : RWF_DATA_OK);
}

static void a_state_that_waited_says_so(void **state)
{
    struct world *world = *state;

    open_items(world, ITEMS);
    assert_int_equal(turn(world, all_suspect), ROWS);
    assert_int_equal(world->columns.flags[ROWS - 1], RMDS_ROW_FIRST | RMDS_ROW_STATE);
    assert_int_equal(world->columns.raw_length[0], 3);
    assert_int_equal(rmds_batch_close_item(world->batch, ROWS + 7), 0); /* nothing follows that */
    assert_int_equal(turn(world, NULL), ITEMS - ROWS - 1);
    assert_int_equal(world->columns.item[7], ROWS + 8);
    assert_int_equal(world->columns.flags[7], RMDS_ROW_FIRST | RMDS_ROW_STATE | RMDS_ROW_CUT);
    assert_int_equal(world->columns.fid[7], 7);
}

static void fill_and_cut(void *argument)
{
    struct world *world = argument;

    for (int i = 0; i < ROWS / FIELDS; i++)
        update(world, FIELDS);
    world->item = 1;
    update(world, FIELDS); /* 84 rows of it fit */
    tell(world, 1, RWF_DATA_OK, false);
    world->item = 2;
    update(world, 1); /* none fits */
}

static void image_of_1(void *argument)
{
    struct world *world = argument;

    world->item = 1;
    tell(world, 1, RWF_DATA_OK, false); /* not before the image */
    image(world, true, true, RWF_DATA_OK);
}

static void a_message_that_was_cut_makes_its_item_suspect(void **state)
{
    struct world *world = *state;
    const struct rmds_batch_columns *columns = &world->columns;

    open_items(world, 3);
    assert_int_equal(turn(world, fill_and_cut), ROWS);
    assert_int_equal(columns->flags[ROWS - 1], RMDS_ROW_CUT);
    assert_int_equal(columns->item[ROWS - 1], 1);
    assert_int_equal(columns->cut, 2);
    for (uint32_t i = 1; i < 3; i++) {
        assert_true(item_at(world, i)->wants_again);
        assert_int_equal(item_at(world, i)->state, LIBRARY_NEW);
    }
    assert_int_equal(turn(world, image_of_1), 2 + 3);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(columns->item[i], i + 1);
        assert_int_equal(columns->flags[i], RMDS_ROW_FIRST | RMDS_ROW_STATE | RMDS_ROW_CUT);
        assert_int_equal(columns->fid[i], RWF_CODE_GAP_DETECTED);
        assert_true(columns->value[i] == RWF_DATA_SUSPECT);
    }
    assert_int_equal(columns->flags[4], RMDS_ROW_IMAGE | RMDS_ROW_STATE | RMDS_ROW_END);
    assert_true(columns->value[4] == RWF_DATA_OK);
}

static void broken_update(void *argument)
{
    static const uint8_t list[] = { 0x08, 0, 2, 0, 1, 1, 'x', 0, 2, 9, 'x' };
    struct world *world = argument;
    struct rmds_item *item = item_at(world, 0);
    const struct rwf_msg message = { .container = RWF_TYPE_FIELD_LIST,
                                     .payload = rwf_bytes(list, sizeof(list)) };

    item->handle(&(struct rmds_item_event){
        .kind = RMDS_ITEM_UPDATE, .item = item, .user = item->user, .message = &message });
}

static void a_field_list_that_ends_too_soon_is_cut(void **state)
{
    struct world *world = *state;

    open_items(world, 1);
    assert_int_equal(turn(world, broken_update), 1);
    assert_int_equal(world->columns.flags[0], RMDS_ROW_FIRST | RMDS_ROW_CUT);
    assert_int_equal(turn(world, NULL), 1);
    assert_true(world->columns.flags[0] & RMDS_ROW_STATE);
    assert_true(world->columns.value[0] == RWF_DATA_SUSPECT);
}

static void images(void *argument)
{
    struct world *world = argument;

    image(world, true, true, RWF_DATA_OK);
    image(world, true, false, RWF_DATA_SUSPECT);
    image(world, false, true, RWF_DATA_SUSPECT);
    image(world, true, false, RWF_DATA_OK);
    image(world, false, true, RWF_DATA_OK);
}

static void images_have_a_begin_an_end_and_a_state(void **state)
{
    static const uint16_t first = RMDS_ROW_FIRST | RMDS_ROW_IMAGE, rest = RMDS_ROW_IMAGE,
                          says = RMDS_ROW_IMAGE | RMDS_ROW_STATE;
    const uint16_t flags[] = { first | RMDS_ROW_BEGIN,
                               rest | RMDS_ROW_END, /* good: no state */
                               first | RMDS_ROW_BEGIN,
                               rest,
                               says, /* suspect */
                               first,
                               rest,
                               says | RMDS_ROW_END, /* still */
                               first | RMDS_ROW_BEGIN,
                               rest, /* not whole yet */
                               first,
                               rest,
                               says | RMDS_ROW_END }; /* good again */
    const int values[] = { [4] = RWF_DATA_SUSPECT, [7] = RWF_DATA_SUSPECT, [12] = RWF_DATA_OK };
    struct world *world = *state;

    open_items(world, 1);
    assert_int_equal(turn(world, images), sizeof(flags) / sizeof(flags[0]));
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        assert_int_equal(world->columns.flags[i], flags[i]);
        assert_true(world->columns.value[i] == values[i]);
    }
}

static void ask_again(void *argument)
{
    struct world *world = argument;

    if (++world->calls < 10000)
        assert_int_equal(rmds_backbone_post(world->backbone, ask_again, world), 0);
}

static void what_brings_no_row_does_not_hold_the_caller(void **state)
{
    struct world *world = *state;

    assert_int_equal(turn(world, ask_again), 0);
    assert_in_range(world->calls, 1, 64); /* of one turn */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_item_has_its_state_when_all_lose_their_source, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_last_state_counts_and_an_end_is_never_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_state_that_waited_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_message_that_was_cut_makes_its_item_suspect, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_field_list_that_ends_too_soon_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(images_have_a_begin_an_end_and_a_state, setup, teardown),
        cmocka_unit_test_setup_teardown(what_brings_no_row_does_not_hold_the_caller, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
