/* udp_address.c - addresses of packets: as bytes for the engine, as text for people. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "udp_private.h"

/* An address is the bytes of its socket address, those of the host first: the port is what changes
 * at a restart. */
void udp_address_make(const struct sockaddr_storage *from, struct rrcp_address *out)
{
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;

        memcpy(out->bytes, &v4->sin_addr, 4);
        memcpy(out->bytes + 4, &v4->sin_port, 2);
        out->host_length = 4;
        out->length = 6;
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

        memcpy(out->bytes, &v6->sin6_addr, 16);
        memcpy(out->bytes + 16, &v6->sin6_scope_id, 4);
        memcpy(out->bytes + 20, &v6->sin6_port, 2);
        out->host_length = 20;
        out->length = 22;
    }
}

/* Of the verbs transport, see verbs_address.c: "10.1.2.3 queue pair 17". */
static void print_rdma(const struct rrcp_address *address, char *out, size_t size)
{
    static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
    const uint8_t *b = address->bytes;
    bool is_v4 = memcmp(b, v4_mapped, sizeof(v4_mapped)) == 0;
    char text[INET6_ADDRSTRLEN] = "?";

    (void)inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? b + 12 : b, text, sizeof(text));
    snprintf(out, size, "%s queue pair %u", text,
             (unsigned)b[16] << 24 | (unsigned)b[17] << 16 | (unsigned)b[18] << 8 | b[19]);
}

void net_packet_address_text(const struct rrcp_address *address, char *out, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "?";
    uint16_t port;

    snprintf(out, size, "?");
    if (address->length == 24) {
        print_rdma(address, out, size);
        return;
    }
    if (address->length != 6 && address->length != 22)
        return;
    bool is_v4 = address->length == 6;

    memcpy(&port, address->bytes + address->host_length, sizeof(port));
    if (inet_ntop(is_v4 ? AF_INET : AF_INET6, address->bytes, text, sizeof(text)))
        snprintf(out, size, is_v4 ? "%s:%u" : "[%s]:%u", text, ntohs(port));
}

socklen_t udp_address_use(const struct rrcp_address *address, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(struct sockaddr_in6));
    if (address->length == 6) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;

        v4->sin_family = AF_INET;
        memcpy(&v4->sin_addr, address->bytes, 4);
        memcpy(&v4->sin_port, address->bytes + 4, 2);
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    v6->sin6_family = AF_INET6;
    memcpy(&v6->sin6_addr, address->bytes, 16);
    memcpy(&v6->sin6_scope_id, address->bytes + 16, 4);
    memcpy(&v6->sin6_port, address->bytes + 20, 2);
    return sizeof(*v6);
}
