/* layout.h - the bodies of all records but ticks, read and written by one list of fields each. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_LAYOUT_H
#define RRMP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "base/writer.h"
#include "rrmp/record.h"

/* The body that record->header.type names. False: no list for this type. Values are not checked. */
bool rrmp_body_read(struct md_rd *rd, struct rrmp_record *record);
bool rrmp_body_write(struct md_wr *wr, const struct rrmp_record *record);
/* Bytes of all views and rows of the body. */
size_t rrmp_body_bytes(const struct rrmp_record *record);

#endif
