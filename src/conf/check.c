/* check.c - every line against the table: unknown names, wrong values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "internal.h"
#include "text.h"
#include "value.h"

/* A suggestion costs a comparison with every name; so many are useful in one file. */
#define SUGGESTIONS_MAX 200

/* A component of a path that stands for data: a node, a user, a service. */
#define DATA     "\x01"

#define PROGRAMS 5

/* Templates of paths: those of all objects, then the other ones of the backbone's parameters. */
#define TEMPLATES (MD_CONF_KINDS + TRANSPORT_FORMS)
static const char *const program_names[PROGRAMS] = { "p2ps", "src_dist", "rrcpd", "rmds",
                                                     "rmdsrec" };

struct template
{
    struct path path;
    char text[640]; /* node, instance and network are at most 255 bytes each */
};

struct checker {
    const struct md_conf *conf;
    struct report *report;
    bool is_daemon; /* findings are those of one daemon, not of all programs */
    const char *file;
    unsigned line;
    const char *name;
    unsigned suggestions;
    struct template templates[TEMPLATES][PROGRAMS]; /* of any node and instance */
    struct template own[TEMPLATES][PROGRAMS];       /* of the daemon that asks */
    bool absent_said[512];                          /* by row: "not in this version" is said once */
    char ssl[512]; /* names that are about the vendor's SSL, reported in one line at the end */
    const char *ssl_file;
    unsigned ssl_line;
};

bool entry_param(const struct path *name, const char **param, size_t *length, const char **index)
{
    int last = name->count - 1;
    const char *text = name->at[last].text;
    size_t digits = 0;

    while (digits < name->at[last].length && isdigit((unsigned char)text[digits]))
        digits++;
    *index = NULL;
    if (last > 0 && digits == name->at[last].length) {
        *index = text;
        last--;
    }
    *param = name->at[last].text;
    *length = name->at[last].length;
    return !(*length == 1 && **param == '?');
}

/* The parameters that have an effect, then those that have none. */
static const struct md_conf_row *row_at(size_t i)
{
    return i < md_conf_row_count ? &md_conf_rows[i] : &md_conf_absent[i - md_conf_row_count];
}

static size_t row_count(void)
{
    return md_conf_row_count + md_conf_absent_count;
}

static bool row_is(const struct md_conf_row *row, const char *param, size_t length)
{
    /* The first letter rules out most rows: this runs for each row and each line. */
    return ((row->name[0] ^ param[0]) & ~0x20) == 0 && strncasecmp(row->name, param, length) == 0 &&
           row->name[length] == '\0';
}

/* The words a person may write for the fixed components of paths. */
#define FIXED(word)                                                                                \
    {                                                                                              \
        word, sizeof(word) - 1                                                                     \
    }
static const struct {
    const char *text;
    size_t length;
} fixed[] = {
    FIXED("p2ps"),          FIXED("src_dist"),
    FIXED("rrcpd"),         FIXED("rrcp"),
    FIXED("route"),         FIXED("service"),
    FIXED("server"),        FIXED("ipc"),
    FIXED("port"),          FIXED("user"),
    FIXED("logger"),        FIXED("shmem"),
    FIXED("rmds"),          FIXED("transmissionBus"),
    FIXED("rrcpTransport"), FIXED("sinkSide"),
    FIXED("sourceSide"),    FIXED("rmdsrec"),
};

static bool is_fixed(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (text_same(text, length, fixed[i].text, fixed[i].length))
            return true;
    return path_alias(text, length) != NULL;
}

/*
 * Does the entry's name cover this path, whatever its data are called? A fixed word is not taken
 * for data: "*rrcp*poolSize" is a slip, not about a node of that name.
 */
static bool covers(const struct path *name, const struct path *template)
{
    uint32_t reach = 1u << name->count;

    /* path_score() with every data component taken as a match; only the answer counts. */
    for (int i = template->count - 1; i >= 0; i--) {
        uint32_t next = reach;
        bool data = template->at[i].text[0] == DATA[0];

        reach = 0;
        for (int j = 0; j < name->count; j++) {
            const char *text = name->at[j].text, *own = template->at[i].text;
            size_t length = name->at[j].length;
            const char *alias = path_alias(text, length);
            bool match = (data && !is_fixed(text, length)) || (length == 1 && *text == '?') ||
                         (i == 0 && text_same(text, length, "node", 4)) ||
                         (i == 1 && text_same(text, length, "instance", 8)) ||
                         text_same(text, length, own, template->at[i].length) ||
                         (alias && text_same(alias, strlen(alias), own, template->at[i].length));

            if (name->at[j].loose && (next >> j & 1))
                reach |= 1u << j;
            if (match && (next >> (j + 1) & 1))
                reach |= 1u << j;
        }
    }
    return reach & 1;
}

/* The paths of all objects, their data left open, without a parameter: made once for a file. */
static void templates_make(struct template templates[TEMPLATES][PROGRAMS], const char *node,
                           const char *instance, const char *network)
{
    for (int kind = 0; kind < TEMPLATES; kind++)
        for (unsigned p = 0; p < PROGRAMS; p++) {
            struct template *t = &templates[kind][p];
            struct object_path path;
            bool good = kind < MD_CONF_KINDS
                            ? object_path(&path, (enum md_conf_kind)kind, 1u << p, node, instance,
                                          kind == MD_CONF_RRCP ? network : DATA, "x", NULL)
                            : transport_path(&path, 1u << p, node, instance, DATA,
                                             (unsigned)kind - MD_CONF_KINDS, "x");

            MD_ASSERT(good && strlen(path.instance_text) < sizeof(t->text));
            memcpy(t->text, path.instance_text, strlen(path.instance_text) + 1);
            path_split(&t->path, t->text);
        }
}

/* Is one of `programs` reached? */
static bool row_reached(struct template templates[TEMPLATES][PROGRAMS], const struct path *name,
                        const struct md_conf_row *row, const char *index, unsigned programs)
{
    for (int kind = 0; kind < TEMPLATES; kind++)
        for (unsigned p = 0; p < PROGRAMS; p++) {
            int object = kind < MD_CONF_KINDS ? kind : MD_CONF_RRCP;

            if (!(row->kinds >> object & 1) || !(row->programs & programs & 1u << p))
                continue;
            struct path path = templates[kind][p].path;
            path.at[path.count - 1].text = row->name;
            path.at[path.count - 1].length = (uint16_t)strlen(row->name);
            if (index) {
                path.at[path.count].text = DATA;
                path.at[path.count++].length = 1;
            }
            if (covers(name, &path))
                return true;
        }
    return false;
}

/* Does the daemon that asks read this row from this line? All do where no daemon asks. */
static bool row_is_own(struct checker *checker, const struct path *name,
                       const struct md_conf_row *row, const char *index)
{
    return !checker->is_daemon ||
           row_reached(checker->own, name, row, index, checker->conf->program_bit);
}

/* "p2ps.maxMounts": with a '*' before it the line would be about something. */
static bool is_reached_behind_star(struct checker *checker, const struct path *name)
{
    struct path loose = *name;
    const char *param, *index;
    size_t length;

    if (loose.at[0].loose)
        return false;
    loose.at[0].loose = true;
    entry_param(&loose, &param, &length, &index);
    for (size_t i = 0; i < row_count(); i++)
        if (row_is(row_at(i), param, length) &&
            row_reached(checker->templates, &loose, row_at(i), index, ~0u))
            return true;
    return false;
}

/* May a line be about the daemon that asks, as far as the words of its path tell? */
static bool concerns(const struct md_conf *conf, const struct path *name)
{
    unsigned named = 0;

    for (int i = 0; i + 1 < name->count; i++) {
        char word[32];

        if (name->at[i].length >= sizeof(word))
            continue;
        snprintf(word, sizeof(word), "%.*s", (int)name->at[i].length, name->at[i].text);
        named |= md_conf_program_bit(word);
    }
    if (!name->at[0].loose && name->count > 1 && name->at[0].text[0] != '?' &&
        !text_same(name->at[0].text, name->at[0].length, conf->node, strlen(conf->node)) &&
        !is_fixed(name->at[0].text, name->at[0].length))
        return !conf->program_bit;
    return !conf->program_bit || !named || (named & conf->program_bit);
}

static const char *nearest_param(const char *param, size_t length)
{
    unsigned best = length <= 4 ? 1 : length <= 8 ? 2 : 3;
    const char *found = NULL;

    for (size_t i = 0; i < row_count(); i++) {
        unsigned distance = text_distance(param, length, row_at(i)->name, best);
        if (distance < best || (distance == best && !found)) {
            best = distance;
            found = row_at(i)->name;
        }
    }
    return found;
}

static void say(struct checker *checker, enum md_conf_severity severity, const char *text)
{
    report_say(checker->report, severity, checker->file, checker->line, "%s: %s", checker->name,
               text);
}

/*
 * An error in a line that the daemon does not read is a note: one daemon's mistake never stops
 * another, nor that of another host or instance.
 */
static void say_error(struct checker *checker, bool is_own, const char *text)
{
    char other[1280];

    if (is_own) {
        say(checker, MD_CONF_ERROR, text);
        return;
    }
    snprintf(other, sizeof(other), "%s (not a line of %s.%s.%s, which starts without it)", text,
             checker->conf->node, checker->conf->instance, checker->conf->program);
    say(checker, MD_CONF_INFO, other);
}

/* A likely typing error is ignored; with -strict it is an error of the daemon it concerns. */
static void say_typo(struct checker *checker, const struct path *name, const char *text)
{
    bool is_strict = checker->conf->options.strict;

    if (is_strict)
        say_error(checker, concerns(checker->conf, name), text);
    else
        say(checker, MD_CONF_WARNING, text);
}

static void unknown_param(struct checker *checker, const struct path *name, const char *param,
                          size_t length)
{
    const char *near = NULL;
    char text[256];

    if (checker->suggestions < SUGGESTIONS_MAX) {
        checker->suggestions++;
        near = nearest_param(param, length);
    }
    snprintf(text, sizeof(text), "unknown parameter%s%s%s (ignored)", near ? "; did you mean " : "",
             near ? near : "", near ? "?" : "");
    say_typo(checker, name, text);
}

static const char *nearest_fixed(const char *text, size_t length)
{
    unsigned max = length <= 3 ? 0 : length <= 5 ? 1 : 2;

    for (size_t i = 0; max && i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (length <= fixed[i].length + max && fixed[i].length <= length + max &&
            text_distance(text, length, fixed[i].text, max) <= max)
            return fixed[i].text;
    return NULL;
}

/*
 * A component that is almost a fixed word but not one is taken as somebody's name: legal, and
 * almost always a slip. Not after "user." and the like, where names stand.
 */
static void check_components(struct checker *checker, const struct path *name, int count)
{
    char text[512];

    for (int i = 0; i < count; i++) {
        const char *word = name->at[i].text;
        size_t length = name->at[i].length;
        const char *near;

        if ((length == 1 && *word == '?') || is_fixed(word, length))
            continue;
        if (i > 0 && is_fixed(name->at[i - 1].text, name->at[i - 1].length))
            continue;
        near = nearest_fixed(word, length);
        if (!near || text_same(word, length, checker->conf->node, strlen(checker->conf->node)))
            continue;
        snprintf(text, sizeof(text),
                 "\"%.*s\" is taken as the name of a node, user or service; did you mean %s?",
                 (int)length, word, near);
        say_typo(checker, name, text);
    }
}

/* Where a row's parameter may stand, for the sentence about a place where it may not. */
static void places_print(const char *param, size_t length, char *out, size_t size)
{
    static const char *const places[MD_CONF_KINDS] = {
        [MD_CONF_DAEMON] = "",
        [MD_CONF_PORT] = ".port.<port>",
        [MD_CONF_USER] = ".user.<user>",
        [MD_CONF_ROUTE] = ".<n>.route",
        [MD_CONF_BUS] = ".server.ipc.transmissionBus",
        [MD_CONF_SERVICE] = ".service.<service>",
        [MD_CONF_RRCP] = ".<network>.rrcp",
        [MD_CONF_LOGGER] = ".logger",
        [MD_CONF_SHMEM] = ".shmem",
        [MD_CONF_RMDS] = "",
    };
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < row_count(); i++)
        for (unsigned p = 0; p < PROGRAMS && row_is(row_at(i), param, length); p++)
            for (int kind = 0; kind < MD_CONF_KINDS; kind++) {
                if (!(row_at(i)->programs >> p & 1) || !(row_at(i)->kinds >> kind & 1))
                    continue;
                int n = snprintf(out + used, size - used, "%s%s%s", used ? ", " : "",
                                 program_names[p], places[kind]);
                if (n < 0 || (size_t)n >= size - used)
                    return;
                used += (size_t)n;
            }
}

/* False: the value is wrong; reported. */
static bool check_value(struct checker *checker, const struct md_conf_row *row, const char *value,
                        bool is_own)
{
    char why[VALUE_WHY_MAX], example[256], text[1024];
    int64_t number;

    if (value_parse(row, value, &number, why))
        return true;
    row_example(row, false, example, sizeof(example));
    snprintf(text, sizeof(text), "\"%.200s\" %s; example: %s", value, why, example);
    say_error(checker, is_own, text);
    return false;
}

/* Each word of a value that neither -D nor the host defines. */
static void check_defined(struct checker *checker, const char *value, bool is_own)
{
    char text[512];
    size_t length;

    for (const char *word = value; (word = text_placeholder(word, &length)); word += length) {
        int inner = (int)(length - 2 > 100 ? 100 : length - 2);
        bool has_blank = memchr(word, ' ', length) != NULL;

        snprintf(text, sizeof(text), "%.*s is not defined; give it with -D %s%.*s=VALUE%s",
                 (int)(length > 102 ? 102 : length), word, has_blank ? "'" : "", inner, word + 1,
                 has_blank ? "'" : "");
        say_error(checker, is_own, text);
    }
}

/* The table's view of one line, for one program or for all. */
struct reach {
    bool is_known;   /* a parameter of this name exists */
    bool is_reached; /* at an object of this path */
    bool is_own;     /* and at one of the daemon that asks */
    bool is_present; /* and is heeded there */
    bool is_news;    /* or is absent, and that was not reported yet */
    bool is_ssl;     /* because it is about the vendor's SSL */
};

/* The rows that a line is about; those of the daemon that asks, or the others. */
static void check_rows(struct checker *checker, const struct path *name,
                       const struct db_entry *entry, bool is_own, struct reach *reach)
{
    unsigned bit = checker->conf->program_bit;
    const char *param, *index, *value = db_value(checker->report->db, entry);
    bool wrong = entry->undefined;
    size_t length;

    entry_param(name, &param, &length, &index);
    for (size_t i = 0; i < row_count(); i++) {
        const struct md_conf_row *row = row_at(i);
        bool is_absent = i >= md_conf_row_count;

        if (!row_is(row, param, length) || (index && !(row->flags & MD_CONF_INDEXED)))
            continue;
        reach->is_known = true;
        if (!row_reached(checker->templates, name, row, index, ~0u) ||
            row_is_own(checker, name, row, index) != is_own)
            continue;
        reach->is_reached = true;
        reach->is_own |= is_own;
        if (!wrong && !is_absent)
            wrong = !check_value(checker, row, value, is_own);
        if (bit && !(row->programs & bit))
            continue;
        reach->is_present |= !is_absent;
        reach->is_news |= is_absent && !checker->absent_said[i];
        reach->is_ssl |= (row->flags & MD_CONF_SSL) != 0;
        checker->absent_said[i] = true;
    }
}

/* Remember a parameter of the vendor's SSL: published files have several, which is one finding. */
static void ssl_add(struct checker *checker, const char *param, size_t length)
{
    size_t used = strlen(checker->ssl);
    char *to = checker->ssl + used;
    size_t left = sizeof(checker->ssl) - used;

    if (!used) {
        checker->ssl_file = checker->file;
        checker->ssl_line = checker->line;
        snprintf(to, left, "%.*s", (int)length, param);
    } else if (checker->file == checker->ssl_file) {
        snprintf(to, left, ", %.*s (line %u)", (int)length, param, checker->line);
    } else {
        snprintf(to, left, ", %.*s (%s:%u)", (int)length, param, checker->file, checker->line);
    }
}

static void ssl_say(struct checker *checker)
{
    bool has_cache_type = strstr(checker->ssl, "acheType") != NULL;

    if (!*checker->ssl)
        return;
    report_say(checker->report, MD_CONF_WARNING, checker->ssl_file, checker->ssl_line,
               "%s: not in this version (ignored): SSL, the protocol before RSSL, is not spoken "
               "here, as it was never published%s",
               checker->ssl,
               has_cache_type ? ", and cacheType follows from how a provider connects" : "");
}

static void check_entry(struct checker *checker, const struct db_entry *entry)
{
    const char *param, *index;
    size_t length;
    struct path name;

    if (!path_split(&name, checker->name))
        return;
    if (!entry_param(&name, &param, &length, &index)) {
        say(checker, MD_CONF_WARNING, "'?' cannot stand for a parameter (ignored)");
        return;
    }
    struct reach reach = { 0 };
    check_rows(checker, &name, entry, true, &reach);
    if (!reach.is_own)
        check_rows(checker, &name, entry, false, &reach);
    if (!reach.is_known) {
        unknown_param(checker, &name, param, length);
        return;
    }
    if (entry->undefined && reach.is_reached)
        check_defined(checker, db_value(checker->report->db, entry), reach.is_own);
    if (reach.is_news && !reach.is_present && reach.is_ssl)
        ssl_add(checker, param, length);
    else if (reach.is_news && !reach.is_present)
        say(checker, MD_CONF_WARNING, "not in this version (ignored)");
    if (!reach.is_reached) {
        char places[400], text[512];

        places_print(param, length, places, sizeof(places));
        if (is_reached_behind_star(checker, &name))
            snprintf(text, sizeof(text),
                     "a path begins with node and instance; write *%s (ignored)", checker->name);
        else
            snprintf(text, sizeof(text),
                     "no object of this path has %.*s; it belongs to %s (ignored)", (int)length,
                     param, places);
        say_typo(checker, &name, text);
    }
    check_components(checker, &name, name.count - 1 - (index ? 1 : 0));
}

/* The only network that the daemon reads about; it may be in several that networkList names. */
static const char *own_network(const struct md_conf *conf)
{
    if (conf->program_bit & (MD_CONF_P2PS | MD_CONF_SRC_DIST)) {
        struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);

        if (*md_conf_string(&daemon, "networkList"))
            return DATA;
    }
    return conf->network;
}

/* A line that begins with a host's name concerns that host alone. Reports it if the file has such
 * lines and none is for this host. */
static void tell_other_nodes(const struct md_conf *conf, struct db *db, struct report *report)
{
    char first[64] = "";
    unsigned line = 0;
    const char *file = NULL;

    for (uint32_t i = 0; i < db->count; i++) {
        struct path name;

        if (!path_split(&name, db_name(db, &db->entries[i])) || name.at[0].loose ||
            name.count < 3 || is_fixed(name.at[0].text, name.at[0].length) ||
            name.at[0].text[0] == '?')
            continue;
        if (text_same(name.at[0].text, name.at[0].length, conf->node, strlen(conf->node)))
            return;
        if (file)
            continue;
        snprintf(first, sizeof(first), "%.*s", (int)name.at[0].length, name.at[0].text);
        file = db->files[db->entries[i].file];
        line = db->entries[i].line;
    }
    if (file)
        report_say(report, MD_CONF_INFO, file, line,
                   "this file speaks of host %s; this host is %s, and no line is for it alone "
                   "(-node %s looks with the eyes of the other)",
                   first, conf->node, first);
}

void check_entries(const struct md_conf *conf, struct db *db, struct report *report)
{
    struct checker checker = { .conf = conf,
                               .report = report,
                               .is_daemon = conf->program_bit != 0 };

    MD_ASSERT(row_count() <= sizeof(checker.absent_said));
    templates_make(checker.templates, DATA, DATA, DATA);
    templates_make(checker.own, conf->node, conf->instance, own_network(conf));
    for (uint32_t i = 0; i < db->count; i++) {
        const struct db_entry *entry = &db->entries[i];

        if (entry->replaced)
            continue;
        checker.file = db->files[entry->file];
        checker.line = entry->line;
        checker.name = db_name(db, entry);
        check_entry(&checker, entry);
    }
    ssl_say(&checker);
    if (db->errors == 0) /* else there is more to say than that */
        tell_other_nodes(conf, db, report);
}
