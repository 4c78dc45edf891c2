/* dictionary.c - consumers download the field and enumeration dictionaries from us. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "private.h"

/* Sends all parts. A client without room for a whole dictionary right after its login is beyond
 * help: it is cut. */
static int send_parts(struct p2ps_core *core, uint32_t client,
                      const struct omm_dictionary_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    const struct p2ps_dictionaries *dictionaries = &core->config.dictionaries;
    struct rwf_dictionary_cursor cursor = { 0 };
    bool is_last = false;

    while (!is_last) {
        size_t length;
        int err = dictionaries->encode(dictionaries->self, request, &cursor, &is_last,
                                       core->make_buffer, core->make_size, &length);
        if (err == MD_OK)
            err = c->front->message(c->self, rwf_bytes(core->make_buffer, length));
        if (err != MD_OK)
            return err;
        core->stats.refresh_out++;
    }
    p2ps_client_touch(core, client);
    return MD_OK;
}

void p2ps_client_dictionary(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                            const struct omm_dictionary_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct rwf_state state = p2ps_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT,
                                        RWF_CODE_USAGE_ERROR, "log in first");

    core->now_ns = now_ns;
    core->stats.requests_in++;
    if (c->login_state != P2PS_LOGIN_OPEN) {
        p2ps_status_send(core, client, request->stream_id, RWF_DOMAIN_DICTIONARY, 0, &state);
        return;
    }
    if (request->no_refresh)
        return;
    int err = send_parts(core, client, request);
    if (err == MD_ERR_NOT_FOUND) {
        state = p2ps_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_NOT_FOUND,
                           "Unknown dictionary");
        p2ps_status_send(core, client, request->stream_id, RWF_DOMAIN_DICTIONARY, 0, &state);
    } else if (err != MD_OK ||
               (request->is_streaming &&
                p2ps_idmap_put(&c->streams, request->stream_id, P2PS_STREAM_DICTIONARY) != MD_OK)) {
        p2ps_client_doom(core, client);
    }
}
