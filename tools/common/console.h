/* console.h - lines from standard input and from a Unix socket, and an answer to each. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_CONSOLE_H
#define TOOLS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define CONSOLE_LINE_MAX 1000u /* a longer one is refused whole */
#define CONSOLE_TALKERS  8u    /* the first is standard input */

/*
 * The socket can be opened by its user alone. Each line goes to on_line, without its end; what it
 * is answered with is the owner's, at once or later. on_gone: that talker gets no answer any more.
 */
struct console;

struct console_config {
    struct md_loop *loop;
    const char *program; /* in front of what standard error is told */
    const char *path;    /* of the socket; NULL: none */
    bool takes_input;    /* standard input, too, if it is a terminal, a pipe or a socket */
    void *owner;
    void (*on_line)(void *owner, unsigned talker, const char *line, size_t length);
    void (*on_gone)(void *owner, unsigned talker); /* may be NULL */
};

/* MD_ERR_SYS after it has said why; MD_ERR_NOMEM. *out is to be stopped either way. */
int console_open(const struct console_config *config, struct console **out);
void console_close(struct console *console); /* NULL is allowed */
void console_reply(struct console *console, unsigned talker, const char *text);
/* It is standard input: an answer may have several lines. */
bool console_is_input(const struct console *console, unsigned talker);

/* The other end: one line to a socket; the first line of the answer on standard output. 0: it
 * begins with "ok"; 1: it does not; -1: there is none, and standard error says why. */
int console_ask(const char *program, const char *path, const char *line);

#endif
