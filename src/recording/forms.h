/* forms.h - bytes of a value as a number, and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_FORMS_H
#define RECORDING_FORMS_H

#include "columns.h"

/* False: the bytes are no number of that form. */
bool rec_form_read(const struct rec_column *column, const uint8_t *bytes, size_t length,
                   uint64_t *out);
/* The bytes of a number of that form, nine at most; more may be written. Returns how many. */
size_t rec_form_write(const struct rec_column *column, uint64_t number, uint8_t out[10]);

#endif
