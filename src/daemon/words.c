/* words.c - see daemon/words.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/words.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "netio/diagnose.h"

void daemon_where(const struct md_conf_object *object, const char *param, char *out, size_t size)
{
    struct md_conf_value value = md_conf_value(object, param);

    if (value.file)
        snprintf(out, size, "%s %s (%s:%u)", param, value.text, value.file, value.line);
    else
        snprintf(out, size, "%s %s (the default)", param, value.text[0] ? value.text : "is empty");
}

void daemon_port_refused(const struct md_conf_object *object, const char *param)
{
    char reason[160], where[400];
    char holder[96] = "";
    bool is_taken = errno == EADDRINUSE;

    snprintf(reason, sizeof(reason), "%s", net_error());
    if (is_taken)
        (void)net_port_holder(md_conf_port(object, param), false, holder, sizeof(holder));
    daemon_where(object, param, where, sizeof(where));
    md_log(MD_LOG_CRITICAL, "%s: %s%s%s%s", where, reason, holder[0] ? " by " : "", holder,
           is_taken ? "; write another port, or end the process that has it" : "");
}
