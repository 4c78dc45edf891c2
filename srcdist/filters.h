/* filters.h - filterFile and its one-line parameters: what goes to the backbone, and how often. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SHELL_FILTERS_H
#define SRCDIST_SHELL_FILTERS_H

#include "src_dist.h"

/* At the start, before the loops run. False: the file has a mistake, which is logged. */
bool src_dist_filters_load(struct src_dist *sd);
/* SIGHUP: a mistake refuses the reload, and the old rules stay. */
void src_dist_filters_reload(struct src_dist *sd, struct daemon_reload *reload);

#endif
