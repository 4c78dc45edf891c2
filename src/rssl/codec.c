/* codec.c - see codec.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/assert.h"
#include "base/err.h"

/* The calls in which the two kinds differ. */
struct method {
    size_t threshold; /* as real senders do */
    int (*init)(struct rssl_codec *codec, int level);
    void (*fini)(struct rssl_codec *codec);
    size_t (*payload_max)(size_t room);
    size_t (*compress)(struct rssl_codec *codec, const uint8_t *bytes, size_t length, uint8_t *out,
                       size_t size);
    /* To codec->expanded; the length, or < 0. */
    int64_t (*expand)(struct rssl_codec *codec, const uint8_t *bytes, size_t length);
};

struct rssl_codec {
    const struct method *method;
    uint32_t expanded_max;
    uint8_t *expanded; /* expanded_max + 1 bytes: one more shows that it would be too long */
    uint8_t *kept;     /* both halves of a split frame, made when the first comes */
    size_t kept_length;
    union {
        struct {
            z_stream out;
            z_stream in;
        } zlib;
        void *lz4_state;
    } u;
};

static int zlib_init(struct rssl_codec *codec, int level)
{
    if (deflateInit(&codec->u.zlib.out, level) != Z_OK)
        return MD_ERR_NOMEM;
    if (inflateInit(&codec->u.zlib.in) != Z_OK) {
        deflateEnd(&codec->u.zlib.out);
        return MD_ERR_NOMEM;
    }
    return MD_OK;
}

static void zlib_fini(struct rssl_codec *codec)
{
    deflateEnd(&codec->u.zlib.out);
    inflateEnd(&codec->u.zlib.in);
}

/* The stream header, block headers, the sync mark: what deflateBound() knows of, and then some. */
static size_t zlib_payload_max(size_t room)
{
    size_t overhead = 32 + 8 * (room / 4096);
    return room > overhead ? room - overhead : 0;
}

static size_t zlib_compress(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                            uint8_t *out, size_t size)
{
    z_stream *z = &codec->u.zlib.out;

    z->next_in = (z_const Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)length;
    z->next_out = out;
    z->avail_out = (uInt)size;
    if (deflate(z, Z_SYNC_FLUSH) != Z_OK || z->avail_in > 0 || z->avail_out == 0)
        return 0;
    return size - z->avail_out;
}

static int64_t zlib_expand(struct rssl_codec *codec, const uint8_t *bytes, size_t length)
{
    z_stream *z = &codec->u.zlib.in;

    z->next_in = (z_const Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)length;
    z->next_out = codec->expanded;
    z->avail_out = codec->expanded_max + 1;
    int rc = inflate(z, Z_SYNC_FLUSH);
    if ((rc != Z_OK && rc != Z_BUF_ERROR) || z->avail_in > 0 || z->avail_out == 0)
        return -1;
    return (int64_t)(codec->expanded_max + 1 - z->avail_out);
}

static int lz4_init(struct rssl_codec *codec, int level)
{
    (void)level;
    codec->u.lz4_state = malloc((size_t)LZ4_sizeofState());
    return codec->u.lz4_state ? MD_OK : MD_ERR_NOMEM;
}

static void lz4_fini(struct rssl_codec *codec)
{
    free(codec->u.lz4_state);
}

static size_t lz4_payload_max(size_t room)
{
    return room > 16 ? (room - 16) * 255 / 256 : 0;
}

static size_t lz4_compress(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                           uint8_t *out, size_t size)
{
    int n = LZ4_compress_fast_extState(codec->u.lz4_state, (const char *)bytes, (char *)out,
                                       (int)length, (int)size, 1);
    return n > 0 ? (size_t)n : 0;
}

static int64_t lz4_expand(struct rssl_codec *codec, const uint8_t *bytes, size_t length)
{
    return LZ4_decompress_safe((const char *)bytes, (char *)codec->expanded, (int)length,
                               (int)codec->expanded_max);
}

static const struct method zlib_method = {
    .threshold = 30,
    .init = zlib_init,
    .fini = zlib_fini,
    .payload_max = zlib_payload_max,
    .compress = zlib_compress,
    .expand = zlib_expand,
};

static const struct method lz4_method = {
    .threshold = 300,
    .init = lz4_init,
    .fini = lz4_fini,
    .payload_max = lz4_payload_max,
    .compress = lz4_compress,
    .expand = lz4_expand,
};

int rssl_codec_create(enum rssl_compression type, int level, uint32_t frame_max,
                      struct rssl_codec **out)
{
    *out = NULL;
    MD_ASSERT(type != RSSL_COMPRESSION_NONE);

    struct rssl_codec *codec = calloc(1, sizeof(*codec));
    if (!codec)
        return MD_ERR_NOMEM;
    codec->method = type == RSSL_COMPRESSION_ZLIB ? &zlib_method : &lz4_method;
    codec->expanded_max = frame_max;
    codec->expanded = malloc((size_t)frame_max + 1);
    if (!codec->expanded || codec->method->init(codec, level) != MD_OK) {
        free(codec->expanded);
        free(codec);
        return MD_ERR_NOMEM;
    }
    *out = codec;
    return MD_OK;
}

void rssl_codec_destroy(struct rssl_codec *codec)
{
    if (!codec)
        return;
    codec->method->fini(codec);
    free(codec->kept);
    free(codec->expanded);
    free(codec);
}

size_t rssl_codec_threshold(const struct rssl_codec *codec)
{
    return codec->method->threshold;
}

size_t rssl_codec_payload_max(const struct rssl_codec *codec, size_t room)
{
    return codec->method->payload_max(room);
}

size_t rssl_codec_compress(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                           uint8_t *out, size_t size)
{
    return codec->method->compress(codec, bytes, length, out, size);
}

int rssl_codec_expand(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                      const uint8_t **out, size_t *out_length)
{
    int64_t n = codec->method->expand(codec, bytes, length);

    *out = codec->expanded;
    *out_length = n > 0 ? (size_t)n : 0;
    return n >= 0 ? MD_OK : MD_ERR_MALFORMED;
}

int rssl_codec_keep(struct rssl_codec *codec, const uint8_t *bytes, size_t length)
{
    if (!codec->kept)
        codec->kept = malloc(2 * (size_t)codec->expanded_max);
    if (!codec->kept)
        return MD_ERR_NOMEM;
    MD_ASSERT(length <= codec->expanded_max);
    memcpy(codec->kept, bytes, length);
    codec->kept_length = length;
    return MD_OK;
}

int rssl_codec_join(struct rssl_codec *codec, const uint8_t *bytes, size_t length,
                    const uint8_t **out, size_t *out_length)
{
    MD_ASSERT(length <= codec->expanded_max);
    memcpy(codec->kept + codec->kept_length, bytes, length);
    return rssl_codec_expand(codec, codec->kept, codec->kept_length + length, out, out_length);
}
