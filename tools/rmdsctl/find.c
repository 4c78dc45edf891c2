/* find.c - see find.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "find.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rundir.h"
#include "daemon/admin.h"

static const char *const programs[] = { "p2ps.", "src_dist.", "rrcpd.", "rmdsrec." };

/* The folder of a daemon: "p2ps.1". */
static int is_daemon(const char *name)
{
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (strncmp(name, programs[i], strlen(programs[i])) == 0)
            return md_rundir_is_name(name);
    }
    return 0;
}

/* A socket in a folder that nobody else can have put there: what answers is printed. */
static void add(const char *run_dir, const char *name, struct found *out, size_t *count)
{
    struct found *one = &out[*count];
    uid_t owner;
    int fd;

    if (*count == FOUND_MAX || !is_daemon(name) || strlen(name) >= sizeof(one->name) ||
        !daemon_admin_path(run_dir, name, one->path, sizeof(one->path)) ||
        md_rundir_visit(run_dir, name, &fd, &owner) != MD_OK)
        return;
    int is_there = faccessat(fd, DAEMON_ADMIN_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    close(fd);
    for (size_t i = 0; i < *count; i++)
        is_there = is_there && strcmp(out[i].path, one->path) != 0;
    memcpy(one->name, name, strlen(name) + 1);
    *count += is_there ? 1 : 0;
}

static void look_in(const char *run_dir, struct found *out, size_t *count)
{
    DIR *dir = opendir(run_dir);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        add(run_dir, entry->d_name, out, count);
    if (dir)
        closedir(dir);
}

/* "/run/x/p2ps.1/ctl" as "/run/x" and "p2ps.1"; 0: no such path. */
static int take_apart(char *path, const char **name)
{
    char *end = strrchr(path, '/');

    if (!end || strcmp(end + 1, DAEMON_ADMIN_FILE) != 0)
        return 0;
    *end = 0;
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    *slash = 0;
    *name = slash + 1;
    return 1;
}

/* Nobody else can have put anything into it. */
static int is_own(const char *folder)
{
    struct stat status;

    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* Of all sockets of this network namespace that have a name, ours. */
static void look_everywhere(struct found *out, size_t *count)
{
    FILE *file = fopen("/proc/net/unix", "re");
    char line[512];

    while (file && fgets(line, sizeof(line), file)) {
        const char *name;
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = 0;
        if (take_apart(path, &name) && is_own(path))
            add(path, name, out, count);
    }
    if (file)
        fclose(file);
}

static int compare(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);

    return by_name ? by_name : strcmp(x->path, y->path);
}

size_t find_sockets(const char *run_dir, int everywhere, struct found *out)
{
    size_t count = 0;

    look_in(run_dir, out, &count);
    if (everywhere)
        look_everywhere(out, &count);
    qsort(out, count, sizeof(*out), compare);
    return count;
}

size_t find_meant(struct found *list, size_t count, const char *word)
{
    size_t kept = 0, length = strlen(word);

    for (size_t i = 0; i < count; i++) {
        const char *name = list[i].name;
        if (strncmp(name, word, length) == 0 && (name[length] == '.' || name[length] == 0))
            list[kept++] = list[i];
    }
    return kept;
}
