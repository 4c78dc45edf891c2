/* rrmp/codec.h - pieces of which records and keys are made. Private to this module. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_CODEC_H
#define RRMP_CODEC_H

#include "base/cursor.h"
#include "base/writer.h"
#include "rrmp/record.h"

struct rrmp_view rrmp_rd_view(struct md_rd *rd, size_t length);
struct rrmp_view rrmp_rd_rest(struct md_rd *rd);
struct rrmp_view rrmp_rd_name(struct md_rd *rd);                  /* u8 n, bytes */
struct rrmp_view rrmp_rd_padded(struct md_rd *rd, size_t length); /* padded to 4 */

void rrmp_wr_view(struct md_wr *wr, struct rrmp_view view); /* bytes NULL: room only */
void rrmp_wr_padded(struct md_wr *wr, struct rrmp_view view);
void rrmp_wr_name(struct md_wr *wr, struct rrmp_view view);
void rrmp_wr_length16(struct md_wr *wr, size_t length);

#endif
