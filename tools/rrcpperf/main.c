/* main.c - rrcpperf: load and measure the backbone, through rrcpd or with the engine inside. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "conf/options.h"
#include "perf.h"

struct words {
    const char *topic, *size, *rate, *seconds, *warmup, *tick, *publishers, *timeout, *ring;
    const char *file, *network, *instance, *run_dir, *hist, *counts;
    bool in_process, reply, json, spin, help, version;
    struct md_option_list lines;
};

static void usage(void)
{
    puts("rrcpperf - publish, subscribe, measure on the backbone\n"
         "\n"
         "usage: rrcpperf pub|sub|ping [option]...\n"
         "\n"
         "  --size BYTES       of a message (64)\n"
         "  --rate N           messages/s of this publisher; 0: as fast as it goes (0)\n"
         "  --seconds S        measured time (5)\n"
         "  --warmup S         before that (0.5)\n"
         "  --tick US          with a rate: bursts this far apart (1000)\n"
         "  --topic N          topic of the messages (4096)\n"
         "  --publishers N     sub: end when N publishers have ended (1)\n"
         "  --timeout S        sub: end after so long without a message (10)\n"
         "  --reply            ping: answer the questions of another ping\n"
         "  --ring BYTES       outbound ring, a power of two (16777216)\n"
         "  --spin             poll instead of sleeping\n"
         "  --json             one line of JSON\n"
         "  --hist FILE        sub: the latency histogram, HDR percentile format\n"
         "  --counts FILE      sub: the same as LOW HIGH COUNT of each bucket, ns, to add runs up\n"
         "  --network NAME     backbone network\n"
         "  --instance N       which rrcpd of it on this host\n"
         "  --run-dir DIR      folder of the attach sockets\n"
         "  --in-process       the engine inside this process: no rrcpd\n"
         "  -c FILE            rmds.cnf\n"
         "  -set 'LINE'        an entry after all files, e.g. '*rrcp*interface : lo'\n"
         "  --version          version and what is built in\n"
         "  --help             this text (also -h)\n"
         "\n"
         "All options may be written with one dash.\n"
         "Exit status 0; 1 when nothing was received, or something twice, damaged, or missing\n"
         "without a word.");
}

static double number(const char *text, double fallback)
{
    return text ? strtod(text, NULL) : fallback;
}

static int parse(int argc, char **argv, struct words *w, struct md_option_list *bare)
{
    const struct md_option table[] = {
        { "topic", "N", MD_OPTION_STRING, &w->topic, NULL },
        { "size", "BYTES", MD_OPTION_STRING, &w->size, NULL },
        { "rate", "N", MD_OPTION_STRING, &w->rate, NULL },
        { "seconds", "S", MD_OPTION_STRING, &w->seconds, NULL },
        { "warmup", "S", MD_OPTION_STRING, &w->warmup, NULL },
        { "tick", "US", MD_OPTION_STRING, &w->tick, NULL },
        { "publishers", "N", MD_OPTION_STRING, &w->publishers, NULL },
        { "timeout", "S", MD_OPTION_STRING, &w->timeout, NULL },
        { "ring", "BYTES", MD_OPTION_STRING, &w->ring, NULL },
        { "hist", "FILE", MD_OPTION_STRING, &w->hist, NULL },
        { "counts", "FILE", MD_OPTION_STRING, &w->counts, NULL },
        { "network", "NAME", MD_OPTION_STRING, &w->network, NULL },
        { "instance", "N", MD_OPTION_STRING, &w->instance, NULL },
        { "run-dir", "DIR", MD_OPTION_STRING, &w->run_dir, NULL },
        { "c", "FILE", MD_OPTION_STRING, &w->file, NULL },
        { "set", "LINE", MD_OPTION_LIST, &w->lines, NULL },
        { "in-process", NULL, MD_OPTION_FLAG, &w->in_process, NULL },
        { "reply", NULL, MD_OPTION_FLAG, &w->reply, NULL },
        { "json", NULL, MD_OPTION_FLAG, &w->json, NULL },
        { "spin", NULL, MD_OPTION_FLAG, &w->spin, NULL },
        { "help", NULL, MD_OPTION_FLAG, &w->help, NULL },
        { "h", NULL, MD_OPTION_FLAG, &w->help, NULL },
        { "version", NULL, MD_OPTION_FLAG, &w->version, NULL },
    };

    return md_options_parse("rrcpperf", table, sizeof(table) / sizeof(table[0]), argc, argv, bare);
}

/* The configuration is rrcpd's own: what an rrcpd would do on this network, with -set on top. */
static int load(const struct words *w, struct md_conf **conf, struct attach_settings *settings)
{
    char instance[24];
    char why[256];
    struct md_conf_options options = { .program = "rrcpd",
                                       .instance = instance,
                                       .network = w->network,
                                       .file = w->file ? w->file : "/dev/null",
                                       .lines = w->lines.item,
                                       .line_count = w->lines.count,
                                       .sink = md_conf_stderr };
    char name[] = "rrcpperf";

    options.sink_arg = name;
    snprintf(instance, sizeof(instance), "perf%d", (int)getpid());
    if (md_conf_load(&options, conf) != 0)
        return MD_EXIT_CONFIG;
    if (attach_settings_read(*conf, NULL, settings, why, sizeof(why)) != 0) {
        fprintf(stderr, "rrcpperf: %s\n", why);
        return MD_EXIT_CONFIG;
    }
    settings->config.in_process = w->in_process ? &settings->node : NULL;
    if (w->instance)
        settings->config.rrcpd_instance = w->instance;
    if (w->run_dir)
        settings->config.run_dir = w->run_dir;
    settings->config.outbound_bytes = (uint32_t)number(w->ring, 0);
    return 0;
}

static void on_signal(int signal)
{
    (void)signal;
    perf_must_stop = true;
}

static int run(const struct words *w, const char *mode, struct attach_settings *settings)
{
    struct perf_options options = {
        .mode = mode,
        .settings = settings,
        .topic = (uint32_t)number(w->topic, 4096),
        .size = (uint32_t)number(w->size, 64),
        .rate = number(w->rate, 0),
        .seconds = number(w->seconds, 5),
        .warmup = number(w->warmup, 0.5),
        .tick_us = (uint32_t)number(w->tick, 1000),
        .publishers = (uint32_t)number(w->publishers, 1),
        .timeout = number(w->timeout, 10),
        .is_reply = w->reply,
        .want_json = w->json,
        .spin = w->spin,
        .hist_path = w->hist,
        .counts_path = w->counts,
    };
    struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (options.size < PERF_SIZE_MIN) {
        fprintf(stderr, "rrcpperf: --size: %u is too small; %d bytes at least\n", options.size,
                (int)PERF_SIZE_MIN);
        return MD_EXIT_CONFIG;
    }
    if (strcmp(mode, "pub") == 0)
        return perf_publish(&options);
    if (strcmp(mode, "sub") == 0)
        return perf_subscribe(&options);
    if (strcmp(mode, "ping") == 0)
        return perf_ping(&options);
    fprintf(stderr, "rrcpperf: \"%s\": expected pub, sub or ping\n", mode);
    return MD_EXIT_CONFIG;
}

int main(int argc, char **argv)
{
    struct words w = { 0 };
    struct md_option_list bare = { .count = 0 };
    struct md_conf *conf = NULL;
    struct attach_settings *settings = calloc(1, sizeof(*settings));
    int code = settings && parse(argc, argv, &w, &bare) == 0 ? 0 : MD_EXIT_CONFIG;

    if (code == 0 && w.version && !w.help) {
        md_version_print("rrcpperf");
    } else if (code == 0 && (w.help || bare.count != 1)) {
        usage();
        code = w.help ? 0 : MD_EXIT_CONFIG;
    } else if (code == 0) {
        code = load(&w, &conf, settings);
        if (code == 0)
            code = run(&w, bare.item[0], settings);
    }
    md_conf_destroy(conf);
    free(settings);
    return code;
}
