/* client.h - connections: their slots, their timers, their end. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CLIENT_H
#define P2PS_CLIENT_H

#include "private.h"

struct p2ps_client *p2ps_client_at(struct p2ps_core *core, uint32_t client);
/* A mandatory message did not fit: disconnect the client at the end of the batch. */
void p2ps_client_doom(struct p2ps_core *core, uint32_t client);
/* The same because there is no memory for what must be known of it. */
void p2ps_client_doom_unknown(struct p2ps_core *core, uint32_t client);
void p2ps_client_touch(struct p2ps_core *core, uint32_t client);
/* It has no room: from now on it is watched. */
void p2ps_client_is_slow(struct p2ps_core *core, uint32_t client);
/* Ends a client of which more than conflateMax streams are behind. Not one with a ceiling: it is
 * behind because it is sent no more, the streams are its own, and slowBacklog bounds their bytes.
 */
void p2ps_client_bound(struct p2ps_core *core, uint32_t client);

/* The rest of its batch is not opened. */
void p2ps_batch_forget(struct p2ps_client *c);

/* The name in its certificate, "": it has none; and when that ends. */
const char *p2ps_client_certificate(const struct p2ps_client *c, uint64_t *expires_s);
/* The number of that certificate, "": it has none. */
const char *p2ps_client_serial(const struct p2ps_client *c);
/* Keeps a copy of it, or nothing of NULL. */
void p2ps_client_shown_set(struct p2ps_core *core, uint32_t client,
                           const struct entitle_shown *shown);
void p2ps_client_login_set(struct p2ps_core *core, struct p2ps_client *c,
                           enum p2ps_login_state state);

#endif
