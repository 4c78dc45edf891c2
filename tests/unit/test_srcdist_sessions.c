/* test_srcdist_sessions.c - a publisher that logs in again while its old session is half-open. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#define HOST 7 /* of the publisher */

static struct stranger *session(struct bed *bed, unsigned n, unsigned host, const char *user,
                                const char *password)
{
    struct stranger *s = come_from(bed, n, host);

    log_in(s, user, password);
    say_services(s, "SENT", 3, 1, "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    return s;
}

/* ---- items ---- */

static void a_newer_session_takes_the_items_of_the_older_one_over(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *old = session(bed, 0, HOST, "feed", "");

    say_item(old, RWF_CLASS_REFRESH, -1, "X", 1);
    say_item(old, RWF_CLASS_REFRESH, -2, "Y", 1);
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    open_item(c, 5, "SENT", "X");
    assert_string_equal(pair_heard(c, 5), "I");
    struct stranger *new = session(bed, 1, HOST, "feed", "");
    say_item(new, RWF_CLASS_REFRESH, -9, "X", 10);
    assert_int_equal(old->state.stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(old->state.code, RWF_CODE_PREEMPTED);
    assert_int_equal(old->stream_id, -1);
    assert_int_equal(stats(bed)->items_taken_over, 1);
    say_item(new, RWF_CLASS_UPDATE, -9, "X", 11);
    go(old);
    say_item(new, RWF_CLASS_UPDATE, -9, "X", 12);
    pair_pass(&bed->pair, 120 * PAIR_SEC);
    say_item(new, RWF_CLASS_UPDATE, -9, "X", 13);
    assert_string_equal(pair_heard(c, 5), "IiUUU");
    assert_int_equal(pair_stream(c, 5)->counter, 13);
    assert_int_equal(stats(bed)->items_now, 1); /* Y has ended with the old session */
    assert_null(srcdist_core_check(bed->pair.source));
}

static void an_older_session_does_not_take_an_item_back(void **state)
{
    struct bed *bed = *state;
    struct stranger *old = session(bed, 0, HOST, "feed", "");
    struct stranger *new = session(bed, 1, HOST, "feed", "");

    publish(old, "X");
    publish(new, "X");
    publish(old, "X");
    assert_int_equal(old->state.stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(old->state.code, RWF_CODE_ALREADY_OPEN);
    assert_int_equal(stats(bed)->items_taken_over, 1);
    assert_int_equal(stats(bed)->items_refused, 1);
    assert_null(srcdist_core_check(bed->pair.source));
}

static void a_stranger_is_answered_that_another_one_has_the_item(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *owner = session(bed, 0, HOST, "feed", "");
    struct stranger *user = session(bed, 1, HOST, "mallory", "");
    struct stranger *host = session(bed, 2, HOST + 1, "feed", "");

    say_item(owner, RWF_CLASS_REFRESH, -1, "X", 1);
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    open_item(c, 5, "SENT", "X");
    say_item(user, RWF_CLASS_REFRESH, -4, "X", 50);
    assert_int_equal(user->stream_id, -4);
    assert_int_equal(user->state.stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(user->state.code, RWF_CODE_ALREADY_OPEN);
    say_item(host, RWF_CLASS_REFRESH, -4, "X", 60);
    assert_int_equal(host->state.code, RWF_CODE_ALREADY_OPEN);
    assert_int_equal(stats(bed)->items_refused, 2);
    assert_int_equal(stats(bed)->items_taken_over, 0);
    assert_string_equal(pair_heard(c, 5), "I");
    say_item(user, RWF_CLASS_REFRESH, -5, "Y", 1);
    int told = user->stream_id;
    say_item(user, RWF_CLASS_REFRESH, -5, "X", 65); /* Y's stream, too: it does not end */
    assert_int_equal(user->stream_id, told);
    assert_int_equal(stats(bed)->items_refused, 3);
    go(owner);
    say_item(user, RWF_CLASS_REFRESH, -4, "X", 70); /* now nobody has it */
    assert_int_equal(pair_stream(c, 5)->counter, 70);
}

static void a_secret_proves_the_user_at_another_host(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed password=secret\nuser open\nallow * SENT * do=publish\n");
    struct stranger *old = session(bed, 0, HOST, "feed", "secret");
    struct stranger *open = session(bed, 1, HOST, "open", "");
    struct stranger *new = session(bed, 2, HOST + 1, "feed", "secret");
    struct stranger *mallory = session(bed, 3, HOST + 1, "open", "");

    publish(old, "X");
    publish(new, "X");
    assert_int_equal(stats(bed)->items_taken_over, 1);
    publish(open, "Y");
    publish(mallory, "Y"); /* anybody may say that he is this user */
    assert_int_equal(mallory->state.code, RWF_CODE_ALREADY_OPEN);
    assert_int_equal(stats(bed)->items_taken_over, 1);
}

static void updates_of_the_older_session_are_not_published_any_more(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *old = session(bed, 0, HOST, "feed", "");

    say_item(old, RWF_CLASS_REFRESH, -1, "X", 1);
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    open_item(c, 5, "SENT", "X");
    struct stranger *new = session(bed, 1, HOST, "feed", "");
    say_item(new, RWF_CLASS_REFRESH, -1, "X", 30);
    say_item(old, RWF_CLASS_UPDATE, -1, "X", 2); /* late, and no longer its item */
    assert_int_equal(pair_stream(c, 5)->counter, 30);
}

static void an_item_of_a_shared_stream_is_taken_over_to_one_of_its_own(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *old = session(bed, 0, HOST, "feed", "");

    say_item(old, RWF_CLASS_REFRESH, -1, "X", 1);
    say_item(old, RWF_CLASS_REFRESH, -1, "Y", 1);
    say_item(old, RWF_CLASS_REFRESH, -1, "X", 2);
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    open_item(c, 5, "SENT", "X");
    struct stranger *new = session(bed, 1, HOST, "feed", "");
    say_item(new, RWF_CLASS_REFRESH, -9, "X", 30);
    say_item(new, RWF_CLASS_UPDATE, -9, "X", 31);
    assert_int_equal(pair_stream(c, 5)->counter, 31);
}

static void the_other_items_of_a_shared_stream_stay_with_the_older_session(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *old = session(bed, 0, HOST, "feed", "");
    static const char *names[] = { "X", "Y", "Z" };

    for (uint32_t i = 0; i < 3; i++)
        say_item(old, RWF_CLASS_REFRESH, -1, names[i], i);
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    for (uint32_t i = 0; i < 3; i++)
        open_item(c, (int32_t)(5 + i), "SENT", names[i]);
    struct stranger *new = session(bed, 1, HOST, "feed", "");
    int told = old->stream_id;

    say_item(new, RWF_CLASS_REFRESH, -9, "Z", 30); /* what the stream stands for */
    say_item(new, RWF_CLASS_REFRESH, -10, "X", 40);
    assert_int_equal(stats(bed)->items_taken_over, 2);
    assert_int_equal(old->stream_id, told);
    say_named_update(old, -1, "Y", 21);
    say_named_update(old, -1, "Z", 22);
    assert_int_equal(pair_stream(c, 5)->counter, 40);
    assert_int_equal(pair_stream(c, 6)->counter, 21);
    assert_int_equal(pair_stream(c, 7)->counter, 30);
    assert_null(srcdist_core_check(bed->pair.source));
    say_item(new, RWF_CLASS_REFRESH, -11, "Y", 50); /* the last one */
    assert_int_equal(old->stream_id, -1);
    assert_int_equal(old->state.code, RWF_CODE_PREEMPTED);
    assert_int_equal(pair_stream(c, 6)->counter, 50);
}

/* X, Y and Z on stream -1, which stands for Z; a consumer has them on 5, 6 and 7. */
static struct stranger *on_one_stream(struct bed *bed)
{
    struct stranger *s = session(bed, 0, HOST, "feed", "");
    struct pair_client *c = pair_client(&bed->pair, 0);
    static const char *names[] = { "X", "Y", "Z" };

    for (uint32_t i = 0; i < 3; i++)
        say_item(s, RWF_CLASS_REFRESH, -1, names[i], i);
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    for (uint32_t i = 0; i < 3; i++)
        open_item(c, (int32_t)(5 + i), "SENT", names[i]);
    return s;
}

static void x_and_y_go_on(struct bed *bed, struct stranger *s)
{
    struct pair_client *c = &bed->pair.clients[0];
    int told = s->stream_id;

    say_named_update(s, -1, "X", 41);
    say_named_update(s, -1, "Y", 42);
    assert_int_equal(pair_stream(c, 5)->counter, 41);
    assert_int_equal(pair_stream(c, 6)->counter, 42);
    assert_int_equal(s->stream_id, told); /* nothing is refused */
    assert_null(srcdist_core_check(bed->pair.source));
}

static void a_shared_stream_stays_when_one_item_is_closed(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = on_one_stream(bed);

    say_named_end(s, -1, "Z", RWF_STREAM_CLOSED);
    assert_int_equal(stats(bed)->items_now, 2);
    x_and_y_go_on(bed, s);
    say_named_end(s, -1, "X", RWF_STREAM_CLOSED);
    say_named_update(s, -1, "Y", 50);
    assert_int_equal(pair_stream(&bed->pair.clients[0], 6)->counter, 50);
    say_named_end(s, -1, "Y", RWF_STREAM_CLOSED);
    say_item(s, RWF_CLASS_REFRESH, -1, "X", 60); /* the id is free for any item */
    assert_int_equal(stats(bed)->items_now, 1);
    assert_null(srcdist_core_check(bed->pair.source));
}

static void a_shared_stream_stays_when_one_item_ends_for_now(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = on_one_stream(bed);

    say_named_end(s, -1, "Z", RWF_STREAM_CLOSED_RECOVER);
    x_and_y_go_on(bed, s);
}

static void a_shared_stream_stays_when_one_item_gets_its_own(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = on_one_stream(bed);

    say_item(s, RWF_CLASS_REFRESH, -2, "Z", 33);
    x_and_y_go_on(bed, s);
    say_item(s, RWF_CLASS_UPDATE, -2, "Z", 34); /* no other item is on it */
    assert_int_equal(pair_stream(&bed->pair.clients[0], 7)->counter, 34);
}

/* ---- quotas ---- */

static const char rules[] = "user feed password=secret mounts=2 items=3\n"
                            "allow feed SENT * do=publish\n";

static void too_many_sessions_are_a_refusal_for_now(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, rules);
    struct stranger *first = session(bed, 0, HOST, "feed", "secret");
    session(bed, 1, HOST, "feed", "secret");
    struct stranger *third = come_from(bed, 2, HOST);
    log_in(third, "feed", "secret");
    assert_int_equal(third->state.stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(third->state.code, RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER);
    pair_pass(&bed->pair, 4 * PAIR_SEC);
    assert_true(third->is_closed); /* its place is another one's */
    go(first);
    third = session(bed, 3, HOST, "feed", "secret");
    assert_int_equal(third->state.stream_state, RWF_STREAM_OPEN);
    log_in(come_from(bed, 4, HOST), "feed", "guess");
    assert_int_equal(bed->strangers[4].state.stream_state, RWF_STREAM_CLOSED);
    assert_int_equal(bed->strangers[4].state.code, RWF_CODE_NOT_ENTITLED);
}

static void items_of_a_half_open_session_count_once(void **state)
{
    struct bed *bed = *state;
    char name[2] = "A";

    set_rules(bed, rules);
    struct stranger *old = session(bed, 0, HOST, "feed", "secret");
    for (name[0] = 'A'; name[0] <= 'C'; name[0]++)
        publish(old, name);
    struct stranger *new = session(bed, 1, HOST, "feed", "secret");
    for (name[0] = 'A'; name[0] <= 'C'; name[0]++)
        publish(new, name);
    assert_int_equal(stats(bed)->items_refused, 0);
    assert_int_equal(stats(bed)->items_taken_over, 3);
    publish(new, "D");
    assert_int_equal(new->state.code, RWF_CODE_TOO_MANY_ITEMS);
    assert_int_equal(stats(bed)->items_refused, 1);
}

int main(void)
{
#define TEST(name)        cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_ACCESS(name) cmocka_unit_test_setup_teardown(name, setup_access, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_newer_session_takes_the_items_of_the_older_one_over),
        TEST(an_older_session_does_not_take_an_item_back),
        TEST(a_stranger_is_answered_that_another_one_has_the_item),
        TEST_ACCESS(a_secret_proves_the_user_at_another_host),
        TEST(updates_of_the_older_session_are_not_published_any_more),
        TEST(an_item_of_a_shared_stream_is_taken_over_to_one_of_its_own),
        TEST(the_other_items_of_a_shared_stream_stay_with_the_older_session),
        TEST(a_shared_stream_stays_when_one_item_is_closed),
        TEST(a_shared_stream_stays_when_one_item_ends_for_now),
        TEST(a_shared_stream_stays_when_one_item_gets_its_own),
        TEST_ACCESS(too_many_sessions_are_a_refusal_for_now),
        TEST_ACCESS(items_of_a_half_open_session_count_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
