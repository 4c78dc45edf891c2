/* find.c - see look.h: how a finding is written. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "look.h"

void look_find(const struct look *look, enum md_conf_severity severity,
               const struct md_conf_object *object, const char *param, const char *format, ...)
{
    struct md_conf_value value = md_conf_value(object, param);
    char text[1200], all[1600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(all, sizeof(all), "%s of %s%s: %s", param, look->daemon,
             value.file ? "" : " (the default)", text);
    look->sink(look->sink_arg, severity, value.file, value.line, all);
}
