/* omm/login.h - the login domain: who asks to come in, and what we tell him we can do. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OMM_LOGIN_H
#define OMM_LOGIN_H

#include "rmds/rwf.h"

#define OMM_LOGIN_STREAM 1 /* the stream id real consumers and src_dist use */

enum omm_role {
    OMM_ROLE_CONSUMER = 0,
    OMM_ROLE_PROVIDER = 1,
};

/* A LOGIN REQUEST. Views point into the message. Absent elements have the default of the domain. */
struct omm_login_request {
    int32_t stream_id;
    bool is_streaming;
    bool no_refresh;
    bool pause; /* pause all (with no_refresh: pause or resume all) */
    struct rwf_bytes user;
    uint8_t name_type; /* enum rwf_name_type, RWF_NAME_LOGIN_USER when absent */
    struct rwf_bytes application_id;
    struct rwf_bytes application_name;
    struct rwf_bytes position;
    struct rwf_bytes instance_id;
    struct rwf_bytes password;
    struct rwf_bytes token;          /* AuthenticationToken */
    struct rwf_bytes token_extended; /* AuthenticationExtended */
    uint64_t role;                   /* enum omm_role */
    bool single_open;                /* 1 */
    bool allow_suspect_data;         /* 1 */
    bool permission_expressions;     /* 1 */
    bool permission_profile;         /* 1 */
    bool download_connection_config;
    bool provider_dictionary_download;
    bool wants_rtt;               /* RoundTripLatency 2 */
    bool disable_data_conversion; /* DisableDataConversion 1: Marketfeed records as they come */
    bool marketfeed_data;         /* MarketfeedData 1, our own: MarketPrice as Marketfeed records */
};

/* RWF_ERR_MALFORMED and the like when the key attributes cannot be read; RWF_ERR_NOT_FOUND when
 * there is no name. Unknown elements are passed over. */
int omm_login_request_decode(const struct rwf_msg *msg, struct omm_login_request *out);

/* Our own login at a provider. Empty views are left out. */
int omm_login_request_encode(struct rwf_encoder *enc, const struct omm_login_request *request);

/* The answer: what is granted, and what this server supports. */
struct omm_login_refresh {
    int32_t stream_id;
    bool is_solicited;
    struct rwf_state state;
    struct rwf_bytes user; /* echo */
    uint8_t name_type;     /* echo */
    struct rwf_bytes application_id;
    struct rwf_bytes application_name; /* ours */
    struct rwf_bytes position;         /* echo */
    bool single_open;
    bool allow_suspect_data;
    bool permission_expressions;
    bool permission_profile;
    bool support_post;
    uint8_t support_batch; /* bits: 1 requests, 2 re-issues, 4 closes */
    bool support_view;
    bool support_pause;
    bool support_standby;
    uint8_t standby_mode;             /* OMM_STANDBY_BY_* */
    bool support_dictionary_download; /* to providers */
    /* The answer to a token: AuthenticationTTReissue and the like. */
    bool has_authentication;
    uint64_t reissue_s;            /* when a new one should come, in seconds since 1970; 0: never */
    uint64_t authentication_error; /* 0: none */
    struct rwf_bytes authentication_text;
    uint64_t output_rate; /* OutputRate, our own: bytes a second at most; 0: no limit */
};

int omm_login_refresh_encode(struct rwf_encoder *enc, const struct omm_login_refresh *refresh);

/* The features a provider granted. Absent Support elements are 0, SingleOpen and the like 1. */
int omm_login_refresh_decode(const struct rwf_msg *msg, struct omm_login_refresh *out);

/* The round-trip message: GENERIC on the login stream with `ticks`, our opaque clock value. */
struct omm_rtt {
    uint64_t ticks;
    bool has_latency;
    uint64_t latency_us; /* of the last round trip */
};

int omm_rtt_encode(struct rwf_encoder *enc, int32_t stream_id, const struct omm_rtt *rtt);
/* RWF_ERR_NOT_FOUND: a generic message, but not this one. */
int omm_rtt_decode(const struct rwf_msg *msg, struct omm_rtt *out);

/* Warm standby: GENERIC on the login stream, key name ConsumerConnectionStatus. */
#define OMM_STANDBY_BY_LOGIN   1u
#define OMM_STANDBY_BY_SERVICE 2u

enum omm_standby_role {
    OMM_STANDBY_ACTIVE = 0,
    OMM_STANDBY_STANDBY = 1,
};

/* RWF_ERR_NOT_FOUND: a generic message, but not this one. */
int omm_connection_status_decode(const struct rwf_msg *msg, uint64_t *standby_role);

#endif
