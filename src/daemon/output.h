/* output.h - the log of a daemon, from its command line and class logger. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_OUTPUT_H
#define DAEMON_OUTPUT_H

#include "base/log.h"
#include "daemon/daemon.h"

/* -loglevel, else logLevel. */
enum md_log_severity output_level(const struct daemon *daemon);

/* -1, or an exit code and a sentence on standard error. */
int output_open(struct daemon *daemon);

#endif
