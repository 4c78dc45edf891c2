/* record_daemon.h - the daemon of a recorder, as its parts know it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_DAEMON_H
#define RECORD_DAEMON_H

#include "attach/settings.h"
#include "daemon/daemon.h"
#include "daemon/memory.h"
#include "record.h"

struct record_daemon {
    struct daemon daemon;
    struct daemon_memory memory;
    struct recorder recorder;
    struct attach_settings network; /* of one on the backbone: its name and where rrcpd is */
    char services[SERVICES_MAX][256];
    /* Counters of the second before, and when they last grew. */
    struct record_seen {
        uint64_t count, grown_ns;
    } lost, refused, overruns;
};

/* record_conf.c: rmds.cnf to a recorder, before anything is made. MD_OK, or an error that is
 * logged. */
int record_conf_read(struct record_daemon *self);
/* The parameters that a reload may change. */
void record_conf_take(struct recorder *recorder, const struct md_conf_object *daemon);
int record_conf_plan(struct record_daemon *self);

/* record_troubles.c: once a second what keeps the recorder from its work. False: it cannot record
 * now. */
bool record_troubles_look(void *owner);
/* The same in lines, with what it does, for rmdsctl. */
void record_troubles_tell(void *owner, struct daemon_text *text);

/* main() calls it when no verb is there. Returns the exit code. */
int record_daemon_main(int argc, char **argv);

#endif
