/* daemon/threads.h - where the threads of a daemon run, and with which priority. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_THREADS_H
#define DAEMON_THREADS_H

#include "conf/conf.h"

/* The whole process: nice, lockMemory, numaNode of `object`. A value that cannot be had is a
 * WARNING. Threads made afterwards inherit it. */
void daemon_threads_prepare(const struct md_conf_object *object);

/* The calling thread: its CPUs, a parameter such as "mainThreadCpu" or "writeThreadCpu.0", and
 * schedPolicy with schedPriority, both of `object`. A value that cannot be had is a WARNING. */
void daemon_thread_settle(const struct md_conf_object *object, const char *cpu_param);

#endif
