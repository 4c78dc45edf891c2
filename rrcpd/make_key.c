/* make_key.c - see make_key.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "make_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "conf/options.h"

enum { KEY_BYTES = 32, LINE_BYTES = 2 + 2 * KEY_BYTES + 1 };

static int complain(const char *path)
{
    fprintf(stderr, "rrcpd: --make-key: %s: %s; nothing was written\n", path, strerror(errno));
    return MD_EXIT_FILE;
}

int make_key(const char *path)
{
    uint8_t key[KEY_BYTES];
    char line[LINE_BYTES + 1] = "1 ";

    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
        return complain(path);
    for (int i = 0; i < KEY_BYTES; i++)
        snprintf(line + 2 + 2 * i, 3, "%02x", key[i]);
    line[LINE_BYTES - 1] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return complain(path);
    if (write(fd, line, LINE_BYTES) != LINE_BYTES || fsync(fd) != 0) {
        int code = complain(path);

        (void)unlink(path);
        close(fd);
        return code;
    }
    close(fd);
    printf(
        "%s: key 1 is in it. Copy the file to each host of the network, owned by the user of its "
        "rrcpd, mode 0600,\nand write into rmds.cnf:\n\n    *rrcp*authKeyFile : %s\n",
        path, path);
    return MD_EXIT_OK;
}
