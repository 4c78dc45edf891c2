/* request.h - requests for items: from the client's words to a watch on an item. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_REQUEST_H
#define P2PS_REQUEST_H

#include "private.h"

/* The next name of the client's batch. False: that was the last, the batch is done. */
bool p2ps_batch_next(struct p2ps_core *core, uint32_t client);

#endif
