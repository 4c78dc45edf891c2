/* login.c - see omm/login.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "omm/login.h"

#include "elements.h"

static void request_element(const struct rwf_element *element, struct omm_login_request *out)
{
    uint64_t rtt = 0;

    if (rwf_element_is(element, "ApplicationId"))
        omm_element_text(element, &out->application_id);
    else if (rwf_element_is(element, "ApplicationName"))
        omm_element_text(element, &out->application_name);
    else if (rwf_element_is(element, "Position"))
        omm_element_text(element, &out->position);
    else if (rwf_element_is(element, "InstanceId"))
        omm_element_text(element, &out->instance_id);
    else if (rwf_element_is(element, "Password"))
        omm_element_text(element, &out->password);
    else if (rwf_element_is(element, "AuthenticationToken"))
        omm_element_text(element, &out->token);
    else if (rwf_element_is(element, "AuthenticationExtended"))
        omm_element_text(element, &out->token_extended);
    else if (rwf_element_is(element, "Role"))
        omm_element_number(element, &out->role);
    else if (rwf_element_is(element, "SingleOpen"))
        omm_element_flag(element, &out->single_open);
    else if (rwf_element_is(element, "AllowSuspectData"))
        omm_element_flag(element, &out->allow_suspect_data);
    else if (rwf_element_is(element, "ProvidePermissionExpressions"))
        omm_element_flag(element, &out->permission_expressions);
    else if (rwf_element_is(element, "ProvidePermissionProfile"))
        omm_element_flag(element, &out->permission_profile);
    else if (rwf_element_is(element, "DownloadConnectionConfig"))
        omm_element_flag(element, &out->download_connection_config);
    else if (rwf_element_is(element, "SupportProviderDictionaryDownload"))
        omm_element_flag(element, &out->provider_dictionary_download);
    else if (rwf_element_is(element, "DisableDataConversion"))
        omm_element_flag(element, &out->disable_data_conversion);
    else if (rwf_element_is(element, "MarketfeedData"))
        omm_element_flag(element, &out->marketfeed_data);
    else if (rwf_element_is(element, "RoundTripLatency"))
        omm_element_number(element, &rtt);
    if (rtt == 2)
        out->wants_rtt = true;
}

int omm_login_request_decode(const struct rwf_msg *msg, struct omm_login_request *out)
{
    struct rwf_element_list list;
    struct rwf_element element;

    *out = (struct omm_login_request){
        .stream_id = msg->stream_id,
        .is_streaming = (msg->flags & RWF_REQUEST_STREAMING) != 0,
        .no_refresh = (msg->flags & RWF_REQUEST_NO_REFRESH) != 0,
        .pause = (msg->flags & RWF_REQUEST_PAUSE) != 0,
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };
    if (!(msg->key.flags & RWF_KEY_HAS_NAME))
        return RWF_ERR_NOT_FOUND;
    out->user = msg->key.name;
    if (msg->key.flags & RWF_KEY_HAS_NAME_TYPE)
        out->name_type = msg->key.name_type;
    if (!(msg->key.flags & RWF_KEY_HAS_ATTRIB))
        return RWF_OK;
    if (msg->key.attrib_type != RWF_TYPE_ELEMENT_LIST)
        return RWF_ERR_MALFORMED;
    int rc = rwf_element_list_decode(msg->key.attrib, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0)
        request_element(&element, out);
    return rc;
}

static void add_text(struct rwf_encoder *enc, const char *name, struct rwf_bytes text)
{
    if (text.length)
        rwf_element_add_ascii(enc, name, text);
}

int omm_login_request_encode(struct rwf_encoder *enc, const struct omm_login_request *request)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_id = request->stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = (uint16_t)((request->is_streaming ? RWF_REQUEST_STREAMING : 0) |
                            (request->no_refresh ? RWF_REQUEST_NO_REFRESH : 0) |
                            (request->pause ? RWF_REQUEST_PAUSE : 0)),
        .key = {
            .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_ATTRIB,
            .name = request->user,
            .name_type = request->name_type,
            .attrib_type = RWF_TYPE_ELEMENT_LIST,
        },
    };

    rwf_msg_attrib_start(enc, &msg);
    rwf_element_list_start(enc, NULL);
    add_text(enc, "ApplicationId", request->application_id);
    add_text(enc, "ApplicationName", request->application_name);
    add_text(enc, "Position", request->position);
    add_text(enc, "InstanceId", request->instance_id);
    add_text(enc, "Password", request->password);
    add_text(enc, "AuthenticationToken", request->token);
    rwf_element_add_uint(enc, "Role", request->role);
    rwf_element_add_uint(enc, "SingleOpen", request->single_open);
    rwf_element_add_uint(enc, "AllowSuspectData", request->allow_suspect_data);
    rwf_element_add_uint(enc, "ProvidePermissionExpressions", request->permission_expressions);
    rwf_element_add_uint(enc, "ProvidePermissionProfile", request->permission_profile);
    if (request->provider_dictionary_download)
        rwf_element_add_uint(enc, "SupportProviderDictionaryDownload", 1);
    if (request->disable_data_conversion)
        rwf_element_add_uint(enc, "DisableDataConversion", 1);
    if (request->marketfeed_data)
        rwf_element_add_uint(enc, "MarketfeedData", 1);
    if (request->wants_rtt)
        rwf_element_add_uint(enc, "RoundTripLatency", 2);
    rwf_element_list_finish(enc);
    rwf_msg_attrib_finish(enc);
    return rwf_msg_finish(enc);
}

static void add_authentication(struct rwf_encoder *enc, const struct omm_login_refresh *refresh)
{
    if (refresh->reissue_s)
        rwf_element_add_uint(enc, "AuthenticationTTReissue", refresh->reissue_s);
    rwf_element_add_uint(enc, "AuthenticationErrorCode", refresh->authentication_error);
    add_text(enc, "AuthenticationErrorText", refresh->authentication_text);
}

int omm_login_refresh_encode(struct rwf_encoder *enc, const struct omm_login_refresh *refresh)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_id = refresh->stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = (uint16_t)(RWF_REFRESH_HAS_KEY | RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE |
                            (refresh->is_solicited ? RWF_REFRESH_SOLICITED : 0)),
        .state = refresh->state,
        .group_id = rwf_bytes("\0", 2),
        .key = {
            .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_ATTRIB,
            .name = refresh->user,
            .name_type = refresh->name_type,
            .attrib_type = RWF_TYPE_ELEMENT_LIST,
        },
    };

    rwf_msg_attrib_start(enc, &msg);
    rwf_element_list_start(enc, NULL);
    add_text(enc, "ApplicationId", refresh->application_id);
    add_text(enc, "ApplicationName", refresh->application_name);
    add_text(enc, "Position", refresh->position);
    rwf_element_add_uint(enc, "SingleOpen", refresh->single_open);
    rwf_element_add_uint(enc, "AllowSuspectData", refresh->allow_suspect_data);
    rwf_element_add_uint(enc, "ProvidePermissionExpressions", refresh->permission_expressions);
    rwf_element_add_uint(enc, "ProvidePermissionProfile", refresh->permission_profile);
    rwf_element_add_uint(enc, "SupportOMMPost", refresh->support_post);
    rwf_element_add_uint(enc, "SupportBatchRequests", refresh->support_batch);
    rwf_element_add_uint(enc, "SupportViewRequests", refresh->support_view);
    rwf_element_add_uint(enc, "SupportOptimizedPauseResume", refresh->support_pause);
    rwf_element_add_uint(enc, "SupportStandby", refresh->support_standby);
    if (refresh->support_standby)
        rwf_element_add_uint(enc, "SupportStandbyMode", refresh->standby_mode);
    rwf_element_add_uint(enc, "SupportEnhancedSymbolList", 0);
    if (refresh->support_dictionary_download)
        rwf_element_add_uint(enc, "SupportProviderDictionaryDownload", 1);
    if (refresh->output_rate)
        rwf_element_add_uint(enc, "OutputRate", refresh->output_rate);
    if (refresh->has_authentication)
        add_authentication(enc, refresh);
    rwf_element_list_finish(enc);
    rwf_msg_attrib_finish(enc);
    return rwf_msg_finish(enc);
}

static void authentication_element(const struct rwf_element *element, struct omm_login_refresh *out)
{
    if (rwf_element_is(element, "AuthenticationTTReissue"))
        omm_element_number(element, &out->reissue_s);
    else if (rwf_element_is(element, "AuthenticationErrorText"))
        omm_element_text(element, &out->authentication_text);
    else if (rwf_element_is(element, "AuthenticationErrorCode")) {
        omm_element_number(element, &out->authentication_error);
        out->has_authentication = true;
    }
}

static void refresh_element(const struct rwf_element *element, struct omm_login_refresh *out)
{
    uint64_t batch = out->support_batch;
    uint64_t mode = out->standby_mode;

    if (rwf_element_is(element, "ApplicationId"))
        omm_element_text(element, &out->application_id);
    else if (rwf_element_is(element, "ApplicationName"))
        omm_element_text(element, &out->application_name);
    else if (rwf_element_is(element, "Position"))
        omm_element_text(element, &out->position);
    else if (rwf_element_is(element, "SingleOpen"))
        omm_element_flag(element, &out->single_open);
    else if (rwf_element_is(element, "AllowSuspectData"))
        omm_element_flag(element, &out->allow_suspect_data);
    else if (rwf_element_is(element, "ProvidePermissionExpressions"))
        omm_element_flag(element, &out->permission_expressions);
    else if (rwf_element_is(element, "ProvidePermissionProfile"))
        omm_element_flag(element, &out->permission_profile);
    else if (rwf_element_is(element, "SupportOMMPost"))
        omm_element_flag(element, &out->support_post);
    else if (rwf_element_is(element, "SupportBatchRequests"))
        omm_element_number(element, &batch);
    else if (rwf_element_is(element, "SupportViewRequests"))
        omm_element_flag(element, &out->support_view);
    else if (rwf_element_is(element, "SupportOptimizedPauseResume"))
        omm_element_flag(element, &out->support_pause);
    else if (rwf_element_is(element, "SupportStandby"))
        omm_element_flag(element, &out->support_standby);
    else if (rwf_element_is(element, "SupportStandbyMode"))
        omm_element_number(element, &mode);
    else if (rwf_element_is(element, "SupportProviderDictionaryDownload"))
        omm_element_flag(element, &out->support_dictionary_download);
    else if (rwf_element_is(element, "OutputRate"))
        omm_element_number(element, &out->output_rate);
    else
        authentication_element(element, out);
    out->support_batch = (uint8_t)batch;
    out->standby_mode = (uint8_t)mode;
}

int omm_login_refresh_decode(const struct rwf_msg *msg, struct omm_login_refresh *out)
{
    struct rwf_element_list list;
    struct rwf_element element;

    *out = (struct omm_login_refresh){
        .stream_id = msg->stream_id,
        .is_solicited = (msg->flags & RWF_REFRESH_SOLICITED) != 0,
        .state = msg->state,
        .user = msg->key.name,
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };
    if (msg->key.flags & RWF_KEY_HAS_NAME_TYPE)
        out->name_type = msg->key.name_type;
    if (!(msg->key.flags & RWF_KEY_HAS_ATTRIB))
        return RWF_OK;
    if (msg->key.attrib_type != RWF_TYPE_ELEMENT_LIST)
        return RWF_ERR_MALFORMED;
    int rc = rwf_element_list_decode(msg->key.attrib, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0)
        refresh_element(&element, out);
    return rc;
}

int omm_rtt_encode(struct rwf_encoder *enc, int32_t stream_id, const struct omm_rtt *rtt)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_id = stream_id,
        .container = RWF_TYPE_ELEMENT_LIST,
        .flags = RWF_GENERIC_PROVIDER_DRIVEN,
    };

    rwf_msg_start(enc, &msg);
    rwf_element_list_start(enc, NULL);
    rwf_element_add_uint(enc, "Ticks", rtt->ticks);
    if (rtt->has_latency)
        rwf_element_add_uint(enc, "RoundTripLatency", rtt->latency_us);
    rwf_element_list_finish(enc);
    return rwf_msg_finish(enc);
}

int omm_rtt_decode(const struct rwf_msg *msg, struct omm_rtt *out)
{
    struct rwf_element_list list;
    struct rwf_element element;
    bool has_ticks = false;

    *out = (struct omm_rtt){ 0 };
    if (msg->container != RWF_TYPE_ELEMENT_LIST)
        return RWF_ERR_NOT_FOUND;
    int rc = rwf_element_list_decode(msg->payload, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        if (rwf_element_is(&element, "Ticks")) {
            omm_element_number(&element, &out->ticks);
            has_ticks = true;
        } else if (rwf_element_is(&element, "RoundTripLatency")) {
            omm_element_number(&element, &out->latency_us);
            out->has_latency = true;
        }
    }
    if (rc < 0)
        return rc;
    return has_ticks ? RWF_OK : RWF_ERR_NOT_FOUND;
}

int omm_connection_status_decode(const struct rwf_msg *msg, uint64_t *standby_role)
{
    struct rwf_map map;
    struct rwf_map_entry entry;
    bool found = false;

    *standby_role = OMM_STANDBY_ACTIVE;
    if (!(msg->key.flags & RWF_KEY_HAS_NAME) || msg->container != RWF_TYPE_MAP ||
        !rwf_bytes_equal(msg->key.name, rwf_text("ConsumerConnectionStatus")))
        return RWF_ERR_NOT_FOUND;
    int rc = rwf_map_decode(msg->payload, &map);
    while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0) {
        struct rwf_element_list list;
        struct rwf_element element;

        if (map.info.container != RWF_TYPE_ELEMENT_LIST || entry.action == RWF_MAP_DELETE ||
            !rwf_bytes_equal(entry.key, rwf_text("WarmStandbyInfo")))
            continue;
        rc = rwf_element_list_decode(entry.data, NULL, &list);
        while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
            if (rwf_element_is(&element, "WarmStandbyMode")) {
                omm_element_number(&element, standby_role);
                found = true;
            }
        }
        if (rc < 0)
            return rc;
    }
    if (rc < 0)
        return rc;
    return found ? RWF_OK : RWF_ERR_NOT_FOUND;
}
