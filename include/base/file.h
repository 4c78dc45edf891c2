/* base/file.h - whole files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_FILE_H
#define MD_FILE_H

#include <stddef.h>

/*
 * All bytes of a file, from malloc(); NULL with errno set, also when only a part could be read. A
 * file of more than `max` bytes is EFBIG.
 */
char *md_file_read(int fd, size_t max, size_t *length);
char *md_file_load(const char *path, size_t max, size_t *length);

#endif
