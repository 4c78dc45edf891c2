/* ask.h - one request to one daemon, and its answer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSCTL_ASK_H
#define RMDSCTL_ASK_H

#include <stdbool.h>

struct answer {
    bool is_ok;
    char error[256]; /* when it is not: what the daemon says, or why it cannot be asked */
    char *text;      /* from malloc(); "" if there is none */
};

/* The words are sent with tabs between them. False: the daemon cannot be asked. */
bool ask_daemon(const char *path, char *const *words, int word_count, struct answer *out);

#endif
