/* host.c - the daemons of this host: how each is, what goes through it, and where its page is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "parts.h"
#include "status/status.h"

/* A sum over the workers and loops of a daemon, by the last word of the path. */
static const char *const figure_names[] = {
    "updatesIn", "updatesOut", "mounts",       "mountsSlowNow", "itemsOpen",
    "providers", "services",   "servicesDown", "users",         "peersNow",
    "msgsSent",  "msgsRcvd",   "routesDown",
};

#define FIGURES     (sizeof(figure_names) / sizeof(figure_names[0]))
#define ROUTES_DOWN (FIGURES - 1) /* counted here, out of the states of the routes */

_Static_assert(FIGURES <= STATUS_FIGURES_MAX, "a bit of `known` for each");

const char *status_figure_name(unsigned figure)
{
    return figure < FIGURES ? figure_names[figure] : NULL;
}

static void add_figure(struct status_daemon *daemon, unsigned figure, uint64_t value)
{
    daemon->figures[figure] += value;
    daemon->known |= 1u << figure;
}

bool status_is_part(const char *path)
{
    static const char *const parts[] = { ".mount.",  ".user.",    ".provider.",
                                         ".route.",  ".service.", ".config.",
                                         ".memory.", ".peer.",    ".quota." };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(path, parts[i]))
            return true;
    }
    return strncmp(path, "memory.", 7) == 0;
}

static void take_sum(struct status_daemon *daemon, const struct stats_value *value,
                     const char *leaf)
{
    if (status_is_part(value->path))
        return;
    for (unsigned i = 0; i < ROUTES_DOWN; i++) {
        if (strcmp(leaf, figure_names[i]) == 0)
            add_figure(daemon, i, value->value);
    }
}

/* The port of its page and the line that sets it, "18081  rmds.cnf:12". */
static void take_text(struct status_daemon *daemon, const struct stats_value *value,
                      const char *leaf)
{
    if (strcmp(leaf, "statusPort") == 0 && strstr(value->path, ".config."))
        daemon->port = (uint16_t)strtoul(value->text, NULL, 10);
    if (strcmp(leaf, "state") == 0 && strstr(value->path, ".route."))
        add_figure(daemon, ROUTES_DOWN, strcmp(value->text, "up") != 0);
}

/* The value `leaf` beside the name at `path`: rrcpd.net1.peer.7.name, rrcpd.net1.peer.7.rttUs. */
static uint64_t beside(const struct stats_reader *reader, const char *path, const char *leaf)
{
    char other[STATS_PATH_BYTES];
    struct stats_value value;
    int length =
        snprintf(other, sizeof(other), "%.*s%s", (int)(strlen(path) - strlen("name")), path, leaf);

    if (length < 0 || (size_t)length >= sizeof(other))
        return 0;
    return stats_reader_find(reader, other, &value) ? value.value : 0;
}

static void add_node(const struct stats_reader *reader, const struct stats_value *value,
                     struct status_node *nodes, unsigned *count)
{
    if (*count == STATUS_NODES_MAX)
        return;
    struct status_node *node = &nodes[(*count)++];
    size_t length = strnlen(value->text, sizeof(node->name) - 1);

    memcpy(node->name, value->text, length);
    node->name[length] = 0;
    node->rtt_us = beside(reader, value->path, "rttUs");
    node->missing_now = beside(reader, value->path, "missingNow");
}

static void take_values(const struct stats_reader *reader, struct status_daemon *daemon)
{
    struct stats_value value;
    size_t at = 0;

    while (stats_reader_next(reader, &at, &value)) {
        const char *leaf = strrchr(value.path, '.');

        if (!leaf++)
            continue;
        if (value.kind == STATS_KIND_COUNTER || value.kind == STATS_KIND_GAUGE)
            take_sum(daemon, &value, leaf);
        else if (value.kind == STATS_KIND_STRING && strcmp(leaf, "name") != 0)
            take_text(daemon, &value, leaf);
        else if (value.kind == STATS_KIND_STRING && strstr(value.path, ".user."))
            add_node(reader, &value, daemon->users, &daemon->user_count);
        else if (value.kind == STATS_KIND_STRING && strstr(value.path, ".peer."))
            add_node(reader, &value, daemon->nodes, &daemon->node_count);
    }
}

unsigned status_look_around(const char *run_dir, uint64_t now_ns, struct status_daemon *out)
{
    char names[STATUS_DAEMONS_MAX][STATS_NAME_BYTES];
    int count = stats_segment_list(run_dir, names, STATUS_DAEMONS_MAX);
    unsigned found = 0;

    for (int i = 0; i < count && i < STATUS_DAEMONS_MAX; i++) {
        struct stats_reader *reader;
        struct stats_value trouble;
        if (stats_reader_open(run_dir, names[i], &reader) != 0)
            continue;
        struct status_daemon *daemon = &out[found++];
        *daemon = (struct status_daemon){ .read_ns = md_clock_mono_ns() };
        memcpy(daemon->name, names[i], sizeof(daemon->name));
        daemon->liveness = stats_reader_liveness(reader, now_ns);
        daemon->has_trouble = stats_reader_find(reader, "trouble", &trouble);
        if (daemon->has_trouble)
            memcpy(daemon->trouble, trouble.text, strnlen(trouble.text, STATS_STRING_BYTES - 1));
        take_values(reader, daemon);
        stats_reader_close(reader);
    }
    return found;
}
