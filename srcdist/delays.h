/* delays.h - which services are offered delayed, too, and where their data wait. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DELAYS_H
#define SRCDIST_DELAYS_H

#include <stdbool.h>

#include "conf/conf.h"
#include "core.h"

#define DELAYS_MAX 16 /* services that the configuration names with a delayedService */

struct delays;

/* Number of them; before the memory is planned. */
unsigned delays_count(const struct md_conf *conf);
/* Opens their directories, one for each of the networks. One that cannot be opened is logged, and
 * that service is not offered delayed. `image_bytes`: of each loop. MD_ERR_NOMEM. */
int delays_open(const struct md_conf *conf, unsigned networks, uint64_t image_bytes,
                struct delays **out);
/* When the loops are gone. NULL is allowed. */
void delays_close(struct delays *delays);

/* The name is that of a delayed service. */
bool delays_have_name(const struct delays *delays, const char *service);
/* NULL: the service is not offered delayed. */
const struct srcdist_delayed *delays_of(const struct delays *delays, const char *service,
                                        unsigned network);

#endif
