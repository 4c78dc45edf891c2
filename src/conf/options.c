/* options.c - see conf/options.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "build_info.h"
#include "conf/explain.h"
#include "value.h"

#define COMMON_COUNT 16

static void common_options(struct md_options *o, struct md_option out[COMMON_COUNT])
{
    const struct md_option common[COMMON_COUNT] = {
        { "c", "FILE", MD_OPTION_LIST, &o->files,
          "configuration file (also -config); lines of a further -c go before those of the first" },
        { "config", "FILE", MD_OPTION_LIST, &o->files, NULL },
        { "instance", "N", MD_OPTION_STRING, &o->conf.instance, "instance of this program (1)" },
        { "node", "NAME", MD_OPTION_STRING, &o->conf.node,
          "node name (the host's, up to its first dot)" },
        { "D", "WORD=VALUE", MD_OPTION_LIST, &o->defines, "what {WORD} stands for in the file" },
        { "set", "'LINE'", MD_OPTION_LIST, &o->lines, "a line that stands after the file" },
        { "fg", NULL, MD_OPTION_FLAG, &o->foreground, "stay in the foreground, log to stderr" },
        { "d", NULL, MD_OPTION_FLAG, &o->background,
          "go to the background; the command returns when the daemon is ready or has failed" },
        { "log", "FILE", MD_OPTION_STRING, &o->log_file, "log to FILE, and nowhere else" },
        { "loglevel", "LEVEL", MD_OPTION_STRING, &o->log_level,
          "ERROR, WARNING, NOTICE, INFO, DEBUG" },
        { "noretry", NULL, MD_OPTION_FLAG, &o->no_retry,
          "end with code 4 when no rrcpd answers for attachTimeout" },
        { "allow-root", NULL, MD_OPTION_FLAG, &o->allow_root,
          "let root run it as root, instead of as the parameter user says" },
        { "strict", NULL, MD_OPTION_FLAG, &o->conf.strict,
          "unknown names, and '=' in place of ':', are errors" },
        { "checkconfig", NULL, MD_OPTION_FLAG, &o->check_config,
          "check the configuration, print every effective value, end" },
        { "help-config", NULL, MD_OPTION_FLAG, &o->print_help_config,
          "describe every parameter, end" },
        { "version", NULL, MD_OPTION_FLAG, &o->print_version, "version and what is built in, end" },
    };

    memcpy(out, common, sizeof(common));
}

static const struct md_option *option_find(const struct md_option *options, size_t count,
                                           const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0)
            return &options[i];
    return NULL;
}

/* The option whose name looks most like the word; NULL if none does. */
static const char *option_near(const struct md_option *options, size_t count, const char *word,
                               size_t length)
{
    const char *near = NULL;
    unsigned best = length <= 3 ? 1 : 3;

    for (size_t i = 0; i < count; i++) {
        unsigned distance = text_distance(word, length, options[i].name, best);
        if (distance < best || (distance == best && !near && best <= 3)) {
            best = distance;
            near = options[i].name;
        }
    }
    return near;
}

static int unknown_option(const char *program, const struct md_option *options, size_t count,
                          const char *word, size_t length)
{
    const char *near = option_near(options, count, word, length);

    fprintf(stderr, "%s: unknown option -%.*s%s%s; -help lists all\n", program, (int)length, word,
            near ? "; did you mean -" : "", near ? near : "");
    return MD_ERR_MALFORMED;
}

int md_options_refuse_words(const char *program, const struct md_option *options, size_t count,
                            const struct md_option_list *words)
{
    if (words->count == 0)
        return MD_OK;
    const char *word = words->item[0];
    const char *near = option_near(options, count, word, strlen(word));
    fprintf(stderr,
            "%s: \"%s\" is not an option, and %s takes no other arguments%s%s; -help lists all "
            "options\n",
            program, word, program, near ? "; did you mean -" : "", near ? near : "");
    return MD_ERR_MALFORMED;
}

static int option_store(const char *program, const struct md_option *option, const char *argument)
{
    struct md_option_list *list = option->target;

    switch (option->kind) {
    case MD_OPTION_FLAG:
        *(bool *)option->target = true;
        return MD_OK;
    case MD_OPTION_STRING:
        *(const char **)option->target = argument;
        return MD_OK;
    case MD_OPTION_LIST:
        if (list->count == MD_OPTION_LIST_MAX) {
            fprintf(stderr, "%s: -%s more than %d times\n", program, option->name,
                    MD_OPTION_LIST_MAX);
            return MD_ERR_FULL;
        }
        list->item[list->count++] = argument;
        return MD_OK;
    }
    return MD_ERR_MALFORMED;
}

int md_options_parse(const char *program, const struct md_option *options, size_t count, int argc,
                     char **argv, struct md_option_list *words)
{
    bool only_words = false;

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];

        if (only_words || word[0] != '-' || !word[1]) {
            if (words->count == MD_OPTION_LIST_MAX) {
                fprintf(stderr, "%s: too many arguments\n", program);
                return MD_ERR_FULL;
            }
            words->item[words->count++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_words = true;
            continue;
        }
        word += word[1] == '-' ? 2 : 1;
        size_t length = strcspn(word, "=");
        const struct md_option *option = option_find(options, count, word, length);
        if (!option)
            return unknown_option(program, options, count, word, length);
        const char *argument = word[length] == '=' ? word + length + 1 : NULL;
        if (option->kind == MD_OPTION_FLAG && argument) {
            fprintf(stderr, "%s: -%s takes no argument\n", program, option->name);
            return MD_ERR_MALFORMED;
        }
        if (option->kind != MD_OPTION_FLAG && !argument && ++i == argc) {
            fprintf(stderr, "%s: -%s needs an argument: -%s %s\n", program, option->name,
                    option->name, option->argument);
            return MD_ERR_MALFORMED;
        }
        if (option->kind != MD_OPTION_FLAG && !argument)
            argument = argv[i];
        int rc = option_store(program, option, argument);
        if (rc)
            return rc;
    }
    return MD_OK;
}

static void help_print(const struct md_program *program, const struct md_option *options,
                       size_t count)
{
    printf("%s\n\nusage: %s [option]...%s%s\n\n", program->summary, program->name,
           program->positional ? " " : "", program->positional ? program->positional : "");
    for (size_t i = 0; i < count; i++) {
        char left[64];

        if (!options[i].help)
            continue;
        snprintf(left, sizeof(left), "-%s%s%s", options[i].name, options[i].argument ? " " : "",
                 options[i].argument ? options[i].argument : "");
        printf("  %-20s %s\n", left, options[i].help);
    }
    printf("\nWithout -fg and -d it %s.\n", program->is_background
                                                ? "goes to the background, as with -d"
                                                : "stays in the foreground and logs to logTarget");
    printf("All options may be written with two dashes. Exit codes: 0 normal, 1 configuration,\n"
           "2 file, 3 port in use, 4 no rrcpd (with -noretry). See %s(%u), rmds.cnf(5).\n",
           program->name, program->section ? program->section : 8);
}

void md_version_print(const char *program)
{
    printf("%s %s (%s)\n%s", program, RMDS_VERSION, RMDS_COMMIT, RMDS_FEATURES);
}

void md_conf_to_log(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                    const char *text)
{
    static const enum md_log_severity severities[] = {
        [MD_CONF_INFO] = MD_LOG_INFO,
        [MD_CONF_WARNING] = MD_LOG_WARNING,
        [MD_CONF_ERROR] = MD_LOG_ERROR,
    };

    (void)arg;
    if (file)
        md_log(severities[severity], "%s:%u: %s", file, line, text);
    else
        md_log(severities[severity], "configuration: %s", text);
}

void md_conf_stderr(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                    const char *text)
{
    static const char *const names[] = {
        [MD_CONF_INFO] = "note: ", [MD_CONF_WARNING] = "", [MD_CONF_ERROR] = "error: "
    };
    const char *program = arg;

    if (file && line)
        fprintf(stderr, "%s: %s:%u: %s%s\n", program, file, line, names[severity], text);
    else if (file)
        fprintf(stderr, "%s: %s: %s%s\n", program, file, names[severity], text);
    else
        fprintf(stderr, "%s: %s%s\n", program, names[severity], text);
}

static int configuration_load(const struct md_program *program, struct md_options *options,
                              struct md_conf **conf)
{
    if (!options->conf.sink) {
        options->conf.sink = md_conf_stderr;
        options->conf.sink_arg = (void *)(uintptr_t)program->name;
    }
    int rc = md_conf_load(&options->conf, conf);
    if (!*conf)
        return MD_EXIT_FILE;
    if (options->check_config)
        md_conf_print_values(stdout, *conf);
    if (rc) {
        fprintf(stderr, "%s: %u error%s in the configuration%s\n", program->name,
                md_conf_error_count(*conf), md_conf_error_count(*conf) == 1 ? "" : "s",
                options->check_config ? "" : "; not started");
        return MD_EXIT_CONFIG;
    }
    return options->check_config ? MD_EXIT_OK : -1;
}

int md_options_start(const struct md_program *program, int argc, char **argv,
                     struct md_options *options, struct md_conf **conf)
{
    struct md_option all[MD_OPTION_LIST_MAX];
    size_t count = COMMON_COUNT;

    *conf = NULL;
    *options = (struct md_options){ .conf = { .program = program->name },
                                    .allow_root = getenv("RMDS_ALLOW_ROOT") != NULL };
    common_options(options, all);
    all[count++] = (struct md_option){ "help", NULL, MD_OPTION_FLAG, &options->print_help,
                                       "this text (also -h)" };
    all[count++] = (struct md_option){ "h", NULL, MD_OPTION_FLAG, &options->print_help, NULL };
    for (size_t i = 0; i < program->option_count && count < MD_OPTION_LIST_MAX; i++)
        all[count++] = program->options[i];
    if (md_options_parse(program->name, all, count, argc, argv, &options->words))
        return MD_EXIT_CONFIG;
    if (options->print_help || options->print_version || options->print_help_config) {
        if (options->print_help)
            help_print(program, all, count);
        else if (options->print_version)
            md_version_print(program->name);
        else
            md_conf_print_help(stdout, md_conf_program_bit(program->name));
        return MD_EXIT_OK;
    }
    if (!program->positional && md_options_refuse_words(program->name, all, count, &options->words))
        return MD_EXIT_CONFIG;
    if (options->foreground && options->background) {
        fprintf(stderr, "%s: -fg and -d contradict each other: give one of them\n", program->name);
        return MD_EXIT_CONFIG;
    }
    if (program->is_of_network && options->words.count > 0)
        options->conf.network = options->words.item[0];
    if (options->files.count > 0) {
        options->conf.file = options->files.item[0];
        options->conf.more_files = options->files.item + 1;
        options->conf.more_file_count = options->files.count - 1;
    }
    options->conf.defines = options->defines.item;
    options->conf.define_count = options->defines.count;
    options->conf.lines = options->lines.item;
    options->conf.line_count = options->lines.count;
    int rc = configuration_load(program, options, conf);
    if (rc >= 0) {
        md_conf_destroy(*conf);
        *conf = NULL;
    }
    return rc;
}
