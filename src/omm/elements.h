/* elements.h - reading the element lists that login and directory are made of. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OMM_ELEMENTS_H
#define OMM_ELEMENTS_H

#include "rmds/rwf.h"

/* Numbers come as UINT or INT, both are taken; anything else, blank or broken leaves *out as it is.
 */
void omm_element_number(const struct rwf_element *element, uint64_t *out);
void omm_element_flag(const struct rwf_element *element, bool *out);

/* ASCII, UTF8, RMTES or BUFFER; anything else leaves *out as it is. */
void omm_element_text(const struct rwf_element *element, struct rwf_bytes *out);

#endif
