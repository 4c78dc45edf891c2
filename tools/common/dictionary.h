/* dictionary.h - where tools find the field dictionary, and whole files in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_DICTIONARY_H
#define TOOLS_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

/* The whole file, to be freed, with a 0 behind it; NULL: errno says why. At most `max` bytes, 0: no
 * limit (errno EFBIG). */
char *tool_file_read(const char *path, size_t max, size_t *length);

/*
 * The dictionary in `folder` (RDMFieldDictionary, enumtype.def); NULL: the folder `conf` beside the
 * build, then the installed one. On failure `error` gets a sentence, *out is NULL.
 */
int tool_dictionary_load(const char *folder, struct rwf_dictionary **out, char *error,
                         size_t error_size);

/* The same, with `version` in place of the versions that the heads of the files have. */
int tool_dictionary_load_version(const char *folder, const char *version,
                                 struct rwf_dictionary **out, char *error, size_t error_size);

/* The folder conf of the tree in which this program was built, or the installed one: that which
 * has `file`. NULL: neither has it. */
const char *tool_conf_folder(const char *file, char *out, size_t size);

#endif
