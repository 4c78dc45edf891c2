/* console.c - see console.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "input.h"

#define REPLY_MAX 4096u

struct talker {
    struct console *console;
    struct md_loop_fd *watch; /* NULL: the place is free */
    int fd;
    size_t used;
    bool skips; /* to the end of a line that was refused */
    char line[CONSOLE_LINE_MAX + 2];
};

struct console {
    struct console_config config;
    char path[108];
    int listener;
    struct md_loop_fd *watch;
    struct talker talkers[CONSOLE_TALKERS];
};

static void hang_up(struct talker *talker)
{
    struct console *console = talker->console;
    unsigned number = (unsigned)(talker - console->talkers);

    md_loop_fd_remove(talker->watch);
    talker->watch = NULL;
    if (number > 0)
        close(talker->fd);
    if (console->config.on_gone)
        console->config.on_gone(console->config.owner, number);
}

bool console_is_input(const struct console *console, unsigned talker)
{
    return console->talkers[talker].fd == STDIN_FILENO;
}

void console_reply(struct console *console, unsigned number, const char *text)
{
    struct talker *talker = &console->talkers[number];

    if (!talker->watch)
        return;
    if (talker->fd == STDIN_FILENO) {
        fputs(text, stdout);
        fflush(stdout);
    } else {
        (void)send(talker->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void take_line(struct talker *talker, const char *line, size_t length)
{
    const struct console_config *config = &talker->console->config;

    if (length > 0 && line[length - 1] == '\r')
        length--;
    config->on_line(config->owner, (unsigned)(talker - talker->console->talkers), line, length);
}

static void refuse(struct talker *talker)
{
    if (!talker->skips)
        console_reply(talker->console, (unsigned)(talker - talker->console->talkers),
                      "error the line is too long\n");
    talker->skips = true;
    talker->used = 0;
}

static void on_input(void *owner, int fd, unsigned events)
{
    struct talker *talker = owner;
    ssize_t n = read(fd, talker->line + talker->used, sizeof(talker->line) - talker->used);

    (void)events;
    if (n <= 0) {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        hang_up(talker);
        return;
    }
    talker->used += (size_t)n;
    char *start = talker->line, *stop;
    while ((stop = memchr(start, '\n', talker->used)) != NULL) {
        if (!talker->skips)
            take_line(talker, start, (size_t)(stop - start));
        talker->skips = false;
        talker->used -= (size_t)(stop + 1 - start);
        start = stop + 1;
    }
    memmove(talker->line, start, talker->used);
    if (talker->used == sizeof(talker->line))
        refuse(talker);
}

static bool add(struct console *console, unsigned number, int fd)
{
    struct talker *talker = &console->talkers[number];

    talker->console = console;
    talker->fd = fd;
    talker->used = 0;
    talker->skips = false;
    return md_loop_fd_add(console->config.loop, fd, MD_LOOP_READ, on_input, talker,
                          &talker->watch) == MD_OK;
}

static void on_accept(void *owner, int fd, unsigned events)
{
    struct console *console = owner;
    int talking = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    for (unsigned i = 1; talking >= 0 && i < CONSOLE_TALKERS; i++) {
        if (!console->talkers[i].watch && add(console, i, talking))
            return;
    }
    if (talking >= 0)
        close(talking);
}

static bool address_of(const char *program, const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address->sun_path)) {
        fprintf(stderr, "%s: %s: the path of a socket has at most %zu bytes\n", program, path,
                sizeof(address->sun_path) - 1);
        return false;
    }
    memcpy(address->sun_path, path, strlen(path) + 1);
    return true;
}

/* A socket to which nobody listens is left over and goes. */
static void remove_old(const struct sockaddr_un *address)
{
    struct stat there;

    if (lstat(address->sun_path, &there) != 0 || !S_ISSOCK(there.st_mode))
        return; /* a file that is no socket is not ours */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno == ECONNREFUSED)
        (void)unlink(address->sun_path);
    close(fd);
}

static int open_socket(struct console *console, const char *path)
{
    struct sockaddr_un address;

    if (!address_of(console->config.program, path, &address))
        return MD_ERR_SYS;
    remove_old(&address);
    console->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0077);
    int rc = console->listener < 0
                 ? -1
                 : bind(console->listener, (const struct sockaddr *)&address, sizeof(address));
    (void)umask(mask);
    if (rc == 0) {
        memcpy(console->path, path, strlen(path) + 1);
        rc = listen(console->listener, CONSOLE_TALKERS);
    }
    if (rc != 0 || md_loop_fd_add(console->config.loop, console->listener, MD_LOOP_READ, on_accept,
                                  console, &console->watch) != MD_OK) {
        fprintf(stderr, "%s: %s: %s\n", console->config.program, path, strerror(errno));
        return MD_ERR_SYS;
    }
    return MD_OK;
}

int console_open(const struct console_config *config, struct console **out)
{
    struct console *console = calloc(1, sizeof(*console));

    *out = console;
    if (!console)
        return MD_ERR_NOMEM;
    console->config = *config;
    console->listener = -1;
    if (config->takes_input && tool_input_is_live())
        (void)add(console, 0, STDIN_FILENO);
    return config->path ? open_socket(console, config->path) : MD_OK;
}

void console_close(struct console *console)
{
    if (!console)
        return;
    for (unsigned i = 0; i < CONSOLE_TALKERS; i++) {
        if (console->talkers[i].watch)
            hang_up(&console->talkers[i]);
    }
    md_loop_fd_remove(console->watch);
    if (console->listener >= 0)
        close(console->listener);
    if (console->path[0])
        (void)unlink(console->path);
    free(console);
}

int console_ask(const char *program, const char *path, const char *line)
{
    struct sockaddr_un address;
    char answer[REPLY_MAX];
    size_t used = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || !address_of(program, path, &address) ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        dprintf(fd, "%s\n", line) < 0) {
        fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (ssize_t n = 1; n > 0 && used < sizeof(answer) - 1;) {
        n = read(fd, answer + used, sizeof(answer) - 1 - used);
        used += n > 0 ? (size_t)n : 0;
        if (memchr(answer, '\n', used))
            break;
    }
    close(fd);
    answer[used] = 0;
    fputs(answer, stdout);
    return strncmp(answer, "ok", 2) == 0 ? 0 : 1;
}
