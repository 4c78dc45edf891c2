/* source.h - a recording opened for reading. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/reader.h"
#include "rmds/rwf_dictionary.h"

struct source {
    int fd;
    struct rec_reader *reader;
};
/* False: told. */
bool source_open(const char *path, bool walks, struct source *source);
void source_close(struct source *source);
/* "2026-11-27T21:30:00.123456Z" */
void source_print_time(uint64_t wall_ns, char out[32]);
void source_print_damages(const struct rec_reader *reader, FILE *out);
/* The dictionary that a recording has; NULL: it has none that is whole. */
struct rwf_dictionary *source_dictionary(struct rec_reader *reader);

#endif
