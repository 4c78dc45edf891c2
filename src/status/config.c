/* config.c - what the configuration sets, with the line that sets it, as texts of the segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include <stdio.h>
#include <string.h>

struct shown {
    struct stats_segment *segment;
    const char *process;
};

static void show(void *arg, const char *path, const struct md_conf_value *value)
{
    const struct shown *shown = arg;
    const char *slash = value->file ? strrchr(value->file, '/') : NULL;
    char text[STATS_STRING_BYTES];
    char place[40];

    if (!value->file)
        return; /* a default: the manual has it */
    int length =
        snprintf(place, sizeof(place), "  %.24s:%u", slash ? slash + 1 : value->file, value->line);
    snprintf(text, sizeof(text), "%.*s%s", (int)sizeof(text) - 1 - length, value->text, place);
    struct stats_entry *entry =
        stats_entry_addf(shown->segment, STATS_KIND_STRING, "%s.config.%s", shown->process, path);
    stats_string_set(shown->segment, entry, text);
}

void status_show_config(struct stats_segment *segment, const char *process,
                        const struct md_conf *conf)
{
    struct shown shown = { .segment = segment, .process = process };

    md_conf_each(conf, show, &shown);
}
