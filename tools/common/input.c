/* input.c - see input.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <sys/stat.h>
#include <unistd.h>

bool tool_input_is_live(void)
{
    struct stat status;

    if (fstat(STDIN_FILENO, &status) != 0)
        return false;
    return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || isatty(STDIN_FILENO);
}
