/* test_p2ps_behind.c - images out of the cache, and clients that cannot keep up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup_with(void **state, bool keeps_images)
{
    return pair_setup(state, (struct p2ps_core_config){
                                 .keeps_images = keeps_images,
                                 .conflate_max = 8,
                                 .owed_fill_percent = 50,
                             });
}

static int setup(void **state)
{
    return setup_with(state, true);
}

static int setup_without_cache(void **state)
{
    return setup_with(state, false);
}

static void room(struct pair_client *c, uint32_t now, uint32_t max)
{
    c->room = now;
    c->room_max = max;
}

static void room_again(struct pair_client *c, uint32_t now)
{
    c->room = now;
    p2ps_client_writable(c->pair->sink, c->pair->now_ns, c->id);
    pair_settle(c->pair);
    pair_pass(c->pair, 20 * PAIR_MS);
}

/* ---- the cache ---- */

static void a_second_image_comes_at_once_and_nobody_is_asked(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(9, "IBM.N");

    pair_open(a, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair->provider.answers = false;
    p2ps_client_item(pair->sink, pair->now_ns, b->id, &request);
    assert_string_equal(pair_heard(b, 9), "I");
    assert_int_equal(pair_stream(b, 9)->counter, 101);
    assert_int_equal(pair_stream(b, 9)->data_state, RWF_DATA_OK);
    assert_true(pair_stream(b, 9)->has_key);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IUU");
    assert_string_equal(pair_heard(b, 9), "IU");
    assert_int_equal(pair->provider.requests, 1);
    assert_int_equal(pair->provider.reissues, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->images_from_cache, 1);
}

static void a_stale_image_is_given_as_stale(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    pair_open(b, 9, "IBM.N");
    assert_string_equal(pair_heard(b, 9), "I");
    assert_int_equal(pair_stream(b, 9)->stream_state, RWF_STREAM_OPEN);
    assert_int_equal(pair_stream(b, 9)->data_state, RWF_DATA_SUSPECT);
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(a, 5), "I!i");
    assert_string_equal(pair_heard(b, 9), "Ii");
    assert_int_equal(pair_stream(b, 9)->data_state, RWF_DATA_OK);
    pair_open(b, 10, "IBM.N");
    assert_int_equal(pair_stream(b, 10)->data_state, RWF_DATA_OK);
}

static void a_snapshot_from_the_cache_ends_with_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(6, "IBM.N");

    pair_open(c, 5, "IBM.N");
    request.is_streaming = false;
    pair_ask_item(c, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 6), "I");
    assert_int_equal(pair_stream(c, 6)->stream_state, RWF_STREAM_NON_STREAMING);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 1);
}

static void a_reissue_is_answered_from_the_cache(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "IUI");
    assert_int_equal(pair_stream(c, 5)->counter, 101);
    assert_int_equal(pair->provider.reissues, 0);
}

static void what_one_may_not_see_is_not_given_from_the_cache(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair->authority_denies_item = "IBM.N";
    pair_open(b, 9, "IBM.N");
    assert_string_equal(pair_heard(b, 9), "X");
}

static void images_take_memory_only_while_the_item_is_open(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    pair_pass(pair, 2 * PAIR_SEC);
    assert_int_equal(p2ps_core_stats(pair->sink)->cache.images_now, 2);
    assert_true(p2ps_core_stats(pair->sink)->cache.bytes_now > 0);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_pass(pair, 10 * PAIR_SEC);
    assert_int_equal(p2ps_core_stats(pair->sink)->cache.images_now, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->cache.bytes_now, 0);
}

static void a_private_image_is_not_kept(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_private = true;
    pair_ask_item(c, &request);
    pair_pass(pair, 2 * PAIR_SEC);
    assert_int_equal(p2ps_core_stats(pair->sink)->cache.images_now, 0);
}

/* ---- clients that are behind ---- */

static void behind(struct pair *pair)
{
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    uint32_t reissues = pair->provider.reissues;
    room(a, 0, 10);
    for (int i = 0; i < 5; i++)
        pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "I");
    assert_string_equal(pair_heard(b, 5), "IUUUUU");
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_slow_now, 1);
    room_again(a, 10);
    assert_string_equal(pair_heard(a, 5), "IJU"); /* its output is not at outputThresholdOK yet */
    room_again(a, 10);
    assert_string_equal(pair_heard(a, 5), "IJUj");
    assert_int_equal(pair_stream(a, 5)->counter, 105);
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_slow_now, 0);
    assert_int_equal(pair->provider.reissues, reissues);
    room(a, PAIR_UNLIMITED, 1);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair_stream(a, 5)->counter, 106);
    assert_string_equal(pair_heard(b, 5), "IUUUUUU");
}

static void a_client_that_was_behind_is_told_and_gets_a_merged_update(void **state)
{
    behind(*state);
}

static void without_a_cache_the_source_is_not_asked(void **state)
{
    behind(*state);
}

static void a_burst_that_goes_out_at_once_needs_no_other_event(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    c->drains = true;
    room(c, 4, 4);
    for (int i = 0; i < 9; i++)
        pair_update(pair, "IBM.N");
    pair_move(pair, &pair->down, 1, false);
    assert_string_equal(pair_heard(c, 5), "IUUUU");
    p2ps_core_flush(pair->sink);
    assert_string_equal(pair_heard(c, 5), "IUUUUJUj");
    assert_int_equal(pair_stream(c, 5)->counter, 109);
}

static void who_makes_no_progress_is_cut_and_nobody_else_notices(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    room(a, 0, 10);
    pair_update(pair, "IBM.N");
    pair_pass(pair, 9 * PAIR_SEC);
    assert_false(a->closed);
    pair_pass(pair, 4 * PAIR_SEC);
    assert_true(a->closed);
    assert_non_null(strstr(a->reason, "output buffer overflow: nothing was taken"));
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_cut_slow, 1);
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_slow_now, 0);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(b, 5), "IUU");
}

static void a_pause_of_our_own_cuts_nobody(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 10);
    pair_update(pair, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    pair->now_ns += 30 * PAIR_SEC;
    p2ps_core_tick(pair->sink, pair->now_ns, 0);
    assert_false(c->closed);
    c->room = 10;
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    assert_string_equal(pair_heard(c, 5), "IU");
}

static void follow_groups(struct pair_client *c)
{
    const struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

/* The image that would have told it its new group is one that it has missed. */
static void a_client_that_is_behind_is_told_the_state_of_a_group_it_does_not_know(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    follow_groups(a);
    follow_groups(b);
    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    room(a, 0, 10);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair->provider.group = 2;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    room(a, 5, 10); /* too little to be given what is owed */
    assert_int_not_equal(pair_stream(a, 5)->group, pair_stream(b, 5)->group);
    pair_say_group(pair, 2, 0, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 2), "Dg");
    assert_string_equal(pair_heard(a, 5), "I"); /* behind the update that waits */
    assert_string_equal(pair_heard(b, 2), "Dg");
    assert_string_equal(pair_heard(b, 5), "IUi");
    pair_say_group_state(pair, 2, 0, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IR"); /* the other has heard it of the group */
    assert_string_equal(pair_heard(b, 5), "IUi");
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
}

static void too_many_items_behind_is_the_end(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    char name[16];

    for (int32_t i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 5 + i, name);
    }
    room(c, 0, 10);
    for (int i = 0; i < 9; i++) {
        assert_false(c->closed);
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_update(pair, name);
        pair_settle(pair);
    }
    assert_true(c->closed);
    assert_string_equal(c->reason, "output buffer overflow: 9 items are behind, conflateMax is 8, "
                                   "100 of 100 percent of its output in use");
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_cut_slow, 1);
}

/* All that the provider has said goes to p2ps at once. */
static void deliver_in_one_batch(struct pair *pair)
{
    struct backbone_event events[16];
    size_t count;

    pair_provider_turn(&pair->provider);
    srcdist_core_settle(pair->source, pair->now_ns);
    count = pair->down.count;
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++)
        events[i] = (struct backbone_event){
            .type = BACKBONE_MESSAGE,
            .session = pair_session(pair),
            .src_port = 1,
            .topic = pair->down.sent[i].target.topic,
            .bytes = pair->down.sent[i].bytes,
            .length = (uint32_t)pair->down.sent[i].length,
        };
    pair->down.count = 0;
    p2ps_core_backbone(pair->sink, pair->network, pair->now_ns, events, count);
}

static void who_is_cut_is_told_how_many_were_behind_when_it_was_decided(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    char name[16];

    for (int32_t i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 5 + i, name);
    }
    room(c, 0, 10);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_update(pair, name);
    }
    pair_settle(pair);
    room(c, 5, 10); /* for the ends of two streams, which are behind no longer then */
    pair_update(pair, "I8.N");
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_say_status(&pair->provider, pair_item(pair, name), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                        RWF_CODE_NONE);
    }
    deliver_in_one_batch(pair);
    assert_true(c->closed);
    assert_non_null(strstr(c->reason, "9 items are behind, conflateMax is 8, "));
}

static void who_does_not_read_its_answers_is_cut_and_told_why(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 1, 10);
    p2ps_client_unread(pair->sink, pair->now_ns, c->id);
    assert_true(c->closed);
    assert_non_null(strstr(c->reason, "output buffer overflow: its answers were not taken within "
                                      "slowTimeout, 90 of 100 percent"));
    assert_string_equal(pair_stream(c, 1)->text, c->reason);
    assert_int_equal(p2ps_core_stats(pair->sink)->mounts_cut_slow, 1);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
}

/* A client is not blamed for messages that it is not sent: it keeps its items, and gets all in
 * time. */
static void too_many_items_behind_a_ceiling_are_merged(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    char name[16];

    c->has_ceiling = true;
    for (int32_t i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 5 + i, name);
    }
    room(c, 0, 10);
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof(name), "I%d.N", i % 12);
        pair_update(pair, name);
        pair_settle(pair);
    }
    assert_false(c->closed);
    for (int i = 0; i < 12; i++)
        room_again(c, 10);
    assert_false(c->closed);
    for (int32_t i = 0; i < 12; i++)
        assert_int_equal(pair_stream(c, 5 + i)->counter, 102);
}

static void the_most_of_an_output_is_of_one_unit(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 10);
    c->unit = "bytes";
    c->used = 900;
    c->used_max = 1000;
    for (int i = 0; i < 2; i++) {
        pair_update(pair, "IBM.N");
        pair_settle(pair);
    }
    c->unit = "buffers";
    c->used = 3;
    c->used_max = 10;
    pair_pass(pair, 2 * PAIR_SEC);
    room_again(c, 10);
    assert_memory_equal(pair_stream(c, 5)->text, "3 of 10 buffers", 15);
}

static void a_status_that_ends_a_stream_is_told_or_the_connection_ends(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 10);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_true(c->closed);
}

static void a_suspect_state_is_told_later(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 10);
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    room_again(c, 10);
    assert_string_equal(pair_heard(c, 5), "I!");
}

static void suspect_is_told_before_an_image_that_is_waited_for(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 10);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    room_again(c, 10);
    assert_string_equal(pair_heard(c, 5), "IU!");
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IU!i");
}

static void suspect_is_told_before_the_image_that_ends_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 10);
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    room(c, 4, 10); /* too little to be given what is owed */
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!i");
}

static void real_time_is_told_when_the_item_is_fine_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    room(c, 0, 3);
    pair_update(pair, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    room_again(c, 2);
    assert_string_equal(pair_heard(c, 5), "IJU");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    room_again(c, 3);
    assert_string_equal(pair_heard(c, 5), "IJU!");
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IJU!ij");
}

static void half_an_image_is_followed_by_a_whole_one(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.parts = 3;
    room(c, 2, 10);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "II");
    room_again(c, 10);
    assert_string_equal(pair_heard(c, 5), "IIIII");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IIIIIU");
}

static void a_snapshot_without_room_is_not_forgotten(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    room(c, 0, 10);
    request.is_streaming = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "");
    room_again(c, 10);
    assert_string_equal(pair_heard(c, 5), "R");
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void a_recovery_is_given_while_there_is_room(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    char name[16];

    for (int32_t i = 0; i < 6; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 5 + i, name);
    }
    room(c, 6, 6); /* the suspect states, and no image */
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    for (int32_t i = 0; i < 6; i++)
        assert_string_equal(pair_heard(c, 5 + i), "I!");
    for (int turn = 0; turn < 6; turn++)
        room_again(c, 6);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(pair_heard(c, 5 + i)[strlen(pair_heard(c, 5 + i)) - 1] == 'j' ||
                             pair_heard(c, 5 + i)[strlen(pair_heard(c, 5 + i)) - 1] == 'i',
                         true);
        assert_int_equal(pair_stream(c, 5 + i)->data_state, RWF_DATA_OK);
    }
    assert_false(c->closed);
}

static void timed_writes_wait_for_a_full_frame(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    pair_open(b, 6, "DELL.O");
    a->flushes = 0;
    b->flushes = 0;
    for (int i = 0; i < 3; i++) {
        pair_update(pair, "IBM.N");
        pair_update(pair, "DELL.O");
    }
    pair_move(pair, &pair->down, 1, false);
    p2ps_core_flush_full(pair->sink);
    assert_int_equal(a->flushes, 0);
    assert_int_equal(b->flushes, 1);
    p2ps_core_flush(pair->sink);
    assert_int_equal(a->flushes, 1);
    assert_int_equal(b->flushes, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_second_image_comes_at_once_and_nobody_is_asked),
        TEST(a_stale_image_is_given_as_stale),
        TEST(a_snapshot_from_the_cache_ends_with_it),
        TEST(a_reissue_is_answered_from_the_cache),
        TEST(what_one_may_not_see_is_not_given_from_the_cache),
        TEST(images_take_memory_only_while_the_item_is_open),
        TEST(a_private_image_is_not_kept),
        TEST(a_client_that_was_behind_is_told_and_gets_a_merged_update),
        cmocka_unit_test_setup_teardown(without_a_cache_the_source_is_not_asked,
                                        setup_without_cache, pair_teardown),
        TEST(a_burst_that_goes_out_at_once_needs_no_other_event),
        TEST(who_makes_no_progress_is_cut_and_nobody_else_notices),
        TEST(a_pause_of_our_own_cuts_nobody),
        TEST(suspect_is_told_before_the_image_that_ends_it),
        TEST(real_time_is_told_when_the_item_is_fine_again),
        TEST(a_client_that_is_behind_is_told_the_state_of_a_group_it_does_not_know),
        TEST(too_many_items_behind_is_the_end),
        TEST(who_is_cut_is_told_how_many_were_behind_when_it_was_decided),
        TEST(who_does_not_read_its_answers_is_cut_and_told_why),
        TEST(too_many_items_behind_a_ceiling_are_merged),
        TEST(the_most_of_an_output_is_of_one_unit),
        TEST(a_status_that_ends_a_stream_is_told_or_the_connection_ends),
        TEST(a_suspect_state_is_told_later),
        cmocka_unit_test_setup_teardown(suspect_is_told_before_an_image_that_is_waited_for,
                                        setup_without_cache, pair_teardown),
        cmocka_unit_test_setup_teardown(half_an_image_is_followed_by_a_whole_one,
                                        setup_without_cache, pair_teardown),
        TEST(a_snapshot_without_room_is_not_forgotten),
        TEST(a_recovery_is_given_while_there_is_room),
        TEST(timed_writes_wait_for_a_full_frame),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
