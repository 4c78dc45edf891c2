/* merge.c - see merge.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include "rates/rates.h"

static int16_t ripples_to(void *context, int16_t id)
{
    const struct p2ps_core *core = context;

    return core->config.rules.ripples ? cache_ripples_target(core->config.rules.ripples, id) : 0;
}

static unsigned field_type(void *context, int16_t id)
{
    const struct p2ps_core *core = context;

    return core->config.field_type ? core->config.field_type(core->config.field_context, id) : 0;
}

int p2ps_merge_create(struct p2ps_core *core)
{
    const struct conflate_config config = { .field_type = field_type,
                                            .ripples_to = ripples_to,
                                            .context = core,
                                            .random = core->config.random };

    return conflate_create(&config, &core->merger);
}

struct rwf_bytes p2ps_merge_image(const struct p2ps_item *it)
{
    return it->image && it->image_state == P2PS_WATCH_STEP ? cache_image_fields(it->image)
                                                           : rwf_bytes(NULL, 0);
}

bool p2ps_merge_exempts(const struct p2ps_core *core, struct rwf_bytes update)
{
    struct rwf_msg msg;

    return rwf_msg_decode(update, &msg) != RWF_OK ||
           (core->config.exempt && rates_is_exempt(core->config.exempt, &msg));
}

size_t p2ps_merge_room(const struct p2ps_item *it, const struct conflate_pending *pending,
                       size_t length)
{
    size_t most = it->image ? conflate_room(cache_image_bytes(it->image)) : P2PS_PENDING_MOST;
    size_t wanted = pending->length + length + P2PS_RIPPLES_MORE;
    size_t room = pending->room;

    if (wanted <= room || room >= most)
        return room;
    wanted = wanted > room * 2 ? wanted : room * 2;
    wanted = wanted < most ? wanted : most;
    return wanted <= UINT32_MAX ? wanted : room;
}
