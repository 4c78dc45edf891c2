/* test_p2ps_users.c - the limits of a user hold over all workers of a process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* Two workers, each with a backbone of its own here; consumers of one user on both. */
struct workers {
    struct p2ps_parties *parties;
    struct pair pair[2];
};

static void start(struct workers *w, struct p2ps_item_limits limits, uint32_t mounts)
{
    static const uint64_t key[2] = { 1, 2 };

    w->parties = p2ps_parties_create(key);
    assert_non_null(w->parties);
    for (int i = 0; i < 2; i++) {
        const struct p2ps_core_config config = {
            .item_limits = limits,
            .parties = w->parties,
        };
        w->pair[i].authority_mounts = mounts;
        pair_create(&w->pair[i], config);
    }
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct workers));
    assert_non_null(*state);
    return 0;
}

static int teardown(void **state)
{
    struct workers *w = *state;

    pair_destroy(&w->pair[0]);
    pair_destroy(&w->pair[1]);
    p2ps_parties_destroy(w->parties);
    free(w);
    return 0;
}

static struct pair_client *log_in(struct pair *pair, unsigned n)
{
    struct pair_client *c = pair_client_comes(pair, n);

    pair_login(c);
    return c;
}

static void the_mounts_of_a_user_count_on_all_workers(void **state)
{
    struct workers *w = *state;
    const struct p2ps_item_limits none = { 0 };

    start(w, none, 2);
    struct pair_client *a = log_in(&w->pair[0], 0);
    assert_string_equal(pair_heard(a, 1), "L");
    assert_string_equal(pair_heard(log_in(&w->pair[1], 0), 1), "L");
    struct pair_client *late = log_in(&w->pair[1], 1);
    assert_string_equal(pair_heard(late, 1), "X");
    assert_int_equal(pair_stream(late, 1)->code, RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER);
    /* Who leaves makes room, and who was refused took none. */
    p2ps_client_close(a->pair->sink, a->pair->now_ns, a->id, 1);
    assert_string_equal(pair_heard(log_in(&w->pair[1], 2), 1), "L");
    assert_string_equal(pair_heard(log_in(&w->pair[0], 1), 1), "X");
}

static struct pair_client *log_in_from(struct pair *pair, unsigned n, const char *position)
{
    struct pair_client *c = pair_client_comes(pair, n);
    struct omm_login_request request = pair_login_request();

    request.position = rwf_text(position);
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    return c;
}

static void the_positions_of_a_user_count_on_all_workers(void **state)
{
    struct workers *w = *state;
    const struct p2ps_item_limits none = { 0 };

    start(w, none, 0);
    w->pair[0].authority_positions = w->pair[1].authority_positions = 2;
    struct pair_client *a = log_in_from(&w->pair[0], 0, "10.1.0.7/net");
    assert_string_equal(pair_heard(a, 1), "L");
    assert_string_equal(pair_heard(log_in_from(&w->pair[1], 0, "10.1.0.7/desk"), 1), "L");
    struct pair_client *c = log_in_from(&w->pair[0], 1, ""); /* the address of its connection */
    assert_string_equal(pair_heard(c, 1), "L");
    assert_string_equal(pair_heard(log_in_from(&w->pair[1], 1, "10.1.1.1/net"), 1), "L");
    struct pair_client *late = log_in_from(&w->pair[1], 2, "10.1.0.8/net");
    assert_string_equal(pair_heard(late, 1), "X");
    assert_int_equal(pair_stream(late, 1)->code, RWF_CODE_DACS_MAX_LOGINS_REACHED);
    /* A position is free when the last login at it has gone. */
    p2ps_client_close(a->pair->sink, a->pair->now_ns, a->id, 1);
    assert_string_equal(pair_heard(log_in_from(&w->pair[0], 2, "10.1.0.8/net"), 1), "X");
    p2ps_client_gone(w->pair[1].sink, w->pair[1].now_ns, w->pair[1].clients[0].id);
    assert_string_equal(pair_heard(log_in_from(&w->pair[0], 3, "10.1.0.8/net"), 1), "L");
    assert_string_equal(pair_heard(log_in_from(&w->pair[1], 3, "10.1.0.7/net"), 1), "X");
}

static void the_items_of_a_user_count_on_all_workers(void **state)
{
    struct workers *w = *state;
    const struct p2ps_item_limits limits = { .user = 3 };

    start(w, limits, 0);
    struct pair_client *a = log_in(&w->pair[0], 0);
    struct pair_client *b = log_in(&w->pair[1], 0);
    pair_open(a, 5, "A");
    pair_open(a, 6, "B");
    pair_open(b, 5, "A");
    pair_open(b, 6, "B");
    assert_string_equal(pair_heard(b, 5), "I");
    assert_string_equal(pair_heard(b, 6), "X");
    assert_int_equal(pair_stream(b, 6)->code, RWF_CODE_TOO_MANY_ITEMS);
    p2ps_client_close(a->pair->sink, a->pair->now_ns, a->id, 5);
    pair_open(b, 7, "B");
    assert_string_equal(pair_heard(b, 7), "I");
    /* A connection that ends gives back all it had. */
    p2ps_client_gone(b->pair->sink, b->pair->now_ns, b->id);
    pair_open(a, 7, "C");
    pair_open(a, 8, "D");
    pair_open(a, 9, "E");
    assert_string_equal(pair_heard(a, 8), "I");
    assert_string_equal(pair_heard(a, 9), "X");
}

static void distinct_items_count_on_all_workers(void **state)
{
    struct workers *w = *state;
    const struct p2ps_item_limits limits = { .aggregate = 3 };

    start(w, limits, 0);
    struct pair_client *a = log_in(&w->pair[0], 0);
    struct pair_client *b = log_in(&w->pair[1], 0);
    pair_open(a, 5, "A");
    pair_open(a, 6, "B");
    pair_open(b, 5, "C");
    pair_open(b, 6, "D");
    assert_string_equal(pair_heard(b, 6), "X");
    assert_int_equal(pair_stream(b, 6)->code, RWF_CODE_TOO_MANY_ITEMS);
    p2ps_client_gone(a->pair->sink, a->pair->now_ns, a->id);
    pair_open(b, 7, "D");
    assert_string_equal(pair_heard(b, 7), "I");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_mounts_of_a_user_count_on_all_workers),
        TEST(the_positions_of_a_user_count_on_all_workers),
        TEST(the_items_of_a_user_count_on_all_workers),
        TEST(distinct_items_count_on_all_workers),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
