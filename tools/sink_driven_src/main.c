/* main.c - sink_driven_src: options, and everything put on one loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "conf/options.h"
#include "dictionary.h"
#include "follow.h"
#include "recorded.h"
#include "sds.h"

#define PROGRAM "sink_driven_src"

/* What the command line says, before it is understood. */
struct words {
    struct md_option_list services;
    const char *port, *file, *item, *list, *stamp_item, *stamp_rate, *place, *ticks, *rate;
    const char *interval, *address, *id, *qos, *dict, *host, *user, *password, *password_file,
        *seed;
    const char *profile;
    const char *kinds;
    const char *max_clients, *stop, *cpu, *fifo, *trace, *drop, *duplicate, *make_count;
    struct wire_words wire;
    bool loop, commands, nagle, nodelay, stamps, stamps_all, due, seqdata, seqnum, marketfeed, help,
        version;
};

static int usage(const char *what, const char *value)
{
    fprintf(stderr, PROGRAM ": %s%s%s; -help lists the options\n", what, value ? ": " : "",
            value ? value : "");
    return MD_EXIT_CONFIG;
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

static bool parse_uint(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    double value = (double)*out;

    if (!parse_real(text, (double)low, (double)high, &value) || value != floor(value))
        return false;
    *out = (uint64_t)value;
    return true;
}

static bool parse_port(const char *text, uint16_t *out)
{
    struct servent *service = getservbyname(text, "tcp");
    uint64_t value = 0;

    if (service) {
        *out = ntohs((uint16_t)service->s_port);
        return true;
    }
    if (!parse_uint(text, 0, 65535, &value))
        return false;
    *out = (uint16_t)value;
    return true;
}

static void help(const struct md_option *options, size_t count)
{
    printf(PROGRAM " - a provider that sends updates at a set rate\n\n"
                   "usage: " PROGRAM
                   " -S SERVICE [-N PORT] [-Q FILE -q ITEM] [-U RATE] [option]...\n"
                   "       " PROGRAM " -mklist COUNT PREFIX\n\n");
    for (size_t i = 0; i < count; i++) {
        char left[64];
        if (!options[i].help)
            continue;
        snprintf(left, sizeof(left), "-%s%s%s", options[i].name, options[i].argument ? " " : "",
                 options[i].argument ? options[i].argument : "");
        printf("  %-20s %s\n", left, options[i].help);
    }
    printf(
        "\nAll options may be written with two dashes. Exit codes: 0 normal, 1 options, 2 a file,"
        "\n3 the port is in use. See sink_driven_src(1).\n");
}

/* PREFIX0 ... */
static int make_list(const char *count, const struct md_option_list *words)
{
    uint64_t n = 0;

    if (!parse_uint(count, 1, 100000000, &n) || words->count != 1)
        return usage("-mklist COUNT PREFIX writes COUNT names that begin with PREFIX", count);
    for (uint64_t i = 0; i < n; i++)
        printf("%s%llu\n", words->item[0], (unsigned long long)i);
    return fflush(stdout) == 0 && !ferror(stdout) ? MD_EXIT_OK : MD_EXIT_FILE;
}

static int parse_qos(const char *text, struct rwf_qos *qos)
{
    *qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK };
    if (!text || strcmp(text, "realtime") == 0)
        return MD_OK;
    if (strcmp(text, "delayed") == 0) {
        qos->timeliness = RWF_TIMELINESS_DELAYED_UNKNOWN;
        return MD_OK;
    }
    return MD_ERR_MALFORMED;
}

static int understand_numbers(const struct words *w, struct sds_options *o)
{
    uint64_t ticks = 500, max_clients = 0, drop = 0, duplicate = 0, stamp_rate = 10;

    if (!parse_uint(w->ticks, 1, 1000000, &ticks))
        return usage("-tps is the number of bursts per second, 1 to 1000000", w->ticks);
    if (!parse_uint(w->rate, 0, 100000000, &o->rate))
        return usage("-U is a rate, 0 to 100000000 updates per second", w->rate);
    if (!parse_uint(w->stamp_rate, 0, 100000000, &stamp_rate))
        return usage("-UL is a rate, 0 to 100000000 per second", w->stamp_rate);
    if (!parse_real(w->interval, 0, 86400, &o->interval_s))
        return usage("-I is a number of seconds", w->interval);
    if (!parse_real(w->stop, 0, 1e9, &o->stop_s))
        return usage("-stop is a number of seconds", w->stop);
    if (!parse_uint(w->max_clients, 0, 1000000, &max_clients))
        return usage("-maxclients is a number", w->max_clients);
    if (!parse_uint(w->seed, 0, 1ull << 53, &o->seed))
        return usage("-seed is a number", w->seed);
    if (!parse_uint(w->drop, 0, UINT32_MAX, &drop) ||
        !parse_uint(w->duplicate, 0, UINT32_MAX, &duplicate))
        return usage("-drop and -dup take N: one in N updates", NULL);
    o->kinds_rate = -1;
    if (w->kinds && !parse_real(w->kinds, 0, 1000, &o->kinds_rate))
        return usage("-kinds is a rate of each item, 0 to 1000 a second, or list", w->kinds);
    if (w->kinds && w->host)
        return usage("-kinds answers requests: not with -host", NULL);
    o->ticks_per_second = (uint32_t)ticks;
    o->max_clients = (uint32_t)max_clients;
    o->drop_every = (uint32_t)drop;
    o->duplicate_every = (uint32_t)duplicate;
    o->stamp_rate = stamp_rate;
    return MD_EXIT_OK;
}

static int understand_services(const struct words *w, struct sds *sds)
{
    uint64_t id = 1;

    if (w->services.count == 0)
        return usage("-S SERVICE is needed", NULL);
    if (w->services.count > SERVICES_MAX)
        return usage("-S at most 16 times", NULL);
    if (!parse_uint(w->id, 0, 65000, &id))
        return usage("-id is a service id, 0 to 65000", w->id);
    for (size_t i = 0; i < w->services.count; i++)
        sds->services[sds->service_count++] = (struct service){ .name = w->services.item[i],
                                                                .id = (uint16_t)(id + i),
                                                                .is_up = true };
    return MD_EXIT_OK;
}

static int understand_wire(struct wire_words words, bool is_listener, struct sds *sds)
{
    char error[600];

    if (words.name && strcmp(words.name, "sslauto") == 0) {
        fprintf(stderr, PROGRAM ": -E sslauto: only RSSL is spoken\n");
        words.name = NULL;
    }
    if (wire_make(&words, is_listener, &sds->wire, error, sizeof(error)) != MD_OK)
        return usage("-E", error);
    return MD_EXIT_OK;
}

static int understand(const struct words *w, struct sds *sds)
{
    struct sds_options *o = &sds->options;

    *o = (struct sds_options){
        .address = w->address,
        .host = w->host,
        .user = w->user ? w->user : "sink_driven_src",
        .profile = w->profile,
        .nodelay = !w->nagle,
        .loop = w->loop,
        .stamps = w->stamps || w->stamps_all,
        .stamps_all = w->stamps_all,
        .due = w->due,
        .seqdata = w->seqdata,
        .seqnum = w->seqnum,
        .marketfeed = w->marketfeed,
        .commands = w->commands,
        .stamp_item = w->stamp_item,
    };
    sds->port = 14002;
    if (w->port && !parse_port(w->port, &sds->port))
        return usage("-N is a port, 0 to 65535 (0: any), or a name of /etc/services", w->port);
    if (understand_wire(w->wire, w->host == NULL, sds) != MD_EXIT_OK)
        return MD_EXIT_CONFIG;
    if (w->nagle && w->nodelay)
        return usage("-nagle and -tcpnodel contradict each other", NULL);
    if (w->place && strcmp(w->place, "first") == 0)
        o->place = PLACE_FIRST;
    else if (w->place && strcmp(w->place, "last") == 0)
        o->place = PLACE_LAST;
    else if (w->place && strcmp(w->place, "uniform") != 0)
        return usage("-tsp is uniform, first or last", w->place);
    if (parse_qos(w->qos, &sds->qos) != MD_OK)
        return usage("-qos is realtime or delayed", w->qos);
    if (w->password && w->password_file)
        return usage("-pw and -pwfile contradict each other", NULL);
    if ((w->password || w->password_file) && !w->host)
        return usage("-pw and -pwfile are for the login with -host", NULL);
    if (w->item && !w->file)
        return usage("-q names an item of the file given with -Q", w->item);
    int rc = understand_numbers(w, o);
    return rc != MD_EXIT_OK ? rc : understand_services(w, sds);
}

static int load_files(const struct words *w, struct sds *sds)
{
    char error[512];

    int rc = sds_password_read(sds, w->password, w->password_file);

    if (rc != MD_EXIT_OK)
        return rc;
    if (tool_dictionary_load(w->dict, &sds->dictionary, error, sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s%s\n", error, w->dict ? "" : "; no dictionary is offered");
        if (w->dict)
            return MD_EXIT_FILE;
    }
    if (w->marketfeed && (!sds->dictionary || mf_table_create(sds->dictionary, &MF_OPTIONS_DEFAULT,
                                                              &sds->marketfeed) != MD_OK)) {
        fprintf(stderr, PROGRAM ": -marketfeed needs a dictionary (-dict)\n");
        return MD_EXIT_FILE;
    }
    if (w->list && itemlist_load(&sds->list, w->list, error, sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return MD_EXIT_FILE;
    }
    if (w->file &&
        sample_load(&sds->sample, sds->dictionary, w->file, error, sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return MD_EXIT_FILE;
    }
    if (w->file && !w->item && sds->sample.count == 1)
        sds->template = &sds->sample.items[0];
    if (w->item) {
        sds->template = sample_find(&sds->sample, w->item);
        if (!sds->template && sds->sample.count == 1 && !sds->sample.items[0].name[0])
            sds->template = &sds->sample.items[0];
        if (!sds->template) {
            fprintf(stderr, PROGRAM ": -q %s: no such item in %s\n", w->item, w->file);
            return MD_EXIT_FILE;
        }
    }
    return MD_EXIT_OK;
}

static int set_scheduling(const struct words *w)
{
    struct md_cpu_set cpus;
    uint64_t priority = 0;

    if (w->cpu && (md_cpu_set_parse(w->cpu, &cpus) != MD_OK || md_cpu_bind(&cpus) != MD_OK))
        return usage("-cpu is a list of CPUs this process may use, as 0-3,8", w->cpu);
    if (w->trace && !follow_open(w->trace, PROGRAM))
        return usage("-trace is N,FILE, a file that can be made", w->trace);
    if (!w->fifo)
        return MD_EXIT_OK;
    if (!parse_uint(w->fifo, 1, 99, &priority))
        return usage("-fifo is a priority, 1 to 99", w->fifo);
    if (md_sched_set(MD_SCHED_FIFO, (int)priority) != MD_OK)
        fprintf(stderr, PROGRAM ": -fifo %s: %s; running without\n", w->fifo, strerror(errno));
    return MD_EXIT_OK;
}

static void on_signal(void *owner, int signal)
{
    (void)signal;
    md_loop_stop(owner);
}

static void on_interval(void *owner)
{
    sds_line(owner);
}

static void on_stop(void *owner)
{
    md_loop_stop(owner);
}

/* ---- piecewise rates: lines of "seconds rate" ---- */

static void on_profile(void *owner)
{
    struct sds *sds = owner;

    while (*sds->profile_at) {
        double seconds;
        unsigned long long rate;
        int used = 0;
        const char *line = sds->profile_at;
        const char *stop = strchr(line, '\n');
        sds->profile_at = stop ? stop + 1 : line + strlen(line);
        if (sscanf(line, "%lf %llu%n", &seconds, &rate, &used) == 2 && used > 0) {
            ticker_set_rate(sds->ticker, rate);
            (void)md_loop_timer_after(sds->profile_timer, (uint64_t)(seconds * 1e9));
            return;
        }
    }
}

static int profile_start(struct sds *sds)
{
    size_t length;

    if (!sds->options.profile)
        return MD_EXIT_OK;
    sds->profile = tool_file_read(sds->options.profile, 1u << 20, &length);
    if (!sds->profile) {
        fprintf(stderr, PROGRAM ": cannot read %s: %s\n", sds->options.profile, strerror(errno));
        return MD_EXIT_FILE;
    }
    sds->profile_at = sds->profile;
    if (md_loop_timer_create(sds->loop, on_profile, sds, &sds->profile_timer) != MD_OK)
        return MD_EXIT_FILE;
    on_profile(sds);
    return MD_EXIT_OK;
}

/* ---- all together ---- */

static int start(struct sds *sds, const struct words *w)
{
    char error[256] = "out of memory";

    if (md_loop_create(0, &sds->loop) != MD_OK ||
        client_context_create(NULL, &sds->context) != MD_OK ||
        md_table_create(100000, &sds->items) != MD_OK ||
        emitter_create(sds, &sds->emitter) != MD_OK || ticker_create(sds, &sds->ticker) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return MD_EXIT_FILE;
    }
    sds->prng = md_prng_init(sds->options.seed ? sds->options.seed : 1);
    if (sds->options.host ? sds_hosts_dial(sds) != MD_OK
                          : sds_server_start(sds, error, sizeof(error)) != MD_OK) {
        if (!sds->options.host)
            fprintf(stderr, PROGRAM ": %s\n", error);
        return sds->options.host ? MD_EXIT_CONFIG : MD_EXIT_PORT;
    }
    if (w->commands)
        (void)sds_console_start(sds);
    int rc = profile_start(sds);
    if (rc == MD_EXIT_OK && sds->options.kinds_rate >= 0 &&
        kinds_start(sds, sds->options.kinds_rate) != MD_OK)
        rc = MD_EXIT_FILE;
    if (rc != MD_EXIT_OK)
        return rc;
    (void)md_loop_signal_add(sds->loop, SIGINT, on_signal, sds->loop, &sds->signals[0]);
    (void)md_loop_signal_add(sds->loop, SIGTERM, on_signal, sds->loop, &sds->signals[1]);
    if (md_loop_timer_create(sds->loop, on_interval, sds, &sds->interval_timer) == MD_OK &&
        sds->options.interval_s > 0)
        (void)md_loop_timer_every(sds->interval_timer, (uint64_t)(sds->options.interval_s * 1e9));
    if (md_loop_timer_create(sds->loop, on_stop, sds->loop, &sds->stop_timer) == MD_OK &&
        sds->options.stop_s > 0)
        (void)md_loop_timer_after(sds->stop_timer, (uint64_t)(sds->options.stop_s * 1e9));
    if (!sds->options.host) {
        /* For scripts, which wait for this line and may have asked for any port. */
        printf(PROGRAM ": listening on port %u\n", net_listener_port(sds->listener));
        fflush(stdout);
    }
    if (sds->options.interval_s > 0)
        sds_line_start(sds);
    return MD_EXIT_OK;
}

static void items_destroy(struct sds *sds)
{
    struct md_table_walk walk = { 0 };
    struct item *item;

    while (sds->items && (item = md_table_next(sds->items, &walk)) != NULL) {
        (void)md_table_remove(sds->items, item->key, 3u + item->name_length);
        free(item);
    }
    md_table_destroy(sds->items);
}

static void stop(struct sds *sds)
{
    sds_hosts_stop(sds);
    sds_server_stop(sds);
    sds_console_stop(sds);
    ticker_destroy(sds->ticker);
    emitter_destroy(sds->emitter);
    kinds_stop(sds);
    items_destroy(sds);
    md_loop_timer_destroy(sds->interval_timer);
    md_loop_timer_destroy(sds->stop_timer);
    md_loop_timer_destroy(sds->profile_timer);
    for (size_t i = 0; i < 2; i++) {
        if (sds->signals[i])
            md_loop_signal_remove(sds->signals[i]);
    }
    client_context_destroy(sds->context);
    wire_fini(&sds->wire);
    if (sds->loop)
        md_loop_destroy(sds->loop);
    rwf_dictionary_destroy(sds->dictionary);
    mf_table_destroy(sds->marketfeed);
    sample_fini(&sds->sample);
    itemlist_fini(&sds->list);
    free(sds->counts_path);
    free(sds->profile);
    free(sds->open);
    free(sds);
}

/* Rates, samples and proofs are those of the recording. */
static int play_recording(const struct words *w)
{
    const struct recorded recorded = {
        .file = w->file,
        .port = w->port,
        .address = w->address,
        .service = w->services.count > 0 ? w->services.item[0] : NULL,
        .id = w->id,
        .dict = w->dict,
        .wire = w->wire.name,
        .ca = w->wire.ca,
        .certificate = w->wire.certificate,
        .key = w->wire.key,
        .loops = w->loop,
        .takes_input = w->commands,
    };

    if (w->item || w->rate || w->profile || w->seqdata || w->seqnum || w->marketfeed || w->stamps ||
        w->stamps_all || w->list || w->host || w->services.count > 1 || w->kinds || w->interval ||
        w->drop || w->duplicate || w->seed || w->max_clients || w->stop)
        return usage(
            "-Q is a recording, which is played as it is: -q, -U, -rate-profile, -seqdata, "
            "-seqnum, -marketfeed, -ts, -tsa, -f, -h, -kinds, -I, -drop, -dup, -seed, -maxclients, "
            "-stop and a second -S are not for it",
            w->file);
    return recorded_play(&recorded);
}

int main(int argc, char **argv)
{
    struct words w = { .loop = false };
    const struct md_option options[] = {
        { "S", "SERVICE", MD_OPTION_LIST, &w.services, "service; may be given several times" },
        { "N", "PORT", MD_OPTION_STRING, &w.port, "port to listen on (14002; 0: any)" },
        { "L", "ADDRESS", MD_OPTION_STRING, &w.address, "address to listen on (all)" },
        { "Q", "FILE", MD_OPTION_STRING, &w.file,
          "sample data, or a recording (.rrec) that rmdsrec plays" },
        { "q", "ITEM", MD_OPTION_STRING, &w.item, "item of the file that all others look like" },
        { "K", NULL, MD_OPTION_FLAG, &w.loop, "begin again after the last update of the sample" },
        { "U", "RATE", MD_OPTION_STRING, &w.rate, "updates per second, all items together (0)" },
        { "tps", "N", MD_OPTION_STRING, &w.ticks, "bursts per second (500)" },
        { "rate-profile", "FILE", MD_OPTION_STRING, &w.profile, "lines of: seconds rate" },
        { "ts", NULL, MD_OPTION_FLAG, &w.stamps, "put the time into selected updates" },
        { "tsn", "ITEM", MD_OPTION_STRING, &w.stamp_item,
          "item that carries the time (the first open one); '*': any" },
        { "UL", "RATE", MD_OPTION_STRING, &w.stamp_rate, "updates with the time per second (10)" },
        { "tsa", NULL, MD_OPTION_FLAG, &w.stamps_all, "put the time into every update" },
        { "tsp", "PLACE", MD_OPTION_STRING, &w.place,
          "where in a burst: uniform, first, last (uniform)" },
        { "due", NULL, MD_OPTION_FLAG, &w.due,
          "the time is that at which the update was due, not when it was made" },
        { "seqdata", NULL, MD_OPTION_FLAG, &w.seqdata, "data that -seqcheck can judge" },
        { "seqnum", NULL, MD_OPTION_FLAG, &w.seqnum,
          "number the messages of each item: all clients get the same numbers" },
        { "marketfeed", NULL, MD_OPTION_FLAG, &w.marketfeed,
          "MarketPrice as Marketfeed records, container type 139" },
        { "kinds", "RATE|list", MD_OPTION_STRING, &w.kinds,
          "items of every kind of data, so many updates a second of each; list: which" },
        { "c", NULL, MD_OPTION_FLAG, &w.commands, "take commands from standard input" },
        { "I", "SECONDS", MD_OPTION_STRING, &w.interval,
          "a CSV line of statistics every so often" },
        { "nagle", NULL, MD_OPTION_FLAG, &w.nagle,
          "no TCP_NODELAY: small writes wait for acknowledgements, some 20 ms" },
        { "tcpnodel", NULL, MD_OPTION_FLAG, &w.nodelay,
          "TCP_NODELAY; it is the default, the option is accepted for compatibility" },
        { "tcpnodelay", NULL, MD_OPTION_FLAG, &w.nodelay, NULL },
        { "E", "WIRE", MD_OPTION_STRING, &w.wire.name,
          "rssl (TCP), tls or rsocket (RDMA); sslauto is treated as rssl" },
        { "eventMethod", "METHOD", MD_OPTION_STRING, &w.wire.method,
          "epoll, or poll and plain sockets: for a library loaded in front of the kernel (epoll)" },
        { "tlsCertFile", "FILE", MD_OPTION_STRING, &w.wire.certificate,
          "with -E tls: certificate to show" },
        { "tlsKeyFile", "FILE", MD_OPTION_STRING, &w.wire.key, "and its key" },
        { "tlsCaFile", "FILE", MD_OPTION_STRING, &w.wire.ca,
          "with -E tls: authorities the other side is checked against; a client must show a "
          "certificate then" },
        { "id", "N", MD_OPTION_STRING, &w.id, "id of the (first) service (1)" },
        { "qos", "QOS", MD_OPTION_STRING, &w.qos, "realtime or delayed" },
        { "dict", "FOLDER", MD_OPTION_STRING, &w.dict,
          "where RDMFieldDictionary, enumtype.def are" },
        { "host", "HOST[:PORT]", MD_OPTION_STRING, &w.host,
          "connect to src_dist (port 14003) and publish all items" },
        { "f", "FILE", MD_OPTION_STRING, &w.list, "items to publish with -host" },
        { "u", "USER", MD_OPTION_STRING, &w.user, "user to log in as with -host" },
        { "pw", "PASSWORD", MD_OPTION_STRING, &w.password,
          "and its password; every user of this host can see it: rather -pwfile" },
        { "pwfile", "FILE", MD_OPTION_STRING, &w.password_file,
          "file whose first line is that password" },
        { "seed", "N", MD_OPTION_STRING, &w.seed, "shuffle the order of the items" },
        { "maxclients", "N", MD_OPTION_STRING, &w.max_clients, "refuse further ones" },
        { "stop", "SECONDS", MD_OPTION_STRING, &w.stop, "end after so long" },
        { "cpu", "LIST", MD_OPTION_STRING, &w.cpu, "CPUs to run on" },
        { "trace", "N,FILE", MD_OPTION_STRING, &w.trace,
          "one update of N leaves time stamps in this file, as traceSample of the daemons" },
        { "fifo", "PRIORITY", MD_OPTION_STRING, &w.fifo, "SCHED_FIFO" },
        { "drop", "N", MD_OPTION_STRING, &w.drop, "lose one update in N, to try a checker" },
        { "dup", "N", MD_OPTION_STRING, &w.duplicate, "send one update in N twice, likewise" },
        { "mklist", "COUNT", MD_OPTION_STRING, &w.make_count, "print an item list and end" },
        { "help", NULL, MD_OPTION_FLAG, &w.help, "this text (also -h)" },
        { "h", NULL, MD_OPTION_FLAG, &w.help, NULL },
        { "version", NULL, MD_OPTION_FLAG, &w.version, "version and what is built in" },
    };
    const size_t count = sizeof(options) / sizeof(options[0]);
    struct md_option_list words = { .count = 0 };

    if (md_options_parse(PROGRAM, options, count, argc, argv, &words) != MD_OK)
        return MD_EXIT_CONFIG;
    if (w.help) {
        help(options, count);
        return MD_EXIT_OK;
    }
    if (w.version) {
        md_version_print(PROGRAM);
        return MD_EXIT_OK;
    }
    if (w.kinds && strcmp(w.kinds, "list") == 0) {
        kinds_list(stdout);
        return MD_EXIT_OK;
    }
    if (w.make_count)
        return make_list(w.make_count, &words);
    if (md_options_refuse_words(PROGRAM, options, count, &words) != MD_OK)
        return MD_EXIT_CONFIG;
    if (w.file && recorded_is(w.file))
        return play_recording(&w);
    struct sds *sds = calloc(1, sizeof(*sds));
    if (!sds)
        return MD_EXIT_FILE;
    itemlist_init(&sds->list);
    int rc = understand(&w, sds);
    if (rc == MD_EXIT_OK)
        rc = load_files(&w, sds);
    if (rc == MD_EXIT_OK)
        rc = set_scheduling(&w);
    if (rc == MD_EXIT_OK)
        rc = start(sds, &w);
    if (rc == MD_EXIT_OK) {
        (void)md_loop_run(sds->loop);
        sds_print_stats(sds);
    }
    stop(sds);
    return rc;
}
