/* verbs_private.h - the state of the verbs transport, for verbs*.c only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_VERBS_PRIVATE_H
#define NETIO_VERBS_PRIVATE_H

#include "base/clock.h"
#include "verbs_plugin.h"

enum {
    VERBS_BATCH = 64,        /* packets of one call to the device */
    VERBS_GIVEN_MAX = 256,   /* arrivals handed out at a time */
    VERBS_SIGNAL_EVERY = 32, /* sends from one completion to the next, within a batch */
    VERBS_SEND_DEPTH = 1024,
    VERBS_HANDLE_SETS = 256, /* by hash of the address */
    VERBS_HANDLE_WAYS = 8,
};

#define VERBS_RETRY_NS (1 * MD_NS_PER_S)    /* between two tries to open or to join */
#define VERBS_JOIN_NS  (10 * MD_NS_PER_S)   /* at the start, for an answer to the join */
#define VERBS_LOOK_NS  (100 * MD_NS_PER_MS) /* between two looks at a device that is polled */

/* How to reach one node; the device's handle is made when it is first sent to. */
struct verbs_handle {
    struct rrcp_address to; /* length 0: free */
    void *handle;
    uint64_t last_number; /* of the last send to it */
};

struct verbs_handles {
    struct verbs_handle entries[VERBS_HANDLE_SETS][VERBS_HANDLE_WAYS];
};

enum verbs_state {
    VERBS_CLOSED,  /* no device: opened again at retry_ns */
    VERBS_JOINING, /* waits for the group; sends to single nodes would work, but nobody knows us */
    VERBS_UP,
};

struct verbs_io;

struct verbs_path {
    struct verbs_device *device; /* NULL: VERBS_CLOSED */
    struct verbs_device_info info;
    enum verbs_state state;
    bool port_is_down;
    bool must_join; /* at retry_ns */
    bool is_broken; /* to be closed at the next receive */
    struct rrcp_address local;
    uint64_t retry_ns;
    char trouble[256]; /* the last sentence of a failure: not logged twice */

    /* Receive ring; its memory outlives the device. */
    uint8_t *slots;
    uint32_t slot_bytes, slot_count;
    uint32_t given[VERBS_GIVEN_MAX]; /* slots that the caller may still read */
    int given_count;
    struct verbs_got peeked; /* seen by arm() */
    bool has_peeked;

    /* Sends in order: posted[number % send_depth] is the flight of send `number`. */
    uint32_t *posted;
    uint64_t posted_number, sent_number; /* so many were posted, so many of them are complete */
    struct verbs_handles *handles;
};

/* A packet from the moment it is taken until complete() has said so. */
struct verbs_flight {
    uint32_t cookie;
    uint8_t pending; /* the call that took it, and paths it is posted on */
};

struct verbs_slab {
    void *base;
    size_t size;
};

struct verbs_io {
    struct net_packet_io io;
    const struct verbs_device_table *device;
    struct verbs_config config;
    struct verbs_path paths[2];
    size_t payload_max;
    struct rrcp_address from[VERBS_GIVEN_MAX];
    struct verbs_slab slabs[VERBS_REGIONS_MAX];
    int slab_count;

    struct verbs_flight *flights;
    uint32_t *free_flights, *done; /* stack; ring */
    uint32_t flight_max, free_count, done_first, done_count;

    int epoll_fd;
    bool is_open;   /* failures are logged from now on; before, they are the caller's */
    bool has_slept; /* the descriptors may have something to say */
    uint64_t look_ns;
    char why[256];
};

static inline struct verbs_io *verbs_of(struct net_packet_io *io)
{
    return (struct verbs_io *)io;
}

static inline const struct verbs_io *verbs_of_const(const struct net_packet_io *io)
{
    return (const struct verbs_io *)io;
}

/* One or two: as many as there is room for, whatever the configuration says. */
static inline int verbs_paths(const struct verbs_io *verbs)
{
    return verbs->config.path_count > 1 ? 2 : 1;
}

/* ---- verbs_path.c: opening, events, healing ---- */

int verbs_path_open(struct verbs_io *verbs, int index, char *why, size_t why_size);
void verbs_path_close(struct verbs_io *verbs, int index);
int verbs_path_memory(struct verbs_io *verbs, struct verbs_path *path,
                      const struct verbs_slab *slab);
/* The device has failed, `what` says how: closed at the next look, and opened again. */
void verbs_path_break(struct verbs_io *verbs, struct verbs_path *path, const char *what);
/* Events of the devices, and what is due at `now_ns`. */
void verbs_paths_look(struct verbs_io *verbs, uint64_t now_ns);
uint64_t verbs_paths_deadline(const struct verbs_io *verbs);

/* ---- verbs_flight.c ---- */

/* There is a free one: the caller looked. It lands when the caller and all paths have said so. */
uint32_t verbs_flight_begin(struct verbs_io *verbs, uint32_t cookie);
void verbs_flight_posted(struct verbs_io *verbs, uint32_t flight);
void verbs_flight_landed(struct verbs_io *verbs, uint32_t flight);
int verbs_flights_done(struct verbs_io *verbs, uint32_t cookies[], int max);
int verbs_flights_make(struct verbs_io *verbs); /* as many as the send queues hold */
void verbs_flights_free(struct verbs_io *verbs);

/* ---- verbs_address.c ---- */

/*
 * The sender of an arrival, from the 40 bytes in front of its payload. False: they make no sense.
 * `is_group`: the packet was sent to a group.
 */
bool verbs_address_read(const uint8_t grh[VERBS_GRH_BYTES], const struct verbs_got *got,
                        struct rrcp_address *from, bool *is_group);
uint32_t verbs_address_queue_pair(const struct rrcp_address *address);
void verbs_address_make(const uint8_t gid[16], uint32_t queue_pair, uint16_t lid,
                        struct rrcp_address *out);
/* Is the host of an IPv4 or IPv6 address allowed? GIDs of InfiniBand are no addresses of IP. */
bool verbs_address_is_allowed(const struct udp_sources *sources, bool is_infiniband,
                              const struct rrcp_address *from);

/* The entry for `to`, made and given a handle if need be; NULL: it cannot be made now. */
struct verbs_handle *verbs_handle_get(struct verbs_io *verbs, struct verbs_path *path,
                                      const struct rrcp_address *to);
void verbs_handles_clear(struct verbs_io *verbs, struct verbs_path *path);

#endif
