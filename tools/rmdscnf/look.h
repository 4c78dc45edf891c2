/* look.h - rmdscnf check -files: what the lines name, on this host. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSCNF_LOOK_H
#define RMDSCNF_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

#define LOOK_PORTS_MAX 512

/* A fixed port that a daemon opens, to find those that are used twice. */
struct look_port {
    uint16_t port;
    bool is_udp;
    char address[64]; /* "" = every address */
    char owner[200];  /* "rsslPort of p2ps.1" */
};

/* One daemon after the other, in the order of startList. */
struct look {
    md_conf_sink_fn sink;
    void *sink_arg;
    const struct md_conf *conf; /* as the daemon reads it */
    char daemon[300];           /* "p2ps.1", for messages */
    unsigned program;           /* enum md_conf_program */
    bool is_here;               /* it runs on this host, in this network namespace */
    struct look_port ports[LOOK_PORTS_MAX];
    unsigned port_count;
};

/* Look at every daemon that startList names, or at one of each kind. `options` without program. */
int look_at_files(const struct md_conf_options *options, struct look *look);

/* find.c: a finding about a parameter, with the line that set it. */
void look_find(const struct look *look, enum md_conf_severity severity,
               const struct md_conf_object *object, const char *param, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* files.c: certificates and keys, access files, dictionaries, folders. */
void look_at_daemon_files(const struct look *look);
void look_at_group_keys(const struct look *look, const struct md_conf_object *rrcp);

/* recorder.c: what a recorder records, and where to. */
void look_at_recorder(const struct look *look);

/* host.c: ports and interfaces of this host. */
void look_at_ports(struct look *look);
void look_at_network(struct look *look, const char *network);

#endif
