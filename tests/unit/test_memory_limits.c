/* test_memory_limits.c - at its ceiling a core refuses new work; what is open flows on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"
#include "daemon/memory.h"

#define SOME 40 /* items that surely do not fit */

struct limits {
    uint64_t work_bytes;        /* of p2ps */
    uint64_t source_item_bytes; /* of src_dist */
};

static struct pair *create(struct limits limits)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->source_item_bytes = limits.source_item_bytes;
    pair_create(pair, (struct p2ps_core_config){ .work_bytes_max = limits.work_bytes });
    return pair;
}

static void destroy(struct pair *pair)
{
    pair_destroy(pair);
    free(pair);
}

static const char *name_of(int32_t stream_id)
{
    static char name[16];

    snprintf(name, sizeof(name), "ITEM%d", (int)stream_id);
    return name;
}

/* Opens items on streams 5, 6 ... until one is refused; its stream id. */
static int32_t open_until_refused(struct pair_client *c)
{
    for (int32_t id = 5; id < 5 + SOME; id++) {
        pair_open(c, id, name_of(id));
        if (strchr(pair_heard(c, id), 'X'))
            return id;
        assert_string_equal(pair_heard(c, id), "I");
    }
    fail_msg("the ceiling was not reached");
    return 0;
}

static void what_is_open_flows_on(struct pair *pair, struct pair_client *c, int32_t end)
{
    for (int32_t id = 5; id < end; id++) {
        pair_update(pair, name_of(id));
        pair_settle(pair);
        assert_string_equal(pair_heard(c, id), "IU");
    }
}

static void p2ps_refuses_items_and_logins_at_its_ceiling(void **state)
{
    struct pair *pair = create((struct limits){ .work_bytes = 16384 });
    struct pair_client *c = pair_client(pair, 0);
    int32_t refused = open_until_refused(c);

    (void)state;
    assert_true(refused > 6);
    assert_int_equal(pair_stream(c, refused)->code, RWF_CODE_NO_RESOURCES);
    what_is_open_flows_on(pair, c, refused);
    assert_false(c->closed);
    /* "Not now": the login is to be tried again, not given up. */
    struct pair_client *late = pair_client_comes(pair, 1);
    pair_login(late);
    assert_string_equal(pair_heard(late, 1), "R");
    assert_int_equal(pair_stream(late, 1)->code, RWF_CODE_NO_RESOURCES);
    assert_int_equal(p2ps_core_stats(pair->sink)->refused_no_memory, 2);
    destroy(pair);
}

static void p2ps_takes_new_work_when_old_work_ends(void **state)
{
    struct pair *pair = create((struct limits){ .work_bytes = 16384 });
    struct pair_client *c = pair_client(pair, 0);
    int32_t refused = open_until_refused(c);

    (void)state;
    for (int round = 0; round < 3; round++) {
        p2ps_client_close(pair->sink, pair->now_ns, c->id, 5 + round);
        pair_settle(pair);
        pair_open(c, 60 + round, "NEW.N");
        assert_string_equal(pair_heard(c, 60 + round), "I");
        p2ps_client_close(pair->sink, pair->now_ns, c->id, 60 + round);
        pair_settle(pair);
        pair_pass(pair, 10 * PAIR_SEC);
    }
    what_is_open_flows_on(pair, c, 5);
    assert_true(refused > 8);
    destroy(pair);
}

static void src_dist_refuses_items_at_its_ceiling(void **state)
{
    struct pair *pair = create((struct limits){ .source_item_bytes = 16384 });
    struct pair_client *c = pair_client(pair, 0);
    int32_t refused = open_until_refused(c);

    (void)state;
    assert_true(refused > 6);
    assert_int_equal(pair_stream(c, refused)->code, RWF_CODE_TOO_MANY_ITEMS);
    what_is_open_flows_on(pair, c, refused);
    assert_int_equal(pair->provider.requests, refused - 5);
    assert_true(rrmp_source_is_full(srcdist_core_source(pair->source)));
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_pass(pair, 40 * PAIR_SEC); /* longer than it lingers, and than a refusal is remembered */
    pair_open(c, 60, "NEW.N");
    assert_string_equal(pair_heard(c, 60), "I");
    destroy(pair);
}

/* ---- the division ---- */

static void parts_get_what_they_want_or_their_share(void **state)
{
    struct daemon_memory memory = { .limit = 64000 };

    (void)state;
    daemon_memory_add(&memory, "fixed", 10000);
    assert_int_equal(daemon_memory_grant(&memory, "small", 500, 8), 500);
    assert_int_equal(daemon_memory_grant(&memory, "large", 50000, 8), 8000);
    assert_int_equal(daemon_memory_grant(&memory, "none said", 0, 4), 4000);
    assert_int_equal(memory.sum, 22500);
    assert_int_equal(daemon_memory_left(&memory), 41500);
    daemon_memory_add(&memory, "more", 100000);
    assert_int_equal(daemon_memory_left(&memory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p2ps_refuses_items_and_logins_at_its_ceiling),
        cmocka_unit_test(p2ps_takes_new_work_when_old_work_ends),
        cmocka_unit_test(src_dist_refuses_items_at_its_ceiling),
        cmocka_unit_test(parts_get_what_they_want_or_their_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
