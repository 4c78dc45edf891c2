/* test_recording_limits.c - what comes from others has a bound: names of a service, and messages
 * that no chunk takes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "recording/images.h"

#define ITEMS 50u

struct world {
    struct rec_chunk *chunk; /* the only one */
    bool is_taken;
    struct rec_writer writer;
    struct rec_keeper *keeper;
    struct rec_moment now;
};

static struct rec_chunk *take(void *context)
{
    struct world *w = context;

    if (w->is_taken)
        return NULL;
    w->is_taken = true;
    return w->chunk;
}

static void give(void *context, struct rec_chunk *chunk)
{
    struct world *w = context;

    (void)chunk;
    w->is_taken = false;
}

static void begin(struct world *w, uint32_t items_max, uint32_t service_max)
{
    const struct rec_writer_ops ops = { take, give };
    const struct rec_keeper_config config = { .writer = &w->writer,
                                              .image_every_ns = 1000000000000ull,
                                              .items_max = items_max,
                                              .service_max = service_max };

    *w = (struct world){ .now = { .mono_ns = 1000, .wall_ns = 1000 } };
    assert_int_equal(rec_chunk_create(&w->chunk), MD_OK);
    rec_writer_init(&w->writer, &ops, w);
    assert_int_equal(rec_keeper_create(&config, &w->keeper), MD_OK);
}

static void end(struct world *w)
{
    rec_writer_flush(&w->writer, false);
    rec_keeper_destroy(w->keeper);
    rec_chunk_destroy(w->chunk);
}

static uint32_t name(struct world *w, const char *service, unsigned number)
{
    char text[16];

    snprintf(text, sizeof(text), "ITEM%u", number);
    const struct rec_key key = { .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .service = rwf_text(service),
                                 .name = rwf_text(text) };
    return rec_keeper_item(w->keeper, &key);
}

static void a_service_that_names_without_end_leaves_the_others_their_places(void **state)
{
    struct rec_keeper_stats stats;
    struct world w;
    unsigned taken = 0;

    (void)state;
    begin(&w, 1000, 250);
    for (unsigned i = 0; i < 5000; i++)
        taken += name(&w, "STRANGER", i) != 0;
    assert_int_equal(taken, 250);
    rec_keeper_stats(w.keeper, &stats);
    assert_int_equal(stats.items, 250);
    assert_int_equal(stats.refused_names, 4750);
    assert_int_equal(stats.full_services, 1);
    assert_string_equal(stats.full_service, "STRANGER");
    for (unsigned i = 0; i < 250; i++)
        assert_int_not_equal(name(&w, "RDFD", i), 0);
    assert_int_not_equal(name(&w, "STRANGER", 0), 0); /* that it has, it keeps */
    rec_keeper_stats(w.keeper, &stats);
    assert_int_equal(stats.refused_names, 4750);
    end(&w);
}

static void all_of_them_have_no_more_than_the_recording(void **state)
{
    const struct rec_key directory = { .domain = RWF_DOMAIN_SOURCE };
    struct rec_keeper_stats stats;
    struct world w;

    (void)state;
    begin(&w, 100, 0);
    for (unsigned i = 0; i < 150; i++)
        assert_int_equal(name(&w, "RDFD", i) != 0, i < 100);
    assert_int_equal(name(&w, "OTHER", 0), 0);
    rec_keeper_stats(w.keeper, &stats);
    assert_int_equal(stats.refused_names, 51);
    assert_int_equal(stats.full_services, 0);
    assert_string_equal(stats.full_service, "");
    assert_int_not_equal(rec_keeper_item(w.keeper, &directory), 0); /* no item, and it is needed */
    rec_keeper_cut(w.keeper, w.now, "the server has gone");
    end(&w);
}

static void image(struct world *w, uint32_t number)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_REFRESH,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .stream_id = 5,
                           .flags = RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE,
                           .container = RWF_TYPE_FIELD_LIST,
                           .state = { .stream_state = RWF_STREAM_OPEN,
                                      .data_state = RWF_DATA_OK } };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, 10, number);
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    rec_keeper_message(w->keeper, w->now, number, rwf_encoder_bytes(&enc));
}

/* Else whoever sends such messages has the images of all items written again and again. */
static void messages_that_no_chunk_takes_are_counted_and_call_for_no_images(void **state)
{
    const size_t length = REC_MESSAGE_MAX + 1;
    uint8_t *bytes = calloc(1, length);
    struct rec_keeper_stats before, after;
    uint32_t numbers[ITEMS];
    struct world w;

    (void)state;
    assert_non_null(bytes);
    begin(&w, 0, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        numbers[i] = name(&w, "RDFD", i);
        image(&w, numbers[i]);
    }
    rec_keeper_tick(w.keeper, w.now);
    rec_keeper_stats(w.keeper, &before);
    for (unsigned i = 0; i < 100; i++) {
        w.now.mono_ns += 1000;
        w.now.wall_ns += 1000;
        rec_keeper_message(w.keeper, w.now, numbers[0], rwf_bytes(bytes, length));
        rec_keeper_tick(w.keeper, w.now);
    }
    rec_keeper_stats(w.keeper, &after);
    assert_int_equal(after.refused - before.refused, 100);
    assert_int_equal(after.lost - before.lost, 100);
    /* Of the item that lost them, one before each further message; of the others none. */
    assert_true(after.images - before.images <= 101);
    end(&w);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_that_names_without_end_leaves_the_others_their_places),
        cmocka_unit_test(all_of_them_have_no_more_than_the_recording),
        cmocka_unit_test(messages_that_no_chunk_takes_are_counted_and_call_for_no_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
