/* test_recording_later.c - records that wait: the image of an item that is asked for is the same as
 * if each had been applied at once, whatever has left the ring. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/prng.h"
#include "later.h"

#define ITEMS    40u
#define RECORDS  20000u
#define RING     8192u
#define TEXT_MAX 6000u /* longer than half of the ring */

struct world {
    struct md_prng prng;
    struct rec_images at_once, waited;
    struct rec_later later;
    uint32_t serial;
};

static void world_init(struct world *w, uint64_t seed, size_t ring)
{
    const struct cache_config config = { .bytes_max = 0 };
    const struct rec_key key = { .domain = RWF_DOMAIN_MARKET_PRICE };

    *w = (struct world){ .prng = md_prng_init(seed) };
    assert_int_equal(rec_images_init(&w->at_once, &config), MD_OK);
    assert_int_equal(rec_images_init(&w->waited, &config), MD_OK);
    assert_int_equal(rec_later_init(&w->later, &w->waited, ring), MD_OK);
    for (uint32_t i = 1; i <= ITEMS; i++) {
        assert_non_null(rec_images_at(&w->at_once, i, &key));
        assert_non_null(rec_images_at(&w->waited, i, &key));
    }
}

static void world_fini(struct world *w)
{
    rec_later_fini(&w->later);
    rec_images_fini(&w->at_once);
    rec_images_fini(&w->waited);
}

static void add_fields(struct world *w, struct rwf_encoder *enc, bool is_refresh)
{
    static const uint8_t text[TEXT_MAX];

    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, 10, ++w->serial);
    for (int16_t id = 20; id < 26; id++) {
        if (is_refresh || md_prng_below(&w->prng, 3) == 0)
            rwf_field_add_uint(enc, id, md_prng_u32(&w->prng) >> md_prng_below(&w->prng, 30));
    }
    if (md_prng_below(&w->prng, 50) == 0)
        rwf_field_add_bytes(enc, 30, rwf_bytes(text, md_prng_below(&w->prng, TEXT_MAX)));
    rwf_field_list_finish(enc);
}

/* Any message, its REC_FIRST as a damaged recorder might set it, too. */
static struct rwf_bytes encode(struct world *w, uint8_t *out, size_t size, unsigned *flags)
{
    unsigned kind = md_prng_below(&w->prng, 24);
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .container = RWF_TYPE_FIELD_LIST };

    *flags = kind < 3 ? REC_FIRST : 0;
    if (kind < 2) {
        msg.msg_class = RWF_CLASS_REFRESH;
        msg.flags = (uint16_t)((kind ? RWF_REFRESH_CLEAR_CACHE : 0) |
                               (md_prng_below(&w->prng, 4) ? RWF_REFRESH_COMPLETE : 0));
        msg.state =
            (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
    } else if (kind < 4) {
        msg.msg_class = RWF_CLASS_STATUS;
        msg.container = RWF_TYPE_NO_DATA;
        msg.flags = RWF_STATUS_HAS_STATE;
        msg.state =
            (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_SUSPECT };
    }
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    if (msg.container == RWF_TYPE_FIELD_LIST)
        add_fields(w, &enc, kind < 2);
    rwf_msg_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    struct rwf_bytes message = rwf_encoder_bytes(&enc);
    if (md_prng_below(&w->prng, 100) == 0)
        message.length = md_prng_below(&w->prng, 12); /* it makes no sense */
    return message;
}

static size_t take_image(const struct cache_image *image, uint8_t *out, size_t size)
{
    struct cache_cursor cursor = { 0 };
    bool is_last;
    size_t length;

    if (!cache_image_is_valid(image))
        return 0;
    assert_int_equal(cache_image_part(image, &cursor, out, size, &length, &is_last), MD_OK);
    assert_true(is_last);
    return length;
}

static void compare(struct world *w, uint32_t number)
{
    uint8_t x[TEXT_MAX + 2000], y[TEXT_MAX + 2000];

    size_t length = take_image(w->at_once.all[number].image, x, sizeof(x));
    assert_int_equal(take_image(w->waited.all[number].image, y, sizeof(y)), length);
    if (length)
        assert_memory_equal(x, y, length);
}

static void put_one(struct world *w)
{
    uint8_t bytes[TEXT_MAX + 2000];
    uint32_t number = 1 + md_prng_below(&w->prng, ITEMS);
    unsigned flags;
    const struct rwf_bytes message = encode(w, bytes, sizeof(bytes), &flags);

    (void)rec_images_apply(&w->at_once, &w->at_once.all[number], message, flags, false);
    assert_int_equal(rec_later_put(&w->later, number, message, flags), MD_OK);
}

static void run(uint64_t seed, size_t ring)
{
    struct world w;

    world_init(&w, seed, ring);
    for (unsigned i = 0; i < RECORDS; i++) {
        put_one(&w);
        if (md_prng_below(&w.prng, 20) == 0) {
            uint32_t number = 1 + md_prng_below(&w.prng, ITEMS);
            rec_later_settle(&w.later, number);
            compare(&w, number);
        }
        if (md_prng_below(&w.prng, 2000) == 0) {
            rec_later_settle_all(&w.later);
            for (uint32_t number = 1; number <= ITEMS; number++)
                compare(&w, number);
        }
    }
    world_fini(&w);
}

static void an_image_that_waited_is_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        run(seed, RING);
        run(seed, 256 * RING);
    }
}

static void nothing_waits_once_it_is_cleared(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 9, RING);
    for (unsigned i = 0; i < 1000; i++)
        put_one(&w);
    rec_later_clear(&w.later);
    rec_images_clear(&w.waited);
    for (uint32_t number = 1; number <= ITEMS; number++) {
        rec_later_settle(&w.later, number);
        assert_null(w.waited.all[number].image);
    }
    world_fini(&w);
}

/* An image that nobody asks for costs nothing: the next one takes its place. */
static void only_what_follows_an_image_is_applied(void **state)
{
    struct world w;
    struct cache_stats stats;
    uint8_t bytes[200];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    (void)state;
    world_init(&w, 1, 256 * RING);
    for (unsigned i = 0; i < 103; i++) {
        bool is_image = i % 10 == 0;
        msg.msg_class = is_image ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE;
        msg.flags = is_image ? RWF_REFRESH_CLEAR_CACHE | RWF_REFRESH_COMPLETE : 0;
        rwf_encoder_init(&enc, bytes, sizeof(bytes));
        rwf_msg_start(&enc, &msg);
        rwf_field_list_start(&enc, NULL);
        rwf_field_add_uint(&enc, 10, i);
        rwf_field_list_finish(&enc);
        rwf_msg_finish(&enc);
        assert_int_equal(
            rec_later_put(&w.later, 1, rwf_encoder_bytes(&enc), is_image ? REC_FIRST : 0), MD_OK);
    }
    rec_later_settle(&w.later, 1);
    cache_stats(w.waited.cache, &stats);
    assert_int_equal(stats.applied, 3);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_that_waited_is_the_same),
        cmocka_unit_test(nothing_waits_once_it_is_cleared),
        cmocka_unit_test(only_what_follows_an_image_is_applied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
