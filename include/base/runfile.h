/* base/runfile.h - one running program per name, and no trace of a killed one that matters. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_RUNFILE_H
#define MD_RUNFILE_H

#include <sys/types.h>

/*
 * The pid file is locked (flock) as long as its program lives, by whatever means it ends. So a file
 * that can be locked is stale, whatever is written in it, and a file that cannot is not. Who holds
 * the lock may remove what its killed predecessor left behind: sockets and shared memory of the
 * same name. Mode 0600: who can open a file can lock it, and keep the program from starting.
 */
struct md_runfile {
    int fd;
    char path[512];
};

/*
 * Lock `path`, making it if need be, and write our pid into it. MD_ERR_EXISTS: another process
 * holds it; *holder is its pid, 0 if that cannot be read. MD_ERR_SYS, MD_ERR_RANGE (path too long).
 */
int md_runfile_open(struct md_runfile *runfile, const char *path, pid_t *holder);
void md_runfile_close(struct md_runfile *runfile); /* removes it; closing twice is fine */

/*
 * Remove a Unix socket that nobody serves any more. MD_OK: nothing is in the way at `path` now;
 * MD_ERR_EXISTS: somebody answers there, or it is no socket; MD_ERR_SYS.
 */
int md_runfile_clear_socket(const char *path);

/* Make the folder `path` and those above it, mode 0755; it is fine if they exist. MD_ERR_SYS. */
int md_runfile_make_dir(const char *path);

#endif
