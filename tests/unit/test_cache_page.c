/* test_cache_page.c - ANSI pages in the cache: who joins late sees the page that all others see. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cache/cache.h"
#include "page/page.h"

static uint64_t random_state = 1;

static unsigned random_below(unsigned bound)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % bound;
}

static struct cache *new_cache(bool keeps_pages, uint64_t bytes_max)
{
    const struct cache_config config = { .keeps_pages = keeps_pages, .bytes_max = bytes_max };
    struct cache *cache;

    assert_int_equal(cache_create(&config, &cache), MD_OK);
    return cache;
}

static int tell(struct cache *cache, struct cache_image **image, uint8_t msg_class,
                const char *payload)
{
    uint8_t buffer[8192];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = RWF_TYPE_ANSI_PAGE,
        .flags = msg_class == RWF_CLASS_REFRESH ? RWF_REFRESH_COMPLETE : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .payload = rwf_text(payload),
    };

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_OK);
    return cache_apply(cache, image, rwf_encoder_bytes(&enc));
}

/* What somebody sees who had any page before and now gets the image. */
static void see_late(const struct cache_image *image, struct page *late)
{
    static uint8_t out[65536];
    struct cache_cursor cursor = { 0 };
    struct rwf_msg msg;
    size_t length;
    bool is_last;

    assert_true(cache_image_is_valid(image));
    assert_int_equal(cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last), MD_OK);
    assert_true(is_last);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_int_equal(msg.container, RWF_TYPE_ANSI_PAGE);
    assert_true(msg.flags & RWF_REFRESH_COMPLETE);
    page_apply(late, msg.payload);
}

static void who_joins_late_sees_the_page_that_all_others_see(void **state)
{
    struct cache *cache = new_cache(true, 0);
    struct cache_image *image = NULL;
    static struct page early;
    static struct page late;
    char payload[200];

    (void)state;
    page_reset(&early);
    assert_int_equal(tell(cache, &image, RWF_CLASS_REFRESH, "\x1b[2J\x1b[1;30HMONEY MARKET"),
                     MD_OK);
    page_apply(&early, rwf_text("\x1b[2J\x1b[1;30HMONEY MARKET"));
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(payload, sizeof(payload), "\x1b[%um\x1b[%u;%uH%u.%02u%s", random_below(8),
                 1 + random_below(25), 1 + random_below(80), random_below(100), random_below(100),
                 random_below(10) == 0 ? "\x1b[5;20r\x1b[20;1H\n" : "");
        page_apply(&early, rwf_text(payload));
        assert_int_equal(tell(cache, &image, RWF_CLASS_UPDATE, payload), MD_OK);
        if (i % 7 == 0) {
            page_reset(&late);
            page_apply(&late, rwf_text("something else"));
            see_late(image, &late);
            assert_memory_equal(&late, &early, sizeof(early));
        }
        assert_true(cache_image_bytes(image) < 16384);
    }
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void a_page_that_was_not_updated_goes_out_as_it_came(void **state)
{
    struct cache *cache = new_cache(true, 0);
    struct cache_image *image = NULL;
    uint8_t out[1024];
    struct cache_cursor cursor = { 0 };
    struct cache_stats stats;
    struct rwf_msg msg;
    size_t length;
    bool is_last;

    (void)state;
    assert_int_equal(tell(cache, &image, RWF_CLASS_REFRESH, "as\x1b[5nit came"), MD_OK);
    assert_int_equal(cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last), MD_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_true(rwf_bytes_equal(msg.payload, rwf_text("as\x1b[5nit came")));
    cache_stats(cache, &stats);
    assert_int_equal(stats.pages_now, 1);
    cache_image_free(cache, image);
    cache_stats(cache, &stats);
    assert_int_equal(stats.pages_now, 0);
    cache_destroy(cache);
}

static void a_page_is_left_invalid_where_pages_are_not_kept(void **state)
{
    struct cache *cache = new_cache(false, 0);
    struct cache_image *image = NULL;

    (void)state;
    assert_int_equal(tell(cache, &image, RWF_CLASS_REFRESH, "page"), MD_OK);
    assert_int_equal(tell(cache, &image, RWF_CLASS_UPDATE, "more"), MD_ERR_UNSUPPORTED);
    assert_false(cache_image_is_valid(image));
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void a_buffer_that_is_too_small_for_a_page_is_refused(void **state)
{
    struct cache *cache = new_cache(true, 0);
    struct cache_image *image = NULL;
    struct cache_cursor cursor = { 0 };
    uint8_t out[40];
    size_t length;
    bool is_last;

    (void)state;
    tell(cache, &image, RWF_CLASS_REFRESH, "a page of some words, more than");
    tell(cache, &image, RWF_CLASS_UPDATE, "the buffer has room");
    assert_int_equal(cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last),
                     MD_ERR_FULL);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void a_page_whose_cells_all_differ_is_kept_as_it_is(void **state)
{
    struct cache *cache = new_cache(true, 0);
    struct cache_image *image = NULL;
    static struct page early;
    static struct page late;
    char payload[2048];

    (void)state;
    page_reset(&early);
    page_reset(&late);
    assert_int_equal(tell(cache, &image, RWF_CLASS_REFRESH, "\x1b[2J"), MD_OK);
    for (unsigned i = 0; i < 60; i++) {
        size_t length = (size_t)snprintf(payload, sizeof(payload), "\x1b[%u;1H", 1 + i % 25);
        for (unsigned cell = 0; cell < 80; cell++)
            length +=
                (size_t)snprintf(payload + length, sizeof(payload) - length, "\x1b[0;%u;%um%c",
                                 30 + cell % 8, 40 + (cell + i) % 8, 'A' + cell % 26);
        assert_int_equal(tell(cache, &image, RWF_CLASS_UPDATE, payload), MD_OK);
        page_apply(&early, rwf_text(payload));
        assert_true(cache_image_bytes(image) < 16 * 1024);
    }
    see_late(image, &late);
    assert_memory_equal(&late, &early, sizeof(early));
    assert_int_equal(tell(cache, &image, RWF_CLASS_REFRESH, "\x1b[2JNEW"), MD_OK);
    page_apply(&early, rwf_text("\x1b"
                                "c\x1b[2JNEW"));
    see_late(image, &late);
    assert_int_equal(tell(cache, &image, RWF_CLASS_UPDATE, "S"), MD_OK);
    see_late(image, &late);
    page_apply(&early, rwf_text("S"));
    assert_memory_equal(late.cells, early.cells, sizeof(early.cells));
    cache_image_free(cache, image);
    cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_whose_cells_all_differ_is_kept_as_it_is),
        cmocka_unit_test(who_joins_late_sees_the_page_that_all_others_see),
        cmocka_unit_test(a_page_that_was_not_updated_goes_out_as_it_came),
        cmocka_unit_test(a_page_is_left_invalid_where_pages_are_not_kept),
        cmocka_unit_test(a_buffer_that_is_too_small_for_a_page_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
