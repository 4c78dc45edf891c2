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

struct recorder {
    struct feed feed; /* with a tap: its items, services and dictionary alone */
    struct tap *tap;  /* NULL: records from p2ps */
    struct tap_config tap_config;
    bool is_tap;
    struct itemlist list;
    struct rec_writer writer;
    struct disk *disk;
    struct disk_config disk_config;
    char source[256];
    char path[RECORD_PATH_MAX]; /* of the first file */
    const char *control_path;   /* NULL: takes no commands */
    struct console *console;
    void (*rotate)(struct recorder *recorder); /* another file, now */
    uint64_t image_every_ns, rotate_bytes, rotate_ns, end_ns;
    uint64_t cut_ns;      /* the file was begun */
    uint64_t cut_files;   /* a cut was asked for when there were so many */
    uint64_t failed_told; /* chunks */
    uint64_t lost_told;   /* messages */
    struct md_loop_timer *tick;
    const char *name; /* under which its figures are shown; NULL: they are not */
    struct shown *shown;
    uint64_t second_ns;             /* when the last second of `rate` began, */
    uint64_t second_messages, rate; /* and the messages by then */
    struct md_loop_signal *signals[3];
};

struct recorder_figures {
    uint32_t open, items; /* open now or once, of so many */
    const char *state;
};

void recorder_figures(const struct recorder *recorder, struct recorder_figures *out);
void recorder_stop(struct recorder *recorder);
/* Shows its figures to who looks at them. */
void recorder_show(struct recorder *recorder, uint64_t now_ns);
/* Prints the counts of a recorder that has ended; the result is an enum exit_code. */
int record_report(struct recorder *recorder, uint64_t cpu_ns);

#endif
