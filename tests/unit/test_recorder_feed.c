/* test_recorder_feed.c - the connection of a recorder to p2ps: logins that are refused, services
 * that are not there, items that close. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "feed.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "say.h"

/* ---- a link that brings what the test gives it ---- */

struct link {
    struct client_session *session;
    const struct link_ops *ops;
    void *owner;
    unsigned closes;
};

static struct link *last; /* NULL: there is none */

int link_create(struct md_loop *loop, struct client_session *session, const struct link_ops *ops,
                void *owner, struct link **out)
{
    struct link *link = calloc(1, sizeof(*link));

    (void)loop;
    assert_non_null(link);
    *link = (struct link){ .session = session, .ops = ops, .owner = owner };
    *out = last = link;
    return MD_OK;
}

void link_destroy(struct link *link)
{
    if (!link)
        return;
    client_session_destroy(link->session);
    last = NULL;
    free(link);
}

void link_start(struct link *link)
{
    (void)link;
}

int link_flush(struct link *link)
{
    (void)link;
    return MD_OK;
}

void link_close(struct link *link)
{
    link->closes++;
}

struct client_session *link_session(struct link *link)
{
    return link->session;
}

/* ---- the bed ---- */

struct bed {
    struct feed feed;
    struct rec_writer writer;
    int listener;
};

static struct rec_chunk *no_chunk(void *context)
{
    (void)context;
    return NULL;
}

static void no_give(void *context, struct rec_chunk *chunk)
{
    (void)context;
    (void)chunk;
}

static uint16_t listen_somewhere(struct bed *bed)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);

    bed->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(bed->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(bed->listener, 4), 0);
    assert_int_equal(getsockname(bed->listener, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

/* A recorder of X of the services A and B. */
static struct bed *open_bed(void)
{
    static const struct rec_writer_ops ops = { no_chunk, no_give };
    static struct bed bed;
    struct wire_words words = { .name = NULL };
    char why[200];

    bed = (struct bed){ .feed = { .host = strdup("127.0.0.1"),
                                  .user = "u",
                                  .position = "p",
                                  .application_id = "1",
                                  .window = 10,
                                  .services = { { .name = "A" }, { .name = "B" } },
                                  .service_count = 2,
                                  .item_count = 2 } };
    struct feed *feed = &bed.feed;
    feed->items = calloc(2, sizeof(*feed->items));
    for (uint8_t i = 0; i < 2; i++)
        feed->items[i] =
            (struct feed_item){ .name = "X", .name_length = 1, .domain = 6, .service = i };
    feed->port = listen_somewhere(&bed);
    rec_writer_init(&bed.writer, &ops, NULL);
    const struct rec_keeper_config keeper = { .cache = { .bytes_max = 1u << 20 },
                                              .writer = &bed.writer };
    assert_int_equal(md_loop_create(0, &feed->loop), MD_OK);
    assert_int_equal(wire_make(&words, false, &feed->wire, why, sizeof(why)), MD_OK);
    assert_int_equal(client_context_create(NULL, &feed->context), MD_OK);
    assert_int_equal(rec_keeper_create(&keeper, &feed->keeper), MD_OK);
    rec_is_daemon = true;
    assert_int_equal(feed_start(feed), MD_OK);
    assert_non_null(last);
    return &bed;
}

static void close_bed(struct bed *bed)
{
    struct md_loop *loop = bed->feed.loop;

    feed_fini(&bed->feed);
    rec_keeper_destroy(bed->feed.keeper);
    md_loop_destroy(loop);
    close(bed->listener);
}

static void bring(const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);
    struct rssl_event event = { .kind = RSSL_EVENT_MESSAGE,
                                .bytes = bytes.data,
                                .length = (uint32_t)bytes.length };

    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    last->ops->on_messages(last->owner, &event, 1);
}

static void bring_login(uint8_t stream_state, const char *text)
{
    uint8_t bytes[1000];
    struct rwf_encoder enc;
    const struct omm_status status = {
        .stream_id = OMM_LOGIN_STREAM,
        .domain = RWF_DOMAIN_LOGIN,
        .state = { .stream_state = stream_state,
                   .data_state = stream_state == RWF_STREAM_OPEN ? RWF_DATA_OK : RWF_DATA_SUSPECT,
                   .text = rwf_text(text) },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_status_encode(&enc, &status);
    bring(&enc);
}

static void bring_directory(const char *name)
{
    uint8_t bytes[1000];
    struct rwf_encoder enc;
    const struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM,
                                             .is_first = true,
                                             .is_complete = true,
                                             .is_streaming = true,
                                             .filter = OMM_FILTER_INFO };
    const struct omm_service service = {
        .id = 7, .action = RWF_MAP_ADD, .filters = OMM_FILTER_INFO, .name = rwf_text(name)
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    bring(&enc);
}

/* ---- tests ---- */

static void a_refused_login_is_tried_again_later_and_told(void **state)
{
    struct bed *bed = open_bed();
    struct feed *feed = &bed->feed;

    (void)state;
    bring_login(RWF_STREAM_CLOSED, "no such user");
    assert_false(feed->is_over);
    assert_int_equal(last->closes, 1);
    assert_non_null(strstr(feed->reason, "login refused: "));
    assert_non_null(strstr(feed->reason, "no such user"));
    assert_int_equal(feed->pause_ns, 30 * MD_NS_PER_S);
    last->ops->on_closed(last->owner, "closed");
    assert_non_null(strstr(feed->reason, "no such user"));
    assert_true(feed->is_refused);
    assert_int_equal(feed->state, FEED_DOWN);
    assert_true(md_loop_timer_is_running(feed->timer));
    close_bed(bed);
}

static void a_connection_that_ends_otherwise_is_tried_in_a_second(void **state)
{
    struct bed *bed = open_bed();
    struct feed *feed = &bed->feed;

    (void)state;
    last->ops->on_closed(last->owner, "reset");
    assert_string_equal(feed->reason, "reset");
    assert_false(feed->is_refused);
    assert_true(md_loop_timer_is_running(feed->timer));
    close_bed(bed);
}

static void one_missing_service_stops_no_other(void **state)
{
    struct bed *bed = open_bed();
    struct feed *feed = &bed->feed;

    (void)state;
    bring_login(RWF_STREAM_OPEN, "");
    assert_int_equal(feed->state, FEED_DIRECTORY);
    assert_null(feed_service_missing(feed));
    bring_directory("B");
    assert_int_equal(feed->state, FEED_UP);
    assert_int_equal(feed->items[0].state, ITEM_WAITING);
    assert_true(feed->items[1].number > 0);
    assert_string_equal(feed_service_missing(feed)->name, "A");
    close_bed(bed);
}

static void without_any_service_it_is_logged_in_and_says_which(void **state)
{
    struct bed *bed = open_bed();
    struct feed *feed = &bed->feed;

    (void)state;
    bring_login(RWF_STREAM_OPEN, "");
    bring_directory("C");
    assert_int_equal(feed->state, FEED_DIRECTORY);
    assert_string_equal(feed_service_missing(feed)->name, "A");
    bring_directory("A");
    assert_int_equal(feed->state, FEED_UP);
    assert_string_equal(feed_service_missing(feed)->name, "B");
    last->ops->on_closed(last->owner, "reset");
    assert_null(feed_service_missing(feed));
    close_bed(bed);
}

static void bring_closed(int32_t stream_id)
{
    uint8_t bytes[1000];
    struct rwf_encoder enc;
    const struct omm_status status = {
        .stream_id = stream_id,
        .domain = 6,
        .state = { .stream_state = RWF_STREAM_CLOSED, .data_state = RWF_DATA_SUSPECT },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_status_encode(&enc, &status);
    bring(&enc);
}

static void an_item_that_has_closed_is_not_open(void **state)
{
    struct bed *bed = open_bed();
    uint32_t open, were_open;

    (void)state;
    bring_login(RWF_STREAM_OPEN, "");
    bring_directory("B");
    bed->feed.items[1].state = ITEM_OPEN;
    bed->feed.items[1].was_open = true;
    feed_count_items(&bed->feed, &open, &were_open);
    assert_int_equal(open, 1);
    bring_closed(STREAM_FIRST + 1);
    feed_count_items(&bed->feed, &open, &were_open);
    assert_int_equal(open, 0);
    assert_int_equal(were_open, 1);
    close_bed(bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_login_is_tried_again_later_and_told),
        cmocka_unit_test(a_connection_that_ends_otherwise_is_tried_in_a_second),
        cmocka_unit_test(one_missing_service_stops_no_other),
        cmocka_unit_test(without_any_service_it_is_logged_in_and_says_which),
        cmocka_unit_test(an_item_that_has_closed_is_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
