/* dictionary.h - consumers download dictionaries from us; those of providers we fetch first. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DICTIONARY_H
#define P2PS_DICTIONARY_H

#include "private.h"

/* The client has room again. True: parts of a dictionary still wait for more. */
bool p2ps_dictionaries_go_on(struct p2ps_core *core, uint32_t client);
void p2ps_dictionary_closed(struct p2ps_core *core, uint32_t client, int32_t stream_id);
void p2ps_dictionaries_tick(struct p2ps_core *core);
/* A service was described: fetches its dictionaries that are not there yet. */
void p2ps_dictionaries_offered(struct p2ps_core *core, uint16_t service);
void p2ps_dictionary_event(struct p2ps_core *core, const struct rrmp_sink_event *event);

#endif
