/* delay_dir.h - chunks of a delayed service as files of a directory, written by a thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DELAY_DIR_H
#define SRCDIST_DELAY_DIR_H

#include "delay/delay.h"

/*
 * A disk may be slow, and then only what is delayed is: the loop hands chunks to the thread, and
 * asks it for those that it wants to read. What waits for the thread is bounded; a chunk that finds
 * no room there is lost, and the line tells its consumers.
 *
 * One process uses a directory at a time. The directory and its files are readable to their owner
 * only: they are licensed data.
 */
struct delay_dir;

/* Makes the directory `folder`/`name`. On failure `why` has a sentence. */
int delay_dir_open(const char *folder, const char *name, char *why, size_t size,
                   struct delay_dir **out);
/* Writes what waits. NULL is allowed. */
void delay_dir_close(struct delay_dir *dir);
/* For the loop that has the line. */
struct delay_disk delay_dir_disk(struct delay_dir *dir);

#endif
