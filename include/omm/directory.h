/* omm/directory.h - the source directory: services, what they offer, and their states. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OMM_DIRECTORY_H
#define OMM_DIRECTORY_H

#include "rmds/rwf.h"

#define OMM_DIRECTORY_STREAM 2 /* the stream id real consumers and src_dist use */

#define OMM_FILTER_INFO      0x01u
#define OMM_FILTER_STATE     0x02u
#define OMM_FILTER_GROUP     0x04u
#define OMM_FILTER_LOAD      0x08u
#define OMM_FILTER_DATA      0x10u
#define OMM_FILTER_LINK      0x20u

#define OMM_CAPABILITY_MAX   32
#define OMM_QOS_MAX          16
#define OMM_DICTIONARY_MAX   16
#define OMM_PATHS_MAX        4

/* The description of one service. `filters` says which parts are present; views point into
 * the message, or are the caller's when he encodes. */
struct omm_service {
    uint16_t id;
    uint8_t action;   /* enum rwf_map_action */
    uint32_t filters; /* OMM_FILTER_* that follow; INFO, STATE, LOAD, LINK */

    /* INFO */
    struct rwf_bytes name;
    struct rwf_bytes vendor;
    struct rwf_bytes item_list;
    bool is_source;
    bool supports_qos_range;
    bool supports_out_of_band_snapshots;
    bool accepting_consumer_status;
    uint8_t capability_count;
    uint8_t qos_count;
    uint8_t provided_count;
    uint8_t used_count;
    uint8_t path_count;
    uint8_t capabilities[OMM_CAPABILITY_MAX];
    struct rwf_qos qos[OMM_QOS_MAX];
    struct rwf_bytes provided[OMM_DICTIONARY_MAX];
    struct rwf_bytes used[OMM_DICTIONARY_MAX];
    struct rwf_bytes paths[OMM_PATHS_MAX]; /* SitePaths, our own: sites the data came through */

    /* STATE */
    bool is_up;
    bool is_accepting;
    bool has_status; /* transient: for all items of the service */
    struct rwf_state status;

    /* LOAD */
    bool has_open_limit;
    bool has_open_window;
    uint64_t open_limit;
    uint64_t open_window;
    uint64_t load_factor;
    struct rwf_bytes load; /* all of it, as it was read; written in place of the members above */

    /* LINK */
    struct rwf_bytes links; /* a map of links, as it was read */
};

/* A change of one group of items: a status, or a merge into another group. */
struct omm_group {
    struct rwf_bytes group;
    bool has_status;
    struct rwf_state status;
    struct rwf_bytes merged_to; /* empty: no merge */
};

/* ---- reading ---- */

/* The request of a consumer. */
struct omm_directory_request {
    int32_t stream_id;
    bool is_streaming;
    bool no_refresh;
    bool has_service_id;
    uint16_t service_id;
    uint32_t filter;
};
int omm_directory_request_decode(const struct rwf_msg *msg, struct omm_directory_request *out);

/*
 * Walks the services of a refresh or update: start with omm_directory_start(), then next() returns
 * 1 with a service, 0 at the end, or an error. Group changes of the service just returned are read
 * with omm_directory_group(), in the same manner, before the next service.
 */
struct omm_directory {
    struct rwf_map map;
    struct rwf_filter_list groups;
    bool has_groups;
};
int omm_directory_start(const struct rwf_msg *msg, struct omm_directory *directory);
int omm_directory_next(struct omm_directory *directory, struct omm_service *service);
int omm_directory_group(struct omm_directory *directory, struct omm_group *group);

/* ---- writing ---- */

int omm_directory_request_encode(struct rwf_encoder *enc,
                                 const struct omm_directory_request *request);

/*
 * A refresh or update: start, then one call per service, then finish. A service that does not fit
 * is rolled back whole and RWF_ERR_FULL returned: finish this part (is_complete false at start
 * must have been true to it) and go on with that service in the next.
 */
struct omm_directory_head {
    int32_t stream_id;
    bool is_update;    /* else a refresh */
    bool is_solicited; /* refresh */
    bool is_first;     /* refresh: CLEAR_CACHE */
    bool is_complete;  /* refresh */
    bool is_streaming; /* refresh: state OPEN, else NON_STREAMING */
    bool has_service_id;
    uint16_t service_id;
    uint32_t filter;
};
int omm_directory_encode_start(struct rwf_encoder *enc, const struct omm_directory_head *head);
int omm_directory_encode_service(struct rwf_encoder *enc, const struct omm_service *service);
/* A group change, as an entry of its own with action UPDATE. */
int omm_directory_encode_group(struct rwf_encoder *enc, uint16_t service_id,
                               const struct omm_group *group);
int omm_directory_encode_finish(struct rwf_encoder *enc);

/* A provider's role in source mirroring: GENERIC ConsumerStatus on the directory stream. */
enum omm_mirroring_mode {
    OMM_MIRROR_ACTIVE_ALONE = 0,
    OMM_MIRROR_ACTIVE_WITH_STANDBY = 1,
    OMM_MIRROR_STANDBY = 2,
};
int omm_consumer_status_encode(struct rwf_encoder *enc, int32_t stream_id, uint16_t service_id,
                               enum omm_mirroring_mode mode);

/*
 * Warm standby by service: GENERIC ConsumerStatus of a consumer, a role (enum omm_standby_role)
 * for each service named. start/next as above; RWF_ERR_NOT_FOUND from start: not this message.
 */
struct omm_consumer_status {
    struct rwf_map map;
};
int omm_consumer_status_start(const struct rwf_msg *msg, struct omm_consumer_status *status);
int omm_consumer_status_next(struct omm_consumer_status *status, uint16_t *service_id,
                             uint64_t *standby_role);

#endif
