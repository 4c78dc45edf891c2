/* packet.c - see packet.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "packet.h"

#include "base/cursor.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"

uint32_t rrcp_network_id(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

void rrcp_packet_header(struct packet_header *h, enum packet_type type, uint64_t session,
                        uint32_t network_id)
{
    *h = (struct packet_header){ .version = PACKET_VERSION, .type = (uint8_t)type };
    md_put_be16(h->magic, PACKET_MAGIC);
    md_put_be64(h->session, session);
    md_put_be32(h->network_id, network_id);
}

static uint32_t body_bytes_min(uint8_t type)
{
    switch ((enum packet_type)type) {
    case PACKET_DATA:
        return PACKET_DATA_BYTES;
    case PACKET_UDATA:
        return PACKET_UDATA_BYTES;
    case PACKET_UACK:
        return PACKET_UACK_BYTES;
    case PACKET_BEACON:
        return PACKET_BEACON_BYTES;
    case PACKET_NAK:
        return PACKET_NAK_BYTES;
    case PACKET_NCF:
        return PACKET_NCF_BYTES;
    case PACKET_BYE:
        return PACKET_BYE_BYTES;
    case PACKET_SOLICIT:
        return PACKET_SOLICIT_BYTES;
    case PACKET_STATUS:
        return PACKET_STATUS_BYTES;
    case PACKET_HSM:
        return PACKET_HSM_BYTES;
    case PACKET_SKIP:
        return PACKET_SKIP_BYTES;
    }
    return UINT32_MAX;
}

/* The flags of a chunk tell the length of its header. */
static uint32_t chunk_header_bytes(uint8_t flags)
{
    uint32_t bytes = flags & CHUNK_SAME ? 4 : 12;

    if (flags & CHUNK_DIRECTED)
        bytes += 8;
    if ((flags & (CHUNK_BEGIN | CHUNK_END)) == CHUNK_BEGIN)
        bytes += 4;
    return bytes;
}

/* The chunks end exactly at `end`, and the first one with BEGIN is at `first_begin`. */
static int chunks_check(const uint8_t *bytes, uint32_t pos, uint32_t end, uint32_t count,
                        uint32_t first_begin)
{
    uint32_t begin = 0;

    if (count == 0)
        return RRCP_DROP_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        if (end - pos < 4)
            return RRCP_DROP_CHUNKS;
        uint32_t payload = md_be16(bytes + pos);
        uint8_t flags = bytes[pos + 2];
        uint32_t header = chunk_header_bytes(flags);

        if ((flags & 0x0f) != 0 || bytes[pos + 3] != 0 || (i == 0 && (flags & CHUNK_SAME)))
            return RRCP_DROP_CHUNKS;
        if (i > 0 && !(flags & CHUNK_BEGIN))
            return RRCP_DROP_CHUNKS; /* only the first chunk may continue a message */
        if (i + 1 < count && !(flags & CHUNK_END))
            return RRCP_DROP_CHUNKS; /* only the last chunk may leave a message unfinished */
        if (end - pos < header || end - pos - header < payload)
            return RRCP_DROP_CHUNKS;
        if ((flags & CHUNK_BEGIN) && begin == 0)
            begin = pos;
        pos += header + payload;
    }
    return pos == end && begin == first_begin ? -1 : RRCP_DROP_CHUNKS;
}

static int ranges_check(const struct packet_range list[], uint32_t count, uint32_t bytes)
{
    uint64_t next = 0;
    uint64_t total = 0;

    if (count == 0 || count > PACKET_RANGES_MAX || bytes != count * sizeof(list[0]))
        return RRCP_DROP_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = md_be32(list[i].offset);
        uint64_t length = md_be32(list[i].count);

        total += length;
        if (length == 0 || offset < next || total > PACKET_RANGE_TOTAL)
            return RRCP_DROP_RANGES;
        next = offset + length;
    }
    return -1;
}

static int beacon_check(const struct packet_view *view)
{
    const uint8_t *bytes = view->bytes;
    uint32_t name = view->beacon->name_length;
    uint32_t end = view->end;
    uint32_t pos = PACKET_BEACON_BYTES + ((name + 3) & ~3u);

    if (name == 0 || name > RRCP_NODE_NAME_MAX || pos > end)
        return RRCP_DROP_COUNT;
    for (int left = view->beacon->tlv_count; left > 0; left--) {
        if (end - pos < 2 || end - pos - 2 < bytes[pos + 1])
            return RRCP_DROP_COUNT;
        pos += 2u + bytes[pos + 1];
    }
    return pos == end ? -1 : RRCP_DROP_COUNT;
}

static int body_check(const struct packet_view *v)
{
    switch ((enum packet_type)v->type) {
    case PACKET_DATA:
        return chunks_check(v->bytes, PACKET_DATA_BYTES, v->end, md_be16(v->data->chunks),
                            md_be16(v->data->first_begin));
    case PACKET_UDATA:
        return chunks_check(v->bytes, PACKET_UDATA_BYTES, v->end, md_be16(v->udata->chunks),
                            md_be16(v->udata->first_begin));
    case PACKET_NAK:
        return ranges_check(v->nak->list, md_be16(v->nak->ranges), v->end - PACKET_NAK_BYTES);
    case PACKET_NCF:
        return ranges_check(v->ncf->list, md_be16(v->ncf->ranges), v->end - PACKET_NCF_BYTES);
    case PACKET_SKIP:
        return ranges_check(v->skip->list, md_be16(v->skip->ranges), v->end - PACKET_SKIP_BYTES);
    case PACKET_BEACON:
        return beacon_check(v);
    case PACKET_HSM:
        return v->end - PACKET_HSM_BYTES == md_be16(v->hsm->count) * sizeof(v->hsm->list[0])
                   ? -1
                   : RRCP_DROP_COUNT;
    case PACKET_UACK:
    case PACKET_BYE:
    case PACKET_SOLICIT:
    case PACKET_STATUS:
        return v->end == body_bytes_min(v->type) ? -1 : RRCP_DROP_BODY;
    }
    return RRCP_DROP_TYPE;
}

uint32_t rrcp_packet_clear(uint8_t type, uint32_t length)
{
    switch ((enum packet_type)type) {
    case PACKET_DATA:
    case PACKET_NCF:
    case PACKET_BYE:
    case PACKET_HSM:
        return PACKET_HEADER_BYTES;
    case PACKET_UACK:
    case PACKET_NAK:
    case PACKET_STATUS:
    case PACKET_SKIP:
        return PACKET_HEADER_BYTES + 8;
    case PACKET_UDATA:
        return PACKET_HEADER_BYTES + 16;
    case PACKET_BEACON:
    case PACKET_SOLICIT:
        break;
    }
    return length;
}

/* With keys every packet has a trailer; without them nobody looks into it. */
static int trailer_check(const struct packet_rules *rules, struct packet_view *v)
{
    if (rules->auth && !(v->flags & PACKET_FLAG_AUTH))
        return RRCP_DROP_AUTH_MISSING;
    if ((v->flags & PACKET_FLAG_SEALED) && (!rules->auth || !(v->flags & PACKET_FLAG_AUTH)))
        return RRCP_DROP_AUTH_TAG;
    if (v->flags & PACKET_FLAG_AUTH) {
        if (v->end < PACKET_HEADER_BYTES + PACKET_TRAILER_BYTES)
            return RRCP_DROP_BODY;
        v->end -= PACKET_TRAILER_BYTES;
        v->trailer = (const void *)(v->bytes + v->end);
    }
    return v->end < body_bytes_min(v->type) ? RRCP_DROP_BODY : -1;
}

int rrcp_packet_head(const struct packet_rules *rules, const uint8_t *bytes, size_t length,
                     struct packet_view *out)
{
    const struct packet_header *h = (const void *)bytes;

    if (length < PACKET_HEADER_BYTES || length > RRCP_PACKET_BYTES_MAX ||
        md_be16(h->length) != length)
        return RRCP_DROP_SIZE;
    if (md_be16(h->magic) != PACKET_MAGIC)
        return RRCP_DROP_MAGIC;
    if (h->version >> 4 != PACKET_VERSION >> 4 || h->version < PACKET_VERSION)
        return RRCP_DROP_VERSION;
    if (md_be32(h->network_id) != rules->network_id)
        return RRCP_DROP_NETWORK;
    if (h->type < PACKET_DATA || h->type > PACKET_SKIP)
        return RRCP_DROP_TYPE;

    *out = (struct packet_view){
        .bytes = bytes,
        .end = (uint32_t)length,
        .type = h->type,
        .flags = h->flags,
        .path = h->path,
        .session = md_be64(h->session),
        .tx_time = md_be32(h->tx_time),
    };
    if (out->session == 0)
        return RRCP_DROP_SESSION;
    if (out->session == rules->own_session)
        return RRCP_DROP_OWN;
    if ((out->flags & ~(PACKET_FLAG_RETRANS | PACKET_FLAG_AUTH | PACKET_FLAG_SEALED)) != 0 ||
        out->path > 1)
        return RRCP_DROP_FLAGS;
    return trailer_check(rules, out);
}

int rrcp_packet_body(const struct packet_view *view)
{
    return body_check(view);
}

void rrcp_chunk_next(const uint8_t *bytes, uint32_t *pos, struct packet_chunk *chunk)
{
    const uint8_t *p = bytes + *pos;

    chunk->length = md_be16(p);
    chunk->flags = p[2];
    p += 4;
    if (!(chunk->flags & CHUNK_SAME)) {
        chunk->topic = md_be32(p);
        chunk->source_port = md_be16(p + 4);
        chunk->destination_port = md_be16(p + 6);
        p += 8;
    }
    if (chunk->flags & CHUNK_DIRECTED) {
        chunk->session = md_be64(p);
        p += 8;
    }
    if ((chunk->flags & (CHUNK_BEGIN | CHUNK_END)) == CHUNK_BEGIN) {
        chunk->total = md_be32(p);
        p += 4;
    }
    chunk->bytes = p;
    *pos = (uint32_t)(p - bytes) + chunk->length;
}
