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

#define WAIT_NS    2000000000ull /* for a p2ps that is ahead, or for room, when it is its turn */
#define AGAIN_NS   1000000ull    /* it is looked at again, or the backbone had no room */
#define LIMIT      16384u
#define REQUESTERS 256u

/* A p2ps that waits for its answer. Others are named by their number; 0: none. */
struct srcdist_resume {
    uint32_t before, after; /* in the order of their questions; 0 is head and tail */
    uint32_t older;         /* the next one that waits for the same item */
    uint32_t requester;
    uint32_t item;
    bool is_bound;
    uint64_t behind_ns; /* it is waited for our provider until then; 0: it was not its turn yet */
    uint64_t full_ns;   /* the same for room on the backbone */
    struct rrmp_position position;
    struct rrmp_reply reply;
    struct rrmp_replay_to to;  /* once it is bound: */
    struct srcdist_kept *next; /* what is sent next, NULL: nothing but the end, */
    uint64_t next_serial;
    uint64_t last_serial; /* up to this one */
};

struct requester {
    uint64_t session;
    uint16_t port;
    uint32_t count; /* of its places */
};

struct srcdist_resumes {
    uint32_t limit;
    uint32_t count;
    uint32_t high; /* places that were ever taken */
    uint32_t free; /* linked by `after` */
    uint32_t last_requester;
    struct requester requesters[REQUESTERS];
    struct srcdist_resume waiting[]; /* the first is no place */
};

enum answer {
    ANSWER_LATER,
    ANSWER_FULL, /* later, and nobody else can be answered now */
    ANSWER_DONE,
    ANSWER_IMAGE,
};

/* ---- why not ---- */

static enum answer refuse(struct srcdist_core *core, const struct srcdist_resume *resume,
                          enum srcdist_unaligned why)
{
    static const char *const texts[] = {
        [SRCDIST_UNALIGNED_NOT_READY] = "it is not open and fine here",
        [SRCDIST_UNALIGNED_TOO_OLD] = "what it has missed is not kept any more",
        [SRCDIST_UNALIGNED_OTHER] = "the messages of both providers are not equal",
        [SRCDIST_UNALIGNED_BEHIND] = "the provider here is more than 2 s behind",
        [SRCDIST_UNALIGNED_FULL] = "too many wait, or the backbone had no room for 2 s",
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

/* Sets when patience ends, if it begins now. */
static bool has_time(const struct srcdist_core *core, uint64_t *until_ns)
{
    if (*until_ns == 0)
        *until_ns = core->now_ns + WAIT_NS;
    return core->now_ns < *until_ns;
}

static enum answer full(struct srcdist_core *core, struct srcdist_resume *resume)
{
    return has_time(core, &resume->full_ns) ? ANSWER_FULL
                                            : refuse(core, resume, SRCDIST_UNALIGNED_FULL);
}

static enum answer bind(struct srcdist_core *core, struct srcdist_resume *resume)
{
    enum srcdist_unaligned why;

    if (!is_ready(core, resume->item))
        return refuse(core, resume, SRCDIST_UNALIGNED_NOT_READY);
    if (srcdist_rate_flush(core, resume->item) != MD_OK)
        return full(core, resume);
    const struct srcdist_followed *followed = srcdist_replay_of(core, resume->item);
    if (followed->position.is_known &&
        rrmp_position_is_after(&resume->position, &followed->position)) {
        bool may_wait = has_time(core, &resume->behind_ns) && !followed->position.is_broken;
        return may_wait ? ANSWER_LATER : refuse(core, resume, SRCDIST_UNALIGNED_BEHIND);
    }
    if (!find(core, followed, resume, &why))
        return refuse(core, resume, why);
    int err = rrmp_source_resume_begin(core->source, core->now_ns, resume->item, &resume->reply,
                                       &resume->to);
    if (err == MD_ERR_FULL)
        return full(core, resume);
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
            return ANSWER_FULL;
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

static struct srcdist_resumes *create(const struct srcdist_core *core)
{
    uint32_t limit = core->config.resume_limit ? core->config.resume_limit : LIMIT;
    struct srcdist_resumes *all =
        malloc(sizeof(*all) + (limit + 1) * sizeof(struct srcdist_resume));

    if (!all)
        return NULL;
    memset(all, 0, sizeof(*all) + sizeof(struct srcdist_resume));
    all->limit = limit;
    return all;
}

/* NULL: there are too many requesters. */
static struct requester *requester_of(struct srcdist_resumes *all, const struct rrmp_reply *reply)
{
    struct requester *unused = NULL;

    for (uint32_t i = 0; i < REQUESTERS; i++) {
        struct requester *one = &all->requesters[(all->last_requester + i) % REQUESTERS];
        if (one->count == 0) {
            unused = unused ? unused : one;
        } else if (one->session == reply->session && one->port == reply->port) {
            all->last_requester = (uint32_t)(one - all->requesters);
            return one;
        }
    }
    if (unused) {
        *unused = (struct requester){ .session = reply->session, .port = reply->port };
        all->last_requester = (uint32_t)(unused - all->requesters);
    }
    return unused;
}

/* The number of a place for the question; 0: there is none. */
static uint32_t place_take(struct srcdist_core *core, const struct srcdist_resume *resume)
{
    struct srcdist_resumes *all = core->resumes ? core->resumes : create(core);

    core->resumes = all;
    if (!all)
        return 0;
    struct requester *requester = requester_of(all, &resume->reply);
    if (!requester || requester->count >= all->limit - all->count)
        return 0;
    uint32_t number = all->free ? all->free : ++all->high;
    struct srcdist_resume *place = &all->waiting[number];
    struct srcdist_followed *followed = srcdist_replay_of(core, resume->item);
    if (all->free)
        all->free = place->after;
    *place = *resume;
    place->requester = (uint32_t)(requester - all->requesters);
    place->before = all->waiting[0].before;
    place->after = 0;
    place->older = followed->waiting;
    all->waiting[place->before].after = number;
    all->waiting[0].before = number;
    followed->waiting = number;
    requester->count++;
    all->count++;
    return number;
}

static void place_give(struct srcdist_core *core, uint32_t number)
{
    struct srcdist_resumes *all = core->resumes;
    struct srcdist_resume *place = &all->waiting[number];
    uint32_t *link = &srcdist_replay_of(core, place->item)->waiting;

    while (*link != number)
        link = &all->waiting[*link].older;
    *link = place->older;
    all->waiting[place->before].after = place->after;
    all->waiting[place->after].before = place->before;
    all->requesters[place->requester].count--;
    all->count--;
    place->after = all->free;
    all->free = number;
}

/* The place of a requester that has asked for the item before; NULL: it has none. */
static struct srcdist_resume *place_of(struct srcdist_core *core, uint32_t item,
                                       const struct rrmp_reply *reply)
{
    for (uint32_t n = srcdist_replay_of(core, item)->waiting; n != 0;
         n = core->resumes->waiting[n].older) {
        struct srcdist_resume *place = &core->resumes->waiting[n];
        if (place->reply.session == reply->session && place->reply.port == reply->port)
            return place;
    }
    return NULL;
}

/* A new question in place of one that is not answered yet, or not to the end. */
static void ask_anew(struct srcdist_resume *place, const struct rrmp_source_event *event)
{
    place->position = event->position;
    place->reply = event->reply;
    place->is_bound = false;
    place->behind_ns = place->full_ns = 0;
    place->next = NULL;
}

void srcdist_resume_event(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_resume resume = {
        .item = event->item,
        .position = event->position,
        .reply = event->reply,
    };

    if (!srcdist_item_at(core, event->item))
        return;
    if (!core->items[event->item].is_followed) {
        refuse(core, &resume, SRCDIST_UNALIGNED_NOT_READY);
        return;
    }
    struct srcdist_resume *place = place_of(core, event->item, &event->reply);
    if (place)
        ask_anew(place, event);
    else if (place_take(core, &resume) == 0) /* else the turn settles all that came in it */
        refuse(core, &resume, SRCDIST_UNALIGNED_FULL);
}

void srcdist_resume_forget(struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_followed *followed = srcdist_replay_of(core, item);

    while (followed && followed->waiting != 0)
        place_give(core, followed->waiting);
}

void srcdist_resumes_pump(struct srcdist_core *core)
{
    struct srcdist_resumes *all = core->resumes;
    enum answer answer = ANSWER_LATER;
    uint32_t after;

    /* One item after the other: a p2ps holds the news of each that is bound. */
    for (uint32_t n = all ? all->waiting[0].after : 0; n != 0 && answer != ANSWER_FULL; n = after) {
        struct srcdist_resume *resume = &all->waiting[n];

        after = resume->after;
        answer = resume->is_bound ? ANSWER_LATER : bind(core, resume);
        if (resume->is_bound)
            answer = replay(core, resume);
        if (answer == ANSWER_DONE || answer == ANSWER_IMAGE)
            place_give(core, n);
    }
}

uint64_t srcdist_resumes_deadline(const struct srcdist_core *core)
{
    return core->resumes && core->resumes->count > 0 ? core->now_ns + AGAIN_NS : UINT64_MAX;
}

void srcdist_resumes_destroy(struct srcdist_core *core)
{
    free(core->resumes);
}
