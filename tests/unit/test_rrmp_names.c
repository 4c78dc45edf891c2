/* test_rrmp_names.c - names that were made to collide cost no more than others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cursor.h"
#include "base/err.h"
#include "rrmp/key.h"
#include "sink_impl.h"
#include "source_impl.h"

/*
 * XXH3 multiplies halves of 16 bytes, each mixed with a word that everybody knows: a half that is
 * that word makes the product 0, whatever the other half is. So all keys here have one hash.
 */
#define NAMES     3000u
#define KEY_BYTES 64u
#define WORD_AT   48u /* of the key: this half is multiplied with the eight bytes behind it */
#define SECRET_AT 16u
#define SEC       1000000000ull
#define SAME_MAX  4u /* entries of one hash, by chance */

struct made_key {
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    size_t length;
};

static struct made_key key_of(uint64_t number)
{
    struct made_key made;
    struct rrmp_key key = { .domain = 6, .members = RRMP_KEY_NAME, .name_type = 1 };
    struct md_wr wr = md_wr_init(made.bytes, sizeof(made.bytes));
    uint8_t name[KEY_BYTES] = { 0 };

    rrmp_key_encode(&wr, &key);
    size_t head = md_wr_length(&wr); /* the name follows */
    memset(name, 'x', sizeof(name));
    memcpy(name + WORD_AT - head, XXH3_kSecret + SECRET_AT, 8);
    memcpy(name + WORD_AT - head + 8, &number, 8);
    key.name = (struct rrmp_view){ .bytes = name, .length = KEY_BYTES - head };
    wr = md_wr_init(made.bytes, sizeof(made.bytes));
    rrmp_key_encode(&wr, &key);
    made.length = md_wr_length(&wr);
    assert_int_equal(made.length, KEY_BYTES);
    return made;
}

static int by_hash(const void *a, const void *b)
{
    uint32_t x = ((const struct md_map_cell *)a)->hash;
    uint32_t y = ((const struct md_map_cell *)b)->hash;

    return x < y ? -1 : x > y;
}

/* The most entries of one hash: a look-up compares so many keys. */
static uint32_t longest(const struct md_map *map)
{
    struct md_map_cell *cells = malloc(map->size * sizeof(*cells));
    uint32_t count = 0, run = 0, most = 0;

    assert_non_null(cells);
    for (uint32_t i = 0; i < map->size; i++)
        if (map->cells[i].value != MD_NIL)
            cells[count++] = map->cells[i];
    qsort(cells, count, sizeof(*cells), by_hash);
    for (uint32_t i = 0; i < count; i++) {
        run = i > 0 && cells[i].hash == cells[i - 1].hash ? run + 1 : 1;
        most = run > most ? run : most;
    }
    free(cells);
    return most;
}

/* ---- the parties -------------------------------------------------------------------------- */

struct line {
    uint8_t room[65536];
};

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct line *line = context;

    (void)target;
    return length <= sizeof(line->room) ? line->room : NULL;
}

static void commit(void *context, size_t length)
{
    (void)context;
    (void)length;
}

static unsigned fill(void *context)
{
    (void)context;
    return 0;
}

static struct rrmp_sink *sink_with_service(struct line *line)
{
    const struct rrmp_sink_config config = {
        .send = { .context = line, .reserve = reserve, .commit = commit, .fill = fill },
        .item_limit = NAMES + 10,
        .instance_limit = 4
    };
    struct rrmp_sink *sink;

    assert_int_equal(rrmp_sink_create(&config, &sink), MD_OK);
    sink->services[sink->service_count++] = (struct sink_service){
        .name = { (uint8_t *)strdup("RDFD"), 4 }, .links = MD_NIL, .apart = MD_NIL
    };
    sink->services_now++;
    return sink;
}

/* ---- the tests ---------------------------------------------------------------------------- */

static void the_keys_have_one_hash(void **state)
{
    struct made_key first = key_of(0);

    (void)state;
    for (uint64_t i = 1; i < NAMES; i++) {
        struct made_key key = key_of(i);

        assert_int_equal(rrmp_key_hash(key.bytes, key.length),
                         rrmp_key_hash(first.bytes, first.length));
    }
}

static void a_sink_finds_colliding_names_at_once(void **state)
{
    struct line *line = calloc(1, sizeof(*line));
    struct rrmp_sink *sink = sink_with_service(line);
    uint32_t item;

    (void)state;
    for (uint64_t i = 0; i < NAMES; i++) {
        struct made_key key = key_of(i);
        const struct rrmp_sink_open open = { .key = { key.bytes, key.length } };

        while (rrmp_sink_item_open(sink, SEC, &open, &item) == MD_ERR_AGAIN) {
            struct rrmp_sink_event event;

            while (rrmp_sink_event(sink, &event, 1) == 1) {
            }
        }
        assert_int_equal(rrmp_sink_item_find(sink, 0, open.key), item);
    }
    assert_int_equal(sink->item_map.count, NAMES);
    assert_true(longest(&sink->item_map) <= SAME_MAX);
    rrmp_sink_destroy(sink);
    free(line);
}

/* Many private streams of one name make no look-up of that name longer. */
static void private_streams_of_one_name_are_not_in_the_table_of_names(void **state)
{
    struct line *line = calloc(1, sizeof(*line));
    struct rrmp_sink *sink = sink_with_service(line);
    struct made_key key = key_of(7);
    uint32_t item;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        const struct rrmp_sink_open open = { .key = { key.bytes, key.length },
                                             .is_private = i % 2 == 0,
                                             .is_snapshot = i % 2 == 1 };

        assert_int_equal(rrmp_sink_item_open(sink, SEC, &open, &item), MD_OK);
    }
    assert_int_equal(sink->item_map.count, 0);
    assert_int_equal(rrmp_sink_item_find(sink, 0, (struct rrmp_view){ key.bytes, key.length }),
                     RRMP_ITEM_NONE);
    assert_null(rrmp_sink_check(sink));
    rrmp_sink_destroy(sink);
    free(line);
}

static void a_source_finds_colliding_names_at_once(void **state)
{
    struct line *line = calloc(1, sizeof(*line));
    const struct rrmp_service service = { .state = 3, .name = { (const uint8_t *)"RDFD", 4 } };
    const struct rrmp_source_config config = {
        .name = "test",
        .send = { .context = line, .reserve = reserve, .commit = commit, .fill = fill },
        .item_limit = NAMES + 10,
        .gap_log = 64
    };
    struct rrmp_source *source;
    uint16_t svc;

    (void)state;
    assert_int_equal(rrmp_source_create(&config, &source), MD_OK);
    assert_int_equal(rrmp_source_service_offer(source, SEC, &service, &svc), MD_OK);
    for (uint64_t i = 0; i < NAMES; i++) {
        struct made_key key = key_of(i);
        struct rrmp_view view = { key.bytes, key.length };

        assert_int_not_equal(source_item_create(source, svc, view, false), MD_NIL);
    }
    assert_int_equal(source->item_map.count, NAMES);
    assert_true(longest(&source->item_map) <= SAME_MAX);
    rrmp_source_destroy(source);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_have_one_hash),
        cmocka_unit_test(a_sink_finds_colliding_names_at_once),
        cmocka_unit_test(private_streams_of_one_name_are_not_in_the_table_of_names),
        cmocka_unit_test(a_source_finds_colliding_names_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
