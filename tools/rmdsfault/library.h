/* library.h - the named scenarios: where they are, what they are about. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_LIBRARY_H
#define FAULT_LIBRARY_H

#include "script.h"

/* Each returns an exit code of enum md_exit after it has said what is wrong. `folder`: NULL is that
 * of the tree in which the program was built, or the installed one. */
int library_list(const char *folder);
int library_show(const char *folder, const char *name);
/* `name`: a scenario, or the path of a file (it has a '/', or ends in .fault). */
int library_load(const char *folder, const char *name, struct fault_script *script);

#endif
