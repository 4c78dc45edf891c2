/* test_overload.c - more is asked than a provider answers: bounded, fair, and it settles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#define WINDOW 4
#define MANY   40

static int setup(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->open_window = WINDOW;
    pair_create(pair, (struct p2ps_core_config){ .keeps_images = true });
    *state = pair;
    return 0;
}

static const char *name_of(int n)
{
    static char name[16];

    snprintf(name, sizeof(name), "ITEM%d", n);
    return name;
}

/* The provider answers what it was asked and has not answered: one item. */
static bool answer_one(struct pair *pair)
{
    struct pair_provider *p = &pair->provider;

    for (size_t i = 0; i < PAIR_ITEMS; i++) {
        if (!p->items[i].is_open || p->items[i].counter != 100)
            continue;
        p->items[i].counter = 101;
        pair_say_image(p, &p->items[i], true);
        pair_settle(pair);
        return true;
    }
    return false;
}

static unsigned images(struct pair_client *c, int first, int count, char letter)
{
    unsigned found = 0;

    for (int i = 0; i < count; i++)
        found += strchr(pair_heard(c, first + i), letter) != NULL;
    return found;
}

static void no_more_is_outstanding_than_the_window(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.answers = false;
    for (int i = 0; i < MANY; i++)
        pair_open(c, 5 + i, name_of(i));
    for (unsigned answered = 0; answered < MANY; answered++) {
        unsigned asked = answered + WINDOW < MANY ? answered + WINDOW : MANY;
        assert_int_equal(pair->provider.requests, asked);
        assert_true(answer_one(pair));
    }
    assert_int_equal(images(c, 5, MANY, 'I'), MANY);
    assert_int_equal(srcdist_core_stats(pair->source)->pending_now, 0);
}

static void what_is_healthy_goes_on_ticking_meanwhile(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "TICKS");
    pair->provider.answers = false;
    for (int i = 0; i < MANY; i++)
        pair_open(b, 5 + i, name_of(i));
    for (int i = 0; i < 5; i++) {
        pair_update(pair, "TICKS");
        pair_settle(pair);
    }
    assert_string_equal(pair_heard(a, 5), "IUUUUU");
}

/* The provider returns and is asked for all it had; who comes now does not wait behind that. */
static void new_consumers_go_before_a_refresh_storm(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    unsigned answered = 0;

    for (int i = 0; i < MANY; i++)
        pair_open(a, 5 + i, name_of(i));
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    pair->provider.answers = false;
    pair_provider_comes(pair);
    pair_pass(pair, 100 * PAIR_MS);
    pair_open(b, 5, "NEW.N");
    while (!strchr(pair_heard(b, 5), 'I') && answer_one(pair))
        answered++;
    assert_true(answered <= WINDOW + 2);
    /* And the storm passes, paced by the window. */
    while (answer_one(pair))
        answered++;
    assert_int_equal(answered, MANY + 1);
    assert_int_equal(images(a, 5, MANY, 'i'), MANY);
    assert_int_equal(srcdist_core_stats(pair->source)->pending_now, 0);
}

/* Neither class starves the other: recovery keeps its share while new items are asked for. */
static void recovery_is_not_starved_by_new_consumers(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    for (int i = 0; i < 20; i++)
        pair_open(a, 5 + i, name_of(i));
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    pair->provider.answers = false;
    pair_provider_comes(pair);
    pair_pass(pair, 100 * PAIR_MS);
    for (int i = 0; i < 20; i++)
        pair_open(b, 5 + i, name_of(100 + i));
    for (int i = 0; i < WINDOW + 20; i++)
        assert_true(answer_one(pair));
    assert_true(images(a, 5, 20, 'i') >= WINDOW + 8);
    assert_true(images(b, 5, 20, 'I') >= 8);
}

/* A provider that goes while much waits for it leaves nothing behind. */
static void a_provider_that_goes_takes_its_queue_along(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.answers = false;
    for (int i = 0; i < MANY; i++)
        pair_open(c, 5 + i, name_of(i));
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(srcdist_core_stats(pair->source)->pending_now, 0);
    pair->provider.answers = true;
    pair_provider_comes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(images(c, 5, MANY, 'I'), MANY);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(no_more_is_outstanding_than_the_window),
        TEST(what_is_healthy_goes_on_ticking_meanwhile),
        TEST(new_consumers_go_before_a_refresh_storm),
        TEST(recovery_is_not_starved_by_new_consumers),
        TEST(a_provider_that_goes_takes_its_queue_along),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
