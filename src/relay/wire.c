/* wire.c - see relay/wire.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/wire.h"

#include <string.h>

#include "backbone/event.h"
#include "base/cursor.h"
#include "base/writer.h"

static bool is_route_legal(const struct relay_route *route)
{
    return route->session != 0 && route->hops >= 1 && route->hops <= RELAY_HOPS_MAX &&
           route->state >= RELAY_ROUTE_UP && route->state <= RELAY_ROUTE_CLAIM &&
           (route->number != 0 || route->state != RELAY_ROUTE_UP) && route->weight != 0 &&
           route->weight <= RELAY_ID_MAX * route->hops && route->name_length <= RELAY_NAME_MAX;
}

bool relay_route_next(const struct relay_message *routes, size_t *at, struct relay_route *out)
{
    const uint8_t *p = routes->bytes + *at;
    size_t left = routes->length - *at;

    if (left < RELAY_ROUTE_BYTES || left - RELAY_ROUTE_BYTES < p[7])
        return false;
    *out = (struct relay_route){ .number = md_be32(p),
                                 .hops = p[4],
                                 .state = p[5],
                                 .reason = p[6],
                                 .name_length = p[7],
                                 .session = md_be64(p + 8),
                                 .weight = md_be64(p + 16),
                                 .name = (const char *)p + RELAY_ROUTE_BYTES };
    *at += RELAY_ROUTE_BYTES + p[7];
    return true;
}

static bool are_routes_legal(const struct relay_message *routes)
{
    struct relay_route route;
    uint16_t found = 0;
    size_t at = 0;

    if (routes->count > RELAY_ROUTES_MAX)
        return false;
    while (found < routes->count && relay_route_next(routes, &at, &route)) {
        if (!is_route_legal(&route))
            return false;
        found++;
    }
    return found == routes->count && at == routes->length;
}

static bool decode_to(const uint8_t *bytes, size_t length, struct relay_message *out)
{
    if (length < RELAY_TO_BYTES)
        return false;
    out->seq = md_be64(bytes + 8);
    out->origin = md_be64(bytes + 16);
    out->target = md_be64(bytes + 24);
    if (out->kind == RELAY_DROPPED)
        out->lost = out->number;
    if (out->kind != RELAY_TO || !(out->flags & RELAY_FLAG_TOPIC))
        out->number = 0;
    out->bytes = bytes + RELAY_TO_BYTES;
    out->length = length - RELAY_TO_BYTES;
    if (out->kind == RELAY_RESET)
        return out->target != 0 && out->hops >= 1 && out->hops <= RELAY_HOPS_MAX;
    return out->origin != 0 && out->target != 0 && out->port != 0 && out->port != RELAY_PORT &&
           out->hops <= RELAY_HOPS_MAX;
}

static bool decode_notice(const uint8_t *bytes, size_t length, struct relay_message *out)
{
    if (length < RELAY_NOTICE_BYTES)
        return false;
    out->notice = bytes[1];
    out->seq = md_be64(bytes + 8);
    out->last = md_be64(bytes + 16);
    out->lost = md_be32(bytes + 24);
    out->reason = bytes[28];
    out->flags = 0;
    if (out->notice == RELAY_NOTICE_USER_DOWN &&
        (out->reason < BACKBONE_USER_DETACHED || out->reason > BACKBONE_USER_VIOLATED))
        out->reason =
            BACKBONE_USER_DETACHED; /* of a later release: the user has ended all the same */
    return out->number != 0 && out->reason != 0 && out->reason < 8 &&
           (out->notice == RELAY_NOTICE_GAP ||
            (out->notice == RELAY_NOTICE_USER_DOWN && out->port != 0));
}

bool relay_decode(const uint8_t *bytes, size_t length, struct relay_message *out)
{
    if (length < RELAY_STREAM_BYTES || bytes[1] > RELAY_BYTE_1_MAX)
        return false;
    *out = (struct relay_message){ .kind = bytes[0] >> 4,
                                   .hops = bytes[0] & 15u,
                                   .flags = bytes[1],
                                   .port = md_be16(bytes + 2),
                                   .number = md_be32(bytes + 4) };
    switch ((enum relay_kind)out->kind) {
    case RELAY_STREAM:
        out->seq = md_be64(bytes + 8);
        out->bytes = bytes + RELAY_STREAM_BYTES;
        out->length = length - RELAY_STREAM_BYTES;
        return out->number != 0 && out->hops >= 1 && out->hops <= RELAY_HOPS_MAX &&
               out->port != 0 && out->port != RELAY_PORT;
    case RELAY_TO:
    case RELAY_DROPPED:
    case RELAY_RESET:
        return decode_to(bytes, length, out);
    case RELAY_ROUTES:
        out->count = out->port;
        out->services = out->number;
        out->port = 0;
        out->number = 0;
        out->id = md_be64(bytes + 8);
        out->bytes = bytes + RELAY_ROUTES_BYTES;
        out->length = length - RELAY_ROUTES_BYTES;
        return out->id != 0 && out->id <= RELAY_ID_MAX && are_routes_legal(out);
    case RELAY_NOTICE:
        return decode_notice(bytes, length, out);
    }
    return false;
}

size_t relay_encode(const struct relay_message *message, uint8_t out[RELAY_TO_BYTES])
{
    bool has_count = message->kind == RELAY_ROUTES;

    memset(out, 0, RELAY_TO_BYTES);
    out[0] = (uint8_t)(message->kind << 4 | message->hops);
    out[1] = message->kind == RELAY_NOTICE ? message->notice : message->flags;
    md_put_be16(out + 2, has_count ? message->count : message->port);
    md_put_be32(out + 4, has_count                        ? message->services
                         : message->kind == RELAY_DROPPED ? message->lost
                                                          : message->number);
    md_put_be64(out + 8, has_count ? message->id : message->seq);
    if (has_count || message->kind == RELAY_STREAM)
        return RELAY_STREAM_BYTES;
    if (message->kind == RELAY_NOTICE) {
        md_put_be64(out + 16, message->last);
        md_put_be32(out + 24, message->lost);
        out[28] = message->reason;
        return RELAY_NOTICE_BYTES;
    }
    md_put_be64(out + 16, message->origin);
    md_put_be64(out + 24, message->target);
    return RELAY_TO_BYTES;
}

size_t relay_route_encode(const struct relay_route *route, uint8_t *out)
{
    md_put_be32(out, route->number);
    out[4] = route->hops;
    out[5] = route->state;
    out[6] = route->reason;
    out[7] = route->name_length;
    md_put_be64(out + 8, route->session);
    md_put_be64(out + 16, route->weight);
    if (route->name_length)
        memcpy(out + RELAY_ROUTE_BYTES, route->name, route->name_length);
    return RELAY_ROUTE_BYTES + route->name_length;
}
