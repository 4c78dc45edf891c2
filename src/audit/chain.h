/* chain.h - the lines of a trail, each with the sum of the one before. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUDIT_CHAIN_H
#define AUDIT_CHAIN_H

#include "audit/audit.h"

/* The longest line: each byte of a text as \u00NN, and what stands around it. */
#define AUDIT_LINE_MAX 196608u

struct audit_chain {
    uint64_t n; /* of the last line; 0: there is none */
    char head[AUDIT_SUM_SIZE];
};

void audit_chain_init(struct audit_chain *chain);

/* Writes the next line with its newline into `out`, AUDIT_LINE_MAX long; returns its length. */
size_t audit_chain_record(struct audit_chain *chain, unsigned ring, uint64_t wall_ns,
                          const struct entitle_record *record, char *out);
size_t audit_chain_lost(struct audit_chain *chain, unsigned ring, uint64_t wall_ns, uint64_t count,
                        char *out);
size_t audit_chain_cut(struct audit_chain *chain, uint64_t wall_ns, const char *part, size_t length,
                       char *out);

/* A line, without its newline, is one of a trail: its number, and the sum of the one before. */
bool audit_line_read(const char *line, size_t length, uint64_t *n, char prev[AUDIT_SUM_SIZE]);
/* Is it the next line of the chain? NULL: it is, and the chain goes on with it; or why not. */
const char *audit_chain_follow(struct audit_chain *chain, const char *line, size_t length);
/* A "cut" line that accounts for this part of a line. */
bool audit_line_accounts(const char *line, size_t length, const char *part, size_t part_length);
/* Of a "lost" line: how many; 0: it is none. */
uint64_t audit_line_lost(const char *line, size_t length);

#endif
