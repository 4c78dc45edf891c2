/* main.c - rmdstestclient: options, and everything put on one loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/err.h"
#include "conf/options.h"
#include "dictionary.h"
#include "follow.h"
#include "page_view.h"
#include "seconds.h"
#include "seqdata.h"
#include "tc.h"

#define PROGRAM "rmdstestclient"

/* What the command line says, before it is understood. */
struct words {
    const char *service, *hosts, *port, *user, *password, *position, *application_id;
    struct wire_words wire;
    const char *chain, *story, *post_fields;
    const char *list, *domain_list, *names, *domain, *decode, *window, *lmfile, *read_factor,
        *receive_buffer, *trace;
    const char *interval, *minutes, *log_file;
    struct md_option_list logs; /* levels, files */
    const char *view, *view_names, *batch, *post, *secs, *conns, *cpu, *fifo, *discard, *timeout,
        *want, *slow;
    const char *drain, *what, *qos;
    const char *json, *stats, *seed, *dict, *counts;
    bool times, prints, exit_when_open, rtt, time_stats, snapshot, split, seqcheck, pages,
        no_shuffle, nodelay;
    bool shows_sent, shows_states;
    bool help, version;
};

static int usage(const char *what, const char *value)
{
    fprintf(stderr, PROGRAM ": %s%s%s; -help lists the options\n", what, value ? ": " : "",
            value ? value : "");
    return TC_OPTIONS;
}

static bool parse_real(const char *text, double low, double high, double *out)
{
    char *end;

    if (!text)
        return true;
    errno = 0;
    *out = strtod(text, &end);
    return errno == 0 && end != text && *end == 0 && *out >= low && *out <= high;
}

static bool parse_uint(const char *text, unsigned low, unsigned high, unsigned *out)
{
    double value = *out;

    if (!parse_real(text, low, high, &value) || value != floor(value))
        return false;
    *out = (unsigned)value;
    return true;
}

static bool parse_port(const char *text, uint16_t *out)
{
    struct servent *service = getservbyname(text, "tcp");
    unsigned value = 0;

    if (service) {
        *out = ntohs((uint16_t)service->s_port);
        return true;
    }
    if (!parse_uint(text, 1, 65535, &value) || value == 0)
        return false;
    *out = (uint16_t)value;
    return true;
}

/* HOST or HOST:PORT or [ADDRESS]:PORT, separated by commas; cuts the text in place. */
static int parse_hosts(char *text, uint16_t port, struct tc_options *o)
{
    char *rest = NULL;

    for (char *host = strtok_r(text, ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
        if (o->host_count == HOSTS_MAX)
            return usage("-h: at most 16 hosts", NULL);
        uint16_t own = port;
        char *colon = strrchr(host, ':');
        if (colon && (strchr(host, ':') == colon || (colon > host && colon[-1] == ']'))) {
            *colon = 0;
            if (!parse_port(colon + 1, &own))
                return usage("-h: not a port", colon + 1);
        }
        size_t length = strlen(host);
        if (length > 1 && host[0] == '[' && host[length - 1] == ']') {
            host[length - 1] = 0;
            host++;
        }
        if (!*host)
            return usage("-h is HOST[:PORT],...", NULL);
        o->hosts[o->host_count] = host;
        o->ports[o->host_count++] = own;
    }
    return o->host_count ? TC_OK : usage("-h is HOST[:PORT],...", NULL);
}

static int understand_numbers(const struct words *w, struct tc_options *o)
{
    unsigned seed = 1;

    o->window = 500;
    o->read_factor = 12;
    o->conns = 1;
    o->timeout_s = 60;
    if (!parse_uint(w->decode, 0, 3, &o->decode))
        return usage("-d is 0 to 3", w->decode);
    if (!parse_uint(w->window, 1, 1000000, &o->window))
        return usage("-o is the number of requests under way, 1 to 1000000", w->window);
    if (!parse_uint(w->receive_buffer, 0, 1u << 30, &o->receive_buffer))
        return usage("-rcvbuf is a number of bytes, 0 to 1 GiB", w->receive_buffer);
    if (!parse_uint(w->read_factor, 0, 1000, &o->read_factor))
        return usage("-rf is the number of reads at once, 0 to 1000", w->read_factor);
    if (!parse_uint(w->batch, 0, 4000, &o->batch))
        return usage("-batch is the number of items in a request, 0 to 4000", w->batch);
    if (!parse_uint(w->conns, 1, 100000, &o->conns))
        return usage("-conns is the number of connections, 1 to 100000", w->conns);
    if (!parse_uint(w->slow, 0, 10000000, &o->slow_us))
        return usage("-slow is a number of microseconds", w->slow);
    if (!parse_uint(w->seed, 0, 4000000000u, &seed))
        return usage("-seed is a number", w->seed);
    if (!parse_real(w->interval, 0, 86400, &o->interval_s))
        return usage("-I is a number of seconds", w->interval);
    if (!parse_real(w->secs, 0, 1e9, &o->secs))
        return usage("-secs is a number of seconds", w->secs);
    double minutes = 0;
    if (!parse_real(w->minutes, 0, 1e7, &minutes))
        return usage("-et is a number of minutes, 0: for ever", w->minutes);
    if (minutes > 0 && !w->secs)
        o->secs = o->timeout_s = 60 * minutes;
    if (!parse_real(w->discard, 0, 1e9, &o->discard_s))
        return usage("-discard is a number of seconds", w->discard);
    if (!parse_real(w->drain, 0, 1e9, &o->drain_s))
        return usage("-drain is a number of seconds", w->drain);
    if (!parse_real(w->timeout, 0, 1e9, &o->timeout_s))
        return usage("-timeout is a number of seconds, 0: for ever", w->timeout);
    if (!parse_real(w->post, 0, 1e6, &o->post_rate))
        return usage("-post is a rate per second", w->post);
    if (!parse_real(w->want, 0, 1e12, &o->want_rate))
        return usage("-want is a rate per second", w->want);
    o->seed = seed;
    return TC_OK;
}

/* -l has two meanings in use: a digit is how much is printed, anything else where it goes. */
static int understand_log(struct words *w, struct tc_options *o)
{
    o->log = 1;
    for (size_t i = 0; i < w->logs.count; i++) {
        const char *word = w->logs.item[i];

        if (word[0] >= '0' && word[0] <= '3' && !word[1])
            o->log = (unsigned)(word[0] - '0');
        else if (!word[strspn(word, "-0123456789")])
            return usage("-l is 0 to 3, or a file for what is printed", word);
        else
            w->log_file = word;
    }
    if (w->prints) {
        o->log = 3;
        if (!w->decode)
            o->decode = 3;
    }
    if (!w->log_file || freopen(w->log_file, "we", stdout))
        return TC_OK;
    fprintf(stderr, PROGRAM ": cannot write %s: %s\n", w->log_file, strerror(errno));
    return TC_FILE;
}

static int understand(struct words *w, struct tc *tc)
{
    struct tc_options *o = &tc->options;
    uint16_t port = 14002;
    char error[600];

    *o = (struct tc_options){
        .user = w->user ? w->user : "rmds",
        .password = w->password,
        .position = w->position ? w->position : "127.0.0.1/net",
        .application_id = w->application_id ? w->application_id : "256",
        .lmfile = w->lmfile,
        .post_fields = w->post_fields,
        .json = w->json,
        .stats = w->stats,
        .counts = w->counts,
        .times = w->times || w->lmfile,
        .seqcheck = w->seqcheck,
        .pages = w->pages,
        .exit_when_open = w->exit_when_open,
        .snapshot = w->snapshot,
        .split = w->split,
        .rtt = w->rtt,
        .no_shuffle = w->no_shuffle,
        .shows_sent = w->shows_sent,
        .shows_states = w->shows_states,
        .commands = true,
    };
    if (w->what && strcmp(w->what, "services") != 0)
        return usage("-list knows services, not", w->what);
    o->lists_services = w->what != NULL;
    if (!w->service && !w->what)
        return usage("-S SERVICE is needed; -list services says which there are", NULL);
    if (!w->what)
        tc->services[tc->service_count++] = w->service;
    w->wire.takes_json = true;
    if (wire_make(&w->wire, false, &tc->wire, error, sizeof(error)) != MD_OK)
        return usage("-ct", error);
    if (tc->wire.is_json)
        port = 15000;
    if (w->port && !parse_port(w->port, &port))
        return usage("-p is a port, 1 to 65535, or a name of /etc/services", w->port);
    tc->hosts = strdup(w->hosts ? w->hosts : "localhost");
    int rc = tc->hosts ? parse_hosts(tc->hosts, port, o) : TC_FILE;
    if (rc == TC_OK)
        rc = understand_numbers(w, o);
    if (rc == TC_OK)
        rc = understand_log(w, o);
    if (rc == TC_OK)
        rc = view_parse(w->view, w->view_names, o) ? TC_OK : TC_OPTIONS;
    if (rc == TC_OK && !qos_parse(w->qos, o))
        rc = usage("-qos is tick, jit, milliseconds, or two of them, as 100-1000", w->qos);
    if (rc == TC_OK && w->counts && !(o->seqcheck && o->drain_s > 0))
        rc = usage("-counts needs -seqcheck and -drain", NULL);
    if (rc == TC_OK && w->what && w->conns)
        rc = usage("-list services needs one connection, not -conns", w->conns);
    if (rc == TC_OK && (w->chain || w->story)) {
        if ((w->chain && w->story) || w->list || w->domain_list || w->names || w->what)
            rc = usage("-chain and -story name the only item", NULL);
        else if (o->conns > 1 || o->batch)
            rc = usage("-chain and -story need one connection, and no -batch", NULL);
        w->names = w->chain ? w->chain : w->story;
    }
    if (rc == TC_OK && !w->list && !w->domain_list && !w->names && !w->what)
        rc = usage("-f FILE, -ef FILE, -il ITEM,... or -chain NAME is needed", NULL);
    return rc;
}

static int service_index(struct tc *tc, const char *name)
{
    if (!name)
        return 0;
    for (size_t i = 0; i < tc->service_count; i++) {
        if (strcmp(tc->services[i], name) == 0)
            return (int)i;
    }
    if (tc->service_count == SERVICES_MAX)
        return -1;
    tc->services[tc->service_count] = name;
    return (int)tc->service_count++;
}

static int load_items(const struct words *w, struct tc *tc)
{
    unsigned domain = RWF_DOMAIN_MARKET_PRICE;
    char error[512] = "out of memory";

    if (tc->options.lists_services)
        return TC_OK;
    if (w->domain && (domain = itemlist_domain(w->domain)) == 0)
        return usage("-md is a domain, 1 to 255 or a name as MarketPrice", w->domain);
    if (w->list)
        itemlist_make(w->list, PROGRAM);
    if ((w->list && itemlist_load(&tc->list, w->list, error, sizeof(error)) != MD_OK) ||
        (w->domain_list &&
         itemlist_load_domains(&tc->list, w->domain_list, error, sizeof(error)) != MD_OK) ||
        (w->names && itemlist_add_names(&tc->list, w->names, error, sizeof(error)) != MD_OK) ||
        itemlist_deduplicate(&tc->list) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return TC_FILE;
    }
    if (tc->list.duplicate_count)
        fprintf(stderr, PROGRAM ": %zu items stood in the list more than once\n",
                tc->list.duplicate_count);
    if (tc->list.count == 0)
        return usage("the item list is empty", w->list);
    tc->items = calloc(tc->list.count, sizeof(*tc->items));
    if (!tc->items)
        return TC_FILE;
    for (size_t i = 0; i < tc->list.count; i++) {
        const struct itemlist_entry *entry = &tc->list.entries[i];
        int service = service_index(tc, entry->service);
        if (service < 0)
            return usage("more than 16 services in the item list", entry->service);
        tc->items[tc->item_count++] = (struct tc_item){
            .name = entry->name,
            .name_length = entry->name_length,
            .hash = seqdata_item(entry->name, entry->name_length),
            .domain = entry->domain ? entry->domain : (uint8_t)domain,
            .service = (uint8_t)service,
        };
    }
    return TC_OK;
}

static int load_dictionary(const struct words *w, struct tc *tc)
{
    if (w->pages && page_view_create(stdout, &tc->pages) != MD_OK)
        return MD_EXIT_FILE;
    char error[512];

    if (tc->options.decode < 2 && !tc->options.view_names && !tc->wire.is_json && !w->post_fields)
        return TC_OK;
    tc->options.download = !w->dict;
    if (w->dict && tool_dictionary_load(w->dict, &tc->dictionary, error, sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return TC_FILE;
    }
    tc->has_dictionary = w->dict != NULL;
    return !w->dict || view_resolve(tc) ? TC_OK : TC_OPTIONS;
}

static int set_scheduling(const struct words *w)
{
    struct md_cpu_set cpus;
    unsigned priority = 0;

    if (w->cpu && (md_cpu_set_parse(w->cpu, &cpus) != MD_OK || md_cpu_bind(&cpus) != MD_OK))
        return usage("-cpu is a list of CPUs this process may use, as 0-3,8", w->cpu);
    if (w->trace && !follow_open(w->trace, PROGRAM))
        return usage("-trace is N,FILE, a file that can be made", w->trace);
    if (!w->fifo)
        return TC_OK;
    if (!parse_uint(w->fifo, 1, 99, &priority))
        return usage("-fifo is a priority, 1 to 99", w->fifo);
    if (md_sched_set(MD_SCHED_FIFO, (int)priority) != MD_OK)
        fprintf(stderr, PROGRAM ": -fifo %s: %s; running without\n", w->fifo, strerror(errno));
    return TC_OK;
}

static void on_signal(void *owner, int signal)
{
    struct tc *tc = owner;

    (void)signal;
    tc->is_over = true;
    md_loop_stop(tc->loop);
}

static void on_post(void *owner)
{
    struct tc *tc = owner;

    if (tc->is_measuring)
        conn_post(&tc->conns[tc->posts_sent % tc->options.conns]);
}

static int start(struct tc *tc)
{
    unsigned conns = tc->options.conns;

    conn_raise_limits(conns);
    if (md_loop_create(0, &tc->loop) != MD_OK || client_context_create(NULL, &tc->context) != MD_OK)
        return TC_FILE;
    if (tc->wire.is_json) {
        if (json_context_create(&tc->json) != MD_OK)
            return TC_FILE;
        json_context_use(tc->json, tc->dictionary);
    }
    tc->conns = calloc(conns, sizeof(*tc->conns));
    if (!tc->conns)
        return TC_FILE;
    int rc = report_open(tc);
    for (unsigned i = 0; i < conns && rc == TC_OK; i++) {
        if (conn_create(tc, &tc->conns[i], i) != MD_OK)
            rc = TC_FILE;
    }
    if (rc != TC_OK)
        return rc;
    (void)md_loop_signal_add(tc->loop, SIGINT, on_signal, tc, &tc->signals[0]);
    (void)md_loop_signal_add(tc->loop, SIGTERM, on_signal, tc, &tc->signals[1]);
    if (tc->options.post_rate > 0 &&
        md_loop_timer_create(tc->loop, on_post, tc, &tc->post_timer) == MD_OK)
        (void)md_loop_timer_every(tc->post_timer, (uint64_t)(1e9 / tc->options.post_rate));
    (void)console_start(tc);
    for (unsigned i = 0; i < conns; i++)
        conn_dial(&tc->conns[i]);
    return TC_OK;
}

static void stop(struct tc *tc)
{
    struct md_loop_timer *timers[] = { tc->interval_timer, tc->end_timer,  tc->measure_timer,
                                       tc->flush_timer,    tc->post_timer, tc->drain_timer,
                                       tc->wait_timer };
    struct latency *all[] = { tc->latency, tc->sampled, tc->interval, tc->posts };

    console_stop(tc);
    for (unsigned i = 0; tc->conns && i < tc->options.conns; i++)
        conn_destroy(&tc->conns[i]);
    free(tc->conns);
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
        md_loop_timer_destroy(timers[i]);
    for (size_t i = 0; i < 2; i++) {
        if (tc->signals[i])
            md_loop_signal_remove(tc->signals[i]);
    }
    client_context_destroy(tc->context);
    json_context_destroy(tc->json);
    wire_fini(&tc->wire);
    if (tc->loop)
        md_loop_destroy(tc->loop);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        latency_destroy(all[i]);
    seconds_destroy(tc->seconds);
    rwf_dictionary_destroy(tc->dictionary);
    page_view_destroy(tc->pages);
    chain_destroy(tc->chain);
    itemlist_fini(&tc->list);
    free(tc->items);
    free(tc->hosts);
    free(tc);
}

static void help(const struct md_option *options, size_t count)
{
    printf(PROGRAM
           " - opens items, measures and checks what comes\n\n"
           "usage: " PROGRAM
           " -S SERVICE -h HOST -p PORT (-f FILE | -il ITEM,... | -chain NAME) [option]...\n\n");
    for (size_t i = 0; i < count; i++) {
        char left[64];
        if (!options[i].help)
            continue;
        snprintf(left, sizeof(left), "-%s%s%s", options[i].name, options[i].argument ? " " : "",
                 options[i].argument ? options[i].argument : "");
        printf("  %-20s %s\n", left, options[i].help);
    }
    printf("\nAll options may be written with two dashes. Exit codes: 0 logged in and all items "
           "opened,\n1 options, 2 a file, 3 not logged in at the end, 4 not all items opened,\n"
           "5 -seqcheck found something.\nSee " PROGRAM "(1).\n");
}

/* The published command line has "decodeFormat 3", without a dash: give it one. */
static void mend_words(int argc, char **argv)
{
    static char dashed[] = "-decodeFormat";

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "decodeFormat") == 0)
            argv[i] = dashed;
    }
}

static int run(struct words *w)
{
    struct tc *tc = calloc(1, sizeof(*tc));

    if (!tc)
        return TC_FILE;
    itemlist_init(&tc->list);
    int rc = understand(w, tc);
    if (rc == TC_OK)
        rc = load_items(w, tc);
    if (rc == TC_OK)
        rc = load_dictionary(w, tc);
    if (rc == TC_OK && (w->chain || w->story) && chain_create(tc, w->story != NULL) != MD_OK)
        rc = TC_FILE;
    if (rc == TC_OK)
        rc = set_scheduling(w);
    if (rc == TC_OK)
        rc = start(tc);
    if (rc == TC_OK) {
        (void)md_loop_run(tc->loop);
        if (tc->options.lists_services) {
            waits_end(tc);
            rc = services_print(&tc->offered, stdout);
        } else {
            report_end(tc);
            rc = report_exit_code(tc);
        }
    }
    stop(tc);
    return rc;
}

int main(int argc, char **argv)
{
    struct words w = { .help = false };
    const struct md_option options[] = {
        { "S", "SERVICE", MD_OPTION_STRING, &w.service, "service" },
        { "h", "HOST[:PORT],...", MD_OPTION_STRING, &w.hosts, "hosts, tried in turn (localhost)" },
        { "H", "HOST[:PORT],...", MD_OPTION_STRING, &w.hosts, NULL },
        { "p", "PORT", MD_OPTION_STRING, &w.port, "port (14002; with websocket and wss 15000)" },
        { "f", "FILE", MD_OPTION_STRING, &w.list, "item list" },
        { "ef", "FILE", MD_OPTION_STRING, &w.domain_list, "item list with domains, as 6|VOD.L" },
        { "il", "ITEM,...", MD_OPTION_STRING, &w.names, "items" },
        { "chain", "NAME", MD_OPTION_STRING, &w.chain, "a chain: its records, and their members" },
        { "story", "NAME", MD_OPTION_STRING, &w.story, "a story: its segments, printed as text" },
        { "items", "ITEM,...", MD_OPTION_STRING, &w.names, NULL },
        { "list", "services", MD_OPTION_STRING, &w.what,
          "print the services that there are, and end" },
        { "md", "DOMAIN", MD_OPTION_STRING, &w.domain,
          "domain of the items, a number or a name as MarketPrice (6)" },
        { "ct", "TYPE", MD_OPTION_STRING, &w.wire.name,
          "connection type: rssl (TCP), tls, rsocket (RDMA), websocket (JSON) or wss (JSON over "
          "TLS)" },
        { "eventMethod", "METHOD", MD_OPTION_STRING, &w.wire.method,
          "epoll, or poll and plain sockets: for a library loaded in front of the kernel (epoll)" },
        { "tlsCaFile", "FILE", MD_OPTION_STRING, &w.wire.ca,
          "with -ct tls or wss: authorities that p2ps is checked against (the system's)" },
        { "tlsCertFile", "FILE", MD_OPTION_STRING, &w.wire.certificate,
          "with -ct tls or wss: certificate to show" },
        { "tlsKeyFile", "FILE", MD_OPTION_STRING, &w.wire.key, "and its key" },
        { "u", "USER", MD_OPTION_STRING, &w.user, "user (rmds)" },
        { "pw", "PASSWORD", MD_OPTION_STRING, &w.password, "password" },
        { "pos", "POSITION", MD_OPTION_STRING, &w.position, "position (127.0.0.1/net)" },
        { "aid", "ID", MD_OPTION_STRING, &w.application_id, "application id (256)" },
        { "o", "N", MD_OPTION_STRING, &w.window, "requests under way at most (500)" },
        { "batch", "N", MD_OPTION_STRING, &w.batch, "ask for N items in one request" },
        { "t", NULL, MD_OPTION_FLAG, &w.snapshot, "snapshots, no streams (also -snap)" },
        { "snap", NULL, MD_OPTION_FLAG, &w.snapshot, NULL },
        { "vfids", "FID,...", MD_OPTION_STRING, &w.view, "only these fields (also -view)" },
        { "view", "FID,...", MD_OPTION_STRING, &w.view, NULL },
        { "vnames", "NAME,...", MD_OPTION_STRING, &w.view_names, "the same by name, as BID,ASK" },
        { "qos", "RATE[-RATE]", MD_OPTION_STRING, &w.qos,
          "ask for tick, jit or milliseconds; or for the best between two" },
        { "conns", "N", MD_OPTION_STRING, &w.conns, "connections, each with the whole list (1)" },
        { "split", NULL, MD_OPTION_FLAG, &w.split, "each connection has its share of the list" },
        { "inorder", NULL, MD_OPTION_FLAG, &w.no_shuffle,
          "every connection opens the list in the same order" },
        { "seed", "N", MD_OPTION_STRING, &w.seed, "seed of the orders" },
        { "tt", NULL, MD_OPTION_FLAG, &w.times, "evaluate the times in TIM_TRK_1" },
        { "lmfile", "FILE", MD_OPTION_STRING, &w.lmfile, "write every latency" },
        { "secs", "SECONDS", MD_OPTION_STRING, &w.secs, "measure so long, then end" },
        { "et", "MINUTES", MD_OPTION_STRING, &w.minutes, "the same in minutes; 0: no end" },
        { "discard", "SECONDS", MD_OPTION_STRING, &w.discard, "first let so much time pass" },
        { "drain", "SECONDS", MD_OPTION_STRING, &w.drain,
          "then wait until nothing comes for a second, at most so long" },
        { "counts", "FILE", MD_OPTION_STRING, &w.counts,
          "then compare with the publisher's counts: last updates that are missing show" },
        { "want", "RATE", MD_OPTION_STRING, &w.want, "say so when 99 % of this is not reached" },
        { "seqcheck", NULL, MD_OPTION_FLAG, &w.seqcheck, "judge sequence and content" },
        { "page", NULL, MD_OPTION_FLAG, &w.pages,
          "show ANSI pages and records of rows (ROW64_*, ROW80_*, ROW99_*) as pages" },
        { "d", "0..3", MD_OPTION_STRING, &w.decode,
          "decode: headers, field ids, values, values by dictionary (0)" },
        { "decodeFormat", "0..3", MD_OPTION_STRING, &w.decode, NULL },
        { "dict", "FOLDER", MD_OPTION_STRING, &w.dict, "dictionary; else that of the server" },
        { "X", NULL, MD_OPTION_FLAG, &w.prints, "print what comes, decoded: -l 3, and -d 3" },
        { "ss", NULL, MD_OPTION_FLAG, &w.shows_sent, "print what is sent, a line each" },
        { "sos", NULL, MD_OPTION_FLAG, &w.shows_states, "print states of items that come" },
        { "l", "0..3|FILE", MD_OPTION_LIST, &w.logs,
          "print: nothing, statistics, images and states, every message (1); or: print into FILE" },
        { "I", "SECONDS", MD_OPTION_STRING, &w.interval,
          "a line of statistics every so often (also -st)" },
        { "st", "SECONDS", MD_OPTION_STRING, &w.interval, NULL },
        { "stats", "FILE", MD_OPTION_STRING, &w.stats, "where these lines go" },
        { "json", "FILE", MD_OPTION_STRING, &w.json, "write the result; -: standard output" },
        { "e", NULL, MD_OPTION_FLAG, &w.exit_when_open, "end when all items have their image" },
        { "timeout", "SECONDS", MD_OPTION_STRING, &w.timeout,
          "give up when not all is open by then (60; 0: never)" },
        { "post", "RATE", MD_OPTION_STRING, &w.post, "posts per second, to be acknowledged" },
        { "pf", "NAME=VALUE,...", MD_OPTION_STRING, &w.post_fields,
          "fields of the posts, as BID=1.25,ASK=1.27" },
        { "rtt", NULL, MD_OPTION_FLAG, &w.rtt, "answer round-trip messages" },
        { "rrt", NULL, MD_OPTION_FLAG, &w.rtt, NULL },
        { "tss", NULL, MD_OPTION_FLAG, &w.time_stats, "ignored, for compatibility" },
        { "rf", "N", MD_OPTION_STRING, &w.read_factor, "reads at once (12)" },
        { "rcvbuf", "BYTES", MD_OPTION_STRING, &w.receive_buffer,
          "receive buffer of each connection, as SysRecvBufSize of EMA (0: the kernel's)" },
        { "slow", "US", MD_OPTION_STRING, &w.slow,
          "pause after each batch, to be a slow consumer" },
        { "cpu", "LIST", MD_OPTION_STRING, &w.cpu, "CPUs to run on" },
        { "trace", "N,FILE", MD_OPTION_STRING, &w.trace,
          "one update of N leaves a time stamp in this file, as traceSample of the daemons" },
        { "fifo", "PRIORITY", MD_OPTION_STRING, &w.fifo, "SCHED_FIFO" },
        { "help", NULL, MD_OPTION_FLAG, &w.help, "this text (-h is the host)" },
        { "version", NULL, MD_OPTION_FLAG, &w.version, "version and what is built in" },
    };
    const size_t count = sizeof(options) / sizeof(options[0]);
    struct md_option_list words = { .count = 0 };

    mend_words(argc, argv);
    if (md_options_parse(PROGRAM, options, count, argc, argv, &words) != MD_OK)
        return TC_OPTIONS;
    if (w.help) {
        help(options, count);
        return TC_OK;
    }
    if (w.version) {
        md_version_print(PROGRAM);
        return TC_OK;
    }
    if (md_options_refuse_words(PROGRAM, options, count, &words) != MD_OK)
        return TC_OPTIONS;
    return run(&w);
}
