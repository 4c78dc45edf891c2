/* rmdsctl - tell running daemons what to do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "base/err.h"
#include "conf/conf.h"
#include "conf/options.h"
#include "find.h"
#include "print.h"

static const char usage[] =
    "rmdsctl - tell running daemons what to do\n"
    "\n"
    "usage: rmdsctl [option]... [PROGRAM[.NETWORK][.INSTANCE]] VERB [WORD]...\n"
    "\n"
    "  status                        ready or not, and what is missing (without any word)\n"
    "  list WHAT [SERVICE]           mounts, providers, services or items of p2ps and src_dist\n"
    "  trace SERVICE ITEM            where an item is: provider, handle, last record, watchers\n"
    "  kick ID|all                   disconnect a consumer or provider; kick user NAME\n"
    "  drain [on|off]                p2ps refuses new consumers; /ready says 503\n"
    "  rotate                        rmdsrec begins another file\n"
    "  loglevel LEVEL                ERROR, WARNING, NOTICE, INFO or DEBUG\n"
    "  reload                        read the configuration again, as SIGHUP does\n"
    "  help                          what that daemon can be told\n"
    "\n"
    "  -c FILE          rmds.cnf, for its runDir\n"
    "  -run FOLDER      where the daemons have their sockets\n"
    "  -secs N          trace: between two looks, to see what comes (1); 0 looks once\n"
    "  -version         version and what is built in\n"
    "  -help            this text (also -h)\n"
    "\n"
    "status, list, trace and help ask all daemons when none is named. All options may be written\n"
    "with two dashes. Exit codes: 1 command line, 2 no such daemon, 3 the daemon refused.\n";

enum { EXIT_REFUSED = 3 };

struct request {
    const char *conf, *run_dir, *seconds;
    double wait_s;
    bool help, version;
    struct md_option_list words;
};

static int parse(struct request *request, int argc, char **argv)
{
    const struct md_option options[] = {
        { "c", "FILE", MD_OPTION_STRING, &request->conf, "" },
        { "run", "FOLDER", MD_OPTION_STRING, &request->run_dir, "" },
        { "secs", "N", MD_OPTION_STRING, &request->seconds, "" },
        { "version", NULL, MD_OPTION_FLAG, &request->version, "" },
        { "help", NULL, MD_OPTION_FLAG, &request->help, "" },
        { "h", NULL, MD_OPTION_FLAG, &request->help, "" },
    };

    int err = md_options_parse("rmdsctl", options, sizeof(options) / sizeof(options[0]), argc, argv,
                               &request->words);
    char *end = NULL;
    request->wait_s = request->seconds ? strtod(request->seconds, &end) : 1;
    if (err == MD_OK && end && (*end || !(request->wait_s >= 0 && request->wait_s <= 60))) {
        fprintf(stderr, "rmdsctl: -secs %s: seconds from 0 to 60 are expected\n", request->seconds);
        return MD_ERR_RANGE;
    }
    return err;
}

/* The folder of the sockets; *everywhere: nobody said which. */
static int find_folder(const struct request *request, char *out, size_t size, int *everywhere)
{
    struct md_conf_options options = { .program = "p2ps", .file = request->conf };
    struct md_conf *conf = NULL;

    *everywhere = !request->run_dir && !request->conf;
    if (request->run_dir) {
        snprintf(out, size, "%s", request->run_dir);
        return MD_OK;
    }
    int err = request->conf ? md_conf_load(&options, &conf)
                            : md_conf_load_text(&options, "", "", 0, &conf);
    if (!conf)
        return err;
    const struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    snprintf(out, size, "%s", md_conf_string(&daemon, "runDir"));
    md_conf_destroy(conf);
    return MD_OK;
}

static bool is_program(const char *word)
{
    static const char *const programs[] = { "p2ps", "src_dist", "rrcpd", "rmdsrec" };

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        size_t length = strlen(programs[i]);
        if (strncmp(word, programs[i], length) == 0 && (word[length] == 0 || word[length] == '.'))
            return true;
    }
    return false;
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(*list, word) == 0)
            return true;
    }
    return false;
}

/* Which daemons a verb is for when none is named: each list has its own. */
static size_t keep_those_of(struct found *list, size_t count, char *const *words, int word_count)
{
    static const char *const data[] = { "list", "trace", NULL };
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_p2ps = strncmp(list[i].name, "p2ps.", 5) == 0;
        bool is_source = strncmp(list[i].name, "src_dist.", 9) == 0;
        const char *what = word_count > 1 ? words[1] : "";
        bool fits = true;
        if (is_one_of(words[0], data))
            fits = is_p2ps || is_source;
        if (strcmp(words[0], "list") == 0 && strcmp(what, "mounts") == 0)
            fits = is_p2ps;
        if (strcmp(words[0], "list") == 0 && strcmp(what, "providers") == 0)
            fits = is_source;
        if (fits)
            list[kept++] = list[i];
    }
    return kept;
}

static int refuse(const struct found *list, size_t count, const char *folder, const char *verb)
{
    if (count == 0) {
        fprintf(stderr,
                "rmdsctl: no daemon with an admin socket in %s that you may use; is it up, and "
                "yours? See -run and -c\n",
                folder);
        return MD_EXIT_FILE;
    }
    fprintf(stderr, "rmdsctl: %s changes something: say which daemon is meant; there are:\n", verb);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  %-20s %s\n", list[i].name, list[i].path);
    return MD_EXIT_CONFIG;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Asks all; prints those that answer, under their names if there are several. */
static int ask_all(const struct found *list, size_t count, char *const *words, int word_count,
                   double seconds)
{
    struct answer answers[FOUND_MAX], again;
    double began_s = now_s();
    int code = MD_EXIT_OK;

    for (size_t i = 0; i < count; i++)
        (void)ask_daemon(list[i].path, words, word_count, &answers[i]);
    if (seconds > 0)
        usleep((useconds_t)(seconds * 1e6));
    for (size_t i = 0; i < count; i++) {
        struct answer *answer = &answers[i];
        double took_s = now_s() - began_s;
        if (!answer->is_ok) {
            fprintf(stderr, "rmdsctl: %s: %s\n", list[i].name, answer->error);
            code = answer->text ? EXIT_REFUSED : MD_EXIT_FILE;
            free(answer->text);
            continue;
        }
        if (count > 1 && strcmp(words[0], "status") != 0)
            printf("%s%s:\n", i ? "\n" : "", list[i].name);
        bool has_both = seconds > 0 && ask_daemon(list[i].path, words, word_count, &again);
        if (has_both && again.is_ok)
            print_answer(again.text, answer->text, took_s);
        else
            print_answer(answer->text, NULL, 0);
        if (has_both)
            free(again.text);
        free(answer->text);
    }
    return code;
}

static int run(const struct request *request)
{
    static const char *const readers[] = { "status", "list", "trace", "help", NULL };
    static struct found list[FOUND_MAX];
    char folder[512], status[] = "status", *words[MD_OPTION_LIST_MAX] = { status };
    int word_count = 0, everywhere;
    size_t first = 0;

    if (find_folder(request, folder, sizeof(folder), &everywhere) != MD_OK)
        return MD_EXIT_FILE;
    size_t count = find_sockets(folder, everywhere, list);
    if (request->words.count > 0 && is_program(request->words.item[0])) {
        first = 1;
        count = find_meant(list, count, request->words.item[0]);
    }
    for (size_t i = first; i < request->words.count; i++)
        words[word_count++] = strdup(request->words.item[i]);
    word_count = word_count ? word_count : 1;
    if (count > 1 && first == 0)
        count = keep_those_of(list, count, words, word_count);
    bool is_reader = is_one_of(words[0], readers);
    bool is_trace = strcmp(words[0], "trace") == 0;
    int code = count == 0 || (count > 1 && !is_reader)
                   ? refuse(list, count, folder, words[0])
                   : ask_all(list, count, words, word_count, is_trace ? request->wait_s : 0);
    for (int i = 0; i < word_count; i++) {
        if (words[i] != status)
            free(words[i]);
    }
    return code;
}

int main(int argc, char **argv)
{
    struct request request = { .conf = NULL };

    if (parse(&request, argc, argv) != MD_OK)
        return MD_EXIT_CONFIG;
    if (request.help) {
        fputs(usage, stdout);
        return MD_EXIT_OK;
    }
    if (request.version) {
        md_version_print("rmdsctl");
        return MD_EXIT_OK;
    }
    return run(&request);
}
