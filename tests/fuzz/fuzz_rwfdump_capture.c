/* fuzz_rwfdump_capture.c - any file as a capture: packets, TCP streams, frames; or as one
 * direction. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "tap.h"
#include "tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_message(void *user, const struct tcp_message *message)
{
    unsigned *sum = user;
    char text[PACKET_ADDRESS_TEXT];

    packet_address_text(message->from, text);
    for (size_t i = 0; i < message->length; i++)
        *sum += message->bytes[i]; /* the sanitizer sees whether they may be read */
}

static void on_tap(void *user, enum tap_event event, int side, const uint8_t *bytes, size_t length)
{
    unsigned *sum = user;

    *sum += (unsigned)event + (unsigned)side;
    for (size_t i = 0; i < length; i++)
        *sum += bytes[i];
}

/* What is no capture is taken for the bytes that one end sent. */
static void one_direction(const uint8_t *data, size_t size)
{
    struct rssl_pool *pool = NULL;
    struct tap *tap = NULL;
    unsigned sum = 0;

    if (rssl_pool_create(NULL, &pool) == MD_OK && tap_create(pool, on_tap, &sum, &tap) == MD_OK)
        (void)tap_whole(tap, data, size);
    tap_destroy(tap);
    rssl_pool_destroy(pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pcap_packet packet;
    struct packet_segment segment;
    struct pcap pcap;
    struct tcp *tcp;
    unsigned sum = 0;

    if (pcap_open(&pcap, data, size) != MD_OK) {
        one_direction(data, size);
        return 0;
    }
    if (tcp_create(on_message, &sum, &tcp) != MD_OK)
        return 0;
    while (pcap_next(&pcap, &packet) > 0)
        if (packet_parse(&packet, &segment))
            tcp_input(tcp, &segment);
    tcp_finish(tcp);
    tcp_destroy(tcp);
    return 0;
}
