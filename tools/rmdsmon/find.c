/* find.c - which system is meant: that of -run or -c, else the only one there is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rundir.h"
#include "monitor.h"

enum { PLACES_MAX = 32, FOLDER_BYTES = 320, COMMAND_BYTES = 8192 };

/* A folder with statistics. */
struct place {
    char folder[FOLDER_BYTES];
    char conf[PATH_MAX]; /* that its daemons were started with; "": not known */
    int daemons;
};

struct places {
    struct place *list;
    size_t count;
};

/* The word after -c on the command line of a process. */
static void read_conf(pid_t pid, char *conf, size_t size)
{
    char path[64], words[COMMAND_BYTES];

    snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, words, sizeof(words) - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return;
    words[length] = 0;
    for (const char *word = words; word < words + length; word += strlen(word) + 1) {
        const char *next = word + strlen(word) + 1;
        if (strcmp(word, "-c") == 0 && next < words + length)
            snprintf(conf, size, "%s", next);
    }
}

static void add_place(struct places *places, const char *folder)
{
    char names[4][STATS_NAME_BYTES];
    int count = stats_segment_list(folder, names, 4);
    struct place *place = &places->list[places->count];

    if (count <= 0 || places->count == PLACES_MAX)
        return;
    *place = (struct place){ .daemons = count };
    snprintf(place->folder, sizeof(place->folder), "%s", folder);
    for (int i = 0; i < count && i < 4 && !place->conf[0]; i++) {
        struct stats_reader *reader;
        if (stats_reader_open(folder, names[i], &reader) != MD_OK)
            continue;
        read_conf(stats_reader_pid(reader), place->conf, sizeof(place->conf));
        stats_reader_close(reader);
    }
    places->count++;
}

/* Nobody else can have put anything into it. */
static bool is_own(const char *folder)
{
    struct stat status;

    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* The systems in a folder of this user's, one folder each; never those of another user. */
static void add_systems(struct places *places, const char *base)
{
    char folder[FOLDER_BYTES];
    DIR *dir = is_own(base) ? opendir(base) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (!md_rundir_is_name(entry->d_name) ||
            (size_t)snprintf(folder, sizeof(folder), "%s/%s", base, entry->d_name) >=
                sizeof(folder))
            continue;
        if (is_own(folder))
            add_place(places, folder);
    }
    if (dir)
        closedir(dir);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What "tools/rmds up" started: the places of tools/rmds-run.py. */
static void add_own(struct places *places)
{
    const char *state = getenv("RMDS_STATE"), *session = getenv("XDG_RUNTIME_DIR");
    char user[32], base[3][FOLDER_BYTES];

    if (state) {
        add_systems(places, state);
        return;
    }
    snprintf(user, sizeof(user), "openrmds-%ld", (long)geteuid());
    snprintf(base[0], sizeof(base[0]), "/tmp/%s", user);
    snprintf(base[1], sizeof(base[1]), "/run/user/%ld/%s", (long)geteuid(), user);
    snprintf(base[2], sizeof(base[2]), "%.280s/%s", session ? session : "/tmp", user);
    add_systems(places, base[0]);
    add_systems(places, base[1]);
    if (!is_same_file(base[2], base[0]) && !is_same_file(base[2], base[1]))
        add_systems(places, base[2]);
}

static void list_places(const struct places *places)
{
    fprintf(stderr, "rmdsmon: %zu systems run here; name one:\n", places->count);
    for (size_t i = 0; i < places->count; i++) {
        const struct place *place = &places->list[i];
        fprintf(stderr, "  rmdsmon -run %s   %d daemon%s%s%s\n", place->folder, place->daemons,
                place->daemons == 1 ? "" : "s", place->conf[0] ? " of " : "", place->conf);
    }
}

int find_system(const char *conf, char *out, size_t size)
{
    struct places places = { .list = calloc(PLACES_MAX, sizeof(*places.list)) };
    size_t fitting = 0;

    if (!places.list)
        return MD_ERR_NOMEM;
    add_place(&places, MD_RUNDIR);
    if (strcmp(md_rundir_default(), MD_RUNDIR) != 0)
        add_place(&places, md_rundir_default());
    add_own(&places);
    snprintf(out, size, "%s", md_rundir_default());
    for (size_t i = 0; i < places.count; i++) {
        if (conf && !is_same_file(places.list[i].conf, conf))
            continue;
        snprintf(out, size, "%s", places.list[i].folder);
        fitting++;
    }
    int err = MD_OK;
    if (fitting > 1) {
        list_places(&places);
        err = MD_ERR_EXISTS;
    }
    free(places.list);
    return err;
}
