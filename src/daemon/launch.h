/* launch.h - a daemon goes to the background, or begins anew in the same process. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LAUNCH_H
#define DAEMON_LAUNCH_H

#include <stdbool.h>

/*
 * The calling process forks, waits, and leaves with code 0 when its child is ready, else with the
 * exit code of the child; so a script knows how the start went. Returns in the child only: the
 * descriptor for launch_ready(), or -1 in the process that called, if it cannot fork (a reason on
 * standard error) or is a daemon that begins anew.
 */
int launch_background(const char *name);

/* The child is ready: the parent may leave, and the terminal is no longer ours. */
void launch_ready(int fd, bool keeps_stderr);

/* The same program in the same process. Returns an exit code if it cannot. */
int launch_again(const char *name, char **argv);

#endif
