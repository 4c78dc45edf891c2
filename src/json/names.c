/* names.c - the names that JSON has for the numbers of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#define NAMES(table, ...)                                                                          \
    static const char *const table##_names[] = { __VA_ARGS__ };                                    \
    const struct json_names json_##table = { table##_names,                                        \
                                             sizeof(table##_names) / sizeof(table##_names[0]) }

NAMES(classes, [1] = "Request", [2] = "Refresh", [3] = "Status", [4] = "Update", [5] = "Close",
      [6] = "Ack", [7] = "Generic", [8] = "Post");
NAMES(domains, [1] = "Login", [4] = "Source", [5] = "Dictionary", [6] = "MarketPrice",
      [7] = "MarketByOrder", [8] = "MarketByPrice", [9] = "MarketMaker", [10] = "SymbolList",
      [11] = "ServiceProviderStatus", [12] = "History", [13] = "Headline", [14] = "Story",
      [15] = "ReplayHeadline", [16] = "ReplayStory", [17] = "Transaction", [22] = "YieldCurve",
      [27] = "Contribution", [29] = "ProviderAdmin", [30] = "Analytics", [31] = "Reference",
      [33] = "NewsTextAnalytics", [34] = "EconomicIndicator", [35] = "Poll", [36] = "Forecast",
      [37] = "MarketByTime", [127] = "System");
NAMES(
    types, [0] = "Unknown", [3] = "Int", [4] = "UInt", [5] = "Float", [6] = "Double", [8] = "Real",
    [9] = "Date", [10] = "Time", [11] = "DateTime", [12] = "Qos", [13] = "State", [14] = "Enum",
    [15] = "Array", [16] = "Buffer", [17] = "AsciiString", [18] = "Utf8String",
    [19] = "RmtesString", [64] = "Int1", [65] = "UInt1", [66] = "Int2", [67] = "UInt2",
    [68] = "Int4", [69] = "UInt4", [70] = "Int8", [71] = "UInt8", [72] = "Float4", [73] = "Double8",
    [74] = "Real4RB", [75] = "Real8RB", [76] = "Date4", [77] = "Time3", [78] = "Time5",
    [79] = "DateTime7", [80] = "DateTime9", [81] = "DateTime11", [82] = "DateTime12",
    [83] = "Time7", [84] = "Time8", [128] = "NoData", [130] = "Opaque", [131] = "Xml",
    [132] = "FieldList", [133] = "ElementList", [134] = "AnsiPage", [135] = "FilterList",
    [136] = "Vector", [137] = "Map", [138] = "Series", [141] = "Msg", [142] = "Json");
NAMES(stream_states, "Unspecified", "Open", "NonStreaming", "ClosedRecover", "Closed",
      "Redirected");
NAMES(data_states, "NoChange", "Ok", "Suspect");
NAMES(codes, [0] = "None", [1] = "NotFound", [2] = "Timeout", [3] = "NotEntitled",
      [4] = "InvalidArgument", [5] = "UsageError", [6] = "Preempted", [7] = "JitConflationStarted",
      [8] = "RealtimeResumed", [9] = "FailoverStarted", [10] = "FailoverCompleted",
      [11] = "GapDetected", [12] = "NoResources", [13] = "TooManyItems", [14] = "AlreadyOpen",
      [15] = "SourceUnknown", [16] = "NotOpen", [19] = "NonUpdatingItem",
      [20] = "UnsupportedViewType", [21] = "InvalidView", [22] = "FullViewProvided",
      [23] = "UnableToRequestAsBatch", [26] = "NoBatchViewSupportInReq",
      [27] = "ExceededMaxMountsPerUser", [28] = "Error", [29] = "DacsDown",
      [30] = "UserUnknownToPermSys", [31] = "MaxLoginsReached", [32] = "UserAccessToAppDenied",
      [34] = "GapFill", [35] = "AppAuthorizationFailed");
NAMES(timeliness, "Unspecified", "Realtime", "DelayedUnknown", "Delayed");
NAMES(rates, "Unspecified", "TickByTick", "JitConflated", "TimeConflated");
NAMES(update_types, "Unspecified", "Quote", "Trade", "NewsAlert", "VolumeAlert", "OrderIndication",
      "ClosingRun", "Correction", "MarketDigest", "QuotesTrade", "Multiple", "Verify");
NAMES(nak_codes, [0] = "None", [1] = "AccessDenied", [2] = "DeniedBySrc", [3] = "SourceDown",
      [4] = "SourceUnknown", [5] = "NoResources", [6] = "NoResponse", [7] = "GatewayDown",
      [10] = "SymbolUnknown", [11] = "NotOpen", [12] = "InvalidContent");
NAMES(map_actions, [1] = "Update", [2] = "Add", [3] = "Delete");
NAMES(vector_actions, [1] = "Update", [2] = "Set", [3] = "Clear", [4] = "Insert", [5] = "Delete");
NAMES(filter_actions, [1] = "Update", [2] = "Set", [3] = "Clear");
NAMES(name_types, "Unspecified", "Ric", "Contributor");
NAMES(login_name_types, [1] = "Name", [2] = "EmailAddress", [3] = "Token", [4] = "Cookie",
      [5] = "AuthnToken");

int json_number(const struct json_names *names, struct rwf_bytes name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->names[i] && rwf_bytes_equal(rwf_text(names->names[i]), name))
            return (int)i;
    }
    return -1;
}
