/* rmdsaccess - who may see and post what, and who did: the access file and the audit trail. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "base/err.h"
#include "conf/options.h"
#include "rules.h"
#include "usage.h"

static const char usage[] =
    "rmdsaccess - who may see and post what, and who did: the access file, the audit trail\n"
    "\n"
    "usage: rmdsaccess check FILE\n"
    "       rmdsaccess explain FILE USER SERVICE ITEM [KEY=VALUE]...\n"
    "       rmdsaccess who FILE SERVICE ITEM [KEY=VALUE]...\n"
    "       rmdsaccess what FILE USER\n"
    "       rmdsaccess test FILE CASES\n"
    "       rmdsaccess diff OLD NEW [CASES | sessions=FILE]\n"
    "       rmdsaccess lock [combine] DATA...\n"
    "       rmdsaccess hash\n"
    "       rmdsaccess tokenhash\n"
    "       rmdsaccess [-c FILE] token TOKEN|- [KEY=VALUE]...\n"
    "       rmdsaccess audit verify FILE [LINE:SHA256]\n"
    "       rmdsaccess [option]... audit usage FILE\n"
    "\n"
    "  check          mistakes of an access file, and lines that may not do what they should\n"
    "  explain        the verdict about a user and an item, and each line that led to it; the\n"
    "                 password is taken as right; exit code 1 if it is denied\n"
    "  who            each user who may; keys as for explain\n"
    "                 do=view|post|private domain=NUMBER lock=DATA from=ADDRESS application=ID\n"
    "                 position=TEXT tls=yes|no roles=ROLE,... claims=JSON\n"
    "  what           each line that is about the user or a role of his, and his limits\n"
    "  test           cases with the verdict that is expected, one a line:\n"
    "                 USER SERVICE ITEM [KEY=VALUE]... = allow|deny; exit code 1: one differs\n"
    "  diff           what changes for each user from one file to the other, or of the verdicts\n"
    "                 about the cases, or which sessions end: FILE has the JSON of rmdsmon -once\n"
    "                 -json, or of the status page; exit code 1: something does\n"
    "  lock           permission data, in hexadecimal digits or base64, as text; combine:\n"
    "                 those that need what all of them need\n"
    "  hash           a password, from the terminal or standard input, for hash= of a user line\n"
    "  tokenhash      a token, likewise, for tokenhash= of a user line\n"
    "  token          a signed token (JWT), or - for standard input: is it good, and which check\n"
    "                 fails? jwks=FILE issuer=TEXT audience=TEXT scope=WORD user=CLAIM\n"
    "                 algorithms=LIST skew=SECONDS life=SECONDS, or those of the p2ps of -c\n"
    "  audit verify   is the chain of the trail whole, from the oldest file that is kept? With\n"
    "                 the head that the log of p2ps named also: is it the same trail?\n"
    "  audit usage    who used which items by entitlement code, as CSV; needs a trail of\n"
    "                 accessAuditLevel items\n"
    "\n"
    "  -c FILE        token: the rmds.cnf whose jwksFile, jwtIssuer, ... count\n"
    "  -from TIME     usage: from then on, 2027-01-01 or 2027-01-01T08:00 (UTC)\n"
    "  -to TIME       usage: before then\n"
    "  -version       version and what is built in\n"
    "  -help          this text (also -h)\n"
    "\n"
    "All options may be written with two dashes. Exit codes: 1 no, something differs, a trail "
    "that\n"
    "was changed, or the command line; 2 a file cannot be read or has mistakes, or permission "
    "data\n"
    "cannot be read.\n";

static int audit(const struct md_option_list *words, const char *from, const char *to)
{
    const char *const *word = words->item;

    if ((words->count == 3 || words->count == 4) && strcmp(word[1], "verify") == 0)
        return audit_verify(word[2], words->count == 4 ? word[3] : NULL);
    if (words->count == 3 && strcmp(word[1], "usage") == 0)
        return audit_usage(word[2], from, to, stdout);
    fputs(usage, stderr);
    return MD_EXIT_CONFIG;
}

static int lock(const char *const words[], size_t count)
{
    if (count > 1 && strcmp(words[0], "combine") == 0)
        return access_combine(words + 1, count - 1);
    return access_lock(words, count);
}

static int run(const struct md_option_list *words, const char *from, const char *to,
               const char *conf)
{
    static const struct {
        const char *name;
        size_t least, most; /* words behind it */
        int (*run)(const char *const words[], size_t count);
    } verbs[] = {
        { "check", 1, 1, access_check },
        { "explain", 4, MD_OPTION_LIST_MAX, access_explain },
        { "who", 3, MD_OPTION_LIST_MAX, access_who },
        { "hash", 0, 0, access_hash },
        { "tokenhash", 0, 0, access_tokenhash },
        { "what", 2, 2, access_what },
        { "test", 2, 2, access_test },
        { "diff", 2, 3, access_diff },
        { "lock", 1, MD_OPTION_LIST_MAX, lock },
    };

    if (words->count > 1 && strcmp(words->item[0], "audit") == 0)
        return audit(words, from, to);
    if (words->count > 1 && strcmp(words->item[0], "token") == 0)
        return access_token(words->item + 1, words->count - 1, conf);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]) && words->count > 0; i++) {
        size_t count = words->count - 1;

        if (strcmp(words->item[0], verbs[i].name) == 0 && count >= verbs[i].least &&
            count <= verbs[i].most)
            return verbs[i].run(words->item + 1, count);
    }
    fputs(usage, stderr);
    return MD_EXIT_CONFIG;
}

int main(int argc, char **argv)
{
    struct md_option_list words = { .count = 0 };
    const char *from = NULL, *to = NULL, *conf = NULL;
    bool help = false, version = false;
    const struct md_option options[] = {
        { "c", "FILE", MD_OPTION_STRING, &conf, "" },
        { "from", "TIME", MD_OPTION_STRING, &from, "" },
        { "to", "TIME", MD_OPTION_STRING, &to, "" },
        { "version", NULL, MD_OPTION_FLAG, &version, "" },
        { "help", NULL, MD_OPTION_FLAG, &help, "" },
        { "h", NULL, MD_OPTION_FLAG, &help, "" },
    };

    if (md_options_parse("rmdsaccess", options, sizeof(options) / sizeof(options[0]), argc, argv,
                         &words) != MD_OK)
        return MD_EXIT_CONFIG;
    if (version)
        md_version_print("rmdsaccess");
    else if (help)
        fputs(usage, stdout);
    return help || version ? MD_EXIT_OK : run(&words, from, to, conf);
}
