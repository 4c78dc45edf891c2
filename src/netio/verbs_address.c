/* verbs_address.c - addresses of the verbs transport, and the cache of the device's handles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <string.h>

#include "verbs_private.h"

/*
 * An address is 16 bytes of GID, 4 of the queue pair's number, 2 of the LID (InfiniBand, else 0),
 * 2 zeros. The GID names the host: the rest changes when the transport is opened again.
 */
void verbs_address_make(const uint8_t gid[16], uint32_t queue_pair, uint16_t lid,
                        struct rrcp_address *out)
{
    memset(out, 0, sizeof(*out));
    out->length = VERBS_ADDRESS_BYTES;
    out->host_length = 16;
    memcpy(out->bytes, gid, 16);
    for (int i = 0; i < 4; i++)
        out->bytes[16 + i] = (uint8_t)(queue_pair >> (24 - 8 * i));
    out->bytes[20] = (uint8_t)(lid >> 8);
    out->bytes[21] = (uint8_t)lid;
}

uint32_t verbs_address_queue_pair(const struct rrcp_address *address)
{
    const uint8_t *b = address->bytes + 16;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/*
 * A GRH, and the IPv6 header of RoCE v2, begin with version 6. RoCE v2 over IPv4 has its header
 * of 20 bytes at the end, and it is not said what stands before it.
 */
bool verbs_address_read(const uint8_t grh[VERBS_GRH_BYTES], const struct verbs_got *got,
                        struct rrcp_address *from, bool *is_group)
{
    uint8_t gid[16] = { 0 };

    if (!got->has_grh)
        return false;
    if (grh[20] == 0x45 && grh[0] >> 4 != 6) {
        gid[10] = gid[11] = 0xff;
        memcpy(gid + 12, grh + 32, 4);
        *is_group = grh[36] >> 4 == 0xe;
    } else if (grh[0] >> 4 == 6) {
        memcpy(gid, grh + 8, 16);
        *is_group = grh[24] == 0xff;
    } else {
        return false;
    }
    verbs_address_make(gid, got->queue_pair, got->lid, from);
    return true;
}

bool verbs_address_is_allowed(const struct udp_sources *sources, bool is_infiniband,
                              const struct rrcp_address *from)
{
    static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
    struct sockaddr_storage address = { 0 };

    if (is_infiniband)
        return true;
    if (memcmp(from->bytes, v4_mapped, 12) == 0) {
        address.ss_family = AF_INET;
        memcpy(&((struct sockaddr_in *)&address)->sin_addr, from->bytes + 12, 4);
    } else {
        address.ss_family = AF_INET6;
        memcpy(&((struct sockaddr_in6 *)&address)->sin6_addr, from->bytes, 16);
    }
    return udp_sources_allow(sources, &address);
}

/* ---- handles -------------------------------------------------------------------------------- */

/* FNV-1a; who chooses addresses to collide crowds out others of his set, which are made anew. */
static uint32_t hash(const struct rrcp_address *address)
{
    uint32_t value = 2166136261u;

    for (int i = 0; i < address->length; i++)
        value = (value ^ address->bytes[i]) * 16777619u;
    return value ^ value >> 15;
}

static bool is_same(const struct rrcp_address *a, const struct rrcp_address *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* A handle may go only when no send with it is under way. */
static struct verbs_handle *make_room(const struct verbs_path *path, struct verbs_handle *set)
{
    struct verbs_handle *oldest = NULL;

    for (int i = 0; i < VERBS_HANDLE_WAYS; i++) {
        if (set[i].to.length == 0)
            return &set[i];
        if (set[i].last_number <= path->sent_number &&
            (!oldest || set[i].last_number < oldest->last_number))
            oldest = &set[i];
    }
    return oldest;
}

struct verbs_handle *verbs_handle_get(struct verbs_io *verbs, struct verbs_path *path,
                                      const struct rrcp_address *to)
{
    struct verbs_handle *set = path->handles->entries[hash(to) % VERBS_HANDLE_SETS];

    if (to->length != VERBS_ADDRESS_BYTES)
        return NULL;
    for (int i = 0; i < VERBS_HANDLE_WAYS; i++)
        if (is_same(&set[i].to, to))
            return &set[i];
    struct verbs_handle *entry = make_room(path, set);

    if (!entry)
        return NULL;
    if (entry->handle)
        verbs->device->handle_free(path->device, entry->handle);
    *entry = (struct verbs_handle){ .handle = verbs->device->handle(path->device, to) };
    if (!entry->handle)
        return NULL;
    entry->to = *to;
    return entry;
}

void verbs_handles_clear(struct verbs_io *verbs, struct verbs_path *path)
{
    if (!path->handles)
        return;
    for (int s = 0; s < VERBS_HANDLE_SETS; s++)
        for (int w = 0; w < VERBS_HANDLE_WAYS; w++) {
            struct verbs_handle *entry = &path->handles->entries[s][w];

            if (entry->handle)
                verbs->device->handle_free(path->device, entry->handle);
            *entry = (struct verbs_handle){ 0 };
        }
}
