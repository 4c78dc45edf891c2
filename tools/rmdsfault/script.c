/* script.c - see script.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* One line under the parser; columns are counted in bytes, from 1. */
struct line {
    const char *start, *at, *end;
    unsigned number;
    const char *word; /* the one taken last */
    size_t length;
    struct fault_script_error *error;
};

static const char *const delayed_words[] = { "login", "directory", "dictionary", "image", NULL };
static const char *const login_words[] = { "accept", "refuse", "recover", "ignore", NULL };
static const char *const switch_words[] = { "off", "on", NULL };
static const char *const service_words[] = { "up", "down", "busy", "gone", "stale", "ok", NULL };
/* In the order of enum fault_answer. */
static const char *const answer_words[] = {
    "image",     "ignore",       "half",     "stale",  "ok",     "closed", "recover",
    "not-found", "not-entitled", "redirect", "update", "broken", NULL
};
static const char *const broken_words[] = { "truncated", "header", "class", "container", "count",
                                            "length",    "stream", "noise", "tiny",      NULL };
static const char *const frame_words[] = { "short",    "long",  "flags", "packed",
                                           "fragment", "noise", "cut",   NULL };
static const char *const seen_words[] = { "connect",   "disconnect", "login",   "logout",
                                          "directory", "dictionary", "request", "reissue",
                                          "close",     "post",       "ping",    "exit",
                                          NULL };

/*
 * What follows a verb, a letter each: n a name or pattern, c a word of `words`, d a duration, u a
 * number, t the rest of the line (it may be empty), v a version, s what is seen, its name and how
 * often, a what an item is answered, with what belongs to it.
 */
static const struct grammar {
    const char *verb, *shape;
    const char *const *words;
    uint32_t least, most;
    const char *help;
} grammars[] = {
    [FAULT_DELAY] = { "delay", "cd", delayed_words, 0, 0,
                      "delay login|directory|dictionary|image DURATION" },
    [FAULT_DICTIONARY] = { "dictionary", "v", NULL, 0, 0, "dictionary VERSION" },
    [FAULT_DISCONNECT] = { "disconnect", "", NULL, 0, 0, "disconnect" },
    [FAULT_DOUBLE] = { "double", "u", NULL, 0, FAULT_RATE_MAX, "double N" },
    [FAULT_END] = { "end", "", NULL, 0, 0, "end" },
    [FAULT_EXPECT] = { "expect", "sd", NULL, 0, 0,
                       "expect EVENT|... [NAME] [times N] within DURATION" },
    [FAULT_FORBID] = { "forbid", "sd", NULL, 0, 0,
                       "forbid EVENT|... [NAME] [times N] for DURATION" },
    [FAULT_FORGET] = { "forget", "", NULL, 0, 0, "forget" },
    [FAULT_FRAME] = { "frame", "c", frame_words, 0, 0,
                      "frame short|long|flags|packed|fragment|noise|cut" },
    [FAULT_GAP] = { "gap", "d", NULL, 0, 0, "gap DURATION" },
    [FAULT_ITEM] = { "item", "na", NULL, 0, 0,
                     "item NAME image|ignore|half|stale|closed|recover|not-found|not-entitled|"
                     "redirect NEW" },
    [FAULT_LISTEN] = { "listen", "c", switch_words, 0, 0, "listen on|off" },
    [FAULT_LOGIN] = { "login", "ct", login_words, 0, 0,
                      "login accept|refuse|recover|ignore [TEXT]" },
    [FAULT_LOSE] = { "lose", "u", NULL, 0, FAULT_RATE_MAX, "lose N" },
    [FAULT_MERGE] = { "merge", "u", NULL, 0, FAULT_MERGE_MAX, "merge N" },
    [FAULT_PARTS] = { "parts", "u", NULL, 1, FAULT_PARTS_MAX, "parts N" },
    [FAULT_REPEAT] = { "repeat", "u", NULL, 1, FAULT_REPEAT_MAX, "repeat N" },
    [FAULT_SAY] = { "say", "t", NULL, 0, 0, "say TEXT" },
    [FAULT_SEND] = { "send", "na", NULL, 0, 0,
                     "send NAME image|update|stale|ok|closed|recover|not-found|not-entitled|"
                     "redirect NEW|broken KIND" },
    [FAULT_SERVICE] = { "service", "nc", service_words, 0, 0,
                        "service NAME up|down|busy|gone|stale|ok" },
    [FAULT_SILENCE] = { "silence", "c", switch_words, 0, 0, "silence on|off" },
    [FAULT_SWAP] = { "swap", "u", NULL, 0, FAULT_RATE_MAX, "swap N" },
    [FAULT_TOKEN] = { "token", "d", NULL, 0, 0, "token DURATION" },
    [FAULT_UPDATES] = { "updates", "u", NULL, 0, FAULT_RATE_MAX, "updates RATE" },
    [FAULT_WAIT] = { "wait", "d", NULL, 0, 0, "wait DURATION" },
};
#define VERBS (sizeof(grammars) / sizeof(grammars[0]))

const char *fault_verb_name(enum fault_verb verb)
{
    return grammars[verb].verb;
}

const char *fault_seen_name(enum fault_seen kind)
{
    return seen_words[kind];
}

const char *fault_script_help(void)
{
    static char text[4096];
    size_t used = 0;

    for (size_t i = 0; i < VERBS && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "  %s\n", grammars[i].help);
    return text;
}

bool fault_pattern_matches(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);

    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(pattern, name, length - 1) == 0;
    return strcmp(pattern, name) == 0;
}

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static int wrong(const struct line *line, const char *format,
                                                       ...)
{
    va_list list;

    line->error->line = line->number;
    line->error->column = (unsigned)(line->word - line->start) + 1;
    va_start(list, format);
    (void)vsnprintf(line->error->text, sizeof(line->error->text), format, list);
    va_end(list);
    return MD_ERR_MALFORMED;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word; false at the end of the line. A '#' at the start of a word begins a comment. */
static bool take(struct line *line)
{
    while (line->at < line->end && is_blank(*line->at))
        line->at++;
    line->word = line->at;
    if (line->at < line->end && *line->at == '#')
        line->end = line->at;
    while (line->at < line->end && !is_blank(*line->at))
        line->at++;
    line->length = (size_t)(line->at - line->word);
    return line->length > 0;
}

static bool word_is(const struct line *line, const char *text)
{
    return line->length == strlen(text) && memcmp(line->word, text, line->length) == 0;
}

/* For messages: the word as it stands, cut. */
static int shown(const struct line *line)
{
    return line->length < 40 ? (int)line->length : 40;
}

static int copy_word(const struct line *line, char *out, size_t max)
{
    if (line->length > max)
        return wrong(line, "the word has %zu bytes, %zu are the most", line->length, max);
    memcpy(out, line->word, line->length);
    out[line->length] = 0;
    return MD_OK;
}

static int none_of(const struct line *line, const char *const *words)
{
    char list[160];
    size_t used = 0;

    for (size_t i = 0; words[i] && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", words[i]);
    return wrong(line, "\"%.*s\" is none of: %s", shown(line), line->word, list);
}

static int choose(struct line *line, const char *const *words, uint8_t *out)
{
    if (take(line)) {
        for (size_t i = 0; words[i]; i++) {
            if (word_is(line, words[i])) {
                *out = (uint8_t)i;
                return MD_OK;
            }
        }
    }
    return none_of(line, words);
}

/* Digits of the word from *at on. */
static bool digits(const struct line *line, size_t *at, uint64_t most, uint64_t *out)
{
    size_t first = *at;

    *out = 0;
    for (; *at < line->length && line->word[*at] >= '0' && line->word[*at] <= '9'; (*at)++) {
        *out = *out * 10 + (uint64_t)(line->word[*at] - '0');
        if (*out > most)
            return false;
    }
    return *at > first;
}

static int take_number(struct line *line, uint32_t least, uint32_t most, uint32_t *out)
{
    uint64_t value = 0;
    size_t at = 0;

    if (!take(line) || !digits(line, &at, most, &value) || at != line->length || value < least)
        return wrong(line, "\"%.*s\" is no number from %u to %u", shown(line), line->word, least,
                     most);
    *out = (uint32_t)value;
    return MD_OK;
}

static int take_duration(struct line *line, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = { { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000ull } };
    uint64_t value = 0;
    size_t at = 0;

    if (take(line) && digits(line, &at, FAULT_DURATION_MAX / 1000000, &value)) {
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
            if (line->length - at == strlen(units[i].unit) &&
                memcmp(line->word + at, units[i].unit, line->length - at) == 0 &&
                value <= FAULT_DURATION_MAX / units[i].ns) {
                *out = value * units[i].ns;
                return MD_OK;
            }
        }
    }
    return wrong(line, "\"%.*s\" is no duration up to one hour, as 250ms, 3s or 2m", shown(line),
                 line->word);
}

static int take_name(struct line *line, char *out, size_t max)
{
    if (!take(line))
        return wrong(line, "a name is missing");
    return copy_word(line, out, max);
}

/* The rest of the line, without the blanks around it. */
static int take_rest(struct line *line, char *out, size_t max)
{
    while (line->at < line->end && is_blank(*line->at))
        line->at++;
    line->word = line->at;
    while (line->end > line->at && is_blank(line->end[-1]))
        line->end--;
    line->length = (size_t)(line->end - line->at);
    line->at = line->end;
    return copy_word(line, out, max);
}

/* ---- statements ---- */

static int take_answer(struct line *line, struct fault_step *step)
{
    int rc = choose(line, answer_words, &step->choice);
    bool is_item = step->verb == FAULT_ITEM;

    if (rc != MD_OK)
        return rc;
    if (is_item ? step->choice == FAULT_UPDATE || step->choice == FAULT_BROKEN ||
                      step->choice == FAULT_OK
                : step->choice == FAULT_IGNORE || step->choice == FAULT_HALF)
        return wrong(line, "\"%.*s\" is nothing that \"%s\" can do", shown(line), line->word,
                     fault_verb_name(step->verb));
    if (step->choice == FAULT_REDIRECT)
        return take_name(line, step->text, FAULT_TEXT_MAX);
    if (step->choice == FAULT_BROKEN)
        return choose(line, broken_words, &step->kind);
    return MD_OK;
}

#define BIT(kind) (1u << (kind))

/* "request", or several: "request|close". */
static int take_kinds(struct line *line, uint16_t *out)
{
    (void)take(line);
    const char *end = line->word + line->length;

    for (*out = 0; line->word <= end;) {
        const char *bar = memchr(line->word, '|', (size_t)(end - line->word));
        unsigned kind = 0;
        line->length = (size_t)((bar ? bar : end) - line->word);
        while (seen_words[kind] && !word_is(line, seen_words[kind]))
            kind++;
        if (!seen_words[kind])
            return none_of(line, seen_words);
        *out = (uint16_t)(*out | BIT(kind));
        line->word += line->length + 1;
    }
    return MD_OK;
}

/* EVENT|EVENT [NAME] [times N] within|for; the duration is the next letter's. */
static int take_seen(struct line *line, struct fault_step *step)
{
    const char *last = step->verb == FAULT_EXPECT ? "within" : "for";
    int rc = take_kinds(line, &step->kinds);
    bool is_exit = step->kinds == BIT(FAULT_SEEN_EXIT);

    step->number = 1;
    memcpy(step->name, "*", 2);
    if (rc != MD_OK)
        return rc;
    bool is_there = take(line);
    if (is_there && !word_is(line, last) && !word_is(line, "times")) {
        if (is_exit) {
            uint64_t code;
            size_t at = 0;
            if (!digits(line, &at, 255, &code) || at != line->length)
                return wrong(line, "\"%.*s\" is no exit code from 0 to 255", shown(line),
                             line->word);
            step->has_number = true;
            step->number = (uint32_t)code;
        } else if (!(step->kinds & FAULT_SEEN_NAMED)) {
            return wrong(line, "\"%.*s\": \"%s\" or \"times\" is expected", shown(line), line->word,
                         last);
        } else if ((rc = copy_word(line, step->name, FAULT_NAME_MAX)) != MD_OK) {
            return rc;
        }
        is_there = take(line);
    }
    if (is_there && word_is(line, "times")) {
        if (is_exit)
            return wrong(line, "the application exits only once");
        rc = take_number(line, 1, FAULT_RATE_MAX, &step->number);
        if (rc != MD_OK)
            return rc;
        is_there = take(line);
    }
    if (!is_there || !word_is(line, last))
        return wrong(line, "\"%s\" and a duration are missing", last);
    return MD_OK;
}

static int take_part(struct line *line, const struct grammar *grammar, char letter,
                     struct fault_step *step)
{
    switch (letter) {
    case 'n':
        return take_name(line, step->name, FAULT_NAME_MAX);
    case 'v':
        return take_name(line, step->name, 40);
    case 'c':
        return choose(line, grammar->words, &step->choice);
    case 'd':
        return take_duration(line, &step->duration_ns);
    case 'u':
        return take_number(line, grammar->least, grammar->most, &step->number);
    case 't':
        return take_rest(line, step->text, FAULT_TEXT_MAX);
    case 's':
        return take_seen(line, step);
    default:
        return take_answer(line, step);
    }
}

/* The line's first word is taken. */
static int parse_statement(struct line *line, struct fault_step *step)
{
    size_t verb = 0;

    while (verb < VERBS && !word_is(line, grammars[verb].verb))
        verb++;
    if (verb == VERBS)
        return wrong(line, "\"%.*s\" is no statement", shown(line), line->word);
    *step = (struct fault_step){ .verb = (uint8_t)verb, .line = (uint16_t)line->number };
    for (const char *letter = grammars[verb].shape; *letter; letter++) {
        int rc = take_part(line, &grammars[verb], *letter, step);
        if (rc != MD_OK)
            return rc;
    }
    if (take(line))
        return wrong(line, "\"%.*s\" is too much; the statement is: %s", shown(line), line->word,
                     grammars[verb].help);
    return MD_OK;
}

/* ---- the script ---- */

/* A line of the head. MD_ERR_NOT_FOUND: it is none. */
static int parse_head(struct line *line, struct fault_script *script)
{
    char text[FAULT_TEXT_MAX + 1];
    char *to = NULL;
    size_t size = 0;

    if (word_is(line, "about")) {
        to = script->about;
        size = sizeof(script->about);
    } else if (word_is(line, "correct")) {
        to = script->correct;
        size = sizeof(script->correct);
    } else if (word_is(line, "skip")) {
        to = script->skip;
        size = sizeof(script->skip);
    } else {
        return MD_ERR_NOT_FOUND;
    }
    if (script->count > 0)
        return wrong(line, "\"%.*s\" belongs before the first statement", shown(line), line->word);
    int rc = take_rest(line, text, FAULT_TEXT_MAX);
    if (rc != MD_OK)
        return rc;
    size_t used = strlen(to), length = strlen(text);
    if (length == 0 || used + 1 + length + 1 > size)
        return wrong(line, length ? "the text is too long" : "a text is missing");
    if (used > 0)
        to[used++] = ' ';
    memcpy(to + used, text, length + 1);
    return MD_OK;
}

/* `repeat` and `end` find each other. */
static int nest(struct line *line, struct fault_script *script, uint16_t *open, size_t *depth)
{
    struct fault_step *step = &script->steps[script->count];

    if (step->verb == FAULT_REPEAT) {
        if (*depth == FAULT_NESTING_MAX)
            return wrong(line, "repeat is nested more than %u deep", FAULT_NESTING_MAX);
        open[(*depth)++] = (uint16_t)script->count;
    } else if (step->verb == FAULT_END) {
        if (*depth == 0)
            return wrong(line, "there is no repeat for this end");
        step->other = open[--*depth];
        script->steps[step->other].other = (uint16_t)script->count;
    }
    return MD_OK;
}

static int parse_line(struct line *line, struct fault_script *script, uint16_t *open, size_t *depth)
{
    if ((size_t)(line->end - line->start) > FAULT_LINE_MAX)
        return wrong(line, "the line is longer than %u bytes", FAULT_LINE_MAX);
    for (const char *at = line->start; at < line->end; at++) {
        line->word = at;
        if ((unsigned char)*at < ' ' && !is_blank(*at))
            return wrong(line, "a control character");
    }
    if (!take(line))
        return MD_OK;
    const char *first = line->word;
    int rc = parse_head(line, script);
    if (rc != MD_ERR_NOT_FOUND)
        return rc;
    if (script->count == FAULT_STEPS_MAX)
        return wrong(line, "there are more than %u statements", FAULT_STEPS_MAX);
    rc = parse_statement(line, &script->steps[script->count]);
    line->word = rc == MD_OK ? first : line->word;
    if (rc == MD_OK)
        rc = nest(line, script, open, depth);
    if (rc == MD_OK)
        script->count++;
    return rc;
}

int fault_script_parse(struct fault_script *script, const char *text, size_t length,
                       struct fault_script_error *error)
{
    uint16_t open[FAULT_NESTING_MAX];
    size_t depth = 0;
    struct line line = { .error = error };

    memset(script, 0, sizeof(*script));
    *error = (struct fault_script_error){ .line = 1 };
    if (length > FAULT_SCRIPT_MAX) {
        (void)snprintf(error->text, sizeof(error->text), "the script is longer than %u bytes",
                       FAULT_SCRIPT_MAX);
        return MD_ERR_MALFORMED;
    }
    for (size_t at = 0; at < length;) {
        const char *stop = memchr(text + at, '\n', length - at);
        size_t next = stop ? (size_t)(stop - text) : length;
        line.start = line.at = line.word = text + at;
        line.end = text + next;
        line.number++;
        int rc = parse_line(&line, script, open, &depth);
        if (rc != MD_OK)
            return rc;
        at = next + 1;
    }
    if (depth > 0) {
        error->line = script->steps[open[depth - 1]].line;
        (void)snprintf(error->text, sizeof(error->text), "there is no end for this repeat");
        return MD_ERR_MALFORMED;
    }
    return MD_OK;
}

int fault_step_parse(struct fault_step *step, const char *text, size_t length,
                     struct fault_script_error *error)
{
    struct line line = {
        .start = text, .at = text, .word = text, .end = text + length, .number = 1, .error = error
    };

    *error = (struct fault_script_error){ .line = 1 };
    if (length > FAULT_LINE_MAX)
        return wrong(&line, "the line is longer than %u bytes", FAULT_LINE_MAX);
    if (!take(&line))
        return MD_ERR_NOT_FOUND;
    int rc = parse_statement(&line, step);
    if (rc == MD_OK && (step->verb == FAULT_REPEAT || step->verb == FAULT_END)) {
        line.word = line.start;
        return wrong(&line, "repeat and end belong into a script");
    }
    return rc;
}
