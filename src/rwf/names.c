/* names.c - the names of the wire's numbers; see rmds/rwf_types.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "rmds/rwf_types.h"

_Static_assert((int)RWF_ERR_SHORT == (int)MD_ERR_SHORT, "same results everywhere");
_Static_assert((int)RWF_ERR_MALFORMED == (int)MD_ERR_MALFORMED, "same results everywhere");
_Static_assert((int)RWF_ERR_RANGE == (int)MD_ERR_RANGE, "same results everywhere");
_Static_assert((int)RWF_ERR_FULL == (int)MD_ERR_FULL, "same results everywhere");
_Static_assert((int)RWF_ERR_NOT_FOUND == (int)MD_ERR_NOT_FOUND, "same results everywhere");
_Static_assert((int)RWF_ERR_STATE == (int)MD_ERR_STATE, "same results everywhere");

struct name_table {
    const char *const *names;
    size_t count;
};

#define TABLE(array) ((struct name_table){ (array), sizeof(array) / sizeof((array)[0]) })

static const char *name_of(struct name_table table, unsigned number)
{
    if (number < table.count && table.names[number])
        return table.names[number];
    return "UNKNOWN";
}

const char *rwf_err_name(int err)
{
    switch (err) {
    case RWF_OK:
        return "ok";
    case RWF_BLANK:
        return "blank";
    case RWF_ERR_SHORT:
        return "ran past the end of the bytes";
    case RWF_ERR_MALFORMED:
        return "malformed";
    case RWF_ERR_RANGE:
        return "value or length out of range";
    case RWF_ERR_FULL:
        return "does not fit in the buffer";
    case RWF_ERR_NOT_FOUND:
        return "not found";
    case RWF_ERR_STATE:
        return "calls out of order";
    case RWF_ERR_DEPTH:
        return "nested too deep";
    default:
        return "unknown error";
    }
}

const char *rwf_type_name(unsigned type)
{
    static const char *const names[] = {
        [0] = "UNKNOWN",       [3] = "INT",          [4] = "UINT",           [5] = "FLOAT",
        [6] = "DOUBLE",        [8] = "REAL",         [9] = "DATE",           [10] = "TIME",
        [11] = "DATETIME",     [12] = "QOS",         [13] = "STATE",         [14] = "ENUM",
        [15] = "ARRAY",        [16] = "BUFFER",      [17] = "ASCII_STRING",  [18] = "UTF8_STRING",
        [19] = "RMTES_STRING", [64] = "INT_1",       [65] = "UINT_1",        [66] = "INT_2",
        [67] = "UINT_2",       [68] = "INT_4",       [69] = "UINT_4",        [70] = "INT_8",
        [71] = "UINT_8",       [72] = "FLOAT_4",     [73] = "DOUBLE_8",      [74] = "REAL_4RB",
        [75] = "REAL_8RB",     [76] = "DATE_4",      [77] = "TIME_3",        [78] = "TIME_5",
        [79] = "DATETIME_7",   [80] = "DATETIME_9",  [81] = "DATETIME_11",   [82] = "DATETIME_12",
        [83] = "TIME_7",       [84] = "TIME_8",      [128] = "NO_DATA",      [130] = "OPAQUE",
        [131] = "XML",         [132] = "FIELD_LIST", [133] = "ELEMENT_LIST", [134] = "ANSI_PAGE",
        [135] = "FILTER_LIST", [136] = "VECTOR",     [137] = "MAP",          [138] = "SERIES",
        [141] = "MSG",         [142] = "JSON",
    };
    return name_of(TABLE(names), type);
}

unsigned rwf_type_base(unsigned type)
{
    static const uint8_t base[] = {
        [1] = RWF_TYPE_INT,
        [2] = RWF_TYPE_UINT,
        [7] = RWF_TYPE_REAL,
        [RWF_TYPE_INT_1] = RWF_TYPE_INT,
        [RWF_TYPE_UINT_1] = RWF_TYPE_UINT,
        [RWF_TYPE_INT_2] = RWF_TYPE_INT,
        [RWF_TYPE_UINT_2] = RWF_TYPE_UINT,
        [RWF_TYPE_INT_4] = RWF_TYPE_INT,
        [RWF_TYPE_UINT_4] = RWF_TYPE_UINT,
        [RWF_TYPE_INT_8] = RWF_TYPE_INT,
        [RWF_TYPE_UINT_8] = RWF_TYPE_UINT,
        [RWF_TYPE_FLOAT_4] = RWF_TYPE_FLOAT,
        [RWF_TYPE_DOUBLE_8] = RWF_TYPE_DOUBLE,
        [RWF_TYPE_REAL_4RB] = RWF_TYPE_REAL,
        [RWF_TYPE_REAL_8RB] = RWF_TYPE_REAL,
        [RWF_TYPE_DATE_4] = RWF_TYPE_DATE,
        [RWF_TYPE_TIME_3] = RWF_TYPE_TIME,
        [RWF_TYPE_TIME_5] = RWF_TYPE_TIME,
        [RWF_TYPE_DATETIME_7] = RWF_TYPE_DATETIME,
        [RWF_TYPE_DATETIME_9] = RWF_TYPE_DATETIME,
        [RWF_TYPE_DATETIME_11] = RWF_TYPE_DATETIME,
        [RWF_TYPE_DATETIME_12] = RWF_TYPE_DATETIME,
        [RWF_TYPE_TIME_7] = RWF_TYPE_TIME,
        [RWF_TYPE_TIME_8] = RWF_TYPE_TIME,
    };
    return type < sizeof(base) && base[type] ? base[type] : type;
}

const char *rwf_class_name(unsigned msg_class)
{
    static const char *const names[] = { NULL,    "REQUEST", "REFRESH", "STATUS", "UPDATE",
                                         "CLOSE", "ACK",     "GENERIC", "POST" };
    return name_of(TABLE(names), msg_class);
}

const char *rwf_domain_name(unsigned domain)
{
    static const char *const names[] = {
        [RWF_DOMAIN_LOGIN] = "LOGIN",
        [RWF_DOMAIN_SOURCE] = "SOURCE",
        [RWF_DOMAIN_DICTIONARY] = "DICTIONARY",
        [RWF_DOMAIN_MARKET_PRICE] = "MARKET_PRICE",
        [RWF_DOMAIN_MARKET_BY_ORDER] = "MARKET_BY_ORDER",
        [RWF_DOMAIN_MARKET_BY_PRICE] = "MARKET_BY_PRICE",
        [RWF_DOMAIN_MARKET_MAKER] = "MARKET_MAKER",
        [RWF_DOMAIN_SYMBOL_LIST] = "SYMBOL_LIST",
        [RWF_DOMAIN_SERVICE_PROVIDER_STATUS] = "SERVICE_PROVIDER_STATUS",
        [RWF_DOMAIN_HISTORY] = "HISTORY",
        [RWF_DOMAIN_HEADLINE] = "HEADLINE",
        [RWF_DOMAIN_STORY] = "STORY",
        [RWF_DOMAIN_REPLAY_HEADLINE] = "REPLAY_HEADLINE",
        [RWF_DOMAIN_REPLAY_STORY] = "REPLAY_STORY",
        [RWF_DOMAIN_TRANSACTION] = "TRANSACTION",
        [RWF_DOMAIN_YIELD_CURVE] = "YIELD_CURVE",
        [RWF_DOMAIN_CONTRIBUTION] = "CONTRIBUTION",
        [RWF_DOMAIN_PROVIDER_ADMIN] = "PROVIDER_ADMIN",
        [RWF_DOMAIN_ANALYTICS] = "ANALYTICS",
        [RWF_DOMAIN_REFERENCE] = "REFERENCE",
        [RWF_DOMAIN_NEWS_TEXT_ANALYTICS] = "NEWS_TEXT_ANALYTICS",
        [RWF_DOMAIN_ECONOMIC_INDICATOR] = "ECONOMIC_INDICATOR",
        [RWF_DOMAIN_POLL] = "POLL",
        [RWF_DOMAIN_FORECAST] = "FORECAST",
        [RWF_DOMAIN_MARKET_BY_TIME] = "MARKET_BY_TIME",
        [RWF_DOMAIN_SYSTEM] = "SYSTEM",
    };
    return name_of(TABLE(names), domain);
}

const char *rwf_stream_state_name(unsigned stream_state)
{
    static const char *const names[] = { "UNSPECIFIED",    "OPEN",   "NON_STREAMING",
                                         "CLOSED_RECOVER", "CLOSED", "REDIRECTED" };
    return name_of(TABLE(names), stream_state);
}

const char *rwf_data_state_name(unsigned data_state)
{
    static const char *const names[] = { "NO_CHANGE", "OK", "SUSPECT" };
    return name_of(TABLE(names), data_state);
}

const char *rwf_state_code_name(unsigned code)
{
    static const char *const names[] = {
        [0] = "NONE",
        [1] = "NOT_FOUND",
        [2] = "TIMEOUT",
        [3] = "NOT_ENTITLED",
        [4] = "INVALID_ARGUMENT",
        [5] = "USAGE_ERROR",
        [6] = "PREEMPTED",
        [7] = "JIT_CONFLATION_STARTED",
        [8] = "REALTIME_RESUMED",
        [9] = "FAILOVER_STARTED",
        [10] = "FAILOVER_COMPLETED",
        [11] = "GAP_DETECTED",
        [12] = "NO_RESOURCES",
        [13] = "TOO_MANY_ITEMS",
        [14] = "ALREADY_OPEN",
        [15] = "SOURCE_UNKNOWN",
        [16] = "NOT_OPEN",
        [19] = "NON_UPDATING_ITEM",
        [20] = "UNSUPPORTED_VIEW_TYPE",
        [21] = "INVALID_VIEW",
        [22] = "FULL_VIEW_PROVIDED",
        [23] = "UNABLE_TO_REQUEST_AS_BATCH",
        [26] = "NO_BATCH_VIEW_SUPPORT_IN_REQ",
        [27] = "EXCEEDED_MAX_MOUNTS_PER_USER",
        [28] = "ERROR",
        [29] = "DACS_DOWN",
        [30] = "USER_UNKNOWN_TO_PERM_SYS",
        [31] = "DACS_MAX_LOGINS_REACHED",
        [32] = "DACS_USER_ACCESS_TO_APP_DENIED",
        [34] = "GAP_FILL",
        [35] = "APP_AUTHORIZATION_FAILED",
    };
    return name_of(TABLE(names), code);
}

const char *rwf_nak_code_name(unsigned code)
{
    static const char *const names[] = {
        [0] = "NONE",        [1] = "ACCESS_DENIED",    [2] = "DENIED_BY_SRC",
        [3] = "SOURCE_DOWN", [4] = "SOURCE_UNKNOWN",   [5] = "NO_RESOURCES",
        [6] = "NO_RESPONSE", [7] = "GATEWAY_DOWN",     [10] = "SYMBOL_UNKNOWN",
        [11] = "NOT_OPEN",   [12] = "INVALID_CONTENT",
    };
    return name_of(TABLE(names), code);
}

const char *rwf_timeliness_name(unsigned timeliness)
{
    static const char *const names[] = { "UNSPECIFIED", "REALTIME", "DELAYED_UNKNOWN", "DELAYED" };
    return name_of(TABLE(names), timeliness);
}

const char *rwf_rate_name(unsigned rate)
{
    static const char *const names[] = { "UNSPECIFIED", "TICK_BY_TICK", "JIT_CONFLATED",
                                         "TIME_CONFLATED" };
    return name_of(TABLE(names), rate);
}

const char *rwf_update_type_name(unsigned update_type)
{
    static const char *const names[] = {
        "UNSPECIFIED",      "QUOTE",       "TRADE",      "NEWS_ALERT",    "VOLUME_ALERT",
        "ORDER_INDICATION", "CLOSING_RUN", "CORRECTION", "MARKET_DIGEST", "QUOTES_TRADE",
        "MULTIPLE",         "VERIFY",
    };
    return name_of(TABLE(names), update_type);
}
