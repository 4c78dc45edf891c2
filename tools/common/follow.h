/* follow.h - the option -trace of the tools: some ticks leave time stamps in a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_FOLLOW_H
#define TOOLS_FOLLOW_H

#include <stdbool.h>

/* `words`: N,FILE - one tick of N. The file stays when the program ends. False: words of another
 * form, or the file cannot be made. */
bool follow_open(const char *words, const char *program);

#endif
