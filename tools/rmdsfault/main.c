/* rmdsfault - a server that fails on command, to test applications with. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/options.h"
#include "library.h"
#include "live.h"
#include "provider.h"
#include "runner.h"

#define PROGRAM "rmdsfault"

struct words {
    struct md_option_list services;
    const char *port, *address, *dictionary, *folder, *control, *ping;
    struct wire_words wire;
    bool verbose, help, version;
};

struct app {
    struct words words;
    struct md_loop *loop;
    struct wire wire;
    struct provider provider;
    struct runner runner;
    struct live *live;
    struct md_loop_signal *signals[2];
    const char *name; /* of the scenario */
    bool is_live;
    int code;
};

static int usage(const char *text, const char *value)
{
    fprintf(stderr, PROGRAM ": %s%s%s%s; " PROGRAM " --help lists all\n", text, value ? ": \"" : "",
            value ? value : "", value ? "\"" : "");
    return MD_EXIT_CONFIG;
}

static void help(const struct md_option *options, size_t count)
{
    printf(PROGRAM
           " - a server that fails on command, to test applications with\n\n"
           "usage: " PROGRAM " list|show|check|run|serve|tell [option]... [word]...\n\n"
           "  list                    the scenarios\n"
           "  show NAME               the text of one\n"
           "  check FILE              is it a scenario?\n"
           "  run NAME [-- COMMAND]   play it to an application: exit code 0 when that does what "
           "is correct, 10\n"
           "                          when not, 77 when the scenario cannot be played\n"
           "  serve [NAME]            play it, if there is one, then take statements from standard "
           "input\n"
           "  tell SOCKET STATEMENT   give a statement to another one that serves with -control\n\n"
           "options:\n");
    for (size_t i = 0; i < count; i++) {
        char left[64];
        if (!options[i].help)
            continue;
        (void)snprintf(left, sizeof(left), "-%s%s%s", options[i].name,
                       options[i].argument ? " " : "",
                       options[i].argument ? options[i].argument : "");
        printf("  %-22s %s\n", left, options[i].help);
    }
    printf("\nstatements (docs/fault.md):\n%s", fault_script_help());
}

/* ---- what happens ---- */

static void on_word(void *owner, const struct fault_action *action)
{
    struct app *app = owner;

    switch (action->kind) {
    case FAULT_ACT_SAY:
        printf(PROGRAM ": %s\n", action->text);
        break;
    case FAULT_ACT_STEP:
        if (app->live)
            live_step(app->live, action);
        if (app->words.verbose && action->line > 0)
            printf(PROGRAM ": line %u: %s: %s\n", action->line, action->is_on ? "done" : "FAILED",
                   action->text);
        else if (!action->is_on && app->is_live && action->line > 0)
            printf(PROGRAM ": line %u FAILED: %s\n", action->line, action->text);
        break;
    default:
        app->code = action->is_on ? MD_EXIT_OK : FAULT_EXIT_WRONG;
        if (action->is_on)
            printf(PROGRAM ": %s: good\n", app->name);
        else
            printf(PROGRAM ": %s: FAILED at line %u: %s\n", app->name, action->line, action->text);
        md_loop_stop(app->loop);
        break;
    }
    fflush(stdout);
}

static void on_trouble(void *owner, int code)
{
    struct app *app = owner;

    app->code = code;
    md_loop_stop(app->loop);
}

static void on_exit_of_application(void *owner, uint8_t code)
{
    struct app *app = owner;

    if (app->words.verbose)
        fprintf(stderr, PROGRAM ": the application has ended (exit code %u)\n", code);
    provider_exited(&app->provider, code);
}

static void on_signal(void *owner, int number)
{
    struct app *app = owner;

    (void)number;
    if (!app->is_live)
        app->code = FAULT_EXIT_WRONG; /* not played to its end */
    md_loop_stop(app->loop);
}

/* ---- the verbs ---- */

static bool number(const char *text, unsigned long least, unsigned long most, unsigned long *out)
{
    char *end;

    if (!text)
        return true;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *out = strtoul(text, &end, 10);
    return *end == 0 && *out >= least && *out <= most;
}

static int start(struct app *app, const struct fault_script *script,
                 const struct md_option_list *words)
{
    static const char *const default_service[] = { "DIRECT_FEED" };
    const struct words *w = &app->words;
    unsigned long port = 14002, ping = 10;
    char error[700];

    if (!number(w->port, 0, 65535, &port))
        return usage("-port is a port, 0 to 65535 (0: any)", w->port);
    if (!number(w->ping, 1, 255, &ping))
        return usage("-ping is a time in seconds, 1 to 255", w->ping);
    if (wire_make(&w->wire, true, &app->wire, error, sizeof(error)) != MD_OK)
        return usage("-E", error);
    if (md_loop_create(0, &app->loop) != MD_OK)
        return MD_EXIT_FILE;
    app->provider.loop = app->loop;
    app->provider.wire = &app->wire;
    const struct provider_config config = {
        .address = w->address ? w->address : "127.0.0.1",
        .port = (uint16_t)port,
        .ping_s = (uint8_t)ping,
        .dictionary = w->dictionary,
        .services = w->services.count ? w->services.item : default_service,
        .service_count = w->services.count ? w->services.count : 1,
        .script = script,
        .is_live = app->is_live,
        .is_verbose = w->verbose,
        .on_word = on_word,
        .on_trouble = on_trouble,
        .owner = app,
    };
    int rc = provider_start(&app->provider, &config);
    if (rc != MD_OK)
        return rc;
    (void)md_loop_signal_add(app->loop, SIGINT, on_signal, app, &app->signals[0]);
    (void)md_loop_signal_add(app->loop, SIGTERM, on_signal, app, &app->signals[1]);
    if (app->is_live && live_start(&app->provider, w->control, &app->live) != MD_OK)
        return MD_EXIT_FILE;
    printf(PROGRAM ": listening on port %u\n", app->provider.config.port);
    fflush(stdout);
    provider_go(&app->provider);
    if (words->count <= 2)
        return MD_OK;
    app->runner.on_exit = on_exit_of_application;
    app->runner.owner = app;
    return runner_start(&app->runner, app->loop, words->item + 2, words->count - 2,
                        app->provider.config.port, config.services[0]) == MD_OK
               ? MD_OK
               : FAULT_EXIT_NOT_STARTED;
}

static void stop(struct app *app)
{
    runner_stop(&app->runner);
    live_stop(app->live);
    if (app->provider.loop)
        provider_stop(&app->provider);
    for (size_t i = 0; i < 2; i++) {
        if (app->signals[i])
            md_loop_signal_remove(app->signals[i]);
    }
    wire_fini(&app->wire);
    if (app->loop)
        md_loop_destroy(app->loop);
}

static int play(struct app *app, const struct md_option_list *words)
{
    static struct fault_script script;

    app->is_live = strcmp(words->item[0], "serve") == 0;
    app->name = words->count > 1 ? words->item[1] : "";
    if (!app->is_live && words->count < 2)
        return usage("run needs the name of a scenario", NULL);
    if (app->is_live && words->count > 2)
        return usage("serve takes no command", words->item[2]);
    if (app->words.control && !app->is_live)
        return usage("-control is for serve", NULL);
    int rc = words->count > 1 ? library_load(app->words.folder, words->item[1], &script) : 0;
    if (rc != MD_EXIT_OK)
        return rc;
    if (script.skip[0]) {
        printf(PROGRAM ": %s: skipped: %s\n", app->name, script.skip);
        return FAULT_EXIT_SKIPPED;
    }
    if (script.correct[0] && !app->is_live)
        printf(PROGRAM ": %s: correct is: %s\n", app->name, script.correct);
    rc = start(app, &script, words);
    if (rc == MD_OK) {
        (void)md_loop_run(app->loop);
        rc = app->code;
    }
    stop(app);
    return rc;
}

static int tell(const struct md_option_list *words)
{
    char line[FAULT_LINE_MAX + 1];
    size_t used = 0;

    if (words->count < 3)
        return usage("tell needs a socket and a statement", NULL);
    for (size_t i = 2; i < words->count && used < sizeof(line); i++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i > 2 ? " " : "",
                                 words->item[i]);
    if (used >= sizeof(line))
        return usage("the statement is too long", NULL);
    return live_tell(words->item[1], line);
}

static int dispatch(struct app *app, const struct md_option_list *words)
{
    static struct fault_script script;
    const char *verb = words->count ? words->item[0] : "";

    if (strcmp(verb, "run") == 0 || strcmp(verb, "serve") == 0)
        return play(app, words);
    if (strcmp(verb, "tell") == 0)
        return tell(words);
    if (strcmp(verb, "list") == 0 && words->count == 1)
        return library_list(app->words.folder);
    if (strcmp(verb, "show") == 0 && words->count == 2)
        return library_show(app->words.folder, words->item[1]);
    if (strcmp(verb, "check") == 0 && words->count == 2)
        return library_load(app->words.folder, words->item[1], &script);
    if (words->count == 0)
        return usage("a verb is missing: list, show, check, run, serve or tell", NULL);
    return usage("the verbs are list, show NAME, check FILE, run NAME, serve and tell; not", verb);
}

int main(int argc, char **argv)
{
    static struct app app;
    struct words *w = &app.words;
    const struct md_option options[] = {
        { "port", "PORT", MD_OPTION_STRING, &w->port, "port to listen on (14002; 0: any)" },
        { "N", "PORT", MD_OPTION_STRING, &w->port, NULL },
        { "L", "ADDRESS", MD_OPTION_STRING, &w->address, "address to listen on (127.0.0.1)" },
        { "S", "SERVICE", MD_OPTION_LIST, &w->services,
          "service; may be given several times (DIRECT_FEED)" },
        { "ping", "SECONDS", MD_OPTION_STRING, &w->ping,
          "silence after which either end takes the other for dead (10)" },
        { "scenarios", "FOLDER", MD_OPTION_STRING, &w->folder, "where the scenarios are" },
        { "control", "FILE", MD_OPTION_STRING, &w->control,
          "with serve: a Unix socket that takes statements" },
        { "dict", "FOLDER", MD_OPTION_STRING, &w->dictionary,
          "where RDMFieldDictionary, enumtype.def are" },
        { "E", "WIRE", MD_OPTION_STRING, &w->wire.name, "rssl (TCP), tls or rsocket (RDMA)" },
        { "tlsCertFile", "FILE", MD_OPTION_STRING, &w->wire.certificate,
          "with -E tls: certificate to show" },
        { "tlsKeyFile", "FILE", MD_OPTION_STRING, &w->wire.key, "and its key" },
        { "tlsCaFile", "FILE", MD_OPTION_STRING, &w->wire.ca,
          "with -E tls: authorities that a client's certificate is checked against" },
        { "v", NULL, MD_OPTION_FLAG, &w->verbose, "say what clients do, and each statement" },
        { "help", NULL, MD_OPTION_FLAG, &w->help, "this text (also -h)" },
        { "h", NULL, MD_OPTION_FLAG, &w->help, NULL },
        { "version", NULL, MD_OPTION_FLAG, &w->version, "version and what is built in" },
    };
    const size_t count = sizeof(options) / sizeof(options[0]);
    struct md_option_list words = { .count = 0 };

    if (md_options_parse(PROGRAM, options, count, argc, argv, &words) != MD_OK)
        return MD_EXIT_CONFIG;
    if (w->help) {
        help(options, count);
        return MD_EXIT_OK;
    }
    if (w->version) {
        md_version_print(PROGRAM);
        return MD_EXIT_OK;
    }
    return dispatch(&app, &words);
}
