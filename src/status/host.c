/* host.c - the other daemons of this host: how each is, and where its page is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "status/status.h"

/* What the configuration says of its page, "18081  rmds.cnf:12"; 0: it has none. */
static uint16_t port_of(const struct stats_reader *reader)
{
    static const char name[] = ".statusPort";
    struct stats_value value;
    size_t at = 0;

    while (stats_reader_next(reader, &at, &value)) {
        size_t length = strlen(value.path);
        if (value.kind == STATS_KIND_STRING && length >= sizeof(name) &&
            strstr(value.path, ".config.") &&
            strcmp(value.path + length - (sizeof(name) - 1), name) == 0)
            return (uint16_t)strtoul(value.text, NULL, 10);
    }
    return 0;
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
        memcpy(daemon->name, names[i], sizeof(daemon->name));
        daemon->liveness = stats_reader_liveness(reader, now_ns);
        daemon->port = port_of(reader);
        daemon->has_trouble = stats_reader_find(reader, "trouble", &trouble);
        stats_reader_close(reader);
    }
    return found;
}
