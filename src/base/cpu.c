/* cpu.c - see base/cpu.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <numa.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"

_Static_assert(CPU_SETSIZE >= MD_CPU_MAX, "cpu_set_t holds our sets");

void md_cpu_set_add(struct md_cpu_set *set, unsigned cpu)
{
    MD_ASSERT(cpu < MD_CPU_MAX);
    set->bits[cpu / 64] |= 1ull << cpu % 64;
}

bool md_cpu_set_has(const struct md_cpu_set *set, unsigned cpu)
{
    return cpu < MD_CPU_MAX && (set->bits[cpu / 64] >> cpu % 64 & 1) != 0;
}

unsigned md_cpu_set_count(const struct md_cpu_set *set)
{
    unsigned count = 0;

    for (size_t i = 0; i < MD_CPU_MAX / 64; i++)
        count += (unsigned)__builtin_popcountll(set->bits[i]);
    return count;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* A number at *at, which is stepped over with the blanks behind it. */
static int parse_number(const char **at, unsigned *out)
{
    unsigned value = 0;
    const char *from = *at;

    while (**at >= '0' && **at <= '9') {
        value = value * 10 + (unsigned)(**at - '0');
        if (value >= MD_CPU_MAX)
            return MD_ERR_RANGE;
        (*at)++;
    }
    *out = value;
    if (*at == from)
        return MD_ERR_MALFORMED;
    *at = skip_blanks(*at);
    return MD_OK;
}

static int parse_range(const char **at, struct md_cpu_set *set)
{
    unsigned first, last;
    int err = parse_number(at, &first);

    if (err)
        return err;
    last = first;
    if (**at == '-') {
        *at = skip_blanks(*at + 1);
        err = parse_number(at, &last);
        if (err)
            return err;
    }
    if (last < first)
        return MD_ERR_RANGE;
    for (unsigned cpu = first; cpu <= last; cpu++)
        md_cpu_set_add(set, cpu);
    return MD_OK;
}

int md_cpu_set_parse(const char *text, struct md_cpu_set *out)
{
    struct md_cpu_set set = { 0 };
    const char *at = skip_blanks(text);

    *out = set;
    while (*at) {
        int err = parse_range(&at, &set);
        if (err)
            return err;
        if (*at == '\0')
            break;
        if (*at != ',')
            return MD_ERR_MALFORMED;
        at = skip_blanks(at + 1);
        if (*at == '\0')
            return MD_ERR_MALFORMED;
    }
    *out = set;
    return MD_OK;
}

int md_cpu_set_format(const struct md_cpu_set *set, char *out, size_t size)
{
    size_t used = 0;

    if (size == 0)
        return MD_ERR_SHORT;
    out[0] = '\0';
    for (unsigned cpu = 0; cpu < MD_CPU_MAX; cpu++) {
        unsigned last = cpu;
        char range[24];
        if (!md_cpu_set_has(set, cpu))
            continue;
        while (md_cpu_set_has(set, last + 1))
            last++;
        int n = last == cpu ? snprintf(range, sizeof(range), "%s%u", used ? "," : "", cpu)
                            : snprintf(range, sizeof(range), "%s%u-%u", used ? "," : "", cpu, last);
        if ((size_t)n >= size - used)
            return MD_ERR_SHORT;
        memcpy(out + used, range, (size_t)n + 1);
        used += (size_t)n;
        cpu = last;
    }
    return MD_OK;
}

int md_cpu_allowed(struct md_cpu_set *out)
{
    cpu_set_t kernel;

    *out = (struct md_cpu_set){ 0 };
    if (sched_getaffinity(0, sizeof(kernel), &kernel) != 0)
        return MD_ERR_SYS;
    for (unsigned cpu = 0; cpu < MD_CPU_MAX; cpu++) {
        if (CPU_ISSET(cpu, &kernel))
            md_cpu_set_add(out, cpu);
    }
    return MD_OK;
}

int md_cpu_bind(const struct md_cpu_set *set)
{
    cpu_set_t kernel;

    if (md_cpu_set_count(set) == 0)
        return MD_OK;
    CPU_ZERO(&kernel);
    for (unsigned cpu = 0; cpu < MD_CPU_MAX; cpu++) {
        if (md_cpu_set_has(set, cpu))
            CPU_SET(cpu, &kernel);
    }
    return sched_setaffinity(0, sizeof(kernel), &kernel) == 0 ? MD_OK : MD_ERR_SYS;
}

int md_cpu_node(unsigned cpu)
{
    if ((long)cpu >= sysconf(_SC_NPROCESSORS_CONF))
        return MD_NODE_ANY;
    if (numa_available() < 0)
        return 0;
    int node = numa_node_of_cpu((int)cpu);
    return node < 0 ? MD_NODE_ANY : node;
}

int md_node_use(int node)
{
    struct md_cpu_set allowed, of_node = { 0 };

    if (node < 0 || node > (numa_available() < 0 ? 0 : numa_max_node()))
        return MD_ERR_RANGE;
    if (md_cpu_allowed(&allowed) != MD_OK)
        return MD_ERR_SYS;
    for (unsigned cpu = 0; cpu < MD_CPU_MAX; cpu++) {
        if (md_cpu_set_has(&allowed, cpu) && md_cpu_node(cpu) == node)
            md_cpu_set_add(&of_node, cpu);
    }
    if (md_cpu_set_count(&of_node) == 0 || md_cpu_bind(&of_node) != MD_OK)
        return MD_ERR_SYS;
    if (numa_available() >= 0)
        numa_set_preferred(node);
    return MD_OK;
}

#define TAKEN_NS 100000u /* others take less for a look of theirs */

bool md_cpu_yield(void)
{
    uint64_t before = md_clock_mono_ns();

    (void)sched_yield();
    return md_clock_mono_ns() - before > TAKEN_NS;
}

int md_sched_set(enum md_sched_policy policy, int priority)
{
    static const int kernel[] = {
        [MD_SCHED_OTHER] = SCHED_OTHER,
        [MD_SCHED_BATCH] = SCHED_BATCH,
        [MD_SCHED_FIFO] = SCHED_FIFO,
        [MD_SCHED_ROUND_ROBIN] = SCHED_RR,
    };
    bool is_real_time = policy == MD_SCHED_FIFO || policy == MD_SCHED_ROUND_ROBIN;

    if (is_real_time ? priority < 1 || priority > 99 : priority < -20 || priority > 19)
        return MD_ERR_RANGE;
    struct sched_param param = { .sched_priority = is_real_time ? priority : 0 };
    if (sched_setscheduler(0, kernel[policy], &param) != 0) /* 0: the calling thread */
        return MD_ERR_SYS;
    if (!is_real_time && setpriority(PRIO_PROCESS, (id_t)gettid(), priority) != 0)
        return MD_ERR_SYS;
    return MD_OK;
}
