/* dictionary.h - dictionaries of providers: asked for, compared, waited for. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DICTIONARY_H
#define SRCDIST_DICTIONARY_H

#include "private.h"

/* Asks for what the provider lists; it is ready when it has all come. */
void srcdist_dictionaries_ask(struct srcdist_core *core, uint32_t provider);
void srcdist_dictionary_message(struct srcdist_core *core, uint32_t provider,
                                const struct rwf_msg *msg, struct rwf_bytes bytes);
void srcdist_dictionaries_lost(struct srcdist_core *core, uint32_t provider);
void srcdist_dictionaries_tick(struct srcdist_core *core);

#endif
