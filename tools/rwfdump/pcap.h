/* pcap.h - reads capture files, pcap and pcapng, from memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_PCAP_H
#define RWFDUMP_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * pcap: a file header of 24 bytes (magic a1b2c3d4, or a1b23c4d with nanoseconds, in the byte order
 * of the writer), then records of u32 seconds, u32 fraction, u32 captured length, u32 length.
 * pcapng: blocks of u32 type, u32 length, body, u32 length; interfaces say link type and time unit.
 */
#define PCAP_INTERFACES_MAX 64

struct pcap_interface {
    uint32_t link_type;
    uint64_t units_per_s;
};

struct pcap {
    const uint8_t *pos;
    const uint8_t *end;
    bool is_ng;
    bool is_swapped; /* little-endian */
    bool is_nano;
    uint32_t interface_count;
    struct pcap_interface interface[PCAP_INTERFACES_MAX];
};

struct pcap_packet {
    const uint8_t *bytes;
    size_t length;
    uint32_t link_type;
    uint64_t time_ns; /* since 1970; 0 if not known */
};

/* Do the bytes begin like a capture? */
bool pcap_is_capture(const uint8_t *bytes, size_t length);

/* MD_ERR_MALFORMED when the file header is not whole. */
int pcap_open(struct pcap *pcap, const uint8_t *bytes, size_t length);

/* 1 with a packet, 0 at the end, MD_ERR_MALFORMED when the file is cut or broken here. */
int pcap_next(struct pcap *pcap, struct pcap_packet *packet);

#endif
