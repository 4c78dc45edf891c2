/* names.c - the names that JSON has for the numbers of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#define N(name) JSON_NAME(name)
#define NAMES(table, ...)                                                                          \
    static const struct json_name table##_names[] = { __VA_ARGS__ };                               \
    const struct json_names json_##table = { table##_names,                                        \
                                             sizeof(table##_names) / sizeof(table##_names[0]) }

NAMES(classes, [1] = N("Request"), [2] = N("Refresh"), [3] = N("Status"), [4] = N("Update"),
      [5] = N("Close"), [6] = N("Ack"), [7] = N("Generic"), [8] = N("Post"));
NAMES(domains, [1] = N("Login"), [4] = N("Source"), [5] = N("Dictionary"), [6] = N("MarketPrice"),
      [7] = N("MarketByOrder"), [8] = N("MarketByPrice"), [9] = N("MarketMaker"),
      [10] = N("SymbolList"), [11] = N("ServiceProviderStatus"), [12] = N("History"),
      [13] = N("Headline"), [14] = N("Story"), [15] = N("ReplayHeadline"), [16] = N("ReplayStory"),
      [17] = N("Transaction"), [22] = N("YieldCurve"), [27] = N("Contribution"),
      [29] = N("ProviderAdmin"), [30] = N("Analytics"), [31] = N("Reference"),
      [33] = N("NewsTextAnalytics"), [34] = N("EconomicIndicator"), [35] = N("Poll"),
      [36] = N("Forecast"), [37] = N("MarketByTime"), [127] = N("System"));
NAMES(types, [0] = N("Unknown"), [3] = N("Int"), [4] = N("UInt"), [5] = N("Float"),
      [6] = N("Double"), [8] = N("Real"), [9] = N("Date"), [10] = N("Time"), [11] = N("DateTime"),
      [12] = N("Qos"), [13] = N("State"), [14] = N("Enum"), [15] = N("Array"), [16] = N("Buffer"),
      [17] = N("AsciiString"), [18] = N("Utf8String"), [19] = N("RmtesString"), [64] = N("Int1"),
      [65] = N("UInt1"), [66] = N("Int2"), [67] = N("UInt2"), [68] = N("Int4"), [69] = N("UInt4"),
      [70] = N("Int8"), [71] = N("UInt8"), [72] = N("Float4"), [73] = N("Double8"),
      [74] = N("Real4RB"), [75] = N("Real8RB"), [76] = N("Date4"), [77] = N("Time3"),
      [78] = N("Time5"), [79] = N("DateTime7"), [80] = N("DateTime9"), [81] = N("DateTime11"),
      [82] = N("DateTime12"), [83] = N("Time7"), [84] = N("Time8"), [128] = N("NoData"),
      [130] = N("Opaque"), [131] = N("Xml"), [132] = N("FieldList"), [133] = N("ElementList"),
      [134] = N("AnsiPage"), [135] = N("FilterList"), [136] = N("Vector"), [137] = N("Map"),
      [138] = N("Series"), [141] = N("Msg"), [142] = N("Json"));
NAMES(stream_states, N("Unspecified"), N("Open"), N("NonStreaming"), N("ClosedRecover"),
      N("Closed"), N("Redirected"));
NAMES(data_states, N("NoChange"), N("Ok"), N("Suspect"));
NAMES(codes, [0] = N("None"), [1] = N("NotFound"), [2] = N("Timeout"), [3] = N("NotEntitled"),
      [4] = N("InvalidArgument"), [5] = N("UsageError"), [6] = N("Preempted"),
      [7] = N("JitConflationStarted"), [8] = N("RealtimeResumed"), [9] = N("FailoverStarted"),
      [10] = N("FailoverCompleted"), [11] = N("GapDetected"), [12] = N("NoResources"),
      [13] = N("TooManyItems"), [14] = N("AlreadyOpen"), [15] = N("SourceUnknown"),
      [16] = N("NotOpen"), [19] = N("NonUpdatingItem"), [20] = N("UnsupportedViewType"),
      [21] = N("InvalidView"), [22] = N("FullViewProvided"), [23] = N("UnableToRequestAsBatch"),
      [26] = N("NoBatchViewSupportInReq"), [27] = N("ExceededMaxMountsPerUser"), [28] = N("Error"),
      [29] = N("DacsDown"), [30] = N("UserUnknownToPermSys"), [31] = N("MaxLoginsReached"),
      [32] = N("UserAccessToAppDenied"), [34] = N("GapFill"), [35] = N("AppAuthorizationFailed"));
NAMES(timeliness, N("Unspecified"), N("Realtime"), N("DelayedUnknown"), N("Delayed"));
NAMES(rates, N("Unspecified"), N("TickByTick"), N("JitConflated"), N("TimeConflated"));
NAMES(update_types, N("Unspecified"), N("Quote"), N("Trade"), N("NewsAlert"), N("VolumeAlert"),
      N("OrderIndication"), N("ClosingRun"), N("Correction"), N("MarketDigest"), N("QuotesTrade"),
      N("Multiple"), N("Verify"));
NAMES(nak_codes, [0] = N("None"), [1] = N("AccessDenied"), [2] = N("DeniedBySrc"),
      [3] = N("SourceDown"), [4] = N("SourceUnknown"), [5] = N("NoResources"),
      [6] = N("NoResponse"), [7] = N("GatewayDown"), [10] = N("SymbolUnknown"), [11] = N("NotOpen"),
      [12] = N("InvalidContent"));
NAMES(map_actions, [1] = N("Update"), [2] = N("Add"), [3] = N("Delete"));
NAMES(vector_actions, [1] = N("Update"), [2] = N("Set"), [3] = N("Clear"), [4] = N("Insert"),
      [5] = N("Delete"));
NAMES(filter_actions, [1] = N("Update"), [2] = N("Set"), [3] = N("Clear"));
NAMES(name_types, N("Unspecified"), N("Ric"), N("Contributor"));
NAMES(login_name_types, [1] = N("Name"), [2] = N("EmailAddress"), [3] = N("Token"),
      [4] = N("Cookie"), [5] = N("AuthnToken"));

int json_number(const struct json_names *names, struct rwf_bytes name)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct json_name *one = &names->names[i];

        if (one->length == name.length + 2 && memcmp(one->text + 1, name.data, name.length) == 0)
            return (int)i;
    }
    return -1;
}
