/* test_cache.c - images: what went in comes out, with the updates applied. */
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
#include "cache/cache.h"

static struct cache *new_cache(uint64_t bytes_max)
{
    const struct cache_config config = { .bytes_max = bytes_max };
    struct cache *cache;

    assert_int_equal(cache_create(&config, &cache), MD_OK);
    return cache;
}

/* A message with a field list of (id, unsigned value) pairs. */
static struct rwf_bytes fields(uint8_t *buffer, size_t size, uint8_t msg_class, uint16_t flags,
                               const uint16_t pairs[][2], size_t count)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 6,
        .flags = flags,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    rwf_encoder_init(&enc, buffer, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (size_t i = 0; i < count; i++)
        rwf_field_add_uint(&enc, (int16_t)pairs[i][0], pairs[i][1]);
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static uint64_t field_of(struct rwf_bytes payload, int16_t id)
{
    struct rwf_field_list list;
    struct rwf_field field;
    uint64_t value;

    assert_int_equal(rwf_field_list_decode(payload, NULL, &list), RWF_OK);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == id) {
            assert_int_equal(rwf_uint_decode(field.content, &value), RWF_OK);
            return value;
        }
    }
    return UINT64_MAX;
}

static struct rwf_msg image_of(const struct cache_image *image, uint8_t *buffer, size_t size)
{
    struct cache_cursor cursor = { 0 };
    struct rwf_msg msg;
    size_t length;
    bool is_last;

    assert_int_equal(cache_image_part(image, &cursor, buffer, size, &length, &is_last), MD_OK);
    assert_true(is_last);
    assert_int_equal(rwf_msg_decode(rwf_bytes(buffer, length), &msg), RWF_OK);
    return msg;
}

static void updates_change_the_fields_they_name(void **state)
{
    static const uint16_t image_fields[][2] = { { 22, 100 }, { 25, 101 }, { 6, 7 } };
    static const uint16_t update_fields[][2] = { { 25, 40000 }, { 30, 5 } };
    uint8_t in[256];
    uint8_t out[256];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    assert_false(cache_image_is_valid(image));
    assert_int_equal(cache_apply(cache, &image,
                                 fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE,
                                        image_fields, 3)),
                     MD_OK);
    assert_true(cache_image_is_valid(image));
    assert_int_equal(
        cache_apply(cache, &image, fields(in, sizeof(in), RWF_CLASS_UPDATE, 0, update_fields, 2)),
        MD_OK);
    struct rwf_msg msg = image_of(image, out, sizeof(out));
    assert_int_equal(msg.msg_class, RWF_CLASS_REFRESH);
    assert_int_equal(msg.flags, RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE);
    assert_int_equal(field_of(msg.payload, 22), 100);
    assert_int_equal(field_of(msg.payload, 25), 40000);
    assert_int_equal(field_of(msg.payload, 6), 7);
    assert_int_equal(field_of(msg.payload, 30), 5);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void a_refresh_replaces_what_was_there(void **state)
{
    static const uint16_t first[][2] = { { 1, 1 }, { 2, 2 } };
    static const uint16_t second[][2] = { { 2, 3 } };
    uint8_t in[256];
    uint8_t out[256];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    cache_apply(cache, &image,
                fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, first, 2));
    cache_apply(cache, &image,
                fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, second, 1));
    struct rwf_msg msg = image_of(image, out, sizeof(out));
    assert_true(field_of(msg.payload, 1) == UINT64_MAX);
    assert_int_equal(field_of(msg.payload, 2), 3);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void an_image_in_parts_is_valid_with_the_last_one_and_goes_out_in_parts(void **state)
{
    static const uint16_t first[][2] = { { 1, 11 }, { 2, 12 } };
    static const uint16_t second[][2] = { { 3, 13 }, { 4, 14 } };
    uint8_t in[256];
    uint8_t out[40];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;
    struct cache_cursor cursor = { 0 };
    bool is_last = false;
    unsigned parts = 0;
    unsigned found = 0;

    (void)state;
    cache_apply(cache, &image,
                fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_CLEAR_CACHE, first, 2));
    assert_false(cache_image_is_valid(image));
    cache_apply(cache, &image,
                fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, second, 2));
    assert_true(cache_image_is_valid(image));
    while (!is_last) {
        struct rwf_msg msg;
        size_t length;
        assert_int_equal(cache_image_part(image, &cursor, out, 30, &length, &is_last), MD_OK);
        assert_true(length <= 30);
        assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
        assert_int_equal((msg.flags & RWF_REFRESH_CLEAR_CACHE) != 0, parts == 0);
        assert_int_equal((msg.flags & RWF_REFRESH_COMPLETE) != 0, is_last);
        for (int16_t id = 1; id <= 4; id++)
            found += field_of(msg.payload, id) == 10u + (unsigned)id;
        parts++;
    }
    assert_true(parts > 1);
    assert_int_equal(found, 4);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void a_container_that_cannot_be_applied_is_good_until_its_first_update(void **state)
{
    uint8_t in[128];
    uint8_t out[128];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = 200,
        .flags = RWF_REFRESH_COMPLETE,
        .container = RWF_TYPE_OPAQUE,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .payload = rwf_text("anything"),
    };
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    rwf_encoder_init(&enc, in, sizeof(in));
    rwf_msg_encode(&enc, &msg);
    assert_int_equal(cache_apply(cache, &image, rwf_encoder_bytes(&enc)), MD_OK);
    struct rwf_msg back = image_of(image, out, sizeof(out));
    assert_true(rwf_bytes_equal(back.payload, rwf_text("anything")));
    msg.msg_class = RWF_CLASS_UPDATE;
    msg.flags = 0;
    rwf_encoder_init(&enc, in, sizeof(in));
    rwf_msg_encode(&enc, &msg);
    assert_int_equal(cache_apply(cache, &image, rwf_encoder_bytes(&enc)), MD_ERR_UNSUPPORTED);
    assert_false(cache_image_is_valid(image));
    cache_image_free(cache, image);
    cache_destroy(cache);
}

/* A map message: rows of (action, key, field 22, field 25); a field of 0 is not sent. */
struct row {
    uint8_t action;
    const char *key;
    uint16_t bid;
    uint16_t ask;
};

static struct rwf_bytes map_of(uint8_t *buffer, size_t size, uint8_t msg_class, uint16_t flags,
                               const struct row rows[], size_t count)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 7,
        .flags = flags,
        .container = RWF_TYPE_MAP,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };
    struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII, .container = RWF_TYPE_FIELD_LIST };

    rwf_encoder_init(&enc, buffer, size);
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
    for (size_t i = 0; i < count; i++) {
        struct rwf_map_entry entry = { .action = rows[i].action, .key = rwf_text(rows[i].key) };
        if (entry.action == RWF_MAP_DELETE) {
            rwf_map_add(&enc, &entry);
            continue;
        }
        rwf_map_entry_start(&enc, &entry);
        rwf_field_list_start(&enc, NULL);
        if (rows[i].bid)
            rwf_field_add_uint(&enc, 22, rows[i].bid);
        if (rows[i].ask)
            rwf_field_add_uint(&enc, 25, rows[i].ask);
        rwf_field_list_finish(&enc);
        rwf_map_entry_finish(&enc);
    }
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

/* Field `id` of the row, UINT64_MAX when there is no such row. */
static uint64_t cell_of(struct rwf_bytes payload, const char *key, int16_t id)
{
    struct rwf_map map;
    struct rwf_map_entry entry;

    assert_int_equal(rwf_map_decode(payload, &map), RWF_OK);
    while (rwf_map_next(&map, &entry) > 0) {
        assert_int_equal(entry.action, RWF_MAP_ADD);
        if (rwf_bytes_equal(entry.key, rwf_text(key)))
            return field_of(entry.data, id);
    }
    return UINT64_MAX;
}

static void rows_of_a_map_are_added_changed_and_deleted(void **state)
{
    static const struct row first[] = { { RWF_MAP_ADD, "A", 1, 2 },
                                        { RWF_MAP_ADD, "B", 3, 4 },
                                        { RWF_MAP_ADD, "C", 5, 6 } };
    static const struct row change[] = { { RWF_MAP_UPDATE, "A", 0, 20 },
                                         { RWF_MAP_DELETE, "B", 0, 0 },
                                         { RWF_MAP_ADD, "C", 50, 0 },
                                         { RWF_MAP_ADD, "D", 7, 8 },
                                         { RWF_MAP_UPDATE, "D", 70, 0 } };
    uint8_t in[512];
    uint8_t out[512];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    assert_int_equal(
        cache_apply(cache, &image,
                    map_of(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, first, 3)),
        MD_OK);
    assert_int_equal(
        cache_apply(cache, &image, map_of(in, sizeof(in), RWF_CLASS_UPDATE, 0, change, 4)), MD_OK);
    struct rwf_msg msg = image_of(image, out, sizeof(out));
    assert_int_equal(cell_of(msg.payload, "A", 22), 1);
    assert_int_equal(cell_of(msg.payload, "A", 25), 20);
    assert_true(cell_of(msg.payload, "B", 22) == UINT64_MAX);
    assert_int_equal(cell_of(msg.payload, "C", 22), 50);
    assert_true(cell_of(msg.payload, "C", 25) == UINT64_MAX);
    assert_int_equal(cell_of(msg.payload, "D", 25), 8);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void a_map_goes_out_in_parts_that_together_are_the_image(void **state)
{
    struct row rows[40];
    char keys[40][8];
    uint8_t in[2048];
    uint8_t out[128];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;
    struct cache_cursor cursor = { 0 };
    bool is_last = false;
    unsigned found = 0;
    unsigned parts = 0;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        snprintf(keys[i], sizeof(keys[i]), "K%u", i);
        rows[i] = (struct row){ RWF_MAP_ADD, keys[i], (uint16_t)(i + 1), 0 };
    }
    assert_int_equal(
        cache_apply(cache, &image,
                    map_of(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, rows, 40)),
        MD_OK);
    while (!is_last) {
        struct rwf_msg msg;
        size_t length;
        assert_int_equal(cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last),
                         MD_OK);
        assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
        for (unsigned i = 0; i < 40; i++)
            found += cell_of(msg.payload, keys[i], 22) == i + 1;
        parts++;
    }
    assert_true(parts > 2);
    assert_int_equal(found, 40);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

/* One entry of a vector (at its index), a filter list (by its id) or a series, or an element. */
struct entry {
    uint8_t action;
    uint8_t at;
    uint16_t bid;
    uint16_t ask;
};

static void add_cells(struct rwf_encoder *enc, const struct entry *e)
{
    rwf_field_list_start(enc, NULL);
    if (e->bid)
        rwf_field_add_uint(enc, 22, e->bid);
    if (e->ask)
        rwf_field_add_uint(enc, 25, e->ask);
    rwf_field_list_finish(enc);
}

static void add_vector(struct rwf_encoder *enc, const struct entry entries[], size_t count)
{
    const struct rwf_vector_info info = { .flags = RWF_VECTOR_SUPPORTS_SORTING,
                                          .container = RWF_TYPE_FIELD_LIST };

    rwf_vector_start(enc, &info);
    for (size_t i = 0; i < count; i++) {
        struct rwf_vector_entry entry = { .action = entries[i].action, .index = entries[i].at };
        if (entry.action == RWF_VECTOR_DELETE || entry.action == RWF_VECTOR_CLEAR) {
            rwf_vector_add(enc, &entry);
            continue;
        }
        rwf_vector_entry_start(enc, &entry);
        add_cells(enc, &entries[i]);
        rwf_vector_entry_finish(enc);
    }
    rwf_vector_finish(enc);
}

static void add_filters(struct rwf_encoder *enc, const struct entry entries[], size_t count)
{
    const struct rwf_filter_list_info info = { .container = RWF_TYPE_FIELD_LIST };

    rwf_filter_list_start(enc, &info);
    for (size_t i = 0; i < count; i++) {
        const struct rwf_filter_entry entry = { .action = entries[i].action,
                                                .id = entries[i].at,
                                                .container = RWF_TYPE_FIELD_LIST };
        rwf_filter_entry_start(enc, &entry);
        if (entry.action != RWF_FILTER_CLEAR)
            add_cells(enc, &entries[i]);
        rwf_filter_entry_finish(enc);
    }
    rwf_filter_list_finish(enc);
}

static void add_series(struct rwf_encoder *enc, const struct entry entries[], size_t count)
{
    const struct rwf_series_info info = { .container = RWF_TYPE_FIELD_LIST };

    rwf_series_start(enc, &info);
    for (size_t i = 0; i < count; i++) {
        rwf_series_entry_start(enc);
        add_cells(enc, &entries[i]);
        rwf_series_entry_finish(enc);
    }
    rwf_series_finish(enc);
}

static void add_elements(struct rwf_encoder *enc, const struct entry entries[], size_t count)
{
    rwf_element_list_start(enc, NULL);
    for (size_t i = 0; i < count; i++) {
        const char name[2] = { (char)('a' + entries[i].at), '\0' };
        rwf_element_add_uint(enc, name, entries[i].bid);
    }
    rwf_element_list_finish(enc);
}

static void apply_entries(struct cache *cache, struct cache_image **image, uint8_t type,
                          uint8_t msg_class, const struct entry entries[], size_t count)
{
    uint8_t in[512];
    struct rwf_encoder enc;
    const struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 7,
        .flags = msg_class == RWF_CLASS_REFRESH ? RWF_REFRESH_COMPLETE : 0,
        .container = type,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };

    rwf_encoder_init(&enc, in, sizeof(in));
    rwf_msg_start(&enc, &msg);
    if (type == RWF_TYPE_VECTOR)
        add_vector(&enc, entries, count);
    else if (type == RWF_TYPE_FILTER_LIST)
        add_filters(&enc, entries, count);
    else if (type == RWF_TYPE_SERIES)
        add_series(&enc, entries, count);
    else
        add_elements(&enc, entries, count);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(cache_apply(cache, image, rwf_encoder_bytes(&enc)), MD_OK);
}

/* "at bid/ask; " of each entry, 0 for what is not there. */
static void say_entry(char *text, size_t size, uint32_t at, struct rwf_bytes cells)
{
    size_t used = strlen(text);
    uint64_t bid = cells.length ? field_of(cells, 22) : UINT64_MAX;
    uint64_t ask = cells.length ? field_of(cells, 25) : UINT64_MAX;

    snprintf(text + used, size - used, "%u %u/%u; ", at, bid == UINT64_MAX ? 0 : (unsigned)bid,
             ask == UINT64_MAX ? 0 : (unsigned)ask);
}

static void say_entries(struct rwf_bytes payload, uint8_t type, char *text, size_t size)
{
    struct rwf_vector vector;
    struct rwf_vector_entry row;
    struct rwf_filter_list filters;
    struct rwf_filter_entry filter;
    struct rwf_series series;
    struct rwf_bytes cells;

    text[0] = '\0';
    if (type == RWF_TYPE_VECTOR) {
        assert_int_equal(rwf_vector_decode(payload, &vector), RWF_OK);
        while (rwf_vector_next(&vector, &row) > 0)
            say_entry(text, size, row.index, row.data);
    } else if (type == RWF_TYPE_FILTER_LIST) {
        assert_int_equal(rwf_filter_list_decode(payload, &filters), RWF_OK);
        while (rwf_filter_list_next(&filters, &filter) > 0)
            say_entry(text, size, filter.id, filter.data);
    } else {
        assert_int_equal(rwf_series_decode(payload, &series), RWF_OK);
        while (rwf_series_next(&series, &cells) > 0)
            say_entry(text, size, 0, cells);
    }
}

static void say_elements(struct rwf_bytes payload, char *text, size_t size)
{
    struct rwf_element_list list;
    struct rwf_element element;
    uint64_t value;

    text[0] = '\0';
    assert_int_equal(rwf_element_list_decode(payload, NULL, &list), RWF_OK);
    while (rwf_element_list_next(&list, &element) > 0) {
        size_t used = strlen(text);
        assert_int_equal(rwf_uint_decode(element.content, &value), RWF_OK);
        snprintf(text + used, size - used, "%.*s %u; ", (int)element.name.length,
                 (const char *)element.name.data, (unsigned)value);
    }
}

static void assert_merges(uint8_t type, const struct entry first[], size_t first_count,
                          const struct entry change[], size_t change_count, const char *wanted)
{
    uint8_t out[512];
    char text[256];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    apply_entries(cache, &image, type, RWF_CLASS_REFRESH, first, first_count);
    apply_entries(cache, &image, type, RWF_CLASS_UPDATE, change, change_count);
    struct rwf_msg msg = image_of(image, out, sizeof(out));
    assert_int_equal(msg.container, type);
    if (type == RWF_TYPE_ELEMENT_LIST)
        say_elements(msg.payload, text, sizeof(text));
    else
        say_entries(msg.payload, type, text, sizeof(text));
    assert_string_equal(text, wanted);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void rows_of_a_sorted_vector_move_when_one_is_put_in_or_taken_out(void **state)
{
    static const struct entry first[] = { { RWF_VECTOR_SET, 0, 1, 2 },
                                          { RWF_VECTOR_SET, 1, 3, 4 },
                                          { RWF_VECTOR_SET, 2, 5, 6 } };
    static const struct entry change[] = { { RWF_VECTOR_INSERT, 1, 7, 8 },
                                           { RWF_VECTOR_UPDATE, 2, 30, 0 },
                                           { RWF_VECTOR_DELETE, 0, 0, 0 },
                                           { RWF_VECTOR_SET, 2, 50, 0 } };

    (void)state;
    assert_merges(RWF_TYPE_VECTOR, first, 3, change, 4, "0 7/8; 1 30/4; 2 50/0; ");
}

static void entries_of_a_filter_list_are_updated_set_cleared_and_added(void **state)
{
    static const struct entry first[] = { { RWF_FILTER_SET, 1, 1, 2 },
                                          { RWF_FILTER_SET, 2, 3, 4 },
                                          { RWF_FILTER_SET, 3, 5, 6 } };
    static const struct entry change[] = { { RWF_FILTER_UPDATE, 1, 0, 20 },
                                           { RWF_FILTER_SET, 2, 30, 0 },
                                           { RWF_FILTER_CLEAR, 3, 0, 0 },
                                           { RWF_FILTER_SET, 4, 7, 8 } };

    (void)state;
    assert_merges(RWF_TYPE_FILTER_LIST, first, 3, change, 4, "1 1/20; 2 30/0; 4 7/8; ");
}

static void an_update_of_a_series_adds_its_rows(void **state)
{
    static const struct entry first[] = { { 0, 0, 1, 2 }, { 0, 0, 3, 4 } };
    static const struct entry change[] = { { 0, 0, 5, 0 } };

    (void)state;
    assert_merges(RWF_TYPE_SERIES, first, 2, change, 1, "0 1/2; 0 3/4; 0 5/0; ");
}

/* A vector or a series with a summary and a row for each of `count` numbers. */
static struct rwf_bytes long_list(uint8_t *in, size_t size, uint8_t type, unsigned count)
{
    static const uint8_t summary[] = { 8, 0, 1, 0, 22, 1, 77 }; /* a field list: field 22 is 77 */
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = 12,
        .flags = RWF_REFRESH_COMPLETE,
        .container = type,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };
    const struct rwf_vector_info vector = { .flags = RWF_VECTOR_HAS_SUMMARY,
                                            .container = RWF_TYPE_FIELD_LIST,
                                            .summary = { summary, sizeof(summary) } };
    const struct rwf_series_info series = { .flags = RWF_SERIES_HAS_SUMMARY,
                                            .container = RWF_TYPE_FIELD_LIST,
                                            .summary = { summary, sizeof(summary) } };
    const bool is_vector = type == RWF_TYPE_VECTOR;
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, in, size);
    rwf_msg_start(&enc, &msg);
    if (is_vector)
        rwf_vector_start(&enc, &vector);
    else
        rwf_series_start(&enc, &series);
    for (unsigned i = 0; i < count; i++) {
        const struct entry e = { .bid = (uint16_t)(i + 1) };
        const struct rwf_vector_entry row = { .action = RWF_VECTOR_SET, .index = i };
        if (is_vector)
            rwf_vector_entry_start(&enc, &row);
        else
            rwf_series_entry_start(&enc);
        add_cells(&enc, &e);
        if (is_vector)
            rwf_vector_entry_finish(&enc);
        else
            rwf_series_entry_finish(&enc);
    }
    if (is_vector)
        rwf_vector_finish(&enc);
    else
        rwf_series_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static bool has_summary(struct rwf_bytes payload, uint8_t type)
{
    struct rwf_vector vector;
    struct rwf_series series;

    if (type == RWF_TYPE_VECTOR) {
        assert_int_equal(rwf_vector_decode(payload, &vector), RWF_OK);
        return vector.info.summary.length > 0;
    }
    assert_int_equal(rwf_series_decode(payload, &series), RWF_OK);
    return series.info.summary.length > 0;
}

/* The next cache applies it part by part, and has the image again. */
static void assert_goes_out_in_parts(uint8_t type)
{
    enum { ROWS = 2000 };
    static uint8_t in[65536], whole[65536];
    uint8_t out[512];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL, *again = NULL;
    struct cache_cursor cursor = { 0 };
    bool is_last = false;

    assert_int_equal(cache_apply(cache, &image, long_list(in, sizeof(in), type, ROWS)), MD_OK);
    while (!is_last) {
        struct rwf_msg msg;
        size_t length;
        bool is_first = cursor.part == 0;
        assert_int_equal(cache_image_part(image, &cursor, out, sizeof(out), &length, &is_last),
                         MD_OK);
        assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
        assert_int_equal(has_summary(msg.payload, type), is_first);
        assert_int_equal((msg.flags & RWF_REFRESH_CLEAR_CACHE) != 0, is_first);
        assert_int_equal((msg.flags & RWF_REFRESH_COMPLETE) != 0, is_last);
        assert_int_equal(cache_apply(cache, &again, rwf_bytes(out, length)), MD_OK);
    }
    assert_true(cursor.part > ROWS * 8 / sizeof(out));
    struct rwf_bytes sent = image_of(image, whole, sizeof(whole)).payload;
    struct rwf_bytes got = image_of(again, in, sizeof(in)).payload;
    assert_int_equal(got.length, sent.length);
    assert_memory_equal(got.data, sent.data, sent.length);
    cache_image_free(cache, image);
    cache_image_free(cache, again);
    cache_destroy(cache);
}

static void a_vector_and_a_series_go_out_in_parts_that_together_are_the_image(void **state)
{
    (void)state;
    assert_goes_out_in_parts(RWF_TYPE_VECTOR);
    assert_goes_out_in_parts(RWF_TYPE_SERIES);
}

/* Each update of a day adds a row: what is there already is not gone through again, or this test
 * would take minutes. */
static void a_series_takes_as_many_rows_as_can_be_counted(void **state)
{
    static const struct entry first[] = { { 0, 0, 1, 2 } };
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;
    struct rwf_series series;
    struct rwf_bytes cells;
    uint32_t count = 0;
    uint8_t *given;
    uint8_t out[128];
    struct rwf_encoder enc;
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = 7,
                                 .container = RWF_TYPE_SERIES };

    (void)state;
    apply_entries(cache, &image, RWF_TYPE_SERIES, RWF_CLASS_REFRESH, first, 1);
    for (uint32_t i = 1; i < UINT16_MAX; i++) {
        const struct entry row = { 0, 0, (uint16_t)(1 + i), 2 };
        apply_entries(cache, &image, RWF_TYPE_SERIES, RWF_CLASS_UPDATE, &row, 1);
    }
    given = malloc(4u << 20);
    assert_non_null(given);
    assert_int_equal(rwf_series_decode(image_of(image, given, 4u << 20).payload, &series), RWF_OK);
    while (rwf_series_next(&series, &cells) > 0)
        assert_int_equal(field_of(cells, 22), ++count);
    assert_int_equal(count, UINT16_MAX);
    free(given);
    rwf_encoder_init(&enc, out, sizeof(out));
    rwf_msg_start(&enc, &msg);
    add_series(&enc, first, 1);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_true(cache_apply(cache, &image, rwf_encoder_bytes(&enc)) < 0);
    assert_true(cache_apply(cache, &image, rwf_encoder_bytes(&enc)) < 0);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void elements_are_changed_by_name_and_added(void **state)
{
    static const struct entry first[] = { { 0, 0, 1, 0 }, { 0, 1, 2, 0 }, { 0, 2, 3, 0 } };
    static const struct entry change[] = { { 0, 1, 20, 0 }, { 0, 3, 4, 0 } };

    (void)state;
    assert_merges(RWF_TYPE_ELEMENT_LIST, first, 3, change, 2, "a 1; b 20; c 3; d 4; ");
}

static void memory_is_counted_bounded_and_given_back(void **state)
{
    static const uint16_t some[][2] = { { 1, 11 } };
    uint8_t in[128];
    struct cache *cache = new_cache(600);
    struct cache_image *images[16] = { NULL };
    struct cache_stats stats;
    int refused = 0;

    (void)state;
    for (int i = 0; i < 16; i++)
        refused += cache_apply(cache, &images[i],
                               fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, some,
                                      1)) == MD_ERR_FULL;
    assert_true(refused > 0);
    cache_stats(cache, &stats);
    assert_true(stats.bytes_now <= 600);
    for (int i = 0; i < 16; i++)
        cache_image_free(cache, images[i]);
    cache_stats(cache, &stats);
    assert_int_equal(stats.bytes_now, 0);
    assert_int_equal(stats.images_now, 0);
    assert_int_equal(stats.encoded_now, 0);
    cache_destroy(cache);
}

/* ---- fields of any length, against a model ---- */

#define MODEL_IDS     40u
#define MODEL_CONTENT 300u

struct model {
    int16_t ids[MODEL_IDS]; /* in the order of their first coming */
    size_t count;
    size_t length[MODEL_IDS];
    uint8_t content[MODEL_IDS][MODEL_CONTENT];
};

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*random >> 33) % below;
}

static void model_put(struct model *model, int16_t id, const uint8_t *content, size_t length)
{
    size_t i = 0;

    while (i < model->count && model->ids[i] != id)
        i++;
    if (i == model->count)
        model->ids[model->count++] = id;
    memcpy(model->content[i], content, length);
    model->length[i] = length;
}

/* A list of random fields, which may come twice and be as long as they like; the model follows. */
static struct rwf_bytes random_list(uint64_t *random, struct model *model, uint8_t msg_class,
                                    uint8_t *buffer, size_t size)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 6,
        .flags = msg_class == RWF_CLASS_REFRESH ? RWF_REFRESH_COMPLETE : 0,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };
    struct rwf_field_list_info info = { .flags = RWF_LIST_HAS_INFO | RWF_LIST_HAS_STANDARD_DATA,
                                        .dictionary_id = 1 };

    info.list_num = (uint16_t)draw(random, 3);
    rwf_encoder_init(&enc, buffer, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, draw(random, 2) ? &info : NULL);
    for (unsigned left = draw(random, 2 * MODEL_IDS); left > 0; left--) {
        int16_t id = (int16_t)(64 * draw(random, MODEL_IDS) - 1000);
        uint8_t content[MODEL_CONTENT];
        size_t length = draw(random, draw(random, 8) ? 6 : MODEL_CONTENT);
        memset(content, (int)draw(random, 26) + 'a', sizeof(content));
        rwf_field_add_bytes(&enc, id, rwf_bytes(content, length));
        model_put(model, id, content, length);
    }
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void assert_is_model(const struct cache_image *image, const struct model *model)
{
    uint8_t out[32768];
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_msg msg = image_of(image, out, sizeof(out));

    assert_int_equal(rwf_field_list_decode(msg.payload, NULL, &list), RWF_OK);
    assert_int_equal(list.count, model->count);
    for (size_t i = 0; i < model->count; i++) {
        assert_int_equal(rwf_field_list_next(&list, &field), 1);
        assert_int_equal(field.id, model->ids[i]);
        assert_true(rwf_bytes_equal(field.content, rwf_bytes(model->content[i], model->length[i])));
    }
    assert_int_equal(rwf_field_list_next(&list, &field), 0);
    assert_true(list.pos == list.end);
}

static void fields_keep_their_order_whatever_length_they_become(void **state)
{
    static uint8_t in[65536];
    uint64_t random = 1;
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    for (int round = 0; round < 40; round++) {
        struct model model = { .count = 0 };
        for (int step = 0; step < 40; step++) {
            uint8_t msg_class = step ? RWF_CLASS_UPDATE : RWF_CLASS_REFRESH;
            struct rwf_bytes message = random_list(&random, &model, msg_class, in, sizeof(in));
            assert_int_equal(cache_apply(cache, &image, message), MD_OK);
            assert_is_model(image, &model);
        }
    }
    cache_image_free(cache, image);
    cache_destroy(cache);
}

/* ---- what else an image remembers ---- */

static struct rwf_bytes one_text(uint8_t *buffer, size_t size, struct rwf_msg msg, const char *text)
{
    struct rwf_encoder enc;

    msg.domain = 6;
    msg.container = RWF_TYPE_FIELD_LIST;
    msg.state = (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
    rwf_encoder_init(&enc, buffer, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_bytes(&enc, 3, rwf_text(text));
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void a_partial_update_changes_the_string_and_a_status_the_state(void **state)
{
    const struct rwf_msg refresh = {
        .msg_class = RWF_CLASS_REFRESH,
        .flags = RWF_REFRESH_COMPLETE | RWF_REFRESH_HAS_SEQ_NUM | RWF_REFRESH_HAS_KEY,
        .seq_num = 7,
        .key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("IBM.N") },
    };
    const struct rwf_msg update = { .msg_class = RWF_CLASS_UPDATE,
                                    .flags = RWF_UPDATE_HAS_SEQ_NUM,
                                    .seq_num = 8 };
    const struct rwf_msg status = {
        .msg_class = RWF_CLASS_STATUS,
        .domain = 6,
        .flags = RWF_STATUS_HAS_STATE,
        .container = RWF_TYPE_NO_DATA,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_SUSPECT, .code = 3 },
    };
    uint8_t in[256];
    uint8_t out[256];
    struct rwf_encoder enc;
    struct rwf_field_list list;
    struct rwf_field field;
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    cache_apply(cache, &image, one_text(in, sizeof(in), refresh, "ABCDEF"));
    assert_int_equal(cache_apply(cache, &image, one_text(in, sizeof(in), update, "\x1b[6`xyz")),
                     MD_OK);
    rwf_encoder_init(&enc, in, sizeof(in));
    rwf_msg_encode(&enc, &status);
    assert_int_equal(cache_apply(cache, &image, rwf_encoder_bytes(&enc)), MD_OK);
    struct rwf_msg msg = image_of(image, out, sizeof(out));
    assert_int_equal(msg.seq_num, 8);
    assert_int_equal(msg.flags & RWF_REFRESH_HAS_KEY, 0);
    assert_int_equal(msg.state.data_state, RWF_DATA_SUSPECT);
    assert_int_equal(msg.state.code, 3);
    rwf_field_list_decode(msg.payload, NULL, &list);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_true(rwf_bytes_equal(field.content, rwf_text("ABCDEFxyz")));
    cache_image_free(cache, image);
    cache_destroy(cache);
}

/* Field 3 of a row of a map, whose key is "K". */
static struct rwf_bytes one_text_in_a_row(uint8_t *buffer, size_t size, struct rwf_msg msg,
                                          const char *text)
{
    const struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_map_entry row = {
        .action = msg.msg_class == RWF_CLASS_REFRESH ? RWF_MAP_ADD : RWF_MAP_UPDATE,
        .key = rwf_text("K"),
    };
    struct rwf_encoder enc;

    msg.domain = 7;
    msg.container = RWF_TYPE_MAP;
    msg.state = (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
    rwf_encoder_init(&enc, buffer, size);
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
    rwf_map_entry_start(&enc, &row);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_bytes(&enc, 3, rwf_text(text));
    rwf_field_list_finish(&enc);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static unsigned type_of_all(void *context, int16_t field_id)
{
    assert_int_equal(field_id, 3);
    return *(const unsigned *)context;
}

/* What field 3 is after `update` came for `before`. */
static void assert_becomes(unsigned type, bool is_in_a_row, const char *before, const char *update,
                           const char *after)
{
    const struct rwf_msg refresh = { .msg_class = RWF_CLASS_REFRESH,
                                     .flags = RWF_REFRESH_COMPLETE };
    const struct rwf_msg change = { .msg_class = RWF_CLASS_UPDATE };
    const struct cache_config config = { .field_type = type_of_all, .context = &type };
    struct rwf_bytes (*one)(uint8_t *, size_t, struct rwf_msg, const char *) =
        is_in_a_row ? one_text_in_a_row : one_text;
    uint8_t in[256];
    uint8_t out[256];
    struct rwf_map map;
    struct rwf_map_entry row;
    struct rwf_field_list list;
    struct rwf_field field;
    struct cache_image *image = NULL;
    struct cache *cache;

    assert_int_equal(cache_create(&config, &cache), MD_OK);
    assert_int_equal(cache_apply(cache, &image, one(in, sizeof(in), refresh, before)), MD_OK);
    assert_int_equal(cache_apply(cache, &image, one(in, sizeof(in), change, update)), MD_OK);
    struct rwf_bytes payload = image_of(image, out, sizeof(out)).payload;
    if (is_in_a_row) {
        assert_int_equal(rwf_map_decode(payload, &map), RWF_OK);
        assert_int_equal(rwf_map_next(&map, &row), 1);
        payload = row.data;
    }
    rwf_field_list_decode(payload, NULL, &list);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_true(rwf_bytes_equal(field.content, rwf_text(after)));
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void bytes_of_a_number_are_no_command(void **state)
{
    (void)state;
    for (int in_a_row = 0; in_a_row < 2; in_a_row++) {
        bool row = in_a_row != 0;
        /* The type is known: it decides. */
        assert_becomes(RWF_TYPE_RMTES, row, "ABCD", "X\x1b[3`Y", "XBCY");
        assert_becomes(RWF_TYPE_REAL, row, "\x0c\x01\x02\x03", "\x1b[3`", "\x1b[3`");
        assert_becomes(RWF_TYPE_UINT, row, "ABCD", "\x1b[1`", "\x1b[1`");
        /* It is not: text behind text that begins with a whole command. */
        assert_becomes(RWF_TYPE_UNKNOWN, row, "ABCD", "\x1b[1`x", "AxCD");
        assert_becomes(RWF_TYPE_UNKNOWN, row, "\x0e\x40\x30\x20", "\x0e\x1b[`", "\x0e\x1b[`");
        assert_becomes(RWF_TYPE_UNKNOWN, row, "\x0e\x40\x30\x20", "\x0e\x1b[b", "\x0e\x1b[b");
        assert_becomes(RWF_TYPE_UNKNOWN, row, "\x1b\x30", "\x1b[`", "\x1b[`");
        assert_becomes(RWF_TYPE_UNKNOWN, row, "\x0e\x40\x30\x20", "\x1b[3`", "\x1b[3`");
    }
}

static void an_image_of_which_a_part_is_missing_is_not_valid(void **state)
{
    static const uint16_t some[][2] = { { 1, 11 } };
    uint8_t in[256];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;

    (void)state;
    cache_apply(cache, &image, fields(in, sizeof(in), RWF_CLASS_REFRESH, 0, some, 1));
    struct rwf_bytes second = fields(in, sizeof(in), RWF_CLASS_REFRESH, 0, some, 1);
    in[second.length - 2] = 0xff; /* the length of its field */
    assert_int_equal(cache_apply(cache, &image, second), MD_ERR_MALFORMED);
    assert_int_equal(
        cache_apply(cache, &image,
                    fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, some, 1)),
        MD_ERR_STATE);
    assert_false(cache_image_is_valid(image));
    assert_int_equal(
        cache_apply(cache, &image,
                    fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE, some, 1)),
        MD_OK);
    assert_true(cache_image_is_valid(image));
    cache_image_free(cache, image);
    cache_destroy(cache);
}

static void an_image_costs_what_it_is_on_the_wire_and_little_more(void **state)
{
    uint16_t many[70][2];
    uint8_t in[1024];
    struct cache *cache = new_cache(0);
    struct cache_image *image = NULL;
    struct cache_stats stats;

    (void)state;
    for (uint16_t i = 0; i < 70; i++) {
        many[i][0] = (uint16_t)(i + 1);
        many[i][1] = 40000;
    }
    struct rwf_bytes message = fields(in, sizeof(in), RWF_CLASS_REFRESH, RWF_REFRESH_COMPLETE,
                                      (const uint16_t(*)[2])many, 70);
    size_t encoded = message.length;
    assert_int_equal(cache_apply(cache, &image, message), MD_OK);
    cache_stats(cache, &stats);
    assert_int_equal(stats.bytes_now, cache_image_bytes(image));
    assert_int_equal(stats.encoded_now, encoded + 1); /* flags in two bytes */
    assert_true(stats.bytes_now <= encoded + 56);
    /* An update of values as long as they were needs no memory. */
    assert_int_equal(
        cache_apply(cache, &image,
                    fields(in, sizeof(in), RWF_CLASS_UPDATE, 0, (const uint16_t(*)[2])many, 30)),
        MD_OK);
    assert_int_equal(cache_image_bytes(image), stats.bytes_now);
    cache_image_free(cache, image);
    cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_change_the_fields_they_name),
        cmocka_unit_test(a_refresh_replaces_what_was_there),
        cmocka_unit_test(an_image_in_parts_is_valid_with_the_last_one_and_goes_out_in_parts),
        cmocka_unit_test(a_container_that_cannot_be_applied_is_good_until_its_first_update),
        cmocka_unit_test(rows_of_a_map_are_added_changed_and_deleted),
        cmocka_unit_test(a_map_goes_out_in_parts_that_together_are_the_image),
        cmocka_unit_test(rows_of_a_sorted_vector_move_when_one_is_put_in_or_taken_out),
        cmocka_unit_test(entries_of_a_filter_list_are_updated_set_cleared_and_added),
        cmocka_unit_test(an_update_of_a_series_adds_its_rows),
        cmocka_unit_test(a_vector_and_a_series_go_out_in_parts_that_together_are_the_image),
        cmocka_unit_test(a_series_takes_as_many_rows_as_can_be_counted),
        cmocka_unit_test(elements_are_changed_by_name_and_added),
        cmocka_unit_test(memory_is_counted_bounded_and_given_back),
        cmocka_unit_test(fields_keep_their_order_whatever_length_they_become),
        cmocka_unit_test(a_partial_update_changes_the_string_and_a_status_the_state),
        cmocka_unit_test(bytes_of_a_number_are_no_command),
        cmocka_unit_test(an_image_of_which_a_part_is_missing_is_not_valid),
        cmocka_unit_test(an_image_costs_what_it_is_on_the_wire_and_little_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
