/* slots.c - see slots.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

void authority_append(struct p2ps_authority *a, struct list *list, uint32_t at)
{
    a->slots[at].next = NONE;
    a->slots[at].before = list->last;
    if (list->last == NONE)
        list->first = at;
    else
        a->slots[list->last].next = at;
    list->last = at;
}

void authority_take_out(struct p2ps_authority *a, struct list *list, uint32_t at)
{
    const struct slot *slot = &a->slots[at];

    if (slot->before == NONE)
        list->first = slot->next;
    else
        a->slots[slot->before].next = slot->next;
    if (slot->next == NONE)
        list->last = slot->before;
    else
        a->slots[slot->next].before = slot->before;
}

void authority_answer_slot(struct p2ps_authority *a, struct list *list, uint32_t at)
{
    struct slot *slot = &a->slots[at];

    authority_take_out(a, list, at);
    slot->id = 0;
    a->stats.waiting--;
    authority_append(a, &a->answered[slot->asker], at);
    a->answered_bits |= 1ull << slot->asker;
}

void authority_nobody_says(struct p2ps_authority *a, struct list *list, uint32_t at)
{
    struct p2ps_authority_answer *out = &a->slots[at].answer;

    out->verdict = P2PS_AUTHORITY_DOWN;
    a->owes_recall |= out->is_renewal;
    authority_answer_slot(a, list, at);
}
