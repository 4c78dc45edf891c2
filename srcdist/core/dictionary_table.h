/* dictionary_table.h - the dictionaries that are kept, and given to p2ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DICTIONARY_TABLE_H
#define SRCDIST_DICTIONARY_TABLE_H

#include "private.h"

/* NULL: none of this name. */
struct srcdist_dictionary *srcdist_dictionary_find(struct srcdist_core *core,
                                                   struct rwf_bytes name);
const char *srcdist_dictionary_version(struct srcdist_core *core, struct rwf_bytes name);
void srcdist_dictionary_discard(struct srcdist_core *core, struct srcdist_dictionary *d);
void srcdist_dictionaries_destroy(struct srcdist_core *core);

/* NULL: it is not here (yet). */
unsigned srcdist_dictionary_field_type(void *core, int16_t field_id); /* see cache/cache.h */

/* Types and ripple chains of fields are from now on as these say. */
void srcdist_fields_learn(struct srcdist_core *core, const struct rwf_dictionary *dictionary);
/* Takes field types and ripples from a field dictionary, nothing from one of enumerations. */
void srcdist_dictionary_learn(struct srcdist_core *core, const struct srcdist_dictionary *d);
void srcdist_dictionary_asked(struct srcdist_core *core, const struct rrmp_source_event *event);
void srcdist_dictionary_ask_gone(struct srcdist_core *core, uint32_t source_ask);
void srcdist_dictionaries_pump(struct srcdist_core *core);

#endif
