/* source.h - a recording opened for reading, of one file or all of its series. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/reader.h"
#include "rmds/rwf_dictionary.h"

#define SOURCE_FILES_MAX 512u

struct source_file {
    char *path;
    int fd;
    uint64_t length;
    uint32_t part; /* of the series */
};

struct source {
    struct source_file *files;
    size_t count;
    uint64_t series;
    struct rec_reader *reader;
};
/* False: told. `is_series`: with the files of the same series that come behind it, which have its
 * name with a number before the ending. */
bool source_open(const char *path, bool walks, bool is_series, struct source *source);
void source_close(struct source *source);
/* "2026-11-27T21:30:00.123456Z" */
void source_print_time(uint64_t wall_ns, char out[32]);
void source_print_damages(const struct source *source, FILE *out);
/* The dictionary that a recording has; NULL: it has none that is whole. */
struct rwf_dictionary *source_dictionary(struct rec_reader *reader);

#endif
