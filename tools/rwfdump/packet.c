/* packet.c - see packet.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "packet.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"

enum {
    LINK_NULL = 0,
    LINK_ETHERNET = 1,
    LINK_RAW_BSD = 12,
    LINK_RAW_OPENBSD = 14,
    LINK_RAW = 101,
    LINK_LOOP = 108,
    LINK_SLL = 113,
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_SLL2 = 276,
    ETHER_IPV4 = 0x0800,
    ETHER_IPV6 = 0x86dd,
    ETHER_VLAN = 0x8100,
    ETHER_QINQ = 0x88a8,
    PROTOCOL_TCP = 6,
};

static bool parse_tcp(struct md_rd *rd, struct packet_segment *segment)
{
    const uint8_t *header = md_rd_bytes(rd, 20);
    size_t options;

    if (!header)
        return false;
    segment->from.port = md_be16(header);
    segment->to.port = md_be16(header + 2);
    segment->seq = md_be32(header + 4);
    segment->fin = header[13] & 0x01;
    segment->syn = header[13] & 0x02;
    segment->rst = header[13] & 0x04;
    segment->ack = header[13] & 0x10;
    if ((header[12] >> 4) < 5)
        return false;
    options = (size_t)((header[12] >> 4) - 5) * 4;
    if (!md_rd_bytes(rd, options))
        return false;
    segment->length = md_rd_left(rd);
    segment->bytes = md_rd_bytes(rd, segment->length);
    return true;
}

static void set_address(struct packet_address *address, const uint8_t *ip, uint8_t length)
{
    memcpy(address->ip, ip, length);
    address->ip_length = length;
}

static bool parse_ipv4(struct md_rd *rd, struct packet_segment *segment)
{
    const uint8_t *header = md_rd_bytes(rd, 20);
    size_t header_length, total;
    struct md_rd body;

    if (!header || header[0] >> 4 != 4)
        return false;
    header_length = (size_t)(header[0] & 0x0f) * 4;
    total = md_be16(header + 2);
    /* A total of 0 is a packet that the network card was to cut (segmentation offload). */
    if (total == 0)
        total = md_rd_left(rd) + 20;
    if (header_length < 20 || total < header_length || header[9] != PROTOCOL_TCP ||
        (md_be16(header + 6) & 0x3fff) != 0)
        return false;
    set_address(&segment->from, header + 12, 4);
    set_address(&segment->to, header + 16, 4);
    if (!md_rd_bytes(rd, header_length - 20))
        return false;
    body = md_rd_sub(rd, total - header_length); /* leaves Ethernet padding out */
    return parse_tcp(&body, segment);
}

static bool parse_ipv6(struct md_rd *rd, struct packet_segment *segment)
{
    const uint8_t *header = md_rd_bytes(rd, 40);
    struct md_rd body;
    size_t length;
    uint8_t next;

    if (!header || header[0] >> 4 != 6)
        return false;
    length = md_be16(header + 4);
    if (length == 0)
        length = md_rd_left(rd);
    set_address(&segment->from, header + 8, 16);
    set_address(&segment->to, header + 24, 16);
    next = header[6];
    body = md_rd_sub(rd, length);
    while (next == 0 || next == 43 || next == 60) { /* hop-by-hop, routing, destination options */
        const uint8_t *extension = md_rd_bytes(&body, 8);

        if (!extension || !md_rd_bytes(&body, (size_t)extension[1] * 8))
            return false;
        next = extension[0];
    }
    return next == PROTOCOL_TCP && parse_tcp(&body, segment);
}

static bool parse_ip(struct md_rd *rd, struct packet_segment *segment)
{
    if (md_rd_left(rd) == 0)
        return false;
    return rd->pos[0] >> 4 == 6 ? parse_ipv6(rd, segment) : parse_ipv4(rd, segment);
}

static bool parse_ether_type(struct md_rd *rd, uint16_t type, struct packet_segment *segment)
{
    while (type == ETHER_VLAN || type == ETHER_QINQ) {
        md_rd_u16(rd);
        type = md_rd_u16(rd);
    }
    return (type == ETHER_IPV4 || type == ETHER_IPV6) && parse_ip(rd, segment);
}

bool packet_parse(const struct pcap_packet *packet, struct packet_segment *segment)
{
    struct md_rd rd = md_rd_init(packet->bytes, packet->length);
    uint16_t type;

    *segment = (struct packet_segment){ .length = 0 };
    switch (packet->link_type) {
    case LINK_ETHERNET:
        md_rd_bytes(&rd, 12);
        return parse_ether_type(&rd, md_rd_u16(&rd), segment);
    case LINK_SLL:
        md_rd_bytes(&rd, 14);
        return parse_ether_type(&rd, md_rd_u16(&rd), segment);
    case LINK_SLL2:
        type = md_rd_u16(&rd);
        md_rd_bytes(&rd, 18);
        return parse_ether_type(&rd, type, segment);
    case LINK_NULL:
    case LINK_LOOP:
        md_rd_bytes(&rd, 4);
        return parse_ip(&rd, segment);
    case LINK_RAW:
    case LINK_RAW_BSD:
    case LINK_RAW_OPENBSD:
    case LINK_IPV4:
    case LINK_IPV6:
        return parse_ip(&rd, segment);
    }
    return false;
}

void packet_address_text(const struct packet_address *address, char *text)
{
    char ip[INET6_ADDRSTRLEN] = "?";

    inet_ntop(address->ip_length == 4 ? AF_INET : AF_INET6, address->ip, ip, sizeof(ip));
    snprintf(text, PACKET_ADDRESS_TEXT, address->ip_length == 4 ? "%s:%u" : "[%s]:%u", ip,
             address->port);
}
