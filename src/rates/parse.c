/* parse.c - filterFile: its lines, and what is wrong with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "private.h"

#define INTERVAL_MAX_MS 60000u
#define LINE_MAX_BYTES  8192u

struct parser {
    struct rates *rates;
    const struct rwf_dictionary *dictionary;
    rates_find_fn find;
    void *arg;
    int line;
    bool has_mistakes;
    bool is_short_of_memory;
};

__attribute__((format(printf, 2, 3))) static void mistake(struct parser *p, const char *format, ...)
{
    char text[320];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    p->has_mistakes = true;
    if (p->find)
        p->find(p->arg, p->line, text);
}

/* ---- words ---- */

#define BLANKS    " \t\r"
#define LIST_ENDS BLANKS ","

/* The next word. False: there is none. */
static bool next_word(const char **at, const char *ends, char *word, size_t size)
{
    const char *from = *at + strspn(*at, ends);
    size_t length = strcspn(from, ends);

    *at = from + length;
    if (length >= size)
        length = size - 1;
    memcpy(word, from, length);
    word[length] = 0;
    return length > 0;
}

/* True: all of the word is a number in the range. */
static bool is_number(const char *word, long least, long most, long *out)
{
    char *end;

    *out = strtol(word, &end, 10);
    return end != word && *end == 0 && *out >= least && *out <= most;
}

/* ---- fields, types, domains, times ---- */

static void set_field(struct rates_fields *fields, int16_t id)
{
    if (fields->named < RATES_IDS)
        fields->ids[fields->named] = id;
    fields->named++;
    fields->bits[(uint16_t)id / 64] |= 1ull << (uint16_t)id % 64;
}

static void take_field(struct parser *p, struct rates_fields *fields, const char *word)
{
    long number;

    if (is_number(word, INT16_MIN, INT16_MAX, &number)) {
        set_field(fields, (int16_t)number);
        return;
    }
    if (!p->dictionary) {
        mistake(p, "field %s: a name needs a field dictionary (dictionaryPath); write its number",
                word);
        return;
    }
    const struct rwf_field_def *def = rwf_dictionary_field_named(p->dictionary, word, strlen(word));
    if (def)
        set_field(fields, def->fid);
    else
        mistake(p, "field %s is not in the dictionary", word);
}

static void take_fields(struct parser *p, struct rates_rule *rule, const char *rest, bool drops)
{
    char word[RATES_WORD_MAX];
    unsigned count = 0;

    rule->fields = calloc(1, sizeof(*rule->fields));
    if (!rule->fields) {
        p->is_short_of_memory = true;
        return;
    }
    rule->fields->drops = drops;
    while (next_word(&rest, LIST_ENDS, word, sizeof(word))) {
        count++;
        if (strcmp(word, "*") == 0 && !drops) {
            free(rule->fields);
            rule->fields = NULL;
            return;
        }
        take_field(p, rule->fields, word);
    }
    if (count == 0)
        mistake(p, "no field is named");
}

static bool type_of(const char *word, uint8_t *type)
{
    long number;

    if (is_number(word, 0, UINT8_MAX, &number)) {
        *type = (uint8_t)number;
        return true;
    }
    for (unsigned i = 0; i <= RWF_UPDATE_VERIFY; i++) {
        *type = (uint8_t)i;
        if (strcasecmp(rwf_update_type_name(i), word) == 0)
            return true;
    }
    return false;
}

static void take_types(struct parser *p, struct rates_types *types, bool *all, const char *rest)
{
    char word[RATES_WORD_MAX];
    unsigned count = 0;
    uint8_t type;

    *all = false;
    for (; next_word(&rest, LIST_ENDS, word, sizeof(word)); count++) {
        if (strcmp(word, "*") == 0)
            *all = true;
        else if (type_of(word, &type))
            types->bits[type / 64] |= 1ull << type % 64;
        else
            mistake(p, "update type %s: expected a number up to 255, or a name as TRADE", word);
    }
    if (count == 0)
        mistake(p, "no update type is named");
}

static int domain_of(struct parser *p, const char *word)
{
    long number;

    if (strcmp(word, "*") == 0)
        return RATES_ANY;
    if (is_number(word, 1, UINT8_MAX, &number))
        return (int)number;
    for (unsigned i = 1; i < 128; i++) {
        if (strcasecmp(rwf_domain_name(i), word) == 0 && strcmp(word, "UNKNOWN") != 0)
            return (int)i;
    }
    mistake(p, "domain %s: expected a number up to 255, a name as MARKET_PRICE, or *", word);
    return RATES_ANY;
}

static void take_interval(struct parser *p, struct rates_rule *rule, const char *rest)
{
    char word[RATES_WORD_MAX];
    char *unit = word;

    if (!next_word(&rest, LIST_ENDS, word, sizeof(word))) {
        mistake(p, "no time is named");
        return;
    }
    unsigned long value = strtoul(word, &unit, 10);
    unsigned long scale = strcmp(unit, "s") == 0 ? 1000 : 1;
    bool has_unit = *unit == 0 || strcmp(unit, "ms") == 0 || scale == 1000;
    if (unit == word || !has_unit || value > INTERVAL_MAX_MS / scale)
        mistake(p, "time %s: expected milliseconds up to %u, or with a unit as 100ms or 1s", word,
                INTERVAL_MAX_MS);
    else
        rule->interval_ms = (uint32_t)(value * scale);
    if (next_word(&rest, LIST_ENDS, word, sizeof(word)))
        mistake(p, "%s: expected nothing behind the time", word);
}

/* ---- lines ---- */

static struct rates_rule *new_rule(struct parser *p)
{
    struct rates *rates = p->rates;

    if (rates->count == RATES_RULES_MAX) {
        mistake(p, "more than %u lines", RATES_RULES_MAX);
        return NULL;
    }
    if (rates->count == rates->room) {
        unsigned room = rates->room ? rates->room * 2 : 16;
        struct rates_rule *rules = realloc(rates->rules, room * sizeof(*rules));
        if (!rules) {
            p->is_short_of_memory = true;
            return NULL;
        }
        rates->rules = rules;
        rates->room = room;
    }
    struct rates_rule *rule = &rates->rules[rates->count++];
    *rule = (struct rates_rule){ 0 };
    return rule;
}

static int kind_of(const char *word)
{
    if (strcmp(word, "keep") == 0 || strcmp(word, "drop") == 0)
        return RATES_FIELDS;
    if (strcmp(word, "types") == 0)
        return RATES_TYPES;
    return strcmp(word, "interval") == 0 ? RATES_INTERVAL : RATES_KINDS;
}

static void take_line(struct parser *p, const char *text)
{
    char verb[RATES_WORD_MAX];
    char domain[RATES_WORD_MAX];

    if (!next_word(&text, BLANKS, verb, sizeof(verb)))
        return;
    int kind = kind_of(verb);
    if (kind == RATES_KINDS) {
        mistake(p, "%s: expected keep, drop, types or interval", verb);
        return;
    }
    struct rates_rule *rule = new_rule(p);
    if (!rule)
        return;
    rule->kind = (uint8_t)kind;
    if (!next_word(&text, BLANKS, rule->service, sizeof(rule->service)) ||
        !next_word(&text, BLANKS, rule->pattern, sizeof(rule->pattern)) ||
        !next_word(&text, BLANKS, domain, sizeof(domain))) {
        mistake(p, "%s: expected a service, a pattern of item names, a domain and more", verb);
        return;
    }
    rule->domain = domain_of(p, domain);
    if (kind == RATES_FIELDS)
        take_fields(p, rule, text, verb[0] == 'd');
    else if (kind == RATES_TYPES)
        take_types(p, &rule->types, &rule->has_all_types, text);
    else
        take_interval(p, rule, text);
}

static int outcome(const struct parser *p)
{
    if (p->is_short_of_memory)
        return MD_ERR_NOMEM;
    return p->has_mistakes ? MD_ERR_MALFORMED : MD_OK;
}

/* Where a comment begins; a # inside a word is one of a name, as of 0#.FTSE. */
static size_t without_comment(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '#' && (i == 0 || strchr(BLANKS, text[i - 1])))
            return i;
    }
    return length;
}

static void take_text(struct parser *p, const char *text, size_t length)
{
    char line[LINE_MAX_BYTES];

    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t all = end ? (size_t)(end - text) - at : length - at;
        size_t size = without_comment(text + at, all);

        p->line++;
        if (size >= sizeof(line) || memchr(text + at, 0, size)) {
            mistake(p, "a line of %zu bytes: expected text, and fewer than %u", size,
                    LINE_MAX_BYTES);
        } else {
            memcpy(line, text + at, size);
            line[size] = 0;
            take_line(p, line);
        }
        at += all + 1;
    }
}

int rates_create(const char *text, size_t length, const struct rwf_dictionary *fields,
                 rates_find_fn find, void *arg, struct rates **out)
{
    struct parser p = { .dictionary = fields, .find = find, .arg = arg };

    *out = NULL;
    p.rates = calloc(1, sizeof(*p.rates));
    if (!p.rates)
        return MD_ERR_NOMEM;
    take_text(&p, text, length);
    if (outcome(&p) == MD_OK)
        *out = p.rates;
    else
        rates_destroy(p.rates);
    return outcome(&p);
}

void rates_destroy(struct rates *rates)
{
    if (!rates)
        return;
    for (unsigned i = 0; i < rates->count; i++)
        free(rates->rules[i].fields);
    for (unsigned i = 0; i < rates->other_count; i++)
        free(rates->others[i]);
    free(rates->others);
    free(rates->rules);
    free(rates);
}

int rates_add(struct rates *rates, const char *line, const struct rwf_dictionary *fields,
              rates_find_fn find, void *arg)
{
    struct parser p = { .rates = rates, .dictionary = fields, .find = find, .arg = arg };

    take_line(&p, line);
    return outcome(&p);
}

/* ---- what is never merged ---- */

/* Those of the service, made if there are none. NULL: no memory. */
static struct rates_exempt *exempt_of(struct rates *rates, const char *service)
{
    for (unsigned i = 0; i < rates->other_count; i++) {
        if (strcmp(rates->others[i]->service, service) == 0)
            return &rates->others[i]->exempt;
    }
    struct rates_exempt_of **others =
        realloc(rates->others, (rates->other_count + 1) * sizeof(*others));
    if (!others)
        return NULL;
    rates->others = others;
    struct rates_exempt_of *of = calloc(1, sizeof(*of));
    if (!of)
        return NULL;
    snprintf(of->service, sizeof(of->service), "%s", service);
    rates->others[rates->other_count++] = of;
    return &of->exempt;
}

static void take_exempt(struct parser *p, struct rates_exempt *exempt, const char *types,
                        const char *fields)
{
    char word[RATES_WORD_MAX];
    bool all = false;

    if (types[strspn(types, LIST_ENDS)])
        take_types(p, &exempt->types, &all, types);
    if (all)
        memset(&exempt->types, 0xff, sizeof(exempt->types));
    while (next_word(&fields, LIST_ENDS, word, sizeof(word))) {
        take_field(p, &exempt->fields, word);
        exempt->has_fields = true;
    }
}

int rates_exempt(struct rates *rates, const char *types, const char *fields,
                 const struct rwf_dictionary *dictionary, rates_find_fn find, void *arg)
{
    struct parser p = { .rates = rates, .dictionary = dictionary, .find = find, .arg = arg };

    take_exempt(&p, &rates->exempt, types, fields);
    return outcome(&p);
}

int rates_exempt_of(struct rates *rates, const char *service, const char *types, const char *fields,
                    const struct rwf_dictionary *dictionary, rates_find_fn find, void *arg)
{
    struct parser p = { .rates = rates, .dictionary = dictionary, .find = find, .arg = arg };
    struct rates_exempt *exempt = exempt_of(rates, service);

    if (!exempt)
        return MD_ERR_NOMEM;
    take_exempt(&p, exempt, types, fields);
    return outcome(&p);
}
