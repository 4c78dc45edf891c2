/* test_rrmp_room.c - a source at its limit of items, and what each request there costs it. */
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
#include "base/writer.h"
#include "rrmp/key.h"
#include "rrmp/source.h"
#include "state.h"

#define MS      1000000ull
#define SEC     1000000000ull
#define LOOKS   4096u /* a millisecond */

#define ACTIVE  (RRMP_REQUEST_STREAMING | RRMP_REQUEST_IMAGE)
#define STANDBY (RRMP_REQUEST_STREAMING | RRMP_REQUEST_STANDBY)

/* Requesters are (10, 1) and up; each record that goes to one of them alone is decoded and kept. */
struct world {
    uint64_t now_ns;
    struct rrmp_source *source;
    uint16_t svc;
    uint32_t next_id;
    uint8_t room[65536];
    struct rrmp_refuse refuse; /* the last one; its views are not looked at */
    uint32_t refused;          /* so often with a scope of not here, */
    uint32_t later;            /* and of later */
    uint32_t unwanted;
};

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct world *world = context;

    (void)target;
    return length <= sizeof(world->room) ? world->room : NULL;
}

static void commit(void *context, size_t length)
{
    struct world *world = context;
    struct rrmp_record record;

    if (length == 0 || rrmp_record_decode(world->room, length, &record) != MD_OK ||
        record.header.type != RRMP_REFUSE)
        return;
    world->refuse = record.u.refuse;
    world->refused += record.u.refuse.scope == RRMP_REFUSE_NOT_HERE;
    world->later += record.u.refuse.scope == RRMP_REFUSE_LATER;
}

static unsigned fill(void *context)
{
    (void)context;
    return 0;
}

static void take(struct world *world)
{
    struct rrmp_source_event event;

    while (rrmp_source_event(world->source, &event, 1) == 1)
        world->unwanted += event.kind == RRMP_SOURCE_UNWANTED;
    assert_null(rrmp_source_check(world->source));
}

static void pass(struct world *world, uint64_t time_ns)
{
    world->now_ns += time_ns;
    rrmp_source_tick(world->source, world->now_ns, false);
    take(world);
}

/* The record as it comes from requester `who`; events are not taken. */
static void say(struct world *world, unsigned who, const struct rrmp_record *record)
{
    uint8_t bytes[512];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    rrmp_record_encode(&wr, record);
    const struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                            .flags = BACKBONE_FLAG_UNICAST,
                                            .session = 10 + who,
                                            .src_port = 1,
                                            .dst_port = 1,
                                            .bytes = bytes,
                                            .length = (uint32_t)md_wr_length(&wr) };
    assert_int_equal(rrmp_source_input(world->source, world->now_ns, &message, 1), 1);
}

static struct rrmp_view key_of(uint32_t item, uint8_t *bytes, size_t size)
{
    char name[16];
    int length = snprintf(name, sizeof(name), "I%u", item);
    const struct rrmp_key key = { .domain = 6,
                                  .members = RRMP_KEY_NAME,
                                  .name_type = 1,
                                  .name = { (const uint8_t *)name, (size_t)length } };
    struct md_wr wr = md_wr_init(bytes, size);

    rrmp_key_encode(&wr, &key);
    return (struct rrmp_view){ .bytes = bytes, .length = md_wr_length(&wr) };
}

static void ask(struct world *world, unsigned who, uint32_t item, uint16_t flags, uint8_t class)
{
    uint8_t bytes[64];
    struct rrmp_view key = key_of(item, bytes, sizeof(bytes));
    const struct rrmp_record record = {
        .header = { .type = RRMP_REQUEST, .svc = world->svc },
        .u.request = { .id = ++world->next_id,
                       .flags = flags,
                       .priority_class = class,
                       .priority_count = 1,
                       .handle = RRMP_HANDLE_NONE,
                       .key_hash = rrmp_key_hash(key.bytes, key.length),
                       .key = key },
    };

    say(world, who, &record);
}

static void end_of(struct world *world, unsigned who, uint32_t item)
{
    uint8_t bytes[64];
    struct rrmp_view key = key_of(item, bytes, sizeof(bytes));
    const struct rrmp_record record = {
        .header = { .type = RRMP_CLOSE, .svc = world->svc },
        .u.close = { .id = ++world->next_id,
                     .handle = RRMP_HANDLE_NONE,
                     .key_hash = rrmp_key_hash(key.bytes, key.length),
                     .reason = RRMP_CLOSE_NOBODY,
                     .key = key },
    };

    say(world, who, &record);
}

static bool is_open(struct world *world, uint32_t item)
{
    uint8_t bytes[64];

    return rrmp_source_item_find(world->source, world->svc, key_of(item, bytes, sizeof(bytes))) !=
           RRMP_ITEM_NONE;
}

static uint64_t looks(const struct world *world)
{
    return rrmp_source_stats(world->source)->room_looks;
}

static uint64_t preempted(const struct world *world)
{
    return rrmp_source_stats(world->source)->preempted;
}

/* Items 0 ... limit - 1 of class 2 are open for requester 0. */
static struct world *start(uint32_t limit, bool preempts)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    world->now_ns = SEC;
    const struct rrmp_source_config config = {
        .name = "test",
        .send = { .context = world, .reserve = reserve, .commit = commit, .fill = fill },
        .item_limit = limit,
        .gap_log = 64,
        .preempts = preempts,
    };
    const struct rrmp_service service = { .state = 3,
                                          .features = 7,
                                          .name = { (const uint8_t *)"RDFD", 4 } };
    const struct backbone_event attached = { .type = BACKBONE_ATTACHED,
                                             .session = 1,
                                             .dst_port = 1 };
    assert_int_equal(rrmp_source_create(&config, &world->source), MD_OK);
    assert_int_equal(rrmp_source_service_offer(world->source, world->now_ns, &service, &world->svc),
                     MD_OK);
    rrmp_source_input(world->source, world->now_ns, &attached, 1);
    for (uint32_t i = 0; i < limit; i++)
        ask(world, 0, i, ACTIVE, 2);
    pass(world, 2 * MS);
    assert_int_equal(rrmp_source_stats(world->source)->items_now, limit);
    assert_int_equal(world->refused + world->later, 0);
    return world;
}

static void end(struct world *world)
{
    rrmp_source_destroy(world->source);
    free(world);
}

static void without_preempt_items_a_full_source_refuses(void **state)
{
    struct world *world = start(4, false);

    (void)state;
    ask(world, 1, 100, ACTIVE, 255);
    take(world);
    assert_int_equal(world->refused, 1);
    assert_int_equal(world->refuse.code, RRMP_CODE_TOO_MANY_ITEMS);
    assert_int_equal(preempted(world), 0);
    assert_int_equal(looks(world), 0);
    end(world);
}

static void a_refusal_is_remembered(void **state)
{
    struct world *world = start(100, true);

    (void)state;
    ask(world, 1, 1000, ACTIVE, 2);
    uint64_t round = looks(world);
    assert_in_range(round, 1, 100);
    for (uint32_t i = 0; i < 10000; i++) {
        ask(world, 1, 1001 + i, ACTIVE, (uint8_t)(i % 3));
        world->now_ns += MS;
    }
    assert_int_equal(looks(world), round);
    assert_int_equal(world->refused, 10001);
    assert_int_equal(world->later + preempted(world), 0);
    end(world);
}

static void what_is_remembered_falls_with_the_items(void **state)
{
    struct world *world = start(100, true);

    (void)state;
    ask(world, 1, 1000, ACTIVE, 2);
    take(world);
    ask(world, 0, 40, ACTIVE, 0); /* its only requester: worth less now */
    take(world);
    pass(world, MS);
    ask(world, 1, 1000, ACTIVE, 1);
    take(world);
    assert_int_equal(preempted(world), 1);
    assert_false(is_open(world, 40));
    ask(world, 1, 1000, ACTIVE, 1); /* the place of 40 is its own now */
    take(world);
    assert_true(is_open(world, 1000));
    pass(world, MS);
    end_of(world, 0, 60);
    ask(world, 1, 1001, ACTIVE, 0);
    take(world);
    assert_false(is_open(world, 60)); /* nobody wanted it */
    assert_true(is_open(world, 1000));
    pass(world, MS);
    ask(world, 1, 1001, ACTIVE, 0);
    ask(world, 1, 1002, ACTIVE, 2);
    take(world);
    assert_false(is_open(world, 1001)); /* a new one may be the least */
    end(world);
}

static void looks_are_bounded_in_each_millisecond(void **state)
{
    struct world *world = start(3 * LOOKS, true);

    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        ask(world, 1, 100000 + i, ACTIVE, 2);
    assert_in_range(looks(world), 1, LOOKS);
    assert_int_equal(world->refused, 1);
    assert_int_equal(world->later, 999); /* not known yet */
    for (int i = 0; i < 3; i++) {
        pass(world, MS);
        ask(world, 1, 100000, ACTIVE, 2);
    }
    uint64_t round = looks(world);
    assert_in_range(round, 3 * LOOKS, 4 * LOOKS);
    world->later = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        world->now_ns += MS;
        ask(world, 1, 100000 + i, ACTIVE, 2);
    }
    assert_int_equal(looks(world), round);
    assert_int_equal(world->later, 0);
    end(world);
}

static void each_request_of_a_batch_gets_its_room(void **state)
{
    struct world *world = start(100, true);
    uint32_t wait[2];

    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        ask(world, 1, 1000 + i, ACTIVE, 3);
        wait[i % 2] = world->refuse.wait_ms;
        assert_in_range(wait[i % 2], 1000, 1999);
    }
    assert_int_equal(preempted(world), 20);
    assert_int_equal(world->unwanted, 0);
    assert_int_not_equal(wait[0], wait[1]);
    pass(world, MS);
    assert_int_equal(world->unwanted, 20);
    for (uint32_t i = 0; i < 20; i++)
        ask(world, 1, 1000 + i, ACTIVE, 3);
    take(world);
    for (uint32_t i = 0; i < 20; i++)
        assert_true(is_open(world, 1000 + i));
    assert_int_equal(preempted(world), 20);
    end(world);
}

static void standby_interest_takes_no_room(void **state)
{
    struct world *world = start(4, true);

    (void)state;
    for (int i = 0; i < 10; i++) {
        ask(world, 1, 100, STANDBY, 255);
        pass(world, SEC);
    }
    assert_int_equal(world->refused, 10);
    assert_int_equal(world->refuse.scope, RRMP_REFUSE_NOT_HERE);
    assert_int_equal(preempted(world), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(is_open(world, i));
    end(world);
}

/* Whatever class it says: who has it active has it elsewhere. */
static void an_item_that_only_stands_by_goes_first(void **state)
{
    struct world *world = start(4, true);

    (void)state;
    end_of(world, 0, 2);
    ask(world, 1, 2, STANDBY, 200);
    take(world);
    ask(world, 1, 100, ACTIVE, 0);
    take(world);
    assert_false(is_open(world, 2));
    assert_int_equal(preempted(world), 1);
    pass(world, MS);
    ask(world, 1, 100, ACTIVE, 0);
    end_of(world, 0, 0);
    end_of(world, 0, 1);
    ask(world, 1, 1, STANDBY, 200);
    take(world);
    ask(world, 1, 101, ACTIVE, 0);
    take(world);
    assert_false(is_open(world, 0)); /* nobody wants this one */
    assert_true(is_open(world, 1));
    end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_preempt_items_a_full_source_refuses),
        cmocka_unit_test(a_refusal_is_remembered),
        cmocka_unit_test(what_is_remembered_falls_with_the_items),
        cmocka_unit_test(looks_are_bounded_in_each_millisecond),
        cmocka_unit_test(each_request_of_a_batch_gets_its_room),
        cmocka_unit_test(standby_interest_takes_no_room),
        cmocka_unit_test(an_item_that_only_stands_by_goes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
