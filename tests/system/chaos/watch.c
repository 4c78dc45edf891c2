/* watch.c - a consumer that believes nothing: opens items, judges all that comes, reports. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "conf/options.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "seqdata.h"

#define TICK_NS    (20 * MD_NS_PER_MS)
#define REDIAL_NS  (300 * MD_NS_PER_MS)
#define CONNECT_NS (2 * MD_NS_PER_S)
#define PING_S     3

/* Standard output, a line each, times in monotonic nanoseconds:
 *   T TIME ITEMS OPEN SUSPECT OLDEST UPDATES VIOLATIONS   every tick; OLDEST: the item that was
 *                                                         silent for longest has data of that time
 *   C TIME TEXT                                           the connection
 *   V TIME ITEM TEXT                                      a violation
 *   D ITEM COUNT STATE, D.                                answer to the command dump
 *   E updates images resyncs told suspects violations     the end
 * Standard input: dump, quit. */

static void dial(void *owner);

static void say(const char *text, const char *more)
{
    printf("C %llu %s%s\n", (unsigned long long)md_clock_mono_ns(), text, more);
    fflush(stdout);
}

static void queue(struct watch *w, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);

    if (rwf_encoder_error(enc) == RWF_OK && w->outq)
        (void)rssl_outq_write(w->outq, bytes.data, bytes.length);
}

/* ---- login and directory ---- */

static void on_open(void *owner)
{
    struct watch *w = owner;
    struct rwf_encoder enc;
    struct omm_login_request login = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text("chaos"),
        .name_type = RWF_NAME_LOGIN_USER,
        .application_id = rwf_text("256"),
        .application_name = rwf_text("chaos_watch"),
        .position = rwf_text("127.0.0.1/net"),
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };

    w->outq = client_session_outq(link_session(w->link));
    rwf_encoder_init(&enc, w->message, sizeof(w->message));
    omm_login_request_encode(&enc, &login);
    queue(w, &enc);
}

static void on_login(struct watch *w, const struct rwf_msg *msg)
{
    struct rwf_encoder enc;
    struct omm_directory_request request = {
        .stream_id = OMM_DIRECTORY_STREAM,
        .is_streaming = true,
        .filter = w->filter,
    };

    if (msg->state.stream_state >= RWF_STREAM_CLOSED_RECOVER) {
        say("login refused: ", rwf_state_code_name(msg->state.code));
        link_close(w->link);
        return;
    }
    if (w->is_logged_in || msg->state.data_state != RWF_DATA_OK)
        return;
    w->is_logged_in = true;
    say("logged in", "");
    rwf_encoder_init(&enc, w->message, sizeof(w->message));
    omm_directory_request_encode(&enc, &request);
    queue(w, &enc);
}

void watch_setup(struct watch *w, const struct rwf_msg *msg)
{
    if (msg->domain == RWF_DOMAIN_SOURCE)
        check_service(w, msg);
    else if (msg->msg_class == RWF_CLASS_REFRESH ||
             (msg->msg_class == RWF_CLASS_STATUS && (msg->flags & RWF_STATUS_HAS_STATE)))
        on_login(w, msg);
}

/* ---- the connection ---- */

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RSSL_EVENT_MESSAGE)
            check_message(owner, &events[i]);
    }
}

static void on_closed(void *owner, const char *reason)
{
    struct watch *w = owner;

    say("closed: ", reason);
    link_destroy(w->link);
    w->link = NULL;
    w->outq = NULL;
    w->is_logged_in = w->has_service = false;
    check_lost(w);
    if (w->is_over)
        md_loop_stop(w->loop);
    else
        (void)md_loop_timer_after(w->dial_timer, w->next_host % w->host_count ? 0 : REDIAL_NS);
}

static const struct link_ops link_ops = {
    .on_open = on_open,
    .on_messages = on_messages,
    .on_closed = on_closed,
};

static void dial(void *owner)
{
    struct watch *w = owner;
    uint32_t host = w->next_host++ % w->host_count;
    struct client_session *session;
    struct client_dial to = {
        .transport = &net_tcp_transport,
        .options = { .nodelay = true },
        .host = w->hosts[host],
        .port = w->ports[host],
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };

    to.rssl.component = "chaos_watch";
    to.rssl.ping_timeout_s = PING_S;
    to.rssl.handshake_timeout_ns = CONNECT_NS;
    int rc = client_session_dial(w->context, &to, md_clock_mono_ns(), &session);
    if (rc == MD_OK) {
        rc = link_create(w->loop, session, &link_ops, w, &w->link);
        if (rc != MD_OK)
            client_session_destroy(session);
    }
    if (rc != MD_OK) {
        (void)md_loop_timer_after(w->dial_timer, REDIAL_NS);
        return;
    }
    link_start(w->link);
}

/* ---- items ---- */

static int32_t stream_of(const struct watch *w, const struct item *item)
{
    return (int32_t)(STREAM_FIRST + (uint32_t)(item - w->items) + item->opened * w->item_count);
}

static void ask(struct watch *w, struct item *item)
{
    struct rwf_encoder enc;

    item->opened = (item->opened + 1) % (INT32_MAX / w->item_count - 1);
    item->has_count = item->is_suspect = item->may_jump = item->is_conflated = false;
    item->state = ITEM_ASKED;
    struct omm_item_request request = {
        .stream_id = stream_of(w, item),
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .is_streaming = true,
        .container = RWF_TYPE_NO_DATA,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_NAME,
                 .service_id = w->service_id,
                 .name_type = RWF_NAME_RIC,
                 .name = rwf_bytes(item->name, item->name_length) },
    };
    rwf_encoder_init(&enc, w->message, sizeof(w->message));
    omm_item_request_encode(&enc, &request);
    queue(w, &enc);
}

static void close_one(struct watch *w, uint64_t now_ns)
{
    struct item *item = &w->items[md_prng_below(&w->prng, w->item_count)];
    struct rwf_encoder enc;

    if (item->state == ITEM_WAITING)
        return;
    rwf_encoder_init(&enc, w->message, sizeof(w->message));
    omm_close_encode(&enc, stream_of(w, item), RWF_DOMAIN_MARKET_PRICE);
    queue(w, &enc);
    item->state = ITEM_WAITING;
    item->due_ns = now_ns + md_prng_below(&w->prng, 300) * MD_NS_PER_MS;
}

static void ask_due(struct watch *w, uint64_t now_ns)
{
    if (!w->has_service || !w->outq)
        return;
    while (w->churn && w->churn_ns <= now_ns) {
        close_one(w, now_ns);
        w->churn_ns = now_ns + MD_NS_PER_S / w->churn;
    }
    for (uint32_t i = 0; i < w->item_count; i++) {
        if (w->items[i].state == ITEM_WAITING && w->items[i].due_ns <= now_ns)
            ask(w, &w->items[i]);
    }
    (void)link_flush(w->link);
}

static void tick(void *owner)
{
    struct watch *w = owner;
    uint64_t now_ns = md_clock_mono_ns(), oldest_ns = UINT64_MAX;
    uint32_t open = 0, suspect = 0;

    ask_due(w, now_ns);
    for (uint32_t i = 0; i < w->item_count; i++) {
        const struct item *item = &w->items[i];
        /* One that it closed by its own will is not amiss. */
        bool is_own = w->churn && item->state == ITEM_WAITING && item->due_ns > now_ns;
        open += item->state == ITEM_OPEN || is_own;
        suspect += item->state == ITEM_OPEN && item->is_suspect;
        if (!is_own && item->data_ns < oldest_ns)
            oldest_ns = item->data_ns;
    }
    printf("T %llu %u %u %u %llu %llu %llu\n", (unsigned long long)now_ns, w->item_count, open,
           suspect, (unsigned long long)oldest_ns, (unsigned long long)w->updates,
           (unsigned long long)w->violations);
    fflush(stdout);
}

/* ---- commands ---- */

static void finish(struct watch *w)
{
    w->is_over = true;
    if (w->link)
        link_close(w->link);
    else
        md_loop_stop(w->loop);
}

static void dump(const struct watch *w)
{
    for (uint32_t i = 0; i < w->item_count; i++) {
        const struct item *item = &w->items[i];
        printf("D %s %u %s\n", item->name, item->count,
               item->state != ITEM_OPEN ? "closed"
               : item->is_suspect       ? "suspect"
                                        : "ok");
    }
    printf("D.\n");
    fflush(stdout);
}

static void on_input(void *owner, int fd, unsigned events)
{
    struct watch *w = owner;
    char *stop;
    ssize_t n = read(fd, w->command + w->command_used, sizeof(w->command) - 1 - w->command_used);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        md_loop_fd_remove(w->input);
        w->input = NULL;
        finish(w);
        return;
    }
    w->command_used += (size_t)n;
    while ((stop = memchr(w->command, '\n', w->command_used)) != NULL) {
        *stop++ = 0;
        if (strcmp(w->command, "dump") == 0)
            dump(w);
        else if (strcmp(w->command, "churn") == 0)
            w->churn = w->churn ? 0 : 1;
        else
            finish(w);
        w->command_used -= (size_t)(stop - w->command);
        memmove(w->command, stop, w->command_used);
    }
    if (w->command_used == sizeof(w->command) - 1)
        w->command_used = 0;
}

/* ---- beginning and end ---- */

static bool parse_hosts(struct watch *w, char *text)
{
    char *rest = NULL;

    for (char *host = strtok_r(text, ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
        char *colon = strrchr(host, ':');
        char *end = NULL;
        if (!colon || w->host_count == HOSTS_MAX)
            return false;
        *colon = 0;
        unsigned long port = strtoul(colon + 1, &end, 10);
        if (port == 0 || port > UINT16_MAX || *end)
            return false;
        w->hosts[w->host_count] = host;
        w->ports[w->host_count++] = (uint16_t)port;
    }
    return w->host_count > 0;
}

static int load(struct watch *w, const char *file)
{
    char error[512];

    itemlist_init(&w->list);
    if (itemlist_load(&w->list, file, error, sizeof(error)) != MD_OK || w->list.count == 0) {
        fprintf(stderr, "chaos_watch: %s: no items\n", file);
        return MD_ERR_NOT_FOUND;
    }
    w->item_count = (uint32_t)w->list.count;
    w->items = calloc(w->item_count, sizeof(*w->items));
    if (!w->items)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < w->item_count; i++) {
        const struct itemlist_entry *entry = &w->list.entries[i];
        w->items[i].name = entry->name;
        w->items[i].name_length = entry->name_length;
        w->items[i].hash = seqdata_item(entry->name, entry->name_length);
    }
    return MD_OK;
}

static int run(struct watch *w)
{
    if (md_loop_create(0, &w->loop) != MD_OK || client_context_create(NULL, &w->context) != MD_OK ||
        md_loop_timer_create(w->loop, dial, w, &w->dial_timer) != MD_OK ||
        md_loop_timer_create(w->loop, tick, w, &w->tick_timer) != MD_OK ||
        md_loop_fd_add(w->loop, STDIN_FILENO, MD_LOOP_READ, on_input, w, &w->input) != MD_OK)
        return 2;
    (void)md_loop_timer_every(w->tick_timer, TICK_NS);
    dial(w);
    (void)md_loop_run(w->loop);
    printf("E %llu %llu %llu %llu %llu %llu\n", (unsigned long long)w->updates,
           (unsigned long long)w->images, (unsigned long long)w->resyncs,
           (unsigned long long)w->told_missing, (unsigned long long)w->suspects,
           (unsigned long long)w->violations);
    link_destroy(w->link);
    md_loop_fd_remove(w->input);
    md_loop_timer_destroy(w->dial_timer);
    md_loop_timer_destroy(w->tick_timer);
    client_context_destroy(w->context);
    md_loop_destroy(w->loop);
    return w->violations ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct watch w;
    const char *hosts = NULL, *file = NULL, *churn = "0", *seed = "1";
    bool by_directory = false;
    const struct md_option options[] = {
        { "S", "SERVICE", MD_OPTION_STRING, &w.service, "service" },
        { "h", "HOST:PORT,...", MD_OPTION_STRING, &hosts, "servers, tried in turn" },
        { "f", "FILE", MD_OPTION_STRING, &file, "item list" },
        { "churn", "N", MD_OPTION_STRING, &churn, "items closed and opened again per second" },
        { "seed", "N", MD_OPTION_STRING, &seed, "of the churn" },
        { "groups", NULL, MD_OPTION_FLAG, &by_directory, "be told of groups by the directory" },
    };
    struct md_option_list words = { .count = 0 };

    if (md_options_parse("chaos_watch", options, sizeof(options) / sizeof(options[0]), argc, argv,
                         &words) != MD_OK)
        return 2;
    char *list = hosts ? strdup(hosts) : NULL;
    if (!w.service || !list || !file || !parse_hosts(&w, list) || load(&w, file) != MD_OK) {
        fprintf(stderr, "usage: chaos_watch -S SERVICE -h HOST:PORT,... -f FILE\n");
        free(list);
        return 2;
    }
    w.churn = (uint32_t)strtoul(churn, NULL, 10);
    w.prng = md_prng_init(strtoull(seed, NULL, 10));
    w.filter = OMM_FILTER_INFO | (by_directory ? OMM_FILTER_STATE | OMM_FILTER_GROUP : 0);
    signal(SIGPIPE, SIG_IGN);
    int rc = run(&w);
    itemlist_fini(&w.list);
    free(w.items);
    free(list);
    return rc;
}
