/* runfile.c - see base/runfile.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

#define TRIES 8

static pid_t read_pid(int fd)
{
    char text[24] = "";
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    return got > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Is the file we locked still the one under the name? Its last holder may have removed it. */
static bool is_current(int fd, const char *path)
{
    struct stat ours, theirs;

    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

static int write_pid(int fd)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length)
        return MD_ERR_SYS;
    return MD_OK;
}

int md_runfile_open(struct md_runfile *runfile, const char *path, pid_t *holder)
{
    *holder = 0;
    runfile->fd = -1;
    if (strlen(path) >= sizeof(runfile->path))
        return MD_ERR_RANGE;
    snprintf(runfile->path, sizeof(runfile->path), "%s", path);
    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return MD_ERR_SYS;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int err = errno == EWOULDBLOCK ? MD_ERR_EXISTS : MD_ERR_SYS;
            *holder = read_pid(fd);
            close(fd);
            return err;
        }
        if (is_current(fd, path)) {
            runfile->fd = fd;
            int err = write_pid(fd);
            if (err)
                md_runfile_close(runfile);
            return err;
        }
        close(fd);
    }
    return MD_ERR_EXISTS;
}

void md_runfile_close(struct md_runfile *runfile)
{
    if (runfile->fd < 0)
        return;
    unlink(runfile->path); /* before the lock goes: no other file has this name yet */
    close(runfile->fd);
    runfile->fd = -1;
}

/* Connecting tells a socket that is served from one that was left behind. */
static int ask(const struct sockaddr_un *address, int type)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno;
    int error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
    close(fd);
    return error;
}

int md_runfile_clear_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat st;

    if (strlen(path) >= sizeof(address.sun_path))
        return MD_ERR_RANGE;
    memcpy(address.sun_path, path, strlen(path));
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? MD_OK : MD_ERR_SYS;
    if (!S_ISSOCK(st.st_mode))
        return MD_ERR_EXISTS;
    int error = ask(&address, SOCK_SEQPACKET);
    if (error == EPROTOTYPE)
        error = ask(&address, SOCK_STREAM);
    if (error == EPROTOTYPE)
        error = ask(&address, SOCK_DGRAM);
    if (error != ECONNREFUSED && error != ENOENT)
        return MD_ERR_EXISTS;
    return unlink(path) == 0 || errno == ENOENT ? MD_OK : MD_ERR_SYS;
}

int md_runfile_make_dir(const char *path)
{
    char copy[512];

    if (strlen(path) >= sizeof(copy) || path[0] == '\0')
        return MD_ERR_RANGE;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *at = copy + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(copy, 0755) != 0 && errno != EEXIST)
            return MD_ERR_SYS;
        *at = '/';
    }
    return mkdir(copy, 0755) == 0 || errno == EEXIST ? MD_OK : MD_ERR_SYS;
}
