/* rate_review.h - open items under new rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_RATE_REVIEW_H
#define SRCDIST_RATE_REVIEW_H

#include "private.h"

/* Items whose fields or types are others now get a new image. */
void srcdist_rates_review(struct srcdist_core *core);

#endif
