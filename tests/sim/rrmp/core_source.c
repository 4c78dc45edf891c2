/* core_source.c - a process that is the core of src_dist. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "srcdist/core/private.h"

static struct srcdist_service_config service_config(void *owner, struct rwf_bytes name)
{
    const struct world *world = owner;
    uint16_t number = service_number(name);

    return (struct srcdist_service_config){
        .id = number == 0 ? 7 : 0, /* one is configured, the others have one from their name */
        .cache_location = world->plan.source_cache ? SRCDIST_CACHE_SRC_DIST : SRCDIST_CACHE_SRC_APP,
        .load_factor = 1,
        .linger = { .close_ns = world->plan.close_linger_ns },
        .mirror_group = world->plan.core.is_mirrored ? "pair" : NULL,
        .mirror_hot = world->plan.core.is_mirrored,
        .mirror_sequence = world->plan.core.is_mirrored,
    };
}

static void start(struct world *world, struct proc *proc)
{
    char name[32];
    const struct plan *plan = &world->plan;
    struct srcdist_core_config config = {
        .source = { .name = name,
                    .send = proc_send(world, proc),
                    .random = md_prng_u64(&world->random),
                    .item_limit = 1u << 20,
                    .gap_log = plan->gap_log,
                    .handle_limit = plan->handle_limit + plan->core.crowd,
                    .handle_rest_ns = plan->handle_rest_ns,
                    .linger = { .close_ns = plan->close_linger_ns },
                    .unicast_images = plan->unicast_images },
        .service_owner = world,
        .service = service_config,
        .user = "openrmds",
        .position = "127.0.0.1/net",
        .application_name = "src_dist",
        .provider_limit = 4,
        .post_limit = 256,
        .message_max = 4096,
        .republish_ns = 5 * SEC,
        .grace_ns = 2 * SEC,
        .pending_bytes_max = world->lines.pending_bytes,
    };

    snprintf(name, sizeof(name), "host%u.src_dist.%u", proc->node, proc->number);
    if (srcdist_core_create(&config, &proc->srcdist) != 0)
        abort();
    struct rates *rules = lines_rules(world);
    if (rules && srcdist_core_rates_set(proc->srcdist, world->now_ns, rules) != 0)
        abort();
    proc->source = srcdist_core_source(proc->srcdist);
    providers_start(world, proc);
}

static void input(struct world *world, struct proc *proc, const struct backbone_event *events,
                  size_t count)
{
    srcdist_core_backbone(proc->srcdist, world->now_ns, events, count);
}

static void turn(struct world *world, struct proc *proc)
{
    uint64_t due = providers_turn(world, proc);

    if (world->now_ns >= srcdist_core_deadline(proc->srcdist))
        srcdist_core_tick(proc->srcdist, world->now_ns, true);
    srcdist_core_settle(proc->srcdist, world->now_ns);
    uint64_t own = srcdist_core_deadline(proc->srcdist);
    /* Images that found no room wait until the ring is drained a little. */
    own = own > world->now_ns ? own : world->now_ns + 200000;
    proc_soon(world, proc, due < own ? due : own);
}

static void fini(struct world *world, struct proc *proc)
{
    providers_lost(world, proc);
    srcdist_core_destroy(proc->srcdist);
    proc->srcdist = NULL;
}

bool core_source_image(const struct proc *proc, uint32_t item, struct content *out)
{
    const struct cache_image *image = proc->srcdist->items[item].image;
    const struct rwf_msg msg = { .container = RWF_TYPE_FIELD_LIST,
                                 .payload = cache_image_fields(image) };

    return cache_image_is_valid(image) && content_read(&msg, out);
}

static const char *check(const struct proc *proc)
{
    return srcdist_core_check(proc->srcdist);
}

const struct proc_ops core_source_ops = { start, input, turn, fini, check };
