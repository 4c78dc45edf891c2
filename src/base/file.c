/* file.c - see base/file.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

char *md_file_read(int fd, size_t max, size_t *length)
{
    size_t room = 65536, used = 0;
    char *bytes = malloc(room);

    *length = 0;
    while (bytes) {
        ssize_t got = read(fd, bytes + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        if (got == 0) {
            *length = used;
            return bytes;
        }
        used += (size_t)got;
        if (used > max) {
            errno = EFBIG;
            break;
        }
        if (used == room) {
            char *more = realloc(bytes, room * 2);
            if (!more)
                break;
            bytes = more;
            room *= 2;
        }
    }
    int error = errno;
    free(bytes);
    errno = error;
    return NULL;
}

char *md_file_load(const char *path, size_t max, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *length = 0;
    if (fd < 0)
        return NULL;
    char *bytes = md_file_read(fd, max, length);
    int error = errno;
    close(fd);
    errno = error;
    return bytes;
}
