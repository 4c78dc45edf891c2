/* conf/table.h - the one table of every parameter of rmds.cnf. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_TABLE_H
#define MD_CONF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parsing, checking, -help-config, docs/reference and the manual page all come from these rows, so
 * a parameter is documented by the same line that makes it exist (src/conf/table.c).
 */

/* The programs that read a parameter: bits. */
enum md_conf_program {
    MD_CONF_P2PS = 1,
    MD_CONF_SRC_DIST = 2,
    MD_CONF_RRCPD = 4,
    MD_CONF_TOOLS = 8, /* tools/rmds */
    MD_CONF_RMDSREC = 16,
};

/*
 * The objects of rmds.cnf; "N.I" is <node>.<instance>. A row lists the objects that have the
 * parameter as bits (1u << kind). A parameter that an object does not find under its own path is
 * looked up at the next more general object that has it too (user and port -> daemon).
 */
enum md_conf_kind {
    MD_CONF_DAEMON,  /* N.I.<daemon> */
    MD_CONF_PORT,    /* N.I.p2ps.port.<name> */
    MD_CONF_USER,    /* N.I.p2ps.user.<name> */
    MD_CONF_ROUTE,   /* N.I.src_dist.<name>.route */
    MD_CONF_BUS,     /* N.I.src_dist.server.ipc.transmissionBus */
    MD_CONF_SERVICE, /* N.I.<daemon>.service.<name> */
    MD_CONF_RRCP,    /* N.I.<daemon>.<network>.rrcp */
    MD_CONF_LOGGER,  /* N.I.<daemon>.logger */
    MD_CONF_SHMEM,   /* N.I.<daemon>.shmem */
    MD_CONF_RMDS,    /* N.I.rmds */
    MD_CONF_KINDS
};

enum md_conf_type {
    MD_CONF_INTEGER, /* decimal or 0x hex; k=1000, K=1024, M, G */
    MD_CONF_BOOLEAN,
    MD_CONF_STRING,
    MD_CONF_LIST, /* comma separated */
    MD_CONF_TIME, /* a bare number in the row's unit, or with us, ms, s; kept in nanoseconds */
    MD_CONF_PORT_NUMBER, /* 0..65535, or a name of /etc/services */
    MD_CONF_WORD,        /* one of row->words */
    MD_CONF_PATH,
    MD_CONF_ADDRESS, /* numeric IPv4 or IPv6, or a name */
    MD_CONF_CPUS,    /* CPU list: 0,2-4 */
    MD_CONF_PERCENT, /* a decimal fraction is allowed; kept in parts per million (1 % = 10000) */
};

#define MD_CONF_DYN     1u /* SIGHUP changes it in a running daemon */
#define MD_CONF_INDEXED 2u /* written name.0, name.1 ... */
#define MD_CONF_SSL     4u /* absent, because it is about the protocol before RSSL */

struct md_conf_row {
    const char *name;
    unsigned kinds;    /* 1u << enum md_conf_kind */
    unsigned programs; /* enum md_conf_program bits */
    unsigned flags;    /* MD_CONF_DYN ... */
    enum md_conf_type type;
    const char *unit;     /* for people; for a time the unit of a bare number: us ms s 100ms */
    int64_t min, max;     /* integers, ports; for a time in nanoseconds; 0, 0 is no limit */
    const char *fallback; /* the default, as it would stand in the file; "" is empty or unset */
    const char *words;    /* accepted words, "a|b|c" */
    const char *meaning;  /* one or two sentences for the manual */
};

/* All rows in the order of the manual. */
extern const struct md_conf_row md_conf_rows[];
extern const size_t md_conf_row_count;

/* Parameters that are known, so that old files load, but that nothing here heeds: name, kinds,
 * programs, MD_CONF_SSL; the meaning is a note or "". */
extern const struct md_conf_row md_conf_absent[];
extern const size_t md_conf_absent_count;

/* The row of parameter `name` (any case) at objects of `kind` in `programs`; NULL if none. */
const struct md_conf_row *md_conf_row_find(const char *name, enum md_conf_kind kind,
                                           unsigned programs);

/* True: the parameter is absent, at one of these kinds (bits) in one of these programs. */
bool md_conf_is_absent(const char *name, unsigned kinds, unsigned programs);

/* "p2ps" -> MD_CONF_P2PS; aliases ads, adh, mdh are known; 0 when it is none of ours. */
unsigned md_conf_program_bit(const char *program);

#endif
