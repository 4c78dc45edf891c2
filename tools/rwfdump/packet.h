/* packet.h - finds the TCP segment in a captured packet. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_PACKET_H
#define RWFDUMP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcap.h"

struct packet_address {
    uint8_t ip[16]; /* IPv4 in the first four */
    uint8_t ip_length;
    uint16_t port;
};

struct packet_segment {
    struct packet_address from;
    struct packet_address to;
    uint32_t seq;
    bool syn;
    bool ack;
    bool fin;
    bool rst;
    const uint8_t *bytes;
    size_t length;
};

/* Ethernet (with VLAN tags), Linux cooked, loopback and raw IP; IPv4 and IPv6. False: no TCP. */
bool packet_parse(const struct pcap_packet *packet, struct packet_segment *segment);

/* "127.0.0.1:14002", "[::1]:14002". */
#define PACKET_ADDRESS_TEXT 64
void packet_address_text(const struct packet_address *address, char *text);

#endif
