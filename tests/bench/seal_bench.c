/* seal_bench.c - what each library takes to seal a packet, and to open it; src/seal/README.md. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "seal/seal.h"

#define ROUNDS  60
#define PACKETS 4000
#define CLEAR   24

static uint8_t from[RRCP_PACKET_BYTES_MAX];
static uint8_t to[RRCP_PACKET_BYTES_MAX];

struct job {
    const struct rrcp_seal *seal;
    void *state;
    uint32_t clear, length;
};

static void seal_all(const struct job *job, uint64_t counter)
{
    uint8_t tag[RRCP_TAG_BYTES];

    for (uint64_t i = 0; i < PACKETS; i++)
        job->seal->seal(job->state, counter + i, to, from, job->clear, job->length, tag);
}

/* The tags are wrong, which costs the same. */
static void open_all(const struct job *job, uint64_t counter)
{
    static const uint8_t tag[RRCP_TAG_BYTES];

    for (uint64_t i = 0; i < PACKETS; i++)
        (void)job->seal->open(job->state, counter + i, job->clear < job->length ? to : NULL, from,
                              job->clear, job->length, tag);
}

/* Least of all rounds, nanoseconds a packet. */
static double least(const struct job *job, void (*work)(const struct job *job, uint64_t counter))
{
    double least_ns = 1e9;

    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t start = md_clock_mono_ns();

        work(job, round * PACKETS);
        double ns = (double)(md_clock_mono_ns() - start) / PACKETS;
        if (ns < least_ns)
            least_ns = ns;
    }
    return least_ns;
}

static void measure(const struct rrcp_seal *seal, enum rrcp_cipher cipher)
{
    static const uint32_t lengths[] = { 128, 512, 1100, 1472, 9000 };
    const struct rrcp_key key = { .id = 1 };
    const struct rrcp_seal_id id = { .key = &key, .cipher = cipher };
    void *state = seal->begin(seal->context, NULL, &id);

    MD_ASSERT(state);
    for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint32_t length = lengths[i / 2];
        struct job job = { seal, state, i % 2 ? CLEAR : length, length };

        printf("%-14s AES-%d %5u bytes, %-13s  seal %6.0f  open %6.0f ns\n", seal_library(seal),
               cipher == RRCP_CIPHER_AES_256_GCM ? 256 : 128, length,
               i % 2 ? "encrypted" : "authenticated", least(&job, seal_all), least(&job, open_all));
    }
    seal->end(seal->context, state);
}

int main(void)
{
    for (int library = SEAL_OPENSSL; library <= SEAL_MULTIBUFFER; library++) {
        struct rrcp_seal seal;

        if (seal_open_by((enum seal_library)library, &seal) != 0)
            continue;
        measure(&seal, RRCP_CIPHER_AES_128_GCM);
        measure(&seal, RRCP_CIPHER_AES_256_GCM);
        seal_close(&seal);
    }
    return 0;
}
