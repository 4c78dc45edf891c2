/* test_mirror.c - two sources of one service: one dies, the other goes on for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "rates/rates.h"

/* The first pair has the p2ps core, too; both sources are on one network. */
struct mirror {
    struct pair pair[2];
    struct pair *first; /* the source that has the item, and the other one */
    struct pair *second;
};

static void settle(struct mirror *m)
{
    for (int i = 0; i < 4; i++) {
        pair_settle(&m->pair[0]);
        if (!m->pair[1].is_dead)
            pair_settle(&m->pair[1]);
    }
}

static void pass(struct mirror *m, uint64_t time_ns)
{
    uint64_t until = m->pair[0].now_ns + time_ns;

    while (m->pair[0].now_ns < until) {
        m->pair[0].now_ns += 20 * PAIR_MS;
        m->pair[1].now_ns = m->pair[0].now_ns;
        for (int i = 0; i < 2; i++)
            srcdist_core_tick(m->pair[i].source, m->pair[i].now_ns, true);
        p2ps_core_tick(m->pair[0].sink, m->pair[0].now_ns, 1);
        settle(m);
    }
}

static void (*tune)(struct srcdist_core_config *source);

static struct mirror *start_as(bool is_hot, bool is_numbered, struct rrmp_sink_config sink,
                               uint8_t priority)
{
    struct mirror *m = calloc(1, sizeof(*m));
    static const char *const names[] = { "one", "two" };

    assert_non_null(m);
    for (int i = 0; i < 2; i++) {
        m->pair[i].session = i == 0 ? 1 : 3;
        m->pair[i].mirror = &m->pair[1 - i];
        m->pair[i].name = names[i];
        m->pair[i].is_hot = is_hot;
        m->pair[i].is_numbered = is_numbered;
        m->pair[i].provider.has_seqs = is_numbered;
        m->pair[i].tune = tune;
        m->pair[i].priority = i == 0 ? 0 : priority;
        m->pair[i].source_caches = true;
        m->pair[i].provider.accepts_status = true;
    }
    pair_create(&m->pair[0], (struct p2ps_core_config){ .sink = sink });
    m->pair[1].sink = m->pair[0].sink;
    pair_create_source(&m->pair[1]);
    m->pair[1].now_ns = m->pair[0].now_ns;
    pair_provider_comes(&m->pair[1]);
    pass(m, 3 * PAIR_SEC);
    return m;
}

static struct mirror *start_with(bool is_hot, struct rrmp_sink_config sink, uint8_t priority)
{
    return start_as(is_hot, false, sink, priority);
}

static struct mirror *start(bool is_hot)
{
    return start_with(is_hot, (struct rrmp_sink_config){ 0 }, 0);
}

/* The second source is of second choice; items go back to the first after `failback_ns`. */
static struct mirror *start_ranked(uint64_t failback_ns)
{
    return start_with(false, (struct rrmp_sink_config){ .failback_ns = failback_ns }, 1);
}

static void end(struct mirror *m)
{
    pair_destroy(&m->pair[0]);
    srcdist_core_destroy(m->pair[1].source);
    free(m);
}

/* A client with one item open, and the image of it. */
static struct pair_client *with_item(struct mirror *m)
{
    struct pair_client *c = pair_client(&m->pair[0], 0);

    pair_open(c, 5, "IBM.N");
    pass(m, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    m->first = srcdist_core_stats(m->pair[0].source)->updates_out ||
                       rrmp_source_stats(srcdist_core_source(m->pair[0].source))->bound_now
                   ? &m->pair[0]
                   : &m->pair[1];
    m->second = m->first->mirror;
    return c;
}

static void tick_of(struct mirror *m, struct pair *pair)
{
    pair_update(pair, "IBM.N");
    settle(m);
}

static void dies(struct mirror *m, struct pair *pair)
{
    struct backbone_event notice = { .type = BACKBONE_USER_DOWN,
                                     .session = pair_session(pair),
                                     .src_port = 1 };

    pair->is_dead = true;
    p2ps_core_backbone(m->pair[0].sink, 0, m->pair[0].now_ns, &notice, 1);
    settle(m);
}

static void a_hot_mirror_has_the_item_and_says_nothing(void **state)
{
    struct mirror *m = start(true);
    struct pair_client *c = with_item(m);

    (void)state;
    assert_int_equal(m->first->provider.requests, 1);
    assert_int_equal(m->second->provider.requests, 1);
    tick_of(m, m->first);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(srcdist_core_stats(m->second->source)->updates_in, 1);
    assert_int_equal(srcdist_core_stats(m->second->source)->updates_out, 0);
    end(m);
}

static void a_hot_mirror_takes_over_from_its_cache(void **state)
{
    struct mirror *m = start(true);
    struct pair_client *c = with_item(m);

    (void)state;
    tick_of(m, m->first);
    tick_of(m, m->second);
    tick_of(m, m->second); /* the first one does not live to say this one */
    m->second->provider.answers = false;
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IU!i");
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(m->second->provider.requests + m->second->provider.reissues, 1);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IU!iU");
    end(m);
}

/* ---- with numbers that are equal ---- */

static struct mirror *start_numbered(void)
{
    return start_as(true, true, (struct rrmp_sink_config){ 0 }, 0);
}

/* Both providers publish `count` updates of the item, equal ones. */
static void ticks(struct mirror *m, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        tick_of(m, m->first);
        tick_of(m, m->second);
    }
}

static uint64_t refused(const struct mirror *m, enum srcdist_unaligned why)
{
    return srcdist_core_stats(m->second->source)->resumes_refused[why];
}

static void consumers_get_what_the_first_did_not_live_to_send(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->second);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUU");
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    assert_int_equal(pair_stream(c, 5)->counter, 105);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    assert_int_equal(srcdist_core_stats(m->second->source)->resumed, 1);
    assert_int_equal(srcdist_core_stats(m->second->source)->replayed, 2);
    pass(m, 5 * PAIR_SEC); /* nothing is told later, either */
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    end(m);
}

static void a_mirror_that_is_behind_leaves_out_what_consumers_have(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->first);
    tick_of(m, m->first);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    tick_of(m, m->second);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    assert_int_equal(pair_stream(c, 5)->counter, 106);
    end(m);
}

static void an_item_at_rest_goes_on_without_a_word(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    dies(m, m->first); /* all that both know is the image */
    pass(m, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IU");
    end(m);
}

static void messages_that_are_not_equal_end_in_an_image(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    m->second->provider.conflated = 3;
    ticks(m, 3);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUU!i");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_OTHER), 1);
    end(m);
}

static void use_filter(struct pair *pair, const char *text)
{
    struct rates *rates;

    assert_int_equal(rates_create(text, strlen(text), NULL, NULL, NULL, &rates), MD_OK);
    assert_int_equal(srcdist_core_rates_set(pair->source, pair->now_ns, rates), MD_OK);
}

/* One leaves a field out, or merges, and the other does not: no message is equal. */
static void mirrors_that_filter_or_merge_differently_end_in_an_image(void **state)
{
    static const char *const filters[] = { "drop * * * 22\n", "interval * * * 100\n" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct mirror *m = start_numbered();
        struct pair_client *c = with_item(m);
        use_filter(m->second, filters[i]);
        ticks(m, 3);
        pass(m, PAIR_SEC);
        assert_string_equal(pair_heard(c, 5), "IUUU");
        dies(m, m->first);
        pass(m, 3 * PAIR_SEC);
        assert_string_equal(pair_heard(c, 5), "IUUU!i");
        assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
        assert_int_equal(refused(m, SRCDIST_UNALIGNED_OTHER), 1);
        assert_int_equal(srcdist_core_stats(m->second->source)->resumed, 0);
        end(m);
    }
}

static void a_mirror_that_stays_behind_ends_in_an_image(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->first);
    dies(m, m->first);
    pass(m, 180 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUU");
    pass(m, 100 * PAIR_MS); /* suspect is held back no longer */
    assert_string_equal(pair_heard(c, 5), "IUUUU!");
    pass(m, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUUU!i");
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_BEHIND), 1);
    end(m);
}

static void a_mirror_that_comes_late_goes_on_and_says_that_all_is_fine(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->first);
    dies(m, m->first);
    pass(m, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUUU!");
    tick_of(m, m->second);
    pass(m, 20 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUU!S");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_FAILOVER_COMPLETED);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUU!SU");
    end(m);
}

static void keep_a_second(struct srcdist_core_config *source)
{
    source->replay_ns = PAIR_SEC;
}

static void what_is_not_kept_any_more_is_not_replayed(void **state)
{
    tune = keep_a_second;
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    tune = NULL;
    ticks(m, 3);
    tick_of(m, m->second);
    pass(m, 5 * PAIR_SEC);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUU!i");
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_TOO_OLD), 1);
    assert_int_equal(srcdist_core_stats(m->second->source)->replay_bytes_now, 0);
    end(m);
}

#define KEPT_MOST (1u << 20)

static void keep_a_mebibyte(struct srcdist_core_config *source)
{
    source->replay_bytes = KEPT_MOST;
}

/* The oldest messages are dropped when there is no room, however long replayTime is. */
static void what_is_kept_stays_within_replay_bytes(void **state)
{
    tune = keep_a_mebibyte;
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    const struct srcdist_core_stats *stats = srcdist_core_stats(m->second->source);
    uint64_t most = 0;

    (void)state;
    tune = NULL;
    ticks(m, 1);
    tick_of(m, m->second); /* consumers have not got this one, nor the following */
    for (unsigned i = 0; i < 20000; i++) {
        pair_update(m->second, "IBM.N");
        if (i % 100 == 0)
            pass(m, 20 * PAIR_MS);
        most = stats->replay_bytes_now > most ? stats->replay_bytes_now : most;
    }
    assert_true(most > KEPT_MOST / 2 && most <= KEPT_MOST);
    assert_int_equal(stats->replay_bytes_max, KEPT_MOST);
    assert_true(stats->replay_memory_now < KEPT_MOST + KEPT_MOST / 2);
    assert_true(stats->replay_cut > 0);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IU!i");
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_TOO_OLD), 1);
    end(m);
}

static void a_provider_that_is_lost_is_not_noticed_either(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->second);
    pair_provider_goes(m->first);
    settle(m);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUU");
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    pass(m, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    end(m);
}

static void who_waits_for_an_image_gets_it_after_the_replay(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->first); /* the mirror has to wait for the place */
    dies(m, m->first);
    pair_open(c, 6, "IBM.N");
    settle(m);
    assert_string_equal(pair_heard(c, 6), "");
    tick_of(m, m->second);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUU");
    assert_string_equal(pair_heard(c, 6), "I");
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    assert_string_equal(pair_heard(c, 6), "IU");
    end(m);
}

static void a_status_in_the_stream_counts_like_an_update(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 2);
    pair_say_status(&m->second->provider, pair_item(m->second, "IBM.N"), RWF_STREAM_OPEN,
                    RWF_DATA_OK, RWF_CODE_NONE);
    tick_of(m, m->second);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUSU");
    end(m);
}

/* A second item that the first source has: the name of it. */
static const char *another_of_the_first(struct mirror *m, struct pair_client *c)
{
    static char name[16];

    for (int i = 0; i < 20; i++) {
        uint32_t bound = rrmp_source_stats(srcdist_core_source(m->first->source))->bound_now;
        snprintf(name, sizeof(name), "ITEM%d", i);
        pair_open(c, 20 + i, name);
        pass(m, 3 * PAIR_SEC);
        if (rrmp_source_stats(srcdist_core_source(m->first->source))->bound_now > bound)
            return name;
        p2ps_client_close(m->pair[0].sink, m->pair[0].now_ns, c->id, 20 + i);
        pass(m, 20 * PAIR_SEC);
    }
    fail_msg("all items are at the other one");
    return NULL;
}

static void suspect_is_held_back_as_long_as_replays_come(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    const char *other = another_of_the_first(m, c);
    int32_t stream = 20 + atoi(other + 4);

    (void)state;
    for (int i = 0; i < 3; i++) {
        ticks(m, 1);
        pair_update(m->first, other);
        pair_update(m->second, other);
    }
    tick_of(m, m->first); /* the mirror is behind with both */
    pair_update(m->first, other);
    settle(m);
    assert_string_equal(pair_heard(c, 5), "IUUUU");
    assert_string_equal(pair_heard(c, stream), "IUUUU");
    dies(m, m->first);
    pass(m, 160 * PAIR_MS);
    tick_of(m, m->second); /* it goes on with the first item */
    pass(m, 80 * PAIR_MS);
    pair_update(m->second, other); /* and only now with the second one */
    pass(m, 100 * PAIR_MS);
    tick_of(m, m->second);
    pair_update(m->second, other);
    settle(m);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    assert_string_equal(pair_heard(c, stream), "IUUUUU");
    end(m);
}

/* Items 20 to 39 beside the first one, of which the first source has some; how many it has in all.
 * The mirror is behind with none of them. */
static uint64_t open_twenty_more(struct mirror *m, struct pair_client *c)
{
    char name[16];

    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "ITEM%d", i);
        pair_open(c, 20 + i, name);
    }
    pass(m, 3 * PAIR_SEC);
    for (int tick = 0; tick < 3; tick++) {
        ticks(m, 1);
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof(name), "ITEM%d", i);
            pair_update(m->first, name);
            pair_update(m->second, name);
        }
        settle(m);
    }
    return rrmp_source_stats(srcdist_core_source(m->first->source))->bound_now;
}

static void assert_nobody_noticed(struct pair_client *c)
{
    assert_string_equal(pair_heard(c, 5), "IUUU");
    for (int i = 0; i < 20; i++)
        assert_string_equal(pair_heard(c, 20 + i), "IUUU");
}

/* All that a mirror replays at once would not fit into the queue to one p2ps. */
static void a_few_items_are_asked_to_go_on_at_one_time(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    uint64_t carried = open_twenty_more(m, c);
    uint32_t resumes = m->pair[0].resumes;

    (void)state;
    assert_true(carried >= 6);
    m->second->down.is_full = true;
    dies(m, m->first);
    pass(m, 40 * PAIR_MS);
    assert_int_equal(m->pair[0].resumes - resumes, 4);
    m->second->down.is_full = false;
    pass(m, 60 * PAIR_MS);
    assert_int_equal(m->pair[0].resumes - resumes, carried);
    assert_int_equal(srcdist_core_stats(m->second->source)->resumed, carried);
    pass(m, 3 * PAIR_SEC);
    assert_nobody_noticed(c);
    end(m);
}

static void who_is_not_answered_keeps_others_waiting_for_a_moment(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    uint64_t carried = open_twenty_more(m, c);
    uint32_t resumes = m->pair[0].resumes;

    (void)state;
    m->second->down.is_full = true;
    dies(m, m->first);
    pass(m, 160 * PAIR_MS); /* 4, then 8, 16, ... */
    assert_int_equal(m->pair[0].resumes - resumes, carried);
    end(m);
}

/* It tells p2ps that answers may be lost; those under way are asked for again, from their place. */
static void a_way_to_the_mirror_that_begins_anew_is_not_noticed(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    uint64_t carried = open_twenty_more(m, c);
    struct backbone_event notice = { .type = BACKBONE_GAP,
                                     .session = pair_session(m->second),
                                     .reason = BACKBONE_GAP_UNICAST_RESET };

    (void)state;
    m->second->down.is_full = true;
    dies(m, m->first);
    pass(m, 60 * PAIR_MS);
    p2ps_core_backbone(m->pair[0].sink, 0, m->pair[0].now_ns, &notice, 1);
    m->second->down.is_full = false;
    pass(m, 3 * PAIR_SEC);
    assert_true(srcdist_core_stats(m->second->source)->resumed >= carried);
    assert_nobody_noticed(c);
    end(m);
}

static void a_second_loss_during_the_switch_is_told(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->first);
    dies(m, m->first);
    settle(m);
    dies(m, m->second);
    settle(m);
    assert_string_equal(pair_heard(c, 5), "IUUUU!");
    end(m);
}

/* What the mirror answered is lost, and it has sent all of that: it is asked again. */
static void a_place_that_is_named_twice_is_answered_twice(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->second);
    m->second->lose_down = true;
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUU");
    m->second->lose_down = false;
    pass(m, 7 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUU!US");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_NOT_READY), 0);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUU!USU");
    assert_int_equal(srcdist_core_stats(m->second->source)->replay_items_now, 1);
    pass(m, 20 * PAIR_SEC); /* nobody asks again */
    assert_int_equal(srcdist_core_stats(m->second->source)->replay_items_now, 0);
    end(m);
}

/* Its backbone takes nothing for 2.2 s: the first of two items waits 2 s for room, and the patience
 * of the other one begins then. */
static void each_item_is_waited_for_when_it_is_its_turn(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    const char *other = another_of_the_first(m, c);

    (void)state;
    ticks(m, 3);
    for (int i = 0; i < 3; i++) {
        pair_update(m->first, other);
        pair_update(m->second, other);
    }
    settle(m);
    m->second->down.is_full = true;
    dies(m, m->first);
    pass(m, 2200 * PAIR_MS);
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_FULL), 1);
    m->second->down.is_full = false;
    pass(m, 100 * PAIR_MS);
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_FULL), 1);
    assert_int_equal(srcdist_core_stats(m->second->source)->resumed, 1);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(c, 20 + atoi(other + 4))->data_state, RWF_DATA_OK);
    end(m);
}

/* The answer to the first question would be dropped, since the second one has another id. */
static void who_asks_again_while_it_waits_is_answered_once(void **state)
{
    const struct rrmp_sink_config sink = { .request_retry_ns = 500 * PAIR_MS };
    struct mirror *m = start_as(true, true, sink, 0);
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    tick_of(m, m->second);
    m->second->down.is_full = true;
    uint32_t resumes = m->pair[0].resumes;
    dies(m, m->first);
    pass(m, 800 * PAIR_MS);
    assert_int_equal(m->pair[0].resumes - resumes, 2);
    m->second->down.is_full = false;
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUU!US");
    assert_int_equal(srcdist_core_stats(m->second->source)->resumed, 1);
    assert_int_equal(srcdist_core_stats(m->second->source)->replayed, 1);
    pass(m, 20 * PAIR_SEC); /* nobody waits any more */
    assert_int_equal(srcdist_core_stats(m->second->source)->replay_items_now, 0);
    end(m);
}

static void let_six_wait(struct srcdist_core_config *source)
{
    source->resume_limit = 6;
}

static void nobody_takes_all_places_of_those_that_wait(void **state)
{
    tune = let_six_wait;
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);
    char name[16];

    (void)state;
    tune = NULL;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "ITEM%d", i);
        pair_open(c, 20 + i, name);
    }
    pass(m, 3 * PAIR_SEC);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "ITEM%d", i);
        pair_update(m->first, name); /* the mirror is behind with all of them */
    }
    settle(m);
    uint64_t carried = rrmp_source_stats(srcdist_core_source(m->first->source))->bound_now;
    assert_true(carried >= 5);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    /* IBM.N goes on at once. A requester that has as many places as are left gets no more. */
    uint64_t waits = carried - srcdist_core_stats(m->second->source)->resumed -
                     refused(m, SRCDIST_UNALIGNED_FULL);
    assert_int_equal(waits, 3);
    pass(m, 3 * PAIR_SEC);
    assert_int_equal(refused(m, SRCDIST_UNALIGNED_BEHIND), 3);
    end(m);
}

/* Its provider goes and comes: the mirror has the item again, and it may go back. */
static void a_provider_that_comes_back_is_the_mirror_from_then_on(void **state)
{
    struct mirror *m = start_numbered();
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    pair_provider_goes(m->first);
    pass(m, PAIR_SEC);
    pair_provider_comes(m->first);
    pass(m, 15 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUU");
    for (int i = 0; i < 2; i++)
        assert_non_null(pair_item(&m->pair[i], "IBM.N"));
    assert_int_equal(srcdist_core_stats(m->first->source)->replay_items_now, 1);
    p2ps_client_close(m->pair[0].sink, m->pair[0].now_ns, c->id, 5);
    pass(m, 2 * PAIR_SEC);
    pair_open(c, 6, "IBM.N");
    pass(m, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 6), "I");
    for (int i = 0; i < 2; i++)
        assert_int_equal(srcdist_core_stats(m->pair[i].source)->items_now, 1);
    end(m);
}

/* The mirror of a mirror is lost while suspect is held back for the first loss. */
static void a_second_loss_is_held_back_for_as_long_as_the_first(void **state)
{
    const struct rrmp_sink_config sink = { .resume_hold_ns = 20 * PAIR_SEC };
    struct mirror *m = start_as(true, true, sink, 0);
    struct pair_client *c = with_item(m);

    (void)state;
    ticks(m, 3);
    pair_provider_goes(m->first);
    pass(m, PAIR_SEC);
    pair_provider_comes(m->first);
    pass(m, 15 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUU");
    pair_item(m->first, "IBM.N")->counter = pair_item(m->second, "IBM.N")->counter;
    pair_say_image(&m->first->provider, pair_item(m->first, "IBM.N"), false);
    settle(m);
    ticks(m, 1);
    tick_of(m, m->second); /* the first one is behind */
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    pass(m, 3500 * PAIR_MS);
    pair_provider_goes(m->second); /* 19.5 s after the first loss */
    settle(m);
    pass(m, 1500 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    tick_of(m, m->first);
    tick_of(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    end(m);
}

static void a_cold_mirror_asks_its_provider_when_it_is_needed(void **state)
{
    struct mirror *m = start(false);
    struct pair_client *c = with_item(m);

    (void)state;
    assert_int_equal(m->second->provider.requests, 0);
    tick_of(m, m->first);
    dies(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IU!i");
    assert_int_equal(m->second->provider.requests, 1);
    end(m);
}

static void what_nobody_watches_any_more_is_closed_at_both(void **state)
{
    struct mirror *m = start(true);
    struct pair_client *c = with_item(m);

    (void)state;
    p2ps_client_close(m->pair[0].sink, m->pair[0].now_ns, c->id, 5);
    pass(m, 10 * PAIR_SEC);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(m->pair[i].provider.closes, 1);
        assert_int_equal(srcdist_core_stats(m->pair[i].source)->items_now, 0);
    }
    end(m);
}

static void a_hot_mirror_that_is_gone_is_missed_by_nobody(void **state)
{
    struct mirror *m = start(true);
    struct pair_client *c = with_item(m);

    (void)state;
    dies(m, m->second);
    pass(m, PAIR_SEC);
    tick_of(m, m->first);
    assert_string_equal(pair_heard(c, 5), "IU");
    p2ps_client_close(m->pair[0].sink, m->pair[0].now_ns, c->id, 5);
    pass(m, 10 * PAIR_SEC);
    assert_int_equal(m->first->provider.closes, 1);
    end(m);
}

static void an_item_the_mirror_does_not_have_stays_where_it_is(void **state)
{
    struct mirror *m = start(true);
    struct pair_client *c = pair_client(&m->pair[0], 0);

    (void)state;
    /* Neither of the two refuses before it is asked, so the one that was chosen answers. */
    m->pair[0].provider.refusal = m->pair[1].provider.refusal = 0;
    pair_open(c, 5, "IBM.N");
    for (int i = 0; i < 2; i++) {
        if (m->pair[i].provider.requests == 0)
            m->pair[i].provider.refusal = RWF_STREAM_CLOSED;
    }
    pass(m, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(p2ps_core_stats(m->pair[0].sink)->items_now, 1);
    pass(m, 20 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
    end(m);
}

static void providers_are_told_their_roles(void **state)
{
    struct mirror *m = start(true);
    struct pair_client *c;

    (void)state;
    assert_int_equal(m->pair[0].provider.role, OMM_MIRROR_STANDBY); /* nothing is open yet */
    assert_int_equal(m->pair[1].provider.role, OMM_MIRROR_STANDBY);
    c = with_item(m);
    assert_int_equal(m->first->provider.role, OMM_MIRROR_ACTIVE_WITH_STANDBY);
    assert_int_equal(m->second->provider.role, OMM_MIRROR_STANDBY);
    dies(m, m->first);
    pass(m, 5 * PAIR_SEC);
    assert_int_equal(m->second->provider.role, OMM_MIRROR_ACTIVE_ALONE);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    end(m);
}

/* The first choice loses its provider, and has it again. */
static void first_choice_goes_and_comes(struct mirror *m, struct pair_client *c)
{
    pair_provider_goes(&m->pair[0]);
    pass(m, PAIR_SEC);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(m->pair[1].provider.requests, 1);
    pair_provider_comes(&m->pair[0]);
}

static void items_go_back_to_the_first_choice(void **state)
{
    struct mirror *m = start_ranked(3 * PAIR_SEC);
    struct pair_client *c = with_item(m);

    (void)state;
    assert_ptr_equal(m->first, &m->pair[0]);
    first_choice_goes_and_comes(m, c);
    size_t heard = strlen(pair_heard(c, 5));
    pass(m, 2 * PAIR_SEC);
    assert_int_equal(m->pair[0].provider.requests, 1); /* not yet: it may go again */
    pass(m, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5) + heard, "!i");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    tick_of(m, &m->pair[0]);
    assert_string_equal(pair_heard(c, 5) + heard, "!iU");
    pass(m, 10 * PAIR_SEC);
    assert_int_equal(m->pair[1].provider.closes, 1);
    assert_int_equal(srcdist_core_stats(m->pair[1].source)->items_now, 0);
    assert_string_equal(pair_heard(c, 5) + heard, "!iU"); /* and there it stays */
    end(m);
}

static void without_failback_items_stay_where_they_are(void **state)
{
    struct mirror *m = start_ranked(0);
    struct pair_client *c = with_item(m);

    (void)state;
    first_choice_goes_and_comes(m, c);
    size_t heard = strlen(pair_heard(c, 5));
    pass(m, 20 * PAIR_SEC);
    assert_int_equal(strlen(pair_heard(c, 5)), heard);
    end(m);
}

static void a_source_that_appears_gets_its_share_when_asked_for(void **state)
{
    struct mirror *m = start_with(false, (struct rrmp_sink_config){ .rebalances = true }, 0);
    struct pair_client *c = pair_client(&m->pair[0], 0);
    char name[16];

    (void)state;
    pair_provider_goes(&m->pair[1]);
    pass(m, PAIR_SEC);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "ITEM%d", i);
        pair_open(c, 5 + i, name);
    }
    assert_int_equal(srcdist_core_stats(m->pair[0].source)->items_now, 20);
    pair_provider_comes(&m->pair[1]);
    pass(m, 20 * PAIR_SEC);
    uint32_t moved = srcdist_core_stats(m->pair[1].source)->items_now;
    assert_true(moved > 0 && moved < 20);
    assert_int_equal(srcdist_core_stats(m->pair[0].source)->items_now, 20 - moved);
    for (int i = 0; i < 20; i++)
        assert_int_equal(pair_stream(c, 5 + i)->data_state, RWF_DATA_OK);
    end(m);
}

/* How many of 40 items moved in the first `time_ns`, and in another half a minute. */
static void moved_at(uint32_t rate, uint64_t time_ns, uint64_t moved[2])
{
    const struct rrmp_sink_config sink = { .rebalances = true, .move_rate = rate };
    struct mirror *m = start_with(false, sink, 0);
    struct pair_client *c = pair_client(&m->pair[0], 0);
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(p2ps_core_sink(m->pair[0].sink, 0));
    char name[16];

    pair_provider_goes(&m->pair[1]);
    pass(m, PAIR_SEC);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "ITEM%d", i);
        pair_open(c, 5 + i, name);
    }
    pass(m, PAIR_SEC);
    pair_provider_comes(&m->pair[1]);
    pass(m, time_ns);
    moved[0] = stats->moved;
    pass(m, 30 * PAIR_SEC);
    moved[1] = stats->moved;
    end(m);
}

static void items_move_at_the_rate_that_is_allowed(void **state)
{
    uint64_t fast[2], slow[2];

    (void)state;
    moved_at(100, 6 * PAIR_SEC, fast);
    assert_true(fast[0] > 10);
    assert_int_equal(fast[1], fast[0]); /* these were all */
    moved_at(2, 6 * PAIR_SEC, slow);
    assert_true(slow[0] > 4 && slow[0] <= 12);
    assert_int_equal(slow[1], fast[0]);
}

/* ---- moves while both sources live ---- */

/* Both are numbered; the first choice loses its provider and has it again. */
static struct mirror *start_with_failback(struct pair_client **c)
{
    const struct rrmp_sink_config sink = { .failback_ns = 3 * PAIR_SEC };
    struct mirror *m = start_as(true, true, sink, 1);

    *c = with_item(m);
    assert_ptr_equal(m->first, &m->pair[0]);
    ticks(m, 3);
    pair_provider_goes(m->first);
    pass(m, PAIR_SEC);
    assert_string_equal(pair_heard(*c, 5), "IUUU");
    pair_provider_comes(m->first);
    pass(m, 5 * PAIR_SEC);
    pair_item(m->first, "IBM.N")->counter = pair_item(m->second, "IBM.N")->counter;
    pair_say_image(&m->first->provider, pair_item(m->first, "IBM.N"), false);
    settle(m);
    return m;
}

static void a_move_is_not_seen_when_the_numbers_are_equal(void **state)
{
    struct pair_client *c;
    struct mirror *m = start_with_failback(&c);

    (void)state;
    pass(m, 5 * PAIR_SEC);
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(m->pair[0].sink, 0))->moved, 0);
    ticks(m, 1); /* a source that had the item before its standby interest has no place yet */
    pass(m, 3 * PAIR_SEC);
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(m->pair[0].sink, 0))->moved, 0);
    ticks(m, 1);
    pass(m, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(m->pair[0].sink, 0))->moved, 1);
    assert_int_equal(srcdist_core_stats(m->first->source)->resumed, 1);
    tick_of(m, m->first);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    pass(m, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    end(m);
}

static void a_move_brings_what_the_old_source_had_not_sent(void **state)
{
    struct pair_client *c;
    struct mirror *m = start_with_failback(&c);

    (void)state;
    ticks(m, 1);
    pass(m, PAIR_SEC);
    tick_of(m, m->second);
    tick_of(m, m->first);
    tick_of(m, m->first); /* the second one's provider is late with it */
    pass(m, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    assert_int_equal(pair_stream(c, 5)->counter, 106);
    tick_of(m, m->second);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU");
    end(m);
}

static void an_item_at_rest_moves_with_an_image(void **state)
{
    struct pair_client *c;
    struct mirror *m = start_with_failback(&c);

    (void)state;
    pass(m, 40 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IUUU!i");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    end(m);
}

static void a_move_that_takes_too_long_is_told(void **state)
{
    struct pair_client *c;
    struct mirror *m = start_with_failback(&c);

    (void)state;
    ticks(m, 1);
    pass(m, PAIR_SEC);
    tick_of(m, m->second);
    tick_of(m, m->second); /* the first one's provider is late with both */
    for (int i = 0; i < 20 && strchr(pair_heard(c, 5), '!') == NULL; i++)
        pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU!");
    tick_of(m, m->first);
    tick_of(m, m->first);
    pass(m, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU!S");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    tick_of(m, m->first);
    assert_string_equal(pair_heard(c, 5), "IUUUUUU!SU");
    end(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hot_mirror_has_the_item_and_says_nothing),
        cmocka_unit_test(a_hot_mirror_takes_over_from_its_cache),
        cmocka_unit_test(consumers_get_what_the_first_did_not_live_to_send),
        cmocka_unit_test(a_mirror_that_is_behind_leaves_out_what_consumers_have),
        cmocka_unit_test(an_item_at_rest_goes_on_without_a_word),
        cmocka_unit_test(messages_that_are_not_equal_end_in_an_image),
        cmocka_unit_test(mirrors_that_filter_or_merge_differently_end_in_an_image),
        cmocka_unit_test(a_mirror_that_stays_behind_ends_in_an_image),
        cmocka_unit_test(a_mirror_that_comes_late_goes_on_and_says_that_all_is_fine),
        cmocka_unit_test(what_is_not_kept_any_more_is_not_replayed),
        cmocka_unit_test(what_is_kept_stays_within_replay_bytes),
        cmocka_unit_test(a_provider_that_is_lost_is_not_noticed_either),
        cmocka_unit_test(who_waits_for_an_image_gets_it_after_the_replay),
        cmocka_unit_test(a_status_in_the_stream_counts_like_an_update),
        cmocka_unit_test(a_few_items_are_asked_to_go_on_at_one_time),
        cmocka_unit_test(who_is_not_answered_keeps_others_waiting_for_a_moment),
        cmocka_unit_test(a_way_to_the_mirror_that_begins_anew_is_not_noticed),
        cmocka_unit_test(a_second_loss_during_the_switch_is_told),
        cmocka_unit_test(suspect_is_held_back_as_long_as_replays_come),
        cmocka_unit_test(a_place_that_is_named_twice_is_answered_twice),
        cmocka_unit_test(each_item_is_waited_for_when_it_is_its_turn),
        cmocka_unit_test(who_asks_again_while_it_waits_is_answered_once),
        cmocka_unit_test(nobody_takes_all_places_of_those_that_wait),
        cmocka_unit_test(a_second_loss_is_held_back_for_as_long_as_the_first),
        cmocka_unit_test(a_provider_that_comes_back_is_the_mirror_from_then_on),
        cmocka_unit_test(a_cold_mirror_asks_its_provider_when_it_is_needed),
        cmocka_unit_test(what_nobody_watches_any_more_is_closed_at_both),
        cmocka_unit_test(a_hot_mirror_that_is_gone_is_missed_by_nobody),
        cmocka_unit_test(an_item_the_mirror_does_not_have_stays_where_it_is),
        cmocka_unit_test(providers_are_told_their_roles),
        cmocka_unit_test(items_go_back_to_the_first_choice),
        cmocka_unit_test(without_failback_items_stay_where_they_are),
        cmocka_unit_test(a_source_that_appears_gets_its_share_when_asked_for),
        cmocka_unit_test(items_move_at_the_rate_that_is_allowed),
        cmocka_unit_test(a_move_is_not_seen_when_the_numbers_are_equal),
        cmocka_unit_test(a_move_brings_what_the_old_source_had_not_sent),
        cmocka_unit_test(an_item_at_rest_moves_with_an_image),
        cmocka_unit_test(a_move_that_takes_too_long_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
