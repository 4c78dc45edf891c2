/* console.h - live statements, from standard input and a Unix socket. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_CONSOLE_H
#define FAULT_CONSOLE_H

#include "provider.h"

struct console;

/* `path` may be NULL: standard input alone. MD_ERR_SYS after it has said why. */
int console_start(struct provider *provider, const char *path, struct console **out);
void console_stop(struct console *console); /* NULL is allowed */

/* A statement of the console is done: its sender is told. */
void console_step(struct console *console, const struct fault_action *action);

/* The other end: one statement to the socket; its answer on standard output. An exit code. */
int console_tell(const char *path, const char *line);

#endif
