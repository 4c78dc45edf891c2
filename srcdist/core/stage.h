/* stage.h - what may happen to a provider's message between its arrival and its number. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_STAGE_H
#define SRCDIST_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"

/*
 * Updates of an item that has stages pass through them before the source engine numbers them; which
 * items have, is decided when an item is made, and without stages none has. A stage may
 * pass it, change it, drop it, or hold it and hand it on later. Since numbers are given out behind
 * the last stage, what is dropped leaves no hole; and since every stage is told before an image is
 * cut, an image contains exactly the updates that have gone before it.
 *
 * Behind the last stage an update is numbered, sent, and then applied to the cached image: an
 * update that finds no room comes again, and must not be in the image yet. Field filter, type
 * filter and time conflation are stages to come.
 */
struct srcdist_stage_chain;

enum srcdist_stage_verdict {
    SRCDIST_STAGE_PASS, /* *message goes on, changed or not */
    SRCDIST_STAGE_DROP,
    SRCDIST_STAGE_HOLD, /* the stage has its own copy and will hand it on */
};

struct srcdist_stage_ops {
    const char *name;
    /* An update of `item`, as the backbone will carry it. A changed message must stay good until
     * the next call. */
    enum srcdist_stage_verdict (*update)(void *self, uint32_t item, struct rwf_bytes *message,
                                         uint64_t now_ns);
    /*
     * Hand on what is held of `item` (or of all: UINT32_MAX) by srcdist_stage_release(), oldest
     * first, because an image or a state of it comes next. May be NULL when nothing is ever held.
     */
    void (*drain)(void *self, uint32_t item, struct srcdist_stage_chain *chain, unsigned index,
                  uint64_t now_ns);
    /* Forget what is held of `item`: a refresh replaces it, or it ends. May be NULL. */
    void (*forget)(void *self, uint32_t item);
    /* Time has passed; hand on what is due. May be NULL. */
    void (*tick)(void *self, struct srcdist_stage_chain *chain, unsigned index, uint64_t now_ns);
    uint64_t (*deadline)(void *self); /* UINT64_MAX: none. May be NULL. */
};

#define SRCDIST_STAGES_MAX 8

/* Behind the last stage: number, send, apply. MD_ERR_FULL: no room on the backbone now. */
typedef int (*srcdist_stage_sink_fn)(void *owner, uint32_t item, struct rwf_bytes message);

struct srcdist_stage_chain {
    unsigned count;
    const struct srcdist_stage_ops *ops[SRCDIST_STAGES_MAX];
    void *selves[SRCDIST_STAGES_MAX];
    srcdist_stage_sink_fn sink;
    void *owner;
};

/* MD_OK: sent, dropped or held. MD_ERR_FULL: nothing has happened; come back with the same. */
int srcdist_stage_update(struct srcdist_stage_chain *chain, uint32_t item, struct rwf_bytes message,
                         uint64_t now_ns);
/* Called by stage `index` for what it held: the rest of the chain. */
int srcdist_stage_release(struct srcdist_stage_chain *chain, unsigned index, uint32_t item,
                          struct rwf_bytes message, uint64_t now_ns);
void srcdist_stage_drain(struct srcdist_stage_chain *chain, uint32_t item, uint64_t now_ns);
void srcdist_stage_forget(struct srcdist_stage_chain *chain, uint32_t item);
void srcdist_stage_tick(struct srcdist_stage_chain *chain, uint64_t now_ns);
uint64_t srcdist_stage_deadline(const struct srcdist_stage_chain *chain);

#endif
