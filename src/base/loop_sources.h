/* loop_sources.h - the sources of a loop: they work in turn, and say when the loop may sleep. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_LOOP_SOURCES_H
#define MD_LOOP_SOURCES_H

#include "base/loop.h"

struct md_sources {
    struct md_loop_source *first; /* in the order of adding */
    bool is_walking;              /* the list is being walked */
    bool has_dead;                /* a source was removed meanwhile */
};

void md_sources_fini(struct md_sources *sources); /* all were removed before */
int md_sources_add(struct md_sources *sources, const struct md_loop_source_ops *ops, void *owner,
                   struct md_loop_source **out);

uint64_t md_sources_work(struct md_sources *sources); /* the sum of what they did */
uint64_t md_sources_deadline(struct md_sources *sources);

/* Every source says that it sleeps, then looks once more. False: one of them found something. */
bool md_sources_arm(struct md_sources *sources);
void md_sources_disarm(struct md_sources *sources);

#endif
