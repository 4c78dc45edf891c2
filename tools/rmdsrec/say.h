/* say.h - what rmdsrec tells its operator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAY_H
#define SAY_H

#include <stdbool.h>

#include "base/log.h"

/* Set once, before there is a second thread: it runs as a daemon, which has a log. */
extern bool rec_is_daemon;

/* A line of the log of a daemon; else one on standard error, behind the name of the program. No
 * newline at the end. */
#define rec_say(severity, ...)                                                                     \
    do {                                                                                           \
        if (rec_is_daemon)                                                                         \
            md_log(severity, __VA_ARGS__);                                                         \
        else                                                                                       \
            rec_print(__VA_ARGS__);                                                                \
    } while (0)

void rec_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
