/* conf/explain.h - the table of parameters for people: help, reference, manual. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_EXPLAIN_H
#define MD_CONF_EXPLAIN_H

#include <stdio.h>

#include "conf/conf.h"

/* -help-config: every parameter of `programs` (bits), as text for a terminal. */
void md_conf_print_help(FILE *out, unsigned programs);

/* The whole table as Markdown (docs/reference) and as scdoc (the manual page rmds.cnf(5)). */
void md_conf_print_markdown(FILE *out);
void md_conf_print_scdoc(FILE *out);

/* conf/rmds.cnf: every parameter of this version with its default, commented out, to be edited. */
void md_conf_print_cnf(FILE *out);

/* -checkconfig: every effective value with where it was set. */
void md_conf_print_values(FILE *out, const struct md_conf *conf);

#endif
