/* codec.h - compression of frames; the only file of the channel that knows zlib and LZ4. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_CODEC_H
#define RSSL_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "rssl/channel.h"

/*
 * One per connection that agreed on compression, for both directions. zlib is one continuous
 * stream each way, so frames must be compressed in the order in which they are sent, and every
 * compressed frame received must be expanded, wanted or not. LZ4 frames are independent.
 */
struct rssl_codec;

/* `frame_max`: longest frame; nothing may expand to more. */
int rssl_codec_create(enum rssl_compression type, int level, uint32_t frame_max,
                      struct rssl_codec **out);
void rssl_codec_destroy(struct rssl_codec *codec); /* NULL is allowed */

/* Payloads below this are not worth compressing. */
size_t rssl_codec_threshold(const struct rssl_codec *codec);

/* The longest payload whose compressed form fits `room` bytes whatever it holds. A frame is never
 * split for compression: real readers have trouble with the halves. */
size_t rssl_codec_payload_max(const struct rssl_codec *codec, size_t room);

/* Compress to `out`; the length, 0 on failure. `length` is within payload_max of `size`. */
size_t rssl_codec_compress(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                           uint8_t *out, size_t size);

/* Expand one frame's payload. The view is the codec's, good until the next call. MD_ERR_MALFORMED:
 * not legal, or it would become longer than a frame. */
int rssl_codec_expand(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                      const uint8_t **out, size_t *out_length);

/* Keep the first half of a split frame; then put the second behind it and get both. MD_ERR_NOMEM.
 */
int rssl_codec_keep(struct rssl_codec *codec, const uint8_t *bytes, size_t length);
int rssl_codec_join(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                    const uint8_t **out, size_t *out_length);

#endif
