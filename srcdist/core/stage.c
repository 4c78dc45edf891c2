/* stage.c - see stage.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include "base/err.h"

int srcdist_stage_release(struct srcdist_stage_chain *chain, unsigned index, uint32_t item,
                          struct rwf_bytes message, uint64_t now_ns)
{
    for (unsigned i = index + 1; i < chain->count; i++) {
        if (chain->ops[i]->update(chain->selves[i], item, &message, now_ns) != SRCDIST_STAGE_PASS)
            return MD_OK;
    }
    return chain->sink(chain->owner, item, message);
}

int srcdist_stage_update(struct srcdist_stage_chain *chain, uint32_t item, struct rwf_bytes message,
                         uint64_t now_ns)
{
    if (chain->ops[0]->update(chain->selves[0], item, &message, now_ns) != SRCDIST_STAGE_PASS)
        return MD_OK;
    return srcdist_stage_release(chain, 0, item, message, now_ns);
}

void srcdist_stage_drain(struct srcdist_stage_chain *chain, uint32_t item, uint64_t now_ns)
{
    for (unsigned i = 0; i < chain->count; i++) {
        if (chain->ops[i]->drain)
            chain->ops[i]->drain(chain->selves[i], item, chain, i, now_ns);
    }
}

void srcdist_stage_forget(struct srcdist_stage_chain *chain, uint32_t item)
{
    for (unsigned i = 0; i < chain->count; i++) {
        if (chain->ops[i]->forget)
            chain->ops[i]->forget(chain->selves[i], item);
    }
}

void srcdist_stage_tick(struct srcdist_stage_chain *chain, uint64_t now_ns)
{
    for (unsigned i = 0; i < chain->count; i++) {
        if (chain->ops[i]->tick)
            chain->ops[i]->tick(chain->selves[i], chain, i, now_ns);
    }
}

uint64_t srcdist_stage_deadline(const struct srcdist_stage_chain *chain)
{
    uint64_t deadline = UINT64_MAX;

    for (unsigned i = 0; i < chain->count; i++) {
        if (!chain->ops[i]->deadline)
            continue;
        uint64_t own = chain->ops[i]->deadline(chain->selves[i]);
        if (own < deadline)
            deadline = own;
    }
    return deadline;
}
