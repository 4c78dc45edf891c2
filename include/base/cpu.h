/* base/cpu.h - where and how a thread runs: CPU lists, NUMA nodes, scheduling. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CPU_H
#define MD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MD_CPU_MAX  1024
#define MD_NODE_ANY (-1)

struct md_cpu_set {
    uint64_t bits[MD_CPU_MAX / 64];
};

/*
 * "0-3,8,10-11"; blanks are allowed, "" is the empty set. MD_ERR_MALFORMED, or MD_ERR_RANGE for a
 * CPU above MD_CPU_MAX - 1 or a range that runs backwards; *out is empty then.
 */
int md_cpu_set_parse(const char *text, struct md_cpu_set *out);
int md_cpu_set_format(const struct md_cpu_set *set, char *out, size_t size); /* MD_ERR_SHORT */
void md_cpu_set_add(struct md_cpu_set *set, unsigned cpu);
bool md_cpu_set_has(const struct md_cpu_set *set, unsigned cpu);
unsigned md_cpu_set_count(const struct md_cpu_set *set);

/* The CPUs this thread may use; their count is the size of the machine for us. */
int md_cpu_allowed(struct md_cpu_set *out);

/* Bind the calling thread. An empty set changes nothing. MD_ERR_SYS: none of them is allowed. */
int md_cpu_bind(const struct md_cpu_set *set);

/* The NUMA node of a CPU, 0 if the machine has no nodes; MD_NODE_ANY for a CPU it does not have. */
int md_cpu_node(unsigned cpu);

/* Run the calling thread, and those it makes, on the CPUs of a NUMA node, and take memory there
 * first. MD_ERR_RANGE: there is no such node; MD_ERR_SYS: none of its CPUs is allowed. */
int md_node_use(int node);

enum md_sched_policy {
    MD_SCHED_OTHER,
    MD_SCHED_BATCH,
    MD_SCHED_FIFO,
    MD_SCHED_ROUND_ROBIN,
};

/*
 * For the calling thread. `priority` is 1 to 99 for fifo and rr, and a nice value, -20 to 19, for
 * the others. MD_ERR_RANGE; MD_ERR_SYS, most often for want of CAP_SYS_NICE.
 */
int md_sched_set(enum md_sched_policy policy, int priority);

/*
 * A loop that looks for work calls this between two looks, so that others may have the CPU. True:
 * somebody had it for 100 us. Then there is no CPU to spare for looking, and the loop had better
 * sleep.
 */
bool md_cpu_yield(void);

/* Tell the CPU that this is a spinning loop. */
static inline void md_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
