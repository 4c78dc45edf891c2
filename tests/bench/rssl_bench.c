/* rssl_bench.c - RSSL channels over loopback TCP: fan-out rates and round trips. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/hist.h"
#include "client/session.h"

/*
 * Two processes: one sends to N connections, the other holds their N receivers. The sender makes
 * batches of messages and queues each on every connection with that connection's own stream id
 * (four bytes), as a distribution server does; then it flushes each. Receivers check that every
 * message carries the next number. Rates are what the receivers counted over the measured time; CPU
 * is user and system time of both processes over it.
 */
#define RECEIVERS_MAX 1024
#define BATCH_MAX     8192

struct options {
    unsigned receivers;
    size_t size;
    unsigned batch;
    double seconds;
    double rate; /* messages a second to each receiver; 0: as fast as it goes */
    bool packing;
    bool item_major;
    unsigned compression;
    uint32_t send_buffer;
    uint16_t fragment_size;
    bool csv;
};

/* What both processes see. */
struct shared {
    _Atomic uint64_t messages;
    _Atomic uint64_t bytes;
    _Atomic uint64_t damaged;
    _Atomic bool stop;
};

struct receiver {
    struct client_session *session;
    uint64_t next;
};

struct sender {
    struct client_context *context;
    struct client_session *sessions[RECEIVERS_MAX];
    unsigned count;
    unsigned open;
    uint64_t full_count;
};

static void die(const char *what, int rc)
{
    fprintf(stderr, "rssl_bench: %s: %s (%s)\n", what, md_err_name(rc), strerror(errno));
    exit(1);
}

/* Something like an update of a quote: mostly the same from one to the next. */
static void make_template(uint8_t *bytes, size_t size)
{
    static const char digits[] = "\x00\x16\x04\x82\x02\x33\x19\x81\x0f\x22\x19\x44\x0f\x30";

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)digits[i % 14];
}

/* What differs: a number, and prices that move. */
static void stamp_message(uint8_t *bytes, size_t size, uint64_t number)
{
    md_put_be64(bytes + 4, number);
    if (size < 74)
        return;
    md_put_be32(bytes + 40, (uint32_t)(number * 2654435761u));
    md_put_be16(bytes + 60, (uint16_t)(number * 40503u));
}

static void take_message(struct receiver *receiver, const struct rssl_event *event,
                         struct shared *shared)
{
    if (event->length >= 12 && md_be64(event->bytes + 4) != receiver->next++)
        atomic_fetch_add(&shared->damaged, 1);
}

static void receive(struct receiver *receiver, struct shared *shared, uint64_t now)
{
    struct rssl_event events[256];
    uint64_t messages = 0, bytes = 0;
    size_t n;

    while ((n = client_session_turn(receiver->session, now, events, 256)) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (events[i].kind == RSSL_EVENT_CLOSED)
                exit(0);
            if (events[i].kind != RSSL_EVENT_MESSAGE)
                continue;
            take_message(receiver, &events[i], shared);
            messages++;
            bytes += events[i].length;
        }
    }
    if (messages) {
        atomic_fetch_add_explicit(&shared->messages, messages, memory_order_relaxed);
        atomic_fetch_add_explicit(&shared->bytes, bytes, memory_order_relaxed);
    }
}

static _Noreturn void run_receivers(const struct options *options, uint16_t port,
                                    struct shared *shared)
{
    static struct receiver receivers[RECEIVERS_MAX];
    static struct pollfd fds[RECEIVERS_MAX];
    struct client_context *context;
    struct client_dial dial = {
        .transport = &net_tcp_transport,
        .options = { .nodelay = true },
        .host = "127.0.0.1",
        .port = port,
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };

    dial.rssl.compression_bits = (uint8_t)options->compression;
    if (client_context_create(NULL, &context) != MD_OK)
        exit(1);
    for (unsigned i = 0; i < options->receivers; i++) {
        int rc = client_session_dial(context, &dial, md_clock_mono_ns(), &receivers[i].session);
        if (rc != MD_OK)
            die("dial", rc);
    }
    while (!atomic_load(&shared->stop)) {
        for (unsigned i = 0; i < options->receivers; i++) {
            unsigned wants = client_session_wants(receivers[i].session);
            fds[i].fd = client_session_descriptor(receivers[i].session);
            fds[i].events =
                (short)((wants & NET_READABLE ? POLLIN : 0) | (wants & NET_WRITABLE ? POLLOUT : 0));
        }
        if (poll(fds, options->receivers, 100) <= 0)
            continue;
        uint64_t now = md_clock_mono_ns();
        for (unsigned i = 0; i < options->receivers; i++) {
            if (fds[i].revents)
                receive(&receivers[i], shared, now);
        }
    }
    exit(0);
}

static void sender_turn(struct sender *sender, unsigned i)
{
    struct rssl_event events[16];
    size_t n;

    while ((n = client_session_turn(sender->sessions[i], md_clock_mono_ns(), events, 16)) > 0) {
        for (size_t k = 0; k < n; k++) {
            if (events[k].kind == RSSL_EVENT_OPENED)
                sender->open++;
            if (events[k].kind == RSSL_EVENT_CLOSED)
                die(client_session_describe(sender->sessions[i]), MD_ERR_CLOSED);
        }
    }
}

static void accept_receivers(struct sender *sender, struct net_listener *listener,
                             const struct options *options)
{
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);

    config.packing = options->packing;
    config.compression_bits = (uint8_t)options->compression;
    config.max_buffers = 2000;
    config.guaranteed_buffers = 200;
    config.message_size_max = options->fragment_size;
    while (sender->open < options->receivers) {
        struct net_stream *stream;
        while (sender->count < options->receivers &&
               net_listener_accept(listener, &stream) == MD_OK) {
            int rc = client_session_serve(sender->context, stream, &config, md_clock_mono_ns(),
                                          &sender->sessions[sender->count]);
            if (rc != MD_OK)
                die("serve", rc);
            sender->count++;
        }
        for (unsigned i = 0; i < sender->count; i++)
            sender_turn(sender, i);
    }
}

/* One or more receivers are behind: sleep until one of them takes something. */
static void wait_for_room(struct sender *sender)
{
    static struct pollfd fds[RECEIVERS_MAX];

    for (unsigned i = 0; i < sender->count; i++) {
        unsigned wants = client_session_wants(sender->sessions[i]);
        fds[i].fd = client_session_descriptor(sender->sessions[i]);
        fds[i].events = (short)(wants & NET_WRITABLE ? POLLOUT : POLLIN);
    }
    poll(fds, sender->count, 100);
    for (unsigned i = 0; i < sender->count; i++) {
        if (fds[i].revents)
            sender_turn(sender, i);
    }
}

static void put(struct sender *sender, unsigned i, const uint8_t *message, size_t size)
{
    struct rssl_outq *q = client_session_outq(sender->sessions[i]);
    uint8_t *room;

    while ((room = rssl_outq_reserve(q, size)) == NULL) {
        sender->full_count++;
        if (client_session_flush(sender->sessions[i], md_clock_mono_ns()) == MD_ERR_AGAIN)
            wait_for_room(sender);
    }
    memcpy(room, message, size);
    md_put_be32(room, i + 5); /* the receiver's own stream id */
    rssl_outq_commit(q, size);
}

static void send_batch(struct sender *sender, const struct options *options,
                       const uint8_t *messages)
{
    if (options->item_major) {
        for (unsigned m = 0; m < options->batch; m++) {
            for (unsigned i = 0; i < sender->count; i++)
                put(sender, i, messages + m * options->size, options->size);
        }
    } else {
        for (unsigned i = 0; i < sender->count; i++) {
            for (unsigned m = 0; m < options->batch; m++)
                put(sender, i, messages + m * options->size, options->size);
        }
    }
    uint64_t now = md_clock_mono_ns();
    for (unsigned i = 0; i < sender->count; i++)
        (void)client_session_flush(sender->sessions[i], now);
}

/* User and system ticks of a process. */
static void read_cpu(pid_t pid, double *user, double *system)
{
    char path[64];
    unsigned long u = 0, s = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &u,
                   &s) != 2)
            u = s = 0;
        fclose(file);
    }
    *user = (double)u / (double)sysconf(_SC_CLK_TCK);
    *system = (double)s / (double)sysconf(_SC_CLK_TCK);
}

struct sample {
    uint64_t time_ns;
    uint64_t messages;
    uint64_t bytes;
    double user[2];
    double system[2];
};

static struct sample take_sample(struct shared *shared, pid_t receiver)
{
    struct sample sample = {
        .time_ns = md_clock_mono_ns(),
        .messages = atomic_load(&shared->messages),
        .bytes = atomic_load(&shared->bytes),
    };

    read_cpu(getpid(), &sample.user[0], &sample.system[0]);
    read_cpu(receiver, &sample.user[1], &sample.system[1]);
    return sample;
}

static const char *compression_name(unsigned bits)
{
    return bits == 0 ? "none" : bits == RSSL_COMPRESSION_BIT_ZLIB ? "zlib" : "lz4";
}

/* One line of the table. */
struct row {
    const char *who; /* in what order the messages were queued, or "ETA" */
    const char *compression;
    double messages_s;
    double bytes_s;
    double wire;  /* bytes sent over bytes of messages; 0: not known */
    double write; /* bytes for each system call */
    double messages;
    double cpu[4]; /* seconds: sender's user and system, receiver's */
};

static void print_row(const struct options *options, const struct row *row)
{
    double total = row->cpu[0] + row->cpu[1] + row->cpu[2] + row->cpu[3];
    double ns = row->messages > 0 ? 1e9 / row->messages : 0;
    double rate = total > 0 ? row->messages / total / 1e6 : 0;

    if (options->csv)
        printf("%u,%s,%s,%s,%.3f,%.1f,%.2f,%.0f,%.1f,%.1f,%.1f,%.1f,%.3f\n", options->receivers,
               options->packing ? "packed" : "single", row->who, row->compression,
               row->messages_s / 1e6, row->bytes_s / 1e6, row->wire, row->write, row->cpu[0] * ns,
               row->cpu[1] * ns, row->cpu[2] * ns, row->cpu[3] * ns, rate);
    else
        printf("%9u %6s %4s %10s %8.3f %8.1f %7.2f %7.0f | %5.0f %5.0f %5.0f %5.0f | %8.3f\n",
               options->receivers, options->packing ? "packed" : "single", row->who,
               row->compression, row->messages_s / 1e6, row->bytes_s / 1e6, row->wire, row->write,
               row->cpu[0] * ns, row->cpu[1] * ns, row->cpu[2] * ns, row->cpu[3] * ns, rate);
    fflush(stdout);
}

static void report(const struct options *options, const struct sample *a, const struct sample *b,
                   const struct sender *sender, const struct shared *shared)
{
    double seconds = (double)(b->time_ns - a->time_ns) / 1e9;
    double messages = (double)(b->messages - a->messages);
    double cpu[4] = { b->user[0] - a->user[0], b->system[0] - a->system[0], b->user[1] - a->user[1],
                      b->system[1] - a->system[1] };
    struct rssl_outq_stats stats;
    uint64_t wire = 0, flushes = 0, plain = 0;

    for (unsigned i = 0; i < sender->count; i++) {
        rssl_outq_stats(rssl_channel_outq(client_session_channel(sender->sessions[i])), &stats);
        wire += stats.wire_bytes;
        flushes += stats.flush_count;
        plain += stats.message_bytes;
    }
    struct row row = {
        .who = options->item_major ? "item" : "conn",
        .compression = compression_name(options->compression),
        .messages_s = messages / seconds,
        .bytes_s = (double)(b->bytes - a->bytes) / seconds,
        .wire = plain ? (double)wire / (double)plain : 0,
        .write = flushes ? (double)wire / (double)flushes : 0,
        .messages = messages,
    };
    memcpy(row.cpu, cpu, sizeof(cpu));
    print_row(options, &row);
    if (atomic_load(&shared->damaged))
        printf("DAMAGED: %llu messages out of order\n", (unsigned long long)shared->damaged);
    fflush(stdout);
}

static struct shared *make_shared(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        die("mmap", MD_ERR_NOMEM);
    return shared;
}

static void run_fanout(const struct options *options)
{
    struct shared *shared = make_shared();
    struct sender sender = { 0 };
    struct net_stream_options net = { .nodelay = true, .send_buffer = options->send_buffer };
    struct net_listener *listener;
    uint8_t *messages = malloc(BATCH_MAX * options->size);
    uint64_t number = 0;

    int rc = net_tcp_transport.listen(&net, "127.0.0.1", 0, &listener);
    if (rc != MD_OK || !messages || client_context_create(NULL, &sender.context) != MD_OK)
        die("listen", rc);
    for (unsigned m = 0; m < options->batch; m++)
        make_template(messages + m * options->size, options->size);
    pid_t child = fork();
    if (child == 0)
        run_receivers(options, net_listener_port(listener), shared);
    accept_receivers(&sender, listener, options);

    uint64_t start = md_clock_mono_ns(), warm = start + 300 * MD_NS_PER_MS;
    uint64_t end = warm + (uint64_t)(options->seconds * 1e9);
    struct sample first = { 0 };
    for (uint64_t now = start; now < end; now = md_clock_mono_ns()) {
        if (first.time_ns == 0 && now >= warm)
            first = take_sample(shared, child);
        for (unsigned m = 0; m < options->batch; m++)
            stamp_message(messages + m * options->size, options->size, number++);
        send_batch(&sender, options, messages);
    }
    struct sample last = take_sample(shared, child);
    atomic_store(&shared->stop, true);
    report(options, &first, &last, &sender, shared);
    for (unsigned i = 0; i < sender.count; i++)
        client_session_destroy(sender.sessions[i]);
    net_listener_close(listener);
    client_context_destroy(sender.context);
    waitpid(child, NULL, 0);
    free(messages);
    munmap(shared, sizeof(*shared));
}

/* Round trips: one message at a time, both ends asleep in between. */

static void wait_for(struct client_session *session)
{
    struct pollfd fd = { .fd = client_session_descriptor(session), .events = POLLIN };

    if (client_session_wants(session) & NET_WRITABLE)
        fd.events |= POLLOUT;
    poll(&fd, 1, 1000);
}

/* Answer every message with itself until the peer goes. */
static _Noreturn void run_echo(uint16_t port)
{
    struct client_context *context;
    struct client_session *session;
    struct rssl_event events[16];
    struct client_dial dial = {
        .transport = &net_tcp_transport,
        .options = { .nodelay = true },
        .host = "127.0.0.1",
        .port = port,
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };

    if (client_context_create(NULL, &context) != MD_OK ||
        client_session_dial(context, &dial, md_clock_mono_ns(), &session) != MD_OK)
        exit(1);
    for (;;) {
        size_t n;
        uint64_t now = md_clock_mono_ns();
        while ((n = client_session_turn(session, now, events, 16)) > 0) {
            for (size_t i = 0; i < n; i++) {
                if (events[i].kind == RSSL_EVENT_CLOSED)
                    exit(0);
                if (events[i].kind == RSSL_EVENT_MESSAGE)
                    (void)rssl_outq_write(client_session_outq(session), events[i].bytes,
                                          events[i].length);
            }
        }
        (void)client_session_flush(session, now);
        wait_for(session);
    }
}

static bool await_message(struct client_session *session)
{
    struct rssl_event events[16];
    bool came = false;

    while (!came) {
        size_t n;
        while ((n = client_session_turn(session, md_clock_mono_ns(), events, 16)) > 0) {
            for (size_t i = 0; i < n; i++)
                came |= events[i].kind == RSSL_EVENT_MESSAGE;
        }
        if (!came)
            wait_for(session);
    }
    return came;
}

static void run_pingpong(const struct options *options)
{
    static struct md_hist hist;
    struct sender sender = { 0 };
    struct options one = *options;
    struct net_stream_options net = { .nodelay = true };
    struct net_listener *listener;
    uint8_t message[65536];

    one.receivers = 1;
    md_hist_init(&hist);
    int rc = net_tcp_transport.listen(&net, "127.0.0.1", 0, &listener);
    if (rc != MD_OK || client_context_create(NULL, &sender.context) != MD_OK)
        die("listen", rc);
    pid_t child = fork();
    if (child == 0)
        run_echo(net_listener_port(listener));
    accept_receivers(&sender, listener, &one);
    make_template(message, options->size);
    stamp_message(message, options->size, 1);
    uint64_t end = md_clock_mono_ns() + (uint64_t)(options->seconds * 1e9);
    for (uint64_t now = 0; now < end;) {
        uint64_t start = md_clock_mono_ns();
        (void)rssl_outq_write(client_session_outq(sender.sessions[0]), message, options->size);
        (void)client_session_flush(sender.sessions[0], start);
        await_message(sender.sessions[0]);
        now = md_clock_mono_ns();
        md_hist_record(&hist, now - start);
    }
    printf(
        "ping-pong: %llu round trips of %zu bytes: mean %.1f us, p50 %.1f, p99 %.1f, p99.9 %.1f, "
        "max %.1f\n",
        (unsigned long long)hist.count, options->size, (double)hist.sum / (double)hist.count / 1e3,
        (double)md_hist_percentile(&hist, 50) / 1e3, (double)md_hist_percentile(&hist, 99) / 1e3,
        (double)md_hist_percentile(&hist, 99.9) / 1e3, (double)hist.max / 1e3);
    client_session_destroy(sender.sessions[0]);
    net_listener_close(listener);
    client_context_destroy(sender.context);
    waitpid(child, NULL, 0);
}

static void print_heading(const struct options *options)
{
    if (options->csv) {
        puts("receivers,frames,by,compressed,m_messages_s,mb_s,wire,bytes_per_write,snd_user_ns,"
             "snd_sys_ns,rcv_user_ns,rcv_sys_ns,m_messages_per_cpu_s");
        return;
    }
    printf("%9s %6s %4s %10s %8s %8s %7s %7s | %23s | %8s\n", "receivers", "frames", "by",
           "compressed", "M msg/s", "MB/s", "wire", "B/write", "ns/message: snd u,s rcv u,s",
           "M/cpu-s");
    fflush(stdout);
}

/* The same between two programs on the ETA transport, for comparison. */

/* A line that begins with `word` and a number, from a child's output. */
static bool read_number(FILE *file, const char *word, unsigned long long *a, unsigned long long *b)
{
    char line[512], name[16];

    while (fgets(line, sizeof(line), file)) {
        *b = 0;
        if (sscanf(line, "%15s %llu %llu", name, a, b) >= 2 && strcmp(name, word) == 0)
            return true;
    }
    return false;
}

static pid_t start_java(const char *run, const char *build, char *const more[5], FILE **out)
{
    int fds[2];
    char *argv[] = { strdup(run), strdup(build), strdup("RsslBench"), more[0], more[1], more[2],
                     more[3],     NULL };

    if (pipe(fds) != 0)
        die("pipe", MD_ERR_SYS);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execv(run, argv);
        _exit(127);
    }
    close(fds[1]);
    free(argv[0]);
    free(argv[1]);
    free(argv[2]);
    *out = fdopen(fds[0], "r");
    return pid;
}

static void run_eta(const struct options *options, const char *run, const char *build)
{
    char count[16], size[16], port[16];
    unsigned long long number = 0, time = 0, first_number = 0, first_time = 0, ignored;
    FILE *from_sender, *from_receiver;
    struct sample a = { 0 }, b = { 0 };

    snprintf(count, sizeof(count), "%u", options->receivers);
    snprintf(size, sizeof(size), "%zu", options->size);
    char *send[5] = { (char[]){ "send" }, count, size,
                      options->packing ? (char[]){ "packed" } : (char[]){ "single" }, NULL };
    pid_t sender = start_java(run, build, send, &from_sender);
    if (!read_number(from_sender, "port", &number, &ignored)) {
        printf("%9u  ETA Java: not here\n", options->receivers);
        waitpid(sender, NULL, 0);
        return;
    }
    snprintf(port, sizeof(port), "%llu", number);
    char *receive[5] = { (char[]){ "receive" }, port, count, NULL, NULL };
    pid_t receiver = start_java(run, build, receive, &from_receiver);

    /* The compiler of the virtual machine needs some seconds to get warm. */
    uint64_t warm = md_clock_mono_ns() + 5 * MD_NS_PER_S;
    while (read_number(from_receiver, "count", &number, &time)) {
        uint64_t now = md_clock_mono_ns();
        if (now < warm)
            continue;
        struct sample *sample = first_time ? &b : &a;
        read_cpu(sender, &sample->user[0], &sample->system[0]);
        read_cpu(receiver, &sample->user[1], &sample->system[1]);
        if (first_time == 0) {
            first_time = time;
            first_number = number;
        } else if ((double)(time - first_time) >= options->seconds * 1e9) {
            break;
        }
    }
    double messages = (double)(number - first_number);
    double cpu[4] = { b.user[0] - a.user[0], b.system[0] - a.system[0], b.user[1] - a.user[1],
                      b.system[1] - a.system[1] };
    struct row row = {
        .who = "ETA",
        .compression = "none",
        .messages_s = messages / (double)(time - first_time) * 1e9,
        .bytes_s = messages * (double)options->size / (double)(time - first_time) * 1e9,
        .messages = messages,
    };
    memcpy(row.cpu, cpu, sizeof(cpu));
    print_row(options, &row);
    kill(receiver, SIGTERM);
    kill(sender, SIGTERM);
    waitpid(receiver, NULL, 0);
    waitpid(sender, NULL, 0);
    fclose(from_sender);
    fclose(from_receiver);
}

/* Ours against ours, theirs against theirs, by turns. */
static void run_comparison(struct options options, const char *build)
{
    static const unsigned counts[] = { 1, 50 };

    print_heading(&options);
    for (int round = 0; round < 3; round++) {
        for (unsigned c = 0; c < 2; c++) {
            for (unsigned p = 0; p < 2; p++) {
                options.receivers = counts[c];
                options.packing = p == 0;
                run_fanout(&options);
                run_eta(&options, RMDS_SOURCE_DIR "/tests/interop/run.sh", build);
            }
        }
    }
}

static void state_machine(const struct options *options)
{
    struct utsname name;
    char model[128] = "unknown", line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "model name : %127[^\n]", model) == 1)
            break;
    }
    if (file)
        fclose(file);
    uname(&name);
    fflush(stdout);
    printf("# %s, %ld CPUs, Linux %s, gcc %s, %zu-byte messages, batches of %u, %.1f s\n", model,
           sysconf(_SC_NPROCESSORS_ONLN), name.release, __VERSION__, options->size, options->batch,
           options->seconds);
    fflush(stdout);
}

static void run_matrix(struct options options)
{
    static const unsigned counts[] = { 1, 10, 50, 200 };
    static const unsigned kinds[] = { 0, RSSL_COMPRESSION_BIT_ZLIB, RSSL_COMPRESSION_BIT_LZ4 };

    print_heading(&options);
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned p = 0; p < 2; p++) {
            for (unsigned c = 0; c < 4; c++) {
                options.receivers = counts[c];
                options.packing = p == 0;
                options.compression = kinds[k];
                run_fanout(&options);
            }
        }
    }
    run_pingpong(&options);
}

static const char usage[] =
    "usage: rssl_bench [-n RECEIVERS] [-s BYTES] [-b BATCH] [-t SECONDS] [-1] [-i] [-c "
    "none|zlib|lz4]\n"
    "                  [-f FRAGMENT] [-B SEND-BUFFER] | -l [-s BYTES] [-t SECONDS] | -e BUILD-DIR\n"
    "  without -n: 1, 10, 50 and 200 receivers, packed and single, each compression, round trips\n"
    "  -1 a frame for each message   -i message by message over all connections, not connection "
    "by\n"
    "  connection   -l round trips only   -e the ETA transport beside ours, three rounds\n"
    "  -o comma-separated values\n";

int main(int argc, char **argv)
{
    struct options options = {
        .size = 74, .batch = 800, .seconds = 1, .packing = true, .fragment_size = 6144
    };
    bool latency = false;
    const char *build = NULL;
    int option;

    md_clock_init();
    signal(SIGPIPE, SIG_IGN);
    while ((option = getopt(argc, argv, "n:s:b:t:1ic:f:B:le:oh")) != -1) {
        switch (option) {
        case 'n':
            options.receivers = (unsigned)atoi(optarg);
            break;
        case 's':
            options.size = (size_t)atoi(optarg);
            break;
        case 'b':
            options.batch = (unsigned)atoi(optarg);
            break;
        case 't':
            options.seconds = atof(optarg);
            break;
        case '1':
            options.packing = false;
            break;
        case 'i':
            options.item_major = true;
            break;
        case 'c':
            options.compression = strcmp(optarg, "zlib") == 0  ? RSSL_COMPRESSION_BIT_ZLIB
                                  : strcmp(optarg, "lz4") == 0 ? RSSL_COMPRESSION_BIT_LZ4
                                                               : 0;
            break;
        case 'f':
            options.fragment_size = (uint16_t)atoi(optarg);
            break;
        case 'B':
            options.send_buffer = (uint32_t)atoi(optarg);
            break;
        case 'e':
            build = optarg;
            break;
        case 'o':
            options.csv = true;
            break;
        case 'l':
            latency = true;
            break;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (options.receivers > RECEIVERS_MAX || options.batch > BATCH_MAX || options.size < 12 ||
        options.size > 65536) {
        fputs(usage, stderr);
        return 2;
    }
    state_machine(&options);
    if (build) {
        run_comparison(options, build);
    } else if (latency) {
        run_pingpong(&options);
    } else if (options.receivers) {
        print_heading(&options);
        run_fanout(&options);
    } else {
        run_matrix(options);
    }
    return 0;
}
