/* rundir.c - see base/rundir.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/runfile.h"

enum { NAME_MAX_BYTES = 120, DEFAULT_BYTES = 256 };

/* Chosen once: the same for every look at the configuration. */
static char default_dir[DEFAULT_BYTES];
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

/* All numbers of users are those of the host: no user namespace stands between. */
static bool has_whole_map(void)
{
    unsigned long inside, outside, count;
    FILE *file = fopen("/proc/self/uid_map", "re");

    if (!file)
        return true; /* a kernel without user namespaces */
    int got = fscanf(file, "%lu %lu %lu", &inside, &outside, &count);
    fclose(file);
    return got == 3 && inside == 0 && outside == 0 && count == UINT_MAX;
}

bool md_is_root(void)
{
    return geteuid() == 0 && has_whole_map();
}

static bool is_own_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void choose_default(void)
{
    const char *given = getenv("RUNTIME_DIRECTORY"); /* of a service manager */
    const char *session = getenv("XDG_RUNTIME_DIR");
    char own[64];

    snprintf(own, sizeof(own), "/run/user/%ld", (long)geteuid());
    if (md_is_root() || access(MD_RUNDIR, W_OK | X_OK) == 0 ||
        (given && strncmp(given, MD_RUNDIR "/", sizeof(MD_RUNDIR)) == 0))
        snprintf(default_dir, sizeof(default_dir), "%s", MD_RUNDIR);
    else if (session && session[0] == '/' && strlen(session) < sizeof(default_dir) - 16 &&
             is_own_folder(session))
        snprintf(default_dir, sizeof(default_dir), "%.230s/openrmds", session);
    else if (is_own_folder(own))
        snprintf(default_dir, sizeof(default_dir), "%s/openrmds", own);
    else
        snprintf(default_dir, sizeof(default_dir), "/tmp/openrmds-%ld", (long)geteuid());
}

const char *md_rundir_default(void)
{
    pthread_once(&default_once, choose_default);
    return default_dir;
}

int md_rundir_make(const char *run_dir)
{
    bool is_private = strcmp(run_dir, md_rundir_default()) == 0 && strcmp(run_dir, MD_RUNDIR) != 0;

    if (!is_private)
        return md_runfile_make_dir(run_dir);
    if (mkdir(run_dir, 0700) == 0)
        return MD_OK;
    if (errno != EEXIST)
        return MD_ERR_SYS;
    return is_own_folder(run_dir) ? MD_OK : MD_ERR_EXISTS;
}

bool md_rundir_is_name(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length > NAME_MAX_BYTES || name[0] == '.')
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c <= ' ' || c >= 0x7f || strchr("/\\\"'`$&|;<>(){}*?!", c))
            return false;
    }
    return true;
}

static int open_folder(const char *run_dir, const char *name, int *fd)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", run_dir, name);

    *fd = -1;
    if (!md_rundir_is_name(name) || (size_t)length >= sizeof(path))
        return MD_ERR_RANGE;
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd >= 0)
        return MD_OK;
    return errno == ENOTDIR || errno == ELOOP ? MD_ERR_EXISTS : MD_ERR_SYS;
}

/* False: there is no such group. */
static bool find_group(gid_t *out)
{
    struct group entry, *found = NULL;
    char text[4096];

    if (getgrnam_r(MD_RUNDIR_GROUP, &entry, text, sizeof(text), &found) != 0 || !found)
        return false;
    *out = found->gr_gid;
    return true;
}

/* Refused to those outside the group: the file keeps its group then. */
void md_rundir_share(int fd)
{
    struct stat st;
    gid_t group;

    if (find_group(&group) && fstat(fd, &st) == 0 && st.st_gid != group)
        (void)!fchown(fd, (uid_t)-1, group);
}

void md_rundir_share_path(const char *path)
{
    gid_t group;

    if (find_group(&group))
        (void)!lchown(path, (uid_t)-1, group);
}

int md_rundir_enter(const char *run_dir, const char *name, int *fd)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", run_dir, name);
    if (md_rundir_is_name(name) && mkdir(path, 0750) != 0 && errno != EEXIST)
        return MD_ERR_SYS;
    int err = open_folder(run_dir, name, fd);
    if (err)
        return err;
    if (fstat(*fd, &st) != 0 || st.st_uid != geteuid()) {
        close(*fd);
        *fd = -1;
        return MD_ERR_EXISTS;
    }
    md_rundir_share(*fd);
    (void)fchmod(*fd, 0750);
    return MD_OK;
}

void md_rundir_leave(const char *run_dir, const char *name)
{
    char path[PATH_MAX];

    if (md_rundir_is_name(name) &&
        (size_t)snprintf(path, sizeof(path), "%s/%s", run_dir, name) < sizeof(path))
        (void)rmdir(path);
}

int md_rundir_visit(const char *run_dir, const char *name, int *fd, uid_t *owner)
{
    struct stat above, st;
    int err = open_folder(run_dir, name, fd);

    if (err)
        return err;
    if (stat(run_dir, &above) == 0 && fstat(*fd, &st) == 0) {
        bool is_closed = !(above.st_mode & S_IWOTH) && !(st.st_mode & S_IWOTH);
        *owner = st.st_uid;
        if (is_closed || st.st_uid == geteuid() || st.st_uid == 0)
            return MD_OK;
    }
    close(*fd);
    *fd = -1;
    return MD_ERR_EXISTS;
}
