/* audit.c - see audit.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/err.h"
#include "conf/options.h"

static bool read_head(const char *head, struct audit_check *check)
{
    char *end;

    check->wanted = strtoull(head, &end, 10);
    if (check->wanted == 0 || *end != ':' || strlen(end + 1) != AUDIT_SUM_SIZE - 1)
        return false;
    memcpy(check->wanted_sum, end + 1, AUDIT_SUM_SIZE);
    return true;
}

static void tell_gaps(const struct audit_check *check)
{
    if (check->first > 1)
        printf("  it begins at line %" PRIu64 ": older files are not kept\n", check->first);
    if (check->cuts)
        printf("  unfinished lines of processes that were killed, each accounted for: %u\n",
               check->cuts);
    if (check->truncated)
        printf("  the last line is not finished (%" PRIu64
               " bytes): a running p2ps is writing it, or one was killed\n",
               check->truncated);
    if (check->lost)
        printf("  records that found accessAuditQueue full: %" PRIu64 "\n", check->lost);
}

int audit_verify(const char *path, const char *head)
{
    struct audit_check check = { .wanted = 0 };

    if (head && !read_head(head, &check)) {
        fprintf(stderr,
                "rmdsaccess: \"%s\" is no LINE:SHA256; the log of p2ps has them (audit trail)\n",
                head);
        return MD_EXIT_CONFIG;
    }
    int err = audit_check(path, NULL, NULL, &check);
    if (err != MD_OK) {
        printf("%s\n", check.wrong[0] ? check.wrong : md_err_name(err));
        return err == MD_ERR_MALFORMED ? MD_EXIT_CONFIG : MD_EXIT_FILE;
    }
    printf("%s: whole: %" PRIu64 " lines in %u file%s; line %" PRIu64 " has SHA-256 %s\n", path,
           check.lines, check.files, check.files == 1 ? "" : "s", check.last, check.head);
    tell_gaps(&check);
    return MD_EXIT_OK;
}
