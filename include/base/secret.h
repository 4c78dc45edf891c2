/* base/secret.h - may this file be trusted, and is it for us alone? */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_SECRET_H
#define MD_SECRET_H

#include <stddef.h>

enum md_secret_kind {
    MD_SECRET_KEY,   /* who reads it is us: a private key, the keys of a group */
    MD_SECRET_RULES, /* who writes it decides: access rules, with their passwords */
};

enum md_secret_state {
    MD_SECRET_FINE,
    MD_SECRET_OPEN,    /* every user can read it: to be warned of */
    MD_SECRET_REFUSED, /* every user can write it, or read a key */
};

/* Looks at the open file `fd`, of the name `path`; `why` is a sentence unless all is well. */
enum md_secret_state md_secret_look(int fd, const char *path, enum md_secret_kind kind, char *why,
                                    size_t size);

#endif
