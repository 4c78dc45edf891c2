/* directory.c - the services of a source directory; see rmds/rwf_directory.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_directory.h"

#include "rmds/rwf_value.h"

#define FILTER_INFO  1
#define FILTER_STATE 2

int rwf_services_start(const struct rwf_msg *msg, struct rwf_services *services)
{
    bool is_directory = msg->domain == RWF_DOMAIN_SOURCE &&
                        (msg->msg_class == RWF_CLASS_REFRESH || msg->msg_class == RWF_CLASS_UPDATE);

    if (!is_directory || msg->container == RWF_TYPE_NO_DATA)
        return rwf_map_decode(rwf_bytes(NULL, 0), &services->map);
    if (msg->container != RWF_TYPE_MAP)
        return RWF_ERR_MALFORMED;
    return rwf_map_decode(msg->payload, &services->map);
}

static int take_flag(const struct rwf_element *element, bool *out)
{
    uint64_t value = 0;
    int rc = element->type == RWF_TYPE_UINT ? rwf_uint_decode(element->content, &value) : RWF_OK;

    *out = value != 0;
    return rc;
}

static int take_element(const struct rwf_element *element, uint8_t filter,
                        struct rwf_service *service)
{
    if (filter == FILTER_INFO && rwf_element_is(element, "Name")) {
        service->name = element->content;
        service->has_name = element->content.length > 0;
    } else if (filter == FILTER_STATE && rwf_element_is(element, "ServiceState")) {
        service->has_state = true;
        return take_flag(element, &service->is_up);
    } else if (filter == FILTER_STATE && rwf_element_is(element, "AcceptingRequests")) {
        return take_flag(element, &service->is_accepting);
    }
    return RWF_OK;
}

static int take_part(const struct rwf_filter_entry *part, struct rwf_service *service)
{
    struct rwf_element_list list;
    struct rwf_element element;

    if ((part->id != FILTER_INFO && part->id != FILTER_STATE) || part->action == RWF_FILTER_CLEAR ||
        part->container != RWF_TYPE_ELEMENT_LIST)
        return RWF_OK;
    int rc = rwf_element_list_decode(part->data, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        int err = take_element(&element, part->id, service);
        if (err < 0)
            return err;
    }
    return rc;
}

int rwf_services_next(struct rwf_services *services, struct rwf_service *service)
{
    struct rwf_map_entry entry;
    struct rwf_filter_list parts;
    struct rwf_filter_entry part;
    uint64_t id;

    *service = (struct rwf_service){ .is_accepting = true };
    int rc = rwf_map_next(&services->map, &entry);
    if (rc <= 0)
        return rc;
    if (rwf_uint_decode(entry.key, &id) != RWF_OK || id > UINT16_MAX)
        return RWF_ERR_MALFORMED;
    service->id = (uint16_t)id;
    service->is_deleted = entry.action == RWF_MAP_DELETE;
    if (service->is_deleted || entry.data.length == 0)
        return 1;
    if (services->map.info.container != RWF_TYPE_FILTER_LIST)
        return RWF_ERR_MALFORMED;
    rc = rwf_filter_list_decode(entry.data, &parts);
    while (rc >= 0 && (rc = rwf_filter_list_next(&parts, &part)) > 0) {
        int err = take_part(&part, service);
        if (err < 0)
            return err;
    }
    return rc < 0 ? rc : 1;
}

int rwf_service_find(const struct rwf_msg *msg, const char *name, struct rwf_service *service)
{
    struct rwf_services services;
    int rc = rwf_services_start(msg, &services);

    while (rc >= 0 && (rc = rwf_services_next(&services, service)) > 0) {
        if (service->has_name && rwf_bytes_equal(service->name, rwf_text(name)))
            return 1;
    }
    return rc;
}
