/* wants.c - see wants.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "wants.h"

#include <string.h>

#include "backbone/topic.h"
#include "base/err.h"
#include "internal.h"

/*
 * The requester says which services it wants, always all of them; a subscription adds a topic. An
 * rrcpd takes what was said last as all that is wanted, so both are said together.
 */
void library_wants_say(struct rmds_backbone *backbone)
{
    struct library_wants *wants = &backbone->wants;
    const struct library_topics *topics = &backbone->topics;
    uint32_t list[BACKBONE_TOPICS_MAX];
    uint32_t count = wants->service_count;

    if (count <= BACKBONE_TOPICS_MAX)
        memcpy(list, wants->services, count * sizeof(*list));
    for (uint32_t i = 0; i < topics->count && count <= BACKBONE_TOPICS_MAX; i++) {
        const struct rmds_topic *topic = topics->list[i];

        if (!topic->handle)
            continue; /* it has ended */
        if (count < BACKBONE_TOPICS_MAX)
            list[count] = backbone_topic_number(topic->name, topic->name_length);
        count++;
    }
    bool is_all = count > BACKBONE_TOPICS_MAX;
    wants->is_due =
        attach_want(backbone->attach, is_all ? NULL : list, is_all ? 0 : count) == MD_ERR_FULL;
}

void library_wants_settle(struct rmds_backbone *backbone)
{
    if (backbone->wants.is_due)
        library_wants_say(backbone);
}

/* ---- the way out ---- */

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    const struct backbone_send *way_out = &((struct rmds_backbone *)context)->wants.way_out;

    return way_out->reserve(way_out->context, target, length);
}

static void commit(void *context, size_t length)
{
    const struct backbone_send *way_out = &((struct rmds_backbone *)context)->wants.way_out;

    way_out->commit(way_out->context, length);
}

static unsigned fill(void *context)
{
    const struct backbone_send *way_out = &((struct rmds_backbone *)context)->wants.way_out;

    return way_out->fill(way_out->context);
}

static bool want(void *context, const uint32_t topics[], uint32_t count)
{
    struct rmds_backbone *backbone = context;
    struct library_wants *wants = &backbone->wants;

    wants->service_count = topics ? count : BACKBONE_TOPICS_MAX + 1;
    if (topics && count > 0)
        memcpy(wants->services, topics, count * sizeof(*topics));
    library_wants_say(backbone);
    return !wants->is_due;
}

struct backbone_send library_wants_sender(struct rmds_backbone *backbone)
{
    backbone->wants.way_out = attach_sender(backbone->attach);
    return (struct backbone_send){
        .context = backbone, .reserve = reserve, .commit = commit, .fill = fill, .want = want
    };
}
