/* multibuffer.c - AES-GCM by Intel's Multi-Buffer Crypto library; see multibuffer.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "multibuffer.h"

#include "base/err.h"

#ifdef RMDS_MULTIBUFFER

#include <dlfcn.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/writer.h"

/*
 * One buffer at a time: the library has the processor's widest instructions for GCM, and costs 20
 * ns before the first byte. It is loaded where it is installed, so that no package needs it. Its
 * functions are those of the table that it makes for this processor; it allocates nothing later.
 */

#define ABI       (IMB_VERSION_NUM >> 16)
#define ALIGNMENT 64

struct multibuffer {
    void *object;
    IMB_MGR *functions;
    void (*give)(IMB_MGR *);
};

struct state {
    struct gcm_key_data key;
    struct gcm_context_data packet;
    const IMB_MGR *functions;
    bool is_256;
};

/* ---- the library -------------------------------------------------------------------------- */

static void close_library(void *context)
{
    struct multibuffer *library = context;

    if (library->functions)
        library->give(library->functions);
    if (library->object)
        dlclose(library->object);
    free(library);
}

/* ISO C has no conversion of an object's address to that of a function. */
static bool find(void *object, const char *name, void *function)
{
    void *found = dlsym(object, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

/* Newer ones of the same ABI only add to the table. */
static bool is_usable(unsigned version)
{
    return version >= IMB_VERSION_NUM && version >> 16 == ABI;
}

/* The library asks the processor alone, and the kernel may not keep its wide registers. */
static bool has_registers(uint64_t features)
{
    return __builtin_cpu_supports("avx") &&
           (!(features & IMB_FEATURE_AVX512F) || __builtin_cpu_supports("avx512f"));
}

/* The library tests itself when the table is made, and says if it does not trust itself. */
static bool is_good(uint64_t features)
{
    const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    bool has_failed =
        (features & IMB_FEATURE_SELF_TEST) && !(features & IMB_FEATURE_SELF_TEST_PASS);

    return (features & needed) == needed && has_registers(features) && !has_failed;
}

static bool load(struct multibuffer *library)
{
    char name[32];
    unsigned (*version)(void);
    IMB_MGR *(*take)(uint64_t);
    void (*init)(IMB_MGR *, IMB_ARCH *);

    snprintf(name, sizeof(name), "libIPSec_MB.so.%d", ABI);
    library->object = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library->object || !find(library->object, "imb_get_version", &version) ||
        !find(library->object, "alloc_mb_mgr", &take) ||
        !find(library->object, "init_mb_mgr_auto", &init) ||
        !find(library->object, "free_mb_mgr", &library->give) || !is_usable(version()))
        return false;
    library->functions = take(0);
    if (!library->functions)
        return false;
    init(library->functions, NULL);
    return is_good(library->functions->features);
}

/* ---- states ------------------------------------------------------------------------------- */

static void end(void *state)
{
    if (state)
        OPENSSL_cleanse(state, sizeof(struct state));
    free(state);
}

static struct state *create_state(const struct multibuffer *library)
{
    size_t bytes = (sizeof(struct state) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct state *state = aligned_alloc(ALIGNMENT, bytes);

    if (!state)
        return NULL;
    memset(state, 0, sizeof(*state));
    state->functions = library->functions;
    return state;
}

static void *begin(void *context, void *old, const uint8_t *key, bool is_256)
{
    struct state *state = old ? old : create_state(context);

    if (!state)
        return NULL;
    state->is_256 = is_256;
    if (is_256)
        IMB_AES256_GCM_PRE(state->functions, key, &state->key);
    else
        IMB_AES128_GCM_PRE(state->functions, key, &state->key);
    return state;
}

/* ---- packets ------------------------------------------------------------------------------ */

static void begin_packet(uint8_t nonce[SEAL_NONCE_BYTES], uint64_t counter, uint8_t *to,
                         const uint8_t *from, uint32_t clear)
{
    memset(nonce, 0, SEAL_NONCE_BYTES);
    md_put_be64(nonce + SEAL_NONCE_BYTES - 8, counter);
    if (to && to != from)
        memcpy(to, from, clear);
}

static void seal_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, uint8_t tag[RRCP_TAG_BYTES])
{
    struct state *s = state;
    uint8_t nonce[SEAL_NONCE_BYTES];

    begin_packet(nonce, counter, to, from, clear);
    if (s->is_256)
        IMB_AES256_GCM_ENC(s->functions, &s->key, &s->packet, to + clear, from + clear,
                           length - clear, nonce, from, clear, tag, RRCP_TAG_BYTES);
    else
        IMB_AES128_GCM_ENC(s->functions, &s->key, &s->packet, to + clear, from + clear,
                           length - clear, nonce, from, clear, tag, RRCP_TAG_BYTES);
}

static bool open_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, const uint8_t tag[RRCP_TAG_BYTES])
{
    struct state *s = state;
    uint8_t nonce[SEAL_NONCE_BYTES];
    uint8_t made[RRCP_TAG_BYTES];
    uint8_t nothing[1];
    uint8_t *out = clear < length ? to + clear : nothing;

    /* Were its arguments refused, the library would write no tag. */
    for (size_t i = 0; i < RRCP_TAG_BYTES; i++)
        made[i] = (uint8_t)~tag[i];
    begin_packet(nonce, counter, to, from, clear);
    if (s->is_256)
        IMB_AES256_GCM_DEC(s->functions, &s->key, &s->packet, out, from + clear, length - clear,
                           nonce, from, clear, made, RRCP_TAG_BYTES);
    else
        IMB_AES128_GCM_DEC(s->functions, &s->key, &s->packet, out, from + clear, length - clear,
                           nonce, from, clear, made, RRCP_TAG_BYTES);
    return CRYPTO_memcmp(made, tag, RRCP_TAG_BYTES) == 0;
}

int seal_multibuffer_open(struct seal_cipher *out)
{
    struct multibuffer *library = calloc(1, sizeof(*library));

    if (!library)
        return MD_ERR_NOMEM;
    if (!load(library)) {
        close_library(library);
        return MD_ERR_NOT_FOUND;
    }
    *out = (struct seal_cipher){ .library = "libipsec-mb",
                                 .context = library,
                                 .begin = begin,
                                 .end = end,
                                 .close = close_library,
                                 .seal = seal_packet,
                                 .open = open_packet };
    return 0;
}

#else

int seal_multibuffer_open(struct seal_cipher *out)
{
    (void)out;
    return MD_ERR_NOT_FOUND;
}

#endif
