/* trouble.c - see daemon/trouble.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"

enum { SENTENCE_BYTES = 800 };

void daemon_troubles_init(struct daemon_troubles *troubles, struct stats_segment *segment)
{
    *troubles = (struct daemon_troubles){ .segment = segment };
    troubles->count = stats_entry_add(segment, STATS_KIND_GAUGE, "troubles");
}

const char *daemon_trouble_note(const struct daemon_troubles *troubles)
{
    for (unsigned i = 0; i < DAEMON_TROUBLES; i++) {
        if (troubles->list[i].said_ns)
            return troubles->list[i].note;
    }
    return "";
}

static void show(struct daemon_troubles *troubles)
{
    const char *note = daemon_trouble_note(troubles);
    uint64_t count = 0;

    for (unsigned i = 0; i < DAEMON_TROUBLES; i++)
        count += troubles->list[i].said_ns != 0;
    stats_gauge_set(troubles->count, count);
    if (count == 0 && troubles->note) {
        stats_entry_remove(troubles->segment, troubles->note);
        troubles->note = NULL;
    } else if (count > 0 && !troubles->note) {
        troubles->note = stats_string_add(troubles->segment, "trouble", note);
    } else if (count > 0) {
        stats_string_set(troubles->segment, troubles->note, note);
    }
}

/* Names of others may be in a note, which goes to the service manager line by line, and to
 * terminals. */
static void make_plain(const char *note, char *out, size_t size)
{
    size_t n = 0;

    memset(out, 0, size);
    for (; n + 1 < size && note[n]; n++)
        out[n] = (uint8_t)note[n] < 0x20 || note[n] == 0x7f ? '.' : note[n];
}

void daemon_trouble_here(struct daemon_troubles *troubles, unsigned which, uint64_t now_ns,
                         uint64_t delay_ns, const char *note, const char *format, ...)
{
    struct daemon_trouble *trouble = &troubles->list[which];
    char sentence[SENTENCE_BYTES], plain[sizeof(trouble->note)];
    va_list words;

    MD_ASSERT(which < DAEMON_TROUBLES);
    make_plain(note, plain, sizeof(plain));
    if (trouble->since_ns == 0)
        trouble->since_ns = now_ns;
    if (now_ns - trouble->since_ns < delay_ns)
        return;
    bool is_other = strcmp(trouble->note, plain) != 0;
    if (trouble->said_ns && !is_other && now_ns - trouble->said_ns < DAEMON_TROUBLE_AGAIN)
        return;
    va_start(words, format);
    vsnprintf(sentence, sizeof(sentence), format, words);
    va_end(words);
    md_log(MD_LOG_WARNING, "%s; for %.0f s now", sentence,
           (double)(now_ns - trouble->since_ns) / 1e9);
    trouble->said_ns = now_ns;
    memcpy(trouble->note, plain, sizeof(plain));
    show(troubles);
}

void daemon_trouble_gone(struct daemon_troubles *troubles, unsigned which, uint64_t now_ns,
                         const char *format, ...)
{
    struct daemon_trouble *trouble = &troubles->list[which];
    char sentence[SENTENCE_BYTES];
    va_list words;

    MD_ASSERT(which < DAEMON_TROUBLES);
    if (trouble->said_ns) {
        va_start(words, format);
        vsnprintf(sentence, sizeof(sentence), format, words);
        va_end(words);
        md_log(MD_LOG_NOTICE, "%s, after %.0f s", sentence,
               (double)(now_ns - trouble->since_ns) / 1e9);
        *trouble = (struct daemon_trouble){ .since_ns = 0 };
        show(troubles);
    }
    trouble->since_ns = 0;
}
