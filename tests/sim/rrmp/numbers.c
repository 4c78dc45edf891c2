/* numbers.c - see numbers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "numbers.h"

#include "cores.h"

#define SALT UINT64_C(0x6e756d62657273)

void numbers_draw(struct world *world)
{
    struct numbers *numbers = &world->plan.core.numbers;
    struct md_prng random = md_prng_init(world->options.seed ^ SALT);

    numbers->kind = (enum numbers_kind)md_prng_below(&random, NUMBERS_count);
    numbers->step = 2 + md_prng_below(&random, 4);
    switch (numbers->kind) {
    case NUMBERS_WRAP:
        numbers->first = 0u - (20 + md_prng_below(&random, 200));
        break;
    case NUMBERS_HOLES:
        numbers->step = 2 + md_prng_below(&random, 1000000);
        break;
    case NUMBERS_BACK:
        numbers->first = 20 + md_prng_below(&random, 200);
        break;
    case NUMBERS_OTHER:
        numbers->first = 1 + md_prng_below(&random, 20);
        break;
    case NUMBERS_MERGED:
        world->lines.is_on = true;
        break;
    default:
        break;
    }
    world->coverage->numbers[numbers->kind]++;
}

uint32_t numbers_of(const struct provider *p, uint32_t item, uint32_t counter)
{
    const struct numbers *numbers = &p->world->plan.core.numbers;

    switch (numbers->kind) {
    case NUMBERS_WRAP:
        return numbers->first + counter;
    case NUMBERS_HOLES:
        return counter * numbers->step + content_mix(item, counter) % numbers->step;
    case NUMBERS_REPEAT:
    case NUMBERS_SELDOM:
        return counter / numbers->step;
    case NUMBERS_BACK:
        return counter < numbers->first ? counter : counter - numbers->first + 1;
    case NUMBERS_RESTART:
        return is_item(p->world, item) ? counter - p->numbered_from[item] : counter;
    case NUMBERS_OTHER:
        return p->proc == 0 ? counter : counter + numbers->first;
    default:
        return counter;
    }
}

bool numbers_has_update(const struct world *world, uint32_t counter)
{
    const struct numbers *numbers = &world->plan.core.numbers;

    return world->plan.core.is_mirrored &&
           (numbers->kind != NUMBERS_SELDOM || counter % numbers->step == 0);
}

uint32_t numbers_maker(const struct provider *p)
{
    return p->world->plan.core.numbers.kind == NUMBERS_SAME ? p->proc : 0;
}

bool numbers_are_equal(const struct world *world, uint32_t item)
{
    enum numbers_kind kind = world->plan.core.numbers.kind;

    return kind < NUMBERS_MERGED ||
           (kind == NUMBERS_MERGED && lines_of(world, item)->interval == 0);
}

bool numbers_are_unequal(const struct world *world)
{
    return world->plan.core.numbers.kind >= NUMBERS_RESTART;
}
