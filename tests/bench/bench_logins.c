/* bench_logins.c - many logins a second at a p2ps, and how long each takes. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_logins PORT RATE SECONDS FILE
 *
 * RATE connections a second to PORT of 127.0.0.1, for SECONDS or until SIGTERM; each logs in with
 * the next line of FILE, round and round, and hangs up when it has its answer. With 0 seconds each
 * line has one login. A line is "USER PASSWORD", or "- TOKEN" for a token that says who it is. A
 * login takes from the moment at which it is due to its answer: connection, handshake and login.
 * When 4096 have no answer yet, one that is due counts as not begun. It prints an object of JSON.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "link.h"
#include "omm/login.h"

#define OPEN_MAX  4096u
#define TICK_NS   MD_NS_PER_MS
#define LINGER_NS (10 * MD_NS_PER_S) /* for answers, when no more logins begin */

struct who {
    char *user; /* NULL: a token says it */
    char *secret;
};

struct login {
    struct link *link;
    const struct who *who;
    uint64_t due_ns;
    bool is_answered;
};

static struct {
    struct md_loop *loop;
    struct client_context *context;
    struct who *whos;
    size_t who_count;
    uint16_t port;
    uint64_t start_ns, end_ns, interval_ns, asked_max; /* 0: no end by count */
    uint64_t asked, let_in, refused, failed, skipped, open;
    uint64_t *took_ns;
    size_t took_count, took_room;
} bench;

static volatile sig_atomic_t is_told_to_stop;

static void on_signal(int number)
{
    (void)number;
    is_told_to_stop = 1;
}

static void give_up(const char *text)
{
    fprintf(stderr, "bench_logins: %s\n", text);
    exit(1);
}

/* ---- one login ---- */

static void note_time(uint64_t took_ns)
{
    if (bench.took_count == bench.took_room) {
        bench.took_room = bench.took_room ? 2 * bench.took_room : 65536;
        bench.took_ns = realloc(bench.took_ns, bench.took_room * sizeof(*bench.took_ns));
        if (!bench.took_ns)
            give_up("no memory");
    }
    bench.took_ns[bench.took_count++] = took_ns;
}

static void on_open(void *owner)
{
    struct login *login = owner;
    static uint8_t bytes[32768];
    struct rwf_encoder enc;
    struct omm_login_request request = {
        .stream_id = 1,
        .is_streaming = true,
        .name_type = login->who->user ? RWF_NAME_LOGIN_USER : RWF_NAME_LOGIN_AUTHN_TOKEN,
        .user = login->who->user ? rwf_text(login->who->user) : rwf_bytes("", 1),
        .application_id = rwf_text("256"),
        .position = rwf_text("127.0.0.1/bench"),
        .single_open = true,
        .allow_suspect_data = true,
    };

    if (login->who->user)
        request.password = rwf_text(login->who->secret);
    else
        request.token = rwf_text(login->who->secret);
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_request_encode(&enc, &request);
    if (rwf_encoder_error(&enc) != RWF_OK)
        give_up("a login cannot be encoded");
    struct rwf_bytes message = rwf_encoder_bytes(&enc);
    if (rssl_outq_write(client_session_outq(link_session(login->link)), message.data,
                        message.length) != MD_OK)
        link_close(login->link);
}

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    struct login *login = owner;
    struct rwf_msg msg;

    for (size_t i = 0; i < count && !login->is_answered; i++) {
        if (events[i].kind != RSSL_EVENT_MESSAGE ||
            rwf_msg_decode(rwf_bytes(events[i].bytes, events[i].length), &msg) != RWF_OK ||
            msg.domain != RWF_DOMAIN_LOGIN)
            continue;
        login->is_answered = true;
        note_time(md_clock_mono_ns() - login->due_ns);
        if (msg.msg_class == RWF_CLASS_REFRESH && msg.state.stream_state == RWF_STREAM_OPEN)
            bench.let_in++;
        else
            bench.refused++;
        link_close(login->link);
    }
}

static void on_closed(void *owner, const char *reason)
{
    struct login *login = owner;

    (void)reason;
    bench.failed += !login->is_answered;
    bench.open--;
    link_destroy(login->link);
    free(login);
}

static void begin(uint64_t due_ns)
{
    static const struct link_ops ops = { on_open, on_messages, on_closed };
    struct client_session *session = NULL;
    const struct client_dial to = {
        .transport = &net_tcp_transport,
        .options = { .nodelay = true },
        .host = "127.0.0.1",
        .port = bench.port,
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };
    struct login *login = calloc(1, sizeof(*login));

    if (!login)
        give_up("no memory");
    login->who = &bench.whos[(bench.asked - 1) % bench.who_count];
    login->due_ns = due_ns;
    if (client_session_dial(bench.context, &to, md_clock_mono_ns(), &session) != MD_OK ||
        link_create(bench.loop, session, &ops, login, &login->link) != MD_OK) {
        client_session_destroy(session);
        free(login);
        bench.failed++;
        return;
    }
    bench.open++;
    link_start(login->link);
}

/* ---- all of them ---- */

static bool is_over(uint64_t now_ns)
{
    return is_told_to_stop || now_ns >= bench.end_ns ||
           (bench.asked_max && bench.asked == bench.asked_max);
}

static void on_tick(void *owner)
{
    uint64_t now_ns = md_clock_mono_ns();

    (void)owner;
    if (is_over(now_ns)) {
        bench.end_ns = now_ns < bench.end_ns ? now_ns : bench.end_ns;
        if (bench.open == 0 || now_ns > bench.end_ns + LINGER_NS)
            md_loop_stop(bench.loop);
        return;
    }
    for (;;) {
        uint64_t due_ns = bench.start_ns + bench.asked * bench.interval_ns;
        if (due_ns > now_ns || (bench.asked_max && bench.asked == bench.asked_max))
            return;
        bench.asked++;
        if (bench.open < OPEN_MAX)
            begin(due_ns);
        else
            bench.skipped++;
    }
}

/* ---- the file, and the row ---- */

static void read_whos(const char *path)
{
    FILE *in = fopen(path, "re");
    char *line = NULL, *rest;
    size_t room = 0;

    if (!in)
        give_up("the file with users cannot be read");
    while (getline(&line, &room, in) > 0) {
        const char *user = strtok_r(line, " \n", &rest);
        const char *secret = strtok_r(NULL, " \n", &rest);

        if (!user || !secret)
            give_up("a line of the file is not USER PASSWORD, or - TOKEN");
        bench.whos = realloc(bench.whos, (bench.who_count + 1) * sizeof(*bench.whos));
        if (!bench.whos)
            give_up("no memory");
        bench.whos[bench.who_count++] = (struct who){
            .user = strcmp(user, "-") == 0 ? NULL : strdup(user),
            .secret = strdup(secret),
        };
    }
    free(line);
    fclose(in);
    if (bench.who_count == 0)
        give_up("the file has no line");
}

static int by_time(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static uint64_t percentile_us(unsigned percent)
{
    return bench.took_count ? bench.took_ns[(bench.took_count - 1) * percent / 100] / 1000 : 0;
}

static void tell(void)
{
    if (bench.took_count)
        qsort(bench.took_ns, bench.took_count, sizeof(*bench.took_ns), by_time);
    printf("{\"asked\": %llu, \"let_in\": %llu, \"refused\": %llu, \"failed\": %llu, "
           "\"unanswered\": %llu, \"not_begun\": %llu, \"secs\": %.3f, \"p50_us\": %llu, "
           "\"p99_us\": %llu, \"max_us\": %llu}\n",
           (unsigned long long)bench.asked, (unsigned long long)bench.let_in,
           (unsigned long long)bench.refused, (unsigned long long)bench.failed,
           (unsigned long long)bench.open, (unsigned long long)bench.skipped,
           (double)(bench.end_ns - bench.start_ns) / 1e9, (unsigned long long)percentile_us(50),
           (unsigned long long)percentile_us(99), (unsigned long long)percentile_us(100));
}

int main(int argc, char **argv)
{
    struct md_loop_timer *timer = NULL;

    if (argc != 5) {
        fputs("usage: bench_logins PORT RATE SECONDS FILE\n", stderr);
        return 2;
    }
    unsigned long rate = strtoul(argv[2], NULL, 10), seconds = strtoul(argv[3], NULL, 10);
    if (rate == 0 || rate > 1000000)
        give_up("RATE is from 1 to 1000000");
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    md_clock_init();
    read_whos(argv[4]);
    bench.port = (uint16_t)strtoul(argv[1], NULL, 10);
    bench.interval_ns = MD_NS_PER_S / rate;
    bench.asked_max = seconds ? 0 : bench.who_count;
    if (md_loop_create(0, &bench.loop) != MD_OK ||
        client_context_create(NULL, &bench.context) != MD_OK ||
        md_loop_timer_create(bench.loop, on_tick, NULL, &timer) != MD_OK)
        give_up("no memory");
    bench.start_ns = md_clock_mono_ns();
    bench.end_ns = seconds ? bench.start_ns + seconds * MD_NS_PER_S : UINT64_MAX;
    md_loop_timer_every(timer, TICK_NS);
    if (md_loop_run(bench.loop) != MD_OK)
        give_up("the loop failed");
    tell();
    return 0; /* what is open ends with the process */
}
