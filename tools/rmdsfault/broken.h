/* broken.h - messages that no decoder can take, or should not. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_BROKEN_H
#define FAULT_BROKEN_H

#include <stddef.h>
#include <stdint.h>

#include "script.h"

#define FAULT_NOISE 64u /* bytes, the longest frame that is damaged */

/* A copy of an encoded update of field lists, damaged. `out` holds `length` and FAULT_NOISE;
 * returns how long the result is. */
size_t fault_break(enum fault_broken kind, const uint8_t *message, size_t length, uint8_t *out);

/* A damaged frame, up to FAULT_NOISE bytes; returns how many. */
size_t fault_break_frame(enum fault_frame kind, uint8_t out[FAULT_NOISE]);

#endif
