/* directory_write.c - writing requests, services, groups and roles; see omm/directory.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "omm/directory.h"

int omm_directory_request_encode(struct rwf_encoder *enc,
                                 const struct omm_directory_request *request)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = RWF_DOMAIN_SOURCE,
        .stream_id = request->stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = (uint16_t)((request->is_streaming ? RWF_REQUEST_STREAMING : 0) |
                            (request->no_refresh ? RWF_REQUEST_NO_REFRESH : 0)),
        .key = {
            .flags = (uint16_t)(RWF_KEY_HAS_FILTER |
                                (request->has_service_id ? RWF_KEY_HAS_SERVICE_ID : 0)),
            .service_id = request->service_id,
            .filter = request->filter,
        },
    };

    return rwf_msg_encode(enc, &msg);
}

int omm_directory_encode_start(struct rwf_encoder *enc, const struct omm_directory_head *head)
{
    struct rwf_msg msg = {
        .msg_class = head->is_update ? RWF_CLASS_UPDATE : RWF_CLASS_REFRESH,
        .domain = RWF_DOMAIN_SOURCE,
        .stream_id = head->stream_id,
        .container = RWF_TYPE_MAP,
    };
    struct rwf_map_info info = {
        .key_type = RWF_TYPE_UINT,
        .container = RWF_TYPE_FILTER_LIST,
    };

    if (head->is_update) {
        msg.flags = RWF_UPDATE_DO_NOT_CONFLATE;
    } else {
        msg.flags =
            (uint16_t)(RWF_REFRESH_HAS_KEY | (head->is_solicited ? RWF_REFRESH_SOLICITED : 0) |
                       (head->is_complete ? RWF_REFRESH_COMPLETE : 0) |
                       (head->is_first ? RWF_REFRESH_CLEAR_CACHE : 0));
        msg.state.stream_state = head->is_streaming ? RWF_STREAM_OPEN : RWF_STREAM_NON_STREAMING;
        msg.state.data_state = RWF_DATA_OK;
        msg.group_id = rwf_bytes("\0", 2);
        msg.key.flags =
            (uint16_t)(RWF_KEY_HAS_FILTER | (head->has_service_id ? RWF_KEY_HAS_SERVICE_ID : 0));
        msg.key.service_id = head->service_id;
        msg.key.filter = head->filter;
    }
    rwf_msg_start(enc, &msg);
    return rwf_map_start(enc, &info);
}

int omm_directory_encode_finish(struct rwf_encoder *enc)
{
    rwf_map_finish(enc);
    return rwf_msg_finish(enc);
}

static void array_element_start(struct rwf_encoder *enc, const char *name, unsigned item_type)
{
    rwf_element_start(enc, rwf_text(name), RWF_TYPE_ARRAY);
    rwf_array_start(enc, item_type, 0);
}

static void array_element_finish(struct rwf_encoder *enc)
{
    rwf_array_finish(enc);
    rwf_element_finish(enc);
}

static void add_names(struct rwf_encoder *enc, const char *name, const struct rwf_bytes names[],
                      unsigned count)
{
    array_element_start(enc, name, RWF_TYPE_ASCII);
    for (unsigned i = 0; i < count; i++)
        rwf_array_add_bytes(enc, names[i]);
    array_element_finish(enc);
}

static void add_info(struct rwf_encoder *enc, const struct omm_service *service)
{
    rwf_element_add_ascii(enc, "Name", service->name);
    if (service->vendor.length)
        rwf_element_add_ascii(enc, "Vendor", service->vendor);
    rwf_element_add_uint(enc, "IsSource", service->is_source);
    array_element_start(enc, "Capabilities", RWF_TYPE_UINT);
    for (unsigned i = 0; i < service->capability_count; i++) {
        struct rwf_value domain = rwf_value_uint(service->capabilities[i]);
        rwf_array_add(enc, &domain);
    }
    array_element_finish(enc);
    add_names(enc, "DictionariesProvided", service->provided, service->provided_count);
    add_names(enc, "DictionariesUsed", service->used, service->used_count);
    if (service->qos_count) {
        array_element_start(enc, "QoS", RWF_TYPE_QOS);
        for (unsigned i = 0; i < service->qos_count; i++) {
            struct rwf_value qos = { .type = RWF_TYPE_QOS, .qos = service->qos[i] };
            rwf_array_add(enc, &qos);
        }
        array_element_finish(enc);
    }
    rwf_element_add_uint(enc, "SupportsQoSRange", service->supports_qos_range);
    if (service->item_list.length)
        rwf_element_add_ascii(enc, "ItemList", service->item_list);
    if (service->path_count)
        add_names(enc, "SitePaths", service->paths, service->path_count);
    rwf_element_add_uint(enc, "SupportsOutOfBandSnapshots",
                         service->supports_out_of_band_snapshots);
    rwf_element_add_uint(enc, "AcceptingConsumerStatus", service->accepting_consumer_status);
}

static void add_state(struct rwf_encoder *enc, const struct omm_service *service)
{
    rwf_element_add_uint(enc, "ServiceState", service->is_up);
    rwf_element_add_uint(enc, "AcceptingRequests", service->is_accepting);
    if (service->has_status)
        rwf_element_add_state(enc, "Status", &service->status);
}

static void add_load(struct rwf_encoder *enc, const struct omm_service *service)
{
    if (service->has_open_limit)
        rwf_element_add_uint(enc, "OpenLimit", service->open_limit);
    if (service->has_open_window)
        rwf_element_add_uint(enc, "OpenWindow", service->open_window);
    rwf_element_add_uint(enc, "LoadFactor", service->load_factor);
}

static void add_filter(struct rwf_encoder *enc, uint8_t id, const struct omm_service *service,
                       void (*add)(struct rwf_encoder *, const struct omm_service *))
{
    struct rwf_filter_entry entry = { .action = RWF_FILTER_SET, .id = id };

    rwf_filter_entry_start(enc, &entry);
    rwf_element_list_start(enc, NULL);
    add(enc, service);
    rwf_element_list_finish(enc);
    rwf_filter_entry_finish(enc);
}

/* A provider's element, unchanged. */
static void add_raw(struct rwf_encoder *enc, uint8_t id, uint8_t container, struct rwf_bytes data)
{
    struct rwf_filter_entry entry = {
        .action = RWF_FILTER_SET,
        .id = id,
        .has_container = container != RWF_TYPE_ELEMENT_LIST,
        .container = container,
        .data = data,
    };

    rwf_filter_add(enc, &entry);
}

/* The id of a service as a map key; `bytes` must outlive the key. */
static struct rwf_bytes service_key(uint16_t id, uint8_t bytes[2])
{
    bytes[0] = (uint8_t)(id >> 8);
    bytes[1] = (uint8_t)id;
    return id > 255 ? rwf_bytes(bytes, 2) : rwf_bytes(bytes + 1, 1);
}

static int finish_entry(struct rwf_encoder *enc, const struct rwf_mark *mark)
{
    rwf_filter_list_finish(enc);
    int rc = rwf_map_entry_finish(enc);
    if (rc < 0)
        rwf_encoder_rollback(enc, mark);
    return rc;
}

int omm_directory_encode_service(struct rwf_encoder *enc, const struct omm_service *service)
{
    struct rwf_mark mark = rwf_encoder_mark(enc);
    struct rwf_filter_list_info info = { .container = RWF_TYPE_ELEMENT_LIST };
    uint8_t key[2];
    struct rwf_map_entry entry = {
        .action = service->action,
        .key = service_key(service->id, key),
    };

    if (service->action == RWF_MAP_DELETE) {
        int rc = rwf_map_add(enc, &entry);
        if (rc < 0)
            rwf_encoder_rollback(enc, &mark);
        return rc;
    }
    rwf_map_entry_start(enc, &entry);
    rwf_filter_list_start(enc, &info);
    if (service->filters & OMM_FILTER_INFO)
        add_filter(enc, 1, service, add_info);
    if (service->filters & OMM_FILTER_STATE)
        add_filter(enc, 2, service, add_state);
    if (service->filters & OMM_FILTER_LOAD && service->load.length)
        add_raw(enc, 4, RWF_TYPE_ELEMENT_LIST, service->load);
    else if (service->filters & OMM_FILTER_LOAD)
        add_filter(enc, 4, service, add_load);
    if (service->filters & OMM_FILTER_LINK)
        add_raw(enc, 6, RWF_TYPE_MAP, service->links);
    return finish_entry(enc, &mark);
}

int omm_directory_encode_group(struct rwf_encoder *enc, uint16_t service_id,
                               const struct omm_group *group)
{
    struct rwf_mark mark = rwf_encoder_mark(enc);
    struct rwf_filter_list_info info = { .container = RWF_TYPE_ELEMENT_LIST };
    struct rwf_filter_entry part = { .action = RWF_FILTER_SET, .id = 3 };
    uint8_t key[2];
    struct rwf_map_entry entry = {
        .action = RWF_MAP_UPDATE,
        .key = service_key(service_id, key),
    };

    rwf_map_entry_start(enc, &entry);
    rwf_filter_list_start(enc, &info);
    rwf_filter_entry_start(enc, &part);
    rwf_element_list_start(enc, NULL);
    rwf_element_add_bytes(enc, rwf_text("Group"), RWF_TYPE_BUFFER, group->group);
    if (group->merged_to.length)
        rwf_element_add_bytes(enc, rwf_text("MergedToGroup"), RWF_TYPE_BUFFER, group->merged_to);
    if (group->has_status)
        rwf_element_add_state(enc, "Status", &group->status);
    rwf_element_list_finish(enc);
    rwf_filter_entry_finish(enc);
    return finish_entry(enc, &mark);
}

int omm_consumer_status_encode(struct rwf_encoder *enc, int32_t stream_id, uint16_t service_id,
                               enum omm_mirroring_mode mode)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_SOURCE,
        .stream_id = stream_id,
        .container = RWF_TYPE_MAP,
        .flags = RWF_GENERIC_HAS_KEY,
        .key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("ConsumerStatus") },
    };
    struct rwf_map_info info = {
        .key_type = RWF_TYPE_UINT,
        .container = RWF_TYPE_ELEMENT_LIST,
    };
    uint8_t key[2];
    struct rwf_map_entry entry = {
        .action = RWF_MAP_ADD,
        .key = service_key(service_id, key),
    };

    rwf_msg_start(enc, &msg);
    rwf_map_start(enc, &info);
    rwf_map_entry_start(enc, &entry);
    rwf_element_list_start(enc, NULL);
    rwf_element_add_uint(enc, "SourceMirroringMode", (uint64_t)mode);
    rwf_element_list_finish(enc);
    rwf_map_entry_finish(enc);
    rwf_map_finish(enc);
    return rwf_msg_finish(enc);
}
