/*
 * test_base_bcast.c - the broadcast ring: what readers see, alone, as threads, and as processes
 * that stall and are killed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bcast.h"
#include "base/clock.h"
#include "base/ctr.h"
#include "base/err.h"
#include "base/prng.h"

#define SIZE (1u << 16)

struct fixture {
    void *memory;
    struct md_bcast_writer writer;
    struct md_bcast_reader reader;
};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture.memory = aligned_alloc(4096, md_bcast_bytes(SIZE));
    memset(fixture.memory, 0, md_bcast_bytes(SIZE));
    *state = &fixture;
    return md_bcast_writer_init(&fixture.writer, fixture.memory, SIZE, 0) ||
           md_bcast_reader_init(&fixture.reader, fixture.memory, md_bcast_bytes(SIZE));
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    free(f->memory);
    return 0;
}

static void put(struct fixture *f, uint64_t number, size_t length)
{
    static const uint8_t zeros[SIZE];

    assert_true(md_bcast_write(&f->writer, 1, 0, &number, 8, zeros, length) != UINT64_MAX);
}

static uint64_t number_at(const uint8_t *record)
{
    uint64_t number;

    memcpy(&number, record + 8, 8);
    return number;
}

static void a_batch_holds_what_was_committed_in_order(void **state)
{
    struct fixture *f = *state;
    uint8_t buffer[4096] __attribute__((aligned(8)));
    struct md_bcast_batch batch;
    struct md_record record = { 0 };
    size_t at = 0;

    for (uint64_t i = 0; i < 10; i++)
        put(f, i, i);
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_EMPTY);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_READ);
    for (uint64_t i = 0; i < 10; i++) {
        const uint8_t *bytes = md_bcast_batch_next(&batch, &at, &record);
        assert_non_null(bytes);
        assert_true(record.length == 16 + i && number_at(bytes) == i);
    }
    assert_null(md_bcast_batch_next(&batch, &at, &record));
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_EMPTY);
}

static void a_small_buffer_gets_whole_records_only(void **state)
{
    struct fixture *f = *state;
    uint8_t buffer[100] __attribute__((aligned(8)));
    struct md_bcast_batch batch;
    struct md_record record = { 0 };
    uint64_t next = 0;

    for (uint64_t i = 0; i < 9; i++)
        put(f, i, 24);
    md_bcast_commit(&f->writer);
    while (md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch) == MD_BCAST_READ) {
        assert_int_equal(batch.length % 40, 0);
        size_t at = 0;
        for (const uint8_t *bytes; (bytes = md_bcast_batch_next(&batch, &at, &record)) != NULL;)
            assert_true(number_at(bytes) == next++);
    }
    assert_true(next == 9);
    put(f, 9, 200);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_LARGE);
    assert_int_equal(batch.length, 216);
    assert_int_equal(md_bcast_copy(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_LARGE);
    uint8_t large[216] __attribute__((aligned(8)));
    assert_int_equal(md_bcast_read(&f->reader, large, sizeof(large), &batch), MD_BCAST_READ);
    assert_true(number_at(large) == 9);
}

static void a_lapped_reader_knows_what_it_missed(void **state)
{
    struct fixture *f = *state;
    uint8_t buffer[4096] __attribute__((aligned(8)));
    struct md_bcast_batch batch;

    for (uint64_t i = 0; i < 10; i++)
        put(f, i, 84);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_read(&f->reader, buffer, 108, &batch), MD_BCAST_READ);
    uint64_t stood = f->reader.cursor;
    for (uint64_t i = 10; i < 1000; i++)
        put(f, i, 84);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_LAPPED);
    assert_true(batch.lost_from == stood && batch.lost_to == f->writer.next);
    assert_true(f->reader.lapped_count == 1 && f->reader.lapped_bytes == f->writer.next - stood);
    put(f, 1000, 84);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_READ);
    assert_true(number_at(buffer) == 1000 && batch.position == batch.lost_from);
}

static void what_is_being_overwritten_is_never_given(void **state)
{
    struct fixture *f = *state;
    uint8_t buffer[4096] __attribute__((aligned(8)));
    struct md_bcast_batch batch;
    struct md_record record = { 0 };

    put(f, 1, 84);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_peek(&f->reader, buffer, 8, &record, &batch), MD_BCAST_READ);
    /* The writer goes round and is in the middle of a record over ours: claimed, not committed. */
    for (uint64_t i = 0; f->writer.next <= SIZE; i++)
        put(f, i, 84);
    assert_int_equal(md_bcast_copy(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_LAPPED);
    assert_true(batch.lost_from == 0 && batch.lost_to == 104);
}

static void a_lag_limit_laps_earlier_than_the_ring(void **state)
{
    struct fixture *f = *state;
    uint8_t buffer[4096] __attribute__((aligned(8)));
    struct md_bcast_batch batch;

    assert_int_equal(md_bcast_writer_init(&f->writer, f->memory, SIZE, 1000), MD_OK);
    assert_int_equal(md_bcast_reader_init(&f->reader, f->memory, md_bcast_bytes(SIZE)), MD_OK);
    for (uint64_t i = 0; i < 10; i++)
        put(f, i, 84);
    md_bcast_commit(&f->writer);
    assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch), MD_BCAST_LAPPED);
}

static void a_reader_that_wants_few_peeks_and_skips(void **state)
{
    struct fixture *f = *state;
    uint8_t buffer[4096] __attribute__((aligned(8)));
    struct md_bcast_batch batch;
    struct md_record record = { 0 };
    uint64_t number, copied = 0;

    for (uint64_t i = 0; i < 2000; i++) {
        put(f, i, i % 97);
        md_bcast_commit(&f->writer);
        assert_int_equal(md_bcast_peek(&f->reader, &number, 8, &record, &batch), MD_BCAST_READ);
        assert_true(number == i && record.length == 16 + i % 97);
        if (i % 7) {
            md_bcast_skip(&f->reader, &record);
        } else {
            assert_int_equal(md_bcast_copy(&f->reader, buffer, sizeof(buffer), &batch),
                             MD_BCAST_READ);
            assert_true(number_at(buffer) == i);
            copied++;
        }
    }
    assert_int_equal(md_bcast_peek(&f->reader, &number, 8, &record, &batch), MD_BCAST_EMPTY);
    assert_true(copied == 286);
}

static void what_is_no_ring_is_refused(void **state)
{
    struct fixture *f = *state;
    struct md_bcast_memory *memory = f->memory;
    struct md_bcast_writer writer;

    assert_int_equal(md_bcast_reader_init(&f->reader, memory, 100), MD_ERR_MALFORMED);
    assert_int_equal(md_bcast_reader_init(&f->reader, memory, md_bcast_bytes(SIZE) - 1),
                     MD_ERR_MALFORMED);
    memory->magic++;
    assert_int_equal(md_bcast_reader_init(&f->reader, memory, md_bcast_bytes(SIZE)),
                     MD_ERR_MALFORMED);
    assert_int_equal(md_bcast_writer_init(&writer, memory, SIZE + 8, 0), MD_ERR_RANGE);
    assert_true(md_bcast_write(&f->writer, 1, 0, NULL, 0, memory, SIZE / 4 - 7) == UINT64_MAX);
}

static void a_writer_that_breaks_the_rules_is_found_out(void **state)
{
    struct fixture *f = *state;
    struct md_bcast_memory *memory = f->memory;
    uint8_t buffer[256] __attribute__((aligned(8)));
    static const uint64_t words[] = { 0, 7, (1ull << 32) | 65, (1ull << 32) | UINT32_MAX, 64 };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct md_bcast_batch batch;
        atomic_store(&memory->data[0], words[i]);
        atomic_store(&memory->written, 64);
        f->reader.cursor = f->reader.written = 0;
        assert_int_equal(md_bcast_read(&f->reader, buffer, sizeof(buffer), &batch),
                         MD_BCAST_CORRUPT);
    }
}

/*
 * The stress test. Each record says its sequence number, its position and the checksum of its body;
 * a reader proves with them that it never saw a torn, reordered or silently missing record.
 */
#define READERS      4
#define STRESS_SIZE  (32u << 20)
#define LARGE_RECORD ((4u << 20) + 40)
#define POOL_BYTES   (LARGE_RECORD + 65536)

struct reader_state {
    struct md_sleep_flag sleeps;
    struct md_ctr cursor;
    struct md_ctr records;
    struct md_ctr lapped;
    struct md_ctr errors;
    struct md_ctr large;
    uint8_t pad[64];
};

struct stress {
    struct md_ctr is_over;
    struct reader_state readers[READERS];
    void *memory;
    void *view;    /* the readers' mapping: read-only */
    uint8_t *pool; /* random bytes, of which bodies are parts */
    size_t small_max;
};

struct head {
    uint64_t number;
    uint64_t position;
    uint64_t sum;
};

static uint64_t checksum(const uint8_t *bytes, size_t length)
{
    uint64_t lanes[4] = { 1, 2, 3, length };
    uint64_t words[4];

    for (; length >= 32; length -= 32, bytes += 32) {
        memcpy(words, bytes, 32);
        for (int i = 0; i < 4; i++)
            lanes[i] = (lanes[i] ^ words[i]) * 0x9e3779b97f4a7c15ull;
    }
    for (; length > 0; length--)
        lanes[0] = (lanes[0] ^ *bytes++) * 0x9e3779b97f4a7c15ull;
    return lanes[0] ^ lanes[1] >> 7 ^ lanes[2] >> 13 ^ lanes[3] >> 29;
}

struct checker {
    struct reader_state *state;
    uint64_t next; /* number of the next record, if is_synced */
    bool is_synced;
    uint64_t position; /* of the next record after a lap */
    bool is_lapped;
};

static void check_record(struct checker *checker, const uint8_t *bytes, struct md_record record)
{
    struct head head;

    memcpy(&head, bytes + 8, sizeof(head));
    if (checksum(bytes + 8 + sizeof(head), record.length - 8 - sizeof(head)) != head.sum ||
        (checker->is_synced && head.number != checker->next) ||
        (!checker->is_synced && head.number < checker->next) ||
        (checker->is_lapped && head.position != checker->position))
        md_ctr_inc(&checker->state->errors);
    checker->next = head.number + 1;
    checker->is_synced = true;
    checker->is_lapped = false;
    md_ctr_inc(&checker->state->records);
    if (record.length >= LARGE_RECORD)
        md_ctr_inc(&checker->state->large);
}

static void take(struct checker *checker, enum md_bcast_result result,
                 const struct md_bcast_batch *batch)
{
    if (result == MD_BCAST_LAPPED) {
        md_ctr_inc(&checker->state->lapped);
        checker->is_synced = false;
        checker->is_lapped = true;
        checker->position = batch->lost_to;
    } else if (result == MD_BCAST_READ) {
        struct md_record record = { 0 };
        size_t at = 0;
        for (const uint8_t *bytes; (bytes = md_bcast_batch_next(batch, &at, &record)) != NULL;)
            check_record(checker, bytes, record);
    } else if (result == MD_BCAST_CORRUPT) {
        md_ctr_inc(&checker->state->errors);
    }
}

/* One step by one of the two ways to read, chosen at random. */
static enum md_bcast_result step(struct md_bcast_reader *reader, struct checker *checker,
                                 struct md_prng *prng, uint8_t *buffer)
{
    struct md_bcast_batch batch;
    enum md_bcast_result result;

    if (md_prng_below(prng, 3)) {
        size_t size = 64u << md_prng_below(prng, 12);
        result = md_bcast_read(reader, buffer, size, &batch);
        if (result == MD_BCAST_LARGE)
            result = md_bcast_read(reader, buffer, LARGE_RECORD + 64, &batch);
    } else {
        struct md_record record = { 0 };
        struct head head;
        result = md_bcast_peek(reader, &head, sizeof(head), &record, &batch);
        if (result == MD_BCAST_READ && checker->is_synced && head.number != checker->next)
            md_ctr_inc(&checker->state->errors);
        if (result == MD_BCAST_READ)
            result = md_bcast_copy(reader, buffer, LARGE_RECORD + 64, &batch);
    }
    take(checker, result, &batch);
    return result;
}

static void read_all(struct stress *stress, int index, uint64_t seed)
{
    struct checker checker = { .state = &stress->readers[index] };
    struct md_prng prng = md_prng_init(seed);
    struct md_bcast_reader reader;
    uint8_t *buffer = malloc(LARGE_RECORD + 64);

    if (!buffer || md_bcast_reader_init(&reader, stress->view, md_bcast_bytes(STRESS_SIZE)))
        md_ctr_inc(&checker.state->errors);
    while (buffer && md_ctr_get(&checker.state->errors) == 0) {
        bool is_over = atomic_load(&stress->is_over.value) != 0;
        enum md_bcast_result result = step(&reader, &checker, &prng, buffer);
        md_ctr_set(&checker.state->cursor, reader.cursor);
        if (result == MD_BCAST_EMPTY && is_over)
            break;
        if (result == MD_BCAST_EMPTY && md_bcast_reader_arm(&reader, &checker.state->sleeps)) {
            md_sleep_flag_wait(&checker.state->sleeps, 100 * MD_NS_PER_MS);
            md_sleep_flag_clear(&checker.state->sleeps);
        }
        if (md_prng_below(&prng, 1000) == 0)
            usleep(md_prng_below(&prng, 100000)); /* a stall */
    }
    free(buffer);
}

static void wake_readers(struct stress *stress)
{
    for (int i = 0; i < READERS; i++) {
        if (md_sleep_flag_take(&stress->readers[i].sleeps))
            md_sleep_flag_wake(&stress->readers[i].sleeps);
    }
}

static bool somebody_lags(const struct stress *stress, const struct md_bcast_writer *writer)
{
    for (int i = 0; i < READERS; i++) {
        uint64_t lag = writer->next - md_ctr_get(&stress->readers[i].cursor);
        if (lag > STRESS_SIZE / 2 && lag < STRESS_SIZE)
            return true;
    }
    return false;
}

static size_t body_length(const struct stress *stress, struct md_prng *prng)
{
    uint32_t kind = md_prng_below(prng, 20000);

    if (kind == 0)
        return LARGE_RECORD - 32;
    if (kind < 400)
        return 1 + md_prng_below(prng, 65536);
    return 1 + md_prng_below(prng, (uint32_t)stress->small_max);
}

/* At full speed for a while, then for a while no faster than readers that are not stalled. */
static void write_some(struct stress *stress, struct md_bcast_writer *writer, struct md_prng *prng,
                       uint64_t count)
{
    for (uint64_t end = writer->records + count; writer->records < end;) {
        bool is_patient = md_prng_below(prng, 8) != 0;
        for (int batches = is_patient ? 200 : 3000; batches > 0; batches--) {
            for (uint32_t n = md_prng_below(prng, 64) + 1; n > 0; n--) {
                size_t length = body_length(stress, prng);
                const uint8_t *body = stress->pool + md_prng_below(prng, 65536);
                struct head head = { .number = writer->records,
                                     .position = writer->next,
                                     .sum = checksum(body, length) };
                md_bcast_write(writer, 1, 0, &head, sizeof(head), body, length);
            }
            md_bcast_commit(writer);
            wake_readers(stress);
            for (int i = 0; is_patient && i < 100 && somebody_lags(stress, writer); i++)
                sched_yield();
        }
    }
}

/* What the tests below share: a ring in a memfd, mapped once to write and once only to read. */
static struct stress *stress_create(struct md_bcast_writer *writer)
{
    size_t bytes = md_bcast_bytes(STRESS_SIZE);
    struct md_prng prng = md_prng_init(99);
    struct stress *stress =
        mmap(NULL, sizeof(*stress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = memfd_create("bcast", MFD_CLOEXEC);

    assert_true(stress != MAP_FAILED && fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    stress->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *view = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(stress->memory != MAP_FAILED && view != MAP_FAILED);
    stress->view = view;
    stress->pool = malloc(POOL_BYTES);
    assert_non_null(stress->pool);
    for (size_t i = 0; i + 8 <= POOL_BYTES; i += 8) {
        uint64_t word = md_prng_u64(&prng);
        memcpy(stress->pool + i, &word, 8);
    }
    stress->small_max = 400;
    assert_int_equal(md_bcast_writer_init(writer, stress->memory, STRESS_SIZE, 0), MD_OK);
    return stress;
}

static void stress_destroy(struct stress *stress)
{
    size_t bytes = md_bcast_bytes(STRESS_SIZE);

    munmap(stress->view, bytes);
    munmap(stress->memory, bytes);
    free(stress->pool);
    munmap(stress, sizeof(*stress));
}

#if defined(__SANITIZE_THREAD__)
#define SLOWNESS 4 /* ThreadSanitizer sees every word: fewer records will do */
#else
#define SLOWNESS 1
#endif

static uint64_t record_count(uint64_t usual)
{
    const char *text = getenv("MD_STRESS_RECORDS");

    return text ? strtoull(text, NULL, 10) : usual / SLOWNESS;
}

static void report(const struct stress *stress, const struct md_bcast_writer *writer)
{
    uint64_t large = 0;

    for (int i = 0; i < READERS; i++) {
        print_message("  reader %d: %llu records, lapped %llu times\n", i,
                      (unsigned long long)md_ctr_get(&stress->readers[i].records),
                      (unsigned long long)md_ctr_get(&stress->readers[i].lapped));
        assert_true(md_ctr_get(&stress->readers[i].errors) == 0);
        assert_true(md_ctr_get(&stress->readers[i].records) > 0);
        large += md_ctr_get(&stress->readers[i].large);
    }
    print_message("  %llu records written, %llu MiB; large ones read: %llu\n",
                  (unsigned long long)writer->records, (unsigned long long)(writer->next >> 20),
                  (unsigned long long)large);
}

static pid_t start_reader(struct stress *stress, int index, uint64_t seed)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    munmap(stress->memory, md_bcast_bytes(STRESS_SIZE)); /* a reader cannot write */
    read_all(stress, index, seed);
    _exit(0);
}

static void processes_that_stall_and_die_never_see_a_torn_or_missing_record(void **state)
{
    struct md_bcast_writer writer;
    struct stress *stress = stress_create(&writer);
    struct md_prng prng = md_prng_init(1);
    uint64_t total = record_count(2000000);
    pid_t pids[READERS];
    int status;

    (void)state;
    for (int i = 0; i < READERS; i++)
        pids[i] = start_reader(stress, i, (uint64_t)i);
    for (uint64_t seed = READERS; writer.records < total; seed++) {
        int victim = (int)md_prng_below(&prng, READERS);
        write_some(stress, &writer, &prng, total / 20);
        assert_int_equal(kill(pids[victim], SIGKILL), 0);
        assert_int_equal(waitpid(pids[victim], &status, 0), pids[victim]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        md_sleep_flag_clear(&stress->readers[victim].sleeps);
        pids[victim] = start_reader(stress, victim, seed);
    }
    atomic_store(&stress->is_over.value, 1);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    report(stress, &writer);
    stress_destroy(stress);
}

struct reader_thread {
    struct stress *stress;
    int index;
    pthread_t thread;
};

static void *reader_main(void *arg)
{
    struct reader_thread *thread = arg;

    read_all(thread->stress, thread->index, (uint64_t)thread->index);
    return NULL;
}

static void threads_that_stall_never_see_a_torn_or_missing_record(void **state)
{
    struct reader_thread threads[READERS];
    struct md_bcast_writer writer;
    struct stress *stress = stress_create(&writer);
    struct md_prng prng = md_prng_init(2);

    (void)state;
    for (int i = 0; i < READERS; i++) {
        threads[i] = (struct reader_thread){ .stress = stress, .index = i };
        assert_int_equal(pthread_create(&threads[i].thread, NULL, reader_main, &threads[i]), 0);
    }
    write_some(stress, &writer, &prng, record_count(150000));
    atomic_store(&stress->is_over.value, 1);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i].thread, NULL);
    report(stress, &writer);
    stress_destroy(stress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_holds_what_was_committed_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_small_buffer_gets_whole_records_only, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lapped_reader_knows_what_it_missed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_being_overwritten_is_never_given, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lag_limit_laps_earlier_than_the_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_wants_few_peeks_and_skips, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_ring_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_writer_that_breaks_the_rules_is_found_out, setup,
                                        teardown),
        cmocka_unit_test(processes_that_stall_and_die_never_see_a_torn_or_missing_record),
        cmocka_unit_test(threads_that_stall_never_see_a_torn_or_missing_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
