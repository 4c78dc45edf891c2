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
#include "conf/options.h"
#include "input.h"

#define TALKERS_MAX 8u /* the first is standard input */
#define NOBODY      255u
#define REPLY_MAX   4096u

struct talker {
    struct console *console;
    struct md_loop_fd *watch; /* NULL: the place is free */
    int fd;
    size_t used;
    bool skips; /* to the end of a line that was refused */
    char line[FAULT_LINE_MAX + 2];
};

struct console {
    struct provider *provider;
    char path[108];
    int listener;
    struct md_loop_fd *watch;
    struct talker talkers[TALKERS_MAX];
    /* The talkers whose statements are under way, in their order. */
    uint8_t senders[FAULT_STEPS_MAX];
    size_t first, count;
};

static void hang_up(struct talker *talker)
{
    struct console *console = talker->console;
    unsigned number = (unsigned)(talker - console->talkers);

    md_loop_fd_remove(talker->watch);
    talker->watch = NULL;
    if (number > 0)
        close(talker->fd);
    for (size_t i = 0; i < console->count; i++) {
        uint8_t *sender = &console->senders[(console->first + i) % FAULT_STEPS_MAX];
        if (*sender == number)
            *sender = NOBODY;
    }
}

static void reply(struct talker *talker, const char *text)
{
    if (talker->fd == STDIN_FILENO) {
        fputs(text, stdout);
        fflush(stdout);
    } else if (talker->watch) {
        (void)send(talker->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void show_state(struct talker *talker)
{
    const struct provider *provider = talker->console->provider;
    const struct fault_engine_stats *stats = fault_engine_stats(provider->engine);
    char text[300];

    (void)snprintf(text, sizeof(text),
                   "ok %zu clients, %zu items open, %llu updates, %llu lost, %llu doubled, %llu "
                   "swapped, %llu waited, %llu clients dropped, %llu refused\n",
                   provider_clients(provider), fault_engine_streams(provider->engine),
                   (unsigned long long)stats->updates, (unsigned long long)stats->lost,
                   (unsigned long long)stats->doubled, (unsigned long long)stats->swapped,
                   (unsigned long long)stats->full, (unsigned long long)stats->dropped,
                   (unsigned long long)stats->refused);
    reply(talker, text);
}

static void take_statement(struct talker *talker, const char *line, size_t length)
{
    struct console *console = talker->console;
    struct fault_script_error error;
    struct fault_step step;
    char text[300];

    int rc = fault_step_parse(&step, line, length, &error);
    if (rc == MD_ERR_NOT_FOUND)
        return;
    if (rc != MD_OK) {
        (void)snprintf(text, sizeof(text), "error column %u: %s\n", error.column, error.text);
        reply(talker, text);
        return;
    }
    step.line = 0; /* of no script */
    if (console->count == FAULT_STEPS_MAX) {
        reply(talker, "error too many statements wait\n");
        return;
    }
    console->senders[(console->first + console->count++) % FAULT_STEPS_MAX] =
        (uint8_t)(talker - console->talkers);
    if (provider_push(console->provider, &step) != MD_OK) {
        console->count--;
        reply(talker, "error too many statements wait\n");
    }
}

static void take_line(struct talker *talker, const char *line, size_t length)
{
    char text[REPLY_MAX];

    if (length > 0 && line[length - 1] == '\r')
        length--;
    if ((length == 1 && *line == 'q') || (length == 4 && memcmp(line, "quit", 4) == 0)) {
        reply(talker, "ok\n");
        md_loop_stop(talker->console->provider->loop);
    } else if (length == 2 && memcmp(line, "st", 2) == 0) {
        show_state(talker);
    } else if (length == 4 && memcmp(line, "help", 4) == 0 && talker->fd == STDIN_FILENO) {
        (void)snprintf(text, sizeof(text), "%s  st\n  q\n", fault_script_help());
        reply(talker, text);
    } else {
        take_statement(talker, line, length);
    }
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
    if (talker->used < sizeof(talker->line))
        return;
    if (!talker->skips)
        reply(talker, "error the line is too long\n");
    talker->skips = true;
    talker->used = 0;
}

static bool add(struct console *console, unsigned number, int fd)
{
    struct talker *talker = &console->talkers[number];

    talker->console = console;
    talker->fd = fd;
    talker->used = 0;
    talker->skips = false;
    return md_loop_fd_add(console->provider->loop, fd, MD_LOOP_READ, on_input, talker,
                          &talker->watch) == MD_OK;
}

static void on_accept(void *owner, int fd, unsigned events)
{
    struct console *console = owner;
    int talking = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    for (unsigned i = 1; talking >= 0 && i < TALKERS_MAX; i++) {
        if (!console->talkers[i].watch && add(console, i, talking))
            return;
    }
    if (talking >= 0)
        close(talking);
}

static bool address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address->sun_path)) {
        fprintf(stderr, "rmdsfault: %s: the path of a socket has at most %zu bytes\n", path,
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

    if (!address_of(path, &address))
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
        rc = listen(console->listener, TALKERS_MAX);
    }
    if (rc != 0 || md_loop_fd_add(console->provider->loop, console->listener, MD_LOOP_READ,
                                  on_accept, console, &console->watch) != MD_OK) {
        fprintf(stderr, "rmdsfault: %s: %s\n", path, strerror(errno));
        return MD_ERR_SYS;
    }
    return MD_OK;
}

int console_start(struct provider *provider, const char *path, struct console **out)
{
    struct console *console = calloc(1, sizeof(*console));

    *out = console;
    if (!console)
        return MD_ERR_NOMEM;
    console->provider = provider;
    console->listener = -1;
    if (tool_input_is_live())
        (void)add(console, 0, STDIN_FILENO);
    return path ? open_socket(console, path) : MD_OK;
}

void console_stop(struct console *console)
{
    if (!console)
        return;
    for (unsigned i = 0; i < TALKERS_MAX; i++) {
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

void console_step(struct console *console, const struct fault_action *action)
{
    char text[800];

    if (action->line > 0 || console->count == 0)
        return;
    uint8_t sender = console->senders[console->first];
    console->first = (console->first + 1) % FAULT_STEPS_MAX;
    console->count--;
    (void)snprintf(text, sizeof(text), "%s %s\n", action->is_on ? "ok" : "failed", action->text);
    if (sender != NOBODY)
        reply(&console->talkers[sender], text);
}

int console_tell(const char *path, const char *line)
{
    struct sockaddr_un address;
    char answer[REPLY_MAX];
    size_t used = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || !address_of(path, &address) ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        dprintf(fd, "%s\n", line) < 0) {
        fprintf(stderr, "rmdsfault: %s: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return MD_EXIT_FILE;
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
    return strncmp(answer, "ok", 2) == 0 ? MD_EXIT_OK : FAULT_EXIT_WRONG;
}
