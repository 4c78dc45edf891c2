/* rec.h - rmdsrec: its verbs. Each returns an enum exit_code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REC_H
#define REC_H

#include "words.h"

int record_run(const struct words *words);
int info_run(const struct words *words);
int export_run(const struct words *words);
int compare_run(const struct words *words);
int import_run(const struct words *words);
int replay_run(const struct words *words);
int tell_run(const struct words *words);

#endif
