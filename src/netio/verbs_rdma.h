/* verbs_rdma.h - a port of libibverbs, for verbs_rdma*.c. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_VERBS_RDMA_H
#define NETIO_VERBS_RDMA_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "verbs_plugin.h"

enum { VERBS_CQ_RECEIVE, VERBS_CQ_SEND, VERBS_RDMA_BATCH = 64 };

struct verbs_device {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_comp_channel *completions;
    struct ibv_cq *cq[2];
    unsigned unacked[2];
    uint8_t port;
    bool is_infiniband, has_joined;
    uint8_t hop_limit;

    struct ibv_mr *ring_region, *regions[VERBS_REGIONS_MAX];
    int region_count;
    uint8_t *slots;
    uint32_t slot_bytes;
    struct ibv_recv_wr *receives; /* as many as the ring has slots */
    struct ibv_sge *receive_parts;

    struct sockaddr_storage group_address;
    struct ibv_ah *group; /* NULL: not joined */
    uint32_t group_queue_pair, queue_key;
    uint8_t gid_index, service_level;
    uint8_t gid[16];
};

/* ---- verbs_rdma_open.c ---- */

/* The port of the interface, with what it can do; device->id is bound to it. */
int verbs_rdma_choose(struct verbs_device *device, const struct verbs_device_config *config,
                      struct verbs_device_info *info, char *why, size_t why_size);
/* After a device was closed: let the kernel have it, if it was removed. */
void verbs_rdma_let_go(void);
/* Why `what`, which needs `bytes` of pinned memory (0: some), is refused with `error`. */
void verbs_rdma_why(int error, const char *what, size_t bytes, char *why, size_t why_size);

/* ---- verbs_rdma_event.c ---- */

void verbs_rdma_event(struct verbs_device *device, struct verbs_event *out);

#endif
