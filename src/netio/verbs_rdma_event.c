/* verbs_rdma_event.c - what the kernel tells of a port, a queue pair and a group. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "verbs_private.h"
#include "verbs_rdma.h"

static void on_join(struct verbs_device *device, const struct rdma_ud_param *ud,
                    struct verbs_event *out)
{
    struct ibv_ah_attr attr = ud->ah_attr;
    union ibv_gid gid;
    struct ibv_port_attr port;

    if (device->group)
        (void)ibv_destroy_ah(device->group);
    device->group = ibv_create_ah(device->pd, &attr);
    device->group_queue_pair = ud->qp_num;
    device->queue_key = ud->qkey;
    device->gid_index = attr.grh.sgid_index;
    device->service_level = attr.sl;
    if (!device->group ||
        ibv_query_gid(device->id->verbs, device->port, attr.grh.sgid_index, &gid) != 0 ||
        ibv_query_port(device->id->verbs, device->port, &port) != 0) {
        out->kind = VERBS_JOIN_FAILED;
        out->status = errno;
        return;
    }
    memcpy(device->gid, gid.raw, 16);
    out->kind = VERBS_JOINED;
    verbs_address_make(gid.raw, device->id->qp->qp_num, device->is_infiniband ? port.lid : 0,
                       &out->local);
}

/* An address that came or went shifts others, and ours may be the one that went. */
static bool has_own_gid(const struct verbs_device *device)
{
    union ibv_gid gid;

    return ibv_query_gid(device->id->verbs, device->port, device->gid_index, &gid) == 0 &&
           memcmp(gid.raw, device->gid, 16) == 0;
}

static void translate_cm(struct verbs_device *device, const struct rdma_cm_event *event,
                         struct verbs_event *out)
{
    switch (event->event) {
    case RDMA_CM_EVENT_MULTICAST_JOIN:
        on_join(device, &event->param.ud, out);
        break;
    case RDMA_CM_EVENT_MULTICAST_ERROR:
        *out = (struct verbs_event){ .kind = device->group ? VERBS_LEFT : VERBS_JOIN_FAILED,
                                     .status = event->status,
                                     .port = device->port,
                                     .what = "the group was lost" };
        break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        *out = (struct verbs_event){ .kind = VERBS_GONE, .what = "the device was removed" };
        break;
    case RDMA_CM_EVENT_ADDR_CHANGE:
        *out = (struct verbs_event){ .kind = VERBS_GONE,
                                     .port = device->port,
                                     .what = "the address of the interface has changed" };
        break;
    default:
        break; /* nothing else is asked for on this channel */
    }
}

static void translate_async(struct verbs_device *device, const struct ibv_async_event *event,
                            struct verbs_event *out)
{
    uint8_t port = (uint8_t)event->element.port_num;

    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        *out = (struct verbs_event){ .kind = VERBS_PORT_DOWN, .port = port };
        break;
    case IBV_EVENT_PORT_ACTIVE:
        *out = (struct verbs_event){ .kind = VERBS_PORT_UP, .port = port };
        break;
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_PKEY_CHANGE:
        if (device->is_infiniband)
            *out = (struct verbs_event){ .kind = VERBS_LEFT,
                                         .port = port,
                                         .what = ibv_event_type_str(event->event_type) };
        break;
    case IBV_EVENT_GID_CHANGE:
        if (device->group && !has_own_gid(device))
            *out = (struct verbs_event){ .kind = VERBS_GONE,
                                         .port = port,
                                         .what = "the address of the port has changed" };
        break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        *out = (struct verbs_event){ .kind = VERBS_GONE,
                                     .what = ibv_event_type_str(event->event_type) };
        break;
    default:
        break;
    }
}

void verbs_rdma_event(struct verbs_device *device, struct verbs_event *out)
{
    struct rdma_cm_event *cm;
    struct ibv_async_event async;

    *out = (struct verbs_event){ .kind = VERBS_NOTHING };
    while (out->kind == VERBS_NOTHING && rdma_get_cm_event(device->events, &cm) == 0) {
        translate_cm(device, cm, out);
        (void)rdma_ack_cm_event(cm);
    }
    while (out->kind == VERBS_NOTHING && ibv_get_async_event(device->id->verbs, &async) == 0) {
        translate_async(device, &async, out);
        ibv_ack_async_event(&async);
    }
}
