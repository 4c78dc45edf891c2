/* fuzz_audit_line.c - any bytes as a line of an audit trail, and as the texts of a record. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/audit/chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line that was written is read again, whatever is in it. */
static void write_and_read(const char *text, size_t size)
{
    static char line[AUDIT_LINE_MAX];
    struct entitle_record record = { .kind = ENTITLE_RECORD_LOGIN };
    struct audit_chain chain, again;

    for (unsigned i = 0; i < ENTITLE_RECORD_TEXTS; i++)
        record.text[i] = (struct entitle_view){ text, size < 2048 ? size : 2048 };
    audit_chain_init(&chain);
    again = chain;
    size_t length = audit_chain_record(&chain, 3, 1234567890123456789u, &record, line);
    if (line[length - 1] != '\n' || memchr(line, '\n', length - 1) ||
        audit_chain_follow(&again, line, length - 1) != NULL || strcmp(chain.head, again.head) != 0)
        abort();
    if (audit_line_lost(line, length - 1) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char prev[AUDIT_SUM_SIZE];
    struct audit_chain chain;
    uint64_t n;

    audit_chain_init(&chain);
    bool is_line = audit_line_read(text, size, &n, prev);
    if (!is_line && (audit_chain_follow(&chain, text, size) == NULL ||
                     audit_line_accounts(text, size, "x", 1) || audit_line_lost(text, size)))
        abort();
    write_and_read(text, size);
    return 0;
}
