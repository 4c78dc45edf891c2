/* words.h - rmdsrec: the words of its command line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/options.h"
#include "wire.h"

#define PROGRAM "rmdsrec"

/* The command line, before it is understood. */
struct words {
    const char *file;                                  /* of the verb */
    const char *output, *host, *list, *names, *domain; /* record */
    const char *network, *instance, *run_dir;          /* record, from the backbone */
    const char *name;                                  /* record: of its figures */
    const char *service_items;                         /* record: of one service */
    bool follows;
    const char *user, *password_file, *position, *application_id, *window;
    const char *secs, *buffer, *level, *images, *sync, *rotate_bytes, *rotate_seconds;
    const char *from, *to;                                                   /* export */
    const char *port, *address, *speed, *id, *as, *wait_items, *max_buffers; /* replay */
    const char *other;                                                       /* compare */
    const char *csv;                                                         /* import */
    const char *control; /* record, replay: path of the socket */
    char tells[1001];    /* tell: the words behind the socket; a console takes 1,000 bytes */
    bool loops, ends, takes_input;
    const char *dict;
    struct md_option_list services;
    struct wire_words wire;
    bool is_series; /* info, export, replay: with the further files of the series */
    bool images_too, help, version;
};

enum exit_code {
    REC_OK = 0,
    REC_OPTIONS = 1,
    REC_FILE = 2,
    REC_NO_LOGIN = 3, /* record: not logged in at the end; replay: the port is in use */
    REC_NOT_OPEN = 4, /* record: not every item was opened */
    REC_DAMAGED = 5,  /* a recording that is not whole, or a recorder that has lost messages */
    REC_DENIED = 6,   /* record: rrcpd does not let it see what others have open */
};

/* One line on standard error; REC_OPTIONS. `value` may be NULL. */
int rec_usage(const char *what, const char *value);
bool rec_parse_uint(const char *text, uint64_t low, uint64_t high, uint64_t *out);
bool rec_parse_real(const char *text, double low, double high, double *out);

#endif
