/* pcap.c - see pcap.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pcap.h"

#include "base/cursor.h"
#include "base/err.h"

enum {
    NG_SECTION = 0x0a0d0d0a,
    NG_BYTE_ORDER = 0x1a2b3c4d,
    NG_INTERFACE = 1,
    NG_PACKET_SIMPLE = 3,
    NG_PACKET = 6,
    NG_OPTION_RESOLUTION = 9,
    FILE_HEADER = 24,
    RECORD_HEADER = 16,
};

#define MAGIC_MICRO 0xa1b2c3d4u
#define MAGIC_NANO  0xa1b23c4du

static uint16_t get16(const struct pcap *pcap, const uint8_t *p)
{
    uint16_t v = md_be16(p);

    return pcap->is_swapped ? __builtin_bswap16(v) : v;
}

static uint32_t get32(const struct pcap *pcap, const uint8_t *p)
{
    uint32_t v = md_be32(p);

    return pcap->is_swapped ? __builtin_bswap32(v) : v;
}

static bool is_classic(uint32_t magic)
{
    return magic == MAGIC_MICRO || magic == MAGIC_NANO;
}

bool pcap_is_capture(const uint8_t *bytes, size_t length)
{
    uint32_t magic;

    if (length < 4)
        return false;
    magic = md_be32(bytes);
    return is_classic(magic) || is_classic(__builtin_bswap32(magic)) || magic == NG_SECTION;
}

int pcap_open(struct pcap *pcap, const uint8_t *bytes, size_t length)
{
    uint32_t magic;

    *pcap = (struct pcap){ .pos = bytes, .end = length ? bytes + length : bytes };
    if (!pcap_is_capture(bytes, length))
        return MD_ERR_MALFORMED;
    magic = md_be32(bytes);
    if (magic == NG_SECTION) {
        pcap->is_ng = true;
        return MD_OK;
    }
    if (length < FILE_HEADER)
        return MD_ERR_MALFORMED;
    pcap->is_swapped = !is_classic(magic);
    pcap->is_nano = get32(pcap, bytes) == MAGIC_NANO;
    pcap->interface_count = 1;
    pcap->interface[0].link_type = get32(pcap, bytes + 20) & 0xffff;
    pcap->pos += FILE_HEADER;
    return MD_OK;
}

static int next_record(struct pcap *pcap, struct pcap_packet *packet)
{
    size_t left = (size_t)(pcap->end - pcap->pos);
    const uint8_t *p = pcap->pos;
    uint32_t captured;

    if (left == 0)
        return 0;
    if (left < RECORD_HEADER)
        return MD_ERR_MALFORMED;
    captured = get32(pcap, p + 8);
    if (captured > left - RECORD_HEADER)
        return MD_ERR_MALFORMED;
    packet->time_ns =
        get32(pcap, p) * 1000000000ull + get32(pcap, p + 4) * (pcap->is_nano ? 1ull : 1000ull);
    packet->link_type = pcap->interface[0].link_type;
    packet->bytes = p + RECORD_HEADER;
    packet->length = captured;
    pcap->pos = p + RECORD_HEADER + captured;
    return 1;
}

/* ---- pcapng ---- */

/* 10^-n, or 2^-n with the top bit set; the default is a microsecond. */
static uint64_t units_per_s(uint8_t resolution)
{
    uint64_t units = 1;

    if (resolution & 0x80)
        return (resolution & 0x7f) < 63 ? 1ull << (resolution & 0x7f) : 0;
    for (unsigned i = 0; i < resolution && i < 19; i++)
        units *= 10;
    return resolution < 19 ? units : 0;
}

static void add_interface(struct pcap *pcap, const uint8_t *body, size_t length)
{
    struct pcap_interface *interface;

    if (pcap->interface_count == PCAP_INTERFACES_MAX || length < 8)
        return;
    interface = &pcap->interface[pcap->interface_count++];
    interface->link_type = get16(pcap, body);
    interface->units_per_s = 1000000;
    for (size_t at = 8; at + 4 <= length;) {
        uint16_t code = get16(pcap, body + at);
        uint16_t size = get16(pcap, body + at + 2);

        if (code == 0 || size > length - at - 4)
            return;
        if (code == NG_OPTION_RESOLUTION && size >= 1)
            interface->units_per_s = units_per_s(body[at + 4]);
        at += 4 + (((size_t)size + 3) & ~(size_t)3);
    }
}

static uint64_t to_ns(uint64_t time, uint64_t units)
{
    uint64_t rest;

    if (units == 0)
        return 0;
    rest = time % units;
    rest = units <= 1000000000u ? rest * 1000000000u / units : rest / (units / 1000000000u);
    return time / units * 1000000000u + rest;
}

static bool read_packet(struct pcap *pcap, uint32_t type, const uint8_t *body, size_t length,
                        struct pcap_packet *packet)
{
    size_t head = type == NG_PACKET ? 20 : 4;
    uint32_t interface = 0, captured;

    if (length < head)
        return false;
    if (type == NG_PACKET)
        interface = get32(pcap, body);
    if (interface >= pcap->interface_count)
        return false;
    captured = get32(pcap, body + (type == NG_PACKET ? 12 : 0));
    if (type == NG_PACKET_SIMPLE && captured > length - head)
        captured = (uint32_t)(length - head);
    if (captured > length - head)
        return false;
    packet->bytes = body + head;
    packet->length = captured;
    packet->link_type = pcap->interface[interface].link_type;
    packet->time_ns = 0;
    if (type == NG_PACKET)
        packet->time_ns = to_ns((uint64_t)get32(pcap, body + 4) << 32 | get32(pcap, body + 8),
                                pcap->interface[interface].units_per_s);
    return true;
}

/* A section starts: from here on its byte order holds, and it has interfaces of its own. */
static int open_section(struct pcap *pcap)
{
    if (pcap->end - pcap->pos < 12)
        return MD_ERR_MALFORMED;
    pcap->is_swapped = md_be32(pcap->pos + 8) != NG_BYTE_ORDER;
    pcap->interface_count = 0;
    return get32(pcap, pcap->pos + 8) == NG_BYTE_ORDER ? MD_OK : MD_ERR_MALFORMED;
}

static int next_block(struct pcap *pcap, struct pcap_packet *packet)
{
    while (pcap->end - pcap->pos >= 12) {
        const uint8_t *p = pcap->pos;
        uint32_t type, length;

        if (md_be32(p) == NG_SECTION && open_section(pcap) != MD_OK)
            return MD_ERR_MALFORMED;
        type = get32(pcap, p);
        length = get32(pcap, p + 4);
        if (length < 12 || length % 4 || length > (size_t)(pcap->end - p))
            return MD_ERR_MALFORMED;
        pcap->pos = p + length;
        if (type == NG_INTERFACE)
            add_interface(pcap, p + 8, length - 12);
        if ((type == NG_PACKET || type == NG_PACKET_SIMPLE) &&
            read_packet(pcap, type, p + 8, length - 12, packet))
            return 1;
    }
    return pcap->pos == pcap->end ? 0 : MD_ERR_MALFORMED;
}

int pcap_next(struct pcap *pcap, struct pcap_packet *packet)
{
    *packet = (struct pcap_packet){ .bytes = NULL };
    return pcap->is_ng ? next_block(pcap, packet) : next_record(pcap, packet);
}
