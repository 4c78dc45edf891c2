/* test_p2ps_post_rights.c - what posts may do, and whose they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static const char rules[] = "peset P ids=1\n"
                            "content RDFD lock\n"
                            "user ann post=create\n"
                            "user boss post=create,delete,perm\n"
                            "grant ann P 1 do=view,post\n"
                            "grant boss P *\n";

static int setup(void **state)
{
    const struct p2ps_core_config config = { .rules.fills_post_user_id = true };
    int rc = pair_setup(state, config);

    assert_int_equal(
        entitle_rules_create(rules, strlen(rules), NULL, NULL, &((struct pair *)*state)->rules),
        MD_OK);
    return rc;
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    entitle_rules_destroy(pair->rules);
    pair->rules = NULL;
    return pair_teardown(state);
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

/* A post on the login's stream; what the provider gets is in *got. False: it gets none. */
static bool post(struct pair_client *c, struct rwf_msg msg, struct rwf_msg *got)
{
    static uint8_t bytes[512];
    const struct pair_provider *p = &c->pair->provider;
    uint32_t before = p->posts;
    struct rwf_encoder enc;

    msg.msg_class = RWF_CLASS_POST;
    msg.domain = 6;
    msg.stream_id = 1;
    msg.flags |= RWF_POST_HAS_POST_ID | RWF_POST_ACK | RWF_POST_COMPLETE | RWF_POST_HAS_KEY;
    msg.key = pair_request(0, "IBM.N").key;
    if (msg.container == 0)
        msg.container = RWF_TYPE_NO_DATA;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_encoder_bytes(&enc), &msg), RWF_OK);
    p2ps_client_post(c->pair->sink, c->pair->now_ns, c->id, &msg, rwf_encoder_bytes(&enc));
    pair_settle(c->pair);
    if (p->posts == before)
        return false;
    assert_int_equal(rwf_msg_decode(rwf_bytes(p->post, p->post_length), got), RWF_OK);
    return true;
}

static void rights_that_a_user_has_not_are_cleared(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *boss = client_of(pair, 1, "boss");
    const struct rwf_msg asks = { .flags = RWF_POST_HAS_POST_USER_RIGHTS, .post_rights = 15 };
    struct rwf_msg got = { 0 };

    assert_true(post(ann, asks, &got));
    assert_true(got.flags & RWF_POST_HAS_POST_USER_RIGHTS);
    assert_int_equal(got.post_rights, RWF_POST_RIGHT_CREATE);
    assert_true(post(boss, asks, &got));
    assert_int_equal(got.post_rights & 7, 7);
    assert_true(post(ann, (struct rwf_msg){ 0 }, &got));
    assert_false(got.flags & RWF_POST_HAS_POST_USER_RIGHTS);
}

static void permission_data_of_a_post_are_judged(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct rwf_msg msg = { .flags = RWF_POST_HAS_PERM_DATA,
                           .perm_data = rwf_bytes((const uint8_t *)"\x03\0\1\x1c", 4) };
    struct rwf_msg got = { 0 };

    assert_true(post(ann, msg, &got));
    assert_int_equal(got.perm_data.length, 4);
    msg.perm_data.data = (const uint8_t *)"\x03\0\1\x2c";
    assert_false(post(ann, msg, &got));
    assert_int_equal(pair_stream(ann, 1)->code, RWF_NAK_ACCESS_DENIED);
    assert_int_equal(p2ps_core_stats(pair->sink)->posts_denied, 1);
}

static void to_change_the_permission_data_of_an_item_needs_a_right(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *boss = client_of(pair, 1, "boss");
    struct rwf_msg inner = { .msg_class = RWF_CLASS_REFRESH,
                             .domain = 6,
                             .flags = RWF_REFRESH_HAS_PERM_DATA,
                             .perm_data = rwf_bytes((const uint8_t *)"\x03\0\1\x1c", 4),
                             .group_id = rwf_bytes((const uint8_t *)"\0\1", 2),
                             .state = { .stream_state = RWF_STREAM_OPEN },
                             .container = RWF_TYPE_NO_DATA };
    struct rwf_msg got = { 0 };
    uint8_t bytes[128];

    for (int i = 0; i < 3; i++) {
        struct rwf_encoder enc;

        rwf_encoder_init(&enc, bytes, sizeof(bytes));
        assert_int_equal(rwf_msg_encode(&enc, &inner), RWF_OK);
        const struct rwf_msg outer = { .container = RWF_TYPE_MSG,
                                       .payload = rwf_encoder_bytes(&enc) };
        assert_int_equal(post(ann, outer, &got), i == 2);
        assert_true(post(boss, outer, &got));
        assert_int_equal(got.payload.length, outer.payload.length);
        inner.msg_class = RWF_CLASS_STATUS;
        inner.flags = i == 0 ? RWF_STATUS_HAS_PERM_DATA : RWF_STATUS_HAS_STATE;
    }
    const struct rwf_msg broken = { .container = RWF_TYPE_MSG, .payload = rwf_text("?") };
    assert_false(post(ann, broken, &got)); /* who knows what it brings */
    assert_int_equal(p2ps_core_stats(pair->sink)->posts_denied, 3);
}

static void posts_keep_all_of_it_in_a_dry_run(void **state)
{
    const struct p2ps_rules dry = { .is_dry_run = true };
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct rwf_msg msg = { .flags = RWF_POST_HAS_POST_USER_RIGHTS, .post_rights = 1 };
    struct rwf_msg got = { 0 };

    p2ps_core_rules_set(pair->sink, &dry);
    assert_true(post(ann, msg, &got));
    assert_int_equal(p2ps_core_stats(pair->sink)->dry_run_denied, 0);
    msg.post_rights = 15;
    assert_true(post(ann, msg, &got));
    assert_int_equal(got.post_rights, 15);
    assert_int_equal(p2ps_core_stats(pair->sink)->dry_run_denied, 1);
    msg = (struct rwf_msg){ .flags = RWF_POST_HAS_PERM_DATA,
                            .perm_data = rwf_bytes((const uint8_t *)"\x03\0\1\x2c", 4) };
    assert_true(post(ann, msg, &got));
    assert_int_equal(p2ps_core_stats(pair->sink)->dry_run_denied, 2);
    msg = (struct rwf_msg){ .container = RWF_TYPE_MSG, .payload = rwf_text("?") };
    assert_true(post(ann, msg, &got));
    assert_int_equal(p2ps_core_stats(pair->sink)->dry_run_denied, 3);
    assert_int_equal(p2ps_core_stats(pair->sink)->posts_denied, 0);
}

static void a_post_without_a_user_id_gets_one_of_its_user(void **state)
{
    struct pair *pair = *state;
    struct pair_client *ann = client_of(pair, 0, "ann");
    struct pair_client *boss = client_of(pair, 1, "boss");
    const struct rwf_msg known = { .post_user_id = 7 };
    struct rwf_msg got = { 0 };

    assert_true(post(ann, (struct rwf_msg){ 0 }, &got));
    assert_int_equal(got.post_user_id, 0x1529cc18); /* for good */
    assert_true(post(boss, (struct rwf_msg){ 0 }, &got));
    assert_int_not_equal(got.post_user_id, 0x1529cc18);
    assert_true(post(ann, known, &got));
    assert_int_equal(got.post_user_id, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rights_that_a_user_has_not_are_cleared, setup, teardown),
        cmocka_unit_test_setup_teardown(permission_data_of_a_post_are_judged, setup, teardown),
        cmocka_unit_test_setup_teardown(to_change_the_permission_data_of_an_item_needs_a_right,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(posts_keep_all_of_it_in_a_dry_run, setup, teardown),
        cmocka_unit_test_setup_teardown(a_post_without_a_user_id_gets_one_of_its_user, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
