/* conf/options.h - the command line and the start of configuration that all daemons share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_OPTIONS_H
#define MD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

/* Exit codes of every program that reads rmds.cnf. */
enum md_exit {
    MD_EXIT_OK = 0,
    MD_EXIT_CONFIG = 1,
    MD_EXIT_FILE = 2,
    MD_EXIT_PORT = 3,   /* port in use */
    MD_EXIT_ATTACH = 4, /* no rrcpd for attachTimeout, with -noretry */
};

enum md_option_kind {
    MD_OPTION_FLAG,   /* bool: set to true */
    MD_OPTION_STRING, /* const char *: the argument */
    MD_OPTION_LIST,   /* struct md_option_list: the argument is appended */
};

#define MD_OPTION_LIST_MAX 64

struct md_option_list {
    const char *item[MD_OPTION_LIST_MAX];
    size_t count;
};

/* An option of a program: -name or --name, its argument as the next word or after '='. */
struct md_option {
    const char *name;
    const char *argument; /* for the help, e.g. "FILE"; NULL for a flag */
    enum md_option_kind kind;
    void *target;
    const char *help;
};

/* A program's name and help; constant. */
struct md_program {
    const char *name;                /* "p2ps" */
    const char *summary;             /* one line: "p2ps - serves consumers from the backbone" */
    unsigned section;                /* of its manual page; 0: 8 */
    const char *positional;          /* "[NETWORK]", or NULL if it takes no bare words */
    bool is_of_network;              /* that word is its network, which is part of its name */
    bool is_background;              /* without -fg and -d: it goes to the background */
    const struct md_option *options; /* its own, besides the common ones */
    size_t option_count;
};

/* The options of a command line. Bare words are in `words`. */
struct md_options {
    struct md_conf_options conf;
    struct md_option_list files; /* -c, once or more */
    struct md_option_list defines;
    struct md_option_list lines;
    struct md_option_list words;
    bool foreground;       /* -fg */
    bool background;       /* -d */
    bool no_retry;         /* -noretry */
    bool allow_root;       /* -allow-root, or RMDS_ALLOW_ROOT in the environment */
    const char *log_file;  /* -log; NULL: from the configuration */
    const char *log_level; /* -loglevel; NULL: from the configuration */
    bool check_config, print_version, print_help, print_help_config;
};

/*
 * Parse a table of options only, for tools: -x and --x are the same, in any order; a lone "-" and
 * what follows "--" are bare words. An unknown option is explained on standard error with the
 * nearest known one. Returns 0, or MD_ERR_MALFORMED.
 */
int md_options_parse(const char *program, const struct md_option *options, size_t count, int argc,
                     char **argv, struct md_option_list *words);

/* For programs that take no bare words: names the first one on standard error, with the nearest
 * option. Returns 0 if there is none, or MD_ERR_MALFORMED. */
int md_options_refuse_words(const char *program, const struct md_option *options, size_t count,
                            const struct md_option_list *words);

/*
 * The whole start of a daemon up to the first socket: parse the command line, answer -help,
 * -version, -help-config and -checkconfig, load the configuration, say every finding on standard
 * error. Returns -1 to go on with *conf the caller's, or the exit code to leave main() with.
 */
int md_options_start(const struct md_program *program, int argc, char **argv,
                     struct md_options *options, struct md_conf **conf);

/* "conf/rmds.cnf:41: ..." in the log: a sink for reloads; `arg` is not used. */
void md_conf_to_log(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                    const char *text);

/* "p2ps: conf/rmds.cnf:41: ..." on standard error: a sink; `arg` is the program's name. */
void md_conf_stderr(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                    const char *text);

/* Version, commit and what was built in ("p2ps 0.1.0 (1a2b3c4) ...") on standard output. */
void md_version_print(const char *program);

#endif
