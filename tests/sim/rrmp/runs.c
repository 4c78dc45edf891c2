/* runs.c - see runs.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "runs.h"

#include "paces.h"

#define RUN_MAX 100000u /* a counter further away is wrong anyway */
#define COMMON  5u      /* fields that all messages have */

/* ---- runs ---- */

struct run {
    uint32_t count; /* updates that pass */
    uint32_t type;
    bool has_exempt;
    bool has_eighth; /* one of them has that field */
    uint32_t eighth;
};

/* Private streams are not filtered; the others are as the lines say. */
static bool passes(const struct world *world, uint32_t item, uint32_t counter)
{
    return !is_item(world, item) || lines_pass(world, item, counter);
}

/* The updates of the stream's item behind `from` up to `to`. */
static struct run run_of(const struct world *world, const struct stream *s, uint32_t from,
                         uint32_t to)
{
    uint32_t item = s->item;
    struct run run = { 0 };

    for (uint32_t at = from + 1; at <= to && at - from < RUN_MAX; at++) {
        if (!passes(world, item, at))
            continue;
        uint32_t type = lines_type(world, item, at);
        run.type = run.count && run.type != type ? RWF_UPDATE_MULTIPLE : type;
        run.has_exempt =
            run.has_exempt || !is_item(world, item) || lines_exempt(world, item, at, s->pace > 0);
        run.has_eighth = run.has_eighth || at % 8 == 0;
        run.eighth = at % 8 ? run.eighth : at / 8;
        run.count++;
    }
    return run;
}

uint32_t run_first(const struct world *world, uint32_t item, uint32_t from, uint32_t to)
{
    uint32_t at = from + 1;

    while (at <= to && at - from < RUN_MAX && !passes(world, item, at))
        at++;
    return at;
}

bool run_is_empty(const struct world *world, uint32_t item, uint32_t from, uint32_t to)
{
    return run_first(world, item, from, to) > to;
}

/* ---- the head of an update ---- */

static const char *head_judge(const struct consumer *c, const struct run *run,
                              const struct rwf_msg *msg)
{
    bool has_info = msg->flags & RWF_UPDATE_HAS_CONF_INFO;

    if (msg->update_type != run->type)
        return "an update with another type than those it stands for";
    if (run->count == 1)
        return has_info ? "an update that is alone says that it is merged" : NULL;
    if (!(msg->flags & RWF_UPDATE_DO_NOT_RIPPLE))
        return "a merged update that ripples";
    if (has_info != consumer_wants_info(c))
        return has_info ? "nobody asked how much is merged" : "it does not say how much is merged";
    if (has_info && msg->conf_count != run->count)
        return "it stands for more or fewer updates than it says";
    return NULL;
}

const char *run_judge(const struct consumer *c, struct stream *s, const struct rwf_msg *msg,
                      const struct content *content)
{
    struct world *world = c->world;
    struct run run = run_of(world, s, s->counter, content->counter);

    /* A consumer that is slow is told once that its p2ps merges; no type is exempt there. */
    bool is_slow = s->is_conflated;

    if (content->counter <= s->counter)
        return "it is not newer";
    if (!passes(world, s->item, content->counter))
        return "its type is left out";
    if (run.count > 1 && run.has_exempt && !is_slow)
        return "an update that is never merged is missing";
    bool is_paced = s->pace > 0 || s->counter < s->paced_to;
    if (run.count > 1 && lines_of(world, s->item)->interval == 0 && !is_paced && !is_slow)
        return "updates are missing";
    if (run.has_exempt)
        paces_disturb(world, s->item);
    else
        paces_note_update(world, s);
    world->coverage->merged += run.count > 1 && !is_slow;
    world->coverage->merged_slow += run.count > 1 && is_slow;
    c->world->coverage->runs_behind_filtered += content->counter - s->counter > run.count;
    return head_judge(c, &run, msg);
}

/* ---- fields ---- */

/* The image is the last refresh with all updates that passed since, so its slower field is of the
 * newest update that passed and has it, or of a refresh. */
static const char *image_judge(const struct world *world, const struct stream *s,
                               const struct content *content, bool has_eighth)
{
    uint32_t item = s->item;
    uint32_t eighth = content->eighth;
    bool is_known = !is_item(world, item) || passes(world, item, content->counter) ||
                    item_was_refreshed(world, item, content->counter, content->counter);

    if (!is_known)
        return "an update that is left out stands in the image";
    if (!has_eighth)
        return NULL;
    uint32_t last = eighth * 8 + 7 < content->counter ? eighth * 8 + 7 : content->counter;
    if (eighth > content->counter / 8 ||
        run_of(world, s, eighth * 8 + 7, content->counter).has_eighth)
        return "a field is older than the others";
    if (is_item(world, item) && !passes(world, item, eighth * 8) &&
        !item_was_refreshed(world, item, eighth * 8, last))
        return "a field of an update that is left out stands in the image";
    return NULL;
}

static const char *update_judge(const struct world *world, const struct stream *s,
                                const struct content *content, bool has_eighth)
{
    /* Of a guarded item each update is alone, and some are withheld from some. */
    uint32_t from = GUARDED(s->item) ? content->counter - 1 : s->counter;
    struct run run = run_of(world, s, from, content->counter);

    if (GUARDED(s->item) && (s->is_conflated || s->is_suspect))
        return NULL; /* merged where nobody is withheld anything, alone where some are */
    if (content->has_eighth != (has_eighth && run.has_eighth))
        return content->has_eighth ? "a field too many" : "a field is missing";
    if (content->has_eighth && content->eighth != run.eighth)
        return "a field is older than the others";
    return content->parts ? "an update with fields of an image" : NULL;
}

const char *run_fields_judge(const struct consumer *c, const struct stream *s,
                             const struct content *content, bool is_image)
{
    const struct world *world = c->world;
    uint32_t drop = lines_of(world, s->item)->drop;
    bool has_eighth = !(drop & DROP_EIGHTH);

    if (!content->is_read)
        return "not a message of the provider";
    if (content->mix != content_mix(content->item, content->counter))
        return "its fields are not of one counter";
    if (content->has_permission == ((drop & DROP_PERMISSION) != 0))
        return drop & DROP_PERMISSION ? "a field that is left out" : "a field is missing";
    if (s->has_view)
        return content->count == COMMON - !content->has_permission ? NULL
                                                                   : "not the fields of the view";
    if (is_image && content->has_eighth != has_eighth)
        return has_eighth ? "a field is missing" : "a field that is left out";
    return is_image ? image_judge(world, s, content, has_eighth)
                    : update_judge(world, s, content, has_eighth);
}

uint32_t run_parts(const struct world *world, uint32_t item, uint32_t parts)
{
    uint32_t drop = lines_of(world, item)->drop / DROP_PART;
    uint32_t kept = 0;
    uint32_t at = 0;

    for (uint32_t i = 0; i < PARTS_MAX; i++) {
        if (!(drop >> i & 1))
            kept |= (parts >> i & 1) << at++;
    }
    return kept;
}
