/* names.h - which row of the table a path of the segment belongs to. Private to status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_NAMES_H
#define STATUS_NAMES_H

#include "base/slice.h"
#include "status/figures.h"

/* The rows, sorted for the search. */
struct status_index;

struct status_index *status_index_create(void); /* NULL: no memory */
void status_index_destroy(struct status_index *index);

/* A path taken apart; what is empty is not in it. Views point into the path and the table. */
struct status_place {
    const struct status_figure *figure; /* NULL: no row */
    const char *group;                  /* "worker" */
    size_t group_length;
    struct md_slice which;   /* "0" */
    struct md_slice part;    /* what stands for the "*" of the leaf */
    struct md_slice network; /* "net1" of a daemon on several networks */
    const char *leaf;        /* the last word of the path */
};

/* `process`: "p2ps", "rrcpd.net1". */
void status_place_find(const struct status_index *index, const char *process, const char *path,
                       struct status_place *out);

/* Behind the text in `out`: updatesIn, "auth missing" as updates_in, auth_missing. */
void status_name_add(char *out, size_t size, const char *text, size_t length);

#endif
