/* base/rundir.h - the folder of a running daemon: its own, closed to strangers, open to the group.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_RUNDIR_H
#define MD_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 *      <runDir>/<process>.<instance>/   mode 0750, owner the daemon, group rmds if that exists
 *              pid                      of the daemon, and its lock
 *              stats                    the statistics that monitors read
 *              history                  the last hour of some of them
 *              attach                   rrcpd: the socket of its users
 *              ctl                      the admin socket, of rmdsctl; mode 0600
 *
 * Only the daemon writes in its folder, so each name in it is one that the daemon made.
 */
#define MD_RUNDIR       "/run/rmds" /* of daemons that a service manager or root starts */
#define MD_RUNDIR_GROUP "rmds"      /* members may attach, and read the statistics */

/* True: user 0 of the host. User 0 of a user namespace is an ordinary user under another number. */
bool md_is_root(void);

/*
 * Where a daemon stands when no line sets runDir: MD_RUNDIR for root, and for whoever may write
 * there; else $XDG_RUNTIME_DIR/openrmds, else /run/user/UID/openrmds, else /tmp/openrmds-UID. The
 * text is constant for the life of the process.
 */
const char *md_rundir_default(void);

/* Make `run_dir` if it is not there: the private default with mode 0700, others with 0755.
 * MD_ERR_SYS; MD_ERR_EXISTS: the private default belongs to another user, or others may write. */
int md_rundir_make(const char *run_dir);

/*
 * Make the folder `name` in run_dir and open it. MD_ERR_EXISTS: it belongs to another user or is no
 * folder; MD_ERR_SYS; MD_ERR_RANGE: the name is no name of a file.
 */
int md_rundir_enter(const char *run_dir, const char *name, int *fd);

/* Take the folder away if nothing is in it. */
void md_rundir_leave(const char *run_dir, const char *name);

/* Give the file or folder to the group that may read it; nothing without such a group. */
void md_rundir_share(int fd);
void md_rundir_share_path(const char *path); /* of a socket, which cannot be opened */

/*
 * Open the folder `name` of run_dir to read another daemon's files. MD_ERR_EXISTS: nobody whom the
 * reader trusts made it: neither the reader, nor root, nor a user that only the owner of run_dir
 * can have let in. MD_ERR_SYS: as errno says.
 */
int md_rundir_visit(const char *run_dir, const char *name, int *fd, uid_t *owner);

/* True: letters, digits and signs only; safe in a path, in a terminal and in a line of text. */
bool md_rundir_is_name(const char *name);

#endif
