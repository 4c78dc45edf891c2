/* loop_sources.c - see loop_sources.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_sources.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"

struct md_loop_source {
    struct md_loop_source *next;
    struct md_sources *sources;
    const struct md_loop_source_ops *ops;
    void *owner;
    bool is_dead;
    bool is_armed;
};

static void bury(struct md_sources *sources)
{
    struct md_loop_source **link = &sources->first;

    while (*link) {
        struct md_loop_source *source = *link;
        if (source->is_dead) {
            *link = source->next;
            free(source);
        } else {
            link = &source->next;
        }
    }
    sources->has_dead = false;
}

void md_sources_fini(struct md_sources *sources)
{
    MD_ASSERT(!sources->is_walking);
    bury(sources);
    MD_ASSERT(sources->first == NULL);
}

uint64_t md_sources_work(struct md_sources *sources)
{
    uint64_t done = 0;

    sources->is_walking = true;
    for (struct md_loop_source *source = sources->first; source; source = source->next) {
        if (!source->is_dead)
            done += (uint64_t)(unsigned)source->ops->work(source->owner);
    }
    sources->is_walking = false;
    if (sources->has_dead)
        bury(sources);
    return done;
}

uint64_t md_sources_deadline(struct md_sources *sources)
{
    uint64_t deadline = MD_NEVER;

    sources->is_walking = true;
    for (struct md_loop_source *source = sources->first; source; source = source->next) {
        if (!source->ops->deadline || source->is_dead)
            continue;
        uint64_t at = source->ops->deadline(source->owner);
        if (at < deadline)
            deadline = at;
    }
    sources->is_walking = false;
    return deadline;
}

bool md_sources_arm(struct md_sources *sources)
{
    bool may_sleep = true;

    sources->is_walking = true;
    for (struct md_loop_source *source = sources->first; source && may_sleep;
         source = source->next) {
        if (!source->ops->arm || source->is_dead)
            continue;
        source->is_armed = true;
        may_sleep = source->ops->arm(source->owner);
    }
    sources->is_walking = false;
    return may_sleep;
}

void md_sources_disarm(struct md_sources *sources)
{
    sources->is_walking = true;
    for (struct md_loop_source *source = sources->first; source; source = source->next) {
        if (!source->is_armed)
            continue;
        source->is_armed = false;
        if (source->ops->disarm && !source->is_dead)
            source->ops->disarm(source->owner);
    }
    sources->is_walking = false;
}

int md_sources_add(struct md_sources *sources, const struct md_loop_source_ops *ops, void *owner,
                   struct md_loop_source **out)
{
    *out = NULL;
    MD_ASSERT(ops->work != NULL);
    struct md_loop_source *source = calloc(1, sizeof(*source));
    if (!source)
        return MD_ERR_NOMEM;
    *source = (struct md_loop_source){ .sources = sources, .ops = ops, .owner = owner };

    struct md_loop_source **link = &sources->first;
    while (*link)
        link = &(*link)->next;
    *link = source;
    *out = source;
    return MD_OK;
}

void md_loop_source_remove(struct md_loop_source *source)
{
    if (!source)
        return;
    source->is_dead = true;
    source->sources->has_dead = true;
    if (!source->sources->is_walking)
        bury(source->sources);
}
