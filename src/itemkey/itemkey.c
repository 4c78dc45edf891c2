/* itemkey.c - see itemkey/itemkey.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "itemkey/itemkey.h"

#include "base/cursor.h"
#include "base/writer.h"

static struct rrmp_qos to_backbone_qos(const struct rwf_qos *qos)
{
    return (struct rrmp_qos){
        .timeliness = qos->timeliness,
        .rate = qos->rate,
        .time_info = qos->time_info,
        .rate_info = qos->rate_info,
    };
}

static struct rwf_qos to_rwf_qos(struct rrmp_qos qos)
{
    return (struct rwf_qos){
        .timeliness = qos.timeliness,
        .rate = qos.rate,
        .time_info = qos.time_info,
        .rate_info = qos.rate_info,
    };
}

int itemkey_encode(uint8_t domain, const struct rwf_key *key, const struct rwf_qos *qos,
                   uint8_t *out, size_t size, size_t *length)
{
    struct md_wr wr = md_wr_init(out, size);
    struct rrmp_key canonical = {
        .domain = domain,
        .name_type = RWF_NAME_RIC,
        .qos = to_backbone_qos(qos),
    };

    *length = 0;
    if (key->flags & RWF_KEY_HAS_NAME_TYPE)
        canonical.name_type = key->name_type;
    if (key->flags & RWF_KEY_HAS_NAME) {
        canonical.members |= RRMP_KEY_NAME;
        canonical.name = (struct rrmp_view){ key->name.data, key->name.length };
    }
    if (key->flags & RWF_KEY_HAS_FILTER) {
        canonical.members |= RRMP_KEY_FILTER;
        canonical.filter = key->filter;
    }
    if (key->flags & RWF_KEY_HAS_IDENTIFIER) {
        canonical.members |= RRMP_KEY_IDENTIFIER;
        canonical.identifier = key->identifier;
    }
    if (key->flags & RWF_KEY_HAS_ATTRIB) {
        if (key->attrib_type < RWF_TYPE_NO_DATA || key->attrib_type > RWF_TYPE_NO_DATA + 255)
            return RWF_ERR_RANGE;
        canonical.members |= RRMP_KEY_ATTRIBUTES;
        canonical.attributes_type = (uint8_t)(key->attrib_type - RWF_TYPE_NO_DATA);
        canonical.attributes = (struct rrmp_view){ key->attrib.data, key->attrib.length };
    }
    rrmp_key_encode(&wr, &canonical);
    if (!md_wr_ok(&wr))
        return size < RRMP_KEY_SIZE_MAX ? RWF_ERR_FULL : RWF_ERR_RANGE;
    *length = md_wr_length(&wr);
    return RWF_OK;
}

int itemkey_decode(const uint8_t *bytes, size_t length, uint8_t *domain, struct rwf_key *key,
                   struct rwf_qos *qos)
{
    struct rrmp_key canonical;
    int rc = rrmp_key_decode(bytes, length, &canonical);

    *key = (struct rwf_key){ 0 };
    *qos = (struct rwf_qos){ 0 };
    *domain = 0;
    if (rc < 0)
        return rc;
    *domain = canonical.domain;
    *qos = to_rwf_qos(canonical.qos);
    if (canonical.members & RRMP_KEY_NAME) {
        key->flags |= RWF_KEY_HAS_NAME;
        key->name = rwf_bytes(canonical.name.bytes, canonical.name.length);
    }
    if (canonical.name_type != RWF_NAME_RIC) {
        key->flags |= RWF_KEY_HAS_NAME_TYPE;
        key->name_type = canonical.name_type;
    }
    if (canonical.members & RRMP_KEY_FILTER) {
        key->flags |= RWF_KEY_HAS_FILTER;
        key->filter = canonical.filter;
    }
    if (canonical.members & RRMP_KEY_IDENTIFIER) {
        key->flags |= RWF_KEY_HAS_IDENTIFIER;
        key->identifier = canonical.identifier;
    }
    if (canonical.members & RRMP_KEY_ATTRIBUTES) {
        key->flags |= RWF_KEY_HAS_ATTRIB;
        key->attrib_type = (uint16_t)(canonical.attributes_type + RWF_TYPE_NO_DATA);
        key->attrib = rwf_bytes(canonical.attributes.bytes, canonical.attributes.length);
    }
    return RWF_OK;
}

void itemkey_qos_pack(const struct rwf_qos *qos, uint8_t out[5])
{
    out[0] = (uint8_t)(qos->timeliness << 4 | (qos->rate & 15));
    md_put_be16(out + 1, qos->time_info);
    md_put_be16(out + 3, qos->rate_info);
}

struct rwf_qos itemkey_qos_unpack(const uint8_t in[5])
{
    return (struct rwf_qos){
        .timeliness = in[0] >> 4,
        .rate = in[0] & 15,
        .time_info = md_be16(in + 1),
        .rate_info = md_be16(in + 3),
    };
}
