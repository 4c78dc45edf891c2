/* verbs_device.h - what the verbs transport asks of an RDMA device. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_VERBS_DEVICE_H
#define NETIO_VERBS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rrcp/rrcp.h"

/*
 * One opened port with one UD queue pair that has joined, or is joining, one group. `verbs_rdma.c`
 * is the only file that knows libibverbs and librdmacm; tests put a device of memory here.
 */
struct verbs_device;

enum {
    VERBS_GRH_BYTES = 40,     /* in front of the payload in each receive slot */
    VERBS_QKEY = 0x01234567,  /* of every queue pair and group of RDMA_PS_UDP */
    VERBS_REGIONS_MAX = 4,    /* slabs of packets to be sent */
    VERBS_ADDRESS_BYTES = 24, /* an rrcp_address of this transport: GID, queue pair, LID, 0 */
};

struct verbs_device_config {
    struct sockaddr_storage local, group; /* of the IP interface, which chooses the device */
    char interface[64];                   /* its name, for sentences */
    char device[64];                      /* the device it must belong to; "": any */
    uint8_t port;                         /* 0: any */
    uint32_t send_depth, receive_depth;   /* wanted; the device may grant less */
    size_t receive_bytes;                 /* memory of the receive ring wanted */
    uint8_t hop_limit;
};

struct verbs_device_info {
    char name[64];
    uint8_t port;
    uint32_t mtu; /* payload of the largest packet */
    uint32_t send_depth, receive_depth;
    uint64_t bits_per_s;
    bool is_infiniband;
};

struct verbs_send {
    const uint8_t *bytes;
    uint32_t length;
    void *handle;        /* of the receiver; NULL: the group */
    uint32_t queue_pair; /* of the receiver */
    uint64_t number;     /* comes back from poll_sent() */
    bool is_signalled;
};

struct verbs_got {
    uint32_t slot;
    uint32_t length; /* with the GRH */
    uint32_t queue_pair;
    uint16_t lid;
    bool has_grh;
};

enum verbs_event_kind {
    VERBS_NOTHING,
    VERBS_JOINED,      /* `local` is how others reach this queue pair */
    VERBS_JOIN_FAILED, /* `status` */
    VERBS_LEFT,        /* the membership is gone: SM change, multicast error */
    VERBS_PORT_DOWN,
    VERBS_PORT_UP,
    VERBS_GONE, /* the device or the queue pair cannot be used any more */
};

struct verbs_event {
    enum verbs_event_kind kind;
    int status;
    uint8_t port; /* 0: all ports of the device */
    struct rrcp_address local;
    const char *what; /* of the device's library, for the log */
};

/*
 * Functions return 0 or more, or a negative md_err. None of them blocks, but for open() and
 * close(), and open() no longer than creating its objects takes.
 */
struct verbs_device_table {
    /* Creates the queue pair and begins to join. On failure a sentence for the operator. */
    int (*open)(const struct verbs_device_config *config, struct verbs_device_info *info, char *why,
                size_t why_size, struct verbs_device **out);
    void (*close)(struct verbs_device *device);
    int (*join)(struct verbs_device *device); /* again, after VERBS_JOIN_FAILED or VERBS_LEFT */
    /* The receive ring: `count` slots of `slot_bytes`. */
    int (*ring)(struct verbs_device *device, uint8_t *slots, uint32_t slot_bytes, uint32_t count,
                char *why, size_t why_size);
    /* Memory that sent packets live in. */
    int (*memory)(struct verbs_device *device, void *base, size_t size, char *why, size_t why_size);
    int (*post_receive)(struct verbs_device *device, const uint32_t slots[], int count);
    int (*poll_receive)(struct verbs_device *device, struct verbs_got out[], int max);
    int (*send)(struct verbs_device *device, const struct verbs_send sends[], int count);
    /* 1: *number and all before it are sent; 0: nothing new; negative: the queue pair is broken. */
    int (*poll_sent)(struct verbs_device *device, uint64_t *number);
    /* The completion descriptor becomes readable with the next arrival, or with `sends` also with
     * the next completion of a send. */
    int (*arm)(struct verbs_device *device, bool sends);
    void (*disarm)(struct verbs_device *device);             /* its descriptor was readable */
    int (*fd)(const struct verbs_device *device, int index); /* 0 completions; 1, 2 events; -1 */
    void (*event)(struct verbs_device *device, struct verbs_event *out); /* until VERBS_NOTHING */
    void *(*handle)(struct verbs_device *device, const struct rrcp_address *to);
    void (*handle_free)(struct verbs_device *device, void *handle);
};

#endif
