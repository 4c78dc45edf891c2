/* test_p2ps_preemption.c - p2ps at its limits of items: the least valuable stream stands back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#define LIMIT 3

static struct pair *start_with(struct p2ps_item_limits limits)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair_create(pair, (struct p2ps_core_config){ .item_limits = limits });
    return pair;
}

static struct pair *start(void)
{
    return start_with((struct p2ps_item_limits){ .mount = LIMIT, .preempts = true });
}

static void end(struct pair *pair)
{
    pair_destroy(pair);
    free(pair);
}

static void ask(struct pair_client *c, int32_t stream_id, const char *name, uint8_t class)
{
    struct omm_item_request request = pair_request(stream_id, name);

    request.has_priority = true;
    request.priority_class = class;
    request.priority_count = 1;
    pair_ask_item(c, &request);
    pair_pass(c->pair, 300 * PAIR_MS);
}

/* A, B and C on streams 5 to 7, of classes 2, 3 and 1. */
static struct pair_client *fill(struct pair *pair, unsigned n)
{
    struct pair_client *c = pair_client(pair, n);

    ask(c, 5, "A", 2);
    ask(c, 6, "B", 3);
    ask(c, 7, "C", 1);
    for (int32_t id = 5; id < 8; id++)
        assert_string_equal(pair_heard(c, id), "I");
    return c;
}

static void close_stream(struct pair_client *c, int32_t stream_id)
{
    p2ps_client_close(c->pair->sink, c->pair->now_ns, c->id, stream_id);
    pair_settle(c->pair);
    pair_pass(c->pair, 300 * PAIR_MS);
}

static void update(struct pair *pair, const char *name)
{
    pair_update(pair, name);
    pair_settle(pair);
}

static void stands_back(const struct pair *pair, uint64_t now, uint64_t all)
{
    assert_int_equal(p2ps_core_stats(pair->sink)->streams_preempted_now, now);
    assert_int_equal(p2ps_core_stats(pair->sink)->streams_preempted, all);
}

static void the_least_valuable_stream_stands_back(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 2);
    assert_string_equal(pair_heard(c, 20), "I");
    assert_string_equal(pair_heard(c, 7), "I!");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_PREEMPTED);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_string_equal(pair_heard(c, 6), "I");
    stands_back(pair, 1, 1);
    assert_int_equal(p2ps_core_stats(pair->sink)->refused_limit, 0);
    update(pair, "C");
    update(pair, "D");
    assert_string_equal(pair_heard(c, 7), "I!");
    assert_string_equal(pair_heard(c, 20), "IU");
    end(pair);
}

static void a_request_that_is_not_worth_more_is_refused(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 1);
    assert_string_equal(pair_heard(c, 20), "X");
    assert_int_equal(pair_stream(c, 20)->code, RWF_CODE_TOO_MANY_ITEMS);
    assert_string_equal(pair_heard(c, 7), "I");
    stands_back(pair, 0, 0);
    end(pair);
}

static void without_preemptItems_nothing_stands_back(void **state)
{
    struct pair *pair = start_with((struct p2ps_item_limits){ .mount = LIMIT });
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 5);
    assert_string_equal(pair_heard(c, 20), "X");
    assert_string_equal(pair_heard(c, 7), "I");
    end(pair);
}

static void snapshots_take_no_place(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);
    struct omm_item_request request = pair_request(20, "D");

    (void)state;
    request.is_streaming = false;
    request.has_priority = true;
    request.priority_class = 5;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 20), "X");
    stands_back(pair, 0, 0);
    end(pair);
}

static void it_gets_an_image_when_there_is_room_again(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 2);
    update(pair, "C");
    close_stream(c, 6);
    assert_string_equal(pair_heard(c, 7), "I!i");
    assert_int_equal(pair_stream(c, 7)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(c, 7)->counter, pair_item(pair, "C")->counter);
    stands_back(pair, 0, 1);
    update(pair, "C");
    assert_string_equal(pair_heard(c, 7), "I!iU");
    ask(c, 21, "E", 1); /* the limit is as before */
    assert_string_equal(pair_heard(c, 21), "X");
    end(pair);
}

static void those_that_stand_back_come_in_the_order_of_their_value(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 4);
    ask(c, 21, "E", 4);
    assert_string_equal(pair_heard(c, 7), "I!");
    assert_string_equal(pair_heard(c, 5), "I!");
    close_stream(c, 20);
    assert_string_equal(pair_heard(c, 5), "I!i");
    assert_string_equal(pair_heard(c, 7), "I!");
    close_stream(c, 21);
    assert_string_equal(pair_heard(c, 7), "I!i");
    stands_back(pair, 0, 2);
    end(pair);
}

static void it_hears_no_state_but_its_end(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 2);
    pair_say_status(&pair->provider, pair_item(pair, "C"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT, 0);
    pair_settle(pair);
    pair_say_status(&pair->provider, pair_item(pair, "C"), RWF_STREAM_OPEN, RWF_DATA_OK, 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 7), "I!");
    pair_say_status(&pair->provider, pair_item(pair, "C"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 7), "I!X");
    stands_back(pair, 0, 1);
    end(pair);
}

static void a_reissue_is_told_again_that_it_waits(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 2);
    ask(c, 7, "C", 1);
    assert_string_equal(pair_heard(c, 7), "I!!");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_PREEMPTED);
    close_stream(c, 20);
    assert_string_equal(pair_heard(c, 7), "I!!I");
    end(pair);
}

static void one_that_is_closed_waits_no_more(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 2);
    close_stream(c, 7);
    stands_back(pair, 0, 1);
    close_stream(c, 20);
    ask(c, 21, "E", 1);
    assert_string_equal(pair_heard(c, 21), "I");
    ask(c, 22, "F", 1);
    assert_string_equal(pair_heard(c, 22), "X");
    end(pair);
}

static void without_SingleOpen_it_is_closed(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request login = pair_login_request();

    (void)state;
    login.single_open = false;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    pair_settle(pair);
    ask(c, 5, "A", 2);
    ask(c, 6, "B", 3);
    ask(c, 7, "C", 1);
    ask(c, 20, "D", 2);
    assert_string_equal(pair_heard(c, 7), "IR");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_PREEMPTED);
    assert_string_equal(pair_heard(c, 20), "I");
    stands_back(pair, 0, 1);
    end(pair);
}

static void nobody_loses_a_place_to_another_client(void **state)
{
    struct pair *pair =
        start_with((struct p2ps_item_limits){ .host = LIMIT + 1, .preempts = true });
    struct pair_client *c = fill(pair, 0);
    struct pair_client *other = pair_client(pair, 1);

    (void)state;
    ask(other, 5, "D", 2);
    ask(other, 6, "E", 1); /* worth no more than its own */
    assert_string_equal(pair_heard(other, 6), "X");
    ask(other, 7, "E", 5);
    assert_string_equal(pair_heard(other, 5), "I!");
    assert_string_equal(pair_heard(other, 7), "I");
    for (int32_t id = 5; id < 8; id++)
        assert_string_equal(pair_heard(c, id), "I");
    close_stream(c, 6); /* the room of an address is for all its clients */
    assert_string_equal(pair_heard(other, 5), "I!i");
    end(pair);
}

static void no_more_stand_back_than_may(void **state)
{
    struct pair *pair = start_with(
        (struct p2ps_item_limits){ .mount = LIMIT, .preempts = true, .preempted_max = 1 });
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 4);
    ask(c, 21, "E", 4);
    assert_string_equal(pair_heard(c, 7), "I!");
    assert_string_equal(pair_heard(c, 5), "IR");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_PREEMPTED);
    assert_string_equal(pair_heard(c, 21), "I");
    stands_back(pair, 1, 2);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_pass(pair, PAIR_SEC);
    stands_back(pair, 0, 2);
    end(pair);
}

static void it_is_permitted_anew(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair, 0);

    (void)state;
    ask(c, 20, "D", 2);
    pair->authority_denies_item = "C";
    close_stream(c, 20);
    assert_string_equal(pair_heard(c, 7), "I!X");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_NOT_ENTITLED);
    stands_back(pair, 0, 1);
    end(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_valuable_stream_stands_back),
        cmocka_unit_test(a_request_that_is_not_worth_more_is_refused),
        cmocka_unit_test(without_preemptItems_nothing_stands_back),
        cmocka_unit_test(snapshots_take_no_place),
        cmocka_unit_test(it_gets_an_image_when_there_is_room_again),
        cmocka_unit_test(those_that_stand_back_come_in_the_order_of_their_value),
        cmocka_unit_test(it_hears_no_state_but_its_end),
        cmocka_unit_test(a_reissue_is_told_again_that_it_waits),
        cmocka_unit_test(one_that_is_closed_waits_no_more),
        cmocka_unit_test(without_SingleOpen_it_is_closed),
        cmocka_unit_test(nobody_loses_a_place_to_another_client),
        cmocka_unit_test(no_more_stand_back_than_may),
        cmocka_unit_test(it_is_permitted_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
