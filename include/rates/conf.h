/* rates/conf.h - filterFile and the parameters of rmds.cnf that stand for lines of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RATES_CONF_H
#define RATES_CONF_H

#include "conf/conf.h"
#include "rates/rates.h"

/* A mistake: of `param` at the daemon or at a service, and of filterFile its line, else 0. */
typedef void (*rates_conf_find_fn)(void *arg, const struct md_conf_object *object,
                                   const char *param, int line, const char *text);

/* ---- conflateRates of p2ps ---- */

#define RATES_PACES_MAX         8
#define RATES_PACE_INTERVAL_MAX 60000u /* ms; a QoS has room for 65,535 */

/* A word of it: a number of milliseconds, or jit: 0. False: it is none of these. */
bool rates_pace_read(const char *word, uint16_t *interval_ms);

/* ---- of src_dist ---- */

/* A line of rmds.cnf leaves something out or merges something. */
bool rates_conf_is_used(const struct md_conf_object *daemon);

/*
 * The lines of filterFile, `text`, then those of fieldFilter, updateTypeFilter and
 * conflateInterval: of each service that has values of its own, then of the daemon for all others.
 * *out is NULL without any, and with an error: MD_ERR_MALFORMED (mistakes were told), MD_ERR_NOMEM.
 */
int rates_conf_read(const struct md_conf_object *daemon, const char *text, size_t length,
                    const struct rwf_dictionary *fields, rates_conf_find_fn find, void *arg,
                    struct rates **out);

#endif
