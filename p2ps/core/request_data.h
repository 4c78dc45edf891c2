/* request_data.h - data in the request of a private stream, for its provider. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_REQUEST_DATA_H
#define P2PS_REQUEST_DATA_H

#include "private.h"

#define P2PS_REQUEST_DATA_MAX 32768u

/* A REQUEST with the data, till the next message is made; empty: there are none, or they are for
 * p2ps (a view, the names of a batch). False: they are too long. */
bool p2ps_request_data(struct p2ps_core *core, const struct omm_item_request *request,
                       struct rrmp_view *out);

#endif
