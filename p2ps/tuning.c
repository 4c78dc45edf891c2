/* tuning.c - what the configuration says of single users: see worker.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <strings.h>

#include "conf/conf.h"
#include "worker.h"

const struct p2ps_user_line *p2ps_tuning_user(const struct p2ps_tuning *tuning, const char *user)
{
    char name[256];

    md_conf_component(name, sizeof(name), user);
    for (unsigned i = 0; i < tuning->user_count; i++) {
        if (strcasecmp(tuning->users[i].name, name) == 0)
            return &tuning->users[i];
    }
    return &tuning->others;
}
