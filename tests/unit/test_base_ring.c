/* test_base_ring.c - pools, the one-reader ring, and a producer that breaks its rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bcast.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/pool.h"
#include "base/prng.h"
#include "base/ring.h"

/* Every allocation of the process, counted: the data path must not make any. */
static _Atomic unsigned long malloc_count;
extern void *__libc_malloc(size_t size);

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 1
void *malloc(size_t size)
{
    malloc_count++;
    return __libc_malloc(size);
}
#else
#define COUNTS_MALLOC 0
#endif

static void a_pool_gives_each_object_once_and_then_none(void **state)
{
    struct md_pool_config config = { .object_bytes = 100, .count = 10, .mem.node = MD_NODE_ANY };
    struct md_pool pool;
    void *objects[10];

    (void)state;
    assert_int_equal(md_pool_init(&pool, &config), MD_OK);
    for (int i = 0; i < 10; i++) {
        objects[i] = md_pool_take(&pool);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 64, 0);
        memset(objects[i], i, 100);
        assert_ptr_equal(md_pool_at(&pool, md_pool_index(&pool, objects[i])), objects[i]);
    }
    assert_null(md_pool_take(&pool));
    assert_true(pool.empty_count == 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(((uint8_t *)objects[i])[99], i);
        md_pool_give(&pool, objects[i]);
    }
    assert_int_equal(md_pool_in_use(&pool), 0);
    assert_int_equal(md_pool_in_use_max(&pool), 10);
    assert_ptr_equal(md_pool_take(&pool), objects[9]); /* the warm one */
    md_pool_fini(&pool);
    md_pool_fini(&pool);
}

static void pressure_begins_above_high_and_ends_at_low(void **state)
{
    struct md_pool_config config = {
        .object_bytes = 8, .count = 10, .high = 8, .low = 3, .mem.node = MD_NODE_ANY
    };
    struct md_pool pool;
    void *objects[10];

    (void)state;
    assert_int_equal(md_pool_init(&pool, &config), MD_OK);
    for (int i = 0; i < 9; i++) {
        assert_false(md_pool_is_pressed(&pool));
        objects[i] = md_pool_take(&pool);
    }
    assert_true(md_pool_is_pressed(&pool));
    for (int i = 8; i >= 3; i--) {
        assert_true(md_pool_is_pressed(&pool));
        md_pool_give(&pool, objects[i]);
    }
    assert_false(md_pool_is_pressed(&pool));
    assert_true(pool.press_count == 1);
    md_pool_fini(&pool);
}

static void impossible_pools_are_refused(void **state)
{
    struct md_pool_config config = { .object_bytes = 8, .count = 0 };
    struct md_pool pool;

    (void)state;
    assert_int_equal(md_pool_init(&pool, &config), MD_ERR_RANGE);
    config = (struct md_pool_config){ .object_bytes = 8, .count = 5, .high = 6 };
    assert_int_equal(md_pool_init(&pool, &config), MD_ERR_RANGE);
    config = (struct md_pool_config){ .object_bytes = SIZE_MAX / 8, .count = 100 };
    assert_int_equal(md_pool_init(&pool, &config), MD_ERR_RANGE);
}

static int status_of_child(void (*fn)(struct md_pool *pool), bool is_poisoned)
{
    struct md_pool_config config = {
        .object_bytes = 64, .count = 4, .is_poisoned = is_poisoned, .mem.node = MD_NODE_ANY
    };
    struct md_pool pool;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr) || md_pool_init(&pool, &config) != MD_OK)
            _exit(0);
        fn(&pool);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void give_twice(struct md_pool *pool)
{
    uint8_t *object = md_pool_take(pool);

    (void)md_pool_take(pool);
    object[0] = 1;
    md_pool_give(pool, object);
    md_pool_give(pool, object);
}

static void write_after_give(struct md_pool *pool)
{
    uint8_t *object = md_pool_take(pool);

    object[0] = 1;
    md_pool_give(pool, object);
    object[5] = 1;
    (void)md_pool_take(pool);
}

static void give_a_stranger(struct md_pool *pool)
{
    uint8_t stranger[64] = { 0 };

    (void)md_pool_take(pool);
    md_pool_give(pool, stranger);
}

static void a_poisoned_pool_catches_misuse(void **state)
{
    (void)state;
    assert_int_not_equal(status_of_child(give_twice, true), 0);
    assert_int_not_equal(status_of_child(write_after_give, true), 0);
    assert_int_not_equal(status_of_child(give_a_stranger, false), 0);
}

struct fixture {
    void *memory;
    size_t bytes;
    struct md_ring_producer producer;
    struct md_ring_consumer consumer;
};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture.bytes = md_ring_bytes(1024);
    fixture.memory = aligned_alloc(64, fixture.bytes + 64 - fixture.bytes % 64);
    memset(fixture.memory, 0, fixture.bytes);
    *state = &fixture;
    return md_ring_format(fixture.memory, 1024) ||
           md_ring_producer_init(&fixture.producer, fixture.memory, fixture.bytes) ||
           md_ring_consumer_init(&fixture.consumer, fixture.memory, fixture.bytes);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    free(f->memory);
    return 0;
}

static void nothing_is_seen_before_the_commit(void **state)
{
    static const uint8_t hello[5] = { 'h', 'e', 'l', 'l', 'o' };
    struct fixture *f = *state;
    struct md_record record;
    int result;

    uint8_t *at = md_ring_claim(&f->producer, 13, 32, 7);
    assert_non_null(at);
    memcpy(at + 8, hello, sizeof(hello));
    assert_null(md_ring_read(&f->consumer, &record, &result));
    assert_int_equal(result, MD_ERR_AGAIN);
    md_ring_commit(&f->producer);
    const uint8_t *got = md_ring_read(&f->consumer, &record, &result);
    assert_non_null(got);
    assert_int_equal(record.length, 13);
    assert_int_equal(record.type, 32);
    assert_int_equal(record.flags, 7);
    assert_memory_equal(got + 8, hello, sizeof(hello));
    assert_null(md_ring_read(&f->consumer, &record, &result));
}

static void a_full_ring_refuses_until_something_is_released(void **state)
{
    struct fixture *f = *state;
    struct md_record record;
    int result;

    assert_null(md_ring_claim(&f->producer, 513, 1, 0)); /* more than half */
    for (int i = 0; i < 8; i++)
        assert_non_null(md_ring_claim(&f->producer, 128, 1, 0));
    assert_null(md_ring_claim(&f->producer, 8, 1, 0));
    assert_int_equal(md_ring_room(&f->producer), 0);
    md_ring_commit(&f->producer);
    assert_non_null(md_ring_read(&f->consumer, &record, &result));
    assert_null(md_ring_claim(&f->producer, 8, 1, 0)); /* read, not released */
    md_ring_release(&f->consumer);
    assert_int_equal(md_ring_room(&f->producer), 128);
    assert_non_null(md_ring_claim(&f->producer, 128, 1, 0));
    assert_int_equal(f->producer.full_count, 3);
}

static void a_claim_can_be_trimmed_and_taken_back(void **state)
{
    struct fixture *f = *state;
    struct md_record record;
    int result;

    assert_non_null(md_ring_claim(&f->producer, 200, 1, 0));
    md_ring_trim(&f->producer, 20);
    assert_non_null(md_ring_claim(&f->producer, 100, 2, 0));
    md_ring_trim(&f->producer, 0);
    assert_non_null(md_ring_claim(&f->producer, 8, 3, 0));
    md_ring_commit(&f->producer);
    assert_non_null(md_ring_read(&f->consumer, &record, &result));
    assert_int_equal(record.length, 20);
    assert_non_null(md_ring_read(&f->consumer, &record, &result));
    assert_int_equal(record.type, 3);
    assert_null(md_ring_read(&f->consumer, &record, &result));
}

static void records_of_any_length_come_out_as_they_went_in(void **state)
{
    struct fixture *f = *state;
    struct md_prng prng = md_prng_init(5);
    uint64_t sent = 0, received = 0;

    while (received < 20000) {
        for (uint32_t n = md_prng_below(&prng, 6); n > 0; n--) {
            uint32_t length = 16 + md_prng_below(&prng, 300);
            uint8_t *at = md_ring_claim(&f->producer, length, 32, 0);
            if (!at)
                break;
            memcpy(at + 8, &sent, 8);
            memset(at + 16, (int)(sent & 0xff), length - 16);
            sent++;
        }
        md_ring_commit(&f->producer);
        struct md_record record;
        int result;
        const uint8_t *at;
        while ((at = md_ring_read(&f->consumer, &record, &result)) != NULL) {
            uint64_t number;
            memcpy(&number, at + 8, 8);
            assert_true(number == received);
            for (uint32_t i = 16; i < record.length; i++)
                assert_int_equal(at[i], received & 0xff);
            received++;
        }
        assert_int_equal(result, MD_ERR_AGAIN);
        md_ring_release(&f->consumer);
    }
}

static void a_sleeping_consumer_is_rung_for_once(void **state)
{
    struct fixture *f = *state;

    assert_non_null(md_ring_claim(&f->producer, 8, 1, 0));
    assert_false(md_ring_commit(&f->producer));
    assert_false(md_ring_consumer_arm(&f->consumer)); /* there is something */
    struct md_record record;
    int result;
    assert_non_null(md_ring_read(&f->consumer, &record, &result));
    md_ring_release(&f->consumer);
    assert_true(md_ring_consumer_arm(&f->consumer));
    assert_non_null(md_ring_claim(&f->producer, 8, 1, 0));
    assert_true(md_ring_commit(&f->producer));
    assert_false(md_ring_commit(&f->producer));
}

static void a_producer_that_lies_is_found_out(void **state)
{
    struct fixture *f = *state;
    struct md_ring_memory *memory = f->memory;
    static const struct {
        uint64_t head;
        uint64_t word;
    } lies[] = {
        { 2048, 0 },                                /* beyond the size */
        { 12, 0 },                                  /* not aligned */
        { UINT64_MAX - 7, 0 },                      /* backwards */
        { 64, (uint64_t)1 << 32 },                  /* length 0 */
        { 64, (uint64_t)1 << 32 | 7 },              /* below a head */
        { 64, (uint64_t)1 << 32 | 65 },             /* beyond head */
        { 1024, (uint64_t)1 << 32 | 1025 },         /* beyond the end */
        { 64, (uint64_t)1 << 32 | UINT32_MAX },     /* would overflow */
        { 64, (uint64_t)MD_RECORD_PAD << 32 | 64 }, /* PAD not to the end */
    };

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct md_record record;
        int result;
        atomic_store(&memory->head, lies[i].head);
        atomic_store(&memory->data[0], lies[i].word);
        assert_int_equal(md_ring_consumer_init(&f->consumer, f->memory, f->bytes), MD_OK);
        assert_null(md_ring_read(&f->consumer, &record, &result));
        assert_int_equal(result, MD_ERR_MALFORMED);
        assert_null(md_ring_read(&f->consumer, &record, &result));
        assert_int_equal(result, MD_ERR_MALFORMED);
    }
    memory->size = 4096;
    assert_int_equal(md_ring_producer_init(&f->producer, f->memory, f->bytes), MD_ERR_MALFORMED);
    assert_int_equal(md_ring_consumer_init(&f->consumer, f->memory, f->bytes - 1), MD_ERR_RANGE);
    assert_int_equal(md_ring_format(f->memory, 1000), MD_ERR_RANGE);
}

static void the_data_path_allocates_nothing(void **state)
{
    struct fixture *f = *state;
    struct md_pool_config config = { .object_bytes = 256, .count = 64, .mem.node = MD_NODE_ANY };
    struct md_pool pool;

    static uint8_t buffer[4096] __attribute__((aligned(8)));
    void *shared = calloc(1, md_bcast_bytes(MD_BCAST_SIZE_MIN));
    struct md_bcast_writer writer;
    struct md_bcast_reader reader;
    struct md_bcast_batch batch;

    if (!COUNTS_MALLOC) {
        free(shared);
        skip(); /* leaves the function, which compilers do not know */
        return;
    }
    assert_int_equal(md_pool_init(&pool, &config), MD_OK);
    assert_int_equal(md_bcast_writer_init(&writer, shared, MD_BCAST_SIZE_MIN, 0), MD_OK);
    assert_int_equal(md_bcast_reader_init(&reader, shared, md_bcast_bytes(MD_BCAST_SIZE_MIN)),
                     MD_OK);
    unsigned long before = malloc_count;
    for (int i = 0; i < 100000; i++) {
        void *a = md_pool_take(&pool);
        void *b = md_pool_take(&pool);
        struct md_record record;
        int result;
        if (md_ring_claim(&f->producer, 96, 1, 0))
            md_ring_commit(&f->producer);
        (void)md_ring_read(&f->consumer, &record, &result);
        md_ring_release(&f->consumer);
        (void)md_bcast_write(&writer, 1, 0, NULL, 0, buffer, 96);
        md_bcast_commit(&writer);
        (void)md_bcast_read(&reader, buffer, sizeof(buffer), &batch);
        md_pool_give(&pool, a);
        md_pool_give(&pool, b);
    }
    assert_true(malloc_count == before);
    void *volatile proof = malloc(1); /* the counting itself works */
    free(proof);
    assert_true(malloc_count == before + 1);
    free(shared);
    md_pool_fini(&pool);
}

#define THREAD_RECORDS 200000

static void *produce(void *arg)
{
    struct fixture *f = arg;
    int batch = 0;

    for (uint64_t i = 0; i < THREAD_RECORDS;) {
        uint32_t length = 16 + (uint32_t)(i * 7 % 200);
        uint8_t *at = md_ring_claim(&f->producer, length, 32, 0);
        if (at) {
            memcpy(at + 8, &i, 8);
            i++;
        }
        if (!at || ++batch % 5 == 0) {
            if (md_ring_commit(&f->producer))
                md_sleep_flag_wake(&f->producer.memory->consumer_sleeps);
            if (!at)
                sched_yield();
        }
    }
    if (md_ring_commit(&f->producer))
        md_sleep_flag_wake(&f->producer.memory->consumer_sleeps);
    return NULL;
}

static void threads_pass_records_and_no_wake_up_is_lost(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    uint64_t received = 0;

    assert_int_equal(pthread_create(&thread, NULL, produce, f), 0);
    while (received < THREAD_RECORDS) {
        struct md_record record;
        int result;
        const uint8_t *at;
        while ((at = md_ring_read(&f->consumer, &record, &result)) != NULL) {
            uint64_t number;
            memcpy(&number, at + 8, 8);
            assert_true(number == received && record.length == 16 + number * 7 % 200);
            received++;
        }
        md_ring_release(&f->consumer);
        if (received < THREAD_RECORDS && md_ring_consumer_arm(&f->consumer)) {
            md_sleep_flag_wait(&f->consumer.memory->consumer_sleeps, MD_NEVER);
            md_ring_consumer_disarm(&f->consumer);
        }
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_gives_each_object_once_and_then_none),
        cmocka_unit_test(pressure_begins_above_high_and_ends_at_low),
        cmocka_unit_test(impossible_pools_are_refused),
        cmocka_unit_test(a_poisoned_pool_catches_misuse),
        cmocka_unit_test_setup_teardown(nothing_is_seen_before_the_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_ring_refuses_until_something_is_released, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_claim_can_be_trimmed_and_taken_back, setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_any_length_come_out_as_they_went_in, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_sleeping_consumer_is_rung_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_producer_that_lies_is_found_out, setup, teardown),
        cmocka_unit_test_setup_teardown(the_data_path_allocates_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_pass_records_and_no_wake_up_is_lost, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
