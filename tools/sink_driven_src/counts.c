/* counts.c - how far each item has come, for whoever compares it with what arrived. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sds.h"

void sds_counts_ask(struct sds *sds, const char *path)
{
    free(sds->counts_path);
    sds->counts_path = strdup(path);
}

static bool write_lines(const struct sds *sds, FILE *file)
{
    struct md_table_walk walk = { 0 };
    const struct item *item;
    size_t count = 0;

    while ((item = md_table_next(sds->items, &walk)) != NULL) {
        fprintf(file, "%u %s %u %s\n", item->count, item->service->name, item->domain, item->name);
        count++;
    }
    fprintf(file, "# %zu items\n", count);
    return !ferror(file);
}

/* Under another name first: who waits for the file finds the whole of it. */
static bool write_file(const struct sds *sds, const char *path)
{
    char partial[PATH_MAX];

    if (snprintf(partial, sizeof(partial), "%s.new", path) >= (int)sizeof(partial)) {
        errno = ENAMETOOLONG;
        return false;
    }
    FILE *file = fopen(partial, "we");
    if (!file)
        return false;
    bool is_whole = write_lines(sds, file);
    return fclose(file) == 0 && is_whole && rename(partial, path) == 0;
}

void sds_counts_write(struct sds *sds)
{
    if (!write_file(sds, sds->counts_path))
        fprintf(stderr, "sink_driven_src: cannot write %s: %s\n", sds->counts_path,
                strerror(errno));
    free(sds->counts_path);
    sds->counts_path = NULL;
}
