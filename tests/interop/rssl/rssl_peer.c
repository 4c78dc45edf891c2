/* rssl_peer.c - our end of an RSSL connection for tests against other implementations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "client/session.h"

/*
 *     rssl_peer server [options]        says "port N", sends every message back to where it came
 * from, ends when standard input does rssl_peer client [options] PORT   sends messages of many
 * sizes, expects each back in order
 *
 *   -c zlib|lz4|both  compression offered, or allowed    -C  the server forces it
 *   -1  a frame for each message      -v N  newest version, 11..14     -f N  fragment size
 * announced -p N  ping timeout, seconds       -z  freeze once open             -r TEXT  refuse
 * everybody -t FILE -k FILE  certificate and key: TLS   -a FILE  trusted roots: TLS (client) -n N
 * connections at once (client)   -s N  stay for N seconds when all has come (client)
 *
 * Each event that a test may want is a line on standard output: "opened ...", "closed REASON",
 * "echoed N". A client ends with 0 if all came back as it was sent, 1 if not, 3 if it was closed
 * before.
 */
#define PEERS_MAX 256

struct peer {
    struct client_session *session;
    uint64_t received;
    bool open;
    bool closed;
    bool damaged;
};

struct options {
    bool is_server;
    uint8_t compression;
    bool forced;
    bool single;
    int version;
    int fragment;
    int ping;
    bool freeze;
    const char *refuse;
    const char *certificate;
    const char *key;
    const char *roots;
    unsigned count;
    int stay;
    uint16_t port;
};

static const size_t sizes[] = { 1,     2,     29,    30,     74,     299,     300,    1000, 6100,
                                6140,  6141,  6142,  6143,   6144,   6145,    6146,   7000, 12280,
                                20000, 65535, 65536, 131072, 524288, 1048576, 2097152 };
#define SIZE_COUNT (sizeof(sizes) / sizeof(sizes[0]))
/* After these a burst of small ones, which share frames. */
#define BURST_COUNT 2000

static struct peer peers[PEERS_MAX];
static unsigned peer_count;

static size_t size_of(uint64_t index)
{
    return index < SIZE_COUNT ? sizes[index] : 10 + index % 90;
}

/* Regular or random, by turns. */
static void fill(uint64_t index, uint8_t *bytes, size_t length)
{
    uint64_t state = index * 2654435761u + 1;

    for (size_t i = 0; i < length; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        bytes[i] = (uint8_t)(index & 1 ? state >> 56 : index + i % 40);
    }
}

static void check(struct peer *peer, const struct rssl_event *event)
{
    static uint8_t wanted[2097152];
    size_t length = size_of(peer->received);

    fill(peer->received, wanted, length);
    if (event->length != length || memcmp(event->bytes, wanted, length) != 0)
        peer->damaged = true;
    peer->received++;
}

static void say_opened(const struct peer *peer)
{
    const struct rssl_info *info = rssl_channel_info(client_session_channel(peer->session));

    printf("opened version=%d compression=%d ping=%u fragment=%u rwf=%u.%u component=%s\n",
           (int)info->version - 9, (int)info->compression, info->ping_timeout_s,
           info->message_size_max, info->rwf_major, info->rwf_minor, info->component);
    fflush(stdout);
}

static void handle(struct peer *peer, const struct rssl_event *event, const struct options *options)
{
    switch (event->kind) {
    case RSSL_EVENT_OPENED:
        peer->open = true;
        say_opened(peer);
        break;
    case RSSL_EVENT_MESSAGE:
        if (!options->is_server)
            check(peer, event);
        else if (rssl_outq_write(client_session_outq(peer->session), event->bytes, event->length) !=
                 MD_OK)
            peer->damaged = true;
        break;
    case RSSL_EVENT_PING:
        break;
    case RSSL_EVENT_CLOSED:
        peer->closed = true;
        printf("closed %s\n", client_session_describe(peer->session));
        fflush(stdout);
        break;
    }
}

static void turn(struct peer *peer, const struct options *options)
{
    struct rssl_event events[64];
    size_t n;

    if (options->freeze && peer->open)
        return;
    while ((n = client_session_turn(peer->session, md_clock_mono_ns(), events, 64)) > 0) {
        for (size_t i = 0; i < n; i++)
            handle(peer, &events[i], options);
    }
    (void)client_session_flush(peer->session, md_clock_mono_ns());
}

static void wait_for(const struct options *options, int extra, int extra2)
{
    struct pollfd fds[PEERS_MAX + 2];
    nfds_t count = 0;

    for (unsigned i = 0; i < peer_count; i++) {
        unsigned wants = client_session_wants(peers[i].session);
        if (wants && !(options->freeze && peers[i].open))
            fds[count++] =
                (struct pollfd){ .fd = client_session_descriptor(peers[i].session),
                                 .events = (short)((wants & NET_READABLE ? POLLIN : 0) |
                                                   (wants & NET_WRITABLE ? POLLOUT : 0)) };
    }
    if (extra >= 0)
        fds[count++] = (struct pollfd){ .fd = extra, .events = POLLIN };
    if (extra2 >= 0)
        fds[count++] = (struct pollfd){ .fd = extra2, .events = POLLIN };
    poll(fds, count, 100);
}

static struct rssl_config configure(const struct options *options)
{
    struct rssl_config config =
        rssl_config_default(options->is_server ? RSSL_ROLE_SERVER : RSSL_ROLE_CLIENT);

    config.version = (enum rssl_version)(RSSL_VERSION_11 + options->version - 11);
    config.compression_bits = options->compression;
    config.compression_forced = options->forced;
    config.packing = !options->single;
    config.message_size_max = (uint16_t)options->fragment;
    config.guaranteed_buffers = 1000;
    config.max_buffers = 100000;
    config.handshake_timeout_ns = 60 * MD_NS_PER_S; /* machines that run tests may be busy */
    if (options->ping) {
        config.ping_timeout_s = (uint8_t)options->ping;
        config.ping_timeout_min_s = (uint8_t)options->ping;
    }
    return config;
}

static struct net_tls *make_tls(const struct options *options)
{
    struct net_tls_config config = { .certificate = options->certificate,
                                     .key = options->key,
                                     .ca = options->roots,
                                     .is_server = options->is_server };
    struct net_tls *tls = NULL;
    char error[160];

    if (!options->certificate && !options->roots)
        return NULL;
    if (net_tls_create(&config, error, sizeof(error), &tls) != MD_OK) {
        fprintf(stderr, "rssl_peer: %s\n", error);
        exit(2);
    }
    return tls;
}

static void accept_all(struct client_context *context, struct net_listener *listener,
                       const struct rssl_config *config, const struct options *options)
{
    struct net_stream *stream;

    while (peer_count < PEERS_MAX && net_listener_accept(listener, &stream) == MD_OK) {
        struct peer *peer = &peers[peer_count];
        if (client_session_serve(context, stream, config, md_clock_mono_ns(), &peer->session) !=
            MD_OK)
            continue;
        memset((char *)peer + sizeof(peer->session), 0, sizeof(*peer) - sizeof(peer->session));
        if (options->refuse)
            rssl_channel_refuse(client_session_channel(peer->session), options->refuse);
        peer_count++;
    }
}

static void drop_closed(void)
{
    for (unsigned i = 0; i < peer_count;) {
        if (!peers[i].closed) {
            i++;
            continue;
        }
        client_session_destroy(peers[i].session);
        peers[i] = peers[--peer_count];
    }
}

static int run_server(struct client_context *context, const struct options *options,
                      struct net_tls *tls)
{
    const struct net_transport *transport = tls ? &net_tls_transport : &net_tcp_transport;
    struct net_stream_options net = { .nodelay = true, .tls = tls };
    struct rssl_config config = configure(options);
    struct net_listener *listener;
    char byte;

    if (transport->listen(&net, "127.0.0.1", 0, &listener) != MD_OK)
        return 2;
    printf("port %u\n", net_listener_port(listener));
    fflush(stdout);
    for (;;) {
        struct pollfd in = { .fd = 0, .events = POLLIN };
        if (poll(&in, 1, 0) == 1 && read(0, &byte, 1) <= 0)
            break;
        accept_all(context, listener, &config, options);
        for (unsigned i = 0; i < peer_count; i++)
            turn(&peers[i], options);
        drop_closed();
        wait_for(options, net_listener_descriptor(listener), 0);
    }
    net_listener_close(listener);
    return 0;
}

static bool send_all(struct peer *peer)
{
    for (uint64_t index = 0; index < SIZE_COUNT + BURST_COUNT; index++) {
        size_t length = size_of(index);
        uint8_t *room = rssl_outq_reserve(client_session_outq(peer->session), length);
        if (!room)
            return false;
        fill(index, room, length);
        rssl_outq_commit(client_session_outq(peer->session), length);
    }
    return true;
}

static int run_client(struct client_context *context, const struct options *options,
                      struct net_tls *tls)
{
    struct client_dial dial = {
        .transport = tls ? &net_tls_transport : &net_tcp_transport,
        .options = { .nodelay = true, .tls = tls },
        .host = "127.0.0.1", /* a name may have an IPv6 address first, and this dials once */
        .port = options->port,
        .rssl = configure(options),
    };
    bool sent[PEERS_MAX] = { false };
    uint64_t stay_until = 0;

    dial.rssl.ping_timeout_min_s = 0;
    for (peer_count = 0; peer_count < options->count; peer_count++) {
        if (client_session_dial(context, &dial, md_clock_mono_ns(), &peers[peer_count].session) !=
            MD_OK)
            return 2;
    }
    for (;;) {
        unsigned complete = 0;
        for (unsigned i = 0; i < peer_count; i++) {
            turn(&peers[i], options);
            if (peers[i].open && !sent[i]) {
                sent[i] = true;
                if (!send_all(&peers[i]))
                    return 1;
                (void)client_session_flush(peers[i].session, md_clock_mono_ns());
            }
            if (peers[i].damaged)
                return 1;
            if (peers[i].closed)
                return 3;
            complete += peers[i].received == SIZE_COUNT + BURST_COUNT;
        }
        if (complete == peer_count && stay_until == 0) {
            printf("echoed %u\n", complete);
            fflush(stdout);
            stay_until = md_clock_mono_ns() + (unsigned)options->stay * MD_NS_PER_S;
        }
        if (stay_until && md_clock_mono_ns() >= stay_until)
            return 0;
        wait_for(options, -1, -1);
    }
}

static uint8_t compression_bits(const char *name)
{
    if (strcmp(name, "both") == 0)
        return RSSL_COMPRESSION_BIT_ZLIB | RSSL_COMPRESSION_BIT_LZ4;
    return strcmp(name, "zlib") == 0  ? RSSL_COMPRESSION_BIT_ZLIB
           : strcmp(name, "lz4") == 0 ? RSSL_COMPRESSION_BIT_LZ4
                                      : 0;
}

static int parse(int argc, char **argv, struct options *options)
{
    int option;

    while ((option = getopt(argc, argv, "c:C1v:f:p:zr:t:k:a:n:s:")) != -1) {
        switch (option) {
        case 'c':
            options->compression = compression_bits(optarg);
            break;
        case 'C':
            options->forced = true;
            break;
        case '1':
            options->single = true;
            break;
        case 'v':
            options->version = atoi(optarg);
            break;
        case 'f':
            options->fragment = atoi(optarg);
            break;
        case 'p':
            options->ping = atoi(optarg);
            break;
        case 'z':
            options->freeze = true;
            break;
        case 'r':
            options->refuse = optarg;
            break;
        case 't':
            options->certificate = optarg;
            break;
        case 'k':
            options->key = optarg;
            break;
        case 'a':
            options->roots = optarg;
            break;
        case 'n':
            options->count = (unsigned)atoi(optarg);
            break;
        case 's':
            options->stay = atoi(optarg);
            break;
        default:
            return -1;
        }
    }
    if (!options->is_server && optind < argc)
        options->port = (uint16_t)atoi(argv[optind]);
    return options->count <= PEERS_MAX ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct options options = { .version = 14, .fragment = 6144, .count = 1 };
    struct client_context *context;

    if (argc < 2)
        return 2;
    options.is_server = strcmp(argv[1], "server") == 0;
    if (parse(argc - 1, argv + 1, &options) != 0 || client_context_create(NULL, &context) != MD_OK)
        return 2;
    struct net_tls *tls = make_tls(&options);
    int status =
        options.is_server ? run_server(context, &options, tls) : run_client(context, &options, tls);
    for (unsigned i = 0; i < peer_count; i++)
        client_session_destroy(peers[i].session);
    net_tls_destroy(tls);
    client_context_destroy(context);
    return status;
}
