/* test_p2ps_trail.c - what the core records for the audit trail. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* The records, a line for each: "login alice", "open- alice IBM.N (why)". */
static char told[4096];
static struct entitle_record last;
static char rule[64]; /* of the last */

static void put(void *self, const struct entitle_record *record)
{
    static const char *const kinds[] = {
        "login", "reissue", "logout", "open", "revoke", "close",
        "lock",  "post",    "",       "",     "",       "withheld"
    };
    const struct entitle_view *text = record->text;
    size_t used = strlen(told);

    (void)self;
    last = *record;
    snprintf(rule, sizeof(rule), "%.*s", (int)text[ENTITLE_TEXT_RULE].length,
             text[ENTITLE_TEXT_RULE].length ? text[ENTITLE_TEXT_RULE].data : "");
    snprintf(told + used, sizeof(told) - used, "%s%s %.*s%s%.*s\n", kinds[record->kind],
             record->is_denied ? "-" : "", (int)text[ENTITLE_TEXT_USER].length,
             text[ENTITLE_TEXT_USER].length ? text[ENTITLE_TEXT_USER].data : "",
             text[ENTITLE_TEXT_ITEM].length ? " " : "", (int)text[ENTITLE_TEXT_ITEM].length,
             text[ENTITLE_TEXT_ITEM].length ? text[ENTITLE_TEXT_ITEM].data : "");
}

/* Since it was asked last. */
static const char *said(void)
{
    static char copy[sizeof(told)];

    memcpy(copy, told, sizeof(copy));
    told[0] = 0;
    return copy;
}

static bool is_full;

static bool has_room(void *self, enum entitle_level level)
{
    (void)self;
    return !is_full || level > ENTITLE_LEVEL_POSTS;
}

static int setup_at(void **state, enum entitle_level level)
{
    is_full = false;
    told[0] = 0;
    return pair_setup(state,
                      (struct p2ps_core_config){
                          .recorder = { .put = put, .has_room = has_room, .level = level } });
}

static int setup(void **state)
{
    return setup_at(state, ENTITLE_LEVEL_ITEMS);
}

static int setup_for_denials(void **state)
{
    return setup_at(state, ENTITLE_LEVEL_DENIALS);
}

static struct pair_client *client_of(struct pair *pair, unsigned n, const char *user)
{
    struct pair_client *c = pair_client_comes(pair, n);
    struct omm_login_request request = pair_login_request();

    request.user = rwf_text(user);
    request.position = rwf_text("10.1.0.7/net");
    request.application_id = rwf_text("300");
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    return c;
}

static bool has_text(enum entitle_record_text which, const char *want)
{
    return last.text[which].length == strlen(want) &&
           memcmp(last.text[which].data, want, strlen(want)) == 0;
}

static void post(struct pair_client *c, int32_t stream_id)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_POST,
        .domain = 6,
        .stream_id = stream_id,
        .flags = RWF_POST_HAS_POST_ID | RWF_POST_ACK | RWF_POST_COMPLETE | RWF_POST_HAS_KEY,
        .post_id = 1,
        .key = pair_request(0, "QUOTE").key,
        .container = RWF_TYPE_FIELD_LIST,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, 1, true);
    rwf_msg_finish(&enc);
    struct rwf_bytes whole = rwf_encoder_bytes(&enc);
    assert_int_equal(rwf_msg_decode(whole, &msg), RWF_OK);
    p2ps_client_post(c->pair->sink, c->pair->now_ns, c->id, &msg, whole);
    pair_settle(c->pair);
}

/* ---- logins ---- */

static void a_login_is_recorded_with_where_it_came_from(void **state)
{
    client_of(*state, 0, "alice");
    assert_true(has_text(ENTITLE_TEXT_POSITION, "10.1.0.7/net"));
    assert_true(has_text(ENTITLE_TEXT_APPLICATION, "300"));
    assert_true(last.text[ENTITLE_TEXT_ADDRESS].length > 0);
    assert_int_equal(last.session, 1);
    assert_string_equal(said(), "login alice\n");
}

static void a_refused_login_is_recorded_once_with_its_code(void **state)
{
    struct pair *pair = *state;

    pair->authority_denies = true;
    struct pair_client *c = client_of(pair, 0, "mallory");
    assert_int_equal(last.code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(said(), "login- mallory\n");
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    assert_string_equal(said(), "");
}

static void a_mount_too_many_is_a_refused_login(void **state)
{
    struct pair *pair = *state;

    pair->authority_mounts = 1;
    client_of(pair, 0, "alice");
    client_of(pair, 1, "alice");
    assert_int_equal(last.code, RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER);
    assert_string_equal(said(), "login alice\nlogin- alice\n");
}

static void each_end_of_a_login_is_recorded_once_with_its_reason(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = client_of(pair, 0, "alice");
    struct pair_client *b = client_of(pair, 1, "bob");
    struct pair_client *c = client_of(pair, 2, "carol");

    client_of(pair, 3, "dave");
    said();
    p2ps_client_close(pair->sink, pair->now_ns, a->id, 1);
    assert_true(has_text(ENTITLE_TEXT_WHY, "the consumer has logged out"));
    p2ps_client_gone(pair->sink, pair->now_ns, a->id);
    p2ps_client_lost(pair->sink, pair->now_ns, b->id, "a ping is missing");
    assert_true(has_text(ENTITLE_TEXT_WHY, "a ping is missing"));
    assert_string_equal(said(), "logout alice\nlogout bob\n");
    pair->authority_ends_user = "carol";
    pair->authority_file = "access";
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(said(), "logout carol\n");
    assert_string_equal(rule, "");
    assert_int_equal(last.code, RWF_CODE_NOT_ENTITLED);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    p2ps_core_leave(pair->sink, pair->now_ns);
    assert_string_equal(said(), "logout dave\n");
}

static void a_busy_authority_sends_new_logins_on_and_leaves_open_ones(void **state)
{
    struct pair *pair = *state;
    struct omm_login_request again = pair_login_request();

    again.name_type = RWF_NAME_LOGIN_AUTHN_TOKEN;
    again.token = rwf_text("T1");
    struct pair_client *a = client_of(pair, 0, "alice");
    pair->authority_denies = pair->authority_is_busy = true;
    struct pair_client *b = client_of(pair, 1, "bob");
    p2ps_client_login(pair->sink, pair->now_ns, a->id, &again);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 1), "LL");
    assert_string_equal(pair_heard(b, 1), "R");
    assert_int_equal(pair_stream(b, 1)->code, RWF_CODE_NO_RESOURCES);
    assert_string_equal(said(), "login alice\nlogin- bob\nreissue- alice\n");
}

static void a_late_verdict_about_a_login_needs_no_tick(void **state)
{
    struct pair *pair = *state;

    pair->authority_is_late = true;
    struct pair_client *c = client_of(pair, 0, "alice");
    assert_string_equal(said(), "");
    pair->answers_now = true;
    p2ps_core_answers(pair->sink, pair->now_ns);
    assert_string_equal(said(), "login alice\n");
    assert_string_equal(pair_heard(c, 1), "L");
}

/* ---- items ---- */

static void an_item_is_opened_and_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    said();
    pair_open(c, 5, "IBM.N");
    assert_true(has_text(ENTITLE_TEXT_SERVICE, "RDFD"));
    assert_int_equal(last.domain, 6);
    assert_string_equal(said(), "open alice IBM.N\n");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    assert_string_equal(said(), "close alice IBM.N\n");
    pair_open(c, 6, "DELL.O");
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(said(), "open alice DELL.O\nlogout alice\nclose alice DELL.O\n");
}

static void a_snapshot_has_no_close(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");
    struct omm_item_request request = pair_request(5, "IBM.N");

    said();
    request.is_streaming = false;
    pair_ask_item(c, &request);
    assert_true(last.is_snapshot);
    assert_string_equal(said(), "open alice IBM.N\n");
}

static void a_denied_item_is_recorded_and_was_never_open(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    said();
    pair->authority_denies_item = "IBM.N";
    pair_open(c, 5, "IBM.N");
    assert_int_equal(last.code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(said(), "open- alice IBM.N\n");
}

static void new_permission_data_are_recorded_once_for_the_item(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = client_of(pair, 0, "alice");
    struct pair_client *m = client_of(pair, 1, "mallory");

    said();
    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    pair->authority_denies_user = "mallory";
    pair_open(a, 5, "IBM.N");
    pair_open(m, 5, "IBM.N");
    assert_true(has_text(ENTITLE_TEXT_LOCK, "A"));
    assert_string_equal(said(), "open alice IBM.N\nlock  IBM.N\nopen mallory IBM.N\n");
    pair->provider.perm_data = "B";
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_string_equal(said(), "lock  IBM.N\nrevoke- mallory IBM.N\nclose mallory IBM.N\n");
}

static void a_late_verdict_opens_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    said();
    pair->authority_is_late = true;
    pair_open(c, 5, "IBM.N");
    assert_string_equal(said(), "");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    pair->authority_is_late = false;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(said(), "open alice IBM.N\n");
}

/* ---- posts ---- */

static void posts_have_their_author(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair_open(c, 5, "IBM.N");
    said();
    post(c, 5);
    post(c, 1);
    pair->authority_denies_posts = true;
    post(c, 5);
    assert_int_equal(last.code, RWF_NAK_ACCESS_DENIED);
    assert_string_equal(said(), "post alice IBM.N\npost alice QUOTE\npost- alice IBM.N\n");
}

/* ---- levels ---- */

static void a_level_has_no_more_than_it_says(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair->authority_denies_item = "DELL.O";
    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    post(c, 5);
    assert_string_equal(said(), "login alice\nopen- alice DELL.O\n");
    p2ps_core_record_level_set(pair->sink, ENTITLE_LEVEL_POSTS);
    post(c, 5);
    assert_string_equal(said(), "post alice IBM.N\n");
    p2ps_core_record_level_set(pair->sink, ENTITLE_LEVEL_LOGINS);
    pair_open(c, 7, "DELL.O");
    post(c, 5);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    assert_string_equal(said(), "logout alice\n");
}

static void a_refusal_names_the_rule_that_decided_and_no_other(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair->authority_file = "access";
    pair->authority_denies_item = "DELL.O";
    pair_open(c, 6, "DELL.O");
    assert_string_equal(rule, "access:7");
    pair_open(c, 5, "IBM.N");
    assert_string_equal(rule, "");
    pair->authority_denies_posts = true;
    post(c, 5);
    assert_string_equal(rule, "access:7");
    pair->authority_denies = true;
    client_of(pair, 1, "mallory");
    assert_string_equal(rule, "access:7");
}

static void what_no_rule_decided_names_none(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair_open(c, 5, "IBM.N");
    pair->authority_file = "access";
    pair->authority_denies_data = "B";
    pair->provider.perm_data = "B";
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(rule, "");
    client_of(pair, 1, ""); /* nobody is asked about it */
    assert_true(last.kind == ENTITLE_RECORD_LOGIN && last.is_denied);
    assert_string_equal(rule, "");
    p2ps_core_record_level_set(pair->sink, ENTITLE_LEVEL_LOGINS);
    pair->authority_denies_item = "DELL.O";
    pair_open(c, 6, "DELL.O"); /* not recorded */
    client_of(pair, 2, "");
    assert_string_equal(rule, "");
}

/* At once, and then once a minute with their number. */
static void withheld_updates_are_recorded_for_each_stream(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair_open(c, 5, "IBM.N");
    said();
    pair->authority_denies_data = "B";
    pair->provider.perm_data = "B";
    for (int i = 0; i < 3; i++)
        pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(said(), "withheld alice IBM.N\n");
    assert_int_equal(last.count, 1);
    assert_true(has_text(ENTITLE_TEXT_LOCK, "B"));
    pair_pass(pair, 30 * PAIR_SEC);
    assert_string_equal(said(), "");
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    said();
    pair_pass(pair, 32 * PAIR_SEC);
    assert_string_equal(said(), "withheld alice IBM.N\n");
    assert_int_equal(last.count, 2);
    pair_pass(pair, 70 * PAIR_SEC);
    assert_string_equal(said(), "");
}

static void nothing_new_begins_while_the_trail_is_full(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = client_of(pair, 0, "alice");

    pair_open(c, 5, "IBM.N");
    is_full = true;
    struct pair_client *late = client_of(pair, 1, "bob");
    assert_string_equal(pair_heard(late, 1), "R");
    assert_int_equal(pair_stream(late, 1)->code, RWF_CODE_NO_RESOURCES);
    post(c, 5);
    assert_string_equal(pair_heard(c, 5), "IN");
    pair_open(c, 6, "DELL.O"); /* of which this trail has nothing */
    assert_string_equal(pair_heard(c, 6), "I");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "INU");
    assert_int_equal(p2ps_core_stats(pair->sink)->refused_audit, 2);
    is_full = false;
    client_of(pair, 2, "carol");
    post(c, 5);
    assert_string_equal(pair_heard(c, 5), "INUA");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_login_is_recorded_with_where_it_came_from),
        TEST(a_refused_login_is_recorded_once_with_its_code),
        TEST(a_mount_too_many_is_a_refused_login),
        TEST(each_end_of_a_login_is_recorded_once_with_its_reason),
        TEST(a_busy_authority_sends_new_logins_on_and_leaves_open_ones),
        TEST(a_late_verdict_about_a_login_needs_no_tick),
        TEST(an_item_is_opened_and_closed),
        TEST(a_snapshot_has_no_close),
        TEST(a_denied_item_is_recorded_and_was_never_open),
        TEST(new_permission_data_are_recorded_once_for_the_item),
        TEST(a_late_verdict_opens_once),
        TEST(posts_have_their_author),
        TEST(a_refusal_names_the_rule_that_decided_and_no_other),
        TEST(what_no_rule_decided_names_none),
        TEST(withheld_updates_are_recorded_for_each_stream),
        TEST(nothing_new_begins_while_the_trail_is_full),
        cmocka_unit_test_setup_teardown(a_level_has_no_more_than_it_says, setup_for_denials,
                                        pair_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
