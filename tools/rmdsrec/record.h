/* record.h - a recorder, as its parts know it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_H
#define RECORD_H

#include "disk.h"
#include "feed.h"
#include "shown.h"
#include "tap.h"

#define RECORD_PATH_MAX 4001

struct console;

/* Filled by the command line, or by rmds.cnf, up to `image_every_ns`; zeroed before. */
struct recorder {
    struct feed
        feed; /* with a tap: its items, services and dictionary alone. Its loop may be given */
    struct tap_config tap_config;
    bool is_tap; /* records from the backbone */
    struct itemlist list;
    struct disk_config disk_config;
    char source[256];
    char path[RECORD_PATH_MAX]; /* of the first file */
    uint64_t images_bytes;      /* memory of images */
    uint32_t item_limit;        /* of the recording; 0: REC_ITEMS_MAX */
    uint32_t service_limit;     /* of these, of one service; 0: as recorder_start() finds right */
    uint64_t rotate_bytes, rotate_ns, end_ns;
    uint64_t image_every_ns;

    struct tap *tap; /* NULL: records from p2ps */
    struct rec_writer writer;
    struct disk *disk;
    uint64_t cut_ns;      /* the file was begun */
    uint64_t cut_files;   /* a cut was asked for when there were so many */
    uint64_t failed_told; /* chunks */
    uint64_t lost_told;   /* messages */
    uint32_t full_told;   /* services that have all the items they may have */
    uint64_t refused_told;
    bool has_told_full;
    struct md_loop_timer *tick;
    struct shown *shown;            /* NULL: its figures are not shown */
    uint64_t second_ns;             /* when the last second of the rates began, */
    uint64_t second_messages, rate; /* and the messages by then */
    uint64_t second_bytes, byte_rate;

    /* Of the verb. */
    const char *control_path; /* NULL: takes no commands */
    struct console *console;
    const char *name; /* under which its figures are shown; NULL: they are not */
    struct md_loop_signal *signals[3];
};

/* ---- recorder.c ---- */

/* Its items: those of the list, each of each service that was named. MD_OK, or an error with a
 * sentence. */
int recorder_add_services(struct recorder *recorder, const char *const *names, size_t count,
                          char *why, size_t why_size);
int recorder_add_items(struct recorder *recorder, uint8_t domain, char *why, size_t why_size);
/* The path of the first file from its pattern, with the time of now where it asks for that. A
 * recorder that is started again within a second waits for the next one. False: it is too long, or
 * asks for something else. */
bool recorder_name_file(struct recorder *recorder, const char *pattern, const char *instance);
/* Where "HOST" or "HOST:PORT" leads. MD_ERR_MALFORMED, MD_ERR_NOMEM. */
int recorder_host(struct recorder *recorder, const char *text);
/* The first line of a file. MD_ERR_SYS, MD_ERR_RANGE: more than 127 bytes. */
int recorder_password(struct recorder *recorder, const char *path);

/* From now on it records. MD_OK, or an error after it has said why. */
int recorder_start(struct recorder *recorder);
/* It is to end: the loop stops, once it has left in order. */
void recorder_stop(struct recorder *recorder);
/* Writes the chunks that wait, and ends the file. Call it once the loop has ended, before the
 * report. */
void recorder_finish(struct recorder *recorder);
/* Frees what is in it; also of one that could not be started. */
void recorder_fini(struct recorder *recorder);
/* Another file, now. */
void recorder_rotate(struct recorder *recorder);

/* ---- record_figures.c ---- */

struct recorder_figures {
    uint32_t open, were_open, items; /* now, and once at least, of so many */
    const char *state;
    bool is_connected; /* to p2ps, or attached to rrcpd */
};

void recorder_figures(const struct recorder *recorder, struct recorder_figures *out);
/* Shows its figures to who looks at them. */
void recorder_show(struct recorder *recorder, uint64_t now_ns);
/* Prints the counts of a recorder that has ended; the result is an enum exit_code. */
int record_report(struct recorder *recorder, uint64_t cpu_ns);

#endif
