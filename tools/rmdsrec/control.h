/* control.h - commands to a replay that runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_H
#define CONTROL_H

#include "pace.h"

/* From the socket `replay->control_path`, and from standard input with `takes_input`. False: told.
 */
bool control_start(struct replay *replay);
void control_stop(struct replay *replay);

#endif
