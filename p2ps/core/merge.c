/* merge.c - see merge.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <stdlib.h>

#include "base/err.h"
#include "rates/rates.h"

#define RUN_MAX 65536u /* bytes of the fields of a run, and of its update */

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

    core->run_buffer = malloc(2 * RUN_MAX);
    return core->run_buffer ? conflate_create(&config, &core->merger) : MD_ERR_NOMEM;
}

void p2ps_merge_destroy(struct p2ps_core *core)
{
    conflate_destroy(core->merger);
    free(core->run_buffer);
}

struct rwf_bytes p2ps_merge_image(const struct p2ps_item *it)
{
    return it->image && it->image_state == P2PS_WATCH_STEP ? cache_image_fields(it->image)
                                                           : rwf_bytes(NULL, 0);
}

bool p2ps_merge_exempts(const struct p2ps_core *core, const struct rwf_msg *update)
{
    return core->config.exempt && rates_is_exempt(core->config.exempt, update);
}

bool p2ps_merge_notes(const struct p2ps_core *core, const struct p2ps_item *it,
                      const struct rwf_msg *update)
{
    unsigned fields = it->image && it->image_state == P2PS_WATCH_STEP
                          ? conflate_run_fields(core->merger, update)
                          : 0;

    return fields > 0 && cache_image_can_note(it->image, fields);
}

bool p2ps_merge_out(const struct p2ps_core *core, const struct p2ps_item *it,
                    const struct conflate_pending *pending, const struct p2ps_run *run,
                    struct rwf_bytes *out)
{
    uint8_t *fields = core->run_buffer + RUN_MAX;
    struct rwf_encoder enc;
    size_t length;

    if (!run->is_on)
        return conflate_out(core->merger, pending, p2ps_merge_image(it), out);
    if (!pending->is_merged) {
        *out = conflate_bytes(pending);
        return true;
    }
    if (!p2ps_merge_image(it).data ||
        cache_image_changed(it->image, &run->changed, fields, RUN_MAX, &length) != MD_OK)
        return false;
    rwf_encoder_init(&enc, core->run_buffer, RUN_MAX);
    if (conflate_run_write(pending, &run->head, rwf_bytes(fields, length), &enc) != RWF_OK)
        return false;
    *out = rwf_encoder_bytes(&enc);
    return true;
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
