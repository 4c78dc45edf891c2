/* test_conflate_rules.c - what each rule of merging says, one by one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "conflate/conflate.h"

#define MS 1000000ull

static uint8_t held[4096];
static struct conflate *c;

static int16_t ripples_to(void *context, int16_t id)
{
    (void)context;
    return id == 6 || id == 7 ? (int16_t)(id + 1) : 0;
}

static int set_up(void **state)
{
    const struct conflate_config config = { .ripples_to = ripples_to };

    (void)state;
    return conflate_create(&config, &c);
}

static int take_down(void **state)
{
    (void)state;
    conflate_destroy(c);
    return 0;
}

static struct conflate_pending empty(void)
{
    return (struct conflate_pending){ .bytes = held, .room = sizeof(held) };
}

/* Fields of one byte each: id, value; 0 ends them. */
static struct rwf_bytes update_of(uint8_t *out, struct rwf_msg msg, const uint8_t *ids_and_values)
{
    struct rwf_encoder enc;

    msg.msg_class = RWF_CLASS_UPDATE;
    msg.domain = RWF_DOMAIN_MARKET_PRICE;
    msg.container = RWF_TYPE_FIELD_LIST;
    rwf_encoder_init(&enc, out, 1024);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (const uint8_t *p = ids_and_values; p[0]; p += 2)
        rwf_field_add_bytes(&enc, p[0], rwf_bytes(p + 1, 1));
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static enum conflate_result add(struct conflate_pending *pending, struct rwf_msg msg,
                                const uint8_t *ids_and_values, uint64_t now_ns)
{
    uint8_t out[1024];

    return conflate_add(c, pending, update_of(out, msg, ids_and_values), rwf_bytes(NULL, 0),
                        now_ns);
}

static struct rwf_msg merged(const struct conflate_pending *pending)
{
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(conflate_bytes(pending), &msg), RWF_OK);
    return msg;
}

/* The value of a field, or -1. */
static int value_of(struct rwf_bytes payload, int16_t id)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int value = -1;

    assert_true(rwf_field_list_decode(payload, NULL, &list) >= 0);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == id)
            value = field.content.data[0];
    }
    return value;
}

#define FIELDS(...) ((const uint8_t[]){ __VA_ARGS__, 0 })

static void an_update_alone_in_its_run_keeps_its_bytes(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t out[1024];
    struct rwf_bytes update = update_of(out, (struct rwf_msg){ .update_type = 1 }, FIELDS(6, 1));

    (void)state;
    assert_int_equal(conflate_add(c, &pending, update, rwf_bytes(NULL, 0), 0), CONFLATE_HELD);
    assert_true(rwf_bytes_equal(conflate_bytes(&pending), update));
}

static void the_newest_value_and_sequence_number_and_the_type_all_agree_on_stay(void **state)
{
    struct conflate_pending pending = empty();
    struct rwf_msg head = { .update_type = RWF_UPDATE_QUOTE, .flags = RWF_UPDATE_HAS_SEQ_NUM };

    (void)state;
    head.seq_num = 41;
    assert_int_equal(add(&pending, head, FIELDS(22, 1, 25, 2), 0), CONFLATE_HELD);
    head.seq_num = 42;
    assert_int_equal(add(&pending, head, FIELDS(22, 3), 0), CONFLATE_HELD);
    struct rwf_msg msg = merged(&pending);
    assert_int_equal(msg.seq_num, 42);
    assert_int_equal(msg.update_type, RWF_UPDATE_QUOTE);
    assert_int_equal(value_of(msg.payload, 22), 3);
    assert_int_equal(value_of(msg.payload, 25), 2);
    assert_false(msg.flags & RWF_UPDATE_HAS_CONF_INFO);
    head.update_type = RWF_UPDATE_ORDER_INDICATION;
    assert_int_equal(add(&pending, head, FIELDS(22, 4), 0), CONFLATE_HELD);
    assert_int_equal(merged(&pending).update_type, RWF_UPDATE_MULTIPLE);
}

static void an_update_of_the_same_fields_stands_for_both(void **state)
{
    struct conflate_pending pending = empty();
    struct rwf_msg head = { .update_type = RWF_UPDATE_QUOTE, .flags = RWF_UPDATE_HAS_SEQ_NUM };

    (void)state;
    for (uint8_t n = 1; n <= 3; n++) {
        head.seq_num = n;
        assert_int_equal(add(&pending, head, FIELDS(22, n, 25, (uint8_t)(10 + n)), 0),
                         CONFLATE_HELD);
    }
    struct rwf_msg msg = merged(&pending);
    assert_int_equal(msg.seq_num, 3);
    assert_int_equal(pending.count, 3);
    assert_true(msg.flags & RWF_UPDATE_DO_NOT_RIPPLE);
    assert_int_equal(value_of(msg.payload, 22), 3);
    assert_int_equal(value_of(msg.payload, 25), 13);
}

static void an_update_of_fewer_fields_leaves_the_others(void **state)
{
    struct conflate_pending pending = empty();

    (void)state;
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 1, 25, 2), 0), CONFLATE_HELD);
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(25, 3, 30, 4), 0), CONFLATE_HELD);
    struct rwf_msg msg = merged(&pending);
    assert_int_equal(value_of(msg.payload, 22), 1);
    assert_int_equal(value_of(msg.payload, 25), 3);
    assert_int_equal(value_of(msg.payload, 30), 4);
}

static void a_run_is_discardable_only_if_all_of_it_is(void **state)
{
    struct conflate_pending pending = empty();
    const struct rwf_msg discardable = { .flags = RWF_UPDATE_DISCARDABLE };

    (void)state;
    add(&pending, discardable, FIELDS(22, 1), 0);
    add(&pending, discardable, FIELDS(22, 2), 0);
    assert_true(merged(&pending).flags & RWF_UPDATE_DISCARDABLE);
    add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 3), 0);
    add(&pending, discardable, FIELDS(22, 4), 0);
    assert_false(merged(&pending).flags & RWF_UPDATE_DISCARDABLE);
}

static void what_may_not_be_merged_passes_and_changes_nothing(void **state)
{
    static const uint16_t flags[] = {
        RWF_UPDATE_HAS_PERM_DATA,   RWF_UPDATE_HAS_POST_USER_INFO, RWF_UPDATE_HAS_EXT_HEADER,
        RWF_UPDATE_DO_NOT_CONFLATE, RWF_UPDATE_DO_NOT_CACHE,       0x2000,
    };
    struct conflate_pending pending = empty();

    (void)state;
    add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 1), 0);
    uint32_t length = pending.length;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct rwf_msg head = { .flags = flags[i],
                                .perm_data = rwf_text("lock"),
                                .ext_header = rwf_text("x") };
        assert_int_equal(add(&pending, head, FIELDS(22, 2), 0), CONFLATE_PASS);
    }
    assert_int_equal(pending.length, length);
    assert_int_equal(value_of(merged(&pending).payload, 22), 1);
}

static void old_values_that_ripple_are_written_out(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t first[1024], second[1024], image[1024];
    struct rwf_msg msg;

    (void)state;
    /* 6 ripples to 7 and that to 8: a consumer has 10, 9, 8 and sees 11, then 12. */
    struct rwf_bytes a = update_of(first, (struct rwf_msg){ 0 }, FIELDS(6, 11));
    struct rwf_bytes b = update_of(second, (struct rwf_msg){ 0 }, FIELDS(6, 12));
    rwf_msg_decode(update_of(image, (struct rwf_msg){ 0 }, FIELDS(6, 10, 7, 9, 8, 8)), &msg);
    assert_int_equal(conflate_add(c, &pending, a, msg.payload, 0), CONFLATE_HELD);
    rwf_msg_decode(update_of(image, (struct rwf_msg){ 0 }, FIELDS(6, 11, 7, 10, 8, 9)), &msg);
    assert_int_equal(conflate_add(c, &pending, b, msg.payload, 0), CONFLATE_HELD);
    msg = merged(&pending);
    assert_true(msg.flags & RWF_UPDATE_DO_NOT_RIPPLE);
    assert_int_equal(value_of(msg.payload, 6), 12);
    assert_int_equal(value_of(msg.payload, 7), 11);
    assert_int_equal(value_of(msg.payload, 8), 10);
}

static void two_trades_that_ripple_are_not_merged_without_an_image(void **state)
{
    struct conflate_pending pending = empty();

    (void)state;
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(6, 1), 0), CONFLATE_HELD);
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(6, 2), 0), CONFLATE_FLUSH);
}

/* ---- runs of which only the ids are noted ---- */

static struct rwf_bytes image_of(uint8_t *out, const uint8_t *ids_and_values)
{
    struct rwf_msg msg;

    rwf_msg_decode(update_of(out, (struct rwf_msg){ 0 }, ids_and_values), &msg);
    return msg.payload;
}

static void note(struct conflate_pending *pending, struct rwf_msg msg, const uint8_t *fields,
                 struct rwf_bytes image, uint64_t now_ns)
{
    uint8_t out[1024];

    assert_int_equal(conflate_add(c, pending, update_of(out, msg, fields), image, now_ns),
                     CONFLATE_HELD);
}

static void a_noted_run_goes_out_with_the_values_of_the_image(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t bytes[1024];
    struct rwf_bytes image = image_of(bytes, FIELDS(6, 12, 9, 3, 7, 11, 8, 10)), out;
    struct rwf_msg msg;

    (void)state;
    pending.takes_image = pending.has_info = true;
    note(&pending,
         (struct rwf_msg){ .update_type = 1, .flags = RWF_UPDATE_HAS_SEQ_NUM, .seq_num = 5 },
         FIELDS(6, 11), image, 0);
    assert_true(conflate_out(c, &pending, image, &out)); /* alone it keeps its bytes */
    assert_true(rwf_bytes_equal(out, conflate_bytes(&pending)));
    note(&pending, (struct rwf_msg){ .update_type = 2 }, FIELDS(6, 12, 6, 13), image, 70000000);
    assert_true(pending.is_noted);
    assert_true(conflate_out(c, &pending, image, &out));
    assert_int_equal(rwf_msg_decode(out, &msg), RWF_OK);
    assert_int_equal(msg.flags,
                     RWF_UPDATE_HAS_SEQ_NUM | RWF_UPDATE_DO_NOT_RIPPLE | RWF_UPDATE_HAS_CONF_INFO);
    assert_int_equal(msg.seq_num, 5);
    assert_int_equal(msg.update_type, RWF_UPDATE_MULTIPLE);
    assert_int_equal(msg.conf_count, 2);
    assert_int_equal(msg.conf_time_ms, 70);
    assert_int_equal(value_of(msg.payload, 6), 12);
    assert_int_equal(value_of(msg.payload, 7), 11);
    assert_int_equal(value_of(msg.payload, 8), 10);
    assert_int_equal(value_of(msg.payload, 9), -1);
}

static void an_image_that_lacks_a_field_of_the_run_is_refused(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t bytes[1024];
    struct rwf_bytes image = image_of(bytes, FIELDS(1, 1)), out;

    (void)state;
    pending.takes_image = true;
    note(&pending, (struct rwf_msg){ 0 }, FIELDS(1, 1), image, 0);
    note(&pending, (struct rwf_msg){ 0 }, FIELDS(2, 1), image, 0);
    assert_false(conflate_out(c, &pending, image, &out));
    assert_false(conflate_out(c, &pending, rwf_bytes(NULL, 0), &out));
    assert_true(conflate_out(c, &pending, image_of(bytes, FIELDS(2, 1, 1, 1)), &out));
    assert_int_equal(conflate_add(c, &pending,
                                  update_of(bytes, (struct rwf_msg){ 0 }, FIELDS(1, 1)),
                                  rwf_bytes(NULL, 0), 0),
                     CONFLATE_FLUSH);
}

/* More ids than are searched one by one, first in one order and then in the other. */
static void many_fields_are_noted_once_each(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t up[401] = { 0 }, down[401] = { 0 }, bytes[1024];
    struct rwf_bytes image, out;
    struct rwf_msg msg;
    struct rwf_field_list list;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        up[2 * i] = down[2 * (199 - i)] = (uint8_t)(i + 40);
        up[2 * i + 1] = down[2 * i + 1] = 1;
    }
    image = image_of(bytes, up);
    pending.takes_image = true;
    note(&pending, (struct rwf_msg){ 0 }, up, image, 0);
    note(&pending, (struct rwf_msg){ 0 }, down, image, 0);
    uint32_t length = pending.length;
    note(&pending, (struct rwf_msg){ 0 }, down, image, 0);
    assert_int_equal(pending.length, length);
    assert_true(conflate_out(c, &pending, image, &out));
    assert_int_equal(rwf_msg_decode(out, &msg), RWF_OK);
    assert_true(rwf_field_list_decode(msg.payload, NULL, &list) >= 0);
    assert_int_equal(list.count, 200);
}

static void what_would_be_longer_than_the_room_is_flushed_first(void **state)
{
    struct conflate_pending pending = empty();

    (void)state;
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(1, 1, 2, 1, 3, 1), 0),
                     CONFLATE_HELD);
    pending.room = pending.length + 4;
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(3, 2), 0), CONFLATE_HELD);
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(4, 1, 5, 1), 0), CONFLATE_FLUSH);
    assert_int_equal(pending.count, 2);
    pending.room = 20;
    conflate_clear(&pending);
    assert_int_equal(add(&pending, (struct rwf_msg){ 0 }, FIELDS(1, 1, 2, 1, 3, 1), 0),
                     CONFLATE_PASS);
}

static void count_and_time_of_a_run_are_said_where_asked_and_saturate(void **state)
{
    struct conflate_pending pending = empty();
    const struct rwf_msg of_provider = { .flags = RWF_UPDATE_HAS_CONF_INFO,
                                         .conf_count = 20000,
                                         .conf_time_ms = 50 };

    (void)state;
    pending.has_info = true;
    add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 1), 1000 * MS);
    add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 2), 1040 * MS);
    assert_int_equal(merged(&pending).conf_count, 2);
    assert_int_equal(merged(&pending).conf_time_ms, 40);
    add(&pending, of_provider, FIELDS(22, 3), 1050 * MS);
    assert_int_equal(merged(&pending).conf_count, 20002);
    add(&pending, of_provider, FIELDS(22, 3), 90000 * MS);
    assert_int_equal(merged(&pending).conf_count, 32767);
    assert_int_equal(merged(&pending).conf_time_ms, 65535);
    conflate_clear(&pending);
    add(&pending, of_provider, FIELDS(22, 3), 1000 * MS);
    add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 3), 1010 * MS);
    assert_int_equal(merged(&pending).conf_count, 20001);
    assert_int_equal(merged(&pending).conf_time_ms, 60);
}

static void set_data_is_written_out_where_its_definition_is_known(void **state)
{
    struct rwf_set_writer writer;
    struct rwf_set_db db;
    struct rwf_encoder enc;
    struct conflate_pending pending = empty();
    struct conflate *knows;
    uint8_t block[64], out[256];
    int err;

    (void)state;
    rwf_set_writer_init(&writer, block, sizeof(block));
    rwf_set_writer_def(&writer, 1);
    rwf_set_writer_field(&writer, 22, RWF_TYPE_UINT_1);
    rwf_set_writer_field(&writer, 25, RWF_TYPE_UINT_1);
    assert_int_equal(rwf_set_db_decode(rwf_set_writer_bytes(&writer, &err), RWF_SET_FIELDS, &db),
                     RWF_OK);
    const struct rwf_sets sets = { .local = &db };
    const struct conflate_config config = { .sets = &sets };
    assert_int_equal(conflate_create(&config, &knows), MD_OK);
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = RWF_DOMAIN_MARKET_PRICE,
                                 .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_field_list_info info = { .flags = RWF_LIST_HAS_SET_DATA | RWF_LIST_HAS_SET_ID,
                                              .set_id = 1 };
    rwf_encoder_init(&enc, out, sizeof(out));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start_set(&enc, &info, &sets, NULL);
    rwf_field_add_uint(&enc, 22, 5);
    rwf_field_add_uint(&enc, 25, 6);
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    add(&pending, (struct rwf_msg){ 0 }, FIELDS(22, 1, 30, 2), 0);
    assert_int_equal(conflate_add(c, &pending, rwf_encoder_bytes(&enc), rwf_bytes(NULL, 0), 0),
                     CONFLATE_FLUSH);
    assert_int_equal(conflate_add(knows, &pending, rwf_encoder_bytes(&enc), rwf_bytes(NULL, 0), 0),
                     CONFLATE_HELD);
    assert_int_equal(value_of(merged(&pending).payload, 22), 5);
    assert_int_equal(value_of(merged(&pending).payload, 25), 6);
    assert_int_equal(value_of(merged(&pending).payload, 30), 2);
    conflate_destroy(knows);
}

/* ---- maps ---- */

static struct rwf_bytes map_of(uint8_t *out, uint8_t flags, uint8_t action, uint8_t value)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = RWF_DOMAIN_MARKET_BY_ORDER,
                           .container = RWF_TYPE_MAP };
    struct rwf_map_info info = {
        .flags = flags, .key_type = RWF_TYPE_ASCII, .container = RWF_TYPE_FIELD_LIST, .hint = value
    };
    struct rwf_map_entry entry = { .action = action, .key = rwf_text("A") };

    rwf_encoder_init(&enc, out, 1024);
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
    rwf_map_entry_start(&enc, &entry);
    if (action != RWF_MAP_DELETE) {
        rwf_field_list_start(&enc, NULL);
        rwf_field_add_bytes(&enc, value, rwf_bytes(&value, 1));
        rwf_field_list_finish(&enc);
    }
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

/* The action that two of them become, with how many fields; 0: they are not merged. */
static unsigned becomes(uint8_t first, uint8_t second, unsigned *fields)
{
    struct conflate_pending pending = empty();
    uint8_t a[1024], b[1024];
    struct rwf_map map;
    struct rwf_map_entry entry;
    struct rwf_field_list list;

    assert_int_equal(conflate_add(c, &pending, map_of(a, 0, first, 1), rwf_bytes(NULL, 0), 0),
                     CONFLATE_HELD);
    if (conflate_add(c, &pending, map_of(b, 0, second, 2), rwf_bytes(NULL, 0), 0) != CONFLATE_HELD)
        return 0;
    assert_true(rwf_map_decode(merged(&pending).payload, &map) >= 0);
    assert_int_equal(map.count, 1);
    assert_int_equal(rwf_map_next(&map, &entry), 1);
    assert_true(rwf_field_list_decode(entry.data, NULL, &list) >= 0);
    *fields = list.count;
    return entry.action;
}

static void entries_of_one_key_become_one(void **state)
{
    static const struct {
        uint8_t first, second, result, fields;
    } rules[] = {
        { RWF_MAP_ADD, RWF_MAP_UPDATE, RWF_MAP_ADD, 2 },
        { RWF_MAP_ADD, RWF_MAP_ADD, RWF_MAP_ADD, 1 },
        { RWF_MAP_ADD, RWF_MAP_DELETE, RWF_MAP_DELETE, 0 },
        { RWF_MAP_UPDATE, RWF_MAP_UPDATE, RWF_MAP_UPDATE, 2 },
        { RWF_MAP_UPDATE, RWF_MAP_ADD, RWF_MAP_ADD, 1 },
        { RWF_MAP_UPDATE, RWF_MAP_DELETE, RWF_MAP_DELETE, 0 },
        { RWF_MAP_DELETE, RWF_MAP_ADD, RWF_MAP_ADD, 1 },
        { RWF_MAP_DELETE, RWF_MAP_DELETE, RWF_MAP_DELETE, 0 },
        { RWF_MAP_DELETE, RWF_MAP_UPDATE, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        unsigned fields = 0;
        assert_int_equal(becomes(rules[i].first, rules[i].second, &fields), rules[i].result);
        assert_int_equal(fields, rules[i].fields);
    }
}

static void the_newest_count_hint_stays(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t out[1024];
    struct rwf_map map;

    (void)state;
    conflate_add(c, &pending, map_of(out, RWF_MAP_HAS_HINT, RWF_MAP_UPDATE, 7), rwf_bytes(NULL, 0),
                 0);
    conflate_add(c, &pending, map_of(out, RWF_MAP_HAS_HINT, RWF_MAP_UPDATE, 9), rwf_bytes(NULL, 0),
                 0);
    conflate_add(c, &pending, map_of(out, 0, RWF_MAP_UPDATE, 11), rwf_bytes(NULL, 0), 0);
    assert_int_equal(pending.count, 3);
    assert_true(rwf_map_decode(merged(&pending).payload, &map) >= 0);
    assert_int_equal(map.info.hint, 9);
}

/* A map whose set 1 is one field; its row KEY has set data of that set. */
static struct rwf_bytes map_with_set(uint8_t *out, const char *key, int16_t field, uint8_t value,
                                     uint16_t set_id)
{
    struct rwf_set_writer writer;
    struct rwf_set_db db;
    struct rwf_encoder enc;
    uint8_t block[64];
    int err;

    rwf_set_writer_init(&writer, block, sizeof(block));
    rwf_set_writer_def(&writer, 1);
    rwf_set_writer_field(&writer, field, RWF_TYPE_UINT_1);
    struct rwf_bytes defs = rwf_set_writer_bytes(&writer, &err);
    assert_int_equal(rwf_set_db_decode(defs, RWF_SET_FIELDS, &db), RWF_OK);
    const struct rwf_sets sets = { .local = &db };
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                 .domain = RWF_DOMAIN_MARKET_BY_ORDER,
                                 .container = RWF_TYPE_MAP };
    const struct rwf_map_info info = { .flags = RWF_MAP_HAS_SET_DEFS,
                                       .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_FIELD_LIST,
                                       .set_defs = defs };
    const struct rwf_map_entry entry = { .action = RWF_MAP_UPDATE, .key = rwf_text(key) };
    const struct rwf_field_list_info list = { .flags = RWF_LIST_HAS_SET_DATA | RWF_LIST_HAS_SET_ID,
                                              .set_id = set_id };
    const struct rwf_bytes set_data = rwf_bytes(&value, 1);
    rwf_encoder_init(&enc, out, 1024);
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
    rwf_map_entry_start(&enc, &entry);
    rwf_field_list_start_set(&enc, &list, &sets, &set_data);
    rwf_field_list_finish(&enc);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void rows_with_set_data_are_written_out_each_by_the_definitions_of_its_map(void **state)
{
    struct conflate_pending pending = empty();
    struct rwf_map map;
    struct rwf_map_entry entry;
    uint8_t out[1024];

    (void)state;
    conflate_add(c, &pending, map_with_set(out, "A", 22, 5, 1), rwf_bytes(NULL, 0), 0);
    assert_int_equal(
        conflate_add(c, &pending, map_with_set(out, "B", 25, 6, 1), rwf_bytes(NULL, 0), 0),
        CONFLATE_HELD);
    assert_int_equal(
        conflate_add(c, &pending, map_with_set(out, "A", 30, 7, 1), rwf_bytes(NULL, 0), 0),
        CONFLATE_HELD);
    assert_true(rwf_map_decode(merged(&pending).payload, &map) >= 0);
    assert_false(map.info.flags & RWF_MAP_HAS_SET_DEFS);
    assert_int_equal(map.count, 2);
    assert_int_equal(rwf_map_next(&map, &entry), 1);
    assert_int_equal(value_of(entry.data, 22), 5);
    assert_int_equal(value_of(entry.data, 30), 7);
    assert_int_equal(rwf_map_next(&map, &entry), 1);
    assert_int_equal(value_of(entry.data, 25), 6);
}

static void a_row_of_a_set_that_its_map_does_not_define_is_not_merged(void **state)
{
    struct conflate_pending pending = empty();
    uint8_t out[1024];

    (void)state;
    conflate_add(c, &pending, map_with_set(out, "A", 22, 5, 1), rwf_bytes(NULL, 0), 0);
    assert_int_equal(
        conflate_add(c, &pending, map_with_set(out, "B", 22, 6, 2), rwf_bytes(NULL, 0), 0),
        CONFLATE_FLUSH);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_update_alone_in_its_run_keeps_its_bytes),
        TEST(the_newest_value_and_sequence_number_and_the_type_all_agree_on_stay),
        TEST(an_update_of_the_same_fields_stands_for_both),
        TEST(an_update_of_fewer_fields_leaves_the_others),
        TEST(a_run_is_discardable_only_if_all_of_it_is),
        TEST(what_may_not_be_merged_passes_and_changes_nothing),
        TEST(old_values_that_ripple_are_written_out),
        TEST(two_trades_that_ripple_are_not_merged_without_an_image),
        TEST(a_noted_run_goes_out_with_the_values_of_the_image),
        TEST(an_image_that_lacks_a_field_of_the_run_is_refused),
        TEST(many_fields_are_noted_once_each),
        TEST(what_would_be_longer_than_the_room_is_flushed_first),
        TEST(count_and_time_of_a_run_are_said_where_asked_and_saturate),
        TEST(set_data_is_written_out_where_its_definition_is_known),
        TEST(entries_of_one_key_become_one),
        TEST(rows_with_set_data_are_written_out_each_by_the_definitions_of_its_map),
        TEST(a_row_of_a_set_that_its_map_does_not_define_is_not_merged),
        TEST(the_newest_count_hint_stays),
    };

    return cmocka_run_group_tests(tests, set_up, take_down);
}
