/* test_p2ps_streams.c - a worker of p2ps serves over any byte stream, waited for or polled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "client/session.h"
#include "p2ps/dictionaries.h"
#include "p2ps/worker.h"
#include "pipe.h"
#include "tls_files.h"

#define CONSUMERS_MAX 20
#define PIPE_BYTES    20000 /* less than one part of a dictionary: writes stop half way */

/* What one consumer heard. */
struct consumer {
    struct client_session *session;
    bool opened;
    bool closed;
    bool logged_in;
    bool has_dictionary;
    uint8_t login_end; /* the stream state it was told */
    unsigned parts;
    uint64_t bytes;
};

struct fixture {
    struct tls_files files; /* its folder is that of everything */
    struct daemon daemon;
    entitle_rules_slot rules; /* none: all are let in */
    struct p2ps_dictionary_store *dictionaries;
    struct p2ps_worker *worker;
    const struct net_transport *transport;
    struct net_tls *server_tls;
    struct net_tls *client_tls;
    struct net_listener *listener;
    struct client_context *context;
    struct client_dial dial;
    struct consumer consumers[CONSUMERS_MAX];
    size_t consumer_count;
    const char *refusal;
    bool makes_room; /* connections are handed over as at maxMounts */
};

/* ---- what stands around ---- */

static void write_configuration(const struct fixture *f, char *path, size_t size)
{
    snprintf(path, size, "%s/rmds.cnf", f->files.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "*p2ps*runDir : %s/run\n*p2ps*dictionaryPath : "
            "%s/conf/RDMFieldDictionary\n"
            "*rrcpd*runDir : %s/run\n",
            f->files.folder, RMDS_SOURCE_DIR, f->files.folder);
    assert_int_equal(fclose(file), 0);
}

static void start_daemon(struct fixture *f)
{
    static const struct md_program program = { .name = "p2ps", .summary = "p2ps - under test" };
    const struct daemon_hooks hooks = { .owner = f };
    char path[300];
    char log[300];
    char name[] = "p2ps", option_c[] = "-c", option_log[] = "-log";
    char *argv[] = { name, option_c, path, option_log, log, NULL };

    write_configuration(f, path, sizeof(path));
    snprintf(log, sizeof(log), "%s/log", f->files.folder);
    assert_int_equal(daemon_start(&f->daemon, &program, &hooks, 5, argv), -1);
}

static void start_worker(struct fixture *f, uint64_t login_timeout_ns)
{
    struct p2ps_worker_config config = {
        .daemon = &f->daemon,
        .channel = rssl_config_default(RSSL_ROLE_SERVER),
        .login_timeout_ns = login_timeout_ns,
        .attach = { { .network = "net1",
                      .rrcpd_instance = "1",
                      .run_dir = f->files.folder,
                      .user_name = "p2ps.test.worker0" } },
    };

    assert_int_equal(p2ps_dictionary_store_create(&f->daemon.object, &f->dictionaries), MD_OK);
    config.core = (struct p2ps_core_config){
        .authority = entitle_rules_authority(&f->rules),
        .dictionaries = p2ps_dictionary_store_ops(f->dictionaries),
        .client_limit = CONSUMERS_MAX,
        .message_max = 65535,
        .random = 7,
    };
    assert_int_equal(p2ps_worker_create(&config, &f->worker), MD_OK);
    assert_int_equal(p2ps_worker_start(f->worker), MD_OK);
}

static void create_tls(struct fixture *f)
{
    struct net_tls_config server = { .certificate = f->files.certificate,
                                     .key = f->files.key,
                                     .is_server = true };
    struct net_tls_config client = { .ca = f->files.certificate };
    char error[160] = "";

    assert_int_equal(net_tls_create(&server, error, sizeof(error), &f->server_tls), MD_OK);
    assert_int_equal(net_tls_create(&client, error, sizeof(error), &f->client_tls), MD_OK);
}

static int set_up_patient(void **state, const char *transport, uint64_t login_timeout_ns)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(tls_files_create(&f->files), 0);
    start_daemon(f);
    start_worker(f, login_timeout_ns);
    f->transport = transport_find(transport);
    pipe_network_open(PIPE_BYTES);
    create_tls(f);
    const struct net_stream_options options = { .tls = f->server_tls };
    assert_int_equal(f->transport->listen(&options, "127.0.0.1", 0, &f->listener), MD_OK);
    assert_int_equal(client_context_create(NULL, &f->context), MD_OK);
    f->dial = (struct client_dial){
        .transport = f->transport,
        .options = { .tls = f->client_tls },
        .host = "127.0.0.1",
        .port = net_listener_port(f->listener),
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };
    *state = f;
    return 0;
}

static int set_up(void **state, const char *transport)
{
    return set_up_patient(state, transport, 0);
}

/* Nobody has time to log in. */
static int set_up_hasty(void **state)
{
    return set_up_patient(state, "pipe", 1);
}

static int set_up_pipe(void **state)
{
    return set_up(state, "pipe");
}

static int set_up_polled(void **state)
{
    return set_up(state, "pipe-polled");
}

static int set_up_tcp(void **state)
{
    return set_up(state, "tcp");
}

static int set_up_tls(void **state)
{
    return set_up(state, "tls");
}

static void remove_files(const struct fixture *f)
{
    static const char *const names[] = { "rmds.cnf", "log", "run" };
    char path[400];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->files.folder, names[i]);
        remove(path);
    }
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->consumer_count; i++)
        client_session_destroy(f->consumers[i].session);
    p2ps_worker_stop(f->worker);
    p2ps_worker_join(f->worker);
    p2ps_worker_destroy(f->worker);
    p2ps_dictionary_store_destroy(f->dictionaries);
    net_listener_close(f->listener);
    client_context_destroy(f->context);
    net_tls_destroy(f->server_tls);
    net_tls_destroy(f->client_tls);
    pipe_network_close();
    daemon_stop(&f->daemon);
    remove_files(f);
    tls_files_remove(&f->files);
    free(f);
    return 0;
}

/* ---- a consumer ---- */

static void send_to(struct consumer *consumer, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);

    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    assert_int_equal(
        rssl_outq_write(client_session_outq(consumer->session), bytes.data, bytes.length), MD_OK);
}

static void log_in(struct consumer *consumer)
{
    const struct omm_login_request login = { .stream_id = 1,
                                             .is_streaming = true,
                                             .user = rwf_text("anna"),
                                             .name_type = RWF_NAME_LOGIN_USER,
                                             .position = rwf_text("127.0.0.1/here"),
                                             .single_open = true };
    uint8_t scratch[1000];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, scratch, sizeof(scratch));
    omm_login_request_encode(&enc, &login);
    send_to(consumer, &enc);
}

static void ask_for_dictionary(struct consumer *consumer)
{
    const struct omm_dictionary_request request = {
        .stream_id = 5,
        .is_streaming = true,
        .name = rwf_text("RWFFld"),
        .filter = 7,
    };
    uint8_t scratch[1000];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, scratch, sizeof(scratch));
    omm_dictionary_request_encode(&enc, &request);
    send_to(consumer, &enc);
}

static void hear(struct consumer *consumer, const struct rssl_event *event)
{
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg), RWF_OK);
    consumer->bytes += event->length;
    if (msg.msg_class == RWF_CLASS_STATUS && msg.domain == RWF_DOMAIN_LOGIN)
        consumer->login_end = msg.state.stream_state;
    if (msg.msg_class != RWF_CLASS_REFRESH)
        return;
    if (msg.domain == RWF_DOMAIN_LOGIN) {
        consumer->logged_in = true;
        ask_for_dictionary(consumer);
    } else if (msg.domain == RWF_DOMAIN_DICTIONARY) {
        consumer->parts++;
        consumer->has_dictionary |= (msg.flags & RWF_REFRESH_COMPLETE) != 0;
    }
}

static void turn(struct consumer *consumer)
{
    struct rssl_event events[16];
    size_t n;

    while ((n = client_session_turn(consumer->session, md_clock_mono_ns(), events, 16)) > 0) {
        for (size_t i = 0; i < n; i++) {
            consumer->closed |= events[i].kind == RSSL_EVENT_CLOSED;
            if (events[i].kind == RSSL_EVENT_OPENED) {
                consumer->opened = true;
                log_in(consumer);
            }
            if (events[i].kind == RSSL_EVENT_MESSAGE)
                hear(consumer, &events[i]);
        }
    }
    if (consumer->opened && !consumer->closed)
        (void)client_session_flush(consumer->session, md_clock_mono_ns());
}

static struct consumer *connect_one(struct fixture *f)
{
    struct consumer *consumer = &f->consumers[f->consumer_count];

    assert_int_equal(
        client_session_dial(f->context, &f->dial, md_clock_mono_ns(), &consumer->session), MD_OK);
    f->consumer_count++;
    return consumer;
}

typedef bool (*done_fn)(const struct fixture *f);

static void hand(struct fixture *f, struct net_stream *stream, bool makes_room)
{
    const struct p2ps_handed handed = {
        .protocol = &p2ps_rssl_protocol,
        .stream = stream,
        .refusal = f->refusal,
        .room = makes_room ? P2PS_ROOM_OF_ANY : P2PS_ROOM_NONE,
    };

    assert_int_equal(p2ps_worker_hand(f->worker, &handed), MD_OK);
}

static void hand_one(struct fixture *f, struct net_stream *stream)
{
    const struct p2ps_handed handed = { .protocol = &p2ps_rssl_protocol, .stream = stream };

    assert_int_equal(p2ps_worker_hand(f->worker, &handed), MD_OK);
}

/* The worker has a thread of its own; this one accepts, as p2ps's control loop does, and is all
 * the consumers. */
static void run_until(struct fixture *f, done_fn done)
{
    uint64_t end_ns = md_clock_mono_ns() + 60 * MD_NS_PER_S;
    struct net_stream *stream;

    while (md_clock_mono_ns() < end_ns) {
        while (net_listener_accept(f->listener, &stream) == MD_OK)
            hand(f, stream, f->makes_room);
        for (size_t i = 0; i < f->consumer_count; i++)
            turn(&f->consumers[i]);
        if (done(f))
            return;
        poll(NULL, 0, 1);
    }
    fail_msg("it does not come about");
}

static bool all_served(const struct fixture *f)
{
    for (size_t i = 0; i < f->consumer_count; i++) {
        if (!f->consumers[i].has_dictionary)
            return false;
    }
    return true;
}

static bool all_closed(const struct fixture *f)
{
    for (size_t i = 0; i < f->consumer_count; i++) {
        if (!f->consumers[i].closed)
            return false;
    }
    return true;
}

static uint32_t mount_count(const struct fixture *f)
{
    return atomic_load_explicit(&f->worker->mount_count, memory_order_relaxed);
}

static bool nobody_is_mounted(const struct fixture *f)
{
    return mount_count(f) == 0;
}

/* ---- the sentences ---- */

static void a_consumer_logs_in_and_gets_the_dictionary(void **state)
{
    struct fixture *f = *state;
    struct consumer *consumer = connect_one(f);

    run_until(f, all_served);
    assert_true(consumer->logged_in);
    assert_true(consumer->bytes > PIPE_BYTES);
    assert_int_equal(mount_count(f), 1);
}

static void many_consumers_are_served_side_by_side(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < CONSUMERS_MAX; i++)
        connect_one(f);
    run_until(f, all_served);
    for (size_t i = 1; i < CONSUMERS_MAX; i++)
        assert_int_equal(f->consumers[i].bytes, f->consumers[0].bytes);
}

static void a_consumer_that_leaves_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct consumer *consumer = connect_one(f);

    run_until(f, all_served);
    rssl_channel_close(client_session_channel(consumer->session));
    run_until(f, nobody_is_mounted);
}

/* What the control loop decides by must not lag behind what it does. */
static void a_connection_counts_as_soon_as_it_is_handed_over(void **state)
{
    struct fixture *f = *state;
    struct net_stream *stream;
    uint32_t handed = 0;

    for (size_t i = 0; i < CONSUMERS_MAX; i++)
        connect_one(f);
    for (int i = 0; i < 60000 && handed < CONSUMERS_MAX; i++) {
        while (net_listener_accept(f->listener, &stream) == MD_OK) {
            hand_one(f, stream);
            handed++;
            assert_int_equal(mount_count(f), handed);
        }
        poll(NULL, 0, 1);
    }
    run_until(f, all_served);
}

static void one_too_many_is_told_so(void **state)
{
    struct fixture *f = *state;
    struct consumer *consumer = connect_one(f);

    f->refusal = "Maximum number of mounts reached";
    run_until(f, all_closed);
    assert_string_equal(client_session_describe(consumer->session),
                        "refused by the server: Maximum number of mounts reached");
}

static void what_is_no_rssl_is_cut_and_the_others_are_served(void **state)
{
    static const uint8_t garbage[] = "GET / HTTP/1.0\r\n\r\n";
    const struct md_slice slice = { garbage, sizeof(garbage) - 1 };
    struct fixture *f = *state;
    struct net_stream *stream;

    assert_int_equal(f->transport->dial(&f->dial.options, "127.0.0.1", f->dial.port, &stream),
                     MD_OK);
    for (int i = 0; i < 60000 && net_stream_ready(stream) == MD_ERR_AGAIN; i++) {
        struct net_stream *accepted;
        if (net_listener_accept(f->listener, &accepted) == MD_OK)
            hand_one(f, accepted);
        poll(NULL, 0, 1);
    }
    assert_int_equal(net_stream_write(stream, &slice, 1), (int64_t)slice.length);
    connect_one(f);
    run_until(f, all_served);
    client_session_destroy(f->consumers[0].session);
    f->consumer_count = 0;
    run_until(f, nobody_is_mounted);
    net_stream_close(stream);
}

/* Connects and says nothing. */
static struct net_stream *connect_silent(struct fixture *f)
{
    uint32_t before = mount_count(f);
    struct net_stream *stream, *accepted;

    assert_int_equal(f->transport->dial(&f->dial.options, "127.0.0.1", f->dial.port, &stream),
                     MD_OK);
    for (int i = 0; i < 60000 && mount_count(f) == before; i++) {
        (void)net_stream_ready(stream);
        if (net_listener_accept(f->listener, &accepted) == MD_OK)
            hand_one(f, accepted);
        poll(NULL, 0, 1);
    }
    assert_int_equal(mount_count(f), before + 1);
    return stream;
}

static bool all_logins_are_counted(const struct fixture *f)
{
    return all_served(f) && atomic_load(&f->worker->login_count) == f->consumer_count;
}

static void who_says_nothing_makes_room_and_who_is_logged_in_does_not(void **state)
{
    struct fixture *f = *state;
    struct net_stream *silent[2];

    connect_one(f);
    run_until(f, all_logins_are_counted);
    for (int i = 0; i < 2; i++)
        silent[i] = connect_silent(f);
    f->makes_room = true;
    f->refusal = "Maximum number of mounts reached";
    for (int i = 0; i < 2; i++) {
        connect_one(f);
        run_until(f, all_logins_are_counted);
        assert_int_equal(mount_count(f), 3);
    }
    struct consumer *late = connect_one(f);
    for (int i = 0; i < 60000 && !late->closed; i++) {
        struct net_stream *stream;
        if (net_listener_accept(f->listener, &stream) == MD_OK)
            hand(f, stream, true);
        turn(late);
        poll(NULL, 0, 1);
    }
    assert_string_equal(client_session_describe(late->session),
                        "refused by the server: Maximum number of mounts reached");
    for (int i = 0; i < 3; i++)
        assert_false(f->consumers[i].closed);
    for (int i = 0; i < 2; i++)
        net_stream_close(silent[i]);
}

static void who_does_not_log_in_is_ended(void **state)
{
    struct fixture *f = *state;
    struct net_stream *silent = connect_silent(f);

    run_until(f, nobody_is_mounted);
    net_stream_close(silent);
}

/* Also who asks for more all the time: the end must not overtake the last words. */
static void who_is_connected_is_told_that_p2ps_stops(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++)
        connect_one(f);
    run_until(f, all_served);
    p2ps_worker_stop(f->worker);
    for (int i = 0; i < 100; i++) {
        ask_for_dictionary(&f->consumers[1]);
        (void)client_session_flush(f->consumers[1].session, md_clock_mono_ns());
    }
    run_until(f, all_closed);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f->consumers[i].login_end, RWF_STREAM_CLOSED_RECOVER);
        assert_string_equal(client_session_describe(f->consumers[i].session), "closed by the peer");
    }
    run_until(f, nobody_is_mounted);
}

#define OVER(how, f) cmocka_unit_test_setup_teardown(f, set_up_##how, tear_down)
#define ALL_OVER(how)                                                                              \
    OVER(how, a_consumer_logs_in_and_gets_the_dictionary),                                         \
        OVER(how, many_consumers_are_served_side_by_side),                                         \
        OVER(how, a_consumer_that_leaves_is_forgotten),                                            \
        OVER(how, a_connection_counts_as_soon_as_it_is_handed_over),                               \
        OVER(how, one_too_many_is_told_so),                                                        \
        OVER(how, what_is_no_rssl_is_cut_and_the_others_are_served),                               \
        OVER(how, who_says_nothing_makes_room_and_who_is_logged_in_does_not),                      \
        OVER(how, who_is_connected_is_told_that_p2ps_stops)

int main(void)
{
    const struct CMUnitTest tests[] = { ALL_OVER(pipe), ALL_OVER(polled), ALL_OVER(tcp),
                                        ALL_OVER(tls), OVER(hasty, who_does_not_log_in_is_ended) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
