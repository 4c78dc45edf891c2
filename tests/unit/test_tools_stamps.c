/* test_tools_stamps.c - which updates carry the time, and that the published mean does not depend
 * on where they stand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "latency.h"
#include "sds.h"

/*
 * The real ticker, and in place of the network a model of it: the update in place n of a burst
 * arrives 50 + n microseconds after the burst began. So the true mean is known, and everything that
 * is drawn from the places can be judged without a clock.
 */
#define ITEMS      100u
#define BURST      1000u
#define BURSTS     200u
#define LATENCY(n) (50 + (int64_t)(n))

struct emitter {
    uint64_t due_ns; /* of the burst under way */
    uint32_t place;
    uint32_t bursts;
    uint64_t stamped_of[ITEMS];
    struct latency *all, *stamped;
};

static struct item items[ITEMS];
static struct emitter model;

bool emitter_update(struct emitter *emitter, struct item *item, bool is_stamped, uint64_t due_ns)
{
    if (due_ns != emitter->due_ns) {
        emitter->due_ns = due_ns;
        emitter->place = 0;
        emitter->bursts++;
    }
    if (emitter->bursts > BURSTS)
        return true;
    latency_record(emitter->all, LATENCY(emitter->place));
    if (is_stamped) {
        latency_record(emitter->stamped, LATENCY(emitter->place));
        emitter->stamped_of[item - items]++;
    }
    emitter->place++;
    return true;
}

bool emitter_resume(struct emitter *emitter)
{
    (void)emitter;
    return true;
}

void sds_counts_write(struct sds *sds)
{
    (void)sds;
}

void sds_clients_flush(struct sds *sds)
{
    (void)sds;
}

/* `first`: the list of open items begins with this one. */
static struct latency_summary run(const struct sds_options *options, uint32_t first)
{
    struct sds *sds = calloc(1, sizeof(*sds));
    struct item *open[ITEMS];
    struct latency_summary all, stamped;

    assert_non_null(sds);
    sds->options = *options;
    sds->options.rate = BURST * 1000u;
    sds->options.ticks_per_second = 1000;
    for (uint32_t i = 0; i < ITEMS; i++) {
        open[i] = &items[(first + i) % ITEMS];
        open[i]->at = i;
    }
    sds->open = open;
    sds->open_count = ITEMS;
    sds->stamp_item = &items[0];
    sds->prng = md_prng_init(7);
    memset(&model, 0, sizeof(model));
    sds->emitter = &model;
    assert_int_equal(latency_create(&model.all), MD_OK);
    assert_int_equal(latency_create(&model.stamped), MD_OK);
    assert_int_equal(md_loop_create(0, &sds->loop), MD_OK);
    assert_int_equal(ticker_create(sds, &sds->ticker), MD_OK);
    while (model.bursts <= BURSTS)
        assert_int_equal(md_loop_turn(sds->loop, MD_NS_PER_MS), MD_OK);
    latency_summary(model.all, &all);
    latency_summary(model.stamped, &stamped);
    assert_int_equal(all.count, BURST * BURSTS);
    assert_true(fabs(all.mean_us - (50 + (BURST - 1) / 2.0)) < 0.001);
    ticker_destroy(sds->ticker);
    md_loop_destroy(sds->loop);
    latency_destroy(model.all);
    latency_destroy(model.stamped);
    free(sds);
    return stamped;
}

static const double true_mean = 50 + (BURST - 1) / 2.0;

static void every_update_stamped_gives_the_mean_of_every_update(void **state)
{
    struct sds_options options = { .stamps = true, .stamps_all = true };

    (void)state;
    struct latency_summary s = run(&options, 0);
    assert_int_equal(s.count, BURST * BURSTS);
    assert_true(fabs(s.mean_us - true_mean) < 0.001);
}

/* The error of the mean of n draws from 0..999 is 289 / sqrt(n): here 4.1 us, five of them allowed.
 */
static void the_published_mean_does_not_depend_on_the_sampled_position(void **state)
{
    struct sds_options options = { .stamps = true, .stamp_item = "*", .stamp_rate = 25000 };
    double margin = 5 * 289 / sqrt(25.0 * BURSTS);

    (void)state;
    /* The item that the published method would sample stands first in the list, then in the middle,
     * then last. */
    for (uint32_t first = 0; first < ITEMS; first += 33) {
        struct latency_summary s = run(&options, (ITEMS - first) % ITEMS);
        assert_int_equal(s.count, 25 * BURSTS);
        assert_true(fabs(s.mean_us - true_mean) < margin);
        assert_true(s.min_us < 60 && s.max_us > 1040); /* from the whole burst */
        for (uint32_t i = 0; i < ITEMS; i++)
            assert_true(model.stamped_of[i] > 0); /* and from all items */
    }
}

/* That the test above could tell: a fixed place flatters, or harms. */
static void a_fixed_position_would_show(void **state)
{
    struct sds_options options = { .stamps = true, .stamp_item = "*", .stamp_rate = 25000 };

    (void)state;
    options.place = PLACE_FIRST;
    assert_true(run(&options, 0).mean_us < 0.2 * true_mean);
    options.place = PLACE_LAST;
    assert_true(run(&options, 0).mean_us > 1.8 * true_mean);
}

static void a_named_item_carries_the_time_wherever_it_stands(void **state)
{
    struct sds_options options = { .stamps = true, .stamp_item = "ITEM0", .stamp_rate = 1000 };

    (void)state;
    (void)run(&options, 0);
    assert_int_equal(model.stamped_of[0], BURSTS);
    (void)run(&options, 1);
    assert_int_equal(model.stamped_of[0], BURSTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_update_stamped_gives_the_mean_of_every_update),
        cmocka_unit_test(the_published_mean_does_not_depend_on_the_sampled_position),
        cmocka_unit_test(a_fixed_position_would_show),
        cmocka_unit_test(a_named_item_carries_the_time_wherever_it_stands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
