/* pool.c - see base/pool.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <string.h>

#include "base/err.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define HAS_ASAN                              0
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

#define POISON 0xdb

static bool is_usable(const struct md_pool_config *config, size_t align)
{
    return config->count > 0 && config->object_bytes > 0 && (align & (align - 1)) == 0 &&
           config->low <= config->high && config->high <= config->count &&
           config->object_bytes <= SIZE_MAX / 4 / config->count - align;
}

int md_pool_init(struct md_pool *pool, const struct md_pool_config *config)
{
    size_t align = config->align ? config->align : 64;

    *pool = (struct md_pool){ 0 };
    if (!is_usable(config, align))
        return MD_ERR_RANGE;
    size_t stride = (config->object_bytes + align - 1) & ~(align - 1);
    size_t objects = stride * config->count;
    size_t stack_at = (objects + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    int err = md_mem_map(&config->mem, stack_at + config->count * sizeof(void *), &pool->mem);
    if (err)
        return err;
    pool->start = pool->mem.start;
    pool->stack = (void **)(void *)(pool->start + stack_at);
    pool->stride = stride;
    pool->count = pool->free_count = pool->free_min = config->count;
    if (config->high) {
        pool->press_below = config->count - config->high;
        pool->release_above = config->count - config->low - (config->low < config->count);
    }
    pool->is_poisoned = config->is_poisoned;
    pool->is_checked = config->is_poisoned || HAS_ASAN;
    /* The first object is on top: a pool that is hardly used stays within few pages. */
    for (uint32_t i = 0; i < config->count; i++)
        pool->stack[i] = pool->start + stride * (config->count - 1 - i);
    if (config->is_poisoned)
        memset(pool->start, POISON, objects);
    ASAN_POISON_MEMORY_REGION(pool->start, objects);
    return MD_OK;
}

void md_pool_fini(struct md_pool *pool)
{
    if (pool->start)
        ASAN_UNPOISON_MEMORY_REGION(pool->start, pool->stride * pool->count);
    md_mem_unmap(&pool->mem);
    *pool = (struct md_pool){ 0 };
}

static bool is_poison(const uint8_t *bytes, size_t length)
{
    return bytes[0] == POISON && (length == 1 || memcmp(bytes, bytes + 1, length - 1) == 0);
}

void md_pool_check_take(struct md_pool *pool, void *object)
{
    ASAN_UNPOISON_MEMORY_REGION(object, pool->stride);
    if (pool->is_poisoned)
        MD_ASSERT(is_poison(object, pool->stride)); /* else: written to after it was given */
}

void md_pool_check_give(struct md_pool *pool, void *object)
{
    MD_ASSERT((size_t)((uint8_t *)object - pool->start) % pool->stride == 0);
    if (pool->is_poisoned) {
        MD_ASSERT(!is_poison(object, pool->stride)); /* else: given twice */
        memset(object, POISON, pool->stride);
    }
    ASAN_POISON_MEMORY_REGION(object, pool->stride);
}
