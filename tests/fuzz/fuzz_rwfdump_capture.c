/* fuzz_rwfdump_capture.c - any file as a capture: packets, TCP streams, frames. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pcap_packet packet;
    struct packet_segment segment;
    struct pcap pcap;
    struct tcp *tcp;
    unsigned sum = 0;

    if (pcap_open(&pcap, data, size) != MD_OK || tcp_create(on_message, &sum, &tcp) != MD_OK)
        return 0;
    while (pcap_next(&pcap, &packet) > 0)
        if (packet_parse(&packet, &segment))
            tcp_input(tcp, &segment);
    tcp_finish(tcp);
    tcp_destroy(tcp);
    return 0;
}
