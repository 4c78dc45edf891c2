/* commands.c - what the operator types while it runs, and the statistics line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "input.h"
#include "sds.h"
#include "usage.h"

struct console {
    struct sds *sds;
    struct md_loop_fd *watch;
    char line[1024];
    size_t used;
};

/*
 * The rate since it holds, and whether that is too little. Of less than a second nothing is said,
 * it waits for the next look; and the burst that is not due yet is missed by nobody.
 */
static bool judge(const struct sds *sds, struct sds_judged *judged,
                  const struct ticker_stats *ticks, uint64_t now_ns, double *rate)
{
    double seconds = (double)(now_ns - judged->from_ns) / 1e9;
    double updates = (double)(sds->stats.updates - judged->from_updates);
    double due = (double)ticks->rate * (seconds - 1.0 / ticks->ticks_per_second);

    *rate = sds->open_count > 0 && seconds > 0 ? updates / seconds : 0;
    if (sds->open_count == 0 || seconds < 1)
        return false;
    *judged = (struct sds_judged){ now_ns, sds->stats.updates };
    return updates < 0.99 * due;
}

void sds_print_stats(struct sds *sds)
{
    const struct sds_stats *stats = &sds->stats;
    struct ticker_stats ticks;
    double rate;

    ticker_stats(sds->ticker, &ticks);
    bool is_short = judge(sds, &sds->st_judged, &ticks, md_clock_mono_ns(), &rate);
    printf("sink_driven_src: %.0f of %llu updates/s in %u bursts/s%s, %zu clients, %zu items open, "
           "late %.1f ms, %llu updates, %llu stamped, %llu given up, %llu blocked, %llu refreshes, "
           "%llu posts, %llu errors",
           rate, (unsigned long long)ticks.rate, ticks.ticks_per_second,
           is_short ? " NOT REACHED" : "", sds->client_count, sds->open_count,
           (double)ticks.late_max_ns / 1e6, (unsigned long long)stats->updates,
           (unsigned long long)stats->stamped, (unsigned long long)ticks.skipped,
           (unsigned long long)ticks.blocked, (unsigned long long)stats->refreshes,
           (unsigned long long)stats->posts, (unsigned long long)stats->errors);
    if (stats->dropped || stats->duplicated)
        printf(", on purpose %llu dropped %llu doubled", (unsigned long long)stats->dropped,
               (unsigned long long)stats->duplicated);
    printf("\n");
    fflush(stdout);
}

void sds_line_start(struct sds *sds)
{
    usage_print_header(stdout);
    sds->line_stats = sds->stats;
    sds->line_ns = md_clock_mono_ns();
    sds->line_cpu_ns = usage_cpu_ns();
}

/* The latency of a publisher is how late its bursts were. What is not reached is said beside. */
void sds_line(struct sds *sds)
{
    const struct sds_stats *stats = &sds->stats, *before = &sds->line_stats;
    uint64_t now_ns = md_clock_mono_ns(), cpu_ns = usage_cpu_ns();
    double seconds = (double)(now_ns - sds->line_ns) / 1e9;
    struct ticker_stats ticks;
    double rate;

    ticker_stats(sds->ticker, &ticks);
    usage_print(stdout,
                &(struct usage_line){ .seconds = seconds,
                                      .updates = stats->updates - before->updates,
                                      .refreshes = stats->refreshes - before->refreshes,
                                      .statuses = stats->statuses - before->statuses,
                                      .bytes = stats->bytes - before->bytes,
                                      .items_open = sds->open_count,
                                      .lat_mean_us = ticks.bursts ? (double)ticks.late_sum_ns /
                                                                        (double)ticks.bursts / 1e3
                                                                  : 0,
                                      .lat_max_us = ticks.late_max_ns / 1000,
                                      .cpu_ns = cpu_ns - sds->line_cpu_ns,
                                      .errors = stats->errors });
    if (judge(sds, &sds->line_judged, &ticks, now_ns, &rate))
        fprintf(stderr, "sink_driven_src: %.0f of %llu updates/s NOT REACHED\n", rate,
                (unsigned long long)ticks.rate);
    sds->line_stats = *stats;
    sds->line_ns = now_ns;
    sds->line_cpu_ns = cpu_ns;
}

static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;

    if (!text || !*text || *text == '-')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *out >= low && *out <= high;
}

static void complain(const char *what)
{
    printf("sink_driven_src: %s\n", what);
    fflush(stdout);
}

static void service_command(struct sds *sds, const char *name, const char *state)
{
    for (size_t i = 0; name && state && i < sds->service_count; i++) {
        if (strcmp(sds->services[i].name, name) != 0)
            continue;
        if (strcmp(state, "up") == 0 || strcmp(state, "down") == 0) {
            sds_service_set(sds, &sds->services[i], state[0] == 'u');
            return;
        }
    }
    complain("sv SERVICE up|down: the state of one of our services");
}

static void item_command(struct sds *sds, const char *name, const char *verb)
{
    struct item *item = name ? sds_item_find(sds, name) : NULL;

    if (!item) {
        complain("it NAME close|refresh|update|suspect: no such item is known");
        return;
    }
    if (verb && strcmp(verb, "update") == 0 && item->kind) {
        kinds_step(sds, item);
    } else if (verb && strcmp(verb, "update") == 0) {
        (void)emitter_update(sds->emitter, item, false, md_clock_mono_ns());
    } else if (verb && strcmp(verb, "close") == 0) {
        while (item->watches) {
            struct watch *watch = item->watches;
            sds_send_status(watch->client, watch->stream_id, item->domain, watch->is_private,
                            RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_NOT_FOUND,
                            "closed by the provider");
            sds_watch_remove(watch);
        }
    } else if (verb && strcmp(verb, "suspect") == 0) {
        for (struct watch *watch = item->watches; watch; watch = watch->next)
            sds_send_status(watch->client, watch->stream_id, item->domain, watch->is_private,
                            RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                            "suspect by the provider");
    } else {
        for (struct watch *watch = item->watches; watch; watch = watch->next)
            sds_send_image(watch, false, true, NULL);
    }
    sds_clients_flush(sds);
}

static void help(void)
{
    printf("ur RATE          updates per second, all items together\n"
           "ul RATE          of these, with the time in TIM_TRK_1\n"
           "tps N            bursts per second\n"
           "due on|off       the time is that at which the update was due\n"
           "st               statistics\n"
           "counts FILE      write how many updates each item has had, between two bursts\n"
           "it NAME [close|refresh|update|suspect]\n"
           "sv SERVICE up|down\n"
           "fl               hang up on all clients\n"
           "q                quit\n");
    fflush(stdout);
}

void sds_command(struct sds *sds, char *line)
{
    char *rest = NULL;
    const char *verb = strtok_r(line, " \t\r\n", &rest);
    const char *first = strtok_r(NULL, " \t\r\n", &rest);
    const char *second = strtok_r(NULL, " \t\r\n", &rest);
    uint64_t value;

    if (!verb)
        return;
    if (strcmp(verb, "ur") == 0 || strcmp(verb, "ul") == 0) {
        if (!number(first, 0, 100000000, &value))
            complain("a rate is a number from 0 to 100000000");
        else if (verb[1] == 'r')
            ticker_set_rate(sds->ticker, value);
        else
            sds->options.stamp_rate = value;
    } else if (strcmp(verb, "due") == 0 && first) {
        sds->options.due = strcmp(first, "on") == 0;
    } else if (strcmp(verb, "tps") == 0) {
        if (number(first, 1, 1000000, &value))
            ticker_set_ticks(sds->ticker, (uint32_t)value);
        else
            complain("tps N: bursts per second, 1 to 1000000");
    } else if (strcmp(verb, "st") == 0) {
        sds_print_stats(sds);
    } else if (strcmp(verb, "counts") == 0 && first) {
        sds_counts_ask(sds, first);
    } else if (strcmp(verb, "it") == 0) {
        item_command(sds, first, second);
    } else if (strcmp(verb, "sv") == 0) {
        service_command(sds, first, second);
    } else if (strcmp(verb, "fl") == 0) {
        sds_client_drop_all(sds);
    } else if (strcmp(verb, "q") == 0) {
        md_loop_stop(sds->loop);
    } else {
        help();
    }
}

static void on_input(void *owner, int fd, unsigned events)
{
    struct console *console = owner;
    ssize_t n = read(fd, console->line + console->used, sizeof(console->line) - 1 - console->used);

    (void)events;
    if (n <= 0) {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        md_loop_fd_remove(console->watch); /* no more commands; everything else goes on */
        console->watch = NULL;
        return;
    }
    console->used += (size_t)n;
    char *start = console->line, *stop;
    while ((stop = memchr(start, '\n', console->used)) != NULL) {
        *stop = 0;
        console->used -= (size_t)(stop + 1 - start);
        sds_command(console->sds, start);
        start = stop + 1;
    }
    memmove(console->line, start, console->used);
    if (console->used == sizeof(console->line) - 1)
        console->used = 0; /* no command is that long */
}

int sds_console_start(struct sds *sds)
{
    struct console *console = calloc(1, sizeof(*console));

    sds->console = console;
    if (!console)
        return MD_ERR_NOMEM;
    console->sds = sds;
    if (tool_input_is_live())
        (void)md_loop_fd_add(sds->loop, STDIN_FILENO, MD_LOOP_READ, on_input, console,
                             &console->watch);
    return MD_OK;
}

void sds_console_stop(struct sds *sds)
{
    if (!sds->console)
        return;
    md_loop_fd_remove(sds->console->watch);
    free(sds->console);
    sds->console = NULL;
}
