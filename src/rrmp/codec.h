/* rrmp/codec.h - what the files of the record codec share. Private to this module. */
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

/* Bodies: upward is what requesters send to an instance (16..31), downward all else. */
int rrmp_decode_upward(struct md_rd *rd, struct rrmp_record *out);
int rrmp_decode_downward(struct md_rd *rd, struct rrmp_record *out);
void rrmp_encode_upward(struct md_wr *wr, const struct rrmp_record *record);
void rrmp_encode_downward(struct md_wr *wr, const struct rrmp_record *record);

#endif
