/* dictionaries.h - the field and enumeration dictionaries that p2ps serves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DICTIONARIES_H
#define P2PS_DICTIONARIES_H

#include "conf/conf.h"
#include "core.h"

/* Shared by all workers. Files are loaded before they start; dictionaries of providers are added
 * while they run, each name once. */
struct p2ps_dictionary_store;
struct rwf_dictionary;

/* dictionaryPath, or the files that come with the program when it is empty. Mistakes are logged
 * with file and line; MD_ERR_SYS or MD_ERR_MALFORMED then. */
int p2ps_dictionary_store_create(const struct md_conf_object *daemon,
                                 struct p2ps_dictionary_store **out);
/* Takes the parameters of Marketfeed that a reload may change. */
void p2ps_dictionary_store_read(struct p2ps_dictionary_store *store,
                                const struct md_conf_object *daemon);
/* At most so many bytes, instead of dictionaryLimit; before anybody asks. */
void p2ps_dictionary_store_limit(struct p2ps_dictionary_store *store, uint64_t bytes);
void p2ps_dictionary_store_destroy(struct p2ps_dictionary_store *store); /* NULL is allowed */
/* The definitions of fields that are in force. */
const struct rwf_dictionary *p2ps_dictionary_types(const struct p2ps_dictionary_store *store);
/* The type of a field, for the cache: enum rwf_type, 0 when not known. `store` as context. */
unsigned p2ps_dictionary_field_type(void *store, int16_t field_id);
/* How Marketfeed is converted; NULL with convertMarketfeed False. `store` as context. */
const struct mf_table *p2ps_dictionary_marketfeed(void *store);
/* The ripple chains of fields, for the cache. */
const struct cache_ripples *p2ps_dictionary_ripples(const struct p2ps_dictionary_store *store);
struct p2ps_dictionaries p2ps_dictionary_store_ops(struct p2ps_dictionary_store *store);

#endif
