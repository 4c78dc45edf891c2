/* daemon/site.h - siteName of p2ps and src_dist. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SITE_H
#define DAEMON_SITE_H

#include <stdbool.h>

#include "conf/conf.h"

enum { DAEMON_SITE_MAX = 32 };

/* False: siteName is not a name, which is logged. */
bool daemon_site_is_good(const struct md_conf_object *daemon);

#endif
