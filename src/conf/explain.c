/* explain.c - see conf/explain.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/explain.h"

#include <string.h>

#include "internal.h"
#include "value.h"

static const struct {
    unsigned bit;
    const char *name;
} programs[] = {
    { MD_CONF_P2PS, "p2ps" },       { MD_CONF_SRC_DIST, "src_dist" }, { MD_CONF_RRCPD, "rrcpd" },
    { MD_CONF_RMDSREC, "rmdsrec" }, { MD_CONF_TOOLS, "tools/rmds" },
};

/* The objects in the order of the manual, and how their paths are written. */
static const struct {
    enum md_conf_kind kind;
    const char *title, *path, *text;
} objects[] = {
    { MD_CONF_DAEMON, "Daemons", "<node>.<instance>.<daemon>",
      "The daemon itself: p2ps, src_dist, rrcpd or rmdsrec." },
    { MD_CONF_PORT, "Listening port of p2ps", "<node>.<instance>.p2ps.port.<port>",
      "Asked here first, then at the daemon." },
    { MD_CONF_USER, "User of p2ps", "<node>.<instance>.p2ps.user.<user>",
      "Asked here first, then at the daemon." },
    { MD_CONF_ROUTE, "Route of src_dist", "<node>.<instance>.src_dist.<n>.route",
      "A connection to interactive providers." },
    { MD_CONF_BUS, "Inbound providers of src_dist",
      "<node>.<instance>.src_dist.server.ipc.transmissionBus",
      "The port on which non-interactive providers connect." },
    { MD_CONF_SERVICE, "Service", "<node>.<instance>.<daemon>.service.<service>",
      "One service, at the daemon that carries it." },
    { MD_CONF_RRCP, "Backbone", "<node>.<instance>.<daemon>.<network>.rrcp",
      "The reliable multicast network, as rrcpd runs it and as its users see it. Also "
      "<node>.<instance>.<daemon>.rrcpTransport.<n>.sinkSide.rrcp.transmissionBus, in which <n> "
      "counts the networks of the process from 0; src_dist is a sourceSide. Such a line goes "
      "before one with the name of the network." },
    { MD_CONF_LOGGER, "Logger", "<node>.<instance>.<daemon>.logger",
      "Asked here first, then at the daemon." },
    { MD_CONF_RMDS, "Front door", "<node>.<instance>.rmds", "What tools/rmds starts." },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void programs_print(unsigned bits, char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < COUNT(programs); i++)
        if (bits & programs[i].bit) {
            int n = snprintf(out + used, size - used, "%s%s", used ? ", " : "", programs[i].name);
            if (n < 0 || (size_t)n >= size - used)
                return;
            used += (size_t)n;
        }
}

/* Words of `text` in lines of at most 92 bytes, each after `indent` blanks. */
static void wrapped_print(FILE *out, const char *text, int indent)
{
    size_t room = 92 - (size_t)indent;

    while (*text) {
        size_t length = strlen(text);

        if (length > room) {
            length = room;
            while (length > 0 && text[length] != ' ')
                length--;
            if (length == 0)
                length = strcspn(text, " ");
        }
        fprintf(out, "%*s%.*s\n", indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

static void row_help(FILE *out, const struct md_conf_row *row)
{
    char type[256];

    value_describe(row, type, sizeof(type));
    fprintf(out, "  %s%s  (%s; default %s%s)\n", row->name,
            row->flags & MD_CONF_INDEXED ? "[.N]" : "", type,
            *row->fallback ? row->fallback : "empty", row->flags & MD_CONF_DYN ? "; dyn" : "");
    wrapped_print(out, row->meaning, 6);
}

void md_conf_print_help(FILE *out, unsigned bits)
{
    fprintf(out, "Parameters of rmds.cnf. A line is  path*parameter : value ; the longest way to\n"
                 "write a path stands above each group. dyn: SIGHUP changes it while running.\n");
    for (size_t o = 0; o < COUNT(objects); o++) {
        bool titled = false;

        for (size_t i = 0; i < md_conf_row_count; i++) {
            const struct md_conf_row *row = &md_conf_rows[i];

            if (!(row->kinds >> objects[o].kind & 1) || !(row->programs & bits))
                continue;
            if (!titled)
                fprintf(out, "\n%s  %s\n", objects[o].title, objects[o].path);
            titled = true;
            row_help(out, row);
        }
    }
    fprintf(out, "\nNot in this version: one warning, no effect\n");
    for (size_t i = 0; i < md_conf_absent_count; i++)
        if (md_conf_absent[i].programs & bits)
            fprintf(out, "  %s\n", md_conf_absent[i].name);
}

static const char *absent_note(const struct md_conf_row *row)
{
    return row->flags & MD_CONF_SSL ? "SSL, the protocol before RSSL, is not spoken here"
                                    : row->meaning;
}

/* Text with the characters that mean something in a table cell made harmless. */
static void cell_print(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '*' || *text == '_')
            fputc('\\', out);
        fputc(*text, out);
    }
}

void md_conf_print_markdown(FILE *out)
{
    char who[64], type[256];

    fprintf(out, "# Parameters of rmds.cnf\n\n"
                 "Written by `rmdscnf reference markdown` from the table in `src/conf/table.c`.\n"
                 "The language itself: [rmds.cnf(5)](../man/rmds.cnf.5.scd).\n\n"
                 "*dyn*: SIGHUP changes the parameter in a running daemon; all others wait for "
                 "the next start.\n");
    for (size_t o = 0; o < COUNT(objects); o++) {
        fprintf(out, "\n## %s\n\n`%s`. %s\n\n", objects[o].title, objects[o].path, objects[o].text);
        fprintf(out, "| parameter | read by | type, unit, range | default | | meaning |\n"
                     "| --- | --- | --- | --- | --- | --- |\n");
        for (size_t i = 0; i < md_conf_row_count; i++) {
            const struct md_conf_row *row = &md_conf_rows[i];

            if (!(row->kinds >> objects[o].kind & 1))
                continue;
            programs_print(row->programs, who, sizeof(who));
            value_describe(row, type, sizeof(type));
            fprintf(out, "| `%s%s` | %s | ", row->name, row->flags & MD_CONF_INDEXED ? "[.N]" : "",
                    who);
            cell_print(out, type);
            fprintf(out, " | ");
            if (*row->fallback)
                fprintf(out, "`%s`", row->fallback);
            fprintf(out, " | %s | ", row->flags & MD_CONF_DYN ? "dyn" : "");
            cell_print(out, row->meaning);
            fprintf(out, " |\n");
        }
    }
    fprintf(out, "\n## Not in this version\n\nKnown, so that old files load: one WARNING, no "
                 "effect.\n\n| parameter | of | |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < md_conf_absent_count; i++) {
        programs_print(md_conf_absent[i].programs, who, sizeof(who));
        fprintf(out, "| `%s` | %s | %s |\n", md_conf_absent[i].name, who,
                absent_note(&md_conf_absent[i]));
    }
}

/* scdoc gives meaning to _ * # ` [ ] | and a leading '.'. */
static void scdoc_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("_*#`[]|\\", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void scdoc_row(FILE *out, const struct md_conf_row *row)
{
    char who[64], type[256];

    programs_print(row->programs, who, sizeof(who));
    value_describe(row, type, sizeof(type));
    fprintf(out, "*%s*%s\n\t", row->name, row->flags & MD_CONF_INDEXED ? "\\[.N\\]" : "");
    scdoc_text(out, type);
    fprintf(out, "; default ");
    scdoc_text(out, *row->fallback ? row->fallback : "empty");
    fprintf(out, "; ");
    scdoc_text(out, who);
    fprintf(out, "%s.\n\t", row->flags & MD_CONF_DYN ? "; dyn" : "");
    scdoc_text(out, row->meaning);
    fprintf(out, "\n\n");
}

static void absent_scdoc(FILE *out)
{
    char who[64];

    fputs("# NOT IN THIS VERSION\n\nKnown, so that old files load: one warning, no effect.\n\n",
          out);
    for (size_t i = 0; i < md_conf_absent_count; i++) {
        programs_print(md_conf_absent[i].programs, who, sizeof(who));
        fprintf(out, "*%s* (", md_conf_absent[i].name);
        scdoc_text(out, who);
        fputs(*absent_note(&md_conf_absent[i]) ? "): " : ")", out);
        scdoc_text(out, absent_note(&md_conf_absent[i]));
        fputs(i + 1 < md_conf_absent_count ? "++\n" : "\n\n", out);
    }
}

/* The manual page, up to its parameters. */
static const char scdoc_head[] =
    "rmds.cnf(5) \"openrmds\" \"Configuration\"\n\n"
    "# NAME\n\nrmds.cnf - configuration of p2ps, src\\_dist and rrcpd\n\n"
    "# DESCRIPTION\n\n"
    "One file configures all daemons of a system. It is an X resource file: each line names a\n"
    "parameter by its path, with wildcards, and gives it a value.\n\n"
    "```\n"
    "! comment; a line that begins with # is one too\n"
    "*p2ps*maxMounts : 500\n"
    "hostA*p2ps*maxMounts : 800\n"
    "*Src\\_Dist*1.route*hostList : feed1, feed2:14102\n"
    "#include \"site.cnf\"\n"
    "```\n\n"
    "# FILES READ\n\n"
    "The first of: *-c* _FILE_; the environment variables *RMDS\\_CONFIG*, then\n"
    "*DISTRIBUTION\\_CONFIG*; _/etc/rmds/rmds.cnf_; _/var/reuters/rmds/rmds.cnf_;\n"
    "_/var/distribution/distribution.cnf_. Without any, every parameter has its default.\n\n"
    "# SYNTAX\n\n"
    "A name is components of A-Z a-z 0-9 \\_ - joined by *.* (the next component) or *\\**\n"
    "(zero or more components between). *?* stands for any one component. The value follows\n"
    "a colon; an equals sign is accepted with a warning, an error under *-strict*. Blanks\n"
    "around the value are dropped. There are no comments behind a value.\n\n"
    "A backslash at the end of a line joins the next line. In a value \\\\n is a newline,\n"
    "\\\\\\\\ a backslash, a backslash and a blank a leading blank, \\\\ooo an octal byte.\n\n"
    "{node} and {instance} are replaced in names and values, and so is {word} or <word> that\n"
    "*-D* word=value defines. In a name an unknown word counts as *?*, with a warning; in a\n"
    "value it is an error. A value that is one <word> may have blanks in it. The value\n"
    "\\[commented out\\] means that the line is absent.\n\n"
    "_#include \"path\"_ reads another file, relative to the one it stands in, at most 8 "
    "deep.\n"
    "Limits: 16 MiB of files, 64 KiB a line, 200,000 entries.\n\n"
    "# WHICH LINE COUNTS\n\n"
    "A parameter is looked up by the path of its object, for example\n"
    "_vega.1.p2ps.port.14002.pingTimeout_. Of all lines whose name can be laid over the path\n"
    "the best is chosen by comparing them component by component from the left. At the first\n"
    "difference a line that has the component beats one that skips it through *\\**; the "
    "exact\n"
    "name beats the class name (P2PS, Src\\_Dist), which beats another case or an alias (ads,\n"
    "adh, mdh), which beats *?*; a component joined by *.* beats one joined by *\\**. The "
    "same\n"
    "name twice: the later line.\n\n"
    "*The leftmost component decides:* _hostA\\*itemLimit_ beats "
    "_\\*p2ps\\*user\\*itemLimit_.\n\n"
    "The node is the host's name up to its first dot, or *-node*; the instance is 1, or\n"
    "*-instance*. In user, service and other names every byte outside A-Za-z0-9\\_- is "
    "written\n"
    "\\_.\n\n"
    "# VALUES\n\n"
    "Integers: decimal or 0x hexadecimal, with k = 1000, K = 1024, M = 1024², G = 1024³; in "
    "bytes\n"
    "also kB, KB, MB, GB (KiB, MiB, GiB), in bit/s kbit, Mbit, Gbit (powers of 1000).\n"
    "Booleans: True False Yes No On Off 1 0, in any case. Times: a number in the unit given,\n"
    "or with us, ms, s, min or h. Lists: separated by commas. A wrong value is an error: the "
    "daemon\n"
    "that reads the line does not start, and after SIGHUP keeps its old values. Other "
    "daemons,\n"
    "those of other nodes and instances too, note it and start. An unknown parameter is a\n"
    "warning, with *-strict* an error.\n\n"
    "dyn: SIGHUP changes the parameter in a running daemon.\n\n";

void md_conf_print_scdoc(FILE *out)
{
    fputs(scdoc_head, out);
    for (size_t o = 0; o < COUNT(objects); o++) {
        fprintf(out, "# PARAMETERS: ");
        for (const char *p = objects[o].title; *p; p++)
            if (*p == '_')
                fputs("\\_", out);
            else
                fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, out);
        fprintf(out, "\n\n");
        scdoc_text(out, objects[o].path);
        fprintf(out, ". ");
        scdoc_text(out, objects[o].text);
        fprintf(out, "\n\n");
        for (size_t i = 0; i < md_conf_row_count; i++)
            if (md_conf_rows[i].kinds >> objects[o].kind & 1)
                scdoc_row(out, &md_conf_rows[i]);
    }
    absent_scdoc(out);
    fputs("# SEE ALSO\n\n*rmdscnf*(1)\n", out);
}

static void comment_print(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strlen(text);

        if (length > 94) {
            length = 94;
            while (length > 0 && text[length] != ' ')
                length--;
        }
        fprintf(out, "! %.*s\n", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

void md_conf_print_cnf(FILE *out)
{
    char type[256], line[256];

    fprintf(out,
            "! rmds.cnf - configuration of openrmds. Every parameter with its default: take the "
            "'!' away\n! to change one. The language: rmds.cnf(5). Check: rmdscnf check FILE.\n"
            "! (dyn) is taken over by a running daemon on SIGHUP.\n");
    for (size_t o = 0; o < COUNT(objects); o++) {
        bool titled = false;

        for (size_t i = 0; i < md_conf_row_count; i++) {
            const struct md_conf_row *row = &md_conf_rows[i];
            unsigned lower = row->kinds & ((1u << objects[o].kind) - 1);

            if (!(row->kinds >> objects[o].kind & 1) || lower)
                continue;
            if (!titled)
                fprintf(out, "\n\n! ==== %s: %s\n! %s\n", objects[o].title, objects[o].path,
                        objects[o].text);
            titled = true;
            value_describe(row, type, sizeof(type));
            row_example(row, true, line, sizeof(line));
            fprintf(out, "\n! %s%s\n", type, row->flags & MD_CONF_DYN ? " (dyn)" : "");
            comment_print(out, row->meaning);
            fprintf(out, "!%.*s : %s\n", (int)strcspn(line, " "), line, row->fallback);
        }
    }
}

static void value_print(void *arg, const char *path, const struct md_conf_value *value)
{
    FILE *out = arg;

    fprintf(out, "%s : %s", path, value->text);
    if (value->file && value->line)
        fprintf(out, "    ! %s:%u\n", value->file, value->line);
    else
        fprintf(out, "    ! default\n");
}

void md_conf_print_values(FILE *out, const struct md_conf *conf)
{
    md_conf_each(conf, value_print, out);
}
