/* rwf_types.h - the numbers, names and plain structs of Reuters Wire Format 14.1. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_TYPES_H
#define RMDS_RWF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RWF_MAJOR 14
#define RWF_MINOR 1

/*
 * Results. A function that can fail returns 0 or a negative enum rwf_err (the values are those of
 * the suite's enum md_err). Decoders of one value may also return RWF_BLANK; iterators return 1
 * with an entry, 0 at the end. Outputs are written in every case.
 */
enum rwf_err {
    RWF_OK = 0,
    RWF_BLANK = 1,          /* a value was there, and it says "no value" */
    RWF_ERR_SHORT = -1,     /* ran past the end of the enclosing element */
    RWF_ERR_MALFORMED = -2, /* bytes present but not legal */
    RWF_ERR_RANGE = -3,     /* a value or length outside what the wire can carry */
    RWF_ERR_FULL = -4,      /* does not fit in the caller's buffer */
    RWF_ERR_NOT_FOUND = -7, /* no such set definition, field, member */
    RWF_ERR_STATE = -9,     /* encoder calls out of order */
    RWF_ERR_DEPTH = -32,    /* nested deeper than RWF_DEPTH_MAX */
};

/* Fixed text for logs, e.g. "nested too deep"; never NULL. */
const char *rwf_err_name(int err);

/* The message is one level; so at most 15 containers below a message. */
#define RWF_DEPTH_MAX 16

/* A view of bytes owned by someone else. NULL and 0 is empty. */
struct rwf_bytes {
    const uint8_t *data;
    size_t length;
};

static inline struct rwf_bytes rwf_bytes(const void *data, size_t length)
{
    return (struct rwf_bytes){ .data = (const uint8_t *)data, .length = length };
}

/* The bytes of a C string, without its terminator. */
static inline struct rwf_bytes rwf_text(const char *text)
{
    return rwf_bytes(text, strlen(text));
}

static inline bool rwf_bytes_equal(struct rwf_bytes a, struct rwf_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* ---- type numbers ---- */

enum rwf_type {
    RWF_TYPE_UNKNOWN = 0,
    RWF_TYPE_INT = 3,
    RWF_TYPE_UINT = 4,
    RWF_TYPE_FLOAT = 5,
    RWF_TYPE_DOUBLE = 6,
    RWF_TYPE_REAL = 8,
    RWF_TYPE_DATE = 9,
    RWF_TYPE_TIME = 10,
    RWF_TYPE_DATETIME = 11,
    RWF_TYPE_QOS = 12,
    RWF_TYPE_STATE = 13,
    RWF_TYPE_ENUM = 14,
    RWF_TYPE_ARRAY = 15,
    RWF_TYPE_BUFFER = 16,
    RWF_TYPE_ASCII = 17,
    RWF_TYPE_UTF8 = 18,
    RWF_TYPE_RMTES = 19,

    /* Only inside set definitions. */
    RWF_TYPE_INT_1 = 64,
    RWF_TYPE_UINT_1 = 65,
    RWF_TYPE_INT_2 = 66,
    RWF_TYPE_UINT_2 = 67,
    RWF_TYPE_INT_4 = 68,
    RWF_TYPE_UINT_4 = 69,
    RWF_TYPE_INT_8 = 70,
    RWF_TYPE_UINT_8 = 71,
    RWF_TYPE_FLOAT_4 = 72,
    RWF_TYPE_DOUBLE_8 = 73,
    RWF_TYPE_REAL_4RB = 74, /* better not sent: real peers disagree about it */
    RWF_TYPE_REAL_8RB = 75,
    RWF_TYPE_DATE_4 = 76,
    RWF_TYPE_TIME_3 = 77,
    RWF_TYPE_TIME_5 = 78,
    RWF_TYPE_DATETIME_7 = 79,
    RWF_TYPE_DATETIME_9 = 80,
    RWF_TYPE_DATETIME_11 = 81,
    RWF_TYPE_DATETIME_12 = 82,
    RWF_TYPE_TIME_7 = 83,
    RWF_TYPE_TIME_8 = 84,

    /* Containers. Any other number from 128 up is carried as opaque bytes. */
    RWF_TYPE_NO_DATA = 128,
    RWF_TYPE_OPAQUE = 130,
    RWF_TYPE_XML = 131,
    RWF_TYPE_FIELD_LIST = 132,
    RWF_TYPE_ELEMENT_LIST = 133,
    RWF_TYPE_ANSI_PAGE = 134,
    RWF_TYPE_FILTER_LIST = 135,
    RWF_TYPE_VECTOR = 136,
    RWF_TYPE_MAP = 137,
    RWF_TYPE_SERIES = 138,
    RWF_TYPE_MSG = 141,
    RWF_TYPE_JSON = 142,
};

/* "REAL", "FIELD_LIST", ...; "UNKNOWN" for a number without name. */
const char *rwf_type_name(unsigned type);

/* The base type behind a set-defined one (INT_2 -> INT, also legacy 1, 2, 7); others unchanged. */
unsigned rwf_type_base(unsigned type);

static inline bool rwf_type_is_container(unsigned type)
{
    return type >= RWF_TYPE_NO_DATA;
}

/* ---- message classes, domains, flags ---- */

enum rwf_class {
    RWF_CLASS_REQUEST = 1,
    RWF_CLASS_REFRESH = 2,
    RWF_CLASS_STATUS = 3,
    RWF_CLASS_UPDATE = 4,
    RWF_CLASS_CLOSE = 5,
    RWF_CLASS_ACK = 6,
    RWF_CLASS_GENERIC = 7,
    RWF_CLASS_POST = 8,
};

const char *rwf_class_name(unsigned msg_class);

enum rwf_domain {
    RWF_DOMAIN_LOGIN = 1,
    RWF_DOMAIN_SOURCE = 4,
    RWF_DOMAIN_DICTIONARY = 5,
    RWF_DOMAIN_MARKET_PRICE = 6,
    RWF_DOMAIN_MARKET_BY_ORDER = 7,
    RWF_DOMAIN_MARKET_BY_PRICE = 8,
    RWF_DOMAIN_MARKET_MAKER = 9,
    RWF_DOMAIN_SYMBOL_LIST = 10,
    RWF_DOMAIN_SERVICE_PROVIDER_STATUS = 11,
    RWF_DOMAIN_HISTORY = 12,
    RWF_DOMAIN_HEADLINE = 13,
    RWF_DOMAIN_STORY = 14,
    RWF_DOMAIN_REPLAY_HEADLINE = 15,
    RWF_DOMAIN_REPLAY_STORY = 16,
    RWF_DOMAIN_TRANSACTION = 17,
    RWF_DOMAIN_YIELD_CURVE = 22,
    RWF_DOMAIN_CONTRIBUTION = 27,
    RWF_DOMAIN_PROVIDER_ADMIN = 29,
    RWF_DOMAIN_ANALYTICS = 30,
    RWF_DOMAIN_REFERENCE = 31,
    RWF_DOMAIN_NEWS_TEXT_ANALYTICS = 33,
    RWF_DOMAIN_ECONOMIC_INDICATOR = 34,
    RWF_DOMAIN_POLL = 35,
    RWF_DOMAIN_FORECAST = 36,
    RWF_DOMAIN_MARKET_BY_TIME = 37,
    RWF_DOMAIN_SYSTEM = 127,
};

const char *rwf_domain_name(unsigned domain); /* "UNKNOWN" for user domains */

/*
 * The flag word of a message, as on the wire. The bits differ from class to class. HAS_... says
 * that the member is there: the encoder writes exactly the members whose flag is set.
 */
enum rwf_request_flags {
    RWF_REQUEST_HAS_EXT_HEADER = 0x0001,
    RWF_REQUEST_HAS_PRIORITY = 0x0002,
    RWF_REQUEST_STREAMING = 0x0004,
    RWF_REQUEST_KEY_IN_UPDATES = 0x0008,
    RWF_REQUEST_CONF_INFO_IN_UPDATES = 0x0010,
    RWF_REQUEST_NO_REFRESH = 0x0020,
    RWF_REQUEST_HAS_QOS = 0x0040,
    RWF_REQUEST_HAS_WORST_QOS = 0x0080,
    RWF_REQUEST_PRIVATE_STREAM = 0x0100,
    RWF_REQUEST_PAUSE = 0x0200,
    RWF_REQUEST_HAS_VIEW = 0x0400,
    RWF_REQUEST_HAS_BATCH = 0x0800,
    RWF_REQUEST_QUALIFIED_STREAM = 0x1000,
};

enum rwf_refresh_flags {
    RWF_REFRESH_HAS_EXT_HEADER = 0x0001,
    RWF_REFRESH_HAS_PERM_DATA = 0x0002,
    RWF_REFRESH_HAS_KEY = 0x0008,
    RWF_REFRESH_HAS_SEQ_NUM = 0x0010,
    RWF_REFRESH_SOLICITED = 0x0020,
    RWF_REFRESH_COMPLETE = 0x0040,
    RWF_REFRESH_HAS_QOS = 0x0080,
    RWF_REFRESH_CLEAR_CACHE = 0x0100,
    RWF_REFRESH_DO_NOT_CACHE = 0x0200,
    RWF_REFRESH_PRIVATE_STREAM = 0x0400,
    RWF_REFRESH_HAS_POST_USER_INFO = 0x0800,
    RWF_REFRESH_HAS_PART_NUM = 0x1000,
    RWF_REFRESH_HAS_REQ_KEY = 0x2000,
    RWF_REFRESH_QUALIFIED_STREAM = 0x4000,
};

enum rwf_status_flags {
    RWF_STATUS_HAS_EXT_HEADER = 0x0001,
    RWF_STATUS_HAS_PERM_DATA = 0x0002,
    RWF_STATUS_HAS_KEY = 0x0008,
    RWF_STATUS_HAS_GROUP_ID = 0x0010,
    RWF_STATUS_HAS_STATE = 0x0020,
    RWF_STATUS_CLEAR_CACHE = 0x0040,
    RWF_STATUS_PRIVATE_STREAM = 0x0080,
    RWF_STATUS_HAS_POST_USER_INFO = 0x0100,
    RWF_STATUS_HAS_REQ_KEY = 0x0200,
    RWF_STATUS_QUALIFIED_STREAM = 0x0400,
};

enum rwf_update_flags {
    RWF_UPDATE_HAS_EXT_HEADER = 0x0001,
    RWF_UPDATE_HAS_PERM_DATA = 0x0002,
    RWF_UPDATE_HAS_KEY = 0x0008,
    RWF_UPDATE_HAS_SEQ_NUM = 0x0010,
    RWF_UPDATE_HAS_CONF_INFO = 0x0020,
    RWF_UPDATE_DO_NOT_CACHE = 0x0040,
    RWF_UPDATE_DO_NOT_CONFLATE = 0x0080,
    RWF_UPDATE_DO_NOT_RIPPLE = 0x0100,
    RWF_UPDATE_HAS_POST_USER_INFO = 0x0200,
    RWF_UPDATE_DISCARDABLE = 0x0400,
};

enum rwf_close_flags {
    RWF_CLOSE_HAS_EXT_HEADER = 0x01,
    RWF_CLOSE_ACK = 0x02,
};

enum rwf_ack_flags {
    RWF_ACK_HAS_EXT_HEADER = 0x01,
    RWF_ACK_HAS_TEXT = 0x02,
    RWF_ACK_PRIVATE_STREAM = 0x04,
    RWF_ACK_HAS_SEQ_NUM = 0x08,
    RWF_ACK_HAS_KEY = 0x10,
    RWF_ACK_HAS_NAK_CODE = 0x20,
    RWF_ACK_QUALIFIED_STREAM = 0x40,
};

enum rwf_generic_flags {
    RWF_GENERIC_HAS_EXT_HEADER = 0x0001,
    RWF_GENERIC_HAS_PERM_DATA = 0x0002,
    RWF_GENERIC_HAS_KEY = 0x0004,
    RWF_GENERIC_HAS_SEQ_NUM = 0x0008,
    RWF_GENERIC_COMPLETE = 0x0010,
    RWF_GENERIC_HAS_SECONDARY_SEQ_NUM = 0x0020,
    RWF_GENERIC_HAS_PART_NUM = 0x0040,
    RWF_GENERIC_HAS_REQ_KEY = 0x0080,
    RWF_GENERIC_PROVIDER_DRIVEN = 0x4000,
};

enum rwf_post_flags {
    RWF_POST_HAS_EXT_HEADER = 0x0001,
    RWF_POST_HAS_POST_ID = 0x0002,
    RWF_POST_HAS_KEY = 0x0004,
    RWF_POST_HAS_SEQ_NUM = 0x0008,
    RWF_POST_COMPLETE = 0x0020,
    RWF_POST_ACK = 0x0040,
    RWF_POST_HAS_PERM_DATA = 0x0080,
    RWF_POST_HAS_PART_NUM = 0x0100,
    RWF_POST_HAS_POST_USER_RIGHTS = 0x0200,
};

enum rwf_post_rights {
    RWF_POST_RIGHT_CREATE = 1,
    RWF_POST_RIGHT_DELETE = 2,
    RWF_POST_RIGHT_MODIFY_PERM = 4,
};

enum rwf_key_flags {
    RWF_KEY_HAS_SERVICE_ID = 0x01,
    RWF_KEY_HAS_NAME = 0x02,
    RWF_KEY_HAS_NAME_TYPE = 0x04,
    RWF_KEY_HAS_FILTER = 0x08,
    RWF_KEY_HAS_IDENTIFIER = 0x10,
    RWF_KEY_HAS_ATTRIB = 0x20,
};

enum rwf_name_type {
    RWF_NAME_UNSPECIFIED = 0,
    RWF_NAME_RIC = 1,
    RWF_NAME_CONTRIBUTOR = 2,
    RWF_NAME_LOGIN_USER = 1, /* in the key of a login */
    RWF_NAME_LOGIN_EMAIL = 2,
    RWF_NAME_LOGIN_TOKEN = 3,
    RWF_NAME_LOGIN_COOKIE = 4,
    RWF_NAME_LOGIN_AUTHN_TOKEN = 5,
};

/* ---- codes ---- */

enum rwf_stream_state {
    RWF_STREAM_UNSPECIFIED = 0, /* must not be encoded in a message */
    RWF_STREAM_OPEN = 1,
    RWF_STREAM_NON_STREAMING = 2,
    RWF_STREAM_CLOSED_RECOVER = 3,
    RWF_STREAM_CLOSED = 4,
    RWF_STREAM_REDIRECTED = 5,
};

enum rwf_data_state {
    RWF_DATA_NO_CHANGE = 0,
    RWF_DATA_OK = 1,
    RWF_DATA_SUSPECT = 2,
};

enum rwf_state_code {
    RWF_CODE_NONE = 0,
    RWF_CODE_NOT_FOUND = 1,
    RWF_CODE_TIMEOUT = 2,
    RWF_CODE_NOT_ENTITLED = 3,
    RWF_CODE_INVALID_ARGUMENT = 4,
    RWF_CODE_USAGE_ERROR = 5,
    RWF_CODE_PREEMPTED = 6,
    RWF_CODE_JIT_CONFLATION_STARTED = 7,
    RWF_CODE_REALTIME_RESUMED = 8,
    RWF_CODE_FAILOVER_STARTED = 9,
    RWF_CODE_FAILOVER_COMPLETED = 10,
    RWF_CODE_GAP_DETECTED = 11,
    RWF_CODE_NO_RESOURCES = 12,
    RWF_CODE_TOO_MANY_ITEMS = 13,
    RWF_CODE_ALREADY_OPEN = 14,
    RWF_CODE_SOURCE_UNKNOWN = 15,
    RWF_CODE_NOT_OPEN = 16,
    RWF_CODE_NON_UPDATING_ITEM = 19,
    RWF_CODE_UNSUPPORTED_VIEW_TYPE = 20,
    RWF_CODE_INVALID_VIEW = 21,
    RWF_CODE_FULL_VIEW_PROVIDED = 22,
    RWF_CODE_UNABLE_TO_REQUEST_AS_BATCH = 23,
    RWF_CODE_NO_BATCH_VIEW_SUPPORT_IN_REQ = 26,
    RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER = 27,
    RWF_CODE_ERROR = 28,
    RWF_CODE_DACS_DOWN = 29,
    RWF_CODE_USER_UNKNOWN_TO_PERM_SYS = 30,
    RWF_CODE_DACS_MAX_LOGINS_REACHED = 31,
    RWF_CODE_DACS_USER_ACCESS_TO_APP_DENIED = 32,
    RWF_CODE_GAP_FILL = 34,
    RWF_CODE_APP_AUTHORIZATION_FAILED = 35,
};

enum rwf_nak_code {
    RWF_NAK_NONE = 0,
    RWF_NAK_ACCESS_DENIED = 1,
    RWF_NAK_DENIED_BY_SRC = 2,
    RWF_NAK_SOURCE_DOWN = 3,
    RWF_NAK_SOURCE_UNKNOWN = 4,
    RWF_NAK_NO_RESOURCES = 5,
    RWF_NAK_NO_RESPONSE = 6,
    RWF_NAK_GATEWAY_DOWN = 7,
    RWF_NAK_SYMBOL_UNKNOWN = 10,
    RWF_NAK_NOT_OPEN = 11,
    RWF_NAK_INVALID_CONTENT = 12,
};

enum rwf_timeliness {
    RWF_TIMELINESS_UNSPECIFIED = 0,
    RWF_TIMELINESS_REALTIME = 1,
    RWF_TIMELINESS_DELAYED_UNKNOWN = 2,
    RWF_TIMELINESS_DELAYED = 3, /* by time_info seconds */
};

enum rwf_rate {
    RWF_RATE_UNSPECIFIED = 0,
    RWF_RATE_TICK_BY_TICK = 1,
    RWF_RATE_JIT_CONFLATED = 2,
    RWF_RATE_TIME_CONFLATED = 3, /* one per rate_info milliseconds */
};

enum rwf_update_type {
    RWF_UPDATE_UNSPECIFIED = 0,
    RWF_UPDATE_QUOTE = 1,
    RWF_UPDATE_TRADE = 2,
    RWF_UPDATE_NEWS_ALERT = 3,
    RWF_UPDATE_VOLUME_ALERT = 4,
    RWF_UPDATE_ORDER_INDICATION = 5,
    RWF_UPDATE_CLOSING_RUN = 6,
    RWF_UPDATE_CORRECTION = 7,
    RWF_UPDATE_MARKET_DIGEST = 8,
    RWF_UPDATE_QUOTES_TRADE = 9,
    RWF_UPDATE_MULTIPLE = 10,
    RWF_UPDATE_VERIFY = 11,
};

/* Names as in the vendor's documents, e.g. "CLOSED_RECOVER", "SUSPECT", "NOT_FOUND". */
const char *rwf_stream_state_name(unsigned stream_state);
const char *rwf_data_state_name(unsigned data_state);
const char *rwf_state_code_name(unsigned code);
const char *rwf_nak_code_name(unsigned code);
const char *rwf_timeliness_name(unsigned timeliness);
const char *rwf_rate_name(unsigned rate);
const char *rwf_update_type_name(unsigned update_type);

/* ---- values ---- */

/* value x 10^(hint-14) for hints 0..21; value / 2^(hint-22) for 22..30. */
enum rwf_real_hint {
    RWF_HINT_EXP_M14 = 0,
    RWF_HINT_EXP_0 = 14,
    RWF_HINT_EXP_7 = 21,
    RWF_HINT_FRACTION_1 = 22,
    RWF_HINT_FRACTION_256 = 30,
    RWF_HINT_INFINITY = 33,
    RWF_HINT_NEG_INFINITY = 34,
    RWF_HINT_NOT_A_NUMBER = 35,
};

struct rwf_real {
    int64_t value;
    uint8_t hint;
};

/* A part that is 0 is not known; all three 0 is blank. */
struct rwf_date {
    uint16_t year;
    uint8_t month;
    uint8_t day;
};

#define RWF_HOUR_BLANK   255
#define RWF_MINUTE_BLANK 255
#define RWF_SECOND_BLANK 255
#define RWF_MILLI_BLANK  65535
#define RWF_MICRO_BLANK  2047
#define RWF_NANO_BLANK   2047

struct rwf_time {
    uint8_t hour;
    uint8_t minute;
    uint8_t second;
    uint16_t milli;
    uint16_t micro;
    uint16_t nano;
};

struct rwf_datetime {
    struct rwf_date date;
    struct rwf_time time;
};

struct rwf_qos {
    uint8_t timeliness;
    uint8_t rate;
    bool dynamic;
    uint16_t time_info;
    uint16_t rate_info;
};

struct rwf_state {
    uint8_t stream_state;
    uint8_t data_state;
    uint8_t code;
    struct rwf_bytes text;
};

/* The two states in one byte, as it is on the wire. */
static inline uint8_t rwf_state_byte(unsigned stream_state, unsigned data_state)
{
    return (uint8_t)(stream_state << 3 | data_state);
}

/* Any primitive. Containers, arrays and strings are views of their bytes. */
struct rwf_value {
    uint16_t type; /* a base primitive or a container; never a set-defined type */
    bool is_blank;
    union {
        int64_t i;  /* INT */
        uint64_t u; /* UINT, ENUM */
        float f;
        double d;
        struct rwf_real real;
        struct rwf_date date;
        struct rwf_time time;
        struct rwf_datetime datetime;
        struct rwf_qos qos;
        struct rwf_state state;
        struct rwf_bytes bytes; /* BUFFER, ASCII, UTF8, RMTES, ARRAY, every container */
    };
};

#endif
