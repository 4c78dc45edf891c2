/* input.h - whether commands can come from standard input. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stdbool.h>

/* True for a terminal, a pipe and a socket; a plain file and /dev/null cannot be waited for. */
bool tool_input_is_live(void);

#endif
