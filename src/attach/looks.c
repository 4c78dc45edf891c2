/* looks.c - how long an attachment looks for messages before it asks to be woken. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

bool attach_looks_again(struct attach *user, uint64_t now_ns, bool has_found)
{
    if (has_found)
        user->idle_since_ns = UINT64_MAX;
    else if (user->idle_since_ns > now_ns)
        user->idle_since_ns = now_ns;
    user->is_looking = !has_found && now_ns - user->idle_since_ns < user->busy_poll_ns;
    return user->is_looking;
}

bool attach_end_look(struct attach *user)
{
    bool was_looking = user->is_looking;

    if (was_looking)
        user->idle_since_ns = 0;
    user->is_looking = false;
    return was_looking;
}
