/* known.c - see known.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/table.h"

#define KNOWN 65536u

int p2ps_known_init(struct p2ps_known *known, uint64_t life_ns)
{
    size_t size = sizeof(known->secret);

    known->life_ns = life_ns;
    known->list = calloc(KNOWN, sizeof(*known->list));
    return known->list && getrandom(known->secret, size, 0) == (ssize_t)size ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_known_fini(struct p2ps_known *known)
{
    free(known->list);
    explicit_bzero(known, sizeof(*known));
}

/* Each part with its length, behind the secret. */
void p2ps_known_sum(const struct p2ps_known *known, const struct entitle_view parts[3],
                    char out[AUDIT_SUM_SIZE])
{
    uint8_t bytes[sizeof(known->secret) + 3 * (sizeof(uint32_t) + P2PS_KNOWN_PART_MAX)];
    size_t used = sizeof(known->secret);

    memcpy(bytes, known->secret, used);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t length = (uint32_t)parts[i].length;
        memcpy(bytes + used, &length, sizeof(length));
        memcpy(bytes + used + sizeof(length), parts[i].data, length);
        used += sizeof(length) + length;
    }
    audit_sum(bytes, used, out);
    explicit_bzero(bytes, sizeof(bytes));
}

static struct p2ps_known_entry *place_of(const struct p2ps_known *known, const char *sum)
{
    return &known->list[md_hash_bytes(sum, AUDIT_SUM_SIZE) % KNOWN];
}

bool p2ps_known_has(const struct p2ps_known *known, uint64_t now_ns, const char *sum)
{
    const struct p2ps_known_entry *entry = place_of(known, sum);

    return sum[0] && entry->until_ns > now_ns && strcmp(entry->sum, sum) == 0;
}

void p2ps_known_put(struct p2ps_known *known, uint64_t now_ns, const char *sum)
{
    struct p2ps_known_entry *entry = place_of(known, sum);

    if (!known->life_ns || !sum[0])
        return;
    memcpy(entry->sum, sum, sizeof(entry->sum));
    entry->until_ns = now_ns + known->life_ns;
}
