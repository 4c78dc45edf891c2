/* test_fault_engine.c - the server that fails on command, in virtual time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "engine.h"
#include "rmds/rwf_types.h"

#define MS 1000000ull

/* The orders, a word and a number each: "login 0", "image A 0/1", ... */
static struct {
    struct fault_engine *engine;
    uint64_t now_ns;
    char log[65536];
    size_t used;
    bool is_full; /* nothing can be sent */
    bool is_over, is_good;
    char why[700];
} bed;

static const char *describe(const struct fault_action *a, char *out, size_t size)
{
    switch (a->kind) {
    case FAULT_ACT_LOGIN:
        if (a->renew_ns > 0)
            (void)snprintf(out, size, "login for %u ms", (unsigned)(a->renew_ns / MS));
        return a->renew_ns > 0 ? out : "login";
    case FAULT_ACT_DIRECTORY:
        return "directory";
    case FAULT_ACT_SERVICE:
        (void)snprintf(out, size, "%s %s %u", a->is_new ? "new" : "service", a->service->name,
                       a->choice);
        return out;
    case FAULT_ACT_DICTIONARY:
        return "dictionary";
    case FAULT_ACT_IMAGE:
        (void)snprintf(out, size, "image %s %u/%u", a->name, a->part, a->parts);
        return out;
    case FAULT_ACT_UPDATE:
        (void)snprintf(out, size, "update %s %u", a->name, a->count);
        if (a->merged > 0)
            (void)snprintf(out, size, "update %s %u for %u in %u ms", a->name, a->count, a->merged,
                           a->merged_ms);
        return out;
    case FAULT_ACT_STATUS:
        (void)snprintf(out, size, "status %d %u/%u/%u%s%s", a->stream_id, a->stream_state,
                       a->data_state, a->code, a->to && a->to[0] ? " to " : "", a->to ? a->to : "");
        return out;
    case FAULT_ACT_BROKEN:
        return "broken";
    case FAULT_ACT_FRAME:
        (void)snprintf(out, size, "frame %u", a->choice);
        return out;
    case FAULT_ACT_DROP:
        return "drop";
    case FAULT_ACT_LISTEN:
        return a->is_on ? "listen on" : "listen off";
    case FAULT_ACT_SILENCE:
        return a->is_on ? "silence on" : "silence off";
    case FAULT_ACT_VERSION:
        return "version";
    case FAULT_ACT_SAY:
        return a->text;
    default:
        return NULL;
    }
}

static bool act(void *owner, const struct fault_action *action)
{
    char text[400];
    const char *what = describe(action, text, sizeof(text));

    (void)owner;
    if (bed.is_full && action->kind <= FAULT_ACT_FRAME)
        return false;
    if (what)
        bed.used += (size_t)snprintf(bed.log + bed.used, sizeof(bed.log) - bed.used, "%s%s",
                                     bed.used ? "; " : "", what);
    if (action->kind == FAULT_ACT_DONE ||
        (action->kind == FAULT_ACT_STEP && !action->is_on && action->text)) {
        bed.is_over = action->kind == FAULT_ACT_DONE;
        bed.is_good = action->is_on;
        (void)snprintf(bed.why, sizeof(bed.why), "%s", action->text);
    }
    return true;
}

static void begin(const char *text, bool is_live)
{
    static const char *const services[] = { "FEED" };
    static struct fault_script script;
    struct fault_script_error error;

    fault_engine_destroy(bed.engine);
    memset(&bed, 0, sizeof(bed));
    if (fault_script_parse(&script, text, strlen(text), &error) != MD_OK)
        fail_msg("%u:%u: %s", error.line, error.column, error.text);
    const struct fault_engine_config config = {
        .services = services, .service_count = 1, .script = &script, .is_live = is_live, .act = act
    };
    assert_int_equal(fault_engine_create(&config, 0, &bed.engine), MD_OK);
    fault_engine_tick(bed.engine, 0);
}

static int end(void **state)
{
    (void)state;
    fault_engine_destroy(bed.engine);
    bed.engine = NULL;
    return 0;
}

/* Time passes; the engine is called when it asks for it. */
static void pass(uint64_t ns)
{
    uint64_t end_ns = bed.now_ns + ns;
    uint64_t due;

    while ((due = fault_engine_deadline(bed.engine)) <= end_ns) {
        bed.now_ns = due > bed.now_ns ? due : bed.now_ns;
        fault_engine_tick(bed.engine, bed.now_ns);
        if (bed.is_over && due == 0)
            break;
    }
    bed.now_ns = end_ns;
}

static void event(enum fault_seen kind, int32_t stream_id, const char *name)
{
    const struct fault_event it = { .kind = kind,
                                    .stream_id = stream_id,
                                    .domain = RWF_DOMAIN_MARKET_PRICE,
                                    .service_id = 1,
                                    .dictionary = 1,
                                    .is_streaming = true,
                                    .name = name };

    fault_engine_event(bed.engine, bed.now_ns, &it);
}

static void come_in(void)
{
    event(FAULT_SEEN_CONNECT, 0, NULL);
    event(FAULT_SEEN_LOGIN, 1, "user");
    event(FAULT_SEEN_DIRECTORY, 2, NULL);
}

/* The orders since the last call. */
static void ordered(const char *wanted)
{
    assert_string_equal(bed.log, wanted);
    bed.used = 0;
    bed.log[0] = 0;
}

static void over(bool is_good, const char *why)
{
    assert_true(bed.is_over);
    assert_int_equal(bed.is_good, is_good);
    if (!strstr(bed.why, why))
        fail_msg("no \"%s\" in: %s", why, bed.why);
}

/* ---- tests ---- */

static void a_client_is_served_as_by_any_server(void **state)
{
    (void)state;
    begin("wait 60m\n", false);
    come_in();
    event(FAULT_SEEN_DICTIONARY, 3, "RWFFld");
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; dictionary; image A 0/1");
    event(FAULT_SEEN_CLOSE, 5, NULL);
    assert_int_equal(fault_engine_streams(bed.engine), 0);
}

static void nothing_is_served_before_the_login(void **state)
{
    (void)state;
    begin("login ignore\nwait 1s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("directory; status 5 3/2/5");
}

static void a_login_is_refused_for_good_or_for_now(void **state)
{
    (void)state;
    begin("login refuse\nexpect login within 1s\nlogin recover\nwait 1s\n", false);
    event(FAULT_SEEN_CONNECT, 0, NULL);
    event(FAULT_SEEN_LOGIN, 1, "user");
    ordered("status 1 4/2/3");
    event(FAULT_SEEN_LOGIN, 1, "user");
    ordered("status 1 3/2/0");
}

static void each_item_has_the_answer_of_its_rule(void **state)
{
    (void)state;
    begin("item N* not-found\nitem E not-entitled\nitem R redirect S\nitem C closed\n"
          "item L recover\nitem I ignore\nitem NO image\nitem T stale\nwait 1s\n",
          false);
    come_in();
    ordered("login; directory");
    const char *names[] = { "N1", "E", "R", "C", "L", "I", "NO", "T" };
    for (int i = 0; i < 8; i++)
        event(FAULT_SEEN_REQUEST, 10 + i, names[i]);
    ordered("status 10 4/2/1; status 11 4/2/3; status 12 5/1/0 to S; status 13 4/2/0; "
            "status 14 3/2/0; image NO 0/1; image T 0/1; status 17 1/2/0");
    assert_int_equal(fault_engine_streams(bed.engine), 3); /* I, NO, T */
}

static void a_service_goes_down_and_comes_back(void **state)
{
    (void)state;
    begin("expect request within 1s\nservice FEED down\nwait 1s\nservice * up\nwait 1s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; image A 0/1; service FEED 1");
    event(FAULT_SEEN_REQUEST, 6, "B");
    ordered("status 6 3/2/0");
    pass(1000 * MS);
    event(FAULT_SEEN_REQUEST, 6, "B");
    ordered("service FEED 0; image B 0/1");
}

static void services_come_and_go(void **state)
{
    (void)state;
    begin("expect directory within 1s\nservice NEW up\nservice FEED gone\nservice FEED up\n"
          "service FEED busy\nwait 1s\n",
          false);
    come_in();
    ordered("login; directory; new NEW 0; service FEED 3; new FEED 0; service FEED 2");
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("status 5 3/2/0");
}

static void answers_come_late(void **state)
{
    (void)state;
    begin("delay login 100ms\ndelay directory 300ms\ndelay image 200ms\nwait 1s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("");
    pass(99 * MS);
    ordered("");
    pass(1 * MS);
    ordered("login");
    pass(100 * MS);
    ordered("image A 0/1");
    pass(100 * MS);
    ordered("directory");
}

static void a_client_that_leaves_gets_no_late_answer(void **state)
{
    (void)state;
    begin("delay login 100ms\ndelay image 100ms\nwait 1s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    event(FAULT_SEEN_DISCONNECT, 0, NULL);
    pass(500 * MS);
    ordered("directory");
    assert_int_equal(fault_engine_streams(bed.engine), 0);
}

static void an_image_has_parts_with_gaps(void **state)
{
    (void)state;
    begin("parts 3\ngap 50ms\nupdates 40\nwait 10s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; image A 0/3");
    pass(50 * MS);
    ordered("image A 1/3");
    pass(50 * MS);
    ordered("image A 2/3; update A 1"); /* no update before the last part */
    pass(25 * MS);
    ordered("update A 2");
}

static void a_connection_ends_in_the_middle_of_an_image(void **state)
{
    (void)state;
    begin("item * half\nexpect request within 1s\nitem * image\n"
          "expect connect within 1s\nexpect request within 1s\n",
          false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; image A 0/2; drop");
    event(FAULT_SEEN_REQUEST, 6, "B"); /* on its way already */
    ordered("");
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; image A 0/1");
    over(true, "");
}

static void updates_are_lost_doubled_and_swapped(void **state)
{
    (void)state;
    begin("updates 10\nlose 3\nwait 1s\nlose 0\ndouble 2\nwait 400ms\ndouble 0\nswap 16\nwait "
          "400ms\n",
          false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; image A 0/1");
    pass(650 * MS);
    ordered("update A 1; update A 2; update A 4; update A 5");
    pass(600 * MS);
    ordered("update A 7; update A 8; update A 10; update A 11; update A 12; update A 12");
    pass(100 * MS);
    ordered("update A 13");
    pass(300 * MS);
    ordered("update A 14; update A 14; update A 15; update A 17; update A 16");
    const struct fault_engine_stats *stats = fault_engine_stats(bed.engine);
    assert_int_equal(stats->lost, 3);
    assert_int_equal(stats->doubled, 2);
    assert_int_equal(stats->swapped, 1);
}

static void a_full_client_misses_no_update_and_no_state(void **state)
{
    (void)state;
    begin("updates 10\nexpect post within 5s\nsend A stale\nwait 5s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    ordered("login; directory; image A 0/1");
    bed.is_full = true;
    pass(300 * MS);
    bed.is_full = false;
    pass(1 * MS);
    ordered("");
    pass(1 * MS);
    ordered("update A 1; update A 2; update A 3");
    bed.is_full = true;
    event(FAULT_SEEN_POST, 5, NULL);
    ordered("drop");
    assert_int_equal(fault_engine_stats(bed.engine)->dropped, 1);
}

static void a_stream_is_told_when_its_updates_are_merged(void **state)
{
    const struct fault_event with_info = { .kind = FAULT_SEEN_REQUEST,
                                           .stream_id = 6,
                                           .domain = RWF_DOMAIN_MARKET_PRICE,
                                           .service_id = 1,
                                           .is_streaming = true,
                                           .wants_info = true,
                                           .name = "B" };

    (void)state;
    begin("updates 10\nmerge 4\nwait 450ms\nmerge 0\nwait 1s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    fault_engine_event(bed.engine, bed.now_ns, &with_info);
    ordered("login; directory; image A 0/1; image B 0/1");
    pass(440 * MS);
    ordered("status 6 1/1/7; update B 4 for 4 in 200 ms; status 5 1/1/7; update A 4; "
            "update B 8 for 4 in 200 ms; update A 8");
    pass(200 * MS);
    ordered("status 6 1/1/8; update B 9; status 5 1/1/8; update A 9");
    assert_int_equal(fault_engine_stats(bed.engine)->merged, 12);
}

static void a_token_that_is_not_renewed_ends_the_login(void **state)
{
    (void)state;
    begin("token 2s\nwait 1500ms\nwait 2s\ntoken 0s\nwait 10s\n", false);
    come_in();
    ordered("login for 1000 ms; directory");
    pass(1500 * MS);
    event(FAULT_SEEN_LOGIN, 1, "user"); /* renewed */
    ordered("login for 1000 ms");
    pass(1999 * MS);
    ordered("");
    pass(1 * MS);
    ordered("status 1 3/2/3; drop");
    come_in();
    ordered("login; directory");
    pass(5000 * MS);
    ordered("");
}

static void a_damaged_frame_goes_to_every_client(void **state)
{
    (void)state;
    begin("expect login within 1s\nframe packed\nframe cut\nwait 1s\n", false);
    event(FAULT_SEEN_CONNECT, 0, NULL);
    event(FAULT_SEEN_LOGIN, 1, "user");
    ordered("login; frame 3; frame 6; drop");
    begin("expect login within 1s\nlogin ignore\nframe short\nwait 1s\n", false);
    event(FAULT_SEEN_CONNECT, 0, NULL);
    event(FAULT_SEEN_LOGIN, 1, "user");
    ordered("login; frame 0");
}

static void open_streams_are_told(void **state)
{
    (void)state;
    begin(
        "expect request B within 1s\nsend A stale\nsend * ok\nsend B recover\nsend A broken noise\n"
        "send A image\nsend A redirect C\nwait 1s\n",
        false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    event(FAULT_SEEN_REQUEST, 6, "B");
    ordered("login; directory; image A 0/1; image B 0/1; status 5 1/2/0; status 6 1/1/0; "
            "status 5 1/1/0; status 6 3/2/0; broken; image A 0/1; status 5 5/1/0 to C");
    assert_int_equal(fault_engine_streams(bed.engine), 0);
}

static void dictionaries_change(void **state)
{
    (void)state;
    begin("expect dictionary within 1s\ndictionary 9.99\nexpect dictionary within 1s\n", false);
    come_in();
    event(FAULT_SEEN_DICTIONARY, 3, "RWFFld");
    ordered("login; directory; dictionary; version; status 3 3/2/0");
    event(FAULT_SEEN_DICTIONARY, 3, "RWFFld");
    over(true, "");
}

static void an_expectation_takes_each_event_once(void **state)
{
    (void)state;
    begin("expect request B within 1s\nexpect request A within 1s\nexpect request times 2 within "
          "1s\n",
          false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    event(FAULT_SEEN_REQUEST, 6, "B");
    assert_false(bed.is_over);
    event(FAULT_SEEN_REQUEST, 7, "C");
    event(FAULT_SEEN_REQUEST, 7, "C"); /* a reissue */
    assert_false(bed.is_over);
    event(FAULT_SEEN_REQUEST, 8, "D");
    over(true, "");
}

/* The first login is no answer to the disconnect that follows it. */
static void an_event_before_an_order_is_no_answer_to_it(void **state)
{
    (void)state;
    begin("expect login within 1s\ndisconnect\nexpect login within 1s\n", false);
    come_in();
    pass(1001 * MS);
    over(false, "expect login: 0 of 1 came in 1 s");
    begin("expect login within 1s\nexpect directory within 1s\nforget\nexpect connect within 1s\n",
          false);
    come_in();
    pass(1001 * MS);
    over(false, "expect connect: 0 of 1");
}

static void a_failed_expectation_says_what_came(void **state)
{
    (void)state;
    begin("expect request X times 2 within 3s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "X");
    pass(3000 * MS);
    over(false, "expect request X: 1 of 2 came in 3 s; seen: 1 connect, 1 login, 1 directory, "
                "1 request");
}

static void one_of_several_events_is_enough(void **state)
{
    (void)state;
    begin("expect close|post within 1s\nexpect close|post A within 1s\n", false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "A");
    event(FAULT_SEEN_POST, 5, NULL);
    assert_false(bed.is_over);
    event(FAULT_SEEN_CLOSE, 5, NULL);
    over(true, "");
    begin("expect close|post A within 1s\n", false);
    pass(1000 * MS);
    over(false, "expect close|post A: 0 of 1 came");
}

static void what_is_forbidden_fails_when_it_comes(void **state)
{
    (void)state;
    begin(
        "item X not-found\nexpect request X within 1s\nforbid request X times 2 for 2s\nsay well\n",
        false);
    come_in();
    event(FAULT_SEEN_REQUEST, 5, "X");
    event(FAULT_SEEN_REQUEST, 6, "X");
    assert_false(bed.is_over);
    event(FAULT_SEEN_REQUEST, 7, "X");
    over(false, "forbid request X: it came 2 times");
    begin("forbid login for 2s\nsay well\n", false);
    pass(2000 * MS);
    over(true, "");
    ordered("well");
}

static void an_application_that_ends_fulfils_nothing(void **state)
{
    (void)state;
    begin("expect login within 100s\n", false);
    struct fault_event exit = { .kind = FAULT_SEEN_EXIT, .code = 3 };
    fault_engine_event(bed.engine, 0, &exit);
    over(false, "has ended (exit code 3)");
    begin("expect exit 3 within 100s\n", false);
    fault_engine_event(bed.engine, 0, &exit);
    over(true, "");
    begin("forbid login|exit for 100s\n", false);
    fault_engine_event(bed.engine, 0, &exit);
    over(false, "has ended");
    begin("forbid login for 100s\n", false);
    fault_engine_event(bed.engine, 0, &exit);
    over(true, ""); /* nothing more can come */
    begin("expect exit within 100s\nforbid exit for 1s\n", false);
    fault_engine_event(bed.engine, 0, &exit);
    over(false, "has ended");
}

static void a_loop_runs_as_often_as_it_says(void **state)
{
    (void)state;
    begin("repeat 2\nrepeat 3\nsay in\nend\nsay out\nend\nsay over\n", false);
    ordered("in; in; in; out; in; in; in; out; over");
    over(true, "");
}

static void silence_and_the_port_are_the_owners(void **state)
{
    (void)state;
    begin("listen off\nsilence on\nwait 1s\nsilence off\nlisten on\n", false);
    ordered("listen off; silence on");
    pass(1000 * MS);
    ordered("silence off; listen on");
    over(true, "");
}

static void live_statements_follow_each_other(void **state)
{
    struct fault_script_error error;
    struct fault_step step;

    (void)state;
    begin("", true);
    come_in();
    assert_int_equal(fault_engine_deadline(bed.engine), FAULT_NEVER);
    for (unsigned i = 0; i < 3 * FAULT_STEPS_MAX; i++) {
        assert_int_equal(fault_step_parse(&step, "updates 0", 9, &error), MD_OK);
        assert_int_equal(fault_engine_push(bed.engine, 0, &step), MD_OK);
    }
    assert_int_equal(fault_step_parse(&step, "expect post within 1s", 21, &error), MD_OK);
    for (unsigned i = 0; i < FAULT_STEPS_MAX; i++)
        assert_int_equal(fault_engine_push(bed.engine, 0, &step), MD_OK);
    assert_int_equal(fault_engine_push(bed.engine, 0, &step), MD_ERR_FULL);
    event(FAULT_SEEN_REQUEST, 5, "A");
    pass(1000 * MS);
    assert_false(bed.is_over); /* one has failed, the next waits */
    assert_non_null(strstr(bed.why, "expect post: 0 of 1"));
}

static void what_has_no_room_is_refused(void **state)
{
    (void)state;
    begin("wait 1s\n", false);
    come_in();
    char name[16];
    for (int i = 0; i <= (int)FAULT_STREAMS_MAX; i++) {
        bed.used = 0;
        (void)snprintf(name, sizeof(name), "X%d", i);
        event(FAULT_SEEN_REQUEST, 10 + i, name);
    }
    assert_string_equal(bed.log, "status 20010 3/2/12");
    assert_int_equal(fault_engine_streams(bed.engine), FAULT_STREAMS_MAX);
    assert_int_equal(fault_engine_stats(bed.engine)->refused, 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_is_served_as_by_any_server),
        TEST(nothing_is_served_before_the_login),
        TEST(a_login_is_refused_for_good_or_for_now),
        TEST(each_item_has_the_answer_of_its_rule),
        TEST(a_service_goes_down_and_comes_back),
        TEST(services_come_and_go),
        TEST(answers_come_late),
        TEST(a_client_that_leaves_gets_no_late_answer),
        TEST(an_image_has_parts_with_gaps),
        TEST(a_connection_ends_in_the_middle_of_an_image),
        TEST(updates_are_lost_doubled_and_swapped),
        TEST(a_full_client_misses_no_update_and_no_state),
        TEST(a_stream_is_told_when_its_updates_are_merged),
        TEST(a_token_that_is_not_renewed_ends_the_login),
        TEST(a_damaged_frame_goes_to_every_client),
        TEST(open_streams_are_told),
        TEST(dictionaries_change),
        TEST(an_expectation_takes_each_event_once),
        TEST(an_event_before_an_order_is_no_answer_to_it),
        TEST(a_failed_expectation_says_what_came),
        TEST(one_of_several_events_is_enough),
        TEST(what_is_forbidden_fails_when_it_comes),
        TEST(an_application_that_ends_fulfils_nothing),
        TEST(a_loop_runs_as_often_as_it_says),
        TEST(silence_and_the_port_are_the_owners),
        TEST(live_statements_follow_each_other),
        TEST(what_has_no_room_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
