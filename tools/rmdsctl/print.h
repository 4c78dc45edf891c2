/* print.h - the answer of a daemon for people: columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSCTL_PRINT_H
#define RMDSCTL_PRINT_H

/*
 * A text whose first line names columns is lined up; lines that begin with a blank are printed as
 * they are. `before` is NULL, or an earlier answer to the same request: then the column SEQUENCE
 * is followed by one that says how many records came in between.
 */
void print_answer(const char *text, const char *before, double seconds);

#endif
