/* memory.c - see memory.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"

#define KNOWN 16384u
#define PARTS 9

struct known {
    char sum[AUDIT_SUM_SIZE];
    bool has_mounts;
    uint32_t mounts;
    uint64_t until_ns; /* 0: nothing is here */
    uint64_t expires_s;
    uint64_t serial;
    char roles[P2PS_AUTHORITY_GIVEN];
    char user[ENTITLE_TEXT_MAX];
};

int p2ps_authority_memory_init(struct p2ps_authority_memory *memory)
{
    memory->known = calloc(KNOWN, sizeof(*memory->known));
    return memory->known ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_authority_memory_fini(struct p2ps_authority_memory *memory)
{
    free(memory->known);
}

/* Each part with its length; what is longer than a question may be has no sum. */
void p2ps_authority_memory_sum(const uint8_t secret[32],
                               const struct p2ps_authority_question *question,
                               char sum[AUDIT_SUM_SIZE])
{
    const char kinds[2] = { (char)question->name_type, question->is_plain };
    const struct entitle_view parts[PARTS] = {
        question->user,     question->password,    question->token,
        question->host,     question->application, question->application_name,
        question->position, question->certificate, { kinds, sizeof(kinds) },
    };
    uint8_t bytes[2 * P2PS_AUTHORITY_TOKEN + 7 * ENTITLE_TEXT_MAX + 32 + PARTS * sizeof(uint32_t)];
    size_t used = 32;

    memcpy(bytes, secret, used);
    sum[0] = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        uint32_t length = (uint32_t)parts[i].length;

        /* From which port somebody comes makes no other user of him. */
        if (i == 3 && length && memrchr(parts[i].data, ':', length))
            length = (uint32_t)((const char *)memrchr(parts[i].data, ':', length) - parts[i].data);
        if (sizeof(bytes) - used < sizeof(length) + length)
            return;
        memcpy(bytes + used, &length, sizeof(length));
        if (length)
            memcpy(bytes + used + sizeof(length), parts[i].data, length);
        used += sizeof(length) + length;
    }
    audit_sum(bytes, used, sum);
    explicit_bzero(bytes, used);
}

static struct known *place_of(const struct p2ps_authority_memory *memory, const char *sum)
{
    return &memory->known[md_hash_bytes(sum, AUDIT_SUM_SIZE - 1) % KNOWN];
}

bool p2ps_authority_memory_find(const struct p2ps_authority_memory *memory, uint64_t now_ns,
                                const char *sum, struct p2ps_authority_answer *out)
{
    const struct known *known = sum[0] ? place_of(memory, sum) : NULL;

    if (!known || known->until_ns <= now_ns || strcmp(known->sum, sum) != 0)
        return false;
    if (known->expires_s && known->expires_s <= out->now_s)
        return false;
    out->expires_s = known->expires_s;
    out->has_mounts = known->has_mounts;
    out->mounts = known->mounts;
    out->serial = known->serial;
    memcpy(out->roles, known->roles, sizeof(out->roles));
    memcpy(out->user, known->user, sizeof(out->user));
    return true;
}

void p2ps_authority_memory_renew(struct p2ps_authority_memory *memory, const char *sum,
                                 uint64_t serial)
{
    place_of(memory, sum)->serial = serial;
}

void p2ps_authority_memory_keep(struct p2ps_authority_memory *memory, uint64_t until_ns,
                                const char *sum, const struct p2ps_authority_answer *answer)
{
    if (!sum[0])
        return;
    struct known *known = place_of(memory, sum);

    *known = (struct known){
        .has_mounts = answer->has_mounts,
        .mounts = answer->mounts,
        .until_ns = until_ns,
        .expires_s = answer->expires_s,
        .serial = answer->serial,
    };
    memcpy(known->sum, sum, sizeof(known->sum));
    memcpy(known->roles, answer->roles, sizeof(known->roles));
    memcpy(known->user, answer->user, sizeof(known->user));
}
