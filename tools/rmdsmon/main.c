/* main.c - rmdsmon: what the daemons of this host are doing, from their statistics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "conf/options.h"
#include "monitor.h"

#define PROGRAM "rmdsmon"

struct words {
    const char *config, *instance, *run_dir, *section, *watch, *process, *sort;
    bool once, json, csv, objects, help, version;
};

/* The names under which the program is known, and what each shows. */
static const char *process_of(const char *argv0)
{
    static const struct {
        const char *name;
        const char *process;
    } names[] = {
        { "p2psmon", "p2ps" },    { "adsmon", "p2ps" },   { "src_distmon", "src_dist" },
        { "adhmon", "src_dist" }, { "rrcpmon", "rrcpd" },
    };
    const char *slash = strrchr(argv0, '/');
    const char *base = slash ? slash + 1 : argv0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].name, base) == 0)
            return names[i].process;
    }
    return NULL;
}

static void help(const struct md_option *options, size_t count)
{
    printf(PROGRAM " - the daemons on this host, live\n\nusage: " PROGRAM " [option]...\n\n");
    for (size_t i = 0; i < count; i++) {
        char left[64];
        if (!options[i].help)
            continue;
        snprintf(left, sizeof(left), "-%s%s%s", options[i].name, options[i].argument ? " " : "",
                 options[i].argument ? options[i].argument : "");
        printf("  %-20s %s\n", left, options[i].help);
    }
    printf(
        "\nCalled p2psmon, src_distmon or rrcpmon it shows those alone (adsmon, adhmon: the first "
        "two).\nExit codes: 0 all well, 1 options, 2 the folder cannot be read, 3 nothing is "
        "running,\n4 a daemon is dead or hung, 5 a daemon runs and cannot do its work,\n"
        "6 the statistics may not be read: permission denied. See " PROGRAM "(1).\n");
}

static int terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 80)
        return size.ws_col;
    return isatty(STDOUT_FILENO) ? 80 : 400;
}

static int print_all(const struct monitor *monitor, const struct words *w)
{
    bool is_terminal = isatty(STDOUT_FILENO) != 0;

    if (w->json)
        print_json(monitor, stdout);
    else if (w->csv)
        print_csv(monitor, stdout);
    else if (w->objects)
        print_objects(monitor, stdout, w->section ? w->section : "ALL");
    else if (w->section)
        print_section(monitor, stdout, w->section);
    else
        print_overview(monitor, stdout, is_terminal, terminal_width());
    if (monitor->count == 0)
        return 3;
    int rc = 0;
    for (size_t i = 0; i < monitor->count; i++) {
        const struct monitor_instance *instance = &monitor->instances[i];
        if (monitor_rank(instance) >= 2 && !instance->is_denied)
            return 4;
        if (instance->is_denied)
            rc = 6;
        else if (instance->has_trouble && rc == 0)
            rc = 5;
    }
    return rc;
}

static void pause_for(double seconds)
{
    struct timespec pause = { .tv_sec = (time_t)seconds,
                              .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

    (void)nanosleep(&pause, NULL);
}

/* Plain output: once, or again and again. Rates need two looks. */
static int run_plain(struct monitor *monitor, const struct words *w, double interval_s)
{
    int rc = 0;

    if (monitor_look(monitor, md_clock_mono_ns()) != MD_OK) {
        fprintf(stderr, PROGRAM ": cannot read %s\n", monitor->run_dir);
        return 2;
    }
    do {
        pause_for(interval_s);
        if (interval_s > 0)
            (void)monitor_look(monitor, md_clock_mono_ns());
        rc = print_all(monitor, w);
    } while (!w->once && w->watch && interval_s > 0);
    return rc;
}

/* runDir of the configuration named with -c, if a line sets it; else of whoever runs with it. */
static int find_run_dir(const struct words *w, const char **out, struct md_conf **conf)
{
    static char found[512];
    struct md_conf_options options = { .program = "p2ps", .file = w->config };

    *conf = NULL;
    *out = w->run_dir ? w->run_dir : found;
    if (w->run_dir)
        return 0;
    if (!w->config)
        return find_system(NULL, found, sizeof(found)) == MD_OK ? 0 : 1;
    (void)md_conf_load(&options, conf);
    if (!*conf) {
        fprintf(stderr, PROGRAM ": cannot read %s\n", w->config);
        return 2;
    }
    struct md_conf_object object = md_conf_object(*conf, MD_CONF_DAEMON, NULL);
    if (!md_conf_is_set(&object, "runDir"))
        return find_system(w->config, found, sizeof(found)) == MD_OK ? 0 : 1;
    *out = md_conf_string(&object, "runDir");
    return 0;
}

int main(int argc, char **argv)
{
    struct words w = { .process = process_of(argv[0]) };
    const struct md_option options[] = {
        { "c", "FILE", MD_OPTION_STRING, &w.config, "the system that runs with this rmds.cnf" },
        { "run", "FOLDER", MD_OPTION_STRING, &w.run_dir,
          "the runDir of the system (the only system there is)" },
        { "shm", "FOLDER", MD_OPTION_STRING, &w.run_dir, NULL }, /* as it was called before */
        { "instance", "N", MD_OPTION_STRING, &w.instance, "only this instance" },
        { "process", "NAME", MD_OPTION_STRING, &w.process, "only these: p2ps, src_dist, rrcpd" },
        { "once", NULL, MD_OPTION_FLAG, &w.once, "print the overview once, plainly" },
        { "watch", "SECONDS", MD_OPTION_STRING, &w.watch,
          "interval (1); with a plain form: print it again and again" },
        { "print", "SECTION", MD_OPTION_STRING, &w.section,
          "MOUNTS SERVICES ITEMS RRCP ROUTES CONFIG MEMORY ALL" },
        { "sort", "ORDER", MD_OPTION_STRING, &w.sort,
          "the overview by trouble, name, in, out, turn, rtt, queues, clients or items; with "
          "-print "
          "tables by a column, as PER-SEC" },
        { "mobprint", NULL, MD_OPTION_FLAG, &w.objects,
          "managed objects, as collectors read them" },
        { "json", NULL, MD_OPTION_FLAG, &w.json, "everything as JSON" },
        { "csv", NULL, MD_OPTION_FLAG, &w.csv, "the overview as CSV" },
        { "help", NULL, MD_OPTION_FLAG, &w.help, "this text (also -h)" },
        { "h", NULL, MD_OPTION_FLAG, &w.help, NULL },
        { "version", NULL, MD_OPTION_FLAG, &w.version, "version and what is built in" },
    };
    const size_t count = sizeof(options) / sizeof(options[0]);
    struct md_option_list words = { .count = 0 };
    struct md_conf *conf = NULL;
    const char *run_dir;
    char *end = NULL;

    if (md_options_parse(PROGRAM, options, count, argc, argv, &words) != MD_OK)
        return 1;
    if (w.help) {
        help(options, count);
        return 0;
    }
    if (w.version) {
        md_version_print(PROGRAM);
        return 0;
    }
    if (md_options_refuse_words(PROGRAM, options, count, &words) != MD_OK)
        return 1;
    double interval_s = w.watch ? strtod(w.watch, &end) : 1;
    if ((w.watch && (end == w.watch || *end || interval_s < 0)) ||
        (w.section && !monitor_is_section(w.section))) {
        fprintf(stderr, PROGRAM ": %s; -help lists the options\n",
                w.section ? "-print is one of MOUNTS SERVICES ITEMS RRCP ROUTES CONFIG MEMORY "
                            "ALL"
                          : "-watch is a number of seconds");
        return 1;
    }
    enum monitor_order order;
    if (w.sort && (w.section ? !rows_has_title(w.sort) : !monitor_order_find(w.sort, &order))) {
        fprintf(stderr, PROGRAM ": -sort %s: %s; -help lists the options\n", w.sort,
                w.section ? "no table has this column; it is a title as -print shows it"
                          : "it is one of trouble name in out turn rtt queues clients items");
        return 1;
    }
    int rc = find_run_dir(&w, &run_dir, &conf);
    struct monitor *monitor = rc == 0 ? calloc(1, sizeof(*monitor)) : NULL;
    if (monitor) {
        monitor_init(monitor, run_dir, w.process, w.instance);
        monitor->sort = w.section ? w.sort : NULL;
        if (w.sort && !w.section)
            (void)monitor_order_find(w.sort, &monitor->order);
        bool is_plain = w.once || w.section || w.objects || w.json || w.csv ||
                        !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
        rc = is_plain ? run_plain(monitor, &w, interval_s) : screen_run(monitor, interval_s);
        monitor_fini(monitor);
    }
    free(monitor);
    md_conf_destroy(conf);
    return rc;
}
