/* request_data.c - see request_data.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "request_data.h"

bool p2ps_request_data(struct p2ps_core *core, const struct omm_item_request *request,
                       struct rrmp_view *out)
{
    struct rwf_encoder enc;
    const struct omm_item_request data = {
        .stream_id = request->stream_id,
        .domain = request->domain,
        .is_streaming = request->is_streaming,
        .is_private = true,
        .container = request->container,
        .payload = request->payload,
    };

    *out = (struct rrmp_view){ .bytes = NULL, .length = 0 };
    if (!request->is_private || request->is_batch || request->has_view ||
        request->container == RWF_TYPE_NO_DATA || request->payload.length == 0)
        return true;
    rwf_encoder_init(&enc, core->part, core->part_size);
    if (request->payload.length > P2PS_REQUEST_DATA_MAX ||
        omm_item_request_encode(&enc, &data) != RWF_OK)
        return false;
    *out = (struct rrmp_view){ rwf_encoder_bytes(&enc).data, rwf_encoder_bytes(&enc).length };
    return true;
}
