/* test_status_sampler.c - a sample says what a daemon did since the one before. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/loop.h"
#include "status/sampler.h"

#define SECOND 1000000000ull

struct fixture {
    struct stats_segment *segment;
    struct stats_reader *reader;
    struct status_look look;
    struct stats_sample sample;
    const char *process;
    double cpu_s;
    uint64_t now_ns;
};

static int set_up(void **state)
{
    const struct stats_config config = { .process = "p2ps", .instance = "1" };
    struct fixture *f = calloc(1, sizeof(*f));

    if (!f || stats_segment_open(&config, &f->segment, NULL) != MD_OK ||
        stats_reader_attach(f->segment, &f->reader) != MD_OK)
        return -1;
    f->process = "p2ps";
    f->now_ns = SECOND;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    stats_reader_close(f->reader);
    stats_segment_close(f->segment);
    free(f);
    return 0;
}

static void count(const struct fixture *f, const char *path, uint64_t value)
{
    md_ctr_set(stats_counter(f->segment, path), value);
}

static void set(const struct fixture *f, const char *path, uint64_t value)
{
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, path), value);
}

static void look(struct fixture *f)
{
    const struct status_self self = { .cpu_s = f->cpu_s, .resident_bytes = 4096 };

    assert_int_equal(stats_reader_refresh(f->reader), MD_OK);
    status_sample_take(&f->look, f->reader, f->process, f->now_ns, &self, &f->sample);
    f->now_ns += 5 * SECOND;
}

static void expect(const struct fixture *f, enum stats_history_of of, double wanted)
{
    double value = (double)f->sample.values[of];

    if (isnan(wanted) ? !isnan(value) : !(fabs(value - wanted) <= 1e-3 * fabs(wanted) + 1e-9))
        fail_msg("value %d is %g, not %g", (int)of, value, wanted);
}

static void rates_are_those_between_two_looks(void **state)
{
    struct fixture *f = *state;

    count(f, "p2ps.worker.0.updatesIn", 1000);
    count(f, "p2ps.worker.1.updatesIn", 500);
    count(f, "p2ps.worker.0.updatesOut", 7);
    set(f, "p2ps.worker.0.itemsOpen", 40);
    look(f);
    expect(f, STATS_HISTORY_IN, (double)NAN);
    expect(f, STATS_HISTORY_CPU, (double)NAN);
    expect(f, STATS_HISTORY_ITEMS, 40);
    count(f, "p2ps.worker.0.updatesIn", 2000);
    count(f, "p2ps.worker.1.updatesIn", 1000);
    count(f, "p2ps.worker.0.gapsSeen", 10);
    f->cpu_s = 1;
    look(f);
    expect(f, STATS_HISTORY_IN, 300);
    expect(f, STATS_HISTORY_OUT, 0);
    expect(f, STATS_HISTORY_LOSS, 2);
    expect(f, STATS_HISTORY_LOSS_2, (double)NAN);
    expect(f, STATS_HISTORY_CPU, 20);
    expect(f, STATS_HISTORY_MEMORY, 4096);
}

static void a_counter_that_went_back_has_no_rate(void **state)
{
    struct fixture *f = *state;

    count(f, "p2ps.worker.0.updatesIn", 1000);
    look(f);
    count(f, "p2ps.worker.0.updatesIn", 10);
    look(f);
    expect(f, STATS_HISTORY_IN, (double)NAN);
    count(f, "p2ps.worker.0.updatesIn", 60);
    look(f);
    expect(f, STATS_HISTORY_IN, 10);
}

static void what_parts_count_is_not_counted_again(void **state)
{
    struct fixture *f = *state;

    set(f, "p2ps.worker.0.mounts", 2);
    set(f, "p2ps.user.jim.mounts", 2);
    set(f, "memory.max.mounts", 823800000);
    look(f);
    expect(f, STATS_HISTORY_CLIENTS, 2);
}

static void turns_are_those_since_the_look_before(void **state)
{
    struct fixture *f = *state;
    struct md_hist *one = stats_histogram_add(f->segment, "p2ps.worker.0.turnUs");
    struct md_hist *two = stats_histogram_add(f->segment, "p2ps.worker.1.turnUs");

    md_hist_record_many(one, 100000, 1000);
    look(f);
    expect(f, STATS_HISTORY_TURN_P50_US, (double)NAN);
    md_hist_record_many(one, 50, 98);
    md_hist_record(two, 90);
    md_hist_record(two, 120);
    look(f);
    expect(f, STATS_HISTORY_TURN_P50_US, 50);
    expect(f, STATS_HISTORY_TURN_P99_US, 90);
    expect(f, STATS_HISTORY_TURN_MAX_US, 120);
    look(f);
    expect(f, STATS_HISTORY_TURN_MAX_US, (double)NAN);
}

static void the_fullest_consumer_and_the_longest_trips_are_known(void **state)
{
    struct fixture *f = *state;

    set(f, "p2ps.mount.0.1.buffers", 30);
    set(f, "p2ps.mount.0.1.buffersMax", 400);
    set(f, "p2ps.mount.0.2.buffers", 100); /* its other entry stands elsewhere */
    set(f, "p2ps.mount.0.3.buffers", 40);
    set(f, "p2ps.mount.0.3.buffersMax", 400);
    set(f, "p2ps.mount.0.2.buffersMax", 400);
    set(f, "p2ps.mount.0.1.rttUs", 70);
    set(f, "p2ps.mount.0.2.rttUs", 200);
    set(f, "p2ps.mount.0.3.rttUs", 0); /* not measured */
    set(f, "p2ps.worker.0.poolBytes", 10);
    set(f, "p2ps.worker.0.poolBytesMax", 40);
    look(f);
    expect(f, STATS_HISTORY_QUEUE, 25);
    expect(f, STATS_HISTORY_POOL, 25);
    expect(f, STATS_HISTORY_TRIP_US, 200);
}

static void rrcpd_and_src_dist_have_figures_of_their_own(void **state)
{
    struct fixture *f = *state;

    f->process = "rrcpd.net1";
    count(f, "rrcpd.net1.msgsSent", 0);
    count(f, "rrcpd.net1.msgsRcvd", 0);
    set(f, "rrcpd.net1.poolUse", 5);
    set(f, "rrcpd.net1.poolSize", 10);
    set(f, "rrcpd.net1.inboundRingBytes", 1000);
    set(f, "rrcpd.net1.user.3.userQUse", 10);
    set(f, "rrcpd.net1.user.4.userQUse", 100);
    set(f, "rrcpd.net1.users", 2);
    set(f, "rrcpd.net1.peersNow", 3);
    look(f);
    count(f, "rrcpd.net1.msgsSent", 50);
    count(f, "rrcpd.net1.msgsRcvd", 500);
    look(f);
    expect(f, STATS_HISTORY_OUT, 10);
    expect(f, STATS_HISTORY_IN, 100);
    expect(f, STATS_HISTORY_QUEUE, 50);
    expect(f, STATS_HISTORY_POOL, 10);
    expect(f, STATS_HISTORY_CLIENTS, 2);
    expect(f, STATS_HISTORY_ITEMS, 3);
    f->process = "src_dist";
    set(f, "src_dist.outboundUse", 1);
    set(f, "src_dist.outboundSize", 8);
    look(f);
    expect(f, STATS_HISTORY_QUEUE, 12.5);
    expect(f, STATS_HISTORY_POOL, (double)NAN);
}

static void the_first_look_is_no_sample(void **state)
{
    const struct fixture *f = *state;
    struct stats_sample samples[STATS_HISTORY_CAPACITY];
    struct status_sampler *sampler;
    struct md_loop *loop;

    assert_int_equal(md_loop_create(0, &loop), MD_OK);
    const struct status_sampler_config config = {
        .loop = loop, .segment = f->segment, .process = "p2ps", .instance = "1"
    };
    assert_int_equal(status_sampler_open(&config, &sampler), MD_OK);
    assert_int_equal(stats_history_copy(status_sampler_history(sampler), samples), 0);
    assert_non_null(status_sampler_reader(sampler));
    status_sampler_close(sampler);
    md_loop_destroy(loop);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rates_are_those_between_two_looks),
        TEST(a_counter_that_went_back_has_no_rate),
        TEST(what_parts_count_is_not_counted_again),
        TEST(turns_are_those_since_the_look_before),
        TEST(the_fullest_consumer_and_the_longest_trips_are_known),
        TEST(rrcpd_and_src_dist_have_figures_of_their_own),
        TEST(the_first_look_is_no_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
