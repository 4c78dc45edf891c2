/* delayed_out.h - what is due out of the lines, as messages of the providers that they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DELAYED_OUT_H
#define SRCDIST_DELAYED_OUT_H

#include "private.h"

/* The delayed service comes and goes with the live one. */
void srcdist_delays_tick(struct srcdist_core *core);
/* As much as is due, and as the backbone takes. */
void srcdist_delays_pump(struct srcdist_core *core);
uint64_t srcdist_delays_deadline(const struct srcdist_core *core);
void srcdist_delays_count(struct srcdist_core *core);

#endif
