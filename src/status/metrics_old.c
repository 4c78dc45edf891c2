/* metrics_old.c - the names that metrics had before they had units, for metricNames "both". */
/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <stdio.h>
#include <string.h>

/* The groups of things. Behind the word stands which one, then its value. */
static const char *const groups[] = { "worker", "user",     "mount", "service",
                                      "route",  "provider", "peer",  "config" };

static const char *group_of(const char *path)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        size_t length = strlen(groups[i]);
        if (strncmp(path, groups[i], length) == 0 && path[length] == '.' &&
            strrchr(path, '.') > path + length)
            return groups[i];
    }
    return NULL;
}

static void add(char *family, const char *text, size_t length)
{
    status_name_add(family, STATUS_METRIC_BYTES - sizeof("_seconds"), text, length);
}

/* "p2ps.worker.0.updatesIn" of p2ps is rmds_p2ps_worker_updates_in_total{worker="0"}. */
void sample_name_old(struct sample *sample, const char *process)
{
    static const char *const suffixes[] = { "", "_total", "", "_info", "_seconds", "" };
    static const char *const types[] = {
        "gauge", "counter", "gauge", "gauge", "gauge", "histogram"
    };
    const char *path = sample->value.path;
    size_t length = strlen(process);

    snprintf(sample->family, sizeof(sample->family), "rmds_");
    if (strncmp(path, process, length) == 0 && path[length] == '.') {
        add(sample->family, process, strcspn(process, "."));
        add(sample->family, "_", 1);
        path += length + 1;
    }
    const char *group = group_of(path), *name = strrchr(path, '.');
    if (group) {
        size_t group_length = strlen(group);
        sample->place.group = group;
        sample->place.group_length = group_length;
        sample->place.which = (struct md_slice){ (const uint8_t *)path + group_length + 1,
                                                 (size_t)(name - path) - group_length - 1 };
        add(sample->family, group, group_length);
        add(sample->family, "_", 1);
        path = name + 1;
    }
    add(sample->family, path, strlen(path));
    size_t used = strlen(sample->family);
    snprintf(sample->family + used, sizeof(sample->family) - used, "%s",
             suffixes[sample->value.kind]);
    sample->type = types[sample->value.kind];
    sample->help = "An old name, shown because metricNames is both.";
}
