/* name.h - who a login says it is, before anybody believes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CORE_NAME_H
#define P2PS_CORE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "omm/login.h"

/* The name is a token, or is none and the token is an element. */
bool p2ps_name_is_token(const struct omm_login_request *request);
/* NULL: somebody can have that name, which has 1 to 127 bytes of UTF-8 without control characters,
 * or the login has a token in its place. Else why not, in `text`: two users could become one, or a
 * line of the log two. */
const char *p2ps_name_refuse(const struct omm_login_request *request, char *text, size_t size);
/* The same of a name that comes from elsewhere: a token, a certificate. */
const char *p2ps_name_refuse_found(const char *name);

#endif
