/* daemon/admin.h - what an operator may tell a daemon while it runs: a socket of this host, for
 * rmdsctl. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

/*
 * A stream socket "ctl" in the daemon's folder of runDir, mode 0600, that answers the user of the
 * daemon and root, by the kernel's word (SO_PEERCRED), and nobody else. A client sends one line,
 * its words separated by tabs (or, if it has no tab, by blanks), and gets "ok" or "error: ..." as
 * the first line, then text, then the end of the connection.
 *
 * Each change is in the log with who asked for it; beyond 32 in a second they are refused.
 *
 * Bounded: 8 connections, 512 bytes of request, 10 s from the connection to the end of the answer,
 * 4 MiB of answer. All of it happens on the control loop; a verb that needs the data of another
 * thread asks that thread and answers later.
 */
#define DAEMON_ADMIN_CONNECTIONS 8
#define DAEMON_ADMIN_REQUEST     512u
#define DAEMON_ADMIN_WORDS       16
#define DAEMON_ADMIN_TIMEOUT_NS  10000000000ull
#define DAEMON_ADMIN_ANSWER      (4u << 20)

struct daemon;
struct daemon_admin;
struct daemon_request;

/* Text that grows up to a bound; what is beyond it is left out, and said at the end. */
struct daemon_text {
    char *bytes;
    size_t length, room, max;
    bool is_cut;
};

void daemon_text_add(struct daemon_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Bytes from elsewhere as one word: blanks, control bytes and what is not ASCII as \xNN. */
void daemon_text_add_word(struct daemon_text *text, const char *bytes, size_t length);
void daemon_text_add_bytes(struct daemon_text *text, const char *bytes, size_t length);
void daemon_text_free(struct daemon_text *text);

/* A verb of a daemon. */
struct daemon_verb {
    const char *name;  /* "kick" */
    const char *words; /* of the help: "ID | user NAME | all" */
    const char *help;  /* one line */
    unsigned least;    /* words behind the verb that it needs */
    bool changes;      /* something: the log has it as NOTICE, else as INFO */
    /* Answers with daemon_request_done() or daemon_request_refuse(), now or later. */
    void (*act)(void *owner, struct daemon_request *request);
};

/*
 * Open the socket; the verbs are those of the program, beside the ones that every daemon has. The
 * daemon goes on without the socket when it cannot be had; the log says why.
 */
void daemon_admin_open(struct daemon *daemon, const struct daemon_verb *verbs, size_t count,
                       void *owner);
void daemon_admin_close(struct daemon_admin *admin); /* NULL is allowed; frees all requests */

/* Where the socket of that daemon is, by its folder, "p2ps.1": the one place that knows. False:
 * longer than a socket's name may be. */
bool daemon_admin_path(const char *run_dir, const char *folder, char *out, size_t size);
#define DAEMON_ADMIN_FILE "ctl"

/* ---- for verbs ---- */

/* The words behind the verb; NULL past the last. */
struct daemon *daemon_request_daemon(const struct daemon_request *request);
const char *daemon_request_word(const struct daemon_request *request, unsigned number);
/* The answer's text so far. */
struct daemon_text *daemon_request_text(struct daemon_request *request);
/* The answer is complete; `outcome`, a few words, goes to the log with who asked. */
void daemon_request_done(struct daemon_request *request, const char *outcome, ...)
    __attribute__((format(printf, 2, 3)));
void daemon_request_refuse(struct daemon_request *request, const char *why, ...)
    __attribute__((format(printf, 2, 3)));

#endif
