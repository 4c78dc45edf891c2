/* find.h - the admin sockets of the daemons on this host. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSCTL_FIND_H
#define RMDSCTL_FIND_H

#include <stddef.h>

#define FOUND_MAX 128

struct found {
    char path[128]; /* of the socket */
    char name[96];  /* "p2ps.1", "rrcpd.net1.1" */
};

/*
 * Those in runDir, by name; with `everywhere` also our own that the kernel lists elsewhere, as
 * `tools/rmds up` starts them. Returns how many, at most FOUND_MAX.
 */
size_t find_sockets(const char *run_dir, int everywhere, struct found *out);

/* Keep those that the word means: "p2ps", "p2ps.2", "rrcpd.net1". Returns how many are left. */
size_t find_meant(struct found *list, size_t count, const char *word);

#endif
