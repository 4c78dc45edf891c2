/* commands.c - what the operator types while it runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "input.h"
#include "tc.h"

struct console {
    struct tc *tc;
    struct md_loop_fd *watch;
    char line[1024];
    size_t used;
};

static struct slot *slot_named(struct conn *conn, const char *name)
{
    for (uint32_t i = 0; name && i < conn->slot_count; i++) {
        if (conn->slots[i].item != NO_ITEM &&
            strcmp(conn->tc->items[conn->slots[i].item].name, name) == 0)
            return &conn->slots[i];
    }
    printf("rmdstestclient: no item %s in the list\n", name ? name : "");
    fflush(stdout); /* into a pipe, too */
    return NULL;
}

static void command(struct tc *tc, char *line)
{
    char *rest = NULL;
    const char *verb = strtok_r(line, " \t\r\n", &rest);
    const char *name = strtok_r(NULL, " \t\r\n", &rest);
    struct slot *slot;

    if (!verb)
        return;
    if (strcmp(verb, "st") == 0) {
        report_line(tc);
    } else if (strcmp(verb, "q") == 0) {
        tc->is_over = true;
        md_loop_stop(tc->loop);
    } else if (strcmp(verb, "pa") == 0 || strcmp(verb, "re") == 0) {
        for (unsigned i = 0; i < tc->options.conns; i++)
            conn_pause(&tc->conns[i], verb[0] == 'p');
    } else if (strcmp(verb, "op") == 0 || strcmp(verb, "cl") == 0) {
        struct conn *conn = &tc->conns[0];
        slot = slot_named(conn, name);
        if (!slot || conn->state != CONN_UP)
            return;
        if (verb[0] == 'c') {
            conn_close_item(conn, slot);
        } else if (slot->state == SLOT_FAILED) {
            slot->state = SLOT_WAITING;
            slot->has_count = false;
            conn->next = 0;
            conn_ask(conn);
            channel_flush(conn);
        }
    } else {
        printf("st  statistics\nop ITEM, cl ITEM  open again, close (first connection)\n"
               "pa, re  pause and resume all\nq  quit\n");
    }
    fflush(stdout);
}

static void on_input(void *owner, int fd, unsigned events)
{
    struct console *console = owner;
    ssize_t n = read(fd, console->line + console->used, sizeof(console->line) - 1 - console->used);

    (void)events;
    if (n <= 0) {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        md_loop_fd_remove(console->watch);
        console->watch = NULL;
        return;
    }
    console->used += (size_t)n;
    char *start = console->line, *stop;
    while ((stop = memchr(start, '\n', console->used)) != NULL) {
        *stop = 0;
        console->used -= (size_t)(stop + 1 - start);
        command(console->tc, start);
        start = stop + 1;
    }
    memmove(console->line, start, console->used);
    if (console->used == sizeof(console->line) - 1)
        console->used = 0; /* no command is that long */
}

int console_start(struct tc *tc)
{
    struct console *console = calloc(1, sizeof(*console));

    tc->console = console;
    if (!console)
        return MD_ERR_NOMEM;
    console->tc = tc;
    if (tool_input_is_live())
        (void)md_loop_fd_add(tc->loop, STDIN_FILENO, MD_LOOP_READ, on_input, console,
                             &console->watch);
    return MD_OK;
}

void console_stop(struct tc *tc)
{
    if (!tc->console)
        return;
    md_loop_fd_remove(tc->console->watch);
    free(tc->console);
    tc->console = NULL;
}
