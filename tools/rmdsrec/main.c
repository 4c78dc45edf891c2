/* main.c - rmdsrec: the command line, and its verbs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "rec.h"
#include "record_daemon.h"

enum verb {
    RECORD = 1,
    INFO = 2,
    EXPORT = 4,
    REPLAY = 8,
    TELL = 16,
    IMPORT = 32,
    COMPARE = 64,
    ALL = 127
};

/* An option, and the verbs that take it. */
struct row {
    struct md_option option;
    unsigned verbs;
};

#define ROWS_MAX 64

static const struct {
    const char *name;
    enum verb verb;
    int (*run)(const struct words *words);
    const char *help;
} VERBS[] = {
    { "record", RECORD, record_run, "write what comes of items, from p2ps or from the backbone" },
    { "info", INFO, info_run, "what a recording has, and what of it is damaged" },
    { "export", EXPORT, export_run, "a recording as CSV, a line for each field" },
    { "compare", COMPARE, compare_run, "do two recordings have the same streams?" },
    { "import", IMPORT, import_run, "a recording from such a CSV" },
    { "replay", REPLAY, replay_run, "be a provider that plays a recording" },
    { "tell", TELL, tell_run,
      "a command to one with -control: st, q; of replay pause, go, seek, speed; of record rotate" },
};
#define VERB_COUNT (sizeof(VERBS) / sizeof(VERBS[0]))

static const struct {
    enum verb verb;
    const char *words;
} USAGES[] = {
    { RECORD, "record FILE -host HOST[:PORT] -S SERVICE (-f LIST | -il ITEM,...) [option]..." },
    { RECORD, "record FILE -net NETWORK [-follow] [-S SERVICE] [option]..." },
    { INFO, "info FILE [-series]" },
    { EXPORT, "export FILE [-out CSV] [option]..." },
    { COMPARE, "compare FILE FILE [-series]" },
    { IMPORT, "import FILE -csv CSV [-dict FOLDER]" },
    { REPLAY, "replay FILE [-N PORT] [-speed FACTOR] [option]..." },
    { TELL, "tell SOCKET COMMAND..." },
};

/* The verbs that take the options that follow. */
static void help_heading(unsigned verbs)
{
    const char *before = "";

    printf("\n");
    for (size_t i = 0; verbs != ALL && i < VERB_COUNT; i++) {
        if (!(verbs & VERBS[i].verb))
            continue;
        printf("%s%s", before, VERBS[i].name);
        before = ", ";
    }
    printf("%s:\n", verbs == ALL ? "all" : "");
}

/* Of these verbs. */
static void help(const struct row *rows, size_t count, unsigned verbs)
{
    unsigned shown = 0;

    printf(PROGRAM " - records market data, and plays it\n\n");
    for (size_t i = 0; i < sizeof(USAGES) / sizeof(USAGES[0]); i++) {
        if (verbs & USAGES[i].verb)
            printf("%s" PROGRAM " %s\n", shown++ ? "       " : "usage: ", USAGES[i].words);
    }
    if (verbs == ALL)
        printf("       " PROGRAM
               " [-instance N] [option]...    a recorder by rmds.cnf, as a daemon\n");
    printf("\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (verbs & VERBS[i].verb)
            printf("  %-20s %s\n", VERBS[i].name, VERBS[i].help);
    }
    shown = 0;
    for (size_t i = 0; i < count; i++) {
        const struct md_option *option = &rows[i].option;
        char left[64];
        if (!(rows[i].verbs & verbs))
            continue;
        if (verbs == ALL && rows[i].verbs != shown)
            help_heading(rows[i].verbs);
        else if (!shown)
            printf("\n");
        shown = rows[i].verbs;
        snprintf(left, sizeof(left), "-%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
        printf("  %-20s %s\n", left, option->help);
    }
    printf("\nAll options may be written with two dashes. Exit codes: 0 well, 1 options, 2 a "
           "file,\n3 not logged in or a port in use, 4 not every item was open, 5 something is "
           "lost or damaged,\n"
           "6 rrcpd denies -follow. See " PROGRAM "(1)%s.\n",
           verbs == ALL ? "; " PROGRAM " VERB -help has those of a verb alone" : "");
}

static bool is_set(const struct md_option *option)
{
    switch (option->kind) {
    case MD_OPTION_FLAG:
        return *(const bool *)option->target;
    case MD_OPTION_STRING:
        return *(const char *const *)option->target != NULL;
    default:
        return ((const struct md_option_list *)option->target)->count > 0;
    }
}

/* The words behind the socket, a blank between them; false: they are too long. */
static bool join_tells(const struct md_option_list *given, struct words *words)
{
    size_t used = 0;

    for (size_t i = 2; i < given->count; i++) {
        int length = snprintf(words->tells + used, sizeof(words->tells) - used, "%s%s",
                              i > 2 ? " " : "", given->item[i]);
        if (length < 0 || (size_t)length >= sizeof(words->tells) - used)
            return false;
        used += (size_t)length;
    }
    return true;
}

/* NULL: there are as many words as the verb takes. */
static const char *missing_behind(enum verb verb, size_t count)
{
    if (verb == TELL)
        return count < 3 ? "a socket and a command stand behind" : NULL;
    if (verb == COMPARE)
        return count != 3 ? "two files are named behind" : NULL;
    return count != 2 ? "one file is named behind" : NULL;
}

/* The verb that the command line names; else all. */
static unsigned verbs_named(const char *name, const struct md_option_list *given)
{
    const char *slash = strrchr(name, '/');
    bool is_replay = strcmp(slash ? slash + 1 : name, "rmdsreplay") == 0;

    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (is_replay ? VERBS[i].verb == REPLAY
                      : given->count > 0 && strcmp(given->item[0], VERBS[i].name) == 0)
            return VERBS[i].verb;
    }
    return ALL;
}

static int run(const struct row *rows, size_t count, const struct md_option_list *given,
               struct words *words)
{
    size_t v = 0;

    while (v < VERB_COUNT && (given->count == 0 || strcmp(given->item[0], VERBS[v].name) != 0))
        v++;
    if (v == VERB_COUNT)
        return rec_usage("the first word is record, info, export, compare, import, replay or tell",
                         given->count ? given->item[0] : NULL);
    const char *missing = missing_behind(VERBS[v].verb, given->count);
    if (missing)
        return rec_usage(missing, VERBS[v].name);
    words->file = given->item[1];
    words->other = VERBS[v].verb == COMPARE ? given->item[2] : NULL;
    if (VERBS[v].verb == TELL && !join_tells(given, words))
        return rec_usage("a command has 1,000 bytes at most", NULL);
    for (size_t i = 0; i < count; i++) {
        if (!(rows[i].verbs & VERBS[v].verb) && is_set(&rows[i].option)) {
            fprintf(stderr, PROGRAM ": -%s is no option of %s; -help lists the options\n",
                    rows[i].option.name, VERBS[v].name);
            return REC_OPTIONS;
        }
    }
    return VERBS[v].run(words);
}

/* By the name rmdsreplay, its verb is replay. */
static void put_verb(const char *name, struct md_option_list *given)
{
    const char *slash = strrchr(name, '/');

    if (strcmp(slash ? slash + 1 : name, "rmdsreplay") != 0 || given->count != 1)
        return;
    given->item[1] = given->item[0];
    given->item[0] = "replay";
    given->count = 2;
}

static int run_verb(int argc, char **argv)
{
    struct words w = { .help = false };
    const struct row rows[] = {
        { { "host", "HOST[:PORT]", MD_OPTION_STRING, &w.host, "p2ps (port 14002)" }, RECORD },
        { { "net", "NETWORK", MD_OPTION_STRING, &w.network,
            "in place of -host: right from the backbone, by the rrcpd of this host" },
          RECORD },
        { { "instance", "NAME", MD_OPTION_STRING, &w.instance, "with -net: of that rrcpd (1)" },
          RECORD },
        { { "runDir", "FOLDER", MD_OPTION_STRING, &w.run_dir,
            "with -net and -name: of the daemons (/run/rmds)" },
          RECORD },
        { { "name", "NAME", MD_OPTION_STRING, &w.name,
            "show its figures as rmdsrec.NAME, to rmdsmon and others" },
          RECORD },
        { { "follow", NULL, MD_OPTION_FLAG, &w.follows,
            "with -net: what others have open, of the services (-S), or of all" },
          RECORD },
        { { "serviceItems", "N", MD_OPTION_STRING, &w.service_items,
            "items of one service at most (without -S a quarter of all, else no limit)" },
          RECORD },
        { { "S", "SERVICE", MD_OPTION_LIST, &w.services,
            "service of the items; several: each item of each" },
          RECORD },
        { { "f", "FILE", MD_OPTION_STRING, &w.list, "item list" }, RECORD },
        { { "md", "DOMAIN", MD_OPTION_STRING, &w.domain,
            "domain of the items, a number or a name as MarketPrice (6)" },
          RECORD },
        { { "u", "USER", MD_OPTION_STRING, &w.user, "user (rmds)" }, RECORD },
        { { "pwfile", "FILE", MD_OPTION_STRING, &w.password_file,
            "file whose first line is the password" },
          RECORD },
        { { "pos", "POSITION", MD_OPTION_STRING, &w.position, "position (127.0.0.1/net)" },
          RECORD },
        { { "aid", "ID", MD_OPTION_STRING, &w.application_id, "application id (256)" }, RECORD },
        { { "o", "N", MD_OPTION_STRING, &w.window, "requests under way at most (500)" }, RECORD },
        { { "ct", "TYPE", MD_OPTION_STRING, &w.wire.name,
            "connection type: rssl (TCP), tls or rsocket" },
          RECORD | REPLAY },
        { { "tlsCaFile", "FILE", MD_OPTION_STRING, &w.wire.ca,
            "with -ct tls: authorities that the other side is checked against" },
          RECORD | REPLAY },
        { { "tlsCertFile", "FILE", MD_OPTION_STRING, &w.wire.certificate,
            "with -ct tls: certificate to show" },
          RECORD | REPLAY },
        { { "tlsKeyFile", "FILE", MD_OPTION_STRING, &w.wire.key, "and its key" }, RECORD | REPLAY },
        { { "secs", "SECONDS", MD_OPTION_STRING, &w.secs, "record so long, then end" }, RECORD },
        { { "images", "SECONDS", MD_OPTION_STRING, &w.images,
            "an image of each item that has changed so often (60; 0: never)" },
          RECORD },
        { { "rotateSize", "MIB", MD_OPTION_STRING, &w.rotate_bytes,
            "another file when this one is so large" },
          RECORD },
        { { "rotateTime", "SECONDS", MD_OPTION_STRING, &w.rotate_seconds,
            "another file so often; SIGHUP: now" },
          RECORD },
        { { "sync", "WHEN", MD_OPTION_STRING, &w.sync,
            "wait for the disk: none, chunk (after each), or every so many SECONDS (none)" },
          RECORD },
        { { "buffer", "MIB", MD_OPTION_STRING, &w.buffer, "what may wait for the disk (64)" },
          RECORD },
        { { "level", "1..19", MD_OPTION_STRING, &w.level, "of the compression (3)" }, RECORD },
        { { "il", "ITEM,...", MD_OPTION_STRING, &w.names, "items" }, RECORD | EXPORT | REPLAY },
        { { "series", NULL, MD_OPTION_FLAG, &w.is_series,
            "with the further files of its series, as one" },
          INFO | EXPORT | COMPARE | REPLAY },
        { { "out", "FILE", MD_OPTION_STRING, &w.output, "the CSV (standard output)" }, EXPORT },
        { { "from", "SECONDS", MD_OPTION_STRING, &w.from, "from then on, since the beginning" },
          EXPORT | REPLAY },
        { { "to", "SECONDS", MD_OPTION_STRING, &w.to, "up to then" }, EXPORT | REPLAY },
        { { "withImages", NULL, MD_OPTION_FLAG, &w.images_too,
            "also the images that the recorder has written" },
          EXPORT },
        { { "csv", "FILE", MD_OPTION_STRING, &w.csv, "the CSV (-: standard input)" }, IMPORT },
        { { "dict", "FOLDER", MD_OPTION_STRING, &w.dict,
            "dictionary; else that of the recording, or the installed one" },
          EXPORT | REPLAY | IMPORT },
        { { "N", "PORT", MD_OPTION_STRING, &w.port, "port to listen on (14002; 0: any)" }, REPLAY },
        { { "L", "ADDRESS", MD_OPTION_STRING, &w.address, "address to listen on (all)" }, REPLAY },
        { { "speed", "FACTOR", MD_OPTION_STRING, &w.speed,
            "of the recorded pace (1), or max: as fast as it goes" },
          REPLAY },
        { { "waitItems", "N", MD_OPTION_STRING, &w.wait_items,
            "begin when so many items are open (0)" },
          REPLAY },
        { { "maxBuffers", "N", MD_OPTION_STRING, &w.max_buffers,
            "output buffers of a client, of some 6 kB (30000)" },
          REPLAY },
        { { "as", "[OLD=]NEW", MD_OPTION_STRING, &w.as, "offer the service by another name" },
          REPLAY },
        { { "id", "N", MD_OPTION_STRING, &w.id, "id of the (first) service (1)" }, REPLAY },
        { { "loop", NULL, MD_OPTION_FLAG, &w.loops, "begin again at the end" }, REPLAY },
        { { "control", "SOCKET", MD_OPTION_STRING, &w.control,
            "take commands from this Unix socket, see tell" },
          RECORD | REPLAY },
        { { "c", NULL, MD_OPTION_FLAG, &w.takes_input, "and from standard input" }, REPLAY },
        { { "exit", NULL, MD_OPTION_FLAG, &w.ends,
            "end at the end; else the last images stay open" },
          REPLAY },
        { { "help", NULL, MD_OPTION_FLAG, &w.help, "this text (also -h)" }, ALL },
        { { "version", NULL, MD_OPTION_FLAG, &w.version, "version and what is built in" }, ALL },
    };
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    struct md_option options[ROWS_MAX];
    struct md_option_list given = { .count = 0 };

    for (size_t i = 0; i < count; i++)
        options[i] = rows[i].option;
    options[count] = (struct md_option){ "h", NULL, MD_OPTION_FLAG, &w.help, NULL };
    if (md_options_parse(PROGRAM, options, count + 1, argc, argv, &given) != MD_OK)
        return REC_OPTIONS;
    if (w.help) {
        help(rows, count, verbs_named(argv[0], &given));
        return REC_OK;
    }
    if (w.version) {
        md_version_print(PROGRAM);
        return REC_OK;
    }
    put_verb(argv[0], &given);
    return run(rows, count, &given, &w);
}

/* ---- the daemon ---- */

/* No verb, and nothing that is none, stands first: the daemon. */
static bool is_daemon(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');

    if (strcmp(slash ? slash + 1 : argv[0], "rmdsreplay") == 0 || (argc > 1 && argv[1][0] != '-'))
        return false;
    for (int i = 1; i < argc; i++) {
        for (size_t v = 0; v < VERB_COUNT; v++) {
            if (strcmp(argv[i], VERBS[v].name) == 0)
                return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static const char *const helps[] = { "-help", "--help", "-h" };

    if (!is_daemon(argc, argv))
        return run_verb(argc, argv);
    for (size_t i = 0; i < 3 && argc == 2; i++) {
        if (strcmp(argv[1], helps[i]) == 0) {
            (void)run_verb(argc, argv);
            printf("\nWithout a verb:\n\n");
        }
    }
    return record_daemon_main(argc, argv);
}
