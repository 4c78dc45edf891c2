/* mem.c - see base/mem.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"

/* A daemon gives CAP_IPC_LOCK up: with a limit and MCL_FUTURE, no memory can be had from then on.
 */
int md_mem_lock_all(void)
{
    struct rlimit limit;
    bool has_no_limit = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;

    if (mlockall(MCL_CURRENT | (has_no_limit ? MCL_FUTURE : 0)) != 0)
        return MD_ERR_SYS;
    return has_no_limit ? MD_OK : MD_ERR_FULL;
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
