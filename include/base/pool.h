/* base/pool.h - a fixed number of objects of one size, made at start, for one thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_POOL_H
#define MD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"

/*
 * The objects lie in one block of md_mem; what is free is a stack of pointers, so that the object
 * given last, the warm one, is taken first, and taking touches no object. Nothing is allocated
 * after md_pool_init(), and nothing is cleared: an object comes as it was given.
 *
 * Water marks: the pool is under pressure from the moment more than `high` objects are in use until
 * `low` or fewer are. Who fills the pool asks md_pool_is_pressed() and holds back.
 *
 * With is_poisoned (a switch at run time) a given object is filled with 0xdb, and whoever wrote to
 * it meanwhile, or gave it twice, is caught when it is taken. Under AddressSanitizer free objects
 * are out of bounds anyway.
 */
struct md_pool_config {
    size_t object_bytes; /* rounded up to a multiple of `align` */
    size_t align;        /* power of two; 0: 64, a cache line */
    uint32_t count;
    uint32_t high; /* 0: no water marks */
    uint32_t low;
    bool is_poisoned;
    struct md_mem_config mem;
};

struct md_pool {
    void **stack; /* the free objects are stack[0 .. free_count - 1] */
    uint32_t free_count;
    uint32_t free_min; /* least there ever were: the high-water mark of use */
    uint32_t count;
    uint32_t press_below;   /* free objects below which there is pressure */
    uint32_t release_above; /* and above which it ends */
    bool is_pressed;
    bool is_checked; /* poison, sanitizer: the slow way in and out */
    bool is_poisoned;
    uint64_t empty_count; /* times an object was wanted and none was there */
    uint64_t press_count; /* times the pressure began */
    uint8_t *start;
    size_t stride;
    struct md_mem mem;
};

/* MD_OK; MD_ERR_RANGE (count or size 0, low > high, high > count), MD_ERR_NOMEM. */
int md_pool_init(struct md_pool *pool, const struct md_pool_config *config);
void md_pool_fini(struct md_pool *pool); /* what is still taken is gone, too */

void md_pool_check_take(struct md_pool *pool, void *object);
void md_pool_check_give(struct md_pool *pool, void *object);

/* An object, or NULL when there is none, which is counted. */
static inline void *md_pool_take(struct md_pool *pool)
{
    if (__builtin_expect(pool->free_count == 0, 0)) {
        pool->empty_count++;
        return NULL;
    }
    void *object = pool->stack[--pool->free_count];
    if (pool->free_count < pool->free_min)
        pool->free_min = pool->free_count;
    if (__builtin_expect(pool->free_count < pool->press_below && !pool->is_pressed, 0)) {
        pool->is_pressed = true;
        pool->press_count++;
    }
    if (__builtin_expect(pool->is_checked, 0))
        md_pool_check_take(pool, object);
    return object;
}

/* NULL is not allowed, nor an object of another pool. */
static inline void md_pool_give(struct md_pool *pool, void *object)
{
    MD_ASSERT((size_t)((uint8_t *)object - pool->start) < pool->stride * pool->count &&
              pool->free_count < pool->count);
    if (__builtin_expect(pool->is_checked, 0))
        md_pool_check_give(pool, object);
    pool->stack[pool->free_count++] = object;
    if (__builtin_expect(pool->is_pressed && pool->free_count > pool->release_above, 0))
        pool->is_pressed = false;
}

static inline bool md_pool_is_pressed(const struct md_pool *pool)
{
    return pool->is_pressed;
}

static inline uint32_t md_pool_in_use(const struct md_pool *pool)
{
    return pool->count - pool->free_count;
}

static inline uint32_t md_pool_in_use_max(const struct md_pool *pool)
{
    return pool->count - pool->free_min;
}

/* Objects have numbers, 0 to count - 1, which are shorter than pointers and can be checked. */
static inline uint32_t md_pool_index(const struct md_pool *pool, const void *object)
{
    return (uint32_t)((size_t)((const uint8_t *)object - pool->start) / pool->stride);
}

static inline void *md_pool_at(const struct md_pool *pool, uint32_t index)
{
    MD_ASSERT(index < pool->count);
    return pool->start + pool->stride * index;
}

#endif
