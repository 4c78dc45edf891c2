/* replay.c - see replay.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/slots.h"
#include "item.h"
#include "itemkey/mark.h"
#include "tell.h"

#define BLOCK_BYTES  (256u << 10)
#define REPLAY_NS    (8 * 1000000000ull)
#define REPLAY_BYTES (256ull << 20)
#define BLOCK_MEMORY (sizeof(struct block) + BLOCK_BYTES)
#define SPARE_BYTES  (16 * BLOCK_MEMORY)
#define LINE         64u
#define FETCH_AHEAD  512u                 /* bytes: some messages */
#define FETCH_LINES  3u                   /* a message takes two or three */
#define ANSWERED_NS  (15 * 1000000000ull) /* a p2ps that misses the answer asks again after 5 s */

struct block {
    struct block *next; /* newer */
    size_t size;        /* of bytes */
    size_t used;
    uint64_t last_ns; /* of its newest message */
    uint64_t first_serial;
    uint8_t bytes[];
};

struct srcdist_replay {
    struct block *oldest, *newest;
    struct block *spare; /* so that a steady stream allocates nothing, and meets no new memory; */
    uint64_t spare_bytes;
    uint64_t next_serial;
    uint64_t bytes; /* of all blocks */
    uint32_t *of;   /* by item: what is followed of it, or MD_NIL */
    uint32_t of_room;
    struct md_slots followed;
    size_t memory;
};

/* ---- what is followed ---- */

struct srcdist_followed *srcdist_replay_of(const struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_replay *replay = core->replay;
    uint32_t number = replay && item < replay->of_room ? replay->of[item] : MD_NIL;

    return number == MD_NIL ? NULL : md_slots_at(&replay->followed, number);
}

static struct srcdist_replay *create(void)
{
    struct srcdist_replay *replay = calloc(1, sizeof(*replay));

    if (!replay)
        return NULL;
    replay->next_serial = 1;
    if (md_slots_init(&replay->followed, sizeof(struct srcdist_followed), UINT32_MAX / 64,
                      &replay->memory) == MD_OK)
        return replay;
    free(replay);
    return NULL;
}

static void follow(struct srcdist_core *core, uint32_t item)
{
    if (!core->replay)
        core->replay = create();
    if (!core->replay || !md_slots_map_grow(&core->replay->of, &core->replay->of_room, item))
        return;
    uint32_t number = md_slots_take(&core->replay->followed);
    if (number == MD_NIL)
        return;
    core->replay->of[item] = number;
    core->items[item].is_followed = true;
    core->stats.replay_items_now++;
}

void srcdist_replay_forget(struct srcdist_core *core, uint32_t item)
{
    if (!core->items[item].is_followed)
        return;
    md_slots_give(&core->replay->followed, core->replay->of[item]);
    core->replay->of[item] = MD_NIL;
    core->items[item].is_followed = false;
    core->stats.replay_items_now--;
}

void srcdist_replay_review(struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_item *it = &core->items[item];
    const struct srcdist_service_config *config = &core->services[it->service].config;

    if (!it->is_followed && (!config->mirror_sequence || !config->mirror_hot || it->is_private))
        return;
    bool is_needed = config->mirror_sequence && rrmp_source_has_standby(core->source, item);
    if (is_needed && !it->is_followed)
        follow(core, item);
    if (!it->is_followed)
        return;
    struct srcdist_followed *followed = srcdist_replay_of(core, item);
    if (is_needed || followed->waiting > 0)
        followed->needed_ns = core->now_ns;
    else if (core->now_ns - followed->needed_ns >= ANSWERED_NS)
        srcdist_replay_forget(core, item);
}

/* ---- blocks ---- */

static uint64_t bytes_kept(const struct srcdist_core *core)
{
    return core->config.replay_bytes ? core->config.replay_bytes : REPLAY_BYTES;
}

static void drop_oldest(struct srcdist_core *core)
{
    struct srcdist_replay *replay = core->replay;
    struct block *block = replay->oldest;

    replay->oldest = block->next;
    if (!replay->oldest)
        replay->newest = NULL;
    replay->bytes -= sizeof(*block) + block->size;
    if (block->size != BLOCK_BYTES || replay->spare_bytes >= SPARE_BYTES ||
        replay->bytes + replay->spare_bytes + BLOCK_MEMORY > bytes_kept(core)) {
        free(block);
        return;
    }
    block->next = replay->spare;
    replay->spare = block;
    replay->spare_bytes += BLOCK_MEMORY;
}

static struct block *take_spare(struct srcdist_replay *replay)
{
    struct block *block = replay->spare;

    if (!block)
        return NULL;
    replay->spare = block->next;
    replay->spare_bytes -= BLOCK_MEMORY;
    return block;
}

static void free_spare(struct srcdist_replay *replay)
{
    for (struct block *block; (block = take_spare(replay)) != NULL;)
        free(block);
}

static uint64_t time_kept(const struct srcdist_core *core)
{
    return core->config.replay_ns ? core->config.replay_ns : REPLAY_NS;
}

static void drop_old(struct srcdist_core *core)
{
    const struct srcdist_replay *replay = core->replay;

    while (replay->oldest && core->now_ns - replay->oldest->last_ns > time_kept(core))
        drop_oldest(core);
}

/* A new block behind all others, with room for a message of this size; NULL: no memory. */
static struct block *add_block(struct srcdist_core *core, size_t size)
{
    struct srcdist_replay *replay = core->replay;
    size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;

    drop_old(core);
    while (replay->oldest && replay->bytes + sizeof(struct block) + bytes > bytes_kept(core)) {
        core->stats.replay_cut++;
        srcdist_tell_rarely(core, SRCDIST_TALE_REPLAY,
                            "replayBytes is full: messages are kept for less than replayTime, and "
                            "a p2ps that loses another source may get images; raise replayBytes");
        drop_oldest(core);
    }
    if (bytes > BLOCK_BYTES)
        free_spare(replay); /* replayBytes is for both */
    struct block *block = bytes == BLOCK_BYTES ? take_spare(replay) : NULL;
    if (!block)
        block = malloc(sizeof(*block) + bytes);
    if (!block)
        return NULL;
    *block = (struct block){ .size = bytes, .first_serial = replay->next_serial };
    if (replay->newest)
        replay->newest->next = block;
    else
        replay->oldest = block;
    replay->newest = block;
    replay->bytes += sizeof(*block) + bytes;
    return block;
}

void srcdist_replay_tick(struct srcdist_core *core)
{
    const struct srcdist_replay *replay = core->replay;

    core->stats.replay_bytes_max = bytes_kept(core);
    if (!replay)
        return;
    drop_old(core);
    core->stats.replay_bytes_now = replay->bytes;
    core->stats.replay_memory_now = replay->bytes + replay->memory +
                                    replay->of_room * sizeof(*replay->of) + replay->spare_bytes;
}

void srcdist_replay_destroy(struct srcdist_core *core)
{
    struct srcdist_replay *replay = core->replay;

    if (!replay)
        return;
    while (replay->oldest)
        drop_oldest(core);
    free_spare(replay);
    free(replay->of);
    md_slots_fini(&replay->followed);
    free(replay);
    core->replay = NULL;
}

/* ---- messages ---- */

bool srcdist_replay_is_kept(const struct srcdist_core *core, uint64_t serial)
{
    const struct srcdist_replay *replay = core->replay;

    return serial != 0 && replay->oldest && serial >= replay->oldest->first_serial;
}

struct srcdist_kept *srcdist_replay_last(const struct srcdist_core *core,
                                         const struct srcdist_followed *followed)
{
    bool is_there = followed->last_serial >= followed->first_serial &&
                    srcdist_replay_is_kept(core, followed->last_serial);

    return is_there ? followed->last : NULL;
}

struct srcdist_kept *srcdist_replay_before(const struct srcdist_core *core,
                                           const struct srcdist_followed *followed,
                                           const struct srcdist_kept *kept)
{
    bool is_there = kept->before_serial >= followed->first_serial &&
                    srcdist_replay_is_kept(core, kept->before_serial);

    return is_there ? kept->before : NULL;
}

/* The place of the next messages is in no cache any more: it is fetched while this one is copied.
 */
static void fetch(const uint8_t *at)
{
    for (unsigned i = 0; i < FETCH_LINES; i++)
        __builtin_prefetch(at + FETCH_AHEAD + i * LINE, 1);
}

static void keep(struct srcdist_core *core, struct srcdist_followed *followed, uint8_t type,
                 struct rwf_bytes message)
{
    struct srcdist_replay *replay = core->replay;
    size_t size = (sizeof(struct srcdist_kept) + message.length + 7) & ~(size_t)7;
    struct block *block = replay->newest;

    if (!block || block->size - block->used < size)
        block = add_block(core, size);
    if (!block) { /* without it nothing before it can be replayed either */
        followed->first_serial = replay->next_serial;
        return;
    }
    void *at = block->bytes + block->used;
    struct srcdist_kept *kept = at;
    fetch(at);
    block->used += size;
    block->last_ns = core->now_ns;
    kept->before = followed->last;
    kept->before_serial = followed->last_serial;
    kept->serial = replay->next_serial++;
    kept->length = (uint32_t)message.length;
    kept->type = type;
    kept->position = followed->position;
    if (message.length)
        memcpy(kept->bytes, message.data, message.length);
    if (message.length >= 8)
        rwf_patch_stream_id(kept->bytes, 0);
    followed->last = kept;
    followed->last_serial = kept->serial;
}

void srcdist_replay_keep(struct srcdist_core *core, uint32_t item, uint8_t type,
                         struct rwf_bytes message)
{
    struct srcdist_followed *followed = srcdist_replay_of(core, item);
    struct rrmp_mark mark;

    itemkey_mark(srcdist_view(message), &mark);
    rrmp_position_pass(&followed->position, &mark);
    keep(core, followed, type, message);
}

/* Nothing is replayed over an image. */
void srcdist_replay_begin(struct srcdist_core *core, uint32_t item, struct rwf_bytes image)
{
    struct srcdist_followed *followed = srcdist_replay_of(core, item);
    struct rrmp_mark mark;

    if (image.length > 0)
        itemkey_mark(srcdist_view(image), &mark);
    rrmp_position_begin(&followed->position, image.length > 0 ? &mark : NULL);
    followed->first_serial = core->replay->next_serial;
    keep(core, followed, RRMP_IMAGE, rwf_bytes(NULL, 0));
}
