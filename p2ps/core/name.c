/* name.c - see name.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "name.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "client.h"

bool p2ps_name_is_token(const struct omm_login_request *request)
{
    return request->name_type == RWF_NAME_LOGIN_TOKEN ||
           request->name_type == RWF_NAME_LOGIN_AUTHN_TOKEN;
}

static bool has_token(const struct omm_login_request *request)
{
    return request->name_type == RWF_NAME_LOGIN_TOKEN ? request->user.length > 0
                                                      : request->token.length > 0;
}

static const char *refuse_bytes(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return "the user name has control characters";
    }
    return md_text_is_plain(name, length) ? NULL
                                          : "the user name has control characters, or is no UTF-8";
}

const char *p2ps_name_refuse(const struct omm_login_request *request, char *text, size_t size)
{
    if (p2ps_name_is_token(request))
        return has_token(request) ? NULL : "the login has no token";
    if (request->user.length == 0)
        return "the login has no user name";
    if (request->user.length >= P2PS_TEXT_MAX) {
        snprintf(text, size, "the user name has %zu bytes, %d are allowed", request->user.length,
                 P2PS_TEXT_MAX - 1);
        return text;
    }
    return refuse_bytes((const char *)request->user.data, request->user.length);
}

const char *p2ps_name_refuse_found(const char *name)
{
    return refuse_bytes(name, strlen(name));
}
