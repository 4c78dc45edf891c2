/* config.h - the limits of the configuration. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CONFIG_H
#define RRCP_CONFIG_H

#include "private.h"

/* MD_ERR_RANGE: a value is outside its limits. */
int rrcp_config_check(const struct rrcp_config *config);

#endif
