/* test_srcdist_sites.c - routes to a p2ps of another site: login, loop guard, quality, fields. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#define SERVICE 3

/* A p2ps of another site, as far as src_dist sees it. */
struct peer {
    struct bed *bed;
    uint32_t id;
    struct srcdist_uplink says;
    uint8_t login[2048]; /* as it was asked last */
    size_t login_length;
    uint8_t request[2048]; /* of an item */
    size_t request_length;
    struct omm_rtt rtt;
    unsigned round_trips, logins, renewals;
    uint64_t reissue_s;
};

static int on_send(void *self, struct rwf_bytes message)
{
    struct peer *peer = self;
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(message, &msg), RWF_OK);
    assert_true(message.length <= sizeof(peer->login));
    if (msg.domain == RWF_DOMAIN_LOGIN && msg.msg_class == RWF_CLASS_REQUEST) {
        memcpy(peer->login, message.data, message.length);
        peer->login_length = message.length;
        peer->logins++;
    } else if (msg.domain == RWF_DOMAIN_LOGIN && msg.msg_class == RWF_CLASS_GENERIC) {
        assert_int_equal(omm_rtt_decode(&msg, &peer->rtt), RWF_OK);
        peer->round_trips++;
    } else if (msg.domain == RWF_DOMAIN_MARKET_PRICE && msg.msg_class == RWF_CLASS_REQUEST) {
        memcpy(peer->request, message.data, message.length);
        peer->request_length = message.length;
    }
    return MD_OK;
}

static void on_close(void *self, const char *reason)
{
    (void)self;
    (void)reason;
}

static void on_uplink(void *self, struct srcdist_uplink *out)
{
    *out = ((struct peer *)self)->says;
}

static bool on_renew(void *self)
{
    struct peer *peer = self;

    peer->renewals++;
    peer->says.token = "new";
    return true;
}

static const struct srcdist_link ops = {
    .send = on_send, .close = on_close, .uplink = on_uplink, .renew = on_renew
};

static uint64_t clock_s;

static uint64_t wall_s(void)
{
    return clock_s;
}

static const char *site_name = "HQ";

static void tune_site(struct srcdist_core_config *config)
{
    config->service_forget_ns = PATIENCE;
    config->provider_limit = STRANGERS;
    config->publisher_limit = 64;
    config->site = site_name;
    config->wall_s = wall_s;
    clock_s = 1000000;
}

static struct bed *create_site(const char *name)
{
    struct bed *bed = calloc(1, sizeof(*bed));

    site_name = name;

    assert_non_null(bed);
    bed->pair.tune = tune_site;
    bed->pair.is_id_automatic = true;
    pair_create(&bed->pair, (struct p2ps_core_config){ 0 });
    return bed;
}

static int setup_site(void **state)
{
    *state = create_site("HQ");
    return 0;
}

static void say(struct peer *peer, struct rwf_encoder *enc)
{
    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    assert_int_equal(srcdist_provider_message(peer->bed->pair.source, peer->bed->pair.now_ns,
                                              peer->id, rwf_encoder_bytes(enc)),
                     MD_OK);
    pair_settle(&peer->bed->pair);
}

static struct peer connect_to(struct bed *bed, struct srcdist_uplink says)
{
    says.is_consumer = true;
    says.user = says.user ? says.user : "";
    says.password = says.password ? says.password : "";
    says.token = says.token ? says.token : "";
    return (struct peer){ .bed = bed, .says = says };
}

static void grant(struct peer *peer)
{
    uint8_t bytes[1024];
    struct rwf_encoder enc;
    const struct omm_login_refresh refresh = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_solicited = true,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .user = rwf_text("paris"),
        .name_type = RWF_NAME_LOGIN_USER,
        .support_view = true,
        .output_rate = 2000000,
        .has_authentication = peer->reissue_s != 0,
        .reissue_s = peer->reissue_s,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_refresh_encode(&enc, &refresh);
    say(peer, &enc);
}

static void log_in_by(struct peer *peer, unsigned route, const char *host)
{
    assert_int_equal(srcdist_provider_add(peer->bed->pair.source, peer->bed->pair.now_ns,
                                          SRCDIST_INTERACTIVE, route, host, &ops, peer, &peer->id),
                     MD_OK);
    grant(peer);
}

static void log_in_at(struct peer *peer)
{
    log_in_by(peer, 1, "hq:14002");
}

static void offer_state(struct peer *peer, const char *name, const char *path,
                        const struct rwf_qos qos[], uint8_t qos_count, bool service_up)
{
    uint8_t bytes[4096];
    struct rwf_encoder enc;
    const struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM,
                                             .is_solicited = true,
                                             .is_first = true,
                                             .is_complete = true,
                                             .is_streaming = true,
                                             .filter = 3 };
    struct omm_service service = {
        .id = SERVICE,
        .action = RWF_MAP_ADD,
        .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
        .name = rwf_text(name),
        .capability_count = 1,
        .capabilities = { RWF_DOMAIN_MARKET_PRICE },
        .qos_count = qos_count,
        .paths = { rwf_text(path) },
        .path_count = path[0] != 0,
        .is_up = service_up,
        .is_accepting = true,
    };

    memcpy(service.qos, qos, qos_count * sizeof(*qos));
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    say(peer, &enc);
    pair_pass(&peer->bed->pair, 200 * PAIR_MS);
}

static void offer(struct peer *peer, const char *name, const char *path, const struct rwf_qos qos[],
                  uint8_t qos_count)
{
    offer_state(peer, name, path, qos, qos_count, true);
}

static const struct rwf_qos ticks = { .timeliness = RWF_TIMELINESS_REALTIME,
                                      .rate = RWF_RATE_TICK_BY_TICK };
static const struct rwf_qos seconds = { .timeliness = RWF_TIMELINESS_REALTIME,
                                        .rate = RWF_RATE_TIME_CONFLATED,
                                        .rate_info = 1000 };

/* ---- the loop guard ---- */

static void what_came_through_this_site_is_not_taken(void **state)
{
    struct bed *bed = *state;
    struct peer peer = connect_to(bed, (struct srcdist_uplink){ .has_qos = false });

    log_in_at(&peer);
    offer(&peer, "AGAIN", "HQ,PARIS", &ticks, 1);
    assert_false(knows(bed, "AGAIN"));
    offer(&peer, "FAR", "TOKYO,HQ", &ticks, 1);
    assert_false(knows(bed, "FAR"));
    offer(&peer, "ANY", "*", &ticks, 1);
    assert_false(knows(bed, "ANY"));
    assert_int_equal(stats(bed)->services_looped, 3);
    offer(&peer, "OTHER", "HQ2,PARISHQ", &ticks, 1); /* names that are longer */
    assert_true(is_up(bed, "OTHER"));
    assert_int_equal(stats(bed)->services_looped, 3);
}

static void a_service_whose_path_begins_to_come_back_ends(void **state)
{
    struct bed *bed = *state;
    struct peer peer = connect_to(bed, (struct srcdist_uplink){ .has_qos = false });

    log_in_at(&peer);
    offer(&peer, "SENT", "PARIS", &ticks, 1);
    assert_true(is_up(bed, "SENT"));
    offer(&peer, "SENT", "HQ,PARIS", &ticks, 1);
    assert_false(is_up(bed, "SENT"));
    assert_null(srcdist_core_check(bed->pair.source));
}

/* PARIS and LONDON: each takes NEWS from HQ by its first route, from the other one by its second.
 */
struct site {
    struct bed *bed;
    struct peer hq, other;
    struct pair_client *watcher; /* of the directory that its p2ps shows */
};

static void found(struct site *site, const char *name)
{
    const struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE,
    };

    *site = (struct site){ .bed = create_site(name) };
    site->hq = connect_to(site->bed, (struct srcdist_uplink){ .has_qos = false });
    site->other = site->hq;
    log_in_by(&site->hq, 1, "hq:14002");
    log_in_by(&site->other, 2, "other:14002");
    site->watcher = pair_client(&site->bed->pair, 0);
    p2ps_client_directory(site->bed->pair.sink, site->bed->pair.now_ns, site->watcher->id,
                          &request);
    pair_settle(&site->bed->pair);
}

static void hear_of(struct site *site, const char *path, bool is_offered_up)
{
    if (path[0])
        offer_state(&site->other, "NEWS", path, &ticks, 1, is_offered_up);
}

/* Each tells the other what it shows, at the same time, until nothing changes any more. */
static void talk(struct site *a, struct site *b)
{
    for (unsigned i = 0; i < 6; i++) {
        const struct pair_client of_a = *a->watcher;
        const struct pair_client of_b = *b->watcher;

        hear_of(a, of_b.path, of_b.is_offered_up);
        hear_of(b, of_a.path, of_a.is_offered_up);
    }
}

static void close_site(struct site *site)
{
    void *bed = site->bed;

    assert_null(srcdist_core_check(site->bed->pair.source));
    teardown(&bed);
}

static void sites_that_back_each_other_up_do_not_keep_each_other_up(void **state)
{
    struct site paris, london;

    (void)state;
    found(&paris, "PARIS");
    found(&london, "LONDON");
    for (unsigned times = 0; times < 2; times++) {
        offer(&paris.hq, "NEWS", "HQ", &ticks, 1);
        offer(&london.hq, "NEWS", "HQ", &ticks, 1);
        talk(&paris, &london);
        assert_true(paris.watcher->is_offered_up && london.watcher->is_offered_up);
        assert_string_equal(paris.watcher->path, "HQ,PARIS");
        assert_string_equal(london.watcher->path, "HQ,LONDON");

        offer_state(&paris.hq, "NEWS", "HQ", &ticks, 1, false); /* one alone: the other helps */
        talk(&paris, &london);
        assert_true(paris.watcher->is_offered_up && london.watcher->is_offered_up);
        assert_string_equal(paris.watcher->path, "HQ,LONDON,PARIS");
        assert_string_equal(london.watcher->path, "HQ,LONDON");

        offer_state(&london.hq, "NEWS", "HQ", &ticks, 1, false);
        talk(&paris, &london);
        assert_false(paris.watcher->is_offered_up || london.watcher->is_offered_up);
    }
    assert_int_equal(stats(paris.bed)->descriptions_refused, 0);
    assert_int_equal(stats(london.bed)->descriptions_refused, 0);
    close_site(&paris);
    close_site(&london);
}

/* The path that is told is that of the best route that has the service, at every moment. */
static void sites_that_lose_the_service_at_once_are_down(void **state)
{
    struct site paris, london;

    (void)state;
    found(&paris, "PARIS");
    found(&london, "LONDON");
    offer(&paris.hq, "NEWS", "HQ", &ticks, 1);
    offer(&london.hq, "NEWS", "HQ", &ticks, 1);
    talk(&paris, &london);
    offer_state(&paris.hq, "NEWS", "HQ", &ticks, 1, false);
    offer_state(&london.hq, "NEWS", "HQ", &ticks, 1, false);
    assert_true(is_up(paris.bed, "NEWS") && is_up(london.bed, "NEWS"));
    talk(&paris, &london);
    assert_false(is_up(paris.bed, "NEWS") || is_up(london.bed, "NEWS"));
    offer(&paris.hq, "NEWS", "HQ", &ticks, 1);
    talk(&paris, &london);
    assert_true(is_up(paris.bed, "NEWS") && is_up(london.bed, "NEWS"));
    assert_string_equal(london.watcher->path, "HQ,PARIS,LONDON");
    close_site(&paris);
    close_site(&london);
}

/* ---- what is taken ---- */

static void a_service_without_the_quality_is_not_taken(void **state)
{
    struct bed *bed = *state;
    struct peer peer = connect_to(bed, (struct srcdist_uplink){ .has_qos = true, .qos = seconds });

    log_in_at(&peer);
    offer(&peer, "TICKS", "", &ticks, 1);
    assert_false(knows(bed, "TICKS"));
    assert_int_equal(stats(bed)->services_refused, 1);
    offer(&peer, "BOTH", "", (struct rwf_qos[]){ ticks, seconds }, 2);
    assert_true(is_up(bed, "BOTH"));
}

static void requests_have_the_quality_and_the_fields_of_the_route(void **state)
{
    struct bed *bed = *state;
    uint8_t view[128];
    struct rwf_encoder enc;
    struct peer peer = connect_to(bed, (struct srcdist_uplink){ .has_qos = true, .qos = seconds });
    struct omm_item_request request;
    struct rwf_msg msg;

    rwf_encoder_init(&enc, view, sizeof(view));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, ":ViewType", OMM_VIEW_FIELDS);
    rwf_element_list_finish(&enc);
    peer.says.view = rwf_encoder_bytes(&enc);
    log_in_at(&peer);
    offer(&peer, "BOTH", "", (struct rwf_qos[]){ ticks, seconds }, 2);
    open_item(pair_client(&bed->pair, 0), 5, "BOTH", "X");
    pair_pass(&bed->pair, PAIR_SEC);
    assert_true(peer.request_length > 0);
    assert_int_equal(rwf_msg_decode(rwf_bytes(peer.request, peer.request_length), &msg), RWF_OK);
    omm_item_request_decode(&msg, &request);
    assert_int_equal(omm_qos_compare(&request.qos, &seconds), 0);
    assert_true(request.has_view);
    assert_true(rwf_bytes_equal(request.payload, peer.says.view));
}

/* ---- the login ---- */

static void the_login_is_that_of_the_route(void **state)
{
    struct bed *bed = *state;
    struct peer peer =
        connect_to(bed, (struct srcdist_uplink){ .user = "paris", .password = "secret" });
    struct omm_login_request login;
    struct rwf_msg msg;

    log_in_at(&peer);
    assert_int_equal(rwf_msg_decode(rwf_bytes(peer.login, peer.login_length), &msg), RWF_OK);
    assert_int_equal(omm_login_request_decode(&msg, &login), RWF_OK);
    assert_true(rwf_bytes_equal(login.user, rwf_text("paris")));
    assert_true(rwf_bytes_equal(login.password, rwf_text("secret")));
    assert_true(login.wants_rtt);
    assert_true(login.single_open); /* its p2ps recovers items, and tells of them meanwhile */
}

static void a_token_is_renewed_in_time(void **state)
{
    struct bed *bed = *state;
    struct peer peer = connect_to(bed, (struct srcdist_uplink){ .token = "old" });
    struct omm_login_request login;
    struct rwf_msg msg;

    peer.reissue_s = clock_s + 100;
    log_in_at(&peer);
    pair_pass(&bed->pair, 5 * PAIR_SEC);
    assert_int_equal(peer.logins, 1);
    clock_s += 100;
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    assert_int_equal(peer.logins, 2);
    assert_int_equal(rwf_msg_decode(rwf_bytes(peer.login, peer.login_length), &msg), RWF_OK);
    assert_int_equal(omm_login_request_decode(&msg, &login), RWF_OK);
    assert_true(rwf_bytes_equal(login.token, rwf_text("new")));
    assert_int_equal(login.name_type, RWF_NAME_LOGIN_AUTHN_TOKEN);
    grant(&peer); /* it was the same token: not asked for with each tick */
    pair_pass(&bed->pair, 5 * PAIR_SEC);
    assert_int_equal(peer.renewals, 1);
    clock_s += 10;
    peer.reissue_s = clock_s + 1000;
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    grant(&peer);
    clock_s += 500;
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    assert_int_equal(peer.renewals, 2);
}

static void round_trips_are_answered_and_shown(void **state)
{
    struct bed *bed = *state;
    struct peer peer = connect_to(bed, (struct srcdist_uplink){ .has_qos = false });
    struct srcdist_provider_info info;
    uint8_t bytes[128];
    struct rwf_encoder enc;

    log_in_at(&peer);
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_rtt_encode(&enc, OMM_LOGIN_STREAM,
                   &(struct omm_rtt){ .ticks = 77, .has_latency = true, .latency_us = 81000 });
    say(&peer, &enc);
    assert_int_equal(peer.round_trips, 1);
    assert_int_equal(peer.rtt.ticks, 77);
    assert_true(srcdist_provider_info(bed->pair.source, peer.id, &info));
    assert_int_equal(info.lag_us, 81000);
    assert_int_equal(info.ceiling, 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_came_through_this_site_is_not_taken, setup_site,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_service_whose_path_begins_to_come_back_ends, setup_site,
                                        teardown),
        cmocka_unit_test(sites_that_back_each_other_up_do_not_keep_each_other_up),
        cmocka_unit_test(sites_that_lose_the_service_at_once_are_down),
        cmocka_unit_test_setup_teardown(a_service_without_the_quality_is_not_taken, setup_site,
                                        teardown),
        cmocka_unit_test_setup_teardown(requests_have_the_quality_and_the_fields_of_the_route,
                                        setup_site, teardown),
        cmocka_unit_test_setup_teardown(the_login_is_that_of_the_route, setup_site, teardown),
        cmocka_unit_test_setup_teardown(a_token_is_renewed_in_time, setup_site, teardown),
        cmocka_unit_test_setup_teardown(round_trips_are_answered_and_shown, setup_site, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
