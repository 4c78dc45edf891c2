/* runner.c - see runner.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "conf/options.h"

#define WORD_MAX  4096
#define PATIENCE  500 /* hundredths of a second */
#define BY_SIGNAL 128

extern char **environ;

/* `word` with each {port} and {service} replaced; to be freed. */
static char *expand(const char *word, const char *port, const char *service)
{
    char out[WORD_MAX];
    size_t used = 0;

    while (*word && used + 1 < sizeof(out)) {
        const char *value = NULL;
        size_t skip = 1;
        if (strncmp(word, "{port}", 6) == 0) {
            value = port;
            skip = 6;
        } else if (strncmp(word, "{service}", 9) == 0) {
            value = service;
            skip = 9;
        }
        if (!value)
            out[used++] = *word;
        else
            used += (size_t)snprintf(out + used, sizeof(out) - used, "%s", value);
        word += skip;
    }
    if (*word || used >= sizeof(out))
        return NULL;
    out[used] = 0;
    return strdup(out);
}

static uint8_t code_of(int status)
{
    return (uint8_t)(WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status));
}

static void on_child(void *owner, int number)
{
    struct runner *runner = owner;
    int status;

    (void)number;
    if (runner->pid <= 0 || waitpid(runner->pid, &status, WNOHANG) != runner->pid)
        return;
    runner->pid = 0;
    runner->on_exit(runner->owner, code_of(status));
}

static int spawn(struct runner *runner, char **argv)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    int error = posix_spawnp(&runner->pid, argv[0], &files, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return error;
}

int runner_start(struct runner *runner, struct md_loop *loop, const char *const *words,
                 size_t count, uint16_t port, const char *service)
{
    char *argv[MD_OPTION_LIST_MAX + 1] = { NULL };
    char number[8];
    int error = 0;

    (void)snprintf(number, sizeof(number), "%u", port);
    (void)setenv("RMDSFAULT_PORT", number, 1);
    (void)setenv("RMDSFAULT_SERVICE", service, 1);
    for (size_t i = 0; i < count && error == 0; i++) {
        argv[i] = expand(words[i], number, service);
        error = argv[i] ? 0 : E2BIG;
    }
    if (error == 0 && md_loop_signal_add(loop, SIGCHLD, on_child, runner, &runner->signal) != MD_OK)
        error = ENOMEM;
    if (error == 0)
        error = spawn(runner, argv);
    for (size_t i = 0; i < count; i++)
        free(argv[i]);
    if (error == 0)
        return MD_OK;
    runner->pid = 0;
    fprintf(stderr, "rmdsfault: cannot start %s: %s\n", words[0], strerror(error));
    return MD_ERR_SYS;
}

void runner_stop(struct runner *runner)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    pid_t pid = runner->pid;

    if (pid > 0)
        (void)kill(-pid, SIGTERM);
    for (unsigned i = 0; pid > 0 && i < PATIENCE && waitpid(pid, NULL, WNOHANG) == 0; i++) {
        (void)nanosleep(&pause, NULL);
        if (i + 1 == PATIENCE) {
            (void)kill(-pid, SIGKILL);
            (void)waitpid(pid, NULL, 0);
        }
    }
    runner->pid = 0;
    if (runner->signal)
        md_loop_signal_remove(runner->signal);
    runner->signal = NULL;
}
