/* mem.c - see base/mem.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- how much there is ---- */

/* The number in a file, or 0: not there, or a word ("max"). */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long value = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%llu", &value) != 1)
        value = 0;
    fclose(file);
    return value;
}

static uint64_t less(uint64_t limit, uint64_t other)
{
    return other != 0 && other < limit ? other : limit;
}

/* The limits of our cgroup of the second version and of all above it. */
static uint64_t cgroup_limit(uint64_t limit)
{
    char line[512];
    char path[600];
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "0::", 3) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        for (char *end; (end = strrchr(line + 3, '/')) != NULL; *end = 0) {
            snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
            limit = less(limit, number_in(path));
        }
    }
    if (file)
        fclose(file);
    return less(limit, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

uint64_t md_mem_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);

    return cgroup_limit(pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX);
}

/* Asked at every beat of a daemon: by system calls, since a FILE takes memory. */
uint64_t md_mem_resident(void)
{
    char text[128];
    char *at = text;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    strtoull(at, &at, 10); /* the whole address space */
    uint64_t resident = strtoull(at, &at, 10);
    uint64_t shared = strtoull(at, &at, 10);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
