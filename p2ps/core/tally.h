/* tally.h - what a client takes of its address's and its user's share. See parties.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TALLY_H
#define P2PS_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct p2ps_core;
struct p2ps_client;
struct p2ps_party;
struct entitle_answer;

/* The parties of the process, or some of its own. MD_ERR_NOMEM. */
int p2ps_tally_create(struct p2ps_core *core);
void p2ps_tally_destroy(struct p2ps_core *core);

/* Its address, at the start of the connection, and its user, once it is known who it is. */
int p2ps_tally_host(struct p2ps_core *core, struct p2ps_client *c);
int p2ps_tally_user(struct p2ps_core *core, struct p2ps_client *c, bool is_proved);
/* Both are given back, and the mount. */
void p2ps_tally_leave(struct p2ps_core *core, uint32_t client);
bool p2ps_tally_mount(struct p2ps_core *core, uint32_t client, uint32_t max);
/* The same of its position; leaves it with the mount. */
bool p2ps_tally_position(struct p2ps_core *core, uint32_t client, uint32_t max);
void p2ps_tally_unmount(struct p2ps_core *core, uint32_t client);
void p2ps_tally_items(struct p2ps_client *c, int64_t change);

/* Requests that are answered: the next one waits while there is no token for it. */
void p2ps_tally_ask(struct p2ps_core *core, struct p2ps_client *c);
/* When there is one; now or before: there is. */
uint64_t p2ps_tally_ready(const struct p2ps_core *core, const struct p2ps_client *c);
/* A post; false: one too many of the second. */
bool p2ps_tally_post(struct p2ps_core *core, struct p2ps_client *c);

/* Notes the limits of its user, for operators. */
void p2ps_tally_limits(const struct p2ps_client *c, const struct entitle_answer *answer);
/* A request or a post of it was refused. */
void p2ps_tally_refused(const struct p2ps_client *c);

/* Of a table that is three quarters full the rest is for parties that have not an eighth of it. */
bool p2ps_tally_may_have(const struct p2ps_client *c, uint32_t now, uint32_t room,
                         uint32_t (*of)(const struct p2ps_party *party));

#endif
