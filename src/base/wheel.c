/* wheel.c - see base/wheel.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wheel.h"

#include <string.h>

static struct md_wheel_timer *timer_at(const struct md_wheel *wheel, uint32_t number)
{
    uint8_t *object = md_slots_at(wheel->slots, number);

    return (struct md_wheel_timer *)(void *)(object + wheel->offset);
}

void md_wheel_init(struct md_wheel *wheel, const struct md_slots *slots, size_t offset)
{
    memset(wheel, 0, sizeof(*wheel));
    wheel->slots = slots;
    wheel->offset = offset;
    for (size_t i = 0; i < MD_WHEEL_SLOTS; i++)
        wheel->heads[i] = MD_NIL;
}

void md_wheel_set(struct md_wheel *wheel, uint32_t number, uint64_t due_ns)
{
    struct md_wheel_timer *timer = timer_at(wheel, number);
    uint64_t step = due_ns / MD_WHEEL_STEP_NS + 1;

    md_wheel_cancel(wheel, number);
    if (step <= wheel->position)
        step = wheel->position + 1;
    timer->slot = (uint16_t)(step % MD_WHEEL_SLOTS);
    timer->due_ns = due_ns;
    timer->is_set = true;
    timer->prev = MD_NIL;
    timer->next = wheel->heads[timer->slot];
    if (timer->next != MD_NIL)
        timer_at(wheel, timer->next)->prev = number;
    wheel->heads[timer->slot] = number;
    wheel->busy[timer->slot / 64] |= 1ull << timer->slot % 64;
    wheel->count++;
}

void md_wheel_cancel(struct md_wheel *wheel, uint32_t number)
{
    struct md_wheel_timer *timer = timer_at(wheel, number);

    if (!timer->is_set)
        return;
    if (timer->prev != MD_NIL)
        timer_at(wheel, timer->prev)->next = timer->next;
    else
        wheel->heads[timer->slot] = timer->next;
    if (timer->next != MD_NIL)
        timer_at(wheel, timer->next)->prev = timer->prev;
    if (wheel->heads[timer->slot] == MD_NIL)
        wheel->busy[timer->slot / 64] &= ~(1ull << timer->slot % 64);
    timer->is_set = false;
    wheel->count--;
}

uint32_t md_wheel_expire(struct md_wheel *wheel, uint64_t now_ns)
{
    uint64_t last = now_ns / MD_WHEEL_STEP_NS;

    if (wheel->count == 0) {
        wheel->position = last;
        return MD_NIL;
    }
    if (last > wheel->position + MD_WHEEL_SLOTS)
        wheel->position = last - MD_WHEEL_SLOTS; /* one turn visits every slot */
    /* The slot at `position` may hold more that are due: it is left only when none is. */
    for (;;) {
        uint32_t number = wheel->heads[wheel->position % MD_WHEEL_SLOTS];

        while (number != MD_NIL) {
            struct md_wheel_timer *timer = timer_at(wheel, number);

            if (timer->due_ns <= now_ns) {
                md_wheel_cancel(wheel, number);
                return number;
            }
            number = timer->next;
        }
        if (wheel->position >= last)
            return MD_NIL;
        wheel->position++;
    }
}

uint64_t md_wheel_deadline(const struct md_wheel *wheel)
{
    if (wheel->count == 0)
        return UINT64_MAX;
    for (uint64_t i = 0; i < MD_WHEEL_SLOTS; i++) {
        uint64_t slot = (wheel->position + i) % MD_WHEEL_SLOTS;

        if (slot % 64 == 0 && wheel->busy[slot / 64] == 0) {
            i += 63;
            continue;
        }
        if (wheel->busy[slot / 64] & 1ull << slot % 64)
            return (wheel->position + i) * MD_WHEEL_STEP_NS;
    }
    return UINT64_MAX;
}
