/* base/mem.h - large blocks of memory: their NUMA node, page size and locking. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_MEM_H
#define MD_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MD_NODE_ANY (-1)

struct md_mem_config {
    int node;       /* NUMA node, or MD_NODE_ANY: where the calling thread runs */
    bool is_huge;   /* huge pages if there are any, else transparent ones if the kernel likes */
    bool is_locked; /* kept out of swap */
};

/* A block of zeroed pages, all of them touched: what is used later faults no more. */
struct md_mem {
    void *start;
    size_t bytes; /* as asked for, rounded up to whole pages */
    bool is_huge; /* what was got */
    bool is_locked;
};

/* MD_OK, or MD_ERR_NOMEM with nothing mapped. What cannot be had of the config is done without;
 * is_huge and is_locked tell. */
int md_mem_map(const struct md_mem_config *config, size_t bytes, struct md_mem *out);
void md_mem_unmap(struct md_mem *mem); /* leaves it empty; an empty one is fine */

/* Bytes this process may count on: the machine's memory or, if less, the limit of its cgroup. */
uint64_t md_mem_machine(void);
/* Bytes of the process that are in memory now, those it shares with others left out; 0: unknown. */
uint64_t md_mem_resident(void);

/* Lock all memory of the process, present and future. MD_ERR_SYS. */
int md_mem_lock_all(void);

#endif
