/* file.h - the file of a trail: where its chain ends, bytes at its end, rotation. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUDIT_FILE_H
#define AUDIT_FILE_H

#include <limits.h>

#include "chain.h"

#define AUDIT_PART_MAX 65536u /* of a line that was not written to its end */

struct audit_file {
    int fd; /* -1: not open */
    char path[PATH_MAX];
    uint64_t size;
};

/* Where a trail ends that was written before. */
struct audit_end {
    struct audit_chain chain;
    char *part; /* what stands behind its last line, from malloc(), or NULL */
    size_t part_length;
};

/* Opens the file and locks it. Anything but MD_OK: `why` says what is wrong. */
int audit_file_open(struct audit_file *file, const char *path, char *why, size_t size);
void audit_file_close(struct audit_file *file);
/* Of an open file, or of the youngest rotated one if it is empty. */
int audit_file_end(struct audit_file *file, struct audit_end *end, char *why, size_t size);
/* How many of the bytes it took; errno if not all. */
size_t audit_file_write(struct audit_file *file, const char *bytes, size_t length);
/* The file becomes path.1, by way of path.0, path.1 becomes path.2, ...; what is open is closed.
 * False: it cannot be moved, see errno; it stays open. */
bool audit_file_rotate(struct audit_file *file, unsigned keep);

#endif
