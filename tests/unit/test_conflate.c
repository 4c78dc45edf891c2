/* test_conflate.c - merged updates: a consumer has the image that the whole run would have given.
 */
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
#include "base/prng.h"
#include "conflate/conflate.h"

static unsigned histories = 3000;
static struct md_prng prng;

static unsigned below(unsigned bound)
{
    return md_prng_below(&prng, bound);
}

/* ---- a model of a consumer, written without the engine's rules ---- */

#define FIELDS_MAX  40
#define CONTENT_MAX 80
#define ROWS_MAX    6

struct held {
    int16_t id;
    size_t length;
    uint8_t bytes[CONTENT_MAX];
};

struct record {
    struct held fields[FIELDS_MAX];
    unsigned count;
};

struct consumer {
    struct record record; /* of a field list; of a map its summary */
    struct record rows[ROWS_MAX];
    bool has_row[ROWS_MAX];
};

/* 1 to 5 and 11 to 13 are chains of numbers, 21 to 23 one of texts, 31 to 39 do not ripple. */
static int16_t ripples_to(void *context, int16_t id)
{
    (void)context;
    return (id >= 1 && id < 5) || (id >= 11 && id < 13) || (id >= 21 && id < 23) ? (int16_t)(id + 1)
                                                                                 : 0;
}

static bool is_text(int16_t id)
{
    return id >= 21 && id <= 25;
}

static unsigned field_type(void *context, int16_t id)
{
    (void)context;
    return is_text(id) ? RWF_TYPE_RMTES : RWF_TYPE_REAL;
}

static struct held *find(struct record *record, int16_t id)
{
    for (unsigned i = 0; i < record->count; i++) {
        if (record->fields[i].id == id)
            return &record->fields[i];
    }
    return NULL;
}

/* Text that begins with ESC [ n ` writes from byte n on. */
static void write_text(struct held *field, struct rwf_bytes content)
{
    unsigned from = 0;
    int skip = 0;

    if (content.length == 0 || content.data[0] != 0x1b)
        field->length = 0;
    else
        assert_int_equal(sscanf((const char *)content.data + 1, "[%u`%n", &from, &skip), 1);
    size_t head = skip ? 1 + (size_t)skip : 0;
    while (field->length < from)
        field->bytes[field->length++] = ' ';
    size_t length = content.length - head;
    assert_true(from + length <= CONTENT_MAX);
    if (length)
        memcpy(field->bytes + from, content.data + head, length);
    if (from + length > field->length)
        field->length = from + length;
}

static void take_field(struct record *record, int16_t id, struct rwf_bytes content, bool ripples)
{
    struct held *field = find(record, id);

    if (field && ripples) {
        struct held carry = *field;
        struct held *next;
        for (int16_t to = ripples_to(NULL, id); to && (next = find(record, to));
             to = ripples_to(NULL, to)) {
            struct held old = *next;
            memcpy(next->bytes, carry.bytes, carry.length);
            next->length = carry.length;
            carry = old;
        }
    }
    if (!field) {
        assert_true(record->count < FIELDS_MAX);
        field = &record->fields[record->count++];
        *field = (struct held){ .id = id };
    }
    if (is_text(id)) {
        write_text(field, content);
        return;
    }
    if (content.length)
        memcpy(field->bytes, content.data, content.length);
    field->length = content.length;
}

static void take_list(struct record *record, struct rwf_bytes payload, const struct rwf_sets *sets,
                      bool ripples)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(payload, sets, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0)
        take_field(record, field.id, field.content, ripples);
    assert_int_equal(rc, 0);
}

static void take_map(struct consumer *consumer, struct rwf_bytes payload)
{
    struct rwf_set_db db;
    const struct rwf_sets local = { .local = &db };
    const struct rwf_sets *sets = NULL;
    struct rwf_map map;
    struct rwf_map_entry entry;
    int rc = rwf_map_decode(payload, &map);

    if (map.info.flags & RWF_MAP_HAS_SET_DEFS) {
        assert_int_equal(rwf_set_db_decode(map.info.set_defs, RWF_SET_FIELDS, &db), RWF_OK);
        sets = &local;
    }
    take_list(&consumer->record, map.info.summary, sets, false);
    while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0) {
        unsigned row = entry.key.data[0];
        assert_true(row < ROWS_MAX);
        if (entry.action != RWF_MAP_UPDATE || !consumer->has_row[row])
            consumer->rows[row].count = 0;
        consumer->has_row[row] = entry.action != RWF_MAP_DELETE;
        if (entry.action != RWF_MAP_DELETE)
            take_list(&consumer->rows[row], entry.data, sets, false);
    }
    assert_int_equal(rc, 0);
}

static void take(struct consumer *consumer, struct rwf_bytes message)
{
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(message, &msg), RWF_OK);
    if (msg.container == RWF_TYPE_MAP)
        take_map(consumer, msg.payload);
    else
        take_list(&consumer->record, msg.payload, NULL, !(msg.flags & RWF_UPDATE_DO_NOT_RIPPLE));
}

static void assert_same_record(struct record *a, struct record *b)
{
    assert_int_equal(a->count, b->count);
    for (unsigned i = 0; i < a->count; i++) {
        const struct held *other = find(b, a->fields[i].id);
        assert_non_null(other);
        assert_int_equal(a->fields[i].length, other->length);
        assert_memory_equal(a->fields[i].bytes, other->bytes, other->length);
    }
}

static void assert_same(struct consumer *a, struct consumer *b)
{
    assert_same_record(&a->record, &b->record);
    for (unsigned i = 0; i < ROWS_MAX; i++) {
        assert_int_equal(a->has_row[i], b->has_row[i]);
        if (a->has_row[i])
            assert_same_record(&a->rows[i], &b->rows[i]);
    }
}

/* ---- random messages ---- */

static void add_field(struct rwf_encoder *enc, bool may_be_partial)
{
    static const int16_t ids[] = { 1, 2, 3, 4, 5, 11, 12, 13, 21, 22, 23, 24, 31, 32, 33, 34, 35 };
    int16_t id = ids[below(sizeof(ids) / sizeof(ids[0]))];
    uint8_t bytes[CONTENT_MAX];
    size_t at = 0;

    if (is_text(id) && may_be_partial && below(2) == 0)
        at = (size_t)sprintf((char *)bytes, "\x1b[%u`", below(30));
    for (unsigned i = below(8); i > 0; i--)
        bytes[at++] = (uint8_t)(is_text(id) ? 'a' + below(26) : below(256));
    rwf_field_add_bytes(enc, id, rwf_bytes(bytes, at));
}

static void add_list(struct rwf_encoder *enc, unsigned count, bool may_be_partial)
{
    const struct rwf_field_list_info info = {
        .flags = RWF_LIST_HAS_STANDARD_DATA | (below(4) == 0 ? RWF_LIST_HAS_INFO : 0),
        .dictionary_id = 1,
        .list_num = 7,
    };

    rwf_field_list_start(enc, &info);
    for (unsigned i = 0; i < count; i++)
        add_field(enc, may_be_partial);
    rwf_field_list_finish(enc);
}

/* Set 1 is of three fields, set 2 of one; another map has other ones under the same ids. */
static struct rwf_bytes set_defs(uint8_t *out, size_t size, struct rwf_set_db *db)
{
    int16_t first = (int16_t)(31 + below(3));
    struct rwf_set_writer writer;
    int err;

    rwf_set_writer_init(&writer, out, size);
    rwf_set_writer_def(&writer, 1);
    rwf_set_writer_field(&writer, first, RWF_TYPE_UINT_1);
    rwf_set_writer_field(&writer, 24, RWF_TYPE_RMTES);
    rwf_set_writer_field(&writer, (int16_t)(first + 1), RWF_TYPE_INT_2);
    rwf_set_writer_def(&writer, 2);
    rwf_set_writer_field(&writer, (int16_t)(first + 2), RWF_TYPE_REAL);
    struct rwf_bytes defs = rwf_set_writer_bytes(&writer, &err);
    assert_int_equal(err, RWF_OK);
    assert_int_equal(rwf_set_db_decode(defs, RWF_SET_FIELDS, db), RWF_OK);
    return defs;
}

static void add_set_list(struct rwf_encoder *enc, const struct rwf_sets *sets, bool may_be_partial)
{
    const struct rwf_field_list_info info = {
        .flags = RWF_LIST_HAS_SET_DATA | RWF_LIST_HAS_SET_ID | RWF_LIST_HAS_STANDARD_DATA,
        .set_id = (uint16_t)(1 + below(2)),
    };
    const struct rwf_real price = { .value = below(100000), .hint = 12 };

    rwf_field_list_start_set(enc, &info, sets, NULL);
    int16_t first =
        (int16_t)(sets->local->def[0].entries.data[0] << 8 | sets->local->def[0].entries.data[1]);
    if (info.set_id == 1) {
        rwf_field_add_uint(enc, first, below(256));
        rwf_field_add_bytes(enc, 24, rwf_text(may_be_partial && below(2) ? "\x1b[2`yz" : "word"));
        rwf_field_add_int(enc, (int16_t)(first + 1), below(30000));
    } else {
        rwf_field_add_real(enc, (int16_t)(first + 2), &price);
    }
    for (unsigned i = below(3); i > 0; i--)
        add_field(enc, may_be_partial);
    rwf_field_list_finish(enc);
}

/* With set definitions every second list has set data. */
static void add_row_list(struct rwf_encoder *enc, const struct rwf_sets *sets, bool may_be_partial)
{
    if (sets && below(2))
        add_set_list(enc, sets, may_be_partial);
    else
        add_list(enc, below(4), may_be_partial);
}

static void add_map(struct rwf_encoder *enc)
{
    struct rwf_set_db db;
    const struct rwf_sets local = { .local = &db };
    const struct rwf_sets *sets = below(3) == 0 ? &local : NULL;
    uint8_t defs[128];
    const struct rwf_map_info info = {
        .flags = (below(3) == 0 ? RWF_MAP_HAS_SUMMARY : 0) |
                 (below(3) == 0 ? RWF_MAP_HAS_HINT : 0) | (sets ? RWF_MAP_HAS_SET_DEFS : 0),
        .set_defs = sets ? set_defs(defs, sizeof(defs), &db) : rwf_bytes(NULL, 0),
        .key_type = below(40) == 0 ? RWF_TYPE_BUFFER : RWF_TYPE_ASCII,
        .container = RWF_TYPE_FIELD_LIST,
        .hint = below(100),
    };

    rwf_map_start(enc, &info);
    if (info.flags & RWF_MAP_HAS_SUMMARY) {
        add_row_list(enc, sets, true);
        rwf_summary_finish(enc);
    }
    for (unsigned i = below(4); i > 0; i--) {
        uint8_t key = (uint8_t)below(ROWS_MAX);
        struct rwf_map_entry entry = { .action = (uint8_t)(1 + below(3)),
                                       .key = rwf_bytes(&key, 1) };
        if (below(30) == 0) {
            entry.has_perm = true;
            entry.perm = rwf_text("pe");
        }
        if (entry.action == RWF_MAP_DELETE) {
            rwf_map_add(enc, &entry);
            continue;
        }
        rwf_map_entry_start(enc, &entry);
        add_row_list(enc, sets, entry.action == RWF_MAP_UPDATE);
        rwf_map_entry_finish(enc);
    }
    rwf_map_finish(enc);
}

static struct rwf_bytes random_update(uint8_t *out, size_t size, bool is_map, uint32_t seq_num)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = is_map ? RWF_DOMAIN_MARKET_BY_ORDER : RWF_DOMAIN_MARKET_PRICE,
        .flags = RWF_UPDATE_HAS_SEQ_NUM,
        .update_type = (uint8_t)below(3),
        .container = is_map ? RWF_TYPE_MAP : RWF_TYPE_FIELD_LIST,
        .seq_num = seq_num,
        .perm_data = rwf_text("lock"),
    };

    if (below(4) == 0)
        msg.flags |= RWF_UPDATE_DO_NOT_RIPPLE;
    if (below(10) == 0)
        msg.flags |= below(2) ? RWF_UPDATE_DO_NOT_CONFLATE : RWF_UPDATE_HAS_PERM_DATA;
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    if (is_map)
        add_map(&enc);
    else
        add_list(&enc, below(6), true);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

/* The record as a consumer holds it. */
static struct rwf_bytes image_of(const struct record *record, uint8_t *out, size_t size)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_REFRESH,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .container = RWF_TYPE_FIELD_LIST,
                           .state = { .stream_state = RWF_STREAM_OPEN } };

    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (unsigned i = 0; i < record->count; i++)
        rwf_field_add_bytes(&enc, record->fields[i].id,
                            rwf_bytes(record->fields[i].bytes, record->fields[i].length));
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_encoder_bytes(&enc), &msg), RWF_OK);
    return msg.payload;
}

/* ---- histories ---- */

struct chain {
    struct conflate *c;
    struct conflate_pending pending;
    struct consumer source;
    struct consumer consumer;
    uint32_t last_seq;
    unsigned sent;
    unsigned passed;
    unsigned noted; /* runs of which only the ids were kept */
    uint8_t bytes[4096];
};

static uint32_t seq_of(struct rwf_bytes message)
{
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(message, &msg), RWF_OK);
    return msg.seq_num;
}

static void send(struct chain *chain, struct rwf_bytes message)
{
    uint32_t seq = seq_of(message);

    assert_true(seq > chain->last_seq);
    chain->last_seq = seq;
    chain->sent++;
    take(&chain->consumer, message);
}

/* All before this moment has been applied to the source. */
static void flush(struct chain *chain)
{
    if (chain->pending.length == 0)
        return;
    assert_true(chain->pending.length <= chain->pending.room);
    uint8_t image[4096];
    struct rwf_bytes out;
    assert_true(conflate_out(chain->c, &chain->pending,
                             image_of(&chain->source.record, image, sizeof(image)), &out));
    chain->noted += chain->pending.is_noted;
    send(chain, out);
    conflate_clear(&chain->pending);
    assert_same(&chain->source, &chain->consumer);
}

static void update(struct chain *chain, struct rwf_bytes message, struct rwf_bytes image)
{
    enum conflate_result result =
        conflate_add(chain->c, &chain->pending, message, image, chain->last_seq);

    if (result == CONFLATE_FLUSH) {
        flush(chain);
        result = conflate_add(chain->c, &chain->pending, message, image, chain->last_seq);
        assert_int_not_equal(result, CONFLATE_FLUSH);
    }
    if (result == CONFLATE_HELD) {
        take(&chain->source, message);
        return;
    }
    flush(chain);
    chain->passed++;
    take(&chain->source, message);
    send(chain, message);
    assert_same(&chain->source, &chain->consumer);
}

static bool is_exempt(struct rwf_bytes message)
{
    struct rwf_msg msg;

    rwf_msg_decode(message, &msg);
    return msg.flags & (RWF_UPDATE_DO_NOT_CONFLATE | RWF_UPDATE_HAS_PERM_DATA);
}

static void history(struct chain *chain, bool is_map, bool has_image, unsigned *updates)
{
    uint8_t out[4096];
    uint8_t image_bytes[4096];
    unsigned exempt = 0;

    chain->source = chain->consumer = (struct consumer){ 0 };
    chain->last_seq = 0;
    chain->passed = 0;
    conflate_clear(&chain->pending);
    struct rwf_bytes first = random_update(out, sizeof(out), is_map, 0);
    take(&chain->source, first);
    take(&chain->consumer, first);
    for (uint32_t i = 1; i <= 14; i++) {
        struct rwf_bytes image = { 0 };
        if (has_image)
            image = image_of(&chain->source.record, image_bytes, sizeof(image_bytes));
        chain->pending.room = (uint32_t)conflate_room(has_image ? image.length + 20 : 400);
        struct rwf_bytes message = random_update(out, sizeof(out), is_map, i);
        exempt += is_exempt(message);
        update(chain, message, image);
        if (below(6) == 0)
            flush(chain);
        ++*updates;
    }
    flush(chain);
    assert_true(chain->passed >= exempt);
    assert_same(&chain->source, &chain->consumer);
}

static struct conflate *engine(const struct rwf_sets *sets)
{
    const struct conflate_config config = {
        .field_type = field_type, .ripples_to = ripples_to, .sets = sets, .random = 4711
    };
    struct conflate *c;

    assert_int_equal(conflate_create(&config, &c), MD_OK);
    return c;
}

/* Returns the updates for each one sent, in hundredths. */
static unsigned run_histories(uint64_t seed, bool is_map, bool has_image, bool takes_image)
{
    static struct chain chain;
    unsigned updates = 0;

    chain = (struct chain){ .c = engine(NULL) };
    chain.pending.bytes = chain.bytes;
    chain.pending.takes_image = takes_image;
    prng = md_prng_init(seed);
    for (unsigned i = 0; i < histories; i++)
        history(&chain, is_map, has_image, &updates);
    conflate_destroy(chain.c);
    assert_int_equal(chain.noted > histories, takes_image && has_image && !is_map);
    return chain.sent ? updates * 100 / chain.sent : 0;
}

static void a_merged_field_list_leaves_the_image_of_its_whole_run(void **state)
{
    (void)state;
    assert_in_range(run_histories(1, false, true, false), 150, 1000);
}

static void a_field_list_merged_without_an_image_does_so_too(void **state)
{
    (void)state;
    assert_in_range(run_histories(2, false, false, false), 105, 1000);
}

static void a_merged_map_leaves_the_rows_of_its_whole_run(void **state)
{
    (void)state;
    assert_in_range(run_histories(3, true, false, false), 120, 1000);
}

static void a_run_of_which_only_the_ids_are_kept_does_so_too(void **state)
{
    (void)state;
    assert_in_range(run_histories(5, false, true, true), 150, 1000);
}

static void without_an_image_ids_are_not_enough(void **state)
{
    (void)state;
    assert_in_range(run_histories(6, false, false, true), 105, 1000);
    assert_in_range(run_histories(7, true, false, true), 120, 1000);
}

/* A field alone that is kept by a filter needs its old values, which another one moved on. */
static void an_update_spelled_out_may_lose_any_field(void **state)
{
    struct conflate *c = engine(NULL);
    uint8_t out[4096];
    uint8_t image[4096];
    struct rwf_bytes spelled;

    (void)state;
    prng = md_prng_init(4);
    for (unsigned i = 0; i < histories; i++) {
        static struct consumer before;
        static struct consumer a;
        static struct consumer b;
        before = (struct consumer){ 0 };
        take(&before, random_update(out, sizeof(out), false, 0));
        a = b = before;
        struct rwf_bytes message = random_update(out, sizeof(out), false, 1);
        take(&a, message);
        if (!conflate_spell(c, message, image_of(&before.record, image, sizeof(image)), &spelled))
            continue;
        take(&b, spelled);
        assert_same(&a, &b);
    }
    conflate_destroy(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merged_field_list_leaves_the_image_of_its_whole_run),
        cmocka_unit_test(a_field_list_merged_without_an_image_does_so_too),
        cmocka_unit_test(a_run_of_which_only_the_ids_are_kept_does_so_too),
        cmocka_unit_test(without_an_image_ids_are_not_enough),
        cmocka_unit_test(a_merged_map_leaves_the_rows_of_its_whole_run),
        cmocka_unit_test(an_update_spelled_out_may_lose_any_field),
    };

    if (argc > 1)
        histories = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
