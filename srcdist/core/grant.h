/* grant.h - what new access rules change for providers that are connected. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_GRANT_H
#define SRCDIST_GRANT_H

#include "private.h"

void srcdist_grants_review(struct srcdist_core *core);

#endif
