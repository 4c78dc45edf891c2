/* parts.h - which paths are parts of what the whole has counted. Private to status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_PARTS_H
#define STATUS_PARTS_H

#include <stdbool.h>

/* True: a part of what the whole has counted, or bytes of a part of the memory. */
bool status_is_part(const char *path);

#endif
