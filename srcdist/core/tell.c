/* tell.c - see tell.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tell.h"

#include <stdarg.h>
#include <stdio.h>

#define SECOND_NS 1000000000ull
#define PAUSE_MAX (600 * SECOND_NS)
#define TEXT_MAX  1600

void srcdist_tell(struct srcdist_core *core, enum srcdist_tone tone, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;

    if (!core->config.tell)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    core->config.tell(core->config.service_owner, tone, text);
}

void srcdist_tell_rarely(struct srcdist_core *core, enum srcdist_tale_kind kind, const char *format,
                         ...)
{
    struct srcdist_tale *tale = &core->tales[kind];
    char text[TEXT_MAX];
    va_list arguments;

    if (core->now_ns < tale->next_ns) {
        tale->kept++;
        return;
    }
    if (core->now_ns >= tale->next_ns + tale->pause_ns)
        tale->pause_ns = SECOND_NS / 2; /* it was quiet for as long again */
    tale->pause_ns = tale->pause_ns * 2 < PAUSE_MAX ? tale->pause_ns * 2 : PAUSE_MAX;
    tale->next_ns = core->now_ns + tale->pause_ns;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (tale->kept)
        srcdist_tell(core, SRCDIST_TELLS_REFUSAL, "%s; %llu more like it since the last line", text,
                     (unsigned long long)tale->kept);
    else
        srcdist_tell(core, SRCDIST_TELLS_REFUSAL, "%s", text);
    tale->kept = 0;
}

struct srcdist_party srcdist_party(const struct srcdist_provider *p)
{
    struct srcdist_party party;

    if (p->kind == SRCDIST_INTERACTIVE)
        snprintf(party.text, sizeof(party.text), "%s (route %u, interactive)", p->name, p->rank);
    else
        snprintf(party.text, sizeof(party.text), "%s (user %s, non-interactive)", p->name,
                 p->user[0] ? p->user : "not logged in");
    return party;
}
