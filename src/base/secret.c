/* secret.c - see base/secret.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <stdio.h>
#include <sys/stat.h>

enum md_secret_state md_secret_look(int fd, const char *path, enum md_secret_kind kind, char *why,
                                    size_t size)
{
    struct stat st;

    if (size > 0)
        why[0] = '\0';
    if (fstat(fd, &st) != 0)
        return MD_SECRET_FINE; /* whoever reads it will find out */
    if (S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH)) {
        snprintf(why, size, "%s: every user can write it; chmod o-rwx %s", path, path);
        return MD_SECRET_REFUSED;
    }
    if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
        return MD_SECRET_FINE;
    snprintf(why, size, "%s: every user can read %s; chmod o-rwx %s", path,
             kind == MD_SECRET_KEY ? "this key" : "it", path);
    return kind == MD_SECRET_KEY ? MD_SECRET_REFUSED : MD_SECRET_OPEN;
}
