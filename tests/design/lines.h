/* lines.h - programs that write what an engine does line by line: bytes in hex, plain memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DESIGN_LINES_H
#define DESIGN_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Memory of an engine, as struct rrcp_env wants it. */
void *lines_take(void *context, size_t bytes);
void lines_give(void *context, void *memory, size_t bytes);

/* In hex and a line's end; "-" for no bytes. */
void print_hex(const uint8_t *bytes, uint32_t length);
/* Reads pairs of hex digits up to a blank or the end; their number. */
uint32_t read_hex(const char *hex, uint8_t *out, uint32_t room);

#endif
