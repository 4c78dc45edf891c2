/* threads.c - see daemon/threads.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/threads.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cpu.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

#define PRIORITY_DEFAULT 50 /* schedPriority 0 */

void daemon_thread_settle(const struct md_conf_object *object, const char *cpu_param)
{
    const char *text = md_conf_string(object, cpu_param);
    int priority = (int)md_conf_i64(object, "schedPriority");
    struct md_cpu_set cpus;

    if (*text && (md_cpu_set_parse(text, &cpus) != MD_OK || md_cpu_bind(&cpus) != MD_OK))
        md_log(MD_LOG_WARNING, "%s: %s: none of these CPUs may be used; not bound", cpu_param,
               text);
    if (md_conf_word(object, "schedPolicy") == 1 &&
        md_sched_set(MD_SCHED_FIFO, priority ? priority : PRIORITY_DEFAULT) != MD_OK)
        md_log(MD_LOG_WARNING,
               "schedPolicy: fifo was refused (%s); it needs CAP_SYS_NICE or a limit in "
               "limits.conf (rtprio); going on with the ordinary policy",
               strerror(errno));
}

static void lock_memory(void)
{
    int err = md_mem_lock_all();

    if (err == MD_ERR_FULL)
        md_log(MD_LOG_WARNING,
               "lockMemory: the memlock limit is not unlimited: memory that the daemon takes from "
               "now on is not locked; write LimitMEMLOCK=infinity in its unit (ulimit -l "
               "unlimited)");
    else if (err != MD_OK)
        md_log(MD_LOG_WARNING, "lockMemory: %s (needs CAP_IPC_LOCK or a higher memlock limit)",
               strerror(errno));
}

void daemon_threads_prepare(const struct md_conf_object *object)
{
    int nice_value = (int)md_conf_i64(object, "nice");
    int node = (int)md_conf_i64(object, "numaNode");

    if (nice_value != 0 && setpriority(PRIO_PROCESS, 0, nice_value) != 0)
        md_log(MD_LOG_WARNING, "nice %d: %s", nice_value, strerror(errno));
    if (md_conf_bool(object, "lockMemory"))
        lock_memory();
    if (node >= 0 && md_node_use(node) != MD_OK)
        md_log(MD_LOG_WARNING, "numaNode %d: no such node, or none of its CPUs may be used", node);
}
