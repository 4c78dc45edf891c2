/* daemon/reload.h - SIGHUP: a daemon takes all of a new configuration, or keeps all of the old. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

/*
 * A reload has two halves. First rmds.cnf is read into a new configuration, and the reload hook of
 * the daemon reads every other file (certificates, keys, rules) into new objects; nothing that is
 * in force changes. The hook adds one step for each object, or calls daemon_reload_refuse(). Then
 * all steps commit, in the order in which they were added; or, if anything was refused, all are
 * discarded. A commit cannot fail: what may fail belongs to the first half.
 */
struct daemon;
struct daemon_reload;
struct stats_entry;
struct md_ctr;

enum { DAEMON_RELOAD_WHY = 400 };

struct daemon_reload_step {
    void (*commit)(void *fresh);  /* puts it in force, and owns it from now on */
    void (*discard)(void *fresh); /* destroys it; NULL: nothing to destroy */
    void *fresh;
};

struct daemon_reload {
    struct daemon *daemon;        /* daemon->conf is the old configuration until the commit */
    struct md_conf *conf;         /* the new one; it outlives the commit */
    struct md_conf_object object; /* N.I.<daemon> in it */
    struct daemon_reload_step *steps;
    size_t step_count;
    char why[DAEMON_RELOAD_WHY]; /* the first reason of a refusal; "" */
};

/* Adds a step, which the reload owns from now on; without memory it is discarded at once, and the
 * reload is refused. */
void daemon_reload_add(struct daemon_reload *reload, const struct daemon_reload_step *step);

/* Refuses the reload. The text names the file, the line and what was found; it is logged. */
void daemon_reload_refuse(struct daemon_reload *reload, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How the last reload went, for status, statistics and rmdsctl. */
struct daemon_reloads {
    struct md_ctr *taken, *failed; /* statistics "reloads", "reloadsFailed" */
    struct stats_entry *since;     /* "configTaken": the time of the configuration in force */
    struct stats_entry *note;      /* "reloadFailed"; NULL while the last reload was taken */
    uint64_t since_wall_ns;
    char why[DAEMON_RELOAD_WHY]; /* of the last one, if it failed; "" */
};

/* At the start: the configuration in force is that of now. */
void daemon_reloads_init(struct daemon *daemon);

/* SIGHUP, and rmdsctl. True: all of the new configuration is in force. False: all of the old, and
 * daemon->reloads.why says why. */
bool daemon_reload(struct daemon *daemon);

/* "runs the configuration of 2026-11-22 10:31:07Z", with the failure of the last reload. */
void daemon_reload_words(const struct daemon *daemon, char *out, size_t size);

#endif
