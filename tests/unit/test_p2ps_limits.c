/* test_p2ps_limits.c - what one address or one user may take of what all share. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#define MANY 64

static const uint64_t key[2] = { 3, 4 };

struct bed {
    struct pair pair;
    struct p2ps_parties *parties;
    struct crowd *crowd[MANY];
    unsigned count;
};

static int setup(void **state)
{
    struct bed *bed = calloc(1, sizeof(*bed));

    assert_non_null(bed);
    bed->parties = p2ps_parties_create(key);
    assert_non_null(bed->parties);
    *state = bed;
    return 0;
}

static struct pair *start(struct bed *bed, struct p2ps_core_config config)
{
    config.parties = bed->parties;
    config.client_limit = MANY;
    pair_create(&bed->pair, config);
    return &bed->pair;
}

static int teardown(void **state)
{
    struct bed *bed = *state;

    pair_destroy(&bed->pair);
    p2ps_parties_destroy(bed->parties);
    for (unsigned i = 0; i < bed->count; i++)
        free(bed->crowd[i]);
    free(bed);
    return 0;
}

static struct crowd *keep(struct bed *bed, struct crowd *c)
{
    assert_true(bed->count < MANY);
    return bed->crowd[bed->count++] = c;
}

static struct crowd *from(struct bed *bed, const char *peer, const char *user)
{
    return keep(bed, come_as(&bed->pair, peer, user));
}

static void hang_up(struct crowd *c)
{
    p2ps_client_gone(c->pair->sink, c->pair->now_ns, c->id);
    turns_until_done(c->pair);
}

static const struct p2ps_core_stats *stats(const struct bed *bed)
{
    return p2ps_core_stats(bed->pair.sink);
}

/* ---- addresses ---- */

static void an_address_is_a_whole_ipv4_one_and_a_64_of_ipv6(void **state)
{
    static const char *const cases[][2] = {
        { "10.1.2.3:40112", "10.1.2.3" },
        { "10.1.2.3:40112 TLSv1.3", "10.1.2.3" },
        { "[2001:db8:1:2::7]:40112", "2001:db8:1:2::/64" },
        { "[2001:db8:1:2:ffff:1:2:3]:1", "2001:db8:1:2::/64" },
        { "[2001:db8:1:3::7]:40112", "2001:db8:1:3::/64" },
        { "[fe80::1%eth0]:40112", "fe80::/64" },
        { "memory", "memory" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char host[P2PS_HOST_MAX];

        p2ps_host_of(cases[i][0], host);
        assert_string_equal(host, cases[i][1]);
    }
}

/* ---- logins ---- */

static const struct p2ps_core_config few_logins = {
    .rates = { .logins = { .per_second = 10, .burst = 5 } },
};

static void logins_of_an_address_beyond_its_rate_are_refused(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_logins);
    unsigned in = 0;

    for (unsigned i = 0; i < 8; i++)
        in += is_in(from(bed, "10.1.1.1:5", "joe"));
    assert_int_equal(in, 5);
    assert_true(is_in(from(bed, "10.1.1.2:5", "joe")));
    assert_int_equal(stats(bed)->logins_throttled, 3);
    assert_int_equal(bed->crowd[7]->statuses, 0); /* not yet: whoever floods waits for it */
    turns_for(pair, 2200 * PAIR_MS);
    assert_int_equal(bed->crowd[7]->statuses, 1);
    assert_int_equal(bed->crowd[7]->stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(bed->crowd[7]->code, RWF_CODE_NO_RESOURCES);
    assert_true(is_in(from(bed, "10.1.1.1:5", "joe")));
}

static void the_hosts_of_an_ipv6_64_are_one_address(void **state)
{
    struct bed *bed = *state;
    unsigned in = 0;

    start(bed, few_logins);
    for (unsigned i = 0; i < 8; i++) {
        char peer[64];

        snprintf(peer, sizeof(peer), "[2001:db8:1:2::%u]:5", i);
        in += is_in(from(bed, peer, "joe"));
    }
    assert_int_equal(in, 5);
    assert_true(is_in(from(bed, "[2001:db8:1:3::1]:5", "joe")));
}

static void guesses_of_a_password_cost_only_their_address_and_not_for_long(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_logins);

    pair->authority_denies = true;
    pair->authority_proves = true;
    for (unsigned i = 0; i < 1000; i++) {
        struct crowd *c = come_as(pair, "10.6.6.6:5", "joe");

        hang_up(c);
        free(c);
    }
    pair->authority_denies = false;
    assert_true(stats(bed)->logins_throttled > 900);
    assert_true(is_in(from(bed, "10.1.1.1:5", "joe")));
    assert_false(is_in(from(bed, "10.6.6.6:5", "ann")));
    /* However many they were, what is owed is paid in a second. */
    turns_for(pair, 1100 * PAIR_MS);
    assert_true(is_in(from(bed, "10.6.6.6:5", "ann")));
}

static void logins_of_a_user_who_was_proved_have_a_rate_of_their_own(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_logins);
    unsigned in = 0;

    pair->authority_proves = true;
    for (unsigned i = 0; i < 8; i++) {
        char peer[64];

        snprintf(peer, sizeof(peer), "10.1.1.%u:5", i);
        in += is_in(from(bed, peer, "joe"));
    }
    assert_int_equal(in, 5);
    assert_int_equal(bed->crowd[7]->code, RWF_CODE_NO_RESOURCES);
    assert_int_equal(bed->crowd[7]->stream_state, RWF_STREAM_CLOSED_RECOVER);
}

/* ---- requests ---- */

static const struct p2ps_core_config few_requests = {
    .rates = { .requests = { .per_second = 100, .burst = 10 } },
};

static void requests_beyond_the_rate_wait_and_none_is_refused(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_requests);
    struct crowd *greedy = from(bed, "10.1.1.1:5", "joe");
    struct crowd *other = from(bed, "10.1.1.2:5", "ann");

    turn(pair);
    batch(greedy, 10, 0, 60);
    for (unsigned i = 0; i < 20; i++)
        turn(pair); /* no time passes */
    assert_in_range(streams(greedy), 5, 11);
    assert_false(p2ps_core_has_work(pair->sink));
    assert_true(p2ps_core_deadline(pair->sink) > pair->now_ns); /* nobody spins for it */
    assert_true(stats(bed)->requests_throttled > 0);
    say(other, (struct kept){ .stream_id = 5, .name = "A" });
    assert_int_equal(streams(other), 1);
    /* What it says meanwhile is not read, and done in its order. */
    say(greedy, (struct kept){ .is_close = true, .stream_id = 11 });
    assert_int_equal(greedy->kept_next, 0);
    uint32_t before = streams(greedy);
    turns_for(pair, 100 * PAIR_MS);
    assert_in_range(streams(greedy) - before, 8, 12);
    turns_for(pair, 1000 * PAIR_MS);
    assert_int_equal(streams(greedy), 59);
    assert_int_equal(greedy->statuses, 1); /* that the batch was taken */
    assert_false(greedy->closed);
}

static void two_connections_of_an_address_share_its_rate(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_requests);
    struct crowd *a = from(bed, "10.1.1.1:5", "joe");
    struct crowd *b = from(bed, "10.1.1.1:6", "ann");

    turn(pair);
    batch(a, 10, 0, 60);
    batch(b, 10, 100, 60);
    turns_for(pair, 500 * PAIR_MS);
    assert_in_range(streams(a) + streams(b), 50, 64);
    assert_true(streams(a) > 10 && streams(b) > 10);
}

/* How the rate of an address is shared depends on how many share it. */
static void share_among(struct bed *bed, unsigned count)
{
    struct pair *pair = start(bed, few_requests);
    struct crowd *crowd[8];

    assert_true(count <= 8);
    for (unsigned i = 0; i < count; i++) {
        char peer[32];

        snprintf(peer, sizeof(peer), "10.1.1.1:%u", 5 + i);
        crowd[i] = from(bed, peer, "joe");
    }
    turn(pair);
    for (unsigned i = 0; i < count; i++)
        batch(crowd[i], 10, (int)(100 * i), 60);
    turns_for(pair, 2000 * PAIR_MS);
    for (unsigned i = 0; i < count; i++)
        assert_true(streams(crowd[i]) > 10);
}

static void three_connections_of_an_address_share_its_rate(void **state)
{
    share_among(*state, 3);
}

static void five_connections_of_an_address_share_its_rate(void **state)
{
    share_among(*state, 5);
}

/* A turn of a worker that is behind serves one request: it wakes one of those that wait. */
static void a_worker_that_is_behind_wakes_no_more_than_it_serves(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_requests);
    struct crowd *crowd[24];
    unsigned served = 0;

    for (unsigned i = 0; i < 24; i++) {
        char peer[32];

        snprintf(peer, sizeof(peer), "10.1.1.1:%u", 5 + i);
        crowd[i] = from(bed, peer, "joe");
    }
    turn(pair);
    for (unsigned i = 0; i < 24; i++) {
        say(crowd[i], (struct kept){ .stream_id = 5, .name = "A" });
        served += streams(crowd[i]);
    }
    turn(pair);
    assert_in_range(served, 8, 11); /* the burst */
    uint64_t throttled = stats(bed)->requests_throttled;
    pair->now_ns += 10 * PAIR_MS; /* so that there is a token again */
    for (unsigned i = 0; i < 30; i++) {
        p2ps_core_lag(pair->sink, pair->now_ns, 1000000, 1000000);
        turn(pair);
    }
    unsigned before = served;
    served = 0;
    for (unsigned i = 0; i < 24; i++)
        served += streams(crowd[i]);
    assert_int_equal(served, before + 1);
    assert_in_range(stats(bed)->requests_throttled, throttled, throttled + 1);
    turns_for(pair, 300 * PAIR_MS);
    for (unsigned i = 0; i < 24; i++)
        assert_int_equal(streams(crowd[i]), 1);
}

static void a_rate_that_is_raised_is_raised_at_once(void **state)
{
    struct bed *bed = *state;
    struct p2ps_rate_limits rates = { .requests = { .per_second = 10, .burst = 100 } };
    struct pair *pair = start(bed, (struct p2ps_core_config){ .rates = rates });
    struct crowd *greedy = from(bed, "10.1.1.1:5", "joe");

    turn(pair);
    batch(greedy, 10, 0, 300);
    turns_for(pair, 500 * PAIR_MS);
    assert_in_range(streams(greedy), 90, 120);
    rates.requests.per_second = 1000;
    p2ps_core_rates_set(pair->sink, &rates);
    turns_for(pair, 1500 * PAIR_MS);
    assert_int_equal(streams(greedy), 300);
}

static void a_user_of_the_file_has_a_rate_of_its_own(void **state)
{
    struct bed *bed = *state;
    struct p2ps_rate_limits rates = { .requests = { .per_second = 10, .burst = 10 } };
    struct pair *pair = start(bed, (struct p2ps_core_config){ .rates = rates });

    pair->authority_proves = true;
    pair->authority_requests = 400;
    struct crowd *more = from(bed, "10.1.1.1:5", "feed");
    pair->authority_requests = 0;
    struct crowd *usual = from(bed, "10.1.1.1:6", "joe");
    turn(pair);
    batch(more, 10, 0, 300);
    batch(usual, 10, 0, 300);
    turns_for(pair, PAIR_SEC);
    assert_int_equal(streams(more), 300);
    assert_in_range(streams(usual), 15, 30); /* what the other one asked for cost it nothing */
}

static void a_rate_that_is_taken_away_holds_back_nobody(void **state)
{
    struct bed *bed = *state;
    struct p2ps_rate_limits rates = { .requests = { .per_second = 1, .burst = 10 } };
    struct pair *pair = start(bed, (struct p2ps_core_config){ .rates = rates });
    struct crowd *greedy = from(bed, "10.1.1.1:5", "joe");

    turn(pair);
    batch(greedy, 10, 0, 60);
    turns_for(pair, 10 * PAIR_MS);
    assert_in_range(streams(greedy), 5, 20);
    rates.requests.per_second = 0;
    p2ps_core_rates_set(pair->sink, &rates);
    turns_for(pair, 100 * PAIR_MS);
    assert_int_equal(streams(greedy), 60);
}

static void requests_before_a_login_cost_the_address_nothing(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_requests);
    struct crowd *good = from(bed, "10.1.1.1:5", "joe");
    struct crowd *stranger = keep(bed, connect_from(pair, "10.1.1.1:6"));

    turn(pair);
    for (unsigned i = 0; i < 500; i++)
        ask(stranger, &(struct kept){ .stream_id = 5, .name = "A" });
    turn(pair);
    say(good, (struct kept){ .stream_id = 5, .name = "A" });
    assert_int_equal(streams(good), 1);
    assert_int_equal(stats(bed)->requests_throttled, 0);
}

static void who_waits_for_a_token_may_hang_up(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_requests);
    struct crowd *c = from(bed, "10.1.1.1:5", "joe");

    turn(pair);
    batch(c, 10, 0, 60);
    turns_until_done(pair);
    hang_up(c);
    struct crowd *next = from(bed, "10.1.1.2:5", "ann"); /* in its slot, perhaps */
    turns_for(pair, 500 * PAIR_MS);
    assert_int_equal(watches(pair), 0);
    say(next, (struct kept){ .stream_id = 5, .name = "A" });
    assert_int_equal(streams(next), 1);
}

/* ---- posts ---- */

static void post(struct crowd *c)
{
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_POST,
        .domain = 6,
        .stream_id = 1,
        .flags = RWF_POST_ACK | RWF_POST_HAS_POST_ID | RWF_POST_COMPLETE,
        .post_id = 1,
    };

    p2ps_client_post(c->pair->sink, c->pair->now_ns, c->id, &msg, rwf_bytes(NULL, 0));
}

static void posts_beyond_the_rate_are_refused(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, (struct p2ps_core_config){
                                       .rates = { .posts = { .per_second = 100, .burst = 10 } },
                                   });
    struct crowd *c = from(bed, "10.1.1.1:5", "joe");
    struct crowd *other = from(bed, "10.1.1.2:5", "ann");

    for (unsigned i = 0; i < 50; i++)
        post(c);
    assert_int_equal(c->naks[RWF_NAK_SOURCE_UNKNOWN], 10);
    assert_int_equal(c->naks[RWF_NAK_NO_RESOURCES], 40);
    assert_int_equal(stats(bed)->posts_throttled, 40);
    post(other);
    assert_int_equal(other->naks[RWF_NAK_NO_RESOURCES], 0);
    turns_for(pair, 20 * PAIR_MS);
    post(c);
    assert_int_equal(c->naks[RWF_NAK_SOURCE_UNKNOWN], 11);
}

/* ---- items, views ---- */

static void open_many(struct crowd *c, unsigned count)
{
    static const char *const names[] = { "A", "B", "C", "D", "E", "F", "G", "H" };

    for (unsigned i = 0; i < count; i++) {
        ask(c, &(struct kept){ .stream_id = 5 + (int32_t)i, .name = names[i] });
        turn(c->pair);
    }
}

static void a_name_that_nobody_proved_uses_up_nothing_of_its_namesake(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, (struct p2ps_core_config){ .item_limits = { .user = 3 } });
    struct crowd *mallory = from(bed, "10.6.6.6:5", "joe");

    turn(pair);
    open_many(mallory, 5);
    assert_int_equal(streams(mallory), 3);
    assert_int_equal(mallory->code, RWF_CODE_TOO_MANY_ITEMS);
    pair->authority_proves = true;
    struct crowd *joe = from(bed, "10.1.1.1:5", "joe");
    struct crowd *again = from(bed, "10.1.1.2:5", "joe");
    open_many(joe, 2);
    open_many(again, 2); /* one user, wherever he is */
    assert_int_equal(streams(joe), 2);
    assert_int_equal(streams(again), 1);
}

static void items_of_the_access_file_bound_what_a_user_has_open(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, (struct p2ps_core_config){ .item_limits = { .user = 4 } });

    pair->authority_proves = true;
    pair->authority_items = 2;
    struct crowd *few = from(bed, "10.1.1.1:5", "joe");
    pair->authority_items = 6;
    struct crowd *more = from(bed, "10.1.1.1:6", "ann");
    open_many(few, 5);
    open_many(more, 5);
    assert_int_equal(streams(few), 2);
    assert_int_equal(few->code, RWF_CODE_TOO_MANY_ITEMS);
    assert_int_equal(streams(more), 4); /* the smaller of both */
}

static void items_of_an_address_have_a_limit(void **state)
{
    struct bed *bed = *state;
    struct crowd *a, *b, *c;

    start(bed, (struct p2ps_core_config){ .item_limits = { .host = 6 } });
    a = from(bed, "10.1.1.1:5", "joe");
    b = from(bed, "10.1.1.1:6", "ann");
    c = from(bed, "10.1.1.2:6", "ann");
    open_many(a, 5);
    open_many(b, 5);
    open_many(c, 5);
    assert_int_equal(streams(a) + streams(b), 6);
    assert_int_equal(streams(c), 5);
    hang_up(a);
    open_many(b, 5);
    assert_int_equal(streams(b), 5);
}

static void view(struct crowd *c, int32_t stream_id, int16_t field)
{
    struct omm_item_request request = pair_request(stream_id, "A");
    const uint8_t id[2] = { (uint8_t)(field >> 8), (uint8_t)field };
    uint8_t bytes[256];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, ":ViewType", 1);
    rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_INT, 2);
    rwf_array_add_bytes(&enc, rwf_bytes(id, 2));
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    rwf_element_list_finish(&enc);
    request.has_view = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = rwf_encoder_bytes(&enc);
    p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, &request);
}

static void a_view_is_given_back_with_who_paid_for_it(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, (struct p2ps_core_config){ 0 });
    struct crowd *first = from(bed, "10.1.1.1:5", "joe");
    struct crowd *second = from(bed, "10.1.1.2:5", "ann");
    struct p2ps_party *host = p2ps_parties_host(bed->parties, pair->now_ns, "10.1.1.1:9");

    view(first, 5, 22);
    view(second, 5, 22);
    assert_int_equal(atomic_load(&host->views), 1);
    hang_up(first); /* the other one has it still */
    assert_int_equal(atomic_load(&host->views), 1);
    p2ps_parties_leave(bed->parties, host);
    hang_up(second);
    host = p2ps_parties_host(bed->parties, pair->now_ns, "10.1.1.1:9");
    assert_int_equal(atomic_load(&host->views), 0);
    p2ps_parties_leave(bed->parties, host);
}

/* ---- the table ---- */

static void addresses_that_are_gone_are_forgotten(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, few_logins);

    for (unsigned i = 0; i < 3 * P2PS_PARTIES_IDLE; i++) {
        char peer[64];

        snprintf(peer, sizeof(peer), "[2001:db8:%x:%x::1]:5", i / 256, i % 256);
        struct crowd *c = come_as(pair, peer, "joe");
        hang_up(c);
        free(c);
    }
    assert_true(p2ps_parties_count(bed->parties) <= 2 * P2PS_PARTIES_IDLE);
    turns_for(pair, 1000 * PAIR_MS); /* nobody owes anything any more */
    for (unsigned i = 0; i < 2 * P2PS_PARTIES_IDLE; i++)
        p2ps_parties_leave(bed->parties,
                           p2ps_parties_host(bed->parties, pair->now_ns, "10.1.1.1:5"));
    assert_true(p2ps_parties_count(bed->parties) <= 4);
}

/* ---- for operators ---- */

static int top(struct bed *bed, struct p2ps_use out[P2PS_PARTIES_TOP])
{
    int count;

    while ((count = p2ps_parties_top(bed->parties, bed->pair.now_ns, out)) < 0)
        continue;
    return count;
}

static void users_are_shown_with_what_they_use_of_what_they_may(void **state)
{
    struct bed *bed = *state;
    struct pair *pair = start(bed, (struct p2ps_core_config){ 0 });
    struct p2ps_use use[P2PS_PARTIES_TOP];

    pair->authority_proves = true;
    pair->authority_mounts = 3;
    pair->authority_items = 5;
    pair->authority_requests = 100;
    struct crowd *joe = from(bed, "10.1.1.1:5", "joe");
    from(bed, "10.1.1.2:5", "joe");
    pair->authority_proves = false;
    pair->authority_mounts = pair->authority_items = pair->authority_requests = 0;
    struct crowd *ann = from(bed, "10.1.1.3:5", "ann");
    assert_int_equal(top(bed, use), 2);
    turns_for(pair, 1000 * PAIR_MS);
    open_many(joe, 7); /* two of them too many */
    open_many(ann, 2);
    turns_for(pair, 1000 * PAIR_MS);
    assert_int_equal(top(bed, use), 2);
    assert_string_equal(use[0].user, "joe"); /* whose refusals are most */
    assert_string_equal(use[0].host, "");
    assert_int_equal(use[0].mounts, 2);
    assert_int_equal(use[0].mounts_max, 3);
    assert_int_equal(use[0].items, 5);
    assert_int_equal(use[0].items_max, 5);
    assert_int_equal(use[0].requests_max, 100);
    assert_int_equal(use[0].requests, 3); /* seven in two seconds */
    assert_int_equal(use[0].refused, 2);
    assert_string_equal(use[1].user, "ann"); /* nobody knows whether it is she */
    assert_string_equal(use[1].host, "10.1.1.3");
    assert_int_equal(use[1].items, 2);
    assert_int_equal(use[1].items_max, 0);
    assert_int_equal(use[1].refused, 0);
}

static void users_that_are_many_are_looked_at_in_counted_slices(void **state)
{
    struct bed *bed = *state;
    struct p2ps_use use[P2PS_PARTIES_TOP];
    static struct p2ps_party *users[3 * P2PS_PARTIES_LOOK];
    unsigned calls = 1;

    start(bed, (struct p2ps_core_config){ 0 });
    for (unsigned i = 0; i < 3 * P2PS_PARTIES_LOOK; i++) {
        char name[16];

        snprintf(name, sizeof(name), "user%u", i);
        users[i] = p2ps_parties_user(bed->parties, 1, name, NULL);
        atomic_fetch_add(&users[i]->refused, i);
    }
    while (p2ps_parties_top(bed->parties, 1, use) < 0)
        calls++;
    assert_in_range(calls, 3, 4);
    for (unsigned i = 0; i < P2PS_PARTIES_TOP; i++)
        assert_int_equal(use[i].refused, 3 * P2PS_PARTIES_LOOK - 1 - i);
    for (unsigned i = 0; i < 3 * P2PS_PARTIES_LOOK; i++)
        p2ps_parties_leave(bed->parties, users[i]);
}

/* ---- places ---- */

/* A table of places is as long as many consumers at a time need: its memory is the process's only
 * where a place was used. A place that was left is not used again soon, since an answer about who
 * had it may be on its way. */
static void a_few_who_come_and_go_take_few_places_in_turn(void **state)
{
    enum { TIMES = 5000, PLACES = 1024, APART = 500 };
    static unsigned used[PLACES];
    struct bed *bed = *state;

    pair_create(&bed->pair,
                (struct p2ps_core_config){ .parties = bed->parties, .client_limit = 30000 });
    memset(used, 0, sizeof(used));
    for (unsigned i = 1; i <= TIMES; i++) {
        struct crowd *c = come_as(&bed->pair, "10.1.2.3:40112", "u");
        assert_true(c->id < PLACES);
        assert_true(used[c->id] == 0 || i - used[c->id] > APART);
        used[c->id] = i;
        hang_up(c);
        free(c);
    }
}

static void many_at_a_time_take_as_many_places(void **state)
{
    enum { MORE = 3000 };
    static struct crowd *crowd[MORE];
    struct bed *bed = *state;

    pair_create(&bed->pair,
                (struct p2ps_core_config){ .parties = bed->parties, .client_limit = MORE });
    for (unsigned i = 0; i < MORE; i++)
        crowd[i] = come_as(&bed->pair, "10.1.2.3:40112", "u");
    assert_int_equal(stats(bed)->mounts_now, MORE);
    for (unsigned i = 0; i < MORE; i++) {
        hang_up(crowd[i]);
        free(crowd[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_whole_ipv4_one_and_a_64_of_ipv6),
        TEST(users_are_shown_with_what_they_use_of_what_they_may),
        TEST(users_that_are_many_are_looked_at_in_counted_slices),
        TEST(logins_of_an_address_beyond_its_rate_are_refused),
        TEST(the_hosts_of_an_ipv6_64_are_one_address),
        TEST(guesses_of_a_password_cost_only_their_address_and_not_for_long),
        TEST(logins_of_a_user_who_was_proved_have_a_rate_of_their_own),
        TEST(requests_beyond_the_rate_wait_and_none_is_refused),
        TEST(two_connections_of_an_address_share_its_rate),
        TEST(three_connections_of_an_address_share_its_rate),
        TEST(five_connections_of_an_address_share_its_rate),
        TEST(a_worker_that_is_behind_wakes_no_more_than_it_serves),
        TEST(a_rate_that_is_raised_is_raised_at_once),
        TEST(a_user_of_the_file_has_a_rate_of_its_own),
        TEST(a_rate_that_is_taken_away_holds_back_nobody),
        TEST(requests_before_a_login_cost_the_address_nothing),
        TEST(who_waits_for_a_token_may_hang_up),
        TEST(posts_beyond_the_rate_are_refused),
        TEST(a_name_that_nobody_proved_uses_up_nothing_of_its_namesake),
        TEST(items_of_the_access_file_bound_what_a_user_has_open),
        TEST(items_of_an_address_have_a_limit),
        TEST(a_view_is_given_back_with_who_paid_for_it),
        TEST(addresses_that_are_gone_are_forgotten),
        TEST(a_few_who_come_and_go_take_few_places_in_turn),
        TEST(many_at_a_time_take_as_many_places),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
