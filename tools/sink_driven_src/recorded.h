/* recorded.h - a recording in place of sample data: rmdsrec plays it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SDS_RECORDED_H
#define SDS_RECORDED_H

#include <stdbool.h>

/* NULL: as rmdsrec has it. */
struct recorded {
    const char *file, *port, *address, *service, *id, *dict;
    const char *wire, *ca, *certificate, *key;
    bool loops, takes_input;
};

/* Whether the file is a recording. */
bool recorded_is(const char *file);
/* Becomes rmdsrec, that beside this program; returns an exit code after it has said why it cannot.
 */
int recorded_play(const struct recorded *recorded);

#endif
