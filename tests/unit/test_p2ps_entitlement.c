/* test_p2ps_entitlement.c - what the authority permits, at once and late. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ 0 });
}

static int setup_with_images(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .keeps_images = true });
}

static void an_item_one_may_not_see_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_denies_item = "IBM.N";
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void an_item_one_may_not_see_is_never_asked_for(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(p2ps_core_sink(pair->sink, 0));
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint64_t before = stats->requests_sent;

    pair->authority_denies_item = "IBM.N";
    p2ps_client_item(pair->sink, pair->now_ns, c->id, &request);
    p2ps_core_tick(pair->sink, pair->now_ns, 1); /* the network has its turn before the sweep */
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(stats->requests_sent, before);
}

static void nothing_is_seen_before_a_slow_authority_has_answered(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair->authority_is_late = true;
    pair_open(b, 6, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 6), "");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(b, 6), "I");
}

static void a_late_answer_is_not_taken_for_another_question(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_is_late = true;
    pair_open(c, 5, "IBM.N"); /* yes, one day */
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair->authority_denies_item = "DELL.O";
    pair_open(c, 5, "DELL.O"); /* no, later */
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "X");
}

static void permission_data_of_the_image_are_asked_about_before_it_is_seen(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_denies_data = "7";
    pair->provider.perm_data = "7";
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
}

static struct pair_client *client_of(struct pair *pair, unsigned n, const char *user)
{
    struct pair_client *c = pair_client_comes(pair, n);
    struct omm_login_request request = pair_login_request();

    request.user = rwf_text(user);
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    return c;
}

static void say_image(struct pair *pair, const char *name)
{
    pair_say_image(&pair->provider, pair_item(pair, name), false);
    pair_settle(pair);
}

static void permission_data_of_a_new_image_are_asked_about_before_it_is_seen(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "mallory");
    struct pair_client *other = client_of(pair, 1, "joe");

    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    pair->authority_denies_user = "mallory";
    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    pair->provider.perm_data = "B";
    say_image(pair, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(pair_heard(other, 5), "Ii");
}

static void permission_data_of_an_update_are_for_that_update_alone(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "mallory");
    struct pair_client *other = client_of(pair, 1, "joe");

    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    pair->authority_denies_user = "mallory";
    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    pair->provider.perm_data = "B";
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_string_equal(pair_heard(other, 5), "IU");
    pair->provider.perm_data = NULL;
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(other, 5), "IUU");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 1);
}

static void say_generic(struct pair *pair, const char *name, struct rwf_bytes perm)
{
    uint8_t bytes[100];
    struct rwf_encoder enc;
    const struct pair_item *it = pair_item(pair, name);
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = it->domain,
        .stream_id = it->stream_id,
        .flags = (uint16_t)(RWF_GENERIC_COMPLETE | (perm.length ? RWF_GENERIC_HAS_PERM_DATA : 0)),
        .perm_data = perm,
        .container = RWF_TYPE_NO_DATA,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_OK);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

static void permission_data_of_a_generic_message_are_for_that_message_alone(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "mallory");
    struct pair_client *other = client_of(pair, 1, "joe");

    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    pair->authority_denies_user = "mallory";
    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    say_generic(pair, "IBM.N", rwf_text("A"));
    say_generic(pair, "IBM.N", rwf_text("B"));
    say_generic(pair, "IBM.N", rwf_text(""));
    assert_string_equal(pair_heard(c, 5), "IGG");
    assert_string_equal(pair_heard(other, 5), "IGGG");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 1);
}

/* No image says later what it said. */
static void a_generic_message_that_a_slow_authority_must_judge_is_withheld(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.perm_data = "A";
    pair_open(c, 5, "IBM.N");
    pair->authority_is_late = true;
    say_generic(pair, "IBM.N", rwf_text("B"));
    pair->answers_now = true;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 1);
    pair->provider.perm_data = NULL;
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
}

static void an_update_that_a_slow_authority_must_judge_is_told_as_left_out(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.perm_data = "A";
    pair_open(c, 5, "IBM.N");
    pair->authority_is_late = true;
    pair->provider.perm_data = "B";
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair->authority_is_late = false;
    pair->answers_now = true;
    pair->provider.perm_data = "A"; /* of the image that the source gives next */
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IJij");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 0);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IJijU");
}

static void an_update_with_its_own_permission_data_is_in_no_kept_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *joe = client_of(pair, 1, "joe");
    struct pair_client *c = client_of(pair, 0, "mallory");

    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    pair->authority_denies_user = "mallory";
    pair_open(joe, 5, "IBM.N");
    pair->provider.perm_data = "B";
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    uint64_t before = p2ps_core_stats(pair->sink)->images_from_cache;
    pair->provider.perm_data = "A"; /* of the image that the source gives next */
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "I");
    assert_true(p2ps_core_stats(pair->sink)->images_from_cache == before);
}

static void new_permission_data_hold_a_stream_back_until_a_slow_authority_answers(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.perm_data = "A";
    pair_open(c, 5, "IBM.N");
    pair->authority_is_late = true;
    pair->provider.perm_data = "B";
    say_image(pair, "IBM.N");
    pair->provider.perm_data = NULL;
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    pair->authority_is_late = false;
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IJij");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IJijU");
}

static void a_request_while_a_stream_is_held_back_is_answered_by_its_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.perm_data = "A";
    pair_open(c, 5, "IBM.N");
    pair->authority_is_late = true;
    pair->provider.perm_data = "B";
    say_image(pair, "IBM.N");
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "I");
    pair->authority_is_late = false;
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IJIj");
}

static void a_reload_ends_the_logins_that_are_allowed_no_more(void **state)
{
    struct pair *pair = *state;
    struct pair_client *gone = client_of(pair, 0, "mallory");
    struct pair_client *stays = client_of(pair, 1, "joe");

    pair_open(gone, 5, "IBM.N");
    pair_open(stays, 5, "IBM.N");
    pair->authority_ends_user = "mallory";
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_settle(pair);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(gone, 1), "LX");
    assert_int_equal(pair_stream(gone, 1)->code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(pair_heard(gone, 5), "I");
    assert_string_equal(pair_heard(stays, 1), "L");
    assert_string_equal(pair_heard(stays, 5), "IU");
    assert_int_equal(p2ps_core_stats(pair->sink)->logins_revoked, 1);
    pair_pass(pair, 5 * PAIR_SEC);
    assert_true(gone->closed);
    assert_false(stays->closed);
}

static void a_slow_authority_ends_logins_after_a_reload_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *gone = client_of(pair, 0, "mallory");
    struct pair_client *stays = client_of(pair, 1, "joe");

    pair->authority_ends_user = "mallory";
    pair->authority_is_late = true;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair->answers_now = true;
    pair_pass(pair, 20 * PAIR_MS);
    assert_string_equal(pair_heard(gone, 1), "LX");
    assert_string_equal(pair_heard(stays, 1), "L");
}

static void a_late_answer_is_to_the_token_that_was_asked_about(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_login_request request = pair_login_request();

    request.name_type = RWF_NAME_LOGIN_AUTHN_TOKEN;
    request.token = rwf_text("T1");
    pair->authority_is_late = true;
    pair->authority_denies = true;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair->authority_denies = false;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair->answers_now = true;
    pair_pass(pair, 20 * PAIR_MS);
    assert_string_equal(pair_heard(c, 1), "LLX"); /* the next one was not looked at */
}

static void a_name_that_could_be_two_users_is_refused(void **state)
{
    struct pair *pair = *state;
    static char longest[10001];
    static const struct {
        const char *name;
        size_t length;
        uint8_t type;
        const char *heard;
    } cases[] = {
        { longest, 127, RWF_NAME_LOGIN_USER, "L" },
        { longest, 128, RWF_NAME_LOGIN_USER, "X" },
        { longest, 10000, RWF_NAME_LOGIN_USER, "X" },
        { "a\x1b[2J", 5, RWF_NAME_LOGIN_USER, "X" },
        { "a\x7f", 2, RWF_NAME_LOGIN_USER, "X" },
        { "m\xfcller", 6, RWF_NAME_LOGIN_USER, "X" },        /* Latin-1 */
        { "m\xc3\xbcller", 7, RWF_NAME_LOGIN_USER, "L" },    /* UTF-8 */
        { "a\xc2\x85", 3, RWF_NAME_LOGIN_USER, "X" },        /* a control character of C1 */
        { "a\xc2\xa0", 3, RWF_NAME_LOGIN_USER, "L" },        /* the first one behind them */
        { "\xe2\x82\xac", 2, RWF_NAME_LOGIN_USER, "X" },     /* cut */
        { "\xe2\x82\xac", 3, RWF_NAME_LOGIN_USER, "L" },     /* whole */
        { "\xed\xa0\x80", 3, RWF_NAME_LOGIN_USER, "X" },     /* half of a pair */
        { "\xc0\xae", 2, RWF_NAME_LOGIN_USER, "X" },         /* a dot, too long */
        { "\xf0\x9f\x98\x80", 4, RWF_NAME_LOGIN_USER, "L" }, /* of four bytes */
        { "\xf0\x9f\x98\x80", 3, RWF_NAME_LOGIN_USER, "X" }, /* cut */
        { "\xf0\x8f\xbf\xbf", 4, RWF_NAME_LOGIN_USER, "X" }, /* too long */
        { "\xf4\x90\x80\x80", 4, RWF_NAME_LOGIN_USER, "X" }, /* beyond the last one */
        { "a\xff", 2, RWF_NAME_LOGIN_EMAIL, "X" },
        { "<script>\"'\\", 11, RWF_NAME_LOGIN_USER, "L" },
        { "a\0b", 3, RWF_NAME_LOGIN_USER, "X" },
        { "a\nb", 3, RWF_NAME_LOGIN_EMAIL, "X" },
        { "", 0, RWF_NAME_LOGIN_USER, "X" },
        { "", 1, RWF_NAME_LOGIN_AUTHN_TOKEN, "X" }, /* and no token */
    };

    memset(longest, 'a', sizeof(longest) - 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pair_client *c = pair_client_comes(pair, 0);
        struct omm_login_request request = pair_login_request();

        request.user = rwf_bytes((const uint8_t *)cases[i].name, cases[i].length);
        request.name_type = cases[i].type;
        p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
        assert_string_equal(pair_heard(c, 1), cases[i].heard);
        struct p2ps_client_info info;
        assert_true(p2ps_client_info(pair->sink, c->id, &info));
        if (cases[i].heard[0] == 'X') {
            assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_USAGE_ERROR);
            assert_string_equal(info.user, ""); /* no log and no table has it */
        } else {
            assert_int_equal(strlen(info.user), cases[i].length);
        }
        p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    }
}

static void a_name_that_is_too_long_is_told_how_long_it_is(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request request = pair_login_request();
    static const uint8_t name[200] = "aaa";

    request.user = rwf_bytes(name, sizeof(name));
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    assert_string_equal(pair_stream(c, 1)->text, "the user name has 200 bytes, 127 are allowed");
}

/* An access file that is not in UTF-8 says whose token it is. */
static void a_token_of_a_name_that_nobody_can_have_is_refused(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request request = pair_login_request();

    pair->authority_user = "m\xfcller";
    request.user = rwf_bytes((const uint8_t *)"", 1);
    request.name_type = RWF_NAME_LOGIN_AUTHN_TOKEN;
    request.token = rwf_text("T1");
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    assert_string_equal(pair_heard(c, 1), "X");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_USAGE_ERROR);
}

static void a_token_says_whose_login_it_is(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request request = pair_login_request();
    struct p2ps_client_info info;

    request.user = rwf_bytes((const uint8_t *)"", 1);
    request.name_type = RWF_NAME_LOGIN_AUTHN_TOKEN;
    request.token = rwf_text("T1");
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    assert_string_equal(pair_heard(c, 1), "L");
    assert_true(p2ps_client_info(pair->sink, c->id, &info));
    assert_string_equal(info.user, "whose-token");
}

static void an_image_without_permission_data_is_asked_about_before_it_is_seen(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_denies_no_lock = true;
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
    pair->provider.perm_data = "A";
    pair_open(c, 6, "DELL.O");
    assert_string_equal(pair_heard(c, 6), "I");
    pair->provider.perm_data = NULL; /* those of the image before stay */
    say_image(pair, "DELL.O");
    assert_string_equal(pair_heard(c, 6), "Ii");
}

static void no_update_comes_before_the_permission_data_are_known(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->authority_denies_no_lock = true;
    request.no_refresh = true;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_out, 0);
}

static void who_may_have_snapshots_only_gets_no_stream(void **state)
{
    struct pair *pair = *state;
    struct omm_item_request request = pair_request(6, "IBM.N");

    pair->authority_snapshots_only = true;
    struct pair_client *c = pair_client(pair, 0);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
    request.is_streaming = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 6), "I");
}

static void new_rules_hold_for_what_is_open(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    pair->authority_denies_item = "IBM.N";
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_string_equal(pair_heard(c, 6), "I");
}

static void new_rules_of_a_slow_authority_hold_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair->authority_denies_item = "IBM.N";
    pair->authority_is_late = true;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IX");
}

static void sessions_of_an_authority_hear_that_it_is_away_and_back(void **state)
{
    struct pair *pair = *state;
    struct pair_client *other = client_of(pair, 0, "joe");

    pair->authority_is_outside = true;
    struct pair_client *c = client_of(pair, 1, "alice");
    pair_open(c, 5, "IBM.N");
    pair->authority_news = ENTITLE_NEWS_DOWN;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L!");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_DACS_DOWN);
    assert_string_equal(pair_heard(other, 1), "L");
    struct pair_client *third = client_of(pair, 2, "carol"); /* of whom it still knows */
    assert_string_equal(pair_heard(third, 1), "L!");
    pair_update(pair, "IBM.N");
    pair->authority_news = ENTITLE_NEWS_UP;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L!S");
    assert_string_equal(pair_heard(third, 1), "L!S");
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(other, 1), "L");
}

static void a_session_goes_on_while_nobody_can_say(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair_open(c, 5, "IBM.N");
    pair->authority_is_down = true;
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
    struct pair_client *late = client_of(pair, 1, "bob");
    assert_string_equal(pair_heard(late, 1), "R");
    assert_int_equal(pair_stream(late, 1)->code, RWF_CODE_DACS_DOWN);
    pair->authority_is_down = false;
    pair->authority_ends_user = "alice";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
}

static void new_items_go_on_while_the_authority_is_away(void **state)
{
    struct pair *pair = *state;

    pair->authority_is_outside = true;
    struct pair_client *c = client_of(pair, 0, "alice");
    pair->authority_news = ENTITLE_NEWS_DOWN;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L!");
    pair_open(c, 5, "IBM.N");
    pair_pass(pair, PAIR_SEC / 10);
    assert_string_equal(pair_heard(c, 5), "I");
}

static void a_session_that_may_not_be_without_the_authority_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair_open(c, 5, "IBM.N");
    pair->authority_is_down = pair->authority_is_over = true;
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LR");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_DACS_DOWN);
}

static void other_roles_ask_for_the_items_again(void **state)
{
    struct pair *pair = *state;

    pair->authority_roles = "rates";
    pair->authority_denies_roles = "quotes";
    struct pair_client *c = client_of(pair, 0, "alice");
    pair_open(c, 5, "IBM.N");
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    pair->authority_roles = "quotes";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IX");
    pair_open(c, 6, "IBM.N");
    assert_string_equal(pair_heard(c, 6), "X");
    assert_string_equal(pair_heard(c, 1), "L");
}

static void a_second_check_does_not_lose_the_denial_of_the_first(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair->authority_is_late = true;
    pair->authority_ends_user = "alice";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair->late_count, 1);
    pair->authority_ends_user = NULL;
    for (int i = 0; i < 3; i++) {
        pair->authority_news = ENTITLE_NEWS_LOGINS;
        pair_pass(pair, PAIR_SEC);
    }
    assert_int_equal(pair->late_count, 1);
    pair->answers_now = true;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
}

static void a_check_while_one_is_under_way_takes_what_is_known_at_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair->authority_is_late = true;
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair->late_count, 1);
    pair->authority_is_late = false; /* the rules alone deny it now */
    pair->authority_ends_user = "alice";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
    pair->answers_now = true;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
}

/* The text is the authority's, and good only until its next answer. */
static void a_session_keeps_its_roles_whatever_becomes_of_the_answer(void **state)
{
    struct pair *pair = *state;
    char roles[8] = "rates";

    pair->authority_roles = roles;
    pair->authority_denies_roles = "quotes";
    struct pair_client *c = client_of(pair, 0, "alice");
    snprintf(roles, sizeof(roles), "quotes");
    pair->authority_roles = "quotes";
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "I");
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IX");
}

static void has_ended(const struct pair *pair, unsigned count, const char *session, const char *why)
{
    assert_int_equal(pair->authority_ended, count);
    assert_string_equal(pair->authority_ended_last, session);
    assert_string_equal(pair->authority_ended_why, why);
}

static void the_end_of_each_session_is_told_once(void **state)
{
    struct pair *pair = *state;

    pair->authority_session = "s-1";
    struct pair_client *c = client_of(pair, 0, "alice");
    pair->authority_session = "s-2";
    struct pair_client *other = client_of(pair, 1, "bob");
    pair->authority_session = NULL;
    client_of(pair, 2, "carol");
    assert_int_equal(pair->authority_ended, 0);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 1);
    has_ended(pair, 1, "s-1", "the consumer has logged out");
    pair_pass(pair, 4 * PAIR_SEC); /* the connection is closed, too */
    assert_int_equal(pair->authority_ended, 1);
    pair->authority_ends_user = "bob";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(other, 1), "LX");
    has_ended(pair, 2, "s-2", "no");
    pair_pass(pair, 4 * PAIR_SEC);
    assert_int_equal(pair->authority_ended, 2);
}

static void a_renewal_names_its_session_and_may_get_another(void **state)
{
    struct pair *pair = *state;

    pair->authority_session = "s-1";
    pair->authority_roles = "rates";
    struct pair_client *c = client_of(pair, 0, "alice");
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair->authority_asked_session, "s-1");
    assert_int_equal(pair->authority_ended, 0);
    pair->authority_roles = NULL; /* the session stays the same */
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    pair->authority_renewed = "s-2";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair->authority_asked_session, "s-1");
    has_ended(pair, 1, "s-1", "another session took its place");
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    has_ended(pair, 2, "s-2", "the connection has ended");
}

static void a_session_that_begins_too_late_ends_at_once(void **state)
{
    struct pair *pair = *state;

    pair->authority_session = "s-1";
    pair->authority_is_late = true;
    struct pair_client *c = client_of(pair, 0, "alice");
    assert_int_equal(pair->late_count, 1);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    assert_int_equal(pair->authority_ended, 0);
    pair->answers_now = true;
    pair_pass(pair, PAIR_SEC);
    has_ended(pair, 1, "s-1", "nobody waits for the answer any more");
}

static void a_session_that_p2ps_does_not_let_in_ends_at_once(void **state)
{
    struct pair *pair = *state;

    pair->authority_mounts = 1;
    pair->authority_session = "s-1";
    client_of(pair, 0, "alice");
    pair->authority_session = "s-2";
    struct pair_client *second = client_of(pair, 1, "alice");
    assert_string_equal(pair_heard(second, 1), "X");
    has_ended(pair, 1, "s-2", "p2ps did not let it in");
}

/* ---- a dry run ---- */

static struct {
    unsigned count, denied;
    char last[600];
} dry;

static void put_record(void *self, const struct entitle_record *record)
{
    (void)self;
    dry.denied += record->is_denied || record->kind == ENTITLE_RECORD_WITHHELD;
    if (record->kind != ENTITLE_RECORD_DRY_RUN)
        return;
    dry.count++;
    snprintf(dry.last, sizeof(dry.last), "%.*s %.*s: %.*s",
             (int)record->text[ENTITLE_TEXT_USER].length, record->text[ENTITLE_TEXT_USER].data,
             (int)record->text[ENTITLE_TEXT_ITEM].length, record->text[ENTITLE_TEXT_ITEM].data,
             (int)record->text[ENTITLE_TEXT_WHY].length, record->text[ENTITLE_TEXT_WHY].data);
}

/* "$" is no permission data that anybody can read. */
static const char dry_rules[] = "default items deny\n"
                                "default posts deny\n"
                                "user alice\n"
                                "user bob password=secret\n"
                                "user carol from=10.9.0.0/16\n"
                                "user dave stream=no\n"
                                "user erin password=secret disabled\n"
                                "allow alice RDFD DELL.O\n"
                                "allow dave RDFD *\n"
                                "fields dave RDFD * keep 32\n"
                                "peset P ids=1\n"
                                "content RDFD lock\n"
                                "revoked cert=1a\n";

static int setup_dry(void **state)
{
    int rc =
        pair_setup(state, (struct p2ps_core_config){
                              .rules = { .is_dry_run = true },
                              .recorder = { .put = put_record, .level = ENTITLE_LEVEL_POSTS } });
    struct pair *pair = *state;

    memset(&dry, 0, sizeof(dry));
    assert_int_equal(entitle_rules_create(dry_rules, strlen(dry_rules), NULL, NULL, &pair->rules),
                     MD_OK);
    return rc;
}

static int teardown_dry(void **state)
{
    entitle_rules_destroy(((struct pair *)*state)->rules);
    ((struct pair *)*state)->rules = NULL;
    return pair_teardown(state);
}

static uint64_t not_enforced(const struct pair *pair)
{
    uint64_t count = p2ps_core_stats(pair->sink)->dry_run_denied;

    assert_int_equal(dry.count, count);
    return count;
}

static const char *login_of(struct pair *pair, const char *user, const char *password)
{
    struct pair_client *c = pair_client_comes(pair, 3);
    struct omm_login_request request = pair_login_request();

    request.user = rwf_text(user);
    request.password = rwf_text(password);
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    const char *heard = pair_heard(c, 1);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_settle(pair);
    return heard;
}

static void a_dry_run_lets_names_in_and_no_wrong_secret(void **state)
{
    struct pair *pair = *state;

    assert_string_equal(login_of(pair, "alice", ""), "L");
    assert_int_equal(not_enforced(pair), 0);
    assert_string_equal(login_of(pair, "carol", ""), "L");
    assert_int_equal(not_enforced(pair), 1);
    assert_string_equal(dry.last, "carol : carol may not come from 10.1.1.1");
    assert_string_equal(login_of(pair, "nobody", ""), "L");
    assert_int_equal(not_enforced(pair), 2);
    assert_string_equal(login_of(pair, "bob", "secret"), "L");
    assert_string_equal(login_of(pair, "bob", "guess"), "X");
    assert_string_equal(login_of(pair, "bob", ""), "X");
    assert_string_equal(login_of(pair, "erin", "secret"), "X");
    assert_string_equal(login_of(pair, "nobody", "guess"), "X");
    assert_int_equal(not_enforced(pair), 2);
    assert_int_equal(dry.denied, 4);
}

static void a_certificate_that_is_revoked_is_refused_in_a_dry_run_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);

    c->serial = "1a";
    c->certificate_ends_s = 4000000000;
    pair_login(c);
    assert_string_equal(pair_heard(c, 1), "X");
    assert_int_equal(not_enforced(pair), 0);
}

static void a_dry_run_shows_all_and_counts_what_it_should_not(void **state)
{
    struct pair *pair = *state;
    struct pair_client *alice = client_of(pair, 0, "alice");
    struct pair_client *dave = client_of(pair, 1, "dave");

    pair_open(alice, 5, "DELL.O");
    assert_int_equal(not_enforced(pair), 0);
    pair_open(alice, 6, "IBM.N");
    assert_string_equal(pair_heard(alice, 6), "I");
    assert_string_equal(dry.last, "alice IBM.N: not entitled to this item");
    uint64_t before = not_enforced(pair);
    assert_true(before > 0);
    pair_open(dave, 5, "DELL.O"); /* for snapshots, and one field */
    assert_string_equal(pair_heard(dave, 5), "I");
    assert_int_equal(pair_stream(dave, 5)->fields, 2);
    assert_true(not_enforced(pair) >= before + 2);
    /* An update that neither may have. */
    uint64_t counted = p2ps_core_stats(pair->sink)->dry_run_denied;
    pair->provider.perm_data = "$";
    pair_update(pair, "DELL.O");
    pair_settle(pair);
    assert_string_equal(pair_heard(alice, 5), "IU");
    assert_string_equal(pair_heard(dave, 5), "IU");
    assert_int_equal(p2ps_core_stats(pair->sink)->dry_run_denied, counted + 2);
    assert_non_null(strstr(dry.last, "not entitled to the permission data of the message"));
    assert_int_equal(p2ps_core_stats(pair->sink)->updates_withheld, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->not_entitled, 0);
    assert_int_equal(dry.denied, 0);
}

static void the_end_of_a_dry_run_enforces_all_of_it(void **state)
{
    const struct p2ps_rules enforced = { .is_dry_run = false };
    struct pair *pair = *state;
    struct pair_client *alice = client_of(pair, 0, "alice");
    struct pair_client *carol = client_of(pair, 1, "carol");

    pair_open(alice, 5, "DELL.O");
    pair_open(alice, 6, "IBM.N");
    p2ps_core_entitle_again(pair->sink, pair->now_ns); /* a reload that does not end it */
    pair_settle(pair);
    assert_string_equal(pair_heard(carol, 1), "L");
    assert_string_equal(pair_heard(alice, 6), "I");
    p2ps_core_rules_set(pair->sink, &enforced);
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_settle(pair);
    assert_string_equal(pair_heard(carol, 1), "LX");
    assert_string_equal(pair_heard(alice, 1), "L");
    assert_string_equal(pair_heard(alice, 5), "I");
    assert_string_equal(pair_heard(alice, 6), "IX");
}

/* ---- what is taken back is gone within a second ---- */

/* While updates flow: the login is closed, and no update comes any more. */
static void loses_all_within_a_second(struct pair *pair, struct pair_client *c)
{
    const char *login = pair_heard(c, 1);

    for (int i = 0; i < 50; i++) {
        pair_update(pair, "IBM.N");
        pair_pass(pair, 20 * PAIR_MS);
    }
    assert_int_equal(login[strlen(login) - 1], 'X');
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_NOT_ENTITLED);
    size_t heard = strlen(pair_heard(c, 5));
    pair_update(pair, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(strlen(pair_heard(c, 5)), heard);
}

static void a_notice_of_the_authority_counts_within_a_second(void **state)
{
    struct pair *pair = *state;
    struct pair_client *other = client_of(pair, 0, "joe");

    pair->authority_is_outside = true;
    struct pair_client *c = client_of(pair, 1, "alice");
    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    pair->authority_ends_user = "alice";
    pair->authority_news = ENTITLE_NEWS_LOGINS;
    loses_all_within_a_second(pair, c);
    assert_int_equal(strlen(pair_heard(other, 5)), 52); /* all of them */
}

static void the_end_of_a_token_counts_within_a_second(void **state)
{
    struct pair *pair = *state;
    uint64_t end_ns = (pair_wall_ns / PAIR_SEC + 5) * PAIR_SEC;

    pair->authority_by = ENTITLE_BY_JWT;
    pair->authority_expires_s = end_ns / PAIR_SEC;
    struct pair_client *c = client_of(pair, 0, "alice");
    pair_open(c, 5, "IBM.N");
    pair_pass(pair, end_ns - pair_wall_ns - 20 * PAIR_MS);
    assert_string_equal(pair_heard(c, 1), "L");
    pair_wall_ns = end_ns;
    loses_all_within_a_second(pair, c);
}

/* Its authority has checked the token; the file says now that it is good no more. */
static void a_reload_counts_within_a_second_also_for_who_the_authority_has_let_in(void **state)
{
    static const char text[] = "user * auth=authority\nrevoked jti=t-1\n";
    const struct entitle_shown shown = { .jti = "t-1", .is_signed = true };
    struct pair *pair = *state;

    pair->authority_is_outside = true;
    pair->authority_shown = &shown;
    struct pair_client *c = client_of(pair, 0, "alice");
    pair->authority_shown = NULL;
    struct pair_client *other = client_of(pair, 1, "bob");
    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &pair->rules), MD_OK);
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    loses_all_within_a_second(pair, c);
    assert_string_equal(pair_heard(other, 1), "L");
    assert_int_equal(strlen(pair_heard(other, 5)), 52);
    entitle_rules_destroy(pair->rules);
    pair->rules = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_end_of_each_session_is_told_once),
        TEST(a_renewal_names_its_session_and_may_get_another),
        TEST(a_session_that_begins_too_late_ends_at_once),
        TEST(a_session_that_p2ps_does_not_let_in_ends_at_once),
        TEST(new_items_go_on_while_the_authority_is_away),
        TEST(a_session_that_may_not_be_without_the_authority_is_closed),
        TEST(an_item_one_may_not_see_is_closed),
        TEST(an_item_one_may_not_see_is_never_asked_for),
        TEST(nothing_is_seen_before_a_slow_authority_has_answered),
        TEST(a_late_answer_is_not_taken_for_another_question),
        TEST(permission_data_of_the_image_are_asked_about_before_it_is_seen),
        TEST(permission_data_of_a_new_image_are_asked_about_before_it_is_seen),
        TEST(permission_data_of_an_update_are_for_that_update_alone),
        TEST(permission_data_of_a_generic_message_are_for_that_message_alone),
        TEST(a_generic_message_that_a_slow_authority_must_judge_is_withheld),
        TEST(an_update_that_a_slow_authority_must_judge_is_told_as_left_out),
        cmocka_unit_test_setup_teardown(an_update_with_its_own_permission_data_is_in_no_kept_image,
                                        setup_with_images, pair_teardown),
        TEST(new_permission_data_hold_a_stream_back_until_a_slow_authority_answers),
        TEST(a_request_while_a_stream_is_held_back_is_answered_by_its_image),
        TEST(a_reload_ends_the_logins_that_are_allowed_no_more),
        TEST(a_slow_authority_ends_logins_after_a_reload_too),
        TEST(a_late_answer_is_to_the_token_that_was_asked_about),
        TEST(a_name_that_could_be_two_users_is_refused),
        TEST(a_name_that_is_too_long_is_told_how_long_it_is),
        TEST(a_token_of_a_name_that_nobody_can_have_is_refused),
        TEST(a_token_says_whose_login_it_is),
        TEST(an_image_without_permission_data_is_asked_about_before_it_is_seen),
        TEST(no_update_comes_before_the_permission_data_are_known),
        TEST(who_may_have_snapshots_only_gets_no_stream),
        TEST(sessions_of_an_authority_hear_that_it_is_away_and_back),
        TEST(a_session_goes_on_while_nobody_can_say),
        TEST(other_roles_ask_for_the_items_again),
        TEST(a_second_check_does_not_lose_the_denial_of_the_first),
        TEST(a_check_while_one_is_under_way_takes_what_is_known_at_once),
        TEST(a_session_keeps_its_roles_whatever_becomes_of_the_answer),
        TEST(new_rules_hold_for_what_is_open),
        TEST(new_rules_of_a_slow_authority_hold_too),
        cmocka_unit_test_setup_teardown(a_dry_run_lets_names_in_and_no_wrong_secret, setup_dry,
                                        teardown_dry),
        cmocka_unit_test_setup_teardown(a_certificate_that_is_revoked_is_refused_in_a_dry_run_too,
                                        setup_dry, teardown_dry),
        cmocka_unit_test_setup_teardown(a_dry_run_shows_all_and_counts_what_it_should_not,
                                        setup_dry, teardown_dry),
        cmocka_unit_test_setup_teardown(the_end_of_a_dry_run_enforces_all_of_it, setup_dry,
                                        teardown_dry),
        TEST(a_notice_of_the_authority_counts_within_a_second),
        TEST(the_end_of_a_token_counts_within_a_second),
        TEST(a_reload_counts_within_a_second_also_for_who_the_authority_has_let_in),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
