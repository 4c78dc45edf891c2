/* mirror.h - tells providers their role in a mirrored service. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_MIRROR_H
#define SRCDIST_MIRROR_H

#include "private.h"

void srcdist_mirror_tick(struct srcdist_core *core);

#endif
