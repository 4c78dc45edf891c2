/* test_client_session.c - sessions over every transport: TCP, TLS, rsockets, pipes in both manners.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "client/session.h"
#include "fake_rsocket.h"
#include "netio/rsocket.h"
#include "pipe.h"
#include "tls_files.h"

#define BOTH_MAX 128

/* One end of a connection and what it heard. */
struct end {
    struct client_session *session;
    bool opened;
    bool closed;
    uint64_t message_count;
    uint64_t byte_count;
    uint64_t sum; /* of what every message says about itself */
    bool damaged;
};

struct fixture {
    const struct net_transport *transport;
    struct client_context *context;
    struct tls_files files;
    struct net_tls *server_tls;
    struct net_tls *client_tls;
    struct net_listener *listener;
    struct net_stream_options server_options;
    struct client_dial dial;
    struct rssl_config server;
    struct end clients[BOTH_MAX];
    struct end servers[BOTH_MAX];
    size_t client_count;
    size_t server_count;
    bool refuse;
};

static int set_up_over(void **state, const char *transport, size_t pipe_size, bool is_plain)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char error[160] = "";

    assert_non_null(f);
    f->transport = transport_find(transport);
    assert_non_null(f->transport);
    assert_int_equal(client_context_create(NULL, &f->context), MD_OK);
    pipe_network_open(pipe_size);
    assert_int_equal(tls_files_create(&f->files), 0);
    struct net_tls_config server_tls = { .certificate = f->files.certificate,
                                         .key = f->files.key,
                                         .is_server = true };
    struct net_tls_config client_tls = { .ca = f->files.certificate };
    assert_int_equal(net_tls_create(&server_tls, error, sizeof(error), &f->server_tls), MD_OK);
    assert_int_equal(net_tls_create(&client_tls, error, sizeof(error), &f->client_tls), MD_OK);
    f->server_options =
        (struct net_stream_options){ .nodelay = true, .tls = f->server_tls, .is_plain = is_plain };
    assert_int_equal(f->transport->listen(&f->server_options, "127.0.0.1", 0, &f->listener), MD_OK);
    f->dial = (struct client_dial){
        .transport = f->transport,
        .options = { .nodelay = true, .tls = f->client_tls, .is_plain = is_plain },
        .host = "127.0.0.1",
        .port = net_listener_port(f->listener),
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };
    f->server = rssl_config_default(RSSL_ROLE_SERVER);
    f->server.max_buffers = f->dial.rssl.max_buffers = 1000;
    *state = f;
    return 0;
}

static int set_up_with(void **state, const char *transport, size_t pipe_size)
{
    return set_up_over(state, transport, pipe_size, false);
}

static int set_up(void **state, const char *transport)
{
    return set_up_with(state, transport, 100000);
}

static int set_up_tcp(void **state)
{
    return set_up(state, "tcp");
}

static int set_up_plain(void **state)
{
    return set_up_over(state, "tcp", 100000, true);
}

static int set_up_tls(void **state)
{
    return set_up(state, "tls");
}

static int set_up_pipe(void **state)
{
    return set_up(state, "pipe");
}

static int set_up_wide_pipe(void **state)
{
    return set_up_with(state, "pipe", (size_t)4 << 20);
}

static int set_up_polled(void **state)
{
    return set_up(state, "pipe-polled");
}

static int set_up_rsocket(void **state)
{
    fake_rsocket_manners_set(&(struct fake_rsocket_manners){ 0 });
    rsocket_calls_set(&fake_rsocket_calls);
    return set_up(state, "rsocket");
}

static int set_up_unkind(void **state)
{
    int err = set_up_rsocket(state);

    fake_rsocket_manners_set(&(struct fake_rsocket_manners){
        .short_percent = 30, .again_percent = 20, .spurious_percent = 20 });
    return err;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->client_count; i++)
        client_session_destroy(f->clients[i].session);
    for (size_t i = 0; i < f->server_count; i++)
        client_session_destroy(f->servers[i].session);
    net_listener_close(f->listener);
    net_tls_destroy(f->server_tls);
    net_tls_destroy(f->client_tls);
    pipe_network_close();
    client_context_destroy(f->context);
    tls_files_remove(&f->files);
    free(f);
    return 0;
}

/* Messages carry their index in the first byte and repeat it. */
static void check_message(struct end *end, const struct rssl_event *event)
{
    end->message_count++;
    end->byte_count += event->length;
    for (uint32_t i = 1; i < event->length; i++) {
        if (event->bytes[i] != (uint8_t)(event->bytes[0] + i))
            end->damaged = true;
    }
}

static int send_message(struct end *end, uint8_t first, size_t length)
{
    uint8_t *room = rssl_outq_reserve(client_session_outq(end->session), length);

    if (!room)
        return MD_ERR_FULL;
    for (size_t i = 0; i < length; i++)
        room[i] = (uint8_t)(first + i);
    rssl_outq_commit(client_session_outq(end->session), length);
    return MD_OK;
}

static void turn(struct end *end)
{
    struct rssl_event events[16];
    size_t n;

    if (!end->session)
        return;
    while ((n = client_session_turn(end->session, md_clock_mono_ns(), events, 16)) > 0) {
        for (size_t i = 0; i < n; i++) {
            end->opened |= events[i].kind == RSSL_EVENT_OPENED;
            end->closed |= events[i].kind == RSSL_EVENT_CLOSED;
            if (events[i].kind == RSSL_EVENT_MESSAGE)
                check_message(end, &events[i]);
        }
    }
}

static void accept_all(struct fixture *f)
{
    struct net_stream *stream;

    while (f->listener && net_listener_accept(f->listener, &stream) == MD_OK) {
        struct end *end = &f->servers[f->server_count];
        assert_int_equal(
            client_session_serve(f->context, stream, &f->server, md_clock_mono_ns(), &end->session),
            MD_OK);
        if (f->refuse)
            rssl_channel_refuse(client_session_channel(end->session), "No room");
        f->server_count++;
    }
}

static void connect_one(struct fixture *f)
{
    struct end *end = &f->clients[f->client_count];

    assert_int_equal(client_session_dial(f->context, &f->dial, md_clock_mono_ns(), &end->session),
                     MD_OK);
    f->client_count++;
}

/* Wait as a loop would: for the descriptors there are, a moment if some end must be polled. */
static void wait_for_any(struct fixture *f)
{
    struct pollfd fds[2 * BOTH_MAX + 1];
    nfds_t count = 0;
    int timeout_ms = 1000;

    for (size_t i = 0; i < f->client_count + f->server_count; i++) {
        struct end *end = i < f->client_count ? &f->clients[i] : &f->servers[i - f->client_count];
        unsigned wants = client_session_wants(end->session);
        int fd = client_session_descriptor(end->session);
        if (fd < 0 || client_session_deadline(end->session) == 0)
            timeout_ms = 0;
        else if (wants)
            fds[count++] =
                (struct pollfd){ .fd = fd,
                                 .events = (short)((wants & NET_READABLE ? POLLIN : 0) |
                                                   (wants & NET_WRITABLE ? POLLOUT : 0)) };
    }
    if (f->listener && net_listener_descriptor(f->listener) >= 0)
        fds[count++] =
            (struct pollfd){ .fd = net_listener_descriptor(f->listener), .events = POLLIN };
    else if (f->listener)
        timeout_ms = 0;
    poll(fds, count, timeout_ms);
}

typedef bool (*done_fn)(struct fixture *f);

static void run_until(struct fixture *f, done_fn done)
{
    /* Only so that a broken build ends: turns of a polled stream cost next to nothing. */
    uint64_t give_up_ns = md_clock_mono_ns() + 60 * MD_NS_PER_S;

    while (md_clock_mono_ns() < give_up_ns) {
        accept_all(f);
        for (size_t k = 0; k < f->client_count; k++)
            turn(&f->clients[k]);
        for (size_t k = 0; k < f->server_count; k++)
            turn(&f->servers[k]);
        if (done(f))
            return;
        wait_for_any(f);
    }
    fail_msg("it does not come about");
}

static bool all_open(struct fixture *f)
{
    for (size_t i = 0; i < f->client_count; i++) {
        if (!f->clients[i].opened)
            return false;
    }
    size_t open = 0;
    for (size_t i = 0; i < f->server_count; i++)
        open += f->servers[i].opened;
    return open == f->client_count;
}

static bool clients_closed(struct fixture *f)
{
    for (size_t i = 0; i < f->client_count; i++) {
        if (!f->clients[i].closed)
            return false;
    }
    return true;
}

static bool servers_closed(struct fixture *f)
{
    for (size_t i = 0; i < f->server_count; i++) {
        if (!f->servers[i].closed)
            return false;
    }
    return f->server_count > 0;
}

static uint64_t wanted_messages;

static bool both_have_all(struct fixture *f)
{
    return f->clients[0].message_count == wanted_messages &&
           f->servers[0].message_count == wanted_messages;
}

static void messages_of_any_size_arrive_whole_and_in_order(void **state)
{
    static const size_t sizes[] = { 1,    2,    74,    1000,  6141,   6142,   6143,   6144,
                                    6145, 7000, 12288, 65535, 100000, 524288, 2097152 };
    struct fixture *f = *state;
    uint64_t bytes = 0;

    f->dial.rssl.compression_bits = f->server.compression_bits = RSSL_COMPRESSION_BIT_ZLIB;
    connect_one(f);
    run_until(f, all_open);
    wanted_messages = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(send_message(&f->clients[0], (uint8_t)i, sizes[i]), MD_OK);
        assert_int_equal(send_message(&f->servers[0], (uint8_t)i, sizes[i]), MD_OK);
        wanted_messages++;
        bytes += sizes[i];
        run_until(f, both_have_all);
    }
    assert_false(f->clients[0].damaged || f->servers[0].damaged);
    assert_int_equal(f->clients[0].byte_count, bytes);
    assert_int_equal(f->servers[0].byte_count, bytes);
}

static void a_burst_larger_than_all_buffers_arrives(void **state)
{
    struct fixture *f = *state;
    uint64_t sent = 0;

    connect_one(f);
    run_until(f, all_open);
    while (sent < 200000) {
        while (sent < 200000 && send_message(&f->servers[0], (uint8_t)sent, 74) == MD_OK)
            sent++;
        (void)client_session_flush(f->servers[0].session, md_clock_mono_ns());
        turn(&f->clients[0]);
        turn(&f->servers[0]);
    }
    for (long i = 0; i < 1000000 && f->clients[0].message_count < sent; i++) {
        turn(&f->clients[0]);
        turn(&f->servers[0]);
    }
    assert_int_equal(f->clients[0].message_count, sent);
    assert_false(f->clients[0].damaged);
}

/* How much of 1.8 MB that wait is taken at once. */
static uint64_t read_at_once(struct end *from, struct end *to)
{
    const struct rssl_channel_stats *stats =
        rssl_channel_stats(client_session_channel(to->session));
    struct rssl_event event;

    for (unsigned i = 0; i < 300; i++)
        assert_int_equal(send_message(from, (uint8_t)i, 6000), MD_OK);
    assert_int_equal(client_session_flush(from->session, md_clock_mono_ns()), MD_OK);
    uint64_t before = stats->bytes_in;
    assert_int_equal(client_session_turn(to->session, md_clock_mono_ns(), &event, 1), 1);
    return stats->bytes_in - before;
}

static void a_read_takes_as_much_as_the_input_buffers_hold(void **state)
{
    struct fixture *f = *state;

    f->dial.rssl.input_buffers = 100;
    f->server.input_buffers = 50;
    connect_one(f);
    run_until(f, all_open);
    assert_int_equal(read_at_once(&f->servers[0], &f->clients[0]), 100 * 6147);
    assert_int_equal(read_at_once(&f->clients[0], &f->servers[0]), 50 * 6147);
    turn(&f->clients[0]);
    turn(&f->servers[0]);
    assert_int_equal(f->clients[0].message_count, 299); /* and the one above */
    assert_int_equal(f->servers[0].message_count, 299);
    assert_false(f->clients[0].damaged || f->servers[0].damaged);
}

static void few_input_buffers_make_no_read_smaller(void **state)
{
    struct fixture *f = *state;

    f->dial.rssl.input_buffers = 3;
    connect_one(f);
    run_until(f, all_open);
    assert_int_equal(read_at_once(&f->servers[0], &f->clients[0]), 131072);
    assert_int_equal(rssl_read_size(10000, 63000, 65536), RSSL_READ_MAX);
}

static void a_client_that_closes_is_seen_as_closed(void **state)
{
    struct fixture *f = *state;

    connect_one(f);
    run_until(f, all_open);
    assert_int_equal(send_message(&f->clients[0], 5, 100), MD_OK);
    rssl_channel_close(client_session_channel(f->clients[0].session));
    run_until(f, servers_closed);
    assert_int_equal(f->servers[0].message_count, 1); /* what was queued went out first */
    assert_int_equal(rssl_channel_reason(client_session_channel(f->servers[0].session)),
                     RSSL_REASON_PEER_CLOSED);
    client_session_destroy(f->servers[0].session);
    f->server_count = 0;
    run_until(f, clients_closed);
}

static void a_refused_client_is_told_why(void **state)
{
    struct fixture *f = *state;

    f->refuse = true;
    connect_one(f);
    run_until(f, clients_closed);
    assert_false(f->clients[0].opened);
    assert_string_equal(client_session_describe(f->clients[0].session),
                        "refused by the server: No room");
}

static bool first_opens(struct fixture *f)
{
    return f->clients[0].opened;
}

static void a_client_falls_back_to_what_the_server_knows(void **state)
{
    struct fixture *f = *state;

    f->server.version = RSSL_VERSION_12;
    connect_one(f);
    run_until(f, first_opens);
    assert_int_equal(rssl_channel_info(client_session_channel(f->clients[0].session))->version,
                     RSSL_VERSION_12);
    assert_int_equal(f->server_count, 3);
}

static void a_hundred_connections_open_at_once(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 10; k++)
            connect_one(f);
        run_until(f, all_open);
    }
    assert_int_equal(f->server_count, 100);
}

/* What hostile peers send: garbage, a length of 0, a request that never ends, nothing at all. */
static const struct {
    const char *bytes;
    size_t length;
    const char *why;
} hostile[] = {
    { "GET / HTTP/1.0\r\n\r\n", 18, "not an RSSL connection request" },
    { "\0\0\0\0\0\0\0\0", 8, "not an RSSL connection request" },
    { "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "not an RSSL connection request" },
    { "\x00\x32\x00\x00\x00", 5, "handshake not completed in time" },
    { "", 0, "handshake not completed in time" },
};
#define HOSTILE_COUNT (sizeof(hostile) / sizeof(hostile[0]))

static bool one_is_left(struct fixture *f)
{
    size_t closed = 0;

    for (size_t i = 0; i < f->server_count; i++)
        closed += f->servers[i].closed;
    return closed == HOSTILE_COUNT;
}

static void a_hostile_peer_ends_its_own_channel_only(void **state)
{
    struct fixture *f = *state;
    struct net_stream *streams[HOSTILE_COUNT];

    f->server.handshake_timeout_ns = 1000 * MD_NS_PER_MS;
    connect_one(f);
    run_until(f, all_open);
    for (size_t i = 0; i < HOSTILE_COUNT; i++) {
        struct md_slice slice = { (const uint8_t *)hostile[i].bytes, hostile[i].length };
        assert_int_equal(
            f->transport->dial(&f->dial.options, "127.0.0.1", f->dial.port, &streams[i]), MD_OK);
        for (int k = 0; k < 100000 && net_stream_ready(streams[i]) == MD_ERR_AGAIN; k++) {
            struct pollfd fd = { .fd = net_stream_descriptor(streams[i]), .events = POLLOUT };
            poll(&fd, fd.fd >= 0, fd.fd >= 0);
            accept_all(f);
            turn(&f->servers[f->server_count - 1]);
        }
        while (slice.length) {
            int64_t n = net_stream_write(streams[i], &slice, 1);
            assert_true(n >= 0);
            slice.bytes += n;
            slice.length -= (size_t)n;
        }
        accept_all(f);
    }
    run_until(f, one_is_left);
    for (size_t i = 0; i < HOSTILE_COUNT; i++) {
        const char *why = client_session_describe(f->servers[1 + i].session);
        assert_non_null(strstr(why, hostile[i].why));
        net_stream_close(streams[i]);
    }
    wanted_messages = 1;
    assert_int_equal(send_message(&f->clients[0], 1, 5000), MD_OK);
    assert_int_equal(send_message(&f->servers[0], 1, 5000), MD_OK);
    run_until(f, both_have_all);
}

static bool first_server_closed(struct fixture *f)
{
    return f->servers[0].closed;
}

static void a_peer_that_never_reads_is_cut_when_it_has_taken_nothing_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct client_session *deaf;

    f->server.stall_timeout_ns = 100 * MD_NS_PER_MS;
    f->server.max_buffers = 2000;
    connect_one(f);
    run_until(f, all_open);
    deaf = f->clients[0].session;
    f->client_count = 0; /* it has no more turns */
    while (client_session_flush(f->servers[0].session, md_clock_mono_ns()) != MD_ERR_AGAIN) {
        while (send_message(&f->servers[0], 1, 6000) == MD_OK)
            ;
    }
    assert_true(rssl_outq_depth(client_session_outq(f->servers[0].session)) <= 2000);
    run_until(f, first_server_closed);
    assert_int_equal(rssl_channel_reason(client_session_channel(f->servers[0].session)),
                     RSSL_REASON_STALLED);
    assert_true(rssl_outq_is_empty(client_session_outq(f->servers[0].session)));
    client_session_destroy(deaf);
}

static void ipv6_serves_as_ipv4_does(void **state)
{
    struct fixture *f = *state;

    net_listener_close(f->listener);
    f->listener = NULL;
    if (f->transport->listen(&f->server_options, "::1", 0, &f->listener) != MD_OK) {
        print_message("no IPv6 here\n");
        return;
    }
    f->dial.host = "::1";
    f->dial.port = net_listener_port(f->listener);
    connect_one(f);
    run_until(f, all_open);
    assert_int_equal(strncmp(client_session_peer(f->servers[0].session), "[::1]:", 6), 0);
}

static void a_listener_on_all_addresses_takes_both_families(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "::1" };
    struct fixture *f = *state;
    struct net_stream *probe;

    net_listener_close(f->listener);
    assert_int_equal(f->transport->listen(&f->server_options, NULL, 0, &f->listener), MD_OK);
    f->dial.port = net_listener_port(f->listener);
    for (size_t i = 0; i < 2; i++) {
        if (f->transport->dial(&f->dial.options, hosts[i], f->dial.port, &probe) != MD_OK)
            continue; /* no such family here */
        net_stream_close(probe);
        f->dial.host = hosts[i];
        connect_one(f);
        run_until(f, all_open);
    }
    assert_int_equal(strncmp(client_session_peer(f->clients[0].session), "127.0.0.1:", 10), 0);
}

static void a_host_may_be_a_name_and_the_local_address_chosen(void **state)
{
    struct fixture *f = *state;

    f->dial.host = "localhost";
    f->dial.options.interface = "127.0.0.1";
    f->dial.options.send_buffer = f->server_options.recv_buffer = 100000;
    /* The name may have an address of the other family, which cannot be dialed from this local
     * address: the session takes the next one. */
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        f->dial.options.attempt = attempt;
        connect_one(f);
        run_until(f, all_open);
        assert_int_equal(
            strncmp(client_session_peer(f->servers[attempt].session), "127.0.0.1:", 10), 0);
    }
}

static void writing_to_an_end_that_is_closed_says_so(void **state)
{
    struct fixture *f = *state;
    struct net_stream *near, *far;
    struct md_slice slice = { (const uint8_t *)"x", 1 };
    uint8_t byte;

    assert_int_equal(f->transport->dial(&f->dial.options, NULL, f->dial.port, &near), MD_OK);
    assert_int_equal(net_listener_accept(f->listener, &far), MD_OK);
    assert_int_equal(net_stream_write(far, &slice, 1), 1);
    net_stream_close(far);
    assert_int_equal(net_stream_write(near, &slice, 1), MD_ERR_CLOSED);
    assert_string_equal(net_stream_error(near), "the other end is closed");
    assert_int_equal(net_stream_read(near, &byte, 1), 1); /* what was on the way still comes */
    assert_int_equal(net_stream_read(near, &byte, 1), MD_ERR_CLOSED);
    net_stream_close(near);
}

static void a_port_where_nobody_listens_is_told_at_once(void **state)
{
    struct fixture *f = *state;

    struct net_rsocket_figures figures;

    net_listener_close(f->listener);
    f->listener = NULL;
    do /* a thread closes a listener of rsockets */
        net_rsocket_figures(&figures);
    while (figures.streams > 0 && usleep(1000) == 0);
    connect_one(f);
    run_until(f, clients_closed);
    assert_string_equal(client_session_describe(f->clients[0].session),
                        "the connection broke: Connection refused");
}

static void a_certificate_not_trusted_is_refused_with_a_reason(void **state)
{
    struct fixture *f = *state;
    struct net_tls_config config = { .ca = NULL };
    struct net_tls *other;
    char error[160];

    assert_int_equal(net_tls_create(&config, error, sizeof(error), &other), MD_OK);
    f->dial.options.tls = other;
    connect_one(f);
    run_until(f, clients_closed);
    assert_false(f->clients[0].opened);
    assert_non_null(strstr(client_session_describe(f->clients[0].session), "self-signed"));
    client_session_destroy(f->clients[0].session);
    f->client_count = 0;
    net_tls_destroy(other);
}

static void a_client_without_a_certificate_is_refused_where_one_is_asked_for(void **state)
{
    struct fixture *f = *state;
    struct net_tls_config config = { .certificate = f->files.certificate,
                                     .key = f->files.key,
                                     .ca = f->files.certificate,
                                     .is_server = true,
                                     .require_client_certificate = true };
    char error[160];

    net_listener_close(f->listener);
    net_tls_destroy(f->server_tls);
    assert_int_equal(net_tls_create(&config, error, sizeof(error), &f->server_tls), MD_OK);
    f->server_options.tls = f->server_tls;
    assert_int_equal(f->transport->listen(&f->server_options, "127.0.0.1", 0, &f->listener), MD_OK);
    f->dial.port = net_listener_port(f->listener);
    connect_one(f);
    run_until(f, clients_closed);
    assert_false(f->clients[0].opened);

    config.is_server = config.require_client_certificate = false;
    struct net_tls *with;
    assert_int_equal(net_tls_create(&config, error, sizeof(error), &with), MD_OK);
    f->dial.options.tls = with;
    connect_one(f);
    for (int i = 0; i < 1000 && !f->clients[1].opened; i++) {
        accept_all(f);
        for (size_t k = 0; k < f->server_count; k++)
            turn(&f->servers[k]);
        turn(&f->clients[1]);
    }
    assert_true(f->clients[1].opened);
    client_session_destroy(f->clients[1].session);
    f->client_count = 1;
    net_tls_destroy(with);
}

static void a_reload_takes_new_files_and_keeps_the_old_when_they_are_bad(void **state)
{
    struct fixture *f = *state;
    char error[160] = "";

    connect_one(f);
    run_until(f, all_open);
    assert_int_equal(tls_files_write(&f->files, "second"), 0);
    assert_int_equal(net_tls_reload(f->server_tls, error, sizeof(error)), MD_OK);
    connect_one(f); /* trusts the first certificate only */
    for (int i = 0; i < 1000 && !f->clients[1].closed; i++) {
        accept_all(f);
        for (size_t k = 0; k < f->server_count; k++)
            turn(&f->servers[k]);
        turn(&f->clients[1]);
    }
    assert_true(f->clients[1].closed);
    assert_false(f->clients[1].opened);
    assert_int_equal(net_tls_reload(f->client_tls, error, sizeof(error)), MD_OK);
    connect_one(f);
    for (int i = 0; i < 1000 && !f->clients[2].opened; i++) {
        accept_all(f);
        for (size_t k = 0; k < f->server_count; k++)
            turn(&f->servers[k]);
        turn(&f->clients[2]);
    }
    assert_true(f->clients[2].opened);
    assert_false(f->clients[0].closed);

    FILE *file = fopen(f->files.certificate, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(net_tls_reload(f->server_tls, error, sizeof(error)), MD_ERR_SYS);
    assert_non_null(strstr(error, "cert.pem"));
}

#define OVER(transport)                                                                            \
    cmocka_unit_test_setup_teardown(messages_of_any_size_arrive_whole_and_in_order,                \
                                    set_up_##transport, tear_down),                                \
        cmocka_unit_test_setup_teardown(a_burst_larger_than_all_buffers_arrives,                   \
                                        set_up_##transport, tear_down),                            \
        cmocka_unit_test_setup_teardown(a_client_that_closes_is_seen_as_closed,                    \
                                        set_up_##transport, tear_down),                            \
        cmocka_unit_test_setup_teardown(a_refused_client_is_told_why, set_up_##transport,          \
                                        tear_down),                                                \
        cmocka_unit_test_setup_teardown(a_client_falls_back_to_what_the_server_knows,              \
                                        set_up_##transport, tear_down),                            \
        cmocka_unit_test_setup_teardown(a_hostile_peer_ends_its_own_channel_only,                  \
                                        set_up_##transport, tear_down),                            \
        cmocka_unit_test_setup_teardown(                                                           \
            a_peer_that_never_reads_is_cut_when_it_has_taken_nothing_for_a_while,                  \
            set_up_##transport, tear_down),                                                        \
        cmocka_unit_test_setup_teardown(a_hundred_connections_open_at_once, set_up_##transport,    \
                                        tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER(tcp),
        OVER(plain),
        OVER(tls),
        OVER(pipe),
        OVER(polled),
        OVER(rsocket),
        OVER(unkind),
        cmocka_unit_test_setup_teardown(a_read_takes_as_much_as_the_input_buffers_hold,
                                        set_up_wide_pipe, tear_down),
        cmocka_unit_test_setup_teardown(few_input_buffers_make_no_read_smaller, set_up_wide_pipe,
                                        tear_down),
        cmocka_unit_test_setup_teardown(ipv6_serves_as_ipv4_does, set_up_tcp, tear_down),
        cmocka_unit_test_setup_teardown(a_listener_on_all_addresses_takes_both_families, set_up_tcp,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_host_may_be_a_name_and_the_local_address_chosen,
                                        set_up_tcp, tear_down),
        cmocka_unit_test_setup_teardown(ipv6_serves_as_ipv4_does, set_up_rsocket, tear_down),
        cmocka_unit_test_setup_teardown(a_listener_on_all_addresses_takes_both_families,
                                        set_up_rsocket, tear_down),
        cmocka_unit_test_setup_teardown(a_host_may_be_a_name_and_the_local_address_chosen,
                                        set_up_rsocket, tear_down),
        cmocka_unit_test_setup_teardown(a_port_where_nobody_listens_is_told_at_once, set_up_rsocket,
                                        tear_down),
        cmocka_unit_test_setup_teardown(writing_to_an_end_that_is_closed_says_so, set_up_pipe,
                                        tear_down),
        cmocka_unit_test_setup_teardown(writing_to_an_end_that_is_closed_says_so, set_up_polled,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_port_where_nobody_listens_is_told_at_once, set_up_tcp,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_certificate_not_trusted_is_refused_with_a_reason,
                                        set_up_tls, tear_down),
        cmocka_unit_test_setup_teardown(
            a_client_without_a_certificate_is_refused_where_one_is_asked_for, set_up_tls,
            tear_down),
        cmocka_unit_test_setup_teardown(
            a_reload_takes_new_files_and_keeps_the_old_when_they_are_bad, set_up_tls, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
