/* test_cache_ripple.c - values that an update moves on: who joins late sees what all others see. */
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

/* ---- a plain model of an application that was there from the start ---- */

#define FIELDS_MAX  64
#define CONTENT_MAX 400

struct held {
    int16_t id;
    size_t length;
    uint8_t bytes[CONTENT_MAX];
};

struct model {
    struct held fields[FIELDS_MAX];
    unsigned count;
};

/* 1 to 5 and 11 to 13 are chains of numbers, 21 to 23 one of texts; 31 ripples to another type,
 * 32 to nobody, 41 and 42 to each other; 51 to 59 do not ripple. */
static int16_t ripples_to(int16_t id)
{
    return (id >= 1 && id < 5) || (id >= 11 && id < 13) || (id >= 21 && id < 23) ? (int16_t)(id + 1)
                                                                                 : 0;
}

static bool is_text(int16_t id)
{
    return id >= 21 && id <= 23;
}

static struct held *find(struct model *model, int16_t id)
{
    for (unsigned i = 0; i < model->count; i++) {
        if (model->fields[i].id == id)
            return &model->fields[i];
    }
    return NULL;
}

static void swap_contents(struct held *a, struct held *carry)
{
    struct held old = *a;

    memcpy(a->bytes, carry->bytes, carry->length);
    a->length = carry->length;
    *carry = old;
}

/* Text that begins with ESC [ n ` writes from byte n on. */
static void write_text(struct held *field, struct rwf_bytes content)
{
    unsigned from;
    int skip;

    if (content.length == 0 || content.data[0] != 0x1b) {
        memcpy(field->bytes, content.data, content.length);
        field->length = content.length;
        return;
    }
    assert_int_equal(sscanf((const char *)content.data + 1, "[%u`%n", &from, &skip), 1);
    struct rwf_bytes text = rwf_bytes(content.data + 1 + skip, content.length - 1 - (size_t)skip);
    while (field->length < from)
        field->bytes[field->length++] = ' ';
    memcpy(field->bytes + from, text.data, text.length);
    if (from + text.length > field->length)
        field->length = from + text.length;
}

static void model_apply(struct model *model, int16_t id, struct rwf_bytes content, bool ripples)
{
    struct held *field = find(model, id);

    if (field && ripples) {
        struct held carry = *field;
        struct held *next;
        for (int16_t g = ripples_to(id); g && (next = find(model, g)); g = ripples_to(g))
            swap_contents(next, &carry);
    }
    if (!field) {
        assert_true(model->count < FIELDS_MAX);
        field = &model->fields[model->count++];
        *field = (struct held){ .id = id };
    }
    if (is_text(id)) {
        write_text(field, content);
    } else {
        memcpy(field->bytes, content.data, content.length);
        field->length = content.length;
    }
}

/* ---- random histories ---- */

static uint64_t random_state;

static unsigned random_below(unsigned bound)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % bound;
}

static int16_t random_id(void)
{
    static const int16_t ids[] = { 1,  2,  3,  4,  5,  11, 12, 13, 21, 22, 23, 31,
                                   32, 41, 42, 51, 52, 53, 54, 55, 56, 57, 58, 59 };

    return ids[random_below(sizeof(ids) / sizeof(ids[0]))];
}

/* A text, whole or partial; or a number of any length, and blanks among both. */
static struct rwf_bytes random_content(int16_t id, bool may_be_partial, uint8_t *out)
{
    size_t length = random_below(20) == 0 ? 250 + random_below(20) : random_below(8);
    size_t at = 0;

    if (is_text(id) && may_be_partial && random_below(2) == 0)
        at = (size_t)sprintf((char *)out, "\x1b[%u`", random_below(30));
    for (size_t i = 0; i < length; i++)
        out[at++] = (uint8_t)(is_text(id) ? 'a' + random_below(26) : random_below(256));
    return rwf_bytes(out, at);
}

/* A message, which the model has in it then. */
static struct rwf_bytes random_bytes(struct model *model, uint8_t msg_class, uint16_t flags,
                                     unsigned count)
{
    static uint8_t buffer[FIELDS_MAX * CONTENT_MAX];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .flags = flags,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };
    bool ripples = msg_class == RWF_CLASS_UPDATE && !(flags & RWF_UPDATE_DO_NOT_RIPPLE);

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (unsigned i = 0; i < count; i++) {
        uint8_t bytes[CONTENT_MAX];
        int16_t id = random_id();
        struct rwf_bytes content = random_content(id, msg_class == RWF_CLASS_UPDATE, bytes);

        assert_int_equal(rwf_field_add_bytes(&enc, id, content), RWF_OK);
        model_apply(model, id, content, ripples);
    }
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

/* One message to both, by the same fields in the same order. */
static void random_message(struct model *model, struct cache *cache, struct cache_image **image,
                           uint8_t msg_class, uint16_t flags, unsigned count)
{
    struct rwf_bytes message = random_bytes(model, msg_class, flags, count);

    assert_int_equal(cache_apply(cache, image, message), MD_OK);
}

static struct rwf_bytes payload_of(const struct cache_image *image)
{
    static uint8_t out[FIELDS_MAX * CONTENT_MAX];
    struct cache_cursor cursor = { 0 };
    struct rwf_msg msg;
    size_t length;
    bool is_last;

    assert_int_equal(cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last), MD_OK);
    assert_true(is_last);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    return msg.payload;
}

static void assert_same(struct model *model, const struct cache_image *image)
{
    struct rwf_field_list list;
    struct rwf_field field;
    unsigned count = 0;

    assert_int_equal(rwf_field_list_decode(payload_of(image), NULL, &list), RWF_OK);
    for (; rwf_field_list_next(&list, &field) > 0; count++) {
        const struct held *held = find(model, field.id);

        assert_non_null(held);
        assert_int_equal(field.content.length, held->length);
        assert_memory_equal(field.content.data, held->bytes, held->length);
    }
    assert_int_equal(count, model->count);
}

static const char dictionary_text[] = "N1 \"\" 1 N2 PRICE 17 REAL64 7\n"
                                      "N2 \"\" 2 N3 PRICE 17 REAL64 7\n"
                                      "N3 \"\" 3 N4 PRICE 17 REAL64 7\n"
                                      "N4 \"\" 4 N5 PRICE 17 REAL64 7\n"
                                      "N5 \"\" 5 NULL PRICE 17 REAL64 7\n"
                                      "M1 \"\" 11 M2 INTEGER 15 UINT64 8\n"
                                      "M2 \"\" 12 M3 INTEGER 15 UINT64 8\n"
                                      "M3 \"\" 13 NULL INTEGER 15 UINT64 8\n"
                                      "T1 \"\" 21 T2 ALPHANUMERIC 40 RMTES_STRING 40\n"
                                      "T2 \"\" 22 T3 ALPHANUMERIC 40 RMTES_STRING 40\n"
                                      "T3 \"\" 23 NULL ALPHANUMERIC 40 RMTES_STRING 40\n"
                                      "X1 \"\" 31 X2 PRICE 17 REAL64 7\n"
                                      "X2 \"\" 51 NULL INTEGER 15 UINT64 8\n"
                                      "X3 \"\" 32 NULL PRICE 17 REAL64 7\n"
                                      "R1 \"\" 41 R2 PRICE 17 REAL64 7\n"
                                      "R2 \"\" 42 R1 PRICE 17 REAL64 7\n";

static int text_type_of(int16_t id)
{
    return is_text(id) ? RWF_TYPE_RMTES : RWF_TYPE_REAL;
}

static unsigned field_type(void *context, int16_t id)
{
    (void)context;
    return (unsigned)text_type_of(id);
}

static struct cache_ripples *ripples_of(const char *text)
{
    struct rwf_dictionary_error error;
    struct rwf_dictionary *dictionary;
    struct cache_ripples *ripples;

    assert_int_equal(rwf_dictionary_create(&dictionary), MD_OK);
    if (rwf_dictionary_load_fields(dictionary, "f", text, strlen(text), &error) != MD_OK)
        fail_msg("%s", error.text);
    assert_int_equal(cache_ripples_create(&ripples), MD_OK);
    cache_ripples_learn(ripples, dictionary);
    rwf_dictionary_destroy(dictionary);
    return ripples;
}

static void who_joins_late_sees_what_one_sees_who_was_there_from_the_start(void **state)
{
    struct cache_ripples *ripples = ripples_of(dictionary_text);
    const struct cache_config config = { .ripples = ripples, .field_type = field_type };
    struct cache *cache;

    (void)state;
    assert_int_equal(cache_create(&config, &cache), MD_OK);
    for (unsigned seed = 1; seed <= 400; seed++) {
        static struct model model;
        struct cache_image *image = NULL;

        random_state = seed;
        model.count = 0;
        random_message(&model, cache, &image, RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE,
                       random_below(30));
        for (unsigned i = random_below(60); i > 0; i--) {
            bool refreshes = random_below(20) == 0;
            uint16_t flags = random_below(5) == 0 ? RWF_UPDATE_DO_NOT_RIPPLE : 0;
            if (refreshes)
                model.count = 0;
            random_message(&model, cache, &image, refreshes ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
                           refreshes ? RWF_REFRESH_COMPLETE : flags, random_below(8));
            assert_same(&model, image);
        }
        cache_image_free(cache, image);
    }
    cache_destroy(cache);
    cache_ripples_destroy(ripples);
}

/* ---- what updates change ---- */

/* An update with the fields that are noted, as they are in the image now. */
static struct rwf_bytes changes_of(const struct cache_image *image,
                                   const struct cache_changed *changed)
{
    static uint8_t list[FIELDS_MAX * CONTENT_MAX], buffer[FIELDS_MAX * CONTENT_MAX];
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .flags = RWF_UPDATE_DO_NOT_RIPPLE,
                                 .container = RWF_TYPE_FIELD_LIST };
    struct rwf_encoder enc;
    size_t length;

    assert_int_equal(cache_image_changed(image, changed, list, sizeof(list), &length), MD_OK);
    if (length > 3)
        assert_int_equal(cache_image_changed(image, changed, list, length - 1, &length),
                         MD_ERR_FULL);
    assert_int_equal(cache_image_changed(image, changed, list, sizeof(list), &length), MD_OK);
    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_msg_start(&enc, &msg);
    rwf_raw_add(&enc, rwf_bytes(list, length));
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void apply_noted(struct model *model, struct cache *cache, struct cache_image **image,
                        struct cache_changed *changed)
{
    uint16_t flags = random_below(3) == 0 ? RWF_UPDATE_DO_NOT_RIPPLE : 0;
    struct rwf_bytes message = random_bytes(model, RWF_CLASS_UPDATE, flags, 1 + random_below(7));
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(message, &msg), RWF_OK);
    assert_true(cache_image_can_note(*image, 7));
    assert_int_equal(cache_apply_noted(cache, image, &msg, changed), MD_OK);
}

static void what_a_run_of_updates_changes_is_noted(void **state)
{
    struct cache_ripples *ripples = ripples_of(dictionary_text);
    const struct cache_config config = { .ripples = ripples, .field_type = field_type };
    struct cache *cache;

    (void)state;
    assert_int_equal(cache_create(&config, &cache), MD_OK);
    for (unsigned seed = 1; seed <= 400; seed++) {
        static struct model model;
        struct cache_image *image = NULL, *behind = NULL;

        random_state = seed;
        model.count = 0;
        struct rwf_bytes first =
            random_bytes(&model, RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, 1 + random_below(30));
        assert_int_equal(cache_apply(cache, &image, first), MD_OK);
        assert_int_equal(cache_apply(cache, &behind, first), MD_OK);
        for (unsigned runs = random_below(10); runs > 0; runs--) {
            struct cache_changed changed = { { 0 } };
            for (unsigned i = 1 + random_below(5); i > 0; i--)
                apply_noted(&model, cache, &image, &changed);
            assert_int_equal(cache_apply(cache, &behind, changes_of(image, &changed)), MD_OK);
            assert_same(&model, image);
            assert_same(&model, behind);
        }
        cache_image_free(cache, image);
        cache_image_free(cache, behind);
    }
    cache_destroy(cache);
    cache_ripples_destroy(ripples);
}

/* ---- tables ---- */

/* Fields of one byte each, which is their value; 0 ends them. */
static void tell(struct cache *cache, struct cache_image **image, uint8_t msg_class,
                 const uint8_t *ids_and_values)
{
    uint8_t buffer[256];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .flags = msg_class == RWF_CLASS_REFRESH ? RWF_REFRESH_COMPLETE : 0,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (const uint8_t *p = ids_and_values; p[0]; p += 2)
        rwf_field_add_bytes(&enc, p[0], rwf_bytes(p + 1, 1));
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(cache_apply(cache, image, rwf_encoder_bytes(&enc)), MD_OK);
}

static unsigned value_of(const struct cache_image *image, int16_t id)
{
    struct rwf_field_list list;
    struct rwf_field field;

    rwf_field_list_decode(payload_of(image), NULL, &list);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == id)
            return field.content.data[0];
    }
    return 0;
}

static void a_dictionary_that_comes_later_holds_for_images_that_are_there(void **state)
{
    struct cache_ripples *ripples;
    struct cache_image *image = NULL;
    struct rwf_dictionary *dictionary;
    struct rwf_dictionary_error error;
    struct cache_stats stats;
    struct cache *cache;

    (void)state;
    assert_int_equal(cache_ripples_create(&ripples), MD_OK);
    const struct cache_config config = { .ripples = ripples };
    assert_int_equal(cache_create(&config, &cache), MD_OK);
    tell(cache, &image, RWF_CLASS_REFRESH, (const uint8_t[]){ 1, 10, 2, 20, 3, 30, 0 });
    tell(cache, &image, RWF_CLASS_UPDATE, (const uint8_t[]){ 1, 11, 0 });
    assert_int_equal(value_of(image, 2), 20); /* nothing is known yet */
    rwf_dictionary_create(&dictionary);
    assert_int_equal(rwf_dictionary_load_fields(dictionary, "f", dictionary_text,
                                                strlen(dictionary_text), &error),
                     MD_OK);
    cache_ripples_learn(ripples, dictionary);
    tell(cache, &image, RWF_CLASS_UPDATE, (const uint8_t[]){ 1, 12, 0 });
    assert_int_equal(value_of(image, 2), 11);
    assert_int_equal(value_of(image, 3), 20);
    cache_stats(cache, &stats);
    assert_int_equal(stats.rippled, 2);
    rwf_dictionary_destroy(dictionary);
    cache_image_free(cache, image);
    cache_destroy(cache);
    cache_ripples_destroy(ripples);
}

static void chains_that_do_not_end_do_not_ripple(void **state)
{
    struct cache_ripples *ripples = ripples_of(dictionary_text);
    const struct cache_config config = { .ripples = ripples };
    struct cache_image *image = NULL;
    struct cache *cache;

    (void)state;
    assert_int_equal(cache_create(&config, &cache), MD_OK);
    tell(cache, &image, RWF_CLASS_REFRESH,
         (const uint8_t[]){ 2, 9, 41, 1, 42, 2, 31, 3, 51, 4, 0 });
    tell(cache, &image, RWF_CLASS_UPDATE, (const uint8_t[]){ 41, 5, 42, 6, 31, 7, 0 });
    assert_int_equal(value_of(image, 41), 5);
    assert_int_equal(value_of(image, 42), 6);
    assert_int_equal(value_of(image, 51),
                     4); /* of another type than the field that ripples there */
    cache_image_free(cache, image);
    cache_destroy(cache);
    cache_ripples_destroy(ripples);
}

static void a_field_that_the_update_itself_adds_takes_over_from_the_next_one(void **state)
{
    struct cache_ripples *ripples = ripples_of(dictionary_text);
    const struct cache_config config = { .ripples = ripples };
    struct cache_image *image = NULL;
    struct cache *cache;

    (void)state;
    assert_int_equal(cache_create(&config, &cache), MD_OK);
    tell(cache, &image, RWF_CLASS_REFRESH, (const uint8_t[]){ 1, 10, 0 });
    tell(cache, &image, RWF_CLASS_UPDATE, (const uint8_t[]){ 2, 20, 1, 11, 0 });
    assert_int_equal(value_of(image, 1), 11);
    assert_int_equal(value_of(image, 2), 10);
    cache_image_free(cache, image);
    cache_destroy(cache);
    cache_ripples_destroy(ripples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_joins_late_sees_what_one_sees_who_was_there_from_the_start),
        cmocka_unit_test(what_a_run_of_updates_changes_is_noted),
        cmocka_unit_test(a_dictionary_that_comes_later_holds_for_images_that_are_there),
        cmocka_unit_test(chains_that_do_not_end_do_not_ripple),
        cmocka_unit_test(a_field_that_the_update_itself_adds_takes_over_from_the_next_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
