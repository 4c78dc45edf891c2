/* rmdscnf - check a configuration, say what a program would read from it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/conf.h"
#include "conf/explain.h"
#include "conf/options.h"
#include "look.h"
#include "metrics.h"

static const char usage[] =
    "rmdscnf - check a configuration, say what a program would read from it\n"
    "\n"
    "usage: rmdscnf [option]... check FILE...\n"
    "       rmdscnf [option]... get FILE PROGRAM[.INSTANCE] PARAMETER\n"
    "       rmdscnf [option]... list [FILE PROGRAM[.INSTANCE]]\n"
    "       rmdscnf reference markdown|scdoc|cnf\n"
    "       rmdscnf metrics markdown|alerts|dashboard\n"
    "\n"
    "  check       every line against the table of parameters; exit code 1 if there are errors;\n"
    "              further files are read behind the first, as with -c more than once;\n"
    "              with -files also what the lines name: certificates and keys, access files,\n"
    "              dictionaries, folders, interfaces and ports of this host\n"
    "  get         the effective value and the line that set it; PARAMETER may stand at an "
    "object:\n"
    "              port.14002.pingTimeout, user.jim.itemLimit, service.RDFD.cacheType,\n"
    "              1.route.hostList, transmissionBus.poolSize, net1.rrcp.userQLimit\n"
    "  list        every parameter there is; with FILE every effective value of the program\n"
    "  reference   the table as Markdown, as the manual page rmds.cnf(5), as a file to edit\n"
    "  metrics     the metrics of /metrics as Markdown, as alert rules of Prometheus, as a\n"
    "              dashboard of Grafana\n"
    "\n"
    "  -node NAME       look with the eyes of this node\n"
    "  -D WORD=VALUE    what {WORD} stands for in the file\n"
    "  -set 'LINE'      a line that stands after the file\n"
    "  -files           check: look into what the lines name, on this host\n"
    "  -strict          unknown names, and '=' in place of ':', are errors\n"
    "  -version         version and what is built in\n"
    "  -help            this text (also -h)\n"
    "\n"
    "All options may be written with two dashes.\n";

struct request {
    struct md_conf_options conf;
    struct md_option_list defines, lines, words;
    char program[64];
    bool files, help, version;
};

static int load(struct request *request, const char *file, struct md_conf **conf)
{
    request->conf.file = file;
    request->conf.defines = request->defines.item;
    request->conf.define_count = request->defines.count;
    request->conf.lines = request->lines.item;
    request->conf.line_count = request->lines.count;
    int rc = md_conf_load(&request->conf, conf);
    return !*conf ? MD_EXIT_FILE : rc ? MD_EXIT_CONFIG : MD_EXIT_OK;
}

/* What check has said: the lines are read once for each daemon, and each finding is said once. */
struct findings {
    char **said;
    size_t count;
    unsigned errors, warnings;
};

static bool is_new(struct findings *findings, const char *text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->said[i], text) == 0)
            return false;
    char **more = realloc(findings->said, (findings->count + 1) * sizeof(char *));
    if (!more)
        return true;
    findings->said = more;
    findings->said[findings->count] = strdup(text);
    if (findings->said[findings->count])
        findings->count++;
    return true;
}

/* Without the program's name before them: "FILE:LINE: ...", as compilers and editors have it. */
static void print_finding(void *arg, enum md_conf_severity severity, const char *file,
                          unsigned line, const char *text)
{
    static const char *const names[] = {
        [MD_CONF_INFO] = "note", [MD_CONF_WARNING] = "warning", [MD_CONF_ERROR] = "error"
    };
    struct findings *findings = arg;
    char all[2048];

    if (file && line)
        snprintf(all, sizeof(all), "%s:%u: %s: %s", file, line, names[severity], text);
    else
        snprintf(all, sizeof(all), "%s%s%s: %s", file ? file : "", file ? ": " : "",
                 names[severity], text);
    if (!is_new(findings, all))
        return;
    puts(all);
    findings->errors += severity == MD_CONF_ERROR;
    findings->warnings += severity == MD_CONF_WARNING;
}

/* Relations between values concern one program: check with the eyes of each daemon. */
static int check(struct request *request)
{
    static const char *const programs[] = { "rmdscnf", "p2ps", "src_dist", "rrcpd", "rmdsrec" };
    struct findings findings = { 0 };
    int code = MD_EXIT_OK;

    request->conf.sink = print_finding;
    request->conf.sink_arg = &findings;
    for (size_t i = 0; i < 5 && code != MD_EXIT_FILE; i++) {
        struct md_conf *conf;

        request->conf.program = programs[i];
        code = load(request, request->words.item[1], &conf);
        md_conf_destroy(conf);
    }
    if (code != MD_EXIT_FILE && request->files) {
        static struct look look;

        look = (struct look){ .sink = print_finding, .sink_arg = &findings };
        code = look_at_files(&request->conf, &look);
    }
    for (size_t i = 0; i < findings.count; i++)
        free(findings.said[i]);
    free(findings.said);
    if (code == MD_EXIT_FILE)
        return code;
    printf("%s: %u error%s, %u warning%s\n", request->words.item[1], findings.errors,
           findings.errors == 1 ? "" : "s", findings.warnings, findings.warnings == 1 ? "" : "s");
    return findings.errors ? MD_EXIT_CONFIG : MD_EXIT_OK;
}

/* "p2ps.2" into program and instance. */
static bool program_split(struct request *request, const char *text)
{
    const char *dot = strchr(text, '.');
    size_t length = dot ? (size_t)(dot - text) : strlen(text);
    char *program = request->program;

    if (length >= sizeof(request->program))
        length = sizeof(request->program) - 1;
    memcpy(program, text, length);
    program[length] = '\0';
    request->conf.program = program;
    if (dot)
        request->conf.instance = dot + 1;
    if (md_conf_program_bit(program))
        return true;
    fprintf(stderr, "rmdscnf: no program %s; there are p2ps, src_dist, rrcpd, rmdsrec and rmds\n",
            program);
    return false;
}

/* How an object is written before a parameter; '%' is its name. */
static const struct {
    const char *before, *after;
    enum md_conf_kind kind;
} forms[] = {
    { "port.", ".", MD_CONF_PORT },
    { "user.", ".", MD_CONF_USER },
    { "service.", ".", MD_CONF_SERVICE },
    { "server.ipc.transmissionBus.", NULL, MD_CONF_BUS },
    { "transmissionBus.", NULL, MD_CONF_BUS },
    { "logger.", NULL, MD_CONF_LOGGER },
    { "shmem.", NULL, MD_CONF_SHMEM },
    { "", ".route.", MD_CONF_ROUTE },
    { "", ".rrcp.", MD_CONF_RRCP },
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "port.14002.pingTimeout" -> the object and its parameter; false when it is a bare parameter. */
static bool object_split(const struct md_conf *conf, const char *text,
                         struct md_conf_object *object, const char **param)
{
    char name[256];

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (!starts_with(text, forms[i].before))
            continue;
        const char *rest = text + strlen(forms[i].before);
        const char *end = forms[i].after ? strstr(rest, forms[i].after) : rest;
        if (!end || (size_t)(end - rest) >= sizeof(name) || (forms[i].after && end == rest))
            continue;
        memcpy(name, rest, (size_t)(end - rest));
        name[end - rest] = '\0';
        *object = md_conf_object(conf, forms[i].kind, name);
        *param = end + (forms[i].after ? strlen(forms[i].after) : 0);
        return true;
    }
    return false;
}

/* Where a bare parameter stands: at the daemon, or at the one object of that kind one means. */
static bool object_guess(const struct md_conf *conf, const char *param,
                         struct md_conf_object *object)
{
    unsigned bit = md_conf_program_bit(md_conf_program(conf));
    char base[64];

    snprintf(base, sizeof(base), "%.*s", (int)strcspn(param, "."), param);
    for (int kind = 0; kind < MD_CONF_KINDS; kind++)
        if (md_conf_row_find(base, (enum md_conf_kind)kind, bit)) {
            const char *name = kind == MD_CONF_ROUTE ? "1" : NULL;
            struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);

            if (kind == MD_CONF_DAEMON && md_conf_row_find(base, MD_CONF_PORT, bit)) {
                kind = MD_CONF_PORT;
                name = md_conf_string(&daemon, "rsslPort");
            }
            *object = md_conf_object(conf, (enum md_conf_kind)kind, name);
            return true;
        }
    return false;
}

static int get(struct request *request)
{
    struct md_conf *conf;
    struct md_conf_object object;
    char base[64];
    const char *param = request->words.item[3];

    if (!program_split(request, request->words.item[2]))
        return MD_EXIT_CONFIG;
    int code = load(request, request->words.item[1], &conf);
    if (code == MD_EXIT_FILE)
        return code;
    bool found = object_split(conf, param, &object, &param) || object_guess(conf, param, &object);
    snprintf(base, sizeof(base), "%.*s", (int)strcspn(param, "."), param);
    if (!found || !md_conf_row_find(base, object.kind, md_conf_program_bit(request->program))) {
        fprintf(stderr,
                md_conf_is_absent(base, ~0u, md_conf_program_bit(request->program))
                    ? "rmdscnf: %s heeds no %s: it is not in this version\n"
                    : "rmdscnf: %s has no parameter %s there; rmdscnf list shows all\n",
                request->program, request->words.item[3]);
        md_conf_destroy(conf);
        return MD_EXIT_CONFIG;
    }
    struct md_conf_value value = md_conf_value(&object, param);
    if (value.file)
        printf("%s\t%s:%u\n", value.text, value.file, value.line);
    else
        printf("%s\tdefault\n", value.text);
    md_conf_destroy(conf);
    return code;
}

static int list(struct request *request)
{
    struct md_conf *conf;

    if (request->words.count < 3) {
        md_conf_print_help(stdout, ~0u);
        return MD_EXIT_OK;
    }
    if (!program_split(request, request->words.item[2]))
        return MD_EXIT_CONFIG;
    int code = load(request, request->words.item[1], &conf);
    if (code == MD_EXIT_FILE)
        return code;
    md_conf_print_values(stdout, conf);
    md_conf_destroy(conf);
    return code;
}

static int reference(const struct request *request)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } documents[] = {
        { "markdown", md_conf_print_markdown },
        { "scdoc", md_conf_print_scdoc },
        { "cnf", md_conf_print_cnf },
    };

    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        if (strcmp(request->words.item[1], documents[i].name) == 0) {
            documents[i].print(stdout);
            return MD_EXIT_OK;
        }
    fputs(usage, stderr);
    return MD_EXIT_CONFIG;
}

static int perform(struct request *request)
{
    const char *verb = request->words.count ? request->words.item[0] : "";
    size_t count = request->words.count;

    if (strcmp(verb, "check") == 0 && count >= 2) {
        request->conf.more_files = request->words.item + 2;
        request->conf.more_file_count = count - 2;
        return check(request);
    }
    if (strcmp(verb, "get") == 0 && count == 4)
        return get(request);
    if (strcmp(verb, "list") == 0 && (count == 1 || count == 3))
        return list(request);
    if (strcmp(verb, "reference") == 0 && count == 2)
        return reference(request);
    if (strcmp(verb, "metrics") == 0 && count == 2 && metrics_print(request->words.item[1]))
        return MD_EXIT_OK;
    fputs(usage, stderr);
    return MD_EXIT_CONFIG;
}

int main(int argc, char **argv)
{
    struct request request = {
        .conf = { .program = "rmdscnf", .sink = md_conf_stderr, .sink_arg = (char[]){ "rmdscnf" } },
    };
    const struct md_option options[] = {
        { "node", "NAME", MD_OPTION_STRING, &request.conf.node, NULL },
        { "D", "WORD=VALUE", MD_OPTION_LIST, &request.defines, NULL },
        { "set", "'LINE'", MD_OPTION_LIST, &request.lines, NULL },
        { "files", NULL, MD_OPTION_FLAG, &request.files, NULL },
        { "strict", NULL, MD_OPTION_FLAG, &request.conf.strict, NULL },
        { "version", NULL, MD_OPTION_FLAG, &request.version, NULL },
        { "help", NULL, MD_OPTION_FLAG, &request.help, NULL },
        { "h", NULL, MD_OPTION_FLAG, &request.help, NULL },
    };

    if (md_options_parse("rmdscnf", options, sizeof(options) / sizeof(options[0]), argc, argv,
                         &request.words))
        return MD_EXIT_CONFIG;
    if (request.help || request.version) {
        if (request.help)
            fputs(usage, stdout);
        else
            md_version_print("rmdscnf");
        return MD_EXIT_OK;
    }
    int code = perform(&request);
    return fflush(stdout) == 0 ? code : MD_EXIT_FILE;
}
