/* test_delay.c - a delayed line: nothing early, all in order and once or told, images of then. */
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
#include "delay/delay.h"

#define MS          1000000ull
#define SEC         1000000000ull
#define ITEMS       8u
#define FIELDS      4u /* the first is the number of the message */
#define LOG_MAX     4000u
#define CHUNKS_MAX  4096u
#define MESSAGE_MAX 1000u

static unsigned histories = 250;

/* ---- a disk ---- */

struct chunk {
    uint8_t *bytes;
    size_t length;
};

struct disk {
    struct chunk chunks[CHUNKS_MAX];
    uint64_t last; /* written last */
    bool is_dead;  /* takes nothing: the process has crashed */
    bool fails;    /* now and then */
    bool is_slow;
};

/* ---- what was published ---- */

struct said {
    uint64_t true_ns; /* by a clock that is never set */
    uint32_t serial;
    uint8_t item;
    uint8_t kind;
    uint32_t state[FIELDS]; /* of the item behind it */
    size_t length;
    uint8_t bytes[120];
};

struct item {
    uint32_t state[FIELDS];
    bool is_open;
    /* The consumer: */
    bool is_shown, is_whole;
    size_t at;    /* the message it had last, */
    size_t after; /* none before this one may come: the item has ended there */
    bool ends;    /* the next event of it says so */
};

struct world {
    struct md_prng prng;
    struct disk disk;
    struct delay *line;
    struct delay_config config;
    uint64_t true_ns, boot_ns;
    int64_t wall_error_ns;
    bool is_contained;
    struct said said[LOG_MAX];
    size_t count;
    size_t life; /* messages before it are of an earlier life of the process */
    uint32_t serial;
    struct item items[ITEMS];
    unsigned events, restarts, suspects, images;
};

static unsigned below(struct world *w, unsigned bound)
{
    return md_prng_below(&w->prng, bound);
}

static uint64_t now_of(const struct world *w)
{
    return w->true_ns - w->boot_ns;
}

static uint64_t wall_of(const struct world *w)
{
    return w->true_ns + (uint64_t)w->wall_error_ns;
}

static int disk_next(void *context, uint64_t after, uint64_t *chunk, size_t *length)
{
    const struct disk *disk = context;

    for (uint64_t i = after + 1; i < CHUNKS_MAX; i++) {
        if (!disk->chunks[i].bytes)
            continue;
        *chunk = i;
        *length = disk->chunks[i].length;
        return MD_OK;
    }
    return MD_ERR_NOT_FOUND;
}

static int disk_write(void *context, uint64_t chunk, const uint8_t *bytes, size_t length)
{
    struct world *w = context;

    assert_true(chunk < CHUNKS_MAX && !w->disk.chunks[chunk].bytes);
    if (w->disk.is_dead || (w->disk.fails && below(w, 20) == 0))
        return MD_ERR_SYS;
    w->disk.chunks[chunk] = (struct chunk){ malloc(length), length };
    assert_non_null(w->disk.chunks[chunk].bytes);
    memcpy(w->disk.chunks[chunk].bytes, bytes, length);
    w->disk.last = chunk;
    return MD_OK;
}

static int disk_read(void *context, uint64_t chunk, uint8_t *bytes, size_t size, size_t *length)
{
    struct world *w = context;
    const struct chunk *c = &w->disk.chunks[chunk];

    if (w->disk.is_slow && below(w, 2))
        return MD_ERR_AGAIN;
    if (!c->bytes || c->length > size)
        return MD_ERR_NOT_FOUND;
    memcpy(bytes, c->bytes, c->length);
    *length = c->length;
    return MD_OK;
}

static void disk_remove(void *context, uint64_t chunk)
{
    struct world *w = context;

    free(w->disk.chunks[chunk].bytes);
    w->disk.chunks[chunk] = (struct chunk){ NULL, 0 };
}

static int world_next(void *context, uint64_t after, uint64_t *chunk, size_t *length)
{
    return disk_next(&((struct world *)context)->disk, after, chunk, length);
}

/* ---- messages ---- */

static unsigned field_type(void *context, int16_t id)
{
    (void)context;
    (void)id;
    return RWF_TYPE_UINT;
}

static size_t encode(uint8_t *out, size_t size, enum delay_kind kind, const uint32_t *values,
                     unsigned fields)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .container = RWF_TYPE_FIELD_LIST };

    if (kind == DELAY_REFRESH || kind == DELAY_IMAGE) {
        msg.msg_class = RWF_CLASS_REFRESH;
        msg.flags = RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE;
        msg.state.stream_state = RWF_STREAM_OPEN;
        msg.state.data_state = RWF_DATA_OK;
    }
    rwf_encoder_init(&enc, out, size);
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    for (unsigned i = 0; i < FIELDS; i++) {
        uint8_t bytes[4];
        if (!(fields >> i & 1))
            continue;
        memcpy(bytes, &values[i], sizeof(bytes));
        rwf_field_add_bytes(&enc, (int16_t)(i + 1), rwf_bytes(bytes, sizeof(bytes)));
    }
    rwf_field_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc).length;
}

static bool decode(struct rwf_bytes message, uint32_t *values)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(message, &msg), RWF_OK);
    int rc = rwf_field_list_decode(msg.payload, NULL, &list);
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        assert_in_range(field.id, 1, FIELDS);
        assert_int_equal(field.content.length, 4);
        memcpy(&values[field.id - 1], field.content.data, 4);
    }
    return rc == 0;
}

static struct rwf_bytes key_of(unsigned item)
{
    static uint8_t keys[ITEMS][3];

    keys[item][0] = 6;
    keys[item][1] = 'R';
    keys[item][2] = (uint8_t)item;
    return rwf_bytes(keys[item], sizeof(keys[item]));
}

static void put(struct world *w, unsigned item, enum delay_kind kind)
{
    struct item *it = &w->items[item];
    struct said *said = &w->said[w->count++];
    unsigned fields = kind == DELAY_UPDATE ? 1 | below(w, 16) : 15;

    assert_true(w->count < LOG_MAX);
    for (unsigned i = 0; kind != DELAY_IMAGE && i < FIELDS; i++) {
        if (fields >> i & 1)
            it->state[i] = i == 0 ? ++w->serial : below(w, 1u << 30);
    }
    *said = (struct said){
        .true_ns = w->true_ns, .serial = it->state[0], .item = (uint8_t)item, .kind = (uint8_t)kind
    };
    memcpy(said->state, it->state, sizeof(said->state));
    said->length = encode(said->bytes, sizeof(said->bytes), kind, it->state, fields);
    delay_put(w->line, now_of(w), key_of(item), kind, true, true,
              rwf_bytes(said->bytes, said->length));
    it->is_open = true;
}

/* ---- the consumer ---- */

static size_t said_as(const struct world *w, unsigned item, uint32_t serial)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->said[i].item == item && w->said[i].serial == serial &&
            w->said[i].kind != DELAY_IMAGE)
            return i;
    }
    fail_msg("a message that nobody published");
    return 0;
}

/* No byte is early, by the clock that nobody sets. */
static void assert_is_old(const struct world *w, size_t at)
{
    assert_true(w->true_ns - w->said[at].true_ns >= w->config.delay_ns);
    assert_true(at >= w->items[w->said[at].item].after);
}

static void see_image(struct world *w, unsigned item, struct rwf_bytes message)
{
    struct item *it = &w->items[item];
    uint32_t values[FIELDS] = { 0 };

    assert_true(decode(message, values));
    size_t at = said_as(w, item, values[0]);
    assert_is_old(w, at);
    assert_memory_equal(values, w->said[at].state, sizeof(values));
    if (it->is_whole)
        assert_true(at > it->at);
    it->is_whole = it->is_shown = true;
    it->at = at;
}

static void see_update(struct world *w, unsigned item, struct rwf_bytes message)
{
    struct item *it = &w->items[item];
    size_t next = it->at + 1;

    assert_true(it->is_whole);
    while (next < w->count && (w->said[next].item != item || w->said[next].kind == DELAY_IMAGE))
        next++;
    assert_true(next < w->count);
    assert_int_equal(message.length, w->said[next].length);
    assert_memory_equal(message.data, w->said[next].bytes, message.length);
    assert_is_old(w, next);
    it->at = next;
}

static void see(struct world *w, const struct delay_event *event)
{
    unsigned item = event->key.data[2];
    struct item *it = &w->items[item];
    uint8_t bytes[256];
    size_t length = 0;
    struct cache_cursor cursor = { 0 };
    bool is_last = false;

    w->events++;
    assert_true(it->ends == (event->kind == DELAY_EVENT_END));
    switch (event->kind) {
    case DELAY_EVENT_END:
        it->ends = it->is_shown = it->is_whole = false;
        break;
    case DELAY_EVENT_SUSPECT:
        w->suspects++;
        assert_true(it->is_shown && it->is_whole);
        it->is_whole = false;
        break;
    case DELAY_EVENT_IMAGE:
        w->images++;
        assert_false(it->is_shown);
        assert_int_equal(delay_image_part(w->line, event->item, &cursor, bytes, sizeof(bytes),
                                          &length, &is_last),
                         MD_OK);
        assert_true(is_last);
        see_image(w, item, rwf_bytes(bytes, length));
        break;
    default:
        if (event->is == DELAY_UPDATE)
            see_update(w, item, event->message);
        else
            see_image(w, item, event->message);
        break;
    }
}

static void take_out(struct world *w)
{
    struct delay_event event;
    uint64_t now_ns = now_of(w);

    for (unsigned i = 0; i < 200; i++) {
        delay_next(w->line, now_ns, &event);
        if (event.kind == DELAY_EVENT_NONE && delay_deadline(w->line, now_ns, true) > now_ns)
            break;
        if (event.kind == DELAY_EVENT_NONE || below(w, 10) == 0)
            continue; /* no room for it: it comes again */
        see(w, &event);
        delay_done(w->line, &event);
    }
    delay_tick(w->line, now_ns);
}

/* ---- what happens ---- */

static void start(struct world *w)
{
    w->config.wall_ns = wall_of(w);
    assert_int_equal(delay_create(&w->config, now_of(w), &w->line), MD_OK);
    w->life = w->count;
    for (unsigned i = 0; i < ITEMS; i++)
        w->items[i] = (struct item){ .is_open = false };
}

static void tear_last_chunk(struct world *w)
{
    struct chunk *last = &w->disk.chunks[w->disk.last];

    if (!last->bytes || last->length == 0)
        return;
    if (below(w, 2))
        last->length = below(w, (unsigned)last->length);
    else
        last->bytes[below(w, (unsigned)last->length)] ^= 1;
}

/* The process ends and comes again, perhaps on a machine that was started anew; meanwhile somebody
 * may have set the wall clock; or, in another container, the monotonic clock is another one. */
static void restart(struct world *w)
{
    w->restarts++;
    w->disk.is_dead = below(w, 2) == 0;
    delay_destroy(w->line);
    if (w->disk.is_dead && below(w, 2))
        tear_last_chunk(w);
    w->disk.is_dead = false;
    w->true_ns += (uint64_t)below(w, 3000) * MS;
    if (!w->is_contained && below(w, 3) == 0) {
        w->boot_ns = w->true_ns;
        w->config.boot += w->config.boot != 0;
        w->true_ns += (uint64_t)below(w, 1000) * MS;
    }
    if (w->is_contained)
        w->boot_ns = below(w, 900) * SEC;
    else if (below(w, 2))
        w->wall_error_ns = ((int64_t)below(w, 20000) - 10000) * (int64_t)(SEC / 2);
    start(w);
}

static void give_images(struct world *w)
{
    bool is_missing;
    uint32_t wanted;

    while ((wanted = delay_wants(w->line, now_of(w), &is_missing)) != DELAY_NONE) {
        for (unsigned i = 0; i < ITEMS; i++) {
            if (delay_find(w->line, key_of(i)) == wanted && w->items[i].is_open)
                put(w, i, DELAY_IMAGE);
        }
    }
}

static void end(struct world *w, unsigned item)
{
    struct item *it = &w->items[item];
    uint32_t number = delay_find(w->line, key_of(item));

    if (!it->is_open)
        return;
    it->is_open = false;
    if (number == DELAY_NONE)
        return;
    delay_end(w->line, now_of(w), number, RWF_STREAM_CLOSED, 0);
    it->ends = true;
    it->after = w->count;
}

static void happen(struct world *w)
{
    unsigned item = below(w, ITEMS);
    unsigned what = below(w, 1000);

    if (!w->items[item].is_open)
        put(w, item, DELAY_REFRESH);
    else if (what < 940)
        put(w, item, DELAY_UPDATE);
    else if (what < 970)
        put(w, item, DELAY_REFRESH);
    else if (what < 985)
        end(w, item);
    w->true_ns += (uint64_t)below(w, below(w, 50) == 0 ? 500 : 20) * MS;
    if (below(w, 4) == 0)
        take_out(w);
    if (below(w, 20) == 0)
        give_images(w);
}

static struct world *world(uint64_t seed)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->prng = md_prng_init(seed);
    w->true_ns = 1000 * SEC;
    w->is_contained = below(w, 5) == 0;
    w->config = (struct delay_config){
        .delay_ns = (500 + below(w, 3000)) * MS,
        .chunk_bytes = 512 + below(w, 2000),
        .message_max = MESSAGE_MAX,
        .bytes_max = 1u << 20,
        .takes_all = true,
        .boot = below(w, 10) != 0,
        .identity = 77,
        .cache = { .field_type = field_type },
        .disk = { w, world_next, disk_write, disk_read, disk_remove },
    };
    start(w);
    return w;
}

static void end_world(struct world *w)
{
    delay_destroy(w->line);
    for (unsigned i = 0; i < CHUNKS_MAX; i++)
        free(w->disk.chunks[i].bytes);
    free(w);
}

/* Time goes on and nothing more is published: all that is open is at the end what was said last. */
static void come_to_rest(struct world *w)
{
    w->disk.fails = false;
    for (uint64_t end_ns = w->true_ns + 3 * w->config.delay_ns + 30 * SEC; w->true_ns < end_ns;) {
        w->true_ns += 50 * MS;
        take_out(w);
        give_images(w);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        const struct item *it = &w->items[i];

        assert_true(it->is_whole == it->is_open);
        if (it->is_open)
            assert_int_equal(w->said[it->at].serial, it->state[0]);
    }
}

static void all_comes_late_in_order_and_once_or_told(void **state)
{
    unsigned events = 0, restarts = 0, suspects = 0, images = 0;

    (void)state;
    for (unsigned seed = 1; seed <= histories; seed++) {
        struct world *w = world(seed);
        bool restarts_too = below(w, 2) == 0;

        w->disk.fails = below(w, 4) == 0;
        w->disk.is_slow = below(w, 4) == 0;
        if (below(w, 3) == 0)
            w->config.bytes_max = 24u << 10;
        if (w->config.bytes_max < 1u << 20)
            restart(w);
        for (unsigned i = 0; i < 600; i++) {
            happen(w);
            if (restarts_too && below(w, 150) == 0)
                restart(w);
        }
        come_to_rest(w);
        events += w->events;
        restarts += w->restarts;
        suspects += w->suspects;
        images += w->images;
        end_world(w);
    }
    assert_true(events > histories * 200 && restarts > histories);
    assert_true(suspects > histories && images > histories);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_late_in_order_and_once_or_told),
    };

    if (argc > 1)
        histories = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
