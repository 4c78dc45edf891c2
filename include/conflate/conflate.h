/* conflate/conflate.h - several updates of an item merged into one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFLATE_CONFLATE_H
#define CONFLATE_CONFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"

/*
 * A merged update stands for a contiguous run of updates: a consumer that applies it has the image
 * that all of the run would have given. Bytes in, bytes out; the caller owns the pending message of
 * each item, and says when it goes out:
 *
 *     switch (conflate_add(c, &pending, update, image, now_ns)) {
 *     case CONFLATE_HELD:  the update is in `pending`
 *     case CONFLATE_FLUSH: send `pending`, conflate_clear() it, add the update again
 *     case CONFLATE_PASS:  send `pending` if it has bytes, clear it, send the update as it is
 *     }
 *
 * Merged are updates of field lists and of maps of field lists. An update with permission data,
 * post user info, an extended header, DO_NOT_CONFLATE, DO_NOT_CACHE, or a flag that is not known,
 * and every other message or container, passes. An update that is alone in its run keeps its bytes.
 */
struct conflate;

struct conflate_config {
    /* The type of a field, enum rwf_type, 0 when not known: RMTES fields take partial contents. May
     * be NULL: none is known. */
    unsigned (*field_type)(void *context, int16_t id);
    /* The field that takes over the old value of this one, 0: none. May be NULL: none ripples. */
    int16_t (*ripples_to)(void *context, int16_t id);
    void *context;
    const struct rwf_sets *sets; /* global set definitions, outlive the engine; may be NULL */
    uint64_t random;             /* seeds the hash of map keys */
};

/* The scratch memory of one thread, some 700 KiB; nothing is allocated after this. MD_ERR_NOMEM. */
int conflate_create(const struct conflate_config *config, struct conflate **out);
void conflate_destroy(struct conflate *c); /* NULL is allowed */

/* The head of a merged update as it describes its run, without count and time. */
struct conflate_head {
    uint32_t seq_num;
    uint32_t time_ms; /* that the run has taken */
    uint16_t flags;   /* but for those of conflation and ripples */
    uint8_t domain;
    uint8_t update_type;
    bool ripples; /* an update of the run does */
};

/* The pending update of an item. All zero but for the caller's members is empty. */
struct conflate_pending {
    uint8_t *bytes;   /* the caller's */
    uint32_t room;    /* the caller's: see conflate_room() */
    bool has_info;    /* the caller's: a merged update says count and time of its run */
    bool takes_image; /* the caller's: see conflate_out() */
    bool is_noted;    /* `bytes` is no message: see conflate_out() */
    bool is_merged;   /* it is one that was made of several */
    uint32_t length;
    uint32_t count; /* updates of the run, with those that a provider merged; saturates */
    uint64_t first_ns;
};

enum conflate_result {
    CONFLATE_HELD,
    CONFLATE_FLUSH,
    CONFLATE_PASS,
};

/* A merged update is never longer than the image and a little: what is longer goes out before. */
#define CONFLATE_ROOM_MORE 64u
static inline size_t conflate_room(size_t image_length)
{
    return image_length + CONFLATE_ROOM_MORE;
}

/*
 * `image` is the field list that a consumer has when everything before `update` was applied, the
 * pending update too; without data it is not known (and for maps not needed). With it old values
 * that ripple are written out, and partial contents become whole; without it such updates are not
 * merged. Nothing has changed unless the result is CONFLATE_HELD.
 */
enum conflate_result conflate_add(struct conflate *c, struct conflate_pending *pending,
                                  struct rwf_bytes update, struct rwf_bytes image, uint64_t now_ns);

static inline struct rwf_bytes conflate_bytes(const struct conflate_pending *pending)
{
    return rwf_bytes(pending->bytes, pending->length);
}

static inline void conflate_clear(struct conflate_pending *pending)
{
    pending->length = 0;
    pending->count = 0;
    pending->is_noted = pending->is_merged = false;
}

/*
 * The pending update as it goes out. A caller that has the image still then, with the pending
 * update applied and nothing else, sets `takes_image`: of updates of field lists with a known image
 * only the ids are noted, which costs a tenth of merging, and the values are taken out of `image`
 * once. False: a field is not there, so the image is not the one that is meant, and the run cannot
 * be told; one that does not set `takes_image` need not call this. *out is good until the next
 * call.
 */
bool conflate_out(struct conflate *c, const struct conflate_pending *pending,
                  struct rwf_bytes image, struct rwf_bytes *out);

/*
 * For a caller that keeps the image and notes itself which fields a run has changed in it: then an
 * update costs its head alone. The pending update has its first update as `bytes`, which the caller
 * puts there, and goes out as it is while it is alone; then as conflate_run_write() makes it.
 */

/* How many fields an update of a field list has; 0: it cannot be in a run, as when it cannot be
 * told whether a content is a part of a string. */
unsigned conflate_run_fields(const struct conflate *c, const struct rwf_msg *update);
/* `first` is in `pending` now. */
void conflate_run_begin(struct conflate_pending *pending, struct conflate_head *head,
                        const struct rwf_msg *first, uint64_t now_ns);
/* False: `fresh` is not of this run, and nothing has changed. */
bool conflate_run_add(struct conflate_pending *pending, struct conflate_head *head,
                      const struct rwf_msg *fresh, uint64_t now_ns);
/* The run with these fields, an encoded field list. An RWF_ERR_. */
int conflate_run_write(const struct conflate_pending *pending, const struct conflate_head *head,
                       struct rwf_bytes fields, struct rwf_encoder *enc);

/*
 * One update of a field list with everything that it changes in the image: ripple targets written
 * out, DO_NOT_RIPPLE set. A field of it may then be left out without harm to another one. True:
 * *out is good until the next call; false: it cannot be merged, or ripples nothing.
 */
bool conflate_spell(struct conflate *c, struct rwf_bytes update, struct rwf_bytes image,
                    struct rwf_bytes *out);

/* The same of an update that `image` has in it already: all values are taken from there. */
bool conflate_spell_after(struct conflate *c, struct rwf_bytes update, struct rwf_bytes image,
                          struct rwf_bytes *out);

#endif
