/* put.h - questions that are put to an authority, at once or when it is back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_PUT_H
#define P2PS_AUTHORITY_PUT_H

#include "state.h"

enum authority_put {
    AUTHORITY_IS_PUT,     /* its answer follows */
    AUTHORITY_IS_FULL,    /* there is no room for it, or nobody to ask */
    AUTHORITY_IS_NO_TEXT, /* it is no UTF-8 */
};

#define AUTHORITY_NO_TEXT "the login has bytes that are no UTF-8"

/*
 * Sends the question of a free slot. While the authority is away a login is held for
 * authorityTimeout, with its secrets, if the configuration says so; in the order in which they came
 * they are asked as soon as it is back, and then have authorityTimeout once more.
 */
enum authority_put authority_put(struct p2ps_authority *a, uint64_t now_ns,
                                 const struct p2ps_authority_question *question, uint32_t at);
/* It may be back: asks those that are held. */
void authority_held_ask(struct p2ps_authority *a, uint64_t now_ns);
/* The same; and nobody can say about those that are due. */
void authority_held_tick(struct p2ps_authority *a, uint64_t now_ns);

#endif
