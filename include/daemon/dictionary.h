/* daemon/dictionary.h - the files of fields and enumerations that a daemon begins with. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DICTIONARY_H
#define DAEMON_DICTIONARY_H

#include "conf/conf.h"
#include "rmds/rwf_dictionary.h"

/*
 * Fills the dictionary with the files of dictionaryPath, or with those that come with the program
 * when it names none; *count is how many it names. Mistakes are logged with file and line; an error
 * as rwf_dictionary_load_fields(), MD_ERR_SYS or MD_ERR_NOT_FOUND then.
 */
int daemon_dictionary_load(const struct md_conf_object *daemon, struct rwf_dictionary *dictionary,
                           size_t *count);

#endif
