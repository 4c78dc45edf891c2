/* mem.c - see base/mem.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numa.h>

#include "base/err.h"

#define HUGE_BYTES ((size_t)2 << 20)

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static void *map(size_t bytes, int flags)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

int md_mem_map(const struct md_mem_config *config, size_t bytes, struct md_mem *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *out = (struct md_mem){ 0 };
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return MD_ERR_NOMEM;
    if (config->is_huge) {
        out->bytes = round_up(bytes, HUGE_BYTES);
        out->start = map(out->bytes, MAP_HUGETLB);
        out->is_huge = out->start != NULL;
    }
    if (!out->start) {
        out->bytes = round_up(bytes, page);
        out->start = map(out->bytes, 0);
        if (!out->start) {
            *out = (struct md_mem){ 0 };
            return MD_ERR_NOMEM;
        }
        if (config->is_huge)
            (void)madvise(out->start, out->bytes, MADV_HUGEPAGE); /* a wish */
    }
    if (config->node >= 0 && numa_available() >= 0 && config->node <= numa_max_node())
        numa_tonode_memory(out->start, out->bytes, config->node);
    memset(out->start, 0, out->bytes); /* touched here and now, on that node */
    out->is_locked = config->is_locked && mlock(out->start, out->bytes) == 0;
    return MD_OK;
}

void md_mem_unmap(struct md_mem *mem)
{
    if (mem->start)
        munmap(mem->start, mem->bytes);
    *mem = (struct md_mem){ 0 };
}

int md_mem_lock_all(void)
{
    return mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? MD_OK : MD_ERR_SYS;
}
