/* verbs_rdma.c - a device of libibverbs and librdmacm; the only file that knows them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/err.h"
#include "verbs_rdma.h"

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ? MD_ERR_SYS : 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static bool has_closed; /* a port, before: one thread opens and closes */

static void rdma_close(struct verbs_device *device)
{
    has_closed = true;
    for (int i = 0; i < device->region_count; i++)
        (void)ibv_dereg_mr(device->regions[i]);
    if (device->group)
        (void)ibv_destroy_ah(device->group);
    /* A queue pair that is in a group cannot be destroyed, and all else hangs on it. */
    if (device->has_joined)
        (void)rdma_leave_multicast(device->id, (struct sockaddr *)&device->group_address);
    if (device->id && device->id->qp)
        rdma_destroy_qp(device->id);
    if (device->ring_region)
        (void)ibv_dereg_mr(device->ring_region);
    for (int i = 0; i < 2; i++)
        if (device->cq[i]) {
            ibv_ack_cq_events(device->cq[i], device->unacked[i]);
            (void)ibv_destroy_cq(device->cq[i]);
        }
    if (device->completions)
        (void)ibv_destroy_comp_channel(device->completions);
    if (device->pd)
        (void)ibv_dealloc_pd(device->pd);
    if (device->id)
        (void)rdma_destroy_id(device->id);
    if (device->events)
        rdma_destroy_event_channel(device->events);
    free(device->receives);
    free(device->receive_parts);
    free(device);
}

static int make_queues(struct verbs_device *device, struct verbs_device_info *info)
{
    struct ibv_context *context = device->id->verbs;

    device->pd = ibv_alloc_pd(context);
    device->completions = ibv_create_comp_channel(context);
    if (!device->pd || !device->completions)
        return MD_ERR_SYS;
    device->cq[VERBS_CQ_RECEIVE] =
        ibv_create_cq(context, (int)info->receive_depth, NULL, device->completions, 0);
    device->cq[VERBS_CQ_SEND] =
        ibv_create_cq(context, (int)info->send_depth, NULL, device->completions, 0);
    if (!device->cq[VERBS_CQ_RECEIVE] || !device->cq[VERBS_CQ_SEND])
        return MD_ERR_SYS;
    struct ibv_qp_init_attr wanted = { .send_cq = device->cq[VERBS_CQ_SEND],
                                       .recv_cq = device->cq[VERBS_CQ_RECEIVE],
                                       .cap = { .max_send_wr = info->send_depth,
                                                .max_recv_wr = info->receive_depth,
                                                .max_send_sge = 1,
                                                .max_recv_sge = 1 },
                                       .qp_type = IBV_QPT_UD };
    if (rdma_create_qp(device->id, device->pd, &wanted) != 0)
        return MD_ERR_SYS;
    if (wanted.cap.max_send_wr < info->send_depth)
        info->send_depth = wanted.cap.max_send_wr;
    if (wanted.cap.max_recv_wr < info->receive_depth)
        info->receive_depth = wanted.cap.max_recv_wr;
    device->receives = calloc(info->receive_depth, sizeof(*device->receives));
    device->receive_parts = calloc(info->receive_depth, sizeof(*device->receive_parts));
    if (!device->receives || !device->receive_parts)
        return MD_ERR_NOMEM;
    if (set_nonblocking(device->completions->fd) || set_nonblocking(context->async_fd))
        return MD_ERR_SYS;
    return 0;
}

static int rdma_join(struct verbs_device *device)
{
    struct sockaddr *group = (struct sockaddr *)&device->group_address;

    if (device->has_joined)
        (void)rdma_leave_multicast(device->id, group);
    device->has_joined = true;
    return rdma_join_multicast(device->id, group, device) == 0 ? 0 : MD_ERR_SYS;
}

static int rdma_open(const struct verbs_device_config *config, struct verbs_device_info *info,
                     char *why, size_t why_size, struct verbs_device **out)
{
    struct verbs_device *device = calloc(1, sizeof(*device));

    *out = NULL;
    snprintf(why, why_size, "out of memory");
    if (!device)
        return MD_ERR_NOMEM;
    if (has_closed)
        verbs_rdma_let_go();
    device->group_address = config->group;
    device->hop_limit = config->hop_limit;
    int err = verbs_rdma_choose(device, config, info, why, why_size);
    if (!err) {
        err = make_queues(device, info);
        if (err)
            verbs_rdma_why(errno, "a queue pair", 0, why, why_size);
    }
    if (!err && rdma_join(device) != 0) {
        err = MD_ERR_NOT_FOUND;
        snprintf(why, why_size, "multicastAddress: %s refuses the group: %s", info->name,
                 strerror(errno));
    }
    if (err) {
        rdma_close(device);
        return err;
    }
    device->port = info->port;
    why[0] = '\0';
    *out = device;
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int rdma_ring(struct verbs_device *device, uint8_t *slots, uint32_t slot_bytes,
                     uint32_t count, char *why, size_t why_size)
{
    size_t bytes = (size_t)slot_bytes * count;

    device->slots = slots;
    device->slot_bytes = slot_bytes;
    device->ring_region = ibv_reg_mr(device->pd, slots, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (device->ring_region)
        return 0;
    verbs_rdma_why(errno, "the receive ring (udpRecvBufSize)", bytes, why, why_size);
    return MD_ERR_SYS;
}

static int rdma_memory(struct verbs_device *device, void *base, size_t size, char *why,
                       size_t why_size)
{
    if (device->region_count == VERBS_REGIONS_MAX)
        return MD_ERR_FULL;
    struct ibv_mr *region = ibv_reg_mr(device->pd, base, size, 0);
    if (!region) {
        verbs_rdma_why(errno, "the packet pool (maxPktPoolSize)", size, why, why_size);
        return MD_ERR_SYS;
    }
    device->regions[device->region_count++] = region;
    return 0;
}

static uint32_t key_of(const struct verbs_device *device, const uint8_t *bytes)
{
    for (int i = 0; i < device->region_count; i++) {
        const uint8_t *base = device->regions[i]->addr;

        if (bytes >= base && bytes < base + device->regions[i]->length)
            return device->regions[i]->lkey;
    }
    return 0;
}

/* ---- the data path --------------------------------------------------------------------------- */

static int rdma_post_receive(struct verbs_device *device, const uint32_t slots[], int count)
{
    struct ibv_recv_wr *bad;

    for (int i = 0; i < count; i++) {
        struct ibv_recv_wr *wr = &device->receives[i];
        struct ibv_sge *part = &device->receive_parts[i];

        *part = (struct ibv_sge){ .addr = (uintptr_t)(device->slots +
                                                      (size_t)slots[i] * device->slot_bytes),
                                  .length = device->slot_bytes,
                                  .lkey = device->ring_region->lkey };
        *wr = (struct ibv_recv_wr){
            .wr_id = slots[i], .next = i + 1 < count ? wr + 1 : NULL, .sg_list = part, .num_sge = 1
        };
    }
    int err = count > 0 ? ibv_post_recv(device->id->qp, device->receives, &bad) : 0;
    if (err)
        errno = err;
    return err ? MD_ERR_SYS : 0;
}

static int rdma_poll_receive(struct verbs_device *device, struct verbs_got out[], int max)
{
    struct ibv_wc done[VERBS_RDMA_BATCH];
    int count = ibv_poll_cq(device->cq[VERBS_CQ_RECEIVE],
                            max < VERBS_RDMA_BATCH ? max : VERBS_RDMA_BATCH, done);

    for (int i = 0; i < count; i++) {
        if (done[i].status != IBV_WC_SUCCESS)
            return MD_ERR_SYS;
        out[i] = (struct verbs_got){ .slot = (uint32_t)done[i].wr_id,
                                     .length = done[i].byte_len,
                                     .queue_pair = done[i].src_qp,
                                     .lid = device->is_infiniband ? done[i].slid : 0,
                                     .has_grh = done[i].wc_flags & IBV_WC_GRH };
    }
    return count < 0 ? MD_ERR_SYS : count;
}

static int rdma_send(struct verbs_device *device, const struct verbs_send sends[], int count)
{
    struct ibv_send_wr wr[VERBS_RDMA_BATCH];
    struct ibv_sge parts[VERBS_RDMA_BATCH];
    struct ibv_send_wr *bad = NULL;

    if (!device->group || count > VERBS_RDMA_BATCH) {
        errno = EINVAL;
        return MD_ERR_STATE;
    }
    for (int i = 0; i < count; i++) {
        const struct verbs_send *send = &sends[i];

        parts[i] = (struct ibv_sge){ .addr = (uintptr_t)send->bytes,
                                     .length = send->length,
                                     .lkey = key_of(device, send->bytes) };
        wr[i] = (struct ibv_send_wr){ .wr_id = send->number,
                                      .next = i + 1 < count ? &wr[i + 1] : NULL,
                                      .sg_list = &parts[i],
                                      .num_sge = 1,
                                      .opcode = IBV_WR_SEND,
                                      .send_flags = send->is_signalled ? IBV_SEND_SIGNALED : 0 };
        wr[i].wr.ud.ah = send->handle ? send->handle : device->group;
        wr[i].wr.ud.remote_qpn = send->handle ? send->queue_pair : device->group_queue_pair;
        wr[i].wr.ud.remote_qkey = device->queue_key;
    }
    int err = ibv_post_send(device->id->qp, wr, &bad);
    if (!err)
        return count;
    errno = err;
    return bad ? (int)(bad - wr) : 0;
}

static int rdma_poll_sent(struct verbs_device *device, uint64_t *number)
{
    struct ibv_wc done[VERBS_RDMA_BATCH];
    int count = ibv_poll_cq(device->cq[VERBS_CQ_SEND], VERBS_RDMA_BATCH, done);

    if (count <= 0)
        return count;
    for (int i = 0; i < count; i++)
        if (done[i].status != IBV_WC_SUCCESS)
            return MD_ERR_SYS;
    *number = done[count - 1].wr_id;
    return 1;
}

static int rdma_arm(struct verbs_device *device, bool sends)
{
    int err = ibv_req_notify_cq(device->cq[VERBS_CQ_RECEIVE], 0);

    if (!err && sends)
        err = ibv_req_notify_cq(device->cq[VERBS_CQ_SEND], 0);
    return err ? MD_ERR_SYS : 0;
}

/* Acknowledging takes a lock: many at a time. */
static void rdma_disarm(struct verbs_device *device)
{
    struct ibv_cq *cq;
    void *context;

    if (ibv_get_cq_event(device->completions, &cq, &context) != 0)
        return;
    int which = cq == device->cq[VERBS_CQ_SEND] ? VERBS_CQ_SEND : VERBS_CQ_RECEIVE;
    if (++device->unacked[which] < 1024)
        return;
    ibv_ack_cq_events(cq, device->unacked[which]);
    device->unacked[which] = 0;
}

static int rdma_fd(const struct verbs_device *device, int index)
{
    if (index == 0)
        return device->completions->fd;
    if (index == 1)
        return device->events->fd;
    return index == 2 ? device->id->verbs->async_fd : -1;
}

/* ---- handles --------------------------------------------------------------------------------- */

/* With a GRH always, also where InfiniBand could do without: receivers read our GID in it. */
static void *rdma_handle(struct verbs_device *device, const struct rrcp_address *to)
{
    struct ibv_ah_attr attr = { .is_global = 1,
                                .port_num = device->port,
                                .sl = device->service_level,
                                .dlid = (uint16_t)(to->bytes[20] << 8 | to->bytes[21]) };

    memcpy(attr.grh.dgid.raw, to->bytes, 16);
    attr.grh.sgid_index = device->gid_index;
    attr.grh.hop_limit = device->hop_limit;
    return ibv_create_ah(device->pd, &attr);
}

static void rdma_handle_free(struct verbs_device *device, void *handle)
{
    (void)device;
    (void)ibv_destroy_ah(handle);
}

const struct verbs_device_table verbs_rdma_table = {
    .open = rdma_open,
    .close = rdma_close,
    .join = rdma_join,
    .ring = rdma_ring,
    .memory = rdma_memory,
    .post_receive = rdma_post_receive,
    .poll_receive = rdma_poll_receive,
    .send = rdma_send,
    .poll_sent = rdma_poll_sent,
    .arm = rdma_arm,
    .disarm = rdma_disarm,
    .fd = rdma_fd,
    .event = verbs_rdma_event,
    .handle = rdma_handle,
    .handle_free = rdma_handle_free,
};

static int open_rdma(const struct verbs_config *config, struct verbs_report *report, char *why,
                     size_t why_size, struct net_packet_io **out)
{
    return verbs_open_on(&verbs_rdma_table, config, report, why, why_size, out);
}

__attribute__((visibility("default"))) const struct verbs_plugin rmds_verbs_plugin = {
    .size = VERBS_PLUGIN_SIZE,
    .version = RMDS_VERSION,
    .open = open_rdma,
};
