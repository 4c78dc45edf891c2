/* resume.c - see resume.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "resume.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cache/cache.h"
#include "item.h"
#include "rate.h"
#include "replay.h"
#include "rrmp/key.h"
#include "tell.h"

#define WAIT_NS  2000000000ull /* for a p2ps that is ahead */
#define AGAIN_NS 1000000ull    /* it is looked at again, or the backbone had no room */

/* A p2ps that waits for its answer. */
struct srcdist_resume {
    uint32_t item;
    bool is_bound;
    uint64_t until_ns;
    struct rrmp_position position;
    struct rrmp_reply reply;
    struct rrmp_replay_to to;  /* once it is bound: */
    struct srcdist_kept *next; /* what is sent next, NULL: nothing but the end, */
    uint64_t next_serial;
    uint64_t last_serial; /* up to this one */
};

enum answer { ANSWER_LATER, ANSWER_DONE, ANSWER_IMAGE };

/* ---- why not ---- */

static enum answer refuse(struct srcdist_core *core, const struct srcdist_resume *resume,
                          enum srcdist_unaligned why)
{
    static const char *const texts[] = {
        [SRCDIST_UNALIGNED_NOT_READY] = "it is not open and fine here",
        [SRCDIST_UNALIGNED_TOO_OLD] = "what it has missed is not kept any more",
        [SRCDIST_UNALIGNED_OTHER] = "the messages of both providers are not equal",
        [SRCDIST_UNALIGNED_BEHIND] = "the provider here is more than 2 s behind",
        [SRCDIST_UNALIGNED_FULL] = "too many wait",
    };
    struct rrmp_source_item info;
    struct rrmp_view name = { .bytes = NULL, .length = 0 };
    struct rrmp_key key;

    core->stats.resumes_refused[why]++;
    if (rrmp_source_item_info(core->source, resume->item, &info) &&
        rrmp_key_decode(info.key.bytes, info.key.length, &key) == MD_OK)
        name = key.name;
    srcdist_tell_rarely(core, SRCDIST_TALE_RESUME,
                        "item %.*s gets an image at a p2ps that lost its source, not what it has "
                        "missed: %s",
                        (int)(name.length < SRCDIST_NAME_MAX ? name.length : SRCDIST_NAME_MAX),
                        (const char *)name.bytes, texts[why]);
    rrmp_source_resume_refuse(core->source, resume->item, &resume->reply);
    return ANSWER_IMAGE;
}

/* ---- the place ---- */

/* Sets what follows the place. False: it is not among what is kept. */
static bool find(struct srcdist_core *core, const struct srcdist_followed *followed,
                 struct srcdist_resume *resume, enum srcdist_unaligned *why)
{
    struct srcdist_kept *kept = srcdist_replay_last(core, followed);
    struct srcdist_kept *next = NULL;

    *why = SRCDIST_UNALIGNED_OTHER;
    resume->last_serial = followed->last_serial;
    if (rrmp_position_is_same(&followed->position, &resume->position))
        return true;
    for (; kept; kept = srcdist_replay_before(core, followed, kept)) {
        kept->next = next;
        if (rrmp_position_is_same(&kept->position, &resume->position)) {
            resume->next = next;
            resume->next_serial = next ? next->serial : 0;
            return true;
        }
        if (kept->position.is_known && !rrmp_position_is_after(&kept->position, &resume->position))
            return false;
        next = kept;
    }
    *why = SRCDIST_UNALIGNED_TOO_OLD;
    return false;
}

static bool is_ready(const struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_item *it = &core->items[item];

    /* The state of a group stands in the image alone. */
    bool is_good = !it->image || cache_image_state(it->image).data_state == RWF_DATA_OK;

    return it->is_followed && it->state == SRCDIST_ITEM_OPEN && !it->suspect_sent && is_good &&
           !it->is_in_parts;
}

static enum answer bind(struct srcdist_core *core, struct srcdist_resume *resume)
{
    enum srcdist_unaligned why;

    if (!is_ready(core, resume->item))
        return refuse(core, resume, SRCDIST_UNALIGNED_NOT_READY);
    if (srcdist_rate_flush(core, resume->item) != MD_OK)
        return ANSWER_LATER;
    const struct srcdist_followed *followed = srcdist_replay_of(core, resume->item);
    if (followed->position.is_known &&
        rrmp_position_is_after(&resume->position, &followed->position)) {
        bool has_time = core->now_ns < resume->until_ns && !followed->position.is_broken;
        return has_time ? ANSWER_LATER : refuse(core, resume, SRCDIST_UNALIGNED_BEHIND);
    }
    if (!find(core, followed, resume, &why))
        return refuse(core, resume, why);
    int err = rrmp_source_resume_begin(core->source, core->now_ns, resume->item, &resume->reply,
                                       &resume->to);
    if (err == MD_ERR_FULL)
        return core->now_ns < resume->until_ns ? ANSWER_LATER
                                               : refuse(core, resume, SRCDIST_UNALIGNED_FULL);
    if (err != MD_OK)
        return ANSWER_DONE; /* it is not wanted any more */
    resume->is_bound = true;
    return ANSWER_LATER;
}

/* ---- what follows ---- */

static uint16_t flags_of(const struct srcdist_resume *resume)
{
    const struct srcdist_kept *kept = resume->next;
    unsigned flags = 0;

    if (!kept)
        return RRMP_REPLAY_LAST;
    flags |= kept->serial == resume->last_serial ? RRMP_REPLAY_LAST : 0;
    flags |= kept->type == RRMP_STATUS ? RRMP_REPLAY_STATUS : 0;
    flags |= kept->type == RRMP_GENERIC ? RRMP_REPLAY_GENERIC : 0;
    return (uint16_t)flags;
}

static enum answer replay(struct srcdist_core *core, struct srcdist_resume *resume)
{
    bool is_last = false;

    while (!is_last) {
        struct srcdist_kept *kept = resume->next;
        uint8_t *room;

        if (kept && !srcdist_replay_is_kept(core, resume->next_serial))
            return refuse(core, resume, SRCDIST_UNALIGNED_TOO_OLD);
        uint16_t flags = flags_of(resume);
        size_t length = kept ? kept->length : 0;
        int err = rrmp_source_replay_begin(core->source, &resume->to, flags, length, &room);
        if (err == MD_ERR_FULL)
            return ANSWER_LATER;
        if (err != MD_OK)
            return ANSWER_DONE;
        if (length > 0)
            memcpy(room, kept->bytes, length);
        rrmp_source_replay_commit(core->source, length);
        core->stats.replayed += kept != NULL;
        is_last = flags & RRMP_REPLAY_LAST;
        if (is_last)
            break;
        resume->next = kept->next;
        resume->next_serial = kept->next->serial;
    }
    core->stats.resumed++;
    return ANSWER_DONE;
}

/* ---- those that wait ---- */

void srcdist_resume_event(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_resume resume = {
        .item = event->item,
        .until_ns = core->now_ns + WAIT_NS,
        .position = event->position,
        .reply = event->reply,
    };

    if (!srcdist_item_at(core, event->item))
        return;
    if (!core->items[event->item].is_followed) {
        refuse(core, &resume, SRCDIST_UNALIGNED_NOT_READY);
        return;
    }
    if (core->resume_count == SRCDIST_RESUMES_MAX) {
        refuse(core, &resume, SRCDIST_UNALIGNED_FULL);
        return;
    }
    if (!core->resumes)
        core->resumes = malloc(SRCDIST_RESUMES_MAX * sizeof(*core->resumes));
    if (!core->resumes) {
        refuse(core, &resume, SRCDIST_UNALIGNED_FULL);
        return;
    }
    srcdist_replay_of(core, event->item)->waiting++;
    core->resumes[core->resume_count++] = resume; /* the turn settles all that came in it */
}

void srcdist_resume_forget(struct srcdist_core *core, uint32_t item)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < core->resume_count; i++) {
        if (core->resumes[i].item != item)
            core->resumes[left++] = core->resumes[i];
    }
    core->resume_count = left;
}

void srcdist_resumes_pump(struct srcdist_core *core)
{
    uint32_t left = 0;
    uint32_t count = core->resume_count;
    bool is_full = false;

    for (uint32_t i = 0; i < count; i++) {
        struct srcdist_resume *resume = &core->resumes[i];
        enum answer answer = ANSWER_LATER;

        /* One item after the other: a p2ps holds the news of each that is bound. */
        if (!resume->is_bound && !is_full)
            answer = bind(core, resume);
        if (resume->is_bound && !is_full)
            answer = replay(core, resume);
        if (answer == ANSWER_LATER) {
            is_full = is_full || resume->is_bound;
            core->resumes[left++] = *resume;
            continue;
        }
        struct srcdist_followed *followed = srcdist_replay_of(core, resume->item);
        if (followed)
            followed->waiting--;
    }
    core->resume_count = left;
}

uint64_t srcdist_resumes_deadline(const struct srcdist_core *core)
{
    return core->resume_count > 0 ? core->now_ns + AGAIN_NS : UINT64_MAX;
}
