/* launch.c - see launch.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rundir.h"
#include "conf/options.h"

/* In the environment of a daemon that begins anew in the same process. */
#define ANEW "RMDS_DAEMON_ANEW"

static void null_to(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, fd);
    close(null);
}

/* A child that ends without a byte has failed, with a message of its own and its own exit code. */
static _Noreturn void wait_for(pid_t child, int fd)
{
    uint8_t byte;
    int status = 0;
    ssize_t got;

    while ((got = read(fd, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (got == 1)
        _exit(MD_EXIT_OK);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    _exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : MD_EXIT_CONFIG);
}

int launch_background(const char *name)
{
    int fds[2];

    if (getenv(ANEW)) {
        unsetenv(ANEW);
        return -1;
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        fprintf(stderr, "%s: stays in the foreground: %s\n", name, strerror(errno));
        return -1;
    }
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "%s: stays in the foreground: fork: %s\n", name, strerror(errno));
        close(fds[0]);
        close(fds[1]);
        return -1;
    }
    if (child > 0) {
        close(fds[1]);
        wait_for(child, fds[0]);
    }
    close(fds[0]);
    setsid();
    null_to(STDIN_FILENO);
    return fds[1];
}

void launch_ready(int fd, bool keeps_stderr)
{
    uint8_t byte = 0;

    (void)!write(fd, &byte, 1);
    close(fd);
    null_to(STDOUT_FILENO);
    if (!keeps_stderr)
        null_to(STDERR_FILENO);
}

int launch_again(const char *name, char **argv)
{
    setenv(ANEW, "1", 1);
    if (strcmp(md_rundir_default(), MD_RUNDIR) == 0) /* of root, who this may be no more */
        setenv("RUNTIME_DIRECTORY", MD_RUNDIR "/anew", 1);
    (void)execv("/proc/self/exe", argv);
    fprintf(stderr, "%s: cannot begin anew: %s\n", name, strerror(errno));
    return MD_EXIT_FILE;
}
