/* test_preemption.c - a source at its itemLimit: the least valuable items make room. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#define LIMIT 4

static void limit(struct srcdist_core_config *source)
{
    source->source.item_limit = LIMIT;
    source->source.preempts = true;
}

static struct pair *start(void)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->tune = limit;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    return pair;
}

static void end(struct pair *pair)
{
    pair_destroy(pair);
    free(pair);
}

static void ask(struct pair_client *c, int32_t stream_id, const char *name, uint8_t class,
                uint16_t count)
{
    struct omm_item_request request = pair_request(stream_id, name);

    request.has_priority = true;
    request.priority_class = class;
    request.priority_count = count;
    pair_ask_item(c, &request);
}

static uint64_t preempted(struct pair *pair)
{
    assert_int_equal(p2ps_core_stats(pair->sink)->items_preempted,
                     srcdist_core_stats(pair->source)->items_preempted);
    return srcdist_core_stats(pair->source)->items_preempted;
}

/* LIMIT items on streams 5 ... of classes 2, 3, 1, 4. */
static struct pair_client *fill(struct pair *pair)
{
    static const char *const names[LIMIT] = { "A", "B", "C", "D" };
    static const uint8_t classes[LIMIT] = { 2, 3, 1, 4 };
    struct pair_client *c = pair_client(pair, 0);

    for (int i = 0; i < LIMIT; i++)
        ask(c, 5 + i, names[i], classes[i], 1);
    pair_pass(pair, PAIR_SEC);
    for (int i = 0; i < LIMIT; i++)
        assert_string_equal(pair_heard(c, 5 + i), "I");
    return c;
}

static void the_least_valuable_item_makes_room(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair);

    (void)state;
    ask(c, 20, "E", 3, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_int_equal(preempted(pair), 1);
    assert_string_equal(pair_heard(c, 7), "I!");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_PREEMPTED);
    for (int i = 0; i < LIMIT; i++) {
        if (i != 2)
            assert_string_equal(pair_heard(c, 5 + i), "I");
    }
    assert_string_equal(pair_heard(c, 20), "!I"); /* suspect: it had to wait for its room */
    assert_int_equal(pair_stream(c, 20)->data_state, RWF_DATA_OK);
    pair_update(pair, "E");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 20), "!IU");
    end(pair);
}

static void of_one_class_the_one_with_the_lower_count_goes(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = pair_client(pair, 0);

    (void)state;
    for (int i = 0; i < LIMIT; i++)
        ask(c, 5 + i, (const char *const[]){ "A", "B", "C", "D" }[i], 2, (uint16_t)(9 - i));
    pair_pass(pair, PAIR_SEC);
    ask(c, 20, "E", 2, 7);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 8), "I!");
    assert_string_equal(pair_heard(c, 20), "!I");
    assert_int_equal(preempted(pair), 1);
    end(pair);
}

static void an_item_that_is_not_worth_more_preempts_nothing(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair);

    (void)state;
    ask(c, 20, "E", 1, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 20), "X");
    assert_int_equal(pair_stream(c, 20)->code, RWF_CODE_TOO_MANY_ITEMS);
    for (int i = 0; i < LIMIT; i++)
        assert_string_equal(pair_heard(c, 5 + i), "I");
    assert_int_equal(preempted(pair), 0);
    end(pair);
}

static void it_gets_an_image_when_there_is_room_again(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair);

    (void)state;
    ask(c, 20, "E", 3, 1);
    pair_pass(pair, 60 * PAIR_SEC); /* it asks again and again, and is told nothing */
    assert_string_equal(pair_heard(c, 7), "I!");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 20);
    pair_pass(pair, 25 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 7), "I!i");
    assert_int_equal(pair_stream(c, 7)->data_state, RWF_DATA_OK);
    pair_update(pair, "C");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 7), "I!iU");
    assert_int_equal(preempted(pair), 1);
    end(pair);
}

static void a_consumer_without_single_open_is_closed_to_recover(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = pair_client_comes(pair, 0);

    (void)state;
    struct omm_login_request login = pair_login_request();
    login.single_open = false;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    pair_settle(pair);
    for (int i = 0; i < LIMIT; i++)
        ask(c, 5 + i, (const char *const[]){ "A", "B", "C", "D" }[i], 2, 1);
    pair_pass(pair, PAIR_SEC);
    ask(c, 20, "E", 3, 1);
    pair_pass(pair, 10 * PAIR_SEC);
    int closed = 0;
    for (int i = 0; i < LIMIT; i++) {
        if (strcmp(pair_heard(c, 5 + i), "IR") == 0)
            closed += pair_stream(c, 5 + i)->code == RWF_CODE_PREEMPTED;
        else
            assert_string_equal(pair_heard(c, 5 + i), "I");
    }
    assert_int_equal(closed, 1);
    end(pair);
}

/* An item that is asked for and has no answer yet. */
static void an_item_without_an_image_waits_like_the_others(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = pair_client(pair, 0);

    (void)state;
    pair->provider.answers = false;
    for (int i = 0; i < LIMIT; i++)
        ask(c, 5 + i, (const char *const[]){ "A", "B", "C", "D" }[i], 2, (uint16_t)(9 - i));
    pair_settle(pair);
    pair->provider.answers = true;
    ask(c, 20, "E", 3, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 20), "!I");
    assert_string_equal(pair_heard(c, 8), "!");
    assert_int_equal(pair_stream(c, 8)->code, RWF_CODE_PREEMPTED);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 20);
    pair_pass(pair, 25 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 8), "!I");
    end(pair);
}

/* Streams 5 ... 8 of A ... D, all of this class; another consumer watches A, too. */
static struct pair_client *share(struct pair *pair, uint8_t class, struct pair_client **other)
{
    struct pair_client *c = pair_client(pair, 0);

    for (int i = 0; i < LIMIT; i++)
        ask(c, 5 + i, (const char *const[]){ "A", "B", "C", "D" }[i], class, 1);
    *other = pair_client(pair, 1);
    ask(*other, 5, "A", class, 1);
    pair_pass(pair, PAIR_SEC);
    return c;
}

static void a_consumer_lowers_no_item_of_another(void **state)
{
    struct pair *pair = start();
    struct pair_client *other;
    struct pair_client *c = share(pair, 3, &other);

    (void)state;
    ask(other, 5, "A", 0, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    ask(other, 20, "E", 2, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(other, 20), "X");
    assert_int_equal(preempted(pair), 0);
    p2ps_client_close(pair->sink, pair->now_ns, other->id, 5);
    pair_settle(pair);
    ask(c, 5, "A", 0, 1); /* alone with it again: its own */
    pair_pass(pair, 3 * PAIR_SEC);
    ask(other, 21, "E", 2, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(other, 21), "!I");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_PREEMPTED);
    assert_int_equal(preempted(pair), 1);
    end(pair);
}

static void a_consumer_that_joins_raises_the_item(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair);
    struct pair_client *other = pair_client(pair, 1);

    (void)state;
    ask(other, 5, "C", 4, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    ask(other, 20, "E", 2, 2);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(other, 20), "!I");
    assert_string_equal(pair_heard(c, 7), "I");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_PREEMPTED);
    end(pair);
}

static void a_consumer_that_is_not_permitted_raises_nothing(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair);
    struct pair_client *other = pair_client(pair, 1);

    (void)state;
    pair->authority_denies_item = "C";
    ask(other, 5, "C", 255, 1);
    assert_string_equal(pair_heard(other, 5), "X");
    pair->authority_is_late = true;
    ask(other, 6, "C", 255, 1);
    ask(other, 6, "C", 255, 1); /* again, while it waits for its verdict */
    pair->authority_is_late = false;
    pair_pass(pair, 3 * PAIR_SEC);
    ask(other, 20, "E", 3, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_PREEMPTED);
    assert_int_equal(preempted(pair), 1);
    end(pair);
}

/* Preempted before its image came; then one part of it came, and it was preempted again. */
static void a_part_of_an_image_does_not_stay_good(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = pair_client(pair, 0);

    (void)state;
    pair->provider.answers = false;
    for (int i = 0; i < LIMIT; i++)
        ask(c, 5 + i, (const char *const[]){ "A", "B", "C", "D" }[i], 2, (uint16_t)(9 - i));
    ask(c, 20, "E", 3, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 8), "!");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 20);
    pair_pass(pair, 25 * PAIR_SEC);
    pair->provider.parts = 2;
    pair_say_image_part(&pair->provider, pair_item(pair, "D"), true, 0);
    pair_settle(pair);
    size_t heard = strlen(pair_heard(c, 8)); /* that no answer has come yet, too */
    assert_string_equal(pair_heard(c, 8) + heard - 2, "!I");
    ask(c, 21, "E", 3, 1);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 8) + heard, "!");
    assert_int_equal(pair_stream(c, 8)->data_state, RWF_DATA_SUSPECT);
    assert_int_equal(pair_stream(c, 8)->code, RWF_CODE_PREEMPTED);
    assert_int_equal(preempted(pair), 2);
    end(pair);
}

/* The same of an item that was fine before. */
static void a_part_of_another_image_does_not_stay_good(void **state)
{
    struct pair *pair = start();
    struct pair_client *c = fill(pair);

    (void)state;
    ask(c, 20, "E", 3, 1);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 7), "I!");
    pair->provider.answers = false;
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 20);
    pair_pass(pair, 25 * PAIR_SEC);
    pair->provider.parts = 2;
    pair_say_image_part(&pair->provider, pair_item(pair, "C"), true, 0);
    pair_settle(pair);
    size_t heard = strlen(pair_heard(c, 7));
    assert_int_equal(pair_stream(c, 7)->data_state, RWF_DATA_OK);
    ask(c, 21, "E", 3, 1);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 7) + heard, "!");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_PREEMPTED);
    end(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_valuable_item_makes_room),
        cmocka_unit_test(of_one_class_the_one_with_the_lower_count_goes),
        cmocka_unit_test(an_item_that_is_not_worth_more_preempts_nothing),
        cmocka_unit_test(it_gets_an_image_when_there_is_room_again),
        cmocka_unit_test(a_consumer_without_single_open_is_closed_to_recover),
        cmocka_unit_test(an_item_without_an_image_waits_like_the_others),
        cmocka_unit_test(a_consumer_lowers_no_item_of_another),
        cmocka_unit_test(a_consumer_that_joins_raises_the_item),
        cmocka_unit_test(a_consumer_that_is_not_permitted_raises_nothing),
        cmocka_unit_test(a_part_of_an_image_does_not_stay_good),
        cmocka_unit_test(a_part_of_another_image_does_not_stay_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
