/* send.h - one update of an item: numbered, and sent to the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SEND_H
#define SRCDIST_SEND_H

#include "private.h"

/* MD_OK: sent, or no consumer wants it. MD_ERR_FULL: no room now, nothing has happened. */
int srcdist_update_send(struct srcdist_core *core, uint32_t item, struct rwf_bytes message);

#endif
