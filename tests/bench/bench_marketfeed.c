/* bench_marketfeed.c - an update of ten fields to RWF and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "marketfeed/marketfeed.h"

#define ROUNDS 2000000

static const char record_text[] = "\x1c"
                                  "316\x1fXX\x1dTIBX.O\x1f"
                                  "31424"
                                  "\x1e"
                                  "22\x1f+21.42\x1e"
                                  "25\x1f+21.43\x1e"
                                  "30\x1f+7\x1e"
                                  "31\x1f+7"
                                  "\x1e"
                                  "6\x1f+21.42\x1e"
                                  "178\x1f+300\x1e"
                                  "32\x1f+4589021"
                                  "\x1e"
                                  "11\x1f-1.60\x1e"
                                  "18\x1f"
                                  "14:33\x1e"
                                  "14\x1f"
                                  "1\x1c";

static void fail(const char *what)
{
    fprintf(stderr, "bench_marketfeed: %s\n", what);
    exit(1);
}

/* CPU time: a conversion waits for nothing. */
static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct mf_table *load_table(void)
{
    static char text[1 << 20];
    struct rwf_dictionary_error error;
    struct rwf_dictionary *dictionary = NULL;
    struct mf_table *table = NULL;
    FILE *in = fopen(RMDS_SOURCE_DIR "/conf/RDMFieldDictionary", "re");
    size_t length = in ? fread(text, 1, sizeof(text), in) : 0;

    if (in)
        fclose(in);
    if (rwf_dictionary_create(&dictionary) != MD_OK ||
        rwf_dictionary_load_fields(dictionary, "RDMFieldDictionary", text, length, &error) !=
            MD_OK ||
        mf_table_create(dictionary, &MF_OPTIONS_DEFAULT, &table) != MD_OK)
        fail("the dictionary cannot be loaded");
    rwf_dictionary_destroy(dictionary);
    return table;
}

static double to_rwf_ns(const struct mf_table *table, uint8_t *out, size_t size,
                        struct rwf_bytes *message)
{
    struct mf_losses losses = { 0 };
    struct rwf_encoder enc;
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = MF_CONTAINER,
        .payload = rwf_text(record_text),
    };
    double start = now_ns();

    for (unsigned i = 0; i < ROUNDS; i++) {
        rwf_encoder_init(&enc, out, size);
        if (mf_to_message(table, &msg, &enc, &losses, NULL) != MD_OK)
            fail("the record is refused");
    }
    double spent = now_ns() - start;
    *message = rwf_encoder_bytes(&enc);
    for (unsigned i = 0; i < MF_REASONS; i++) {
        if (losses.by_reason[i] > 0)
            fail("a field is not converted");
    }
    return spent / ROUNDS;
}

static double from_rwf_ns(const struct mf_table *table, const struct rwf_msg *msg)
{
    struct mf_losses losses = { 0 };
    uint8_t out[1024];
    struct mf_head head;
    size_t length = 0;
    double start = now_ns();

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (mf_head_of(msg, rwf_text("TIBX.O"), &head) != MD_OK ||
            mf_from_fields(table, &head, msg->payload, NULL, out, sizeof(out), &length, &losses) !=
                MD_OK)
            fail("the field list is refused");
    }
    double spent = now_ns() - start;
    if (length != strlen(record_text) || memcmp(out, record_text, length) != 0)
        fail("the record is another one");
    return spent / ROUNDS;
}

int main(int argc, char **argv)
{
    struct mf_table *table = load_table();
    static uint8_t out[4096];
    struct rwf_bytes message;
    struct rwf_msg msg;

    if (argc > 1) {
        printf("bench_marketfeed: an update of ten fields to RWF and back, nanoseconds of CPU.\n");
        return strcmp(argv[1], "-h") == 0 ? 0 : 2;
    }
    double to = to_rwf_ns(table, out, sizeof(out), &message);
    if (rwf_msg_decode(message, &msg) != RWF_OK)
        fail("the message cannot be read");
    printf("record of %zu bytes, field list of %zu\n", strlen(record_text), msg.payload.length);
    printf("  to RWF           %7.1f ns\n", to);
    printf("  to Marketfeed    %7.1f ns\n", from_rwf_ns(table, &msg));
    mf_table_destroy(table);
    return 0;
}
