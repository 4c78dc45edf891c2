/* metrics.h - the table of metrics as a page, as alert rules, as a dashboard. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSCNF_METRICS_H
#define RMDSCNF_METRICS_H

#include <stdbool.h>

/* "markdown", "alerts" or "dashboard" on standard output; false: there is no such form. */
bool metrics_print(const char *form);

#endif
