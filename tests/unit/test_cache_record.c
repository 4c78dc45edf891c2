/* test_cache_record.c - Marketfeed records in the cache: one image of all that was said. */
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
#include "marketfeed/marketfeed.h"

static const char dictionary_text[] = "TRDPRC_1 \"\" 6 TRDPRC_2 PRICE 17 REAL64 7\n"
                                      "TRDPRC_2 \"\" 7 NULL PRICE 17 REAL64 7\n"
                                      "ROW80_4 \"\" 318 NULL ALPHANUMERIC 80 RMTES_STRING 80\n";

static unsigned field_type(void *context, int16_t id)
{
    (void)context;
    return id == 318 ? RWF_TYPE_RMTES : RWF_TYPE_REAL;
}

struct fixture {
    struct cache *cache;
    struct cache_ripples *ripples;
    struct cache_image *image;
};

static int setup(void **state)
{
    static struct fixture f;
    struct rwf_dictionary *dictionary;
    struct rwf_dictionary_error error;

    assert_int_equal(rwf_dictionary_create(&dictionary), MD_OK);
    assert_int_equal(rwf_dictionary_load_fields(dictionary, "f", dictionary_text,
                                                strlen(dictionary_text), &error),
                     MD_OK);
    assert_int_equal(cache_ripples_create(&f.ripples), MD_OK);
    cache_ripples_learn(f.ripples, dictionary);
    rwf_dictionary_destroy(dictionary);
    const struct cache_config config = { .ripples = f.ripples, .field_type = field_type };
    assert_int_equal(cache_create(&config, &f.cache), MD_OK);
    f.image = NULL;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    cache_image_free(f->cache, f->image);
    cache_destroy(f->cache);
    cache_ripples_destroy(f->ripples);
    return 0;
}

/* `text` with F G R U for the separators. */
static size_t record_of(const char *text, char *out)
{
    static const char letters[] = "FGRU";
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        const char *at = strchr(letters, text[i]);
        out[i] = at ? (char)(0x1c + (at - letters)) : text[i];
    }
    return length;
}

static int tell(struct fixture *f, uint8_t msg_class, uint16_t flags, const char *text)
{
    uint8_t buffer[1024];
    char record[512];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = MF_CONTAINER,
        .flags = flags,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .payload = rwf_bytes(record, record_of(text, record)),
    };

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_OK);
    return cache_apply(f->cache, &f->image, rwf_encoder_bytes(&enc));
}

static void assert_record(struct fixture *f, const char *text)
{
    struct cache_cursor cursor = { 0 };
    struct rwf_msg msg;
    char wanted[512];
    uint8_t out[1024];
    size_t length;
    bool is_last;

    assert_true(cache_image_is_valid(f->image));
    assert_int_equal(cache_image_part(f->image, &cursor, out, sizeof(out), &length, &is_last),
                     MD_OK);
    assert_true(is_last);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_int_equal(msg.container, MF_CONTAINER);
    assert_true(msg.flags & RWF_REFRESH_COMPLETE);
    assert_int_equal(msg.payload.length, record_of(text, wanted));
    assert_memory_equal(msg.payload.data, wanted, msg.payload.length);
    assert_int_equal(
        cache_image_part(f->image, &(struct cache_cursor){ 0 }, out, length - 1, &length, &is_last),
        MD_ERR_FULL);
}

static void an_image_is_the_record_with_all_updates_applied(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tell(f, RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE,
                          "F340UXXGN.NU62U1R6U+1.500R7U+1.4R318U0123456789R-5UunknownF"),
                     MD_OK);
    assert_record(f, "F340UXXGN.NU62U1R6U+1.500R7U+1.4R318U0123456789R-5UunknownF");
    /* Texts as they came, ripples, a partial string, a new field, the level. */
    assert_int_equal(tell(f, RWF_CLASS_UPDATE, 0, "F316UXXGN.NU2R6U+1.60R318U\x1b[3`xyR99999U1F"),
                     MD_ERR_MALFORMED);
    assert_false(cache_image_is_valid(f->image));
    assert_int_equal(tell(f, RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE,
                          "F340UXXGN.NU62U1R6U+1.500R7U+1.4R318U0123456789R-5UunknownF"),
                     MD_OK);
    assert_int_equal(tell(f, RWF_CLASS_UPDATE, 0, "F316UXXGN.NU2R6U+1.60R318U\x1b[3`xyR9999U1F"),
                     MD_OK);
    assert_record(f, "F340UXXGN.NU62U2R6U+1.60R7U+1.500R318U012xy56789R-5UunknownR9999U1F");
}

static void corrections_and_messages_with_the_flag_do_not_ripple(void **state)
{
    struct fixture *f = *state;

    tell(f, RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, "F340UXXGNU62UR6U+1R7U+2F");
    assert_int_equal(tell(f, RWF_CLASS_UPDATE, 0, "F317UXXGNR6U+3F"), MD_OK);
    assert_record(f, "F340UXXGNU62UR6U+3R7U+2F");
    assert_int_equal(tell(f, RWF_CLASS_UPDATE, RWF_UPDATE_DO_NOT_RIPPLE, "F316UXXGNR6U+4F"), MD_OK);
    assert_record(f, "F340UXXGNU62UR6U+4R7U+2F");
    assert_int_equal(tell(f, RWF_CLASS_UPDATE, 0, "F316UXXGNR6UF"), MD_OK); /* a blank ripples */
    assert_record(f, "F340UXXGNU62UR6UR7U+4F");
}

static void a_status_record_changes_nothing(void **state)
{
    struct fixture *f = *state;

    tell(f, RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, "F340UXXGNU62UR6U+1F");
    assert_int_equal(tell(f, RWF_CLASS_UPDATE, 0, "F407UXXG2Rno such nameF"), MD_OK);
    assert_record(f, "F340UXXGNU62UR6U+1F");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_image_is_the_record_with_all_updates_applied, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(corrections_and_messages_with_the_flag_do_not_ripple, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_status_record_changes_nothing, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
