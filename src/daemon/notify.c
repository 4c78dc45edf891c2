/* notify.c - see notify.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

void notify_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (*path == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
               (const struct sockaddr *)&address, length) < 0)
        md_log(MD_LOG_DEBUG, "notify: %s: %s", path, strerror(errno));
    close(fd);
}

uint64_t notify_watchdog_ns(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");

    if (!text || (pid && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    return strtoull(text, NULL, 10) * 1000 / 2;
}
