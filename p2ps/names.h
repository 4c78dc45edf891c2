/* names.h - the names of clients' addresses, looked up beside the work (disableHostLookup False).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_NAMES_H
#define P2PS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* A name server may be silent for seconds: one thread waits for it, and nobody for the thread. */
struct p2ps_names;
struct p2ps_name; /* one question, and its answer once there is one */

/* The name of an address, "10.1.2.3" or "fe80::1"; false: it has none. Called in the thread. */
typedef bool (*p2ps_lookup_fn)(const char *address, char *name, size_t size);

/* Starts the thread. `lookup` NULL: as the system does. At most `waiting_max` questions wait.
 * MD_ERR_NOMEM, MD_ERR_SYS. */
int p2ps_names_create(p2ps_lookup_fn lookup, unsigned waiting_max, struct p2ps_names **out);
/* Waits a second at most; a lookup that takes longer is left to end by itself. NULL is allowed. */
void p2ps_names_destroy(struct p2ps_names *names);

/* From any thread, at once: who is "10.1.2.3:40112"? NULL: too many questions wait. */
struct p2ps_name *p2ps_names_ask(struct p2ps_names *names, const char *peer);
/* NULL: not known yet, or it has none. */
const char *p2ps_name_text(const struct p2ps_name *name);
/* Nobody wants to know any more. NULL is allowed. */
void p2ps_name_release(struct p2ps_name *name);

#endif
