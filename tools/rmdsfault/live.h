/* live.h - live statements, from standard input and a Unix socket. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_LIVE_H
#define FAULT_LIVE_H

#include "provider.h"

struct live;

/* `path` may be NULL: standard input alone. MD_ERR_SYS after it has said why. */
int live_start(struct provider *provider, const char *path, struct live **out);
void live_stop(struct live *live); /* NULL is allowed */

/* A statement of the console is done: its sender is told. */
void live_step(struct live *live, const struct fault_action *action);

/* The other end: one statement to the socket; its answer on standard output. An exit code. */
int live_tell(const char *path, const char *line);

#endif
