/* role.c - see role.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "role.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/shm.h"
#include "base/log.h"

/* "rrcpd.net1.2": the folder in which the socket stands. */
static void folder_of(const char *socket_path, char *out, size_t size)
{
    const char *end = strrchr(socket_path, '/');
    const char *begin = end;

    while (begin && begin > socket_path && begin[-1] != '/')
        begin--;
    snprintf(out, size, "%.*s", begin ? (int)(end - begin) : 0, begin ? begin : "");
}

void role_open(const struct md_conf *conf, const char *socket_path, char *out, size_t size)
{
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    const char *role = md_conf_role(conf);
    char folder[PATH_MAX];

    *out = '\0';
    if (!role)
        return;
    if (attach_socket_path(out, size, md_conf_string(&daemon, "runDir"), md_conf_network(conf),
                           role) != 0) {
        *out = '\0';
        return;
    }
    *strrchr(out, '/') = '\0';
    folder_of(socket_path, folder, sizeof(folder));
    (void)unlink(out); /* of one that was killed */
    if (symlink(folder, out) != 0) {
        md_log(MD_LOG_WARNING, "%s: %s; set rrcpdInstance %s for the programs that are to use this",
               out, strerror(errno), md_conf_instance(conf));
        *out = '\0';
        return;
    }
    md_log(MD_LOG_NOTICE, "\"%s\" is a role: this is instance %s of network %s", role,
           md_conf_instance(conf), md_conf_network(conf));
}

/* Another instance may have taken the role since: its link stays. */
void role_close(const char *path, const char *socket_path)
{
    char target[PATH_MAX], folder[PATH_MAX];
    ssize_t length = *path ? readlink(path, target, sizeof(target) - 1) : -1;

    if (length < 0)
        return;
    target[length] = '\0';
    folder_of(socket_path, folder, sizeof(folder));
    if (strcmp(target, folder) == 0)
        (void)unlink(path);
}
