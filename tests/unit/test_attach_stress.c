/* test_attach_stress.c - the rings that ship, with both sides running at once: laps, stalls, kills.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/attach.h"
#include "attach/shm.h"
#include "base/err.h"
#include "base/prng.h"
#include "internal.h"

/*
 * MD_STRESS_RECORDS makes it longer than an ordinary run. Each payload follows from its session and
 * number, so a torn or foreign byte in anything delivered is found.
 */
#ifdef __SANITIZE_THREAD__
#define RECORDS 20000
enum { STOPS = 5, KILLS = 10 };
#else
#define RECORDS 200000
enum { STOPS = 40, KILLS = 100 };
#endif
enum { INBOUND = 1 << 17, OUTBOUND = 1 << 16, PEERS = 4, FIRST_PEER = 100, OWN = 1, EVENTS = 64 };
enum { LENGTH_MAX = 1500, PUBLISH_EACH = 7 };

static uint64_t records(void)
{
    const char *text = getenv("MD_STRESS_RECORDS");

    return text ? strtoull(text, NULL, 10) : RECORDS;
}

static uint32_t length_of(uint64_t session, uint64_t seq)
{
    return (uint32_t)((session * 131 + seq * 2654435761u) % LENGTH_MAX);
}

static void fill(uint8_t *bytes, uint64_t session, uint64_t seq, uint32_t length)
{
    struct md_prng prng = md_prng_init(session << 40 ^ seq);
    uint64_t word = 0;

    for (uint32_t i = 0; i < length; i++) {
        word = i % 8 == 0 ? md_prng_u64(&prng) : word >> 8;
        bytes[i] = (uint8_t)word;
    }
}

static bool is_right(const uint8_t *bytes, uint64_t session, uint64_t seq, uint32_t length)
{
    uint8_t expected[LENGTH_MAX];

    if (length != length_of(session, seq))
        return false;
    fill(expected, session, seq, length);
    return memcmp(bytes, expected, length) == 0;
}

/* ---- inbound: one writer -------------------------------------------------------------------- */

static void put(struct attach_inbound_writer *writer, uint8_t type, uint64_t session, uint64_t seq)
{
    uint8_t bytes[LENGTH_MAX];
    struct backbone_event event = { .type = type, .session = session, .seq = seq, .topic = 7 };

    if (type == BACKBONE_MESSAGE) {
        event.length = length_of(session, seq);
        event.bytes = bytes;
        fill(bytes, session, seq, event.length);
    }
    attach_inbound_put(writer, &event);
}

static struct attach_inbound_writer *make_writer(void)
{
    struct attach_inbound_config config = { .size = INBOUND, .session = OWN, .message_max = 8192 };
    struct attach_inbound_writer *writer;

    assert_int_equal(attach_inbound_create(&config, &writer), 0);
    for (uint64_t peer = 0; peer < PEERS; peer++)
        put(writer, BACKBONE_PEER_UP, FIRST_PEER + peer, 0);
    attach_inbound_publish(writer);
    return writer;
}

/* Sessions that come, send ten messages and go, between those that stay. */
static void put_round(struct attach_inbound_writer *writer, uint64_t round)
{
    uint64_t guest = 1000 + round;

    if (round % 32 == 0)
        put(writer, BACKBONE_PEER_UP, guest, 0);
    for (uint64_t peer = 0; peer < PEERS; peer++)
        put(writer, BACKBONE_MESSAGE, FIRST_PEER + peer, round + 1);
    if (round % 32 == 0) {
        for (uint64_t seq = 1; seq <= 10; seq++)
            put(writer, BACKBONE_MESSAGE, guest, seq);
        put(writer, BACKBONE_PEER_DOWN, guest, 0);
    }
    if (round % PUBLISH_EACH == 0)
        attach_inbound_publish(writer);
}

/* ---- inbound: readers that check all they get ----------------------------------------------- */

struct check {
    const struct attach_inbound_map *map;
    struct attach_counters counters;
    struct inbound_reader reader;
    uint64_t stall_every; /* batches between two stalls of more than a lap, 0 = none */
    uint64_t last[PEERS]; /* delivered or reported as missed up to here */
    uint64_t delivered, missed;
    uint64_t batches;
    const char *wrong; /* the first thing that was wrong */
};

static const struct attach_inbound_map *map_of(const struct attach_inbound_writer *writer)
{
    void *map = mmap(NULL, sizeof(struct attach_inbound_map) + INBOUND, PROT_READ, MAP_SHARED,
                     attach_inbound_fd(writer), 0);

    assert_ptr_not_equal(map, MAP_FAILED);
    return map;
}

static struct check *check_make(const struct attach_inbound_map *map)
{
    struct check *check = calloc(1, sizeof(*check));

    assert_non_null(check);
    check->map = map;
    check->reader.counters = &check->counters;
    assert_int_equal(inbound_start(&check->reader, map, 1), 0);
    return check;
}

static void check_destroy(struct check *check)
{
    inbound_fini(&check->reader);
    free(check);
}

static void check_message(struct check *check, const struct backbone_event *event)
{
    if (!is_right(event->bytes, event->session, event->seq, event->length)) {
        check->wrong = "a payload is not the one that was written";
        return;
    }
    if (event->session < FIRST_PEER || event->session >= FIRST_PEER + PEERS)
        return;
    uint64_t *last = &check->last[event->session - FIRST_PEER];
    if (event->seq != *last + 1)
        check->wrong = "a message was skipped or came twice and no gap says so";
    *last = event->seq;
    check->delivered++;
}

static void check_gap(struct check *check, const struct backbone_event *event)
{
    if (event->session < FIRST_PEER || event->session >= FIRST_PEER + PEERS)
        return;
    uint64_t *last = &check->last[event->session - FIRST_PEER];
    if (event->seq != *last || event->last - event->seq != event->count)
        check->wrong = "a gap does not name exactly what was missed";
    *last = event->last;
    check->missed += event->count;
}

static int check_batch(struct check *check)
{
    struct backbone_event events[EVENTS];
    int count = inbound_read(&check->reader, events, EVENTS);

    for (int i = 0; i < count && !check->wrong; i++) {
        if (events[i].type == BACKBONE_MESSAGE)
            check_message(check, &events[i]);
        else if (events[i].type == BACKBONE_GAP)
            check_gap(check, &events[i]);
    }
    return count;
}

static uint64_t written_of(const struct attach_inbound_map *map)
{
    return atomic_load_explicit(&map->written, memory_order_acquire);
}

/* ---- threads -------------------------------------------------------------------------------- */

struct stage {
    struct attach_inbound_writer *writer;
    _Atomic bool is_done;
};

struct reader_thread {
    struct stage *stage;
    struct check *check;
    pthread_t thread;
};

/* Stands still until the writer has come around, or has ended. */
static void stall(struct reader_thread *r)
{
    uint64_t from = written_of(r->check->map);

    while (written_of(r->check->map) - from < 2 * (uint64_t)INBOUND &&
           !atomic_load(&r->stage->is_done))
        sched_yield();
}

static void *read_all(void *argument)
{
    struct reader_thread *r = argument;

    for (;;) {
        bool was_done = atomic_load(&r->stage->is_done);
        int count = check_batch(r->check);

        if (r->check->wrong || (count == 0 && was_done))
            return NULL;
        if (count == 0)
            sched_yield();
        else if (r->check->stall_every && ++r->check->batches % r->check->stall_every == 0)
            stall(r);
    }
}

static void many_readers_get_each_message_whole_or_are_told_of_it(void **state)
{
    static const uint64_t stalls[] = { 0, 0, 5, 100 };
    enum { READERS = sizeof(stalls) / sizeof(stalls[0]) };
    struct stage stage = { .writer = make_writer() };
    struct reader_thread readers[READERS];
    const struct attach_inbound_map *map = map_of(stage.writer);
    uint64_t rounds = records() / PEERS;

    (void)state;
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader_thread){ .stage = &stage, .check = check_make(map) };
        readers[i].check->stall_every = stalls[i];
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    for (uint64_t round = 0; round < rounds; round++)
        put_round(stage.writer, round);
    attach_inbound_publish(stage.writer);
    atomic_store(&stage.is_done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        if (readers[i].check->wrong)
            fail_msg("reader %d: %s", i, readers[i].check->wrong);
        for (int peer = 0; peer < PEERS; peer++)
            assert_int_equal(readers[i].check->last[peer], rounds);
        assert_int_equal(readers[i].check->delivered + readers[i].check->missed, rounds * PEERS);
        if (stalls[i] == 5)
            assert_true(readers[i].check->counters.overruns > 0);
        check_destroy(readers[i].check);
    }
    munmap((void *)(uintptr_t)map, sizeof(*map) + INBOUND);
    attach_inbound_destroy(stage.writer);
}

/* ---- outbound ------------------------------------------------------------------------------- */

struct outbound {
    struct attach_outbound_map *map;
    uint64_t count;
    int wake[2]; /* what the daemon writes when half of a full ring is free again */
    const char *wrong;
};

static void write_one(struct outbound_writer *writer, struct outbound *o, uint64_t seq)
{
    struct backbone_target target = { .topic = (uint32_t)seq };
    uint32_t length = length_of(OWN, seq);
    uint8_t *room;
    uint8_t byte;

    while (outbound_claim(writer, &target, length, &room) == MD_ERR_FULL) {
        /* A wake-up that is lost leaves this read waiting for ever: the test's limit tells. */
        if (read(o->wake[0], &byte, 1) != 1)
            abort();
        writer->is_waiting = false;
    }
    fill(room, OWN, seq, length);
    outbound_commit(writer, length);
}

static void *write_outbound(void *argument)
{
    struct outbound *o = argument;
    struct outbound_writer writer;

    outbound_writer_init(&writer, o->map, OUTBOUND);
    for (uint64_t seq = 1; seq <= o->count; seq++) {
        write_one(&writer, o, seq);
        if (seq % PUBLISH_EACH == 0)
            outbound_publish(&writer);
    }
    outbound_publish(&writer);
    return NULL;
}

static uint64_t take_all(struct outbound *o, struct attach_outbound_reader *reader, uint64_t got)
{
    struct rrcp_msg msg;

    for (int i = 0; i < 100; i++) {
        int result = attach_outbound_peek(reader, &msg);

        if (result < 0)
            o->wrong = "the daemon calls the ring of an honest user malformed";
        if (result != 1)
            break;
        got++;
        if (msg.topic != (uint32_t)got || !is_right(msg.bytes, OWN, got, msg.length))
            o->wrong = "a message is not the one that was written";
        attach_outbound_take(reader);
    }
    attach_outbound_release(reader);
    if (attach_outbound_wake(reader) && write(o->wake[1], "w", 1) != 1)
        abort();
    return got;
}

static void each_message_to_the_daemon_arrives_once_and_in_order(void **state)
{
    struct outbound o = { .count = records() };
    struct attach_outbound_reader reader;
    pthread_t thread;
    uint64_t got = 0;
    int fd;

    (void)state;
    assert_int_equal(attach_outbound_create(OUTBOUND, &fd, &o.map), 0);
    assert_int_equal(pipe(o.wake), 0);
    attach_outbound_reader_init(&reader, o.map, OUTBOUND);
    assert_int_equal(pthread_create(&thread, NULL, write_outbound, &o), 0);
    while (got < o.count && !o.wrong) {
        uint64_t before = got;

        got = take_all(&o, &reader, got);
        if (got == before)
            sched_yield();
    }
    if (o.wrong)
        fail_msg("%s", o.wrong);
    pthread_join(thread, NULL);
    assert_false(attach_outbound_waiting(&reader));
    close(o.wake[0]);
    close(o.wake[1]);
    close(fd);
    munmap(o.map, attach_outbound_map_bytes(OUTBOUND));
}

/* ---- processes ------------------------------------------------------------------------------ */

static void expect_no_child_failed(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Reads until everything was delivered or reported; the exit status tells what was wrong. */
static void read_in_a_process(struct check *check, uint64_t rounds)
{
    bool is_all = false;

    while (!check->wrong && !is_all) {
        if (check_batch(check) == 0)
            sched_yield();
        is_all = true;
        for (int peer = 0; peer < PEERS; peer++)
            is_all = is_all && check->last[peer] == rounds;
    }
    if (check->wrong)
        fprintf(stderr, "reader process: %s\n", check->wrong);
    _exit(check->wrong ? 1 : 0);
}

static void await_lap(struct attach_inbound_writer *writer, uint64_t *round, uint64_t laps)
{
    uint64_t until = attach_inbound_position(writer) + laps * INBOUND;

    while (attach_inbound_position(writer) < until)
        put_round(writer, (*round)++);
}

/* SIGSTOP freezes a reader anywhere: in the middle of a copy, of a table, between two loads. */
static void a_process_stopped_while_it_reads_is_told_what_it_missed(void **state)
{
    struct attach_inbound_writer *writer = make_writer();
    const struct attach_inbound_map *map = map_of(writer);
    uint64_t rounds = 0;

    (void)state;
    /* The child has to know the end before it starts: what the stops below write, and a rest. */
    uint64_t total = (uint64_t)STOPS * 8 * (INBOUND / 1024);
    struct check *check = check_make(map); /* the child's copy of it begins before all writing */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        read_in_a_process(check, total);
    for (int i = 0; i < STOPS && rounds + 4096 < total; i++) {
        await_lap(writer, &rounds, 1);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        await_lap(writer, &rounds, 2);
        assert_int_equal(kill(pid, SIGCONT), 0);
    }
    while (rounds < total)
        put_round(writer, rounds++);
    attach_inbound_publish(writer);
    expect_no_child_failed(pid);
    check_destroy(check);
    munmap((void *)(uintptr_t)map, sizeof(*map) + INBOUND);
    attach_inbound_destroy(writer);
}

static void write_for_ever(struct attach_inbound_writer *writer)
{
    for (uint64_t round = 0;; round++)
        put_round(writer, round);
}

/* A daemon killed in the middle of a record or of the table: nobody hangs, nothing torn comes out.
 */
static void a_writer_killed_anywhere_leaves_readers_alive_and_right(void **state)
{
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        struct attach_inbound_writer *writer = make_writer();
        const struct attach_inbound_map *map = map_of(writer);
        struct check *check = check_make(map);
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            write_for_ever(writer);
        /* Past a lap, and each time at another place. */
        while (written_of(map) < INBOUND + (uint64_t)i * 4099)
            (void)check_batch(check);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (check_batch(check) > 0)
            ;
        if (check->wrong)
            fail_msg("%s", check->wrong);
        /* Somebody who attaches now must come back from it, too. */
        check_destroy(check);
        check = check_make(map);
        while (check_batch(check) > 0)
            ;
        check_destroy(check);
        munmap((void *)(uintptr_t)map, sizeof(*map) + INBOUND);
        attach_inbound_destroy(writer);
    }
}

/* The moment that the kills above hit by chance only. */
static void a_table_left_half_written_stops_no_reader(void **state)
{
    struct attach_inbound_writer *writer = make_writer();
    const struct attach_inbound_map *real = map_of(writer);
    size_t bytes = sizeof(*real) + INBOUND;
    struct attach_inbound_map *map =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct backbone_event events[EVENTS];

    (void)state;
    assert_ptr_not_equal(map, MAP_FAILED);
    memcpy((void *)map, real, bytes);
    atomic_fetch_add(&map->table_version, 1);
    struct check *check = check_make(map);
    assert_int_equal(inbound_read(&check->reader, events, EVENTS), 0);
    assert_false(inbound_has_more(&check->reader)); /* it may sleep: the daemon will wake it */
    atomic_fetch_add(&map->table_version, 1);
    assert_true(inbound_has_more(&check->reader));
    assert_int_equal(inbound_read(&check->reader, events, EVENTS), PEERS);
    assert_int_equal(events[0].type, BACKBONE_PEER_UP);
    check_destroy(check);
    munmap(map, bytes);
    munmap((void *)(uintptr_t)real, bytes);
    attach_inbound_destroy(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_readers_get_each_message_whole_or_are_told_of_it),
        cmocka_unit_test(each_message_to_the_daemon_arrives_once_and_in_order),
        cmocka_unit_test(a_table_left_half_written_stops_no_reader),
        cmocka_unit_test(a_process_stopped_while_it_reads_is_told_what_it_missed),
        cmocka_unit_test(a_writer_killed_anywhere_leaves_readers_alive_and_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
