/* rssl_front.h - what RSSL clients say to the core. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_RSSL_FRONT_H
#define P2PS_RSSL_FRONT_H

#include "core.h"

/* One message of a client. An error: it cannot be decoded, cut the connection. */
int p2ps_rssl_message(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      struct rwf_bytes bytes);

/* ---- for every front ---- */

/* A request, decoded. */
void p2ps_rwf_request(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      const struct rwf_msg *msg);

#endif
