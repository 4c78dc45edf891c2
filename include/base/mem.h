/* base/mem.h - how much memory there is, how much is in use, and locking it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_MEM_H
#define MD_MEM_H

#include <stdint.h>

/* Bytes this process may count on: the machine's memory or, if less, the limit of its cgroup. */
uint64_t md_mem_machine(void);
/* Bytes of the process that are in memory now, those it shares with others left out; 0: unknown. */
uint64_t md_mem_resident(void);

/* Lock all memory of the process, present and future. MD_ERR_SYS. MD_ERR_FULL: there is a limit
 * (RLIMIT_MEMLOCK), so only the present memory is locked. */
int md_mem_lock_all(void);

#endif
