/* directory_read.c - reading requests, services and groups; see omm/directory.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "omm/directory.h"

#include "elements.h"

int omm_directory_request_decode(const struct rwf_msg *msg, struct omm_directory_request *out)
{
    *out = (struct omm_directory_request){
        .stream_id = msg->stream_id,
        .is_streaming = (msg->flags & RWF_REQUEST_STREAMING) != 0,
        .no_refresh = (msg->flags & RWF_REQUEST_NO_REFRESH) != 0,
        .has_service_id = (msg->key.flags & RWF_KEY_HAS_SERVICE_ID) != 0,
        .service_id = msg->key.service_id,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };
    if (msg->key.flags & RWF_KEY_HAS_FILTER)
        out->filter = msg->key.filter;
    return RWF_OK;
}

/* Calls `take` for each item of an array element; a broken array ends with its error. */
typedef void (*array_fn)(struct omm_service *service, struct rwf_bytes item);

static int each_of_array(const struct rwf_element *element, struct omm_service *service,
                         array_fn take)
{
    struct rwf_array array;
    struct rwf_bytes item;

    if (element->type != RWF_TYPE_ARRAY)
        return RWF_OK;
    int rc = rwf_array_decode(element->content, &array);
    while (rc >= 0 && (rc = rwf_array_next(&array, &item)) > 0)
        take(service, item);
    return rc;
}

static void take_capability(struct omm_service *service, struct rwf_bytes item)
{
    uint64_t domain;

    if (service->capability_count < OMM_CAPABILITY_MAX &&
        rwf_uint_decode(item, &domain) == RWF_OK && domain <= 255)
        service->capabilities[service->capability_count++] = (uint8_t)domain;
}

static void take_qos(struct omm_service *service, struct rwf_bytes item)
{
    struct rwf_qos qos;

    if (service->qos_count < OMM_QOS_MAX && rwf_qos_decode(item, &qos) == RWF_OK)
        service->qos[service->qos_count++] = qos;
}

static void take_provided(struct omm_service *service, struct rwf_bytes item)
{
    if (service->provided_count < OMM_DICTIONARY_MAX && item.length)
        service->provided[service->provided_count++] = item;
}

static void take_used(struct omm_service *service, struct rwf_bytes item)
{
    if (service->used_count < OMM_DICTIONARY_MAX && item.length)
        service->used[service->used_count++] = item;
}

/* One too many: nobody could tell that it comes back. "*" is a path that nobody takes. */
static void take_path(struct omm_service *service, struct rwf_bytes item)
{
    if (service->path_count < OMM_PATHS_MAX)
        service->paths[service->path_count++] = item;
    else
        service->paths[OMM_PATHS_MAX - 1] = rwf_text("*");
}

static int info_element(const struct rwf_element *element, struct omm_service *out)
{
    if (rwf_element_is(element, "Name"))
        omm_element_text(element, &out->name);
    else if (rwf_element_is(element, "Vendor"))
        omm_element_text(element, &out->vendor);
    else if (rwf_element_is(element, "ItemList"))
        omm_element_text(element, &out->item_list);
    else if (rwf_element_is(element, "IsSource"))
        omm_element_flag(element, &out->is_source);
    else if (rwf_element_is(element, "SupportsQoSRange"))
        omm_element_flag(element, &out->supports_qos_range);
    else if (rwf_element_is(element, "SupportsOutOfBandSnapshots"))
        omm_element_flag(element, &out->supports_out_of_band_snapshots);
    else if (rwf_element_is(element, "AcceptingConsumerStatus"))
        omm_element_flag(element, &out->accepting_consumer_status);
    else if (rwf_element_is(element, "Capabilities"))
        return each_of_array(element, out, take_capability);
    else if (rwf_element_is(element, "QoS"))
        return each_of_array(element, out, take_qos);
    else if (rwf_element_is(element, "DictionariesProvided"))
        return each_of_array(element, out, take_provided);
    else if (rwf_element_is(element, "DictionariesUsed"))
        return each_of_array(element, out, take_used);
    else if (rwf_element_is(element, "SitePaths"))
        return each_of_array(element, out, take_path);
    return RWF_OK;
}

static int state_element(const struct rwf_element *element, struct omm_service *out)
{
    if (rwf_element_is(element, "ServiceState"))
        omm_element_flag(element, &out->is_up);
    else if (rwf_element_is(element, "AcceptingRequests"))
        omm_element_flag(element, &out->is_accepting);
    else if (rwf_element_is(element, "Status") && element->type == RWF_TYPE_STATE)
        out->has_status = rwf_state_decode(element->content, &out->status) == RWF_OK;
    return RWF_OK;
}

static int load_element(const struct rwf_element *element, struct omm_service *out)
{
    if (rwf_element_is(element, "OpenLimit")) {
        omm_element_number(element, &out->open_limit);
        out->has_open_limit = true;
    } else if (rwf_element_is(element, "OpenWindow")) {
        omm_element_number(element, &out->open_window);
        out->has_open_window = true;
    } else if (rwf_element_is(element, "LoadFactor")) {
        omm_element_number(element, &out->load_factor);
    }
    return RWF_OK;
}

typedef int (*element_fn)(const struct rwf_element *element, struct omm_service *out);

static int each_element(struct rwf_bytes bytes, element_fn take, struct omm_service *out)
{
    struct rwf_element_list list;
    struct rwf_element element;

    int rc = rwf_element_list_decode(bytes, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        int err = take(&element, out);
        if (err < 0)
            return err;
    }
    return rc;
}

static int filter_entry(const struct rwf_filter_entry *entry, struct omm_service *out)
{
    if (entry->action == RWF_FILTER_CLEAR)
        return RWF_OK;
    if (entry->id == 6 && entry->container == RWF_TYPE_MAP) {
        out->filters |= OMM_FILTER_LINK;
        out->links = entry->data;
    }
    if (entry->container != RWF_TYPE_ELEMENT_LIST)
        return RWF_OK;
    switch (entry->id) {
    case 1:
        out->filters |= OMM_FILTER_INFO;
        return each_element(entry->data, info_element, out);
    case 2:
        out->filters |= OMM_FILTER_STATE;
        return each_element(entry->data, state_element, out);
    case 4:
        out->filters |= OMM_FILTER_LOAD;
        out->load = entry->data;
        return each_element(entry->data, load_element, out);
    default:
        return RWF_OK; /* groups have an iterator of their own; DATA is not ours */
    }
}

int omm_directory_start(const struct rwf_msg *msg, struct omm_directory *directory)
{
    *directory = (struct omm_directory){ 0 };
    if (msg->container == RWF_TYPE_NO_DATA)
        return rwf_map_decode(rwf_bytes(NULL, 0), &directory->map);
    if (msg->container != RWF_TYPE_MAP)
        return RWF_ERR_MALFORMED;
    int rc = rwf_map_decode(msg->payload, &directory->map);
    if (rc < 0)
        return rc;
    if (directory->map.count && directory->map.info.container != RWF_TYPE_FILTER_LIST &&
        directory->map.info.container != RWF_TYPE_NO_DATA)
        return RWF_ERR_MALFORMED;
    return RWF_OK;
}

int omm_directory_next(struct omm_directory *directory, struct omm_service *service)
{
    struct rwf_map_entry entry;
    struct rwf_filter_list list;
    struct rwf_filter_entry part;
    uint64_t id;

    *service = (struct omm_service){ .is_accepting = true };
    directory->has_groups = false;
    int rc = rwf_map_next(&directory->map, &entry);
    if (rc <= 0)
        return rc;
    if (rwf_uint_decode(entry.key, &id) != RWF_OK || id > UINT16_MAX)
        return RWF_ERR_MALFORMED;
    service->id = (uint16_t)id;
    service->action = entry.action;
    if (entry.action == RWF_MAP_DELETE || entry.data.length == 0)
        return 1;
    rc = rwf_filter_list_decode(entry.data, &list);
    if (rc < 0)
        return rc;
    directory->groups = list;
    directory->has_groups = true;
    while ((rc = rwf_filter_list_next(&list, &part)) > 0) {
        int err = filter_entry(&part, service);
        if (err < 0)
            return err;
    }
    return rc < 0 ? rc : 1;
}

static int group_element(const struct rwf_element *element, struct omm_group *out)
{
    if (rwf_element_is(element, "Group"))
        omm_element_text(element, &out->group);
    else if (rwf_element_is(element, "MergedToGroup"))
        omm_element_text(element, &out->merged_to);
    else if (rwf_element_is(element, "Status") && element->type == RWF_TYPE_STATE)
        out->has_status = rwf_state_decode(element->content, &out->status) == RWF_OK;
    return RWF_OK;
}

int omm_directory_group(struct omm_directory *directory, struct omm_group *group)
{
    struct rwf_filter_entry part;
    int rc = 0;

    *group = (struct omm_group){ 0 };
    while (directory->has_groups && (rc = rwf_filter_list_next(&directory->groups, &part)) > 0) {
        struct rwf_element_list list;
        struct rwf_element element;

        if (part.id != 3 || part.container != RWF_TYPE_ELEMENT_LIST ||
            part.action == RWF_FILTER_CLEAR)
            continue;
        int err = rwf_element_list_decode(part.data, NULL, &list);
        while (err >= 0 && (err = rwf_element_list_next(&list, &element)) > 0)
            group_element(&element, group);
        return err < 0 ? err : 1;
    }
    return rc;
}

int omm_consumer_status_start(const struct rwf_msg *msg, struct omm_consumer_status *status)
{
    *status = (struct omm_consumer_status){ 0 };
    if (!(msg->key.flags & RWF_KEY_HAS_NAME) || msg->container != RWF_TYPE_MAP ||
        !rwf_bytes_equal(msg->key.name, rwf_text("ConsumerStatus")))
        return RWF_ERR_NOT_FOUND;
    return rwf_map_decode(msg->payload, &status->map);
}

int omm_consumer_status_next(struct omm_consumer_status *status, uint16_t *service_id,
                             uint64_t *standby_role)
{
    struct rwf_map_entry entry;
    int rc;

    *service_id = 0;
    *standby_role = 0;
    while ((rc = rwf_map_next(&status->map, &entry)) > 0) {
        struct rwf_element_list list;
        struct rwf_element element;
        bool found = false;
        uint64_t id;

        if (rwf_uint_decode(entry.key, &id) != RWF_OK || id > UINT16_MAX)
            return RWF_ERR_MALFORMED;
        if (status->map.info.container != RWF_TYPE_ELEMENT_LIST || entry.action == RWF_MAP_DELETE)
            continue;
        int err = rwf_element_list_decode(entry.data, NULL, &list);
        while (err >= 0 && (err = rwf_element_list_next(&list, &element)) > 0) {
            if (rwf_element_is(&element, "WarmStandbyMode")) {
                omm_element_number(&element, standby_role);
                found = true;
            }
        }
        if (err < 0)
            return err;
        if (found) {
            *service_id = (uint16_t)id;
            return 1;
        }
    }
    return rc;
}
