/* test_p2ps_corners.c - corners of both cores that the simulator has found, each by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup_with(void **state, bool source_caches)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->source_caches = source_caches;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    *state = pair;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, false);
}

static int setup_source_caches(void **state)
{
    return setup_with(state, true);
}

static int setup_one_item(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .sink.item_limit = 1 });
}

static void login_again(struct pair_client *c, bool pause)
{
    struct omm_login_request request = pair_login_request();

    request.no_refresh = true;
    request.pause = pause;
    p2ps_client_login(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_pass(c->pair, 20 * PAIR_MS);
}

/* ---- stream ids ---- */

static void ask_directory(struct pair_client *c, int32_t stream_id)
{
    const struct omm_directory_request request = {
        .stream_id = stream_id,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE,
    };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

static void a_directory_request_does_not_take_the_id_of_an_item(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    ask_directory(c, 5);
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 1);
    ask_directory(c, 1);
    assert_string_equal(pair_heard(c, 1), "LX");
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
}

static void a_close_of_the_first_directory_stream_leaves_the_second(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c, 2);
    ask_directory(c, 3);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 2);
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "D");
    assert_string_equal(pair_heard(c, 3), "Dd");
}

static void streams_of_one_item_end_and_begin_in_one_turn(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    const struct omm_item_request again = pair_request(5, "IBM.N");

    for (int32_t id = 5; id <= 7; id++) {
        pair_open(a, id, "IBM.N");
        pair_open(b, id, "IBM.N");
    }
    p2ps_client_close(pair->sink, pair->now_ns, a->id, 7);
    p2ps_client_close(pair->sink, pair->now_ns, a->id, 5);
    p2ps_client_item(pair->sink, pair->now_ns, a->id, &again);
    p2ps_client_gone(pair->sink, pair->now_ns, b->id);
    pair_settle(pair);
    pair_pass(pair, 20 * PAIR_MS);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IIU");
    assert_string_equal(pair_heard(a, 7), "I");
    assert_string_equal(pair_heard(b, 6), "I");
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 2);
    p2ps_client_gone(pair->sink, pair->now_ns, a->id);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

/* ---- pause ---- */

static void asking_again_while_paused_does_not_forget_what_was_missed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_ask_item(c, &request);
    request.pause = true;
    request.no_refresh = true;
    pair_ask_item(c, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_ask_item(c, &request); /* paused still */
    request.pause = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_int_equal(pair_stream(c, 5)->counter, 101);
}

static void a_private_stream_that_is_asked_for_again_stays_one(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_private = true;
    pair_ask_item(c, &request);
    login_again(c, true);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    login_again(c, false);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_int_equal(pair->provider.requests, 1);
    assert_int_equal(pair->provider.reissues, 1);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair->provider.closes, 1);
}

/* ---- who is told what ---- */

static void a_directory_of_one_service_says_nothing_of_another(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    const struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
        .has_service_id = true,
        .service_id = PAIR_SERVICE_ID + 1,
    };

    p2ps_client_directory(pair->sink, pair->now_ns, c->id, &request);
    pair_open(c, 5, "IBM.N");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_non_null(strchr(pair_heard(c, 5), '!'));
}

static void news_of_the_provider_are_for_all_also_while_one_waits(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair->provider.answers = false;
    pair_open(b, 5, "IBM.N"); /* a re-issue is under way */
    assert_int_equal(pair->provider.reissues, 1);
    pair_item(pair, "IBM.N")->counter++;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "Ii");
    assert_int_equal(pair_stream(a, 5)->counter, 101);
    assert_string_equal(pair_heard(b, 5), "I");
}

static void what_all_were_told_suspect_is_imaged_for_all(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED_RECOVER,
                    RWF_DATA_SUSPECT, RWF_CODE_NONE);
    pair_item(pair, "IBM.N")->is_open = false;
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "I!");
    pair_open(b, 5, "IBM.N"); /* waits for an image of its own */
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(a, 5), "I!i");
    assert_int_equal(pair_stream(b, 5)->data_state, RWF_DATA_OK);
}

static void an_image_of_a_stream_that_was_ended_is_suspect(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED_RECOVER,
                    RWF_DATA_SUSPECT, RWF_CODE_NONE);
    pair_item(pair, "IBM.N")->is_open = false;
    pair_settle(pair);
    pair_open(b, 5, "IBM.N");
    assert_int_equal(pair_stream(b, 5)->data_state, RWF_DATA_SUSPECT);
}

/* ---- entitlement ---- */

static void update_with_permission(struct pair *pair, const char *name, const char *permission)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = it->domain,
        .stream_id = it->stream_id,
        .flags = RWF_UPDATE_HAS_PERM_DATA,
        .perm_data = rwf_text(permission),
        .container = RWF_TYPE_FIELD_LIST,
    };

    it->counter++;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, it->counter, true);
    rwf_msg_finish(&enc);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

static void a_cached_image_has_the_permission_data_of_the_last_update(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair->provider.perm_data = "3";
    pair_open(a, 5, "IBM.N");
    update_with_permission(pair, "IBM.N", "7");
    p2ps_client_close(pair->sink, pair->now_ns, a->id, 5);
    pair_settle(pair);
    pair->authority_denies_data = "7";
    pair_open(a, 6, "IBM.N"); /* p2ps knows nothing of it any more */
    assert_int_equal(pair->provider.requests, 1);
    assert_string_equal(pair_heard(a, 6), "X");
    assert_int_equal(pair_stream(a, 6)->code, RWF_CODE_NOT_ENTITLED);
}

static void a_snapshot_waits_for_a_slow_authority(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->authority_is_late = true;
    request.is_streaming = false;
    pair_ask_item(c, &request);
    pair_pass(pair, PAIR_SEC); /* its image is here long before the verdict */
    assert_string_equal(pair_heard(c, 5), "");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(pair_stream(c, 5)->stream_state, RWF_STREAM_NON_STREAMING);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void a_private_snapshot_waits_for_a_slow_authority(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->authority_is_late = true;
    request.is_streaming = false;
    request.is_private = true;
    pair_ask_item(c, &request);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(pair_stream(c, 5)->stream_state, RWF_STREAM_NON_STREAMING);
    assert_true(pair_stream(c, 5)->flags & RWF_REFRESH_PRIVATE_STREAM);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_int_equal(pair->provider.closes, 1);
}

/* Its image has permission data, which a slow authority has to judge: the source, which has
 * answered, is asked with the same data once more. */
static void a_private_snapshot_waits_for_the_verdict_about_its_permission_data(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_streaming = false;
    request.is_private = true;
    request.container = RWF_TYPE_OPAQUE;
    request.payload = rwf_text("parameters of the request");
    pair->provider.answers = false;
    pair_ask_item(c, &request);
    pair->authority_is_late = true;
    pair->provider.perm_data = "A";
    pair->provider.answers = true;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), true);
    pair_settle(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "");
    pair->authority_is_late = false;
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_int_equal(pair->messages, 3); /* and when it may see the image */
    assert_int_equal(pair->provider.requests, 2);
}

/* Its item has ended at the source, so its name is not known any more: what is left of it is its
 * end, whatever the rules say now. */
static void a_snapshot_that_waits_for_room_survives_a_reload(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_streaming = false;
    c->room = 0;
    pair_ask_item(c, &request);
    pair_pass(pair, PAIR_SEC / 2);
    assert_string_equal(pair_heard(c, 5), "");
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_settle(pair);
    c->room = PAIR_UNLIMITED;
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "R");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NO_RESOURCES);
    assert_false(c->closed);
    assert_int_equal(p2ps_core_stats(pair->sink)->not_entitled, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

/* No further item can be opened for it, so its image comes once, and is gone by then. */
static void a_snapshot_at_the_limit_of_items_whose_verdict_is_late_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->authority_is_late = true;
    request.is_streaming = false;
    pair_ask_item(c, &request);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "R");
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void one_whose_verdict_comes_between_its_parts_is_closed_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->authority_is_late = true;
    pair->provider.answers = false;
    pair->provider.parts = 2;
    request.is_streaming = false;
    pair_ask_item(c, &request);
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), true, 0);
    pair_settle(pair);
    pair->answers_now = true;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "");
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), true, 1);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "R");
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void a_snapshot_that_is_asked_for_again_between_its_parts_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->provider.answers = false;
    pair->provider.parts = 2;
    request.is_streaming = false;
    pair_ask_item(c, &request);
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), true, 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    pair_ask_item(c, &request);
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), true, 1);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IR");
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

/* A user with snapshots only must not follow an item that way. */
static void a_snapshot_without_refresh_is_one_with_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(6, "IBM.N");

    request.is_streaming = false;
    request.no_refresh = true;
    pair_ask_item(b, &request);
    assert_string_equal(pair_heard(b, 6), "I");
    pair_open(a, 5, "IBM.N");
    pair_ask_item(b, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 6), "II");
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 1);
}

static void a_verdict_overtaken_by_another_question_is_not_lost(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair->provider.perm_data = "3";
    pair_open(a, 5, "IBM.N");
    pair->authority_is_late = true;
    pair_open(b, 5, "IBM.N");
    pair->authority_is_late = false;
    update_with_permission(pair, "IBM.N", "4"); /* all are asked about again, and known at once */
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_non_null(strchr(pair_heard(b, 5), 'I'));
}

/* ---- the provider's own races ---- */

static void a_stream_the_provider_opened_by_mistake_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    struct pair_item ended = *pair_item(pair, "IBM.N");
    pair->provider.answers = false;
    pair_open(b, 5, "IBM.N"); /* the re-issue crosses the end of the stream */
    pair_say_status(&pair->provider, &ended, RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_int_equal(pair->provider.closes, 1);
    pair_say_image(&pair->provider, &ended, true); /* it had begun before it heard of that */
    pair_settle(pair);
    assert_int_equal(pair->provider.closes, 2);
}

static void it_is_closed_before_the_item_is_asked_for_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    struct pair_item *ended = pair_item(pair, "IBM.N");
    pair->provider.answers = false;
    pair_open(b, 5, "IBM.N");
    assert_int_equal(pair->provider.reissues, 1);
    pair_say_image(&pair->provider, ended, false); /* news do not answer a re-issue */
    pair_say_status(&pair->provider, ended, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    assert_int_equal(pair->provider.closes, 1);
    assert_null(pair_item(pair, "IBM.N"));
    pair->provider.answers = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_int_equal(pair->provider.requests, 2);
    assert_int_equal(pair_stream(a, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(b, 5)->data_state, RWF_DATA_OK);
}

static void what_the_provider_ended_after_it_answered_is_not_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    assert_int_equal(pair->provider.reissues, 1);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_int_equal(pair->provider.closes, 0);
    assert_string_equal(pair_heard(a, 5), "IX");
    assert_string_equal(pair_heard(b, 5), "IX");
}

/* ---- snapshots of what others watch ---- */

static void a_snapshot_elsewhere_is_nothing_to_those_who_watch(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    pair_snapshot_elsewhere(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair->provider.reissues, 1);
    assert_int_equal(pair->elsewhere, 1);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
}

/* Whether parts say something new is not known. Who joins between them is answered by an image of
 * his own. */
static void its_parts_are_for_all_and_who_joins_between_them_is_answered(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair->provider.answers = false;
    pair_snapshot_elsewhere(pair, "IBM.N");
    pair_settle(pair);
    pair->provider.parts = 2;
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), true, 0);
    pair_open(b, 6, "IBM.N");
    assert_int_equal(pair->provider.reissues, 1); /* one answer at a time */
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), true, 1);
    pair->provider.answers = true;
    pair_settle(pair);
    assert_int_equal(pair->elsewhere, 2);
    assert_int_equal(pair->provider.reissues, 2);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IiiU");
    assert_string_equal(pair_heard(b, 6), "IIU");
}

/* An image of several parts is under way when a paused stream is asked for again, or when the
 * verdict about such a request comes: the answer is the next one, whole and solicited. */
static void ask_again_between_parts(struct pair *pair, bool is_late, const char *heard)
{
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair->provider.perm_data = "A";
    request.pause = true;
    pair_ask_item(c, &request);
    pair->provider.answers = false;
    pair->provider.parts = 2;
    pair->authority_is_late = is_late;
    if (is_late)
        pair->provider.perm_data = "B";
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), false, 0);
    pair_settle(pair);
    pair_ask_item(c, &request);
    pair->authority_is_late = false;
    pair->answers_now = true;
    pair_pass(pair, 20 * PAIR_MS);
    pair_say_image_part(&pair->provider, pair_item(pair, "IBM.N"), false, 1);
    pair->provider.answers = true;
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), heard);
    assert_int_equal(pair->provider.reissues, 1);
}

static void a_paused_stream_asked_for_again_between_parts_is_answered(void **state)
{
    ask_again_between_parts(*state, false, "IiII");
}

static void one_that_is_held_back_between_parts_is_answered_too(void **state)
{
    ask_again_between_parts(*state, true, "IJIIj");
}

/* A provider that conflates says a change in the image, and nowhere else. */
static void a_change_that_only_a_snapshot_is_told_is_for_all(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    pair_item(pair, "IBM.N")->counter++;
    pair_snapshot_elsewhere(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair->elsewhere, 1);
    assert_string_equal(pair_heard(a, 5), "Ii");
    assert_int_equal(pair_stream(a, 5)->counter, pair_item(pair, "IBM.N")->counter);
    pair_snapshot_elsewhere(pair, "IBM.N"); /* and now it is known */
    pair_settle(pair);
    assert_int_equal(pair->elsewhere, 2);
    assert_string_equal(pair_heard(a, 5), "Ii");
}

/* What one who joined was told is not known to the others. */
static void what_only_who_joined_has_is_for_all_when_a_snapshot_brings_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_item(pair, "IBM.N")->counter++;
    pair_open(b, 6, "IBM.N");
    pair_snapshot_elsewhere(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair->elsewhere, 1);
    assert_string_equal(pair_heard(a, 5), "Ii");
    assert_int_equal(pair_stream(a, 5)->counter, pair_item(pair, "IBM.N")->counter);
}

/* What differs from what the watchers were told is for them, too. */
static void its_image_is_for_all_when_it_is_news(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    pair->provider.perm_data = "7";
    pair_snapshot_elsewhere(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair->elsewhere, 1);
    assert_string_equal(pair_heard(a, 5), "Ii");
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    pair_snapshot_elsewhere(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair->elsewhere, 2);
    assert_string_equal(pair_heard(a, 5), "Ii!i");
}

/* ---- numbers that are used again ---- */

/* src_dist has the item open, for nobody, so the snapshot waits for its next image; then it goes.
 */
static void a_snapshot_of_an_item_that_went_is_not_given_another(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request snapshot = pair_request(6, "IBM.N");

    pair_open(c, 5, "IBM.N");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_pass(pair, 3 * PAIR_SEC); /* so that it goes before the snapshot is asked for again */
    pair->provider.answers = false;
    snapshot.is_streaming = false;
    pair_ask_item(c, &snapshot);
    assert_int_equal(pair->provider.reissues, 1);
    while (pair->provider.closes == 0)
        pair_pass(pair, 20 * PAIR_MS);
    pair->provider.answers = true;
    pair_open(c, 7, "MSFT.O");
    assert_string_equal(pair_heard(c, 7), "I");
    assert_string_equal(pair_heard(c, 6), "R");
    assert_int_equal(pair_stream(c, 6)->stream_state, RWF_STREAM_CLOSED_RECOVER);
}

int main(void)
{
#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_directory_request_does_not_take_the_id_of_an_item, setup),
        TEST(a_close_of_the_first_directory_stream_leaves_the_second, setup),
        TEST(streams_of_one_item_end_and_begin_in_one_turn, setup),
        TEST(asking_again_while_paused_does_not_forget_what_was_missed, setup),
        TEST(a_private_stream_that_is_asked_for_again_stays_one, setup),
        TEST(a_directory_of_one_service_says_nothing_of_another, setup),
        TEST(news_of_the_provider_are_for_all_also_while_one_waits, setup),
        TEST(what_all_were_told_suspect_is_imaged_for_all, setup),
        TEST(an_image_of_a_stream_that_was_ended_is_suspect, setup_source_caches),
        TEST(a_cached_image_has_the_permission_data_of_the_last_update, setup_source_caches),
        TEST(a_snapshot_waits_for_a_slow_authority, setup),
        TEST(a_private_snapshot_waits_for_a_slow_authority, setup),
        TEST(a_private_snapshot_waits_for_the_verdict_about_its_permission_data, setup),
        TEST(a_snapshot_that_waits_for_room_survives_a_reload, setup),
        TEST(a_snapshot_at_the_limit_of_items_whose_verdict_is_late_is_closed, setup_one_item),
        TEST(one_whose_verdict_comes_between_its_parts_is_closed_too, setup_one_item),
        TEST(a_snapshot_that_is_asked_for_again_between_its_parts_is_closed, setup),
        TEST(a_snapshot_without_refresh_is_one_with_it, setup),
        TEST(a_verdict_overtaken_by_another_question_is_not_lost, setup),
        TEST(a_stream_the_provider_opened_by_mistake_is_closed, setup),
        TEST(it_is_closed_before_the_item_is_asked_for_again, setup),
        TEST(what_the_provider_ended_after_it_answered_is_not_closed, setup),
        TEST(a_snapshot_elsewhere_is_nothing_to_those_who_watch, setup),
        TEST(its_parts_are_for_all_and_who_joins_between_them_is_answered, setup),
        TEST(a_paused_stream_asked_for_again_between_parts_is_answered, setup),
        TEST(one_that_is_held_back_between_parts_is_answered_too, setup),
        TEST(a_change_that_only_a_snapshot_is_told_is_for_all, setup),
        TEST(what_only_who_joined_has_is_for_all_when_a_snapshot_brings_it, setup),
        TEST(its_image_is_for_all_when_it_is_news, setup),
        TEST(a_snapshot_of_an_item_that_went_is_not_given_another, setup),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
