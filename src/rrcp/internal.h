/* internal.h - what the files of the engine share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_INTERNAL_H
#define RRCP_INTERNAL_H

#include "rrcp/rrcp.h"

#define RRCP_US 1000ull
#define RRCP_MS 1000000ull
#define RRCP_S  1000000000ull

/* MD_ERR_RANGE when a value lies outside its limits. */
int config_check(const struct rrcp_config *config);

#endif
