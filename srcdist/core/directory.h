/* directory.h - what providers offer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DIRECTORY_H
#define SRCDIST_DIRECTORY_H

#include "private.h"

void srcdist_directory_ask(struct srcdist_core *core, uint32_t provider);
int srcdist_directory_message(struct srcdist_core *core, uint32_t provider,
                              const struct rwf_msg *msg);

/* The provider is gone: its services move to other providers, or go down. */
void srcdist_directory_lost(struct srcdist_core *core, uint32_t provider);

#endif
