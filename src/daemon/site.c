/* site.c - see daemon/site.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/site.h"

#include <stddef.h>

#include "base/log.h"

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

bool daemon_site_is_good(const struct md_conf_object *daemon)
{
    const char *name = md_conf_string(daemon, "siteName");
    size_t length = 0;

    while (is_of_name(name[length]))
        length++;
    if (name[length] == 0 && length <= DAEMON_SITE_MAX)
        return true;
    md_log(MD_LOG_CRITICAL,
           "siteName: \"%s\" is no name of a site: at most %d letters, digits, '-', '_' and '.'",
           name, DAEMON_SITE_MAX);
    return false;
}
