/* table.c - every parameter of rmds.cnf, once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/table.h"

#include <string.h>
#include <strings.h>

#include "db.h"

/*
 * To add a parameter, add a row; if absent.c has it, take it out there. A row:
 *
 *   { name, objects, programs, flags, type, unit, min, max, default, words, meaning }
 *
 * The macros below write the repeating middle part of a row.
 */
#define DAEMON                               (1u << MD_CONF_DAEMON)
#define PORT                                 (1u << MD_CONF_PORT)
#define USER                                 (1u << MD_CONF_USER)
#define ROUTE                                (1u << MD_CONF_ROUTE)
#define BUS                                  (1u << MD_CONF_BUS)
#define SERVICE                              (1u << MD_CONF_SERVICE)
#define RRCP                                 (1u << MD_CONF_RRCP)
#define LOGGER                               (1u << MD_CONF_LOGGER)
#define RMDS                                 (1u << MD_CONF_RMDS)

#define P2PS                                 MD_CONF_P2PS
#define SRC                                  MD_CONF_SRC_DIST
#define RRCPD                                MD_CONF_RRCPD
#define REC                                  MD_CONF_RMDSREC
#define ENGINES                              (P2PS | SRC | RRCPD) /* which may run the backbone */
#define ALL                                  (ENGINES | REC)

#define DYN                                  MD_CONF_DYN
#define INDEXED                              MD_CONF_INDEXED

#define INT(unit, min, max, fallback)        MD_CONF_INTEGER, unit, min, max, fallback, NULL
#define BOOL(fallback)                       MD_CONF_BOOLEAN, "", 0, 0, fallback, NULL
#define TEXT(fallback)                       MD_CONF_STRING, "", 0, 0, fallback, NULL
#define LIST(fallback)                       MD_CONF_LIST, "", 0, 0, fallback, NULL
#define WORDS(words, fallback)               MD_CONF_LIST, "", 0, 0, fallback, words
#define GROUP(fallback)                      MD_CONF_ADDRESS, "group", 0, 0, fallback, NULL
#define PATH(fallback)                       MD_CONF_PATH, "", 0, 0, fallback, NULL
#define ADDRESS(fallback)                    MD_CONF_ADDRESS, "", 0, 0, fallback, NULL
#define CPUS                                 MD_CONF_CPUS, "", 0, 0, "", NULL
#define PORTNO(min, fallback)                MD_CONF_PORT_NUMBER, "", min, 65535, fallback, NULL
#define WORD(words, fallback)                MD_CONF_WORD, "", 0, 0, fallback, words
#define TIME(unit, min_ns, max_ns, fallback) MD_CONF_TIME, unit, min_ns, max_ns, fallback, NULL
#define PERCENT(a, b, fallback)              MD_CONF_PERCENT, "%", (a)*10000, (b)*10000, fallback, NULL

#define US                                   1000ll
#define MS                                   1000000ll
#define SEC                                  1000000000ll
#define MANY                                 0x7fffffffll
#define BYTES_MAX                            (1ll << 40)

const struct md_conf_row md_conf_rows[] = {
    /* ---- p2ps: ports and connections ---- */
    { "rsslPort", DAEMON, P2PS, 0, PORTNO(0, "14002"),
      "TCP port on which RSSL consumers are served; 0 opens none." },
    { "rsocketPort", DAEMON, P2PS, 0, PORTNO(0, "0"),
      "Port of RSSL over rsocket, which is RDMA (InfiniBand, RoCE, iWARP) and needs "
      "librmds-rsocket.so; RDMA has port numbers of its own. 0 opens none." },
    { "rsocketMemory", DAEMON, P2PS | SRC, 0, INT("bytes", 0, BYTES_MAX, "1073741824"),
      "Most memory that rsockets may pin: of each tcpSendBufSize and tcpRecvBufSize, 128 KiB each "
      "where those are 0. A connection beyond it is refused." },
    { "listenAddress", DAEMON, P2PS | SRC, 0, ADDRESS(""),
      "Address of the ports for consumers and providers; empty = all." },
    { "allowRSSLConnections", DAEMON, P2PS, 0, BOOL("True"),
      "False: rsslPort and rsocketPort are not opened." },
    { "allowCompMode", DAEMON, P2PS, 0, BOOL("True"),
      "True: a client may negotiate compression. False: the answer is always no compression." },
    { "compressionType", DAEMON | ROUTE, P2PS | SRC, 0, INT("", 0, 2, "0"),
      "Compression offered by the server, and asked for by a route: 0 none, 1 zlib, 2 LZ4." },
    { "maxMounts", DAEMON, P2PS, 0, INT("connections", 1, 65000, "1000"),
      "Most client connections (mounts); the next is refused with the text 'Maximum number of "
      "mounts reached'. At the limit a connection that has not logged in makes room first, of the "
      "host that has most of them." },
    { "mountLimitPerHost", DAEMON, P2PS, 0, INT("connections", 0, 65000, "0"),
      "Most client connections of one address (of IPv6: of a /64), 0 = no limit but maxMounts; the "
      "next is refused with the text 'Maximum number of mounts of this address reached'." },
    { "loginRate", DAEMON, P2PS, DYN, INT("logins/s", 0, 1000000, "200"),
      "Logins a second of one address (of IPv6: of a /64), and of one user who was proved, 0 = no "
      "limit. Those beyond loginBurst are closed with CLOSED_RECOVER and NO_RESOURCES after a "
      "second." },
    { "loginBurst", DAEMON, P2PS, DYN, INT("logins", 1, 1000000, "2000"),
      "Logins of one address, or of one user, at once." },
    { "requestRate", DAEMON, P2PS, DYN, INT("requests/s", 0, 100000000, "100000"),
      "Requests a second of one address, and of one user, 0 = no limit; each name of a batch is "
      "one. Beyond requestBurst a client is read no further until it is its turn; nothing is "
      "refused." },
    { "requestBurst", DAEMON, P2PS, DYN, INT("requests", 1, 1000000000, "10000000"),
      "Requests of one address, or of one user, at once." },
    { "postRate", DAEMON, P2PS, DYN, INT("posts/s", 0, 100000000, "100000"),
      "Posts a second of one address, and of one user, 0 = no limit; over it a post is refused "
      "with NO_RESOURCES." },
    { "postBurst", DAEMON, P2PS, DYN, INT("posts", 1, 1000000000, "1000000"),
      "Posts of one address, or of one user, at once." },
    { "loginTimeout", DAEMON, P2PS, 0, TIME("s", 100 * MS, 3600 * SEC, "5"),
      "From the connection to the login request; over it the connection is ended." },
    { "itemLimit", DAEMON | USER, P2PS, DYN, INT("items", 0, MANY, "0"),
      "Most items one user may have open, 0 = no limit: asked at the user first, then at the "
      "daemon. Over it an item is closed with TOO_MANY_ITEMS; the connection stays." },
    { "itemLimit", DAEMON, SRC, 0, INT("items", 0, 16777215, "0"),
      "Most items one instance keeps open, 0 = no limit; over it a new one is refused, or with "
      "preemptItems the least valuable one makes room." },
    { "preemptItems", DAEMON, SRC, 0, BOOL("False"),
      "At itemLimit, close the item of the lowest priority for a request of a higher one. Every "
      "consumer may claim any priority: True only where all are trusted." },
    { "itemLimitPerHost", DAEMON, P2PS, DYN, INT("items", 0, MANY, "10000000"),
      "Most items that the connections of one address (of IPv6: of a /64) may have open, 0 = no "
      "limit. Over it an item is closed with TOO_MANY_ITEMS." },
    { "itemLimitPerMount", DAEMON, P2PS, DYN, INT("items", 0, MANY, "200000"),
      "Most items one connection may have open, 0 = no limit. Over it an item is closed with "
      "TOO_MANY_ITEMS." },
    { "viewLimitPerMount", DAEMON, P2PS, 0, INT("views", 0, 3968, "100"),
      "Most different views one connection may be the first to ask for, 0 = no limit; over it an "
      "item is closed with NO_RESOURCES. A worker makes 3968 views; the last quarter is for hosts "
      "that have not an eighth." },
    { "aggregateItemLimit", DAEMON, P2PS, DYN, INT("items", 0, MANY, "0"),
      "Most distinct items in the watch list of the whole daemon, 0 = no limit." },
    { "hashTableSize", DAEMON, P2PS | SRC, 0, INT("places", 16, 1 << 26, "65536"),
      "Places the item table starts with; when four of five are taken it grows by a quarter. If "
      "it is sized for the expected number of items, it never has to pause to grow." },
    { "enableCache", DAEMON, P2PS, 0, BOOL("True"),
      "True: keep the last image of each open item, so that a second request is answered at "
      "once. False: each new request goes to the source." },
    { "rippleFields", DAEMON, P2PS | SRC, DYN, BOOL("True"),
      "True: in kept images a field that an update changes gives its old value to the field that "
      "the dictionary names (RIPPLES TO), as applications do: a trade moves TRDPRC_1 to "
      "TRDPRC_2. False: for feeds that send the moved values themselves and do not say so. An "
      "image is right by a new value from its next refresh on." },
    { "cacheAnsiPages", DAEMON, P2PS | SRC, DYN, BOOL("True"),
      "True: kept images of ANSI pages follow their updates. False: such an image is invalid "
      "after the first update, and further requests go to the source." },
    { "convertMarketfeed", DAEMON, P2PS, 0, BOOL("True"),
      "True: Marketfeed records (container type 139) go to consumers as field lists, but to "
      "those that say DisableDataConversion at their login. False: as they come." },
    { "convertMarketfeed", DAEMON, SRC, 0, BOOL("False"),
      "True: Marketfeed records become field lists before they are kept and sent; no consumer "
      "gets them as they come. Needs a field dictionary at the start. False: as they come." },
    { "allowDisableDataConversion", DAEMON, P2PS, DYN, BOOL("True"),
      "False: DisableDataConversion of a login to come, and disableDataConversion, are ignored." },
    { "outputRate", DAEMON | USER, P2PS, DYN, INT("bytes/s", 0, BYTES_MAX, "0"),
      "Most bytes a second to each connection of a user, without what TLS, TCP and IP add; 0 = no "
      "limit: asked at the user first, then at the daemon. What is above it is merged, item by "
      "item "
      "in turn, and told. Less than 10000 is 10000." },
    { "disableDataConversion", USER, P2PS, DYN, BOOL("False"),
      "True: logins to come of this user count as if they said DisableDataConversion 1; for "
      "applications whose library does not send the element (EMA)." },
    { "marketfeedZeroIsBlank", DAEMON, P2PS | SRC, DYN, BOOL("True"),
      "True: +0 and 0 of signed Marketfeed numbers are blank, and -0 is zero. False: all three "
      "are zero." },
    { "marketfeedBlankNumber", DAEMON, P2PS, DYN, WORD("plusZero|empty", "plusZero"),
      "How a blank signed number is written in Marketfeed: plusZero is +0." },
    { "marketfeedDictionaryId", DAEMON, P2PS | SRC, DYN, INT("", 0, 32767, "1"),
      "Dictionary id in the headers of field lists that are made of Marketfeed images." },
    { "guaranteedOutputBuffers", DAEMON, P2PS, 0, INT("buffers", 1, 100000, "100"),
      "Output buffers of maxFragmentSize bytes that each connection owns." },
    { "guaranteedOutputBuffers", BUS, SRC, 0, INT("buffers", 1, 100000, "200"),
      "Output buffers that each connection of an inbound provider owns." },
    { "maxOutputBuffers", DAEMON, P2PS, 0, INT("buffers", 1, 1000000, "400"),
      "Output buffers a connection may grow to; at the limit the client is a slow consumer. Not "
      "less than guaranteedOutputBuffers." },
    { "poolSize", DAEMON, P2PS, 0, INT("buffers", 0, MANY, "0"),
      "Shared pool for the buffers between guaranteed and maximum; 0 = bounded by the maximum of "
      "each connection alone. The last quarter is for hosts and users that have not an eighth." },
    { "poolSize", BUS, SRC, 0, INT("buffers", 0, MANY, "0"),
      "Shared pool of the inbound providers' port; 0 = bounded by each connection alone." },
    { "numInputBuffers", DAEMON, P2PS, 0, INT("buffers", 1, 10000, "10"),
      "What one read of a connection can take, in buffers of maxFragmentSize: at least 64 KiB "
      "(which is more than 10 of 6144), at most 16 MiB. The connections of a worker share it." },
    { "numInputBuffers", BUS, SRC, 0, INT("buffers", 1, 10000, "10"),
      "What one read of an inbound provider can take, in buffers of maxFragmentSize: at least "
      "128 KiB (21 of 6144), at most 16 MiB." },
    { "maxFragmentSize", DAEMON, P2PS | SRC, 0, INT("bytes", 512, 65535, "6144"),
      "RSSL fragment size that is announced, and the size of an output buffer." },
    { "outputThresholdBreach", DAEMON, P2PS, 0, INT("%", 1, 100, "30"),
      "A client that uses more than this share of maxOutputBuffers is logged as slow. After "
      "slowTime (also of what it takes in maxOutputTime) its updates are merged, and go out while "
      "it is below this share." },
    { "slowTime", DAEMON, P2PS, 0, TIME("ms", 1 * MS, 3600 * SEC, "100"),
      "How long a client is above outputThresholdBreach before its updates are merged; with a "
      "tenth of its buffers left they are at once." },
    { "outputThresholdOK", DAEMON, P2PS, 0, INT("%", 0, 99, "10"),
      "At this share, with nothing left to send, a client's updates are not merged any more; less "
      "than outputThresholdBreach." },
    { "maxOutputTime", DAEMON, P2PS, 0, TIME("ms", 0, 3600 * SEC, "0"),
      "A client's output is full, too, when it holds what the client takes in this time, at least "
      "64 KiB: shares of it begin and end merging as shares of maxOutputBuffers do. 0: buffers "
      "alone count." },
    { "slowTimeout", DAEMON, P2PS, 0, TIME("s", 1 * MS, 86400 * SEC, "10"),
      "A client for which something waits, because its output buffers are full or its updates are "
      "merged, and whose socket takes nothing for this long is cut." },
    { "conflateMax", DAEMON, P2PS, 0, INT("items", 0, MANY, "100000"),
      "Most items of which a slow client's updates are conflated; it is cut if it needs more, "
      "unless "
      "it has an outputRate." },
    { "tradeBacklog", DAEMON, P2PS, 0, INT("bytes", 65536, BYTES_MAX, "16M"),
      "Most memory of one slow client for updates that are never merged (conflateExempt), and for "
      "those between them. An item that needs more gets an image, with the number that is lost." },
    { "slowBacklog", DAEMON, P2PS, 0, INT("bytes", 65536, BYTES_MAX, "256M"),
      "Most memory for all updates that wait for slow clients; at most a sixteenth of "
      "memoryLimit." },
    { "conflateRates", DAEMON, P2PS, 0, LIST(""),
      "Rates that consumers may choose by the QoS of a request, up to 8: milliseconds (60000 at "
      "most), or jit. Empty: none. They are added to what each service offers." },
    { "conflateExempt", DAEMON, P2PS, 0, LIST("2,6,7,9,11"),
      "Update types that are never merged, for those who have chosen a rate (conflateRates) and "
      "for "
      "slow clients: TRADE, CLOSING_RUN, CORRECTION, QUOTES_TRADE, VERIFY." },
    { "conflateExemptFields", DAEMON, P2PS, 0, LIST(""),
      "Fields; an update that has one of them is never merged, as those of conflateExempt." },
    { "timedWrites", DAEMON, P2PS, DYN, BOOL("False"),
      "True: output is flushed each flushInterval or when a buffer is full (throughput); full ones "
      "wait while merged updates of conflateRates are made, for some milliseconds and up to half "
      "of "
      "outputThresholdBreach. False: at the end of each turn of the loop (latency)." },
    { "flushInterval", DAEMON, P2PS, DYN, TIME("ms", 0, 1 * SEC, "0"),
      "Period of timedWrites; 0 = at once." },
    { "tcpNoDelay", DAEMON, P2PS | SRC, DYN, BOOL("True"),
      "TCP_NODELAY on the sockets of clients and providers; a reload counts for new connections." },
    { "tcpSendBufSize", DAEMON, P2PS | SRC, 0, INT("bytes", 0, MANY, "0"),
      "SO_SNDBUF, set before listening; 0 leaves it to the kernel, or to the library of "
      "rsockets." },
    { "tcpRecvBufSize", DAEMON, P2PS | SRC, 0, INT("bytes", 0, MANY, "0"),
      "SO_RCVBUF, set before listening; 0 leaves it to the kernel, or to the library of "
      "rsockets." },
    { "rsslMsgPacking", DAEMON, P2PS | SRC, DYN, BOOL("True"),
      "Put several messages into one packed RSSL buffer; a reload counts for new connections." },
    { "pingInterval", DAEMON, P2PS | SRC, 0, TIME("s", 1 * SEC, 255 * SEC, "10"),
      "Longest silence before a ping is sent; at most a third of pingTimeout." },
    { "pingTimeout", DAEMON | PORT, P2PS, 0, TIME("s", 1 * SEC, 255 * SEC, "60"),
      "Ping timeout offered to clients of the port; the smaller of both sides is used, not under "
      "minPingTimeout." },
    { "pingTimeout", DAEMON | ROUTE | BUS, SRC, 0, TIME("s", 1 * SEC, 255 * SEC, "60"),
      "Ping timeout offered to providers; the smaller of both sides is used." },
    { "minPingTimeout", DAEMON | PORT, P2PS, 0, TIME("s", 1 * SEC, 255 * SEC, "20"),
      "Least ping timeout agreed with a client." },
    { "clientToServerPings", DAEMON | PORT, P2PS, 0, BOOL("True"),
      "False: a client that sends nothing is not cut." },
    { "serverToClientPings", DAEMON | PORT, P2PS, 0, BOOL("True"),
      "False: no pings are announced or sent." },
    { "disableHostLookup", DAEMON, P2PS, 0, BOOL("True"),
      "True: addresses of clients are never resolved to names. False: a thread of its own does "
      "it, for at most 256 new clients at a time; the name comes to the log (at INFO) and to the "
      "host of the mount in the statistics." },
    { "minimumOpenWindow", DAEMON, P2PS, 0, INT("requests", 1, MANY, "500"),
      "Least number of item requests outstanding at the sources of one service; a larger "
      "OpenWindow they announce is used." },
    { "rrmpProtocols", DAEMON, P2PS, 0, WORD("rrmp4|rrmp6|rrmp4and6", "rrmp6"),
      "Generation of the backbone's message protocol. Only 6 is spoken: rrmp4and6 is taken as "
      "rrmp6, rrmp4 is an error." },
    { "sessionStatsWindow", DAEMON, P2PS, 0, TIME("s", 1 * SEC, 3600 * SEC, "1"),
      "Averaging window of the rates of each connection in the statistics (msgsOutRate, "
      "bytesOutRate); as exact as a sixteenth of it, or a second." },
    { "rttInterval", DAEMON, P2PS, 0, TIME("s", 0, 3600 * SEC, "5"),
      "How often the round trip to each client that asks for it at its login is measured, 0 = "
      "never." },
    { "dictionaryPath", DAEMON, P2PS | SRC, 0, LIST(""),
      "Files of field and enumeration dictionaries, comma separated. p2ps serves them, whatever "
      "providers offer; src_dist keeps images by them, until a provider has its own. Empty = "
      "those of the providers, and until one comes the files beside the program." },
    { "dictionaryDownload", SERVICE, SRC, 0, BOOL("True"),
      "True: dictionaries that a provider lists with the service are downloaded from it and "
      "offered to p2ps; the service comes up when they are here." },
    { "dictionaryLimit", DAEMON, P2PS | SRC, 0, INT("bytes", 65536, BYTES_MAX, "64M"),
      "Most memory for dictionaries of providers; what would be longer is not taken." },
    { "accessFile", DAEMON, P2PS, 0, PATH(""),
      "List of users and what they may see; empty = every user is accepted. Re-read on SIGHUP." },
    { "accessShadowFile", DAEMON, P2PS, 0, PATH(""),
      "A file like accessFile, of which nothing is enforced: each login, item and post is judged "
      "by it, too, and differences are counted (shadowDiffers) and in the audit trail. Re-read on "
      "SIGHUP. Empty = none." },
    { "accessDryRun", DAEMON, P2PS, DYN, BOOL("False"),
      "True: what accessFile denies is counted (dryRunDenied) and in the audit trail, and not "
      "enforced; only logins by a secret are. A WARNING a minute says so." },
    { "accessWatch", DAEMON, P2PS, DYN, BOOL("False"),
      "True: accessFile and the files that it includes are looked at every two seconds, and a "
      "change that is finished is read as at a SIGHUP." },
    { "accessThreads", DAEMON, P2PS, 0, INT("threads", 1, 8, "1"),
      "Threads that check passwords of users with hash=; yescrypt takes one about 25 ms." },
    { "accessQueue", DAEMON, P2PS, 0, INT("logins", 1, 65536, "4096"),
      "Logins that wait for these threads; what comes beyond is closed with CLOSED_RECOVER." },
    { "credentialCache", DAEMON, P2PS, 0, TIME("s", 0, 86400 * SEC, "600"),
      "How long a password that fitted its hash is known to, so that consumers that all connect "
      "again are in at once; kept as a keyed SHA-256; 0 = not at all." },
    { "postUserId", DAEMON, P2PS, DYN, BOOL("False"),
      "True: a post whose user id is 0 gets one made of the user's name at p2ps, the same each "
      "time "
      "(FNV-1a, 32 bits); its address is filled in any case." },
    { "entryLocks", DAEMON, P2PS, 0, WORD("filter|close|pass", "filter"),
      "What becomes of entries of maps, vectors and filter lists whose own permission data deny "
      "them to a user, where accessFile judges permission data: filter leaves them out of what he "
      "gets, close closes his stream, pass looks at no entry." },
    { "accessReveal", DAEMON, P2PS, DYN, BOOL("True"),
      "False: whoever is refused at the login is told that user name or password were refused, "
      "whatever it was; the audit trail has the reason." },
    { "plainPassword", DAEMON, P2PS, DYN, WORD("allow|warn|refuse", "warn"),
      "A login with a password over a connection without TLS, but for one from the same host: let "
      "it in, let it in with a line of the log, or refuse it." },
    { "jwksFile", DAEMON, P2PS, DYN, PATH(""),
      "Public keys (JWKS) of whoever signs the tokens (JWT) that consumers may show at their "
      "login. "
      "Read again on SIGHUP, and when it has changed. Empty = no signed token is taken." },
    { "jwtIssuer", DAEMON, P2PS, DYN, TEXT(""),
      "What iss of a token has to be; empty = anything." },
    { "jwtAudience", DAEMON, P2PS, DYN, TEXT(""),
      "What aud of a token has to be, or to contain; empty = anything, also tokens that were made "
      "for other programs." },
    { "jwtScope", DAEMON, P2PS, DYN, TEXT(""),
      "A word that scope of a token has to contain; empty = none." },
    { "jwtUserClaim", DAEMON, P2PS, DYN, TEXT("sub"),
      "The claim of a token that is the user's name in accessFile." },
    { "jwtAlgorithms", DAEMON, P2PS, DYN, WORDS("RS256|ES256|EdDSA", "RS256,ES256,EdDSA"),
      "Which signatures are taken: RS256, ES256, EdDSA." },
    { "jwtSkew", DAEMON, P2PS, DYN, TIME("s", 0, 3600 * SEC, "60"),
      "How far the clocks of this host and of whoever signs tokens may be apart; a token is good "
      "for "
      "so much longer." },
    { "jwtMaxLife", DAEMON, P2PS, DYN, TIME("s", 1 * SEC, 366 * 86400 * SEC, "86400"),
      "A token that lives longer is refused." },
    { "tokenReissueAt", DAEMON, P2PS, DYN, INT("percent", 1, 100, "80"),
      "When a consumer is told to send a new token: after this part of the life that is left." },
    { "authority", DAEMON, P2PS, 0, PATH(""),
      "Unix socket of a process that says who users of accessFile with auth=authority are, and "
      "which roles they have (docs/authority.md). Empty = none: these users are refused." },
    { "authorityUser", DAEMON, P2PS, 0, TEXT(""),
      "User that this process may run as, besides root and the user of p2ps." },
    { "authorityDown", DAEMON, P2PS, 0, WORD("refuse|allow", "refuse"),
      "New logins while it is away: refuse them, when they have waited for it for "
      "authorityTimeout (CLOSED_RECOVER, DACS_DOWN), or allow those whom accessFile allows by "
      "itself. What is open is as authoritySessions says." },
    { "authoritySessions", DAEMON, P2PS, 0, WORD("stay|suspect|close", "suspect"),
      "Sessions that it let in, while it is away: they stay; their logins are told, suspect with "
      "DACS_DOWN, and go on; or they are closed (CLOSED_RECOVER, DACS_DOWN), and answers that "
      "still live let nobody in." },
    { "authorityGrace", DAEMON, P2PS, 0, TIME("s", 0, 366 * 86400 * SEC, "3600"),
      "When it has been away for so long, sessions that it let in are closed as by close. 0 = "
      "never." },
    { "authorityTimeout", DAEMON, P2PS, 0, TIME("s", 10 * MS, 60 * SEC, "2"),
      "How long a login waits for its answer; and for the process, while it is away." },
    { "authorityWindow", DAEMON, P2PS, 0, INT("logins", 1, 65535, "4096"),
      "Logins that wait for it at a time; what comes beyond is closed with CLOSED_RECOVER." },
    { "accessAudit", DAEMON, P2PS, 0, PATH(""),
      "File of the audit trail: who logged in, what he was denied, what he posted and saw, as "
      "chained lines of JSON; rmdsaccess audit verify checks it. Each p2ps has its own. Opened "
      "anew on SIGHUP. Empty = none." },
    { "accessAuditLevel", DAEMON, P2PS, DYN, WORD("logins|denials|posts|items", "posts"),
      "What the trail has: logins, refused ones and logouts; also items and posts denied; also "
      "posts; also items opened and closed, which the reports of rmdsaccess audit usage need." },
    { "accessAuditQueue", DAEMON, P2PS, 0, INT("bytes", 4096, 1 << 30, "4M"),
      "Records of a worker that wait for the disk; what comes beyond is counted, and the count is "
      "a line of the trail." },
    { "accessAuditFull", DAEMON, P2PS, DYN, WORD("continue|refuse", "continue"),
      "When half of accessAuditQueue waits: go on, or refuse new logins, and new items and posts "
      "that the trail would have, with CLOSED_RECOVER and NO_RESOURCES until there is room." },
    { "accessAuditMaxSize", DAEMON, P2PS, 0, INT("bytes", 0, BYTES_MAX, "100M"),
      "A trail that grows over this is put aside and goes on in a new file; 0 = never." },
    { "accessAuditKeep", DAEMON, P2PS, 0, INT("files", 1, 9999, "100"),
      "How many old files of the trail are kept." },
    { "maxDecodedMsgSize", DAEMON, P2PS | SRC, 0, INT("bytes", 6144, 1 << 30, "4M"),
      "Largest message put together for one connection; over it the connection is cut. Not above "
      "maxMsgSize of the backbone." },
    { "workers", DAEMON, P2PS, 0, INT("threads", 1, 64, "1"),
      "Worker loops; each has its own clients, item table and place in the inbound ring." },

    /* ---- p2ps: items on the backbone ---- */
    { "holdLimit", DAEMON, P2PS, 0, INT("bytes", 0, BYTES_MAX, "64M"),
      "Records a worker holds back while images are on their way; over it images are asked for "
      "by multicast." },
    { "maxPosts", DAEMON, P2PS, 0, INT("posts", 1, 10000000, "10000"),
      "Posts of one worker that wait for their acknowledgement; over it a post is refused with "
      "NO_RESOURCES. The last quarter is for hosts that have not an eighth." },
    { "maxPostsPerMount", DAEMON, P2PS, 0, INT("posts", 0, 10000000, "1000"),
      "Posts of one connection that wait for their acknowledgement, 0 = no limit of its own; over "
      "it a post is refused with NO_RESOURCES." },
    { "rebalance", DAEMON, P2PS, 0, BOOL("False"),
      "Move items to an instance that appears later." },
    { "rebalanceRate", DAEMON, P2PS, 0, INT("items/s", 1, 1000000, "100"),
      "Most items a worker moves in a second, by rebalance or failback." },
    { "failback", DAEMON, P2PS, 0, TIME("s", 0, 86400 * SEC, "0"),
      "Return to an instance of better priority after it was up for this long; 0 = never." },
    { "serviceForget", DAEMON, P2PS, 0, TIME("s", 0, 86400 * SEC, "0"),
      "Delete a service from the directory, and close its items, when no src_dist has offered it "
      "for this long; 0 = never. Until then it is down. It comes back with its old id. One that "
      "is offered on another network, with no network configured, is taken from there instead. "
      "Of more than 768 services those that are gone longest make room, also with 0, unless their "
      "network is configured." },
    { "gapVerify", DAEMON, P2PS, 0, TIME("ms", 1 * MS, 60 * SEC, "500"),
      "How long the answer to a gap query is waited for before the whole service is recovered." },
    { "instanceTimeout", DAEMON, P2PS, 0, TIME("ms", 100 * MS, 60 * SEC, "3500"),
      "A src_dist instance that announces nothing for this long is taken as hung." },

    /* ---- p2ps: WebSocket ---- */

    /* ---- src_dist: routes and providers ---- */
    { "routeCount", DAEMON, SRC, 0, INT("routes", 1, 64, "1"),
      "Routes 1 to n exist; so does every route that a line names by its number." },
    { "hostList", ROUTE, SRC, 0, LIST(""),
      "Providers to connect to, host or host:port, tried in turn; empty = the route is not used. "
      "Reconnects wait 1 s, then longer, at most 3 s for all hosts together." },
    { "port", ROUTE, SRC, 0, PORTNO(1, "14002"), "Port of the hosts in hostList that name none." },
    { "encrypted", ROUTE, SRC, 0, BOOL("False"), "Connect to the providers over TLS." },
    { "routeType", ROUTE, SRC, 0, WORD("provider|consumer", "provider"),
      "provider: hostList names providers. consumer: it names p2ps of another site, where src_dist "
      "logs in as a consumer with loginUser and takes what requestQos and requestFields say; needs "
      "siteName." },
    { "loginUser", ROUTE, SRC, 0, TEXT(""),
      "User of a route of type consumer; empty = src_dist. Not with loginTokenFile." },
    { "loginPasswordFile", ROUTE, SRC, 0, PATH(""),
      "File whose first line is the password, for its owner alone; read before each connection." },
    { "loginTokenFile", ROUTE, SRC, 0, PATH(""),
      "The same of a signed token, which names the user. Who renews it writes the file anew." },
    { "requestQos", ROUTE, SRC, 0, TEXT("all"),
      "Which updates a route of type consumer takes: all, or merged at the other site, as its "
      "conflateRates offers: jit, or milliseconds. Services are offered here with that quality "
      "alone, so each item crosses once." },
    { "requestFields", ROUTE, SRC, 0, LIST(""),
      "Fields that a route of type consumer takes, by name or number; empty = all. The others do "
      "not exist at this site." },
    { "siteName", DAEMON, SRC | P2PS, 0, TEXT(""),
      "Name of this site, the same for each of its src_dist and p2ps: services carry the sites "
      "that they came through, and one that came through this site is not taken again. p2ps adds "
      "it to "
      "services that say no site: those of applications, and of src_dist without siteName." },
    { "connectionType", ROUTE, SRC, 0, WORD("socket|rsocket", "socket"),
      "What carries the route: socket, which is TCP, or rsocket, which is RDMA, see rsocketPort. "
      "A provider listens on one of the two. Not with encrypted." },
    { "sslMountVersion", ROUTE, SRC, 0, INT("", 4, 5, "5"),
      "5 = RSSL. 4 = legacy SSL, which is not spoken: an error." },
    { "numIpcInputBuffers", ROUTE, SRC, 0, INT("buffers", 1, 10000, "10"),
      "What one read of a connection to a provider can take, in buffers of the fragment size "
      "that the provider announces: at least 128 KiB (21 of 6144), at most 16 MiB." },
    { "numIpcOutputBuffers", ROUTE, SRC, 0, INT("buffers", 1, 100000, "100"),
      "Output buffers of a connection to a provider." },
    { "serverPort", BUS, SRC, 0, PORTNO(0, "0"),
      "TCP port of non-interactive providers; 0 opens none. See providerAccessFile." },
    { "rsocketServerPort", BUS, SRC, 0, PORTNO(0, "0"),
      "serverPort over rsocket, see rsocketPort; 0 opens none. Needs providerAccessFile or an "
      "RDMA device on the loopback." },
    { "providerAccessFile", DAEMON, SRC, 0, PATH(""),
      "Who may publish what; empty = all, from this host; none = all. Re-read on SIGHUP." },
    { "filterFile", DAEMON, SRC, DYN, PATH(""),
      "Which fields and update types go to the backbone, and how often; empty = all as they come. "
      "Re-read on SIGHUP." },
    { "fieldFilter", DAEMON | SERVICE, SRC, DYN, TEXT(""),
      "keep FIELD... or drop FIELD..., for all items that no such line of filterFile fits." },
    { "updateTypeFilter", DAEMON | SERVICE, SRC, DYN, LIST(""),
      "Update types that go to the backbone, for all items that no types line of filterFile fits; "
      "empty = all." },
    { "conflateInterval", DAEMON | SERVICE, SRC, DYN, TIME("ms", 0, 60 * SEC, "0"),
      "Updates of an item in that time are merged into one, for all items that no interval line of "
      "filterFile fits; 0 = each is sent." },
    { "conflateExempt", DAEMON | SERVICE, SRC, DYN, LIST("2,6,7,9,11"),
      "Update types that are never merged: TRADE, CLOSING_RUN, CORRECTION, QUOTES_TRADE, VERIFY." },
    { "conflateExemptFields", DAEMON | SERVICE, SRC, DYN, LIST(""),
      "Fields; an update that has one of them is never merged. For providers whose updates have no "
      "type." },
    { "providerLimitPerHost", DAEMON, SRC, 0, INT("connections", 0, 1000, "16"),
      "Most providers from one address, 0 = no limit. Who is not logged in makes room." },
    { "providerLimitPerUser", DAEMON, SRC, 0, INT("connections", 0, 1000, "32"),
      "Most providers of one user without mounts= in providerAccessFile, 0 = no limit." },
    { "serviceLimitPerProvider", DAEMON, SRC, 0, INT("services", 1, 256, "64"),
      "Most services that one non-interactive provider may offer." },
    { "itemLimitPerProvider", DAEMON, SRC, 0, INT("items", 0, 16777215, "1000000"),
      "Most items that one non-interactive provider may publish, 0 = no limit." },
    { "serviceForget", DAEMON, SRC, 0, TIME("s", 0, 86400 * SEC, "300"),
      "Forget a service so long after its last publisher has left; 0 = never. When the table is "
      "full, the one that was left first makes room." },
    { "inputBias", BUS, SRC, 0, INT("%", 1, 99, "60"),
      "Share of each turn of the loop spent reading providers, routes and inbound ones together: "
      "at most this many per cent of 1,000 messages, in whole batches of 64; then the backbone "
      "has its turn, and the next one begins with who had to wait." },
    { "serviceList", DAEMON, SRC, 0, LIST(""),
      "Accept only these services from providers; empty = all they announce." },
    { "cacheLocation", SERVICE, SRC, 0, WORD("srcApp|srcDist|none", "srcDist"),
      "Who keeps the last image: srcDist = src_dist answers further requests itself, srcApp = "
      "each request goes to the provider, none = nobody does." },
    { "delayedService", SERVICE, SRC, 0, TEXT(""),
      "Name of a second service, the same one delayed; empty = none. A line names the service. "
      "Needs delayDir." },
    { "delay", SERVICE, SRC, 0, TIME("s", SEC, 43200 * SEC, "900"),
      "So much later the delayed service has what the service has." },
    { "delayDir", SERVICE, SRC, 0, PATH(""),
      "Directory where data of delayed services wait; licensed data, its owner alone reads them." },
    { "delayBytes", SERVICE, SRC, 0, INT("bytes", 64 << 20, BYTES_MAX, "4G"),
      "Most bytes there, of each delayed service. When they are used up, its items are suspect "
      "until there is room for new images, which are then as old." },
    { "delayItems", SERVICE, SRC, 0, WORD("all|asked", "asked"),
      "asked = only items that somebody asks for delayed, with an image when they have been asked "
      "for that long; all = all items that are open." },
    { "dataType", SERVICE, SRC, 0, INT("", 1, 255, "6"),
      "Domain of the service's data, 6 = MarketPrice: announced where the provider names none in "
      "its directory (Capabilities). What it names itself goes before this." },
    { "rrmpFlushInterval", SERVICE, SRC, DYN, TIME("ms", 0, 1 * SEC, "0"),
      "How long updates of a service may be held to be packed together before they are handed to "
      "rrcpd; 0 = until the end of the loop's turn. Services that share a loop share the "
      "shortest." },
    { "serviceId", SERVICE, SRC, 0, INT("", 0, 65535, "0"),
      "Service id that consumers see; 0 = the provider's own, or, where another service has "
      "that, one made of the service's name (told with a WARNING)." },
    { "closeLinger", DAEMON | SERVICE, SRC, 0, TIME("s", 0, 3600 * SEC, "5"),
      "How long an item that nobody watches stays open at the provider." },
    { "orphanLinger", DAEMON | SERVICE, SRC, 0, TIME("s", 0, 3600 * SEC, "10"),
      "How long providers and cache are kept while the backbone is away." },
    { "imageLinger", DAEMON | SERVICE, SRC, 0, TIME("ms", 0, 1 * SEC, "5"),
      "After a mass loss images wait this long, so that the requests of all p2ps meet." },
    { "providerOpenWindow", DAEMON, SRC, 0, INT("requests", 1, MANY, "500"),
      "Requests outstanding at a provider that announces no OpenWindow." },
    { "gapLog", DAEMON, SRC, 0, INT("records", 1024, 1 << 26, "262144"),
      "Updates of a service whose item is remembered, to tell a p2ps which items a gap touched." },
    { "mirrorGroup", DAEMON | SERVICE, SRC, 0, TEXT(""),
      "Instances of a service with the same word mirror each other; empty = they only share the "
      "load, and each takes over from the others." },
    { "mirrorMode", DAEMON | SERVICE, SRC, 0, WORD("cold|hot", "cold"),
      "cold: the second instance opens nothing until needed. hot: it keeps every item open and "
      "cached (with cacheLocation srcDist), so that a switch asks no provider." },
    { "mirrorSequence", DAEMON | SERVICE, SRC, 0, BOOL("False"),
      "With mirrorMode hot: the providers of all mirrors send the same messages with the same "
      "sequence numbers, so that a switch is not seen. Verified by digests at each switch." },
    { "replayTime", DAEMON, SRC, 0, TIME("s", SEC, 600 * SEC, "8"),
      "With mirrorSequence: messages of items kept ready are kept this long, for a switch. A "
      "source that hangs is noticed after up to 3.5 s." },
    { "replayBytes", DAEMON, SRC, 0, INT("bytes", 1 << 20, BYTES_MAX, "256M"),
      "Most memory for these messages, beside memoryLimit." },
    { "sourcePriority", DAEMON | SERVICE, SRC, 0, INT("", 0, 65535, "0"),
      "Priority of this instance among those of a service; smaller is preferred." },
    { "loadFactor", DAEMON | SERVICE, SRC, 0, INT("", 1, 65535, "1"),
      "Share of the items this instance takes beside others of its priority." },
    { "vendor", DAEMON | SERVICE, SRC, 0, TEXT(""), "Vendor name announced with the service." },

    /* ---- WebSocket ---- */
    { "wsEnable", DAEMON, P2PS, 0, BOOL("False"),
      "True: consumers are served in JSON (tr_json2) over WebSocket, on wsPort and wsTlsPort." },
    { "wsPort", DAEMON, P2PS, 0, PORTNO(0, "15000"), "TCP port of WebSocket; 0 opens none." },
    { "wsTlsPort", DAEMON, P2PS, 0, PORTNO(0, "0"), "The same over TLS; 0 opens none." },
    { "wsPingTimeout", DAEMON, P2PS, 0, TIME("s", 3 * SEC, 3600 * SEC, "30"),
      "A WebSocket consumer that is silent for a third of it gets a Ping, for all of it is cut." },
    { "wsMaxMsgSize", DAEMON, P2PS, 0, INT("bytes", 1024, 16777216, "61430"),
      "Longest message of a WebSocket consumer; a longer one ends its connection (code 1009)." },
    { "wsMaxConnections", DAEMON, P2PS, 0, INT("connections", 1, 65000, "1000"),
      "Most WebSocket connections, within maxMounts. At it, those without a login make room; "
      "if all have one, the next is answered by HTTP 503." },
    { "wsLivePage", DAEMON, P2PS, 0, BOOL("True"),
      "True: browsers get a page with moving prices at / of wsPort and wsTlsPort." },
    { "wsAllowedOrigins", DAEMON, P2PS, 0, LIST(""),
      "Origins of web pages that may connect, beside that of wsPort itself; * lets all in." },
    { "defaultService", DAEMON, P2PS, 0, TEXT(""),
      "Service of a JSON request that names none; empty: the lowest id that has the domain." },
    { "expandEnumFields", DAEMON, P2PS, 0, BOOL("True"),
      "True: JSON has enumerated fields as their display texts. False: as numbers." },
    { "catchUnknownJsonKeys", DAEMON, P2PS, 0, BOOL("False"),
      "True: an unknown key in JSON is answered by an error. False: it is ignored." },
    { "catchUnknownJsonFids", DAEMON, P2PS, 0, BOOL("True"),
      "True: an unknown field in a JSON post is an error. False: it is left out." },

    /* ---- TLS ---- */
    { "tlsPort", DAEMON, P2PS, 0, PORTNO(0, "0"), "TCP port of RSSL over TLS; 0 opens none." },
    { "tlsServerPort", BUS, SRC, 0, PORTNO(0, "0"), "serverPort over TLS; 0 opens none." },
    { "tlsCertFile", DAEMON | ROUTE, P2PS | SRC, 0, PATH(""),
      "Certificate chain, PEM. Re-read on SIGHUP." },
    { "tlsKeyFile", DAEMON | ROUTE, P2PS | SRC, 0, PATH(""),
      "Private key, PEM. Re-read on SIGHUP." },
    { "tlsCaFile", DAEMON | ROUTE, P2PS | SRC, 0, PATH(""),
      "Certificates of the authorities of the other side, PEM. Re-read on SIGHUP." },
    { "tlsCrlFile", DAEMON | ROUTE, P2PS | SRC, DYN, PATH(""),
      "Lists of revoked certificates, PEM, of every issuer in the chain of the other side; one "
      "that has ended refuses the peers of its issuer. Re-read on SIGHUP." },
    { "tlsRequireClientCert", DAEMON, P2PS | SRC, 0, BOOL("False"),
      "A client must show a certificate signed by tlsCaFile." },
    { "tlsClientCert", DAEMON, P2PS | SRC, 0, WORD("none|request|require", "none"),
      "request: a client is asked for a certificate signed by tlsCaFile, and may have none, as far "
      "as accessFile lets it. require: the same as tlsRequireClientCert : True." },
    { "tlsUserFrom", DAEMON, P2PS | SRC, 0, WORD("cn|dn|email|dns|uri", "cn"),
      "The name in a client's certificate that cert= of an access file and tlsUserPolicy are "
      "about: "
      "the common name or all of its subject, or the first alternative name of that kind." },
    { "tlsUserPolicy", DAEMON, P2PS, 0, WORD("ignore|match|replace", "ignore"),
      "match: a login needs a certificate, with its own name or one that cert= of its user fits. "
      "replace: the name in the certificate is the user, whatever the login says. ignore: only "
      "cert= counts." },
    { "tlsMinVersion", DAEMON | ROUTE, P2PS | SRC, 0, WORD("1.2|1.3", "1.2"),
      "Oldest TLS version accepted." },
    { "tlsCiphers", DAEMON | ROUTE, P2PS | SRC, 0, TEXT(""),
      "Cipher suites of TLS 1.2, as OpenSSL names them; empty: those with forward secrecy and "
      "AEAD (AES-GCM, ChaCha20). TLS 1.3 has no others." },

    /* ---- the backbone ---- */
    { "networkName", DAEMON | RRCP, ALL, 0, TEXT("net1"),
      "Name of the backbone network; one rrcpd serves one network." },
    { "networkList", DAEMON, P2PS | SRC, 0, LIST(""),
      "Backbone networks to take part in, each through its own rrcpd; empty: networkName alone." },
    { "network", SERVICE, P2PS | SRC, 0, TEXT(""),
      "Network of networkList that carries the service; empty: the first that announces it." },
    { "network", ROUTE | BUS, SRC, 0, TEXT(""),
      "Network of networkList that the providers' services go to; empty: the first." },
    { "multicastAddress", RRCP, ENGINES, 0, GROUP("239.255.82.82"),
      "IPv4 or IPv6 multicast group, or the broadcast address of a subnet." },
    { "multicastPort", RRCP, ENGINES, 0, PORTNO(1, "8500"), "UDP port of the group." },
    { "unicastPort", RRCP, ENGINES, 0, PORTNO(0, "0"),
      "UDP port of requests, acknowledgements and unicast data; 0 = any, with transport : mesh "
      "multicastPort." },
    { "portRoamRange", RRCP, ENGINES, 0, INT("ports", 0, 1000, "0"),
      "If unicastPort is taken, try this many next ones." },
    { "interface", RRCP, ENGINES, 0, ADDRESS(""),
      "Network interface, by name or address; must be said where more than one could be meant." },
    { "secondInterface", RRCP, ENGINES, 0, ADDRESS(""),
      "Interface of the redundant second path; empty = none." },
    { "secondAddress", RRCP, ENGINES, 0, GROUP(""), "Group of the second path." },
    { "transport", RRCP, ENGINES, 0, WORD("udp|verbs|mesh", "udp"),
      "What carries the packets, the same at all nodes of a network: udp, or verbs, which is RDMA "
      "(InfiniBand, RoCE) and needs librmds-verbs.so, or mesh: UDP to each node alone, for "
      "networks "
      "that refuse multicast. verbs and mesh not with inProcess." },
    { "peers", RRCP, ENGINES, 0, TEXT(""),
      "With transport : mesh, addresses of other nodes, 64 at most, with ports where they are not "
      "this node's; the others are learnt from these. Its own address may be among them." },
    { "rdmaDevice", RRCP, ENGINES, 0, TEXT(""),
      "With transport : verbs, RDMA device of the first path, as `rdma link` names it; empty = "
      "that of interface." },
    { "rdmaPort", RRCP, ENGINES, 0, INT("", 0, 255, "0"),
      "With transport : verbs, port of that device; 0 = that of interface." },
    { "pathSkew", RRCP, ENGINES, 0, TIME("ms", 0, 1 * SEC, "5"),
      "With two paths, how long a hole is left to the other path before it is asked for." },
    { "packetTTL", RRCP, ENGINES, 0, INT("hops", 0, 255, "5"), "IP multicast TTL, IPv6 hops." },
    { "maxPacketSize", RRCP, ENGINES, 0, INT("bytes", 0, 65507, "0"),
      "UDP payload; never fragmented. 0 = 1472 over IPv4, 1452 over IPv6; with transport : verbs "
      "what the port carries." },
    { "maxMsgSize", RRCP, ENGINES, 0, INT("bytes", 1024, 1 << 26, "4M"),
      "Largest message of a user." },
    { "maxPktPoolSize", RRCP, ENGINES, 0, INT("packets", 1000, MANY, "80000"),
      "Packet pool of rrcpd, allocated as it is used." },
    { "pktPoolLimitHigh", RRCP, ENGINES, 0, INT("packets", 1, MANY, "70000"),
      "High-water mark: from here only input and control get packets. Not above maxPktPoolSize." },
    { "pktPoolLimitLow", RRCP, ENGINES, 0, INT("packets", 1, MANY, "60000"),
      "Low-water mark, which ends that state. Less than pktPoolLimitHigh." },
    { "userQLimit", RRCP, ENGINES, 0, INT("packets", 128, 65535, "32768"),
      "How far a local user may lag: this many times maxPacketSize bytes of the inbound ring; "
      "one that lags more loses what it missed and is told." },
    { "inboundRing", RRCP, ENGINES, 0, INT("bytes", 1 << 20, 1ll << 36, "64M"),
      "Size of the inbound broadcast ring." },
    { "udpRecvBufSize", RRCP, ENGINES, 0, INT("KB", 0, 4194303, "4096"),
      "SO_RCVBUF in units of 1,024 bytes; a kernel that grants less is reported with the sysctl "
      "to change." },
    { "udpSendBufSize", RRCP, ENGINES, 0, INT("KB", 0, 4194303, "4096"),
      "SO_SNDBUF in units of 1,024 bytes." },
    { "usePointToPointData", RRCP, ENGINES, 0, BOOL("False"),
      "True: data for one node goes over the acknowledged unicast stream. False: multicast with "
      "a destination." },
    { "switchReorderFixEnabled", RRCP, ENGINES, 0, BOOL("False"),
      "True: wait reorderDelay or reorderPackets before a hole counts as loss, for switches and "
      "bonded links that reorder." },
    { "reorderDelay", RRCP, ENGINES, 0, TIME("ms", 0, 1 * SEC, "2"),
      "Wait of switchReorderFixEnabled." },
    { "reorderPackets", RRCP, ENGINES, 0, INT("packets", 1, 65536, "64"),
      "Newer packets after which that wait ends." },
    { "retry", RRCP, ENGINES, 0, WORD("fast|fixed", "fast"),
      "Spacing of requests: fast = from the measured round trip, with trreq and twait as upper "
      "bounds, and the sooner the fewer receivers there are; fixed = from trreq alone, and as in "
      "a large group." },
    { "ndata", RRCP, ENGINES, 0, INT("tries", 1, 100, "7"),
      "Retransmissions of a unicast packet that is not acknowledged." },
    { "tdata", RRCP, ENGINES, 0, TIME("100ms", 1 * MS, 60 * SEC, "1"),
      "Wait before the first of them; doubles to 1 s." },
    { "nrreq", RRCP, ENGINES, 0, INT("tries", 1, 100, "7"),
      "Requests for one missing multicast packet." },
    { "trreq", RRCP, ENGINES, 0, TIME("100ms", 100 * US, 60 * SEC, "20ms"),
      "Wait between such requests; doubles, with jitter." },
    { "twait", RRCP, ENGINES, 0, TIME("100ms", 0, 60 * SEC, "10ms"),
      "A sender ignores repeated requests for a packet for at most this long." },
    { "tbchold", RRCP, ENGINES, 0, TIME("100ms", 1 * MS, 600 * SEC, "20"),
      "How long a sent multicast packet is kept for retransmission." },
    { "nmissing", RRCP, ENGINES, 0, INT("packets", 1, 1000000, "4096"),
      "A longer hole is not asked for but declared lost." },
    { "recoverTimeout", RRCP, ENGINES, 0, TIME("ms", 1 * MS, 60 * SEC, "500"),
      "A packet missing for longer is declared lost." },
    { "peerTimeout", RRCP, ENGINES, 0, TIME("ms", 10 * MS, 600 * SEC, "3500"),
      "A peer that is silent for longer is down." },
    { "fcTimeout", RRCP, ENGINES, 0, TIME("ms", 1 * MS, 60 * SEC, "500"),
      "With flowControl min, a receiver without progress for this long no longer holds the "
      "sender." },
    { "hbMin", RRCP, ENGINES, 0, TIME("ms", 1 * MS, 60 * SEC, "10"),
      "First beacon after the last data; the interval doubles." },
    { "hbMax", RRCP, ENGINES, 0, TIME("ms", 10 * MS, 60 * SEC, "1000"),
      "Longest interval between beacons." },
    { "rxWindow", RRCP, ENGINES, 0, INT("packets", 64, 1 << 22, "32768"),
      "Packets of one peer kept behind a hole, rounded up to a power of two." },
    { "maxPeers", RRCP, ENGINES, 0, INT("peers", 1, 65535, "1024"),
      "Most peers known at a time; with transport : mesh 64 at most." },
    { "maxJump", RRCP, ENGINES, 0, INT("packets", 1024, 1ll << 32, "1000000"),
      "A packet may claim so much at a time; beyond, its sender is asked whether it is true." },
    { "maxDataRate", RRCP, ENGINES, 0, INT("bit/s", 0, 1ll << 40, "0"),
      "Most data sent; 0 = no limit." },
    { "maxRetransRate", RRCP, ENGINES, 0, INT("bit/s", 0, 1ll << 40, "0"),
      "Most repairs sent; 0 = 20 % of the interface's speed, of 1 Gbit/s where that is unknown, of "
      "10 on the loopback." },
    { "flowControl", RRCP, ENGINES, 0, WORD("max|min", "max"),
      "max: never wait for a receiver. min: keep pace with the slowest receiver that reports." },
    { "congestionControl", RRCP, ENGINES, 0, WORD("off|aimd", "off"),
      "aimd: slow down to half of maxDataRate while many peers report loss." },
    { "disconnectOnGaps", RRCP, RRCPD, 0, BOOL("False"),
      "True: leave and rejoin the network on a gap that cannot be mended." },
    { "authKeyFile", RRCP, ENGINES, 0, PATH(""),
      "Keys of the group, a file that others cannot read (rrcpd --make-key FILE). none = packets "
      "are not authenticated; off loopback this must be written down. rrcpd re-reads it on "
      "SIGHUP." },
    { "attachAccess", RRCP, RRCPD, 0, TEXT(""),
      "What programs of other uids than the daemons' may do: rules between semicolons, uid=NAME or "
      "gid=NAME and then consume, record, publish=SERVICE,..., topics=NAME,... (NAME* is all that "
      "begin "
      "so), or all; rate=MESSAGES and bytes=BYTES limit what all programs of the rule send a "
      "second. "
      "Without a rule that fits it a program may not attach." },
    { "relayTo", RRCP, RRCPD, 0, TEXT(""),
      "This rrcpd is a relay: it forwards what relayServices and relayTopics name between its own "
      "network and this one, both ways, and no program attaches to it. Some line must be about "
      "this "
      "network. Empty: it is none." },
    { "relayServices", RRCP, RRCPD, 0, LIST(""),
      "With relayTo: services that are forwarded, both ways, 200 at most; the same at all relays "
      "that are connected. Read at the relay's own network." },
    { "relayTopics", RRCP, RRCPD, 0, LIST(""),
      "With relayTo: bare topics that are forwarded, 200 at most; NAME* is all that begin so, and "
      "has nodes of a mesh send the relay everything. Read at the relay's own network." },
    { "peerAddresses", RRCP, ENGINES, 0, TEXT(""),
      "Without a key: addresses and prefixes outside the interface's subnet whose packets are "
      "taken too, for a router on the way or a /32 interface. With a key every source is heard. "
      "With transport : mesh: nodes that may join though no peer has named them." },
    { "packetSecurity", RRCP, ENGINES, 0, WORD("auth|encrypt", "auth"),
      "With a key. auth: a tag in each packet proves that a member of the group sent it. "
      "encrypt: others cannot read it, either. Members with one and the other work together." },
    { "packetCipher", RRCP, ENGINES, 0, WORD("aes128|aes256", "aes128"),
      "With a key: AES-GCM with session keys of so many bits. Members with one and the other "
      "work together." },
    { "hsmInterval", RRCP, ENGINES, 0, TIME("s", 0, 3600 * SEC, "0"),
      "Period of the host status message; 0 = none." },
    { "inProcess", RRCP, ENGINES, 0, BOOL("False"),
      "True: run the RRCP engine inside this process instead of attaching to rrcpd." },
    { "rrcpdInstance", RRCP, ALL, 0, TEXT("1"),
      "Which rrcpd of the network on this host to attach to. Not set: that of `rrcpd source` "
      "(for src_dist) or `rrcpd sink` (for p2ps) where one was started so, else 1." },
    { "attachTimeout", DAEMON | RRCP, P2PS | SRC | REC, 0, TIME("s", 0, 3600 * SEC, "30"),
      "With -noretry, how long an rrcpd is waited for before the program ends with code 4." },
    { "lossPct", RRCP, ENGINES, DYN, PERCENT(0, 100, "0"),
      "For tests: share of the packets received that is thrown away." },
    { "reorderPct", RRCP, ENGINES, DYN, PERCENT(0, 100, "0"),
      "For tests: share of the packets received that is put behind the next." },
    { "delayUs", RRCP, ENGINES, DYN, INT("us", 0, 10000000, "0"),
      "For tests: delay added to each packet received." },
    { "faultSeed", RRCP, ENGINES, 0, INT("", 0, INT64_MAX, "0"),
      "For tests: seed of lossPct, reorderPct and delayUs. Other than 0: rrcpd takes these three "
      "over on SIGHUP." },

    /* ---- the recorder ---- */
    { "recordServer", DAEMON, REC, 0, TEXT(""),
      "p2ps to record from as a consumer, HOST or HOST:PORT (14002); empty: the backbone, as a "
      "requester, which wants `record` of attachAccess." },
    { "recordServices", DAEMON, REC, 0, LIST(""),
      "Services of the items, 16 at most. With recordFollow: those that are followed, empty for "
      "all; else each item of each." },
    { "recordItems", DAEMON, REC, 0, LIST(""), "Items to record." },
    { "recordItemFile", DAEMON, REC, 0, PATH(""), "And an item list, as of rmdstestclient -f." },
    { "recordFollow", DAEMON, REC, 0, BOOL("False"),
      "True: record what others have open, in place of a list; from the backbone only." },
    { "recordDomain", DAEMON, REC, 0, TEXT("MarketPrice"),
      "Domain of the items, a number or a name." },
    { "recordItemLimit", DAEMON, REC, 0, INT("items", 0, 1 << 20, "0"),
      "Most items of a recording; further ones are counted, told, and not in it. 0 = as many as "
      "memoryLimit has room for, 1,047,552 at most." },
    { "recordServiceLimit", DAEMON, REC, 0, INT("items", 0, 1 << 20, "0"),
      "Most items of one service of a recording, so that no service takes the room of the others. "
      "0 = where all services are followed a quarter of the items, else no limit." },
    { "recordFile", DAEMON, REC, 0, PATH("/var/lib/rmds/rmdsrec.%i/%Y%m%d-%H%M%S.rrec"),
      "The file to write; further ones of the same start get a number before its ending. %Y %m %d "
      "%H %M %S are the time of the start (UTC), %i the instance, %% a %. A file that is there is "
      "not written over." },
    { "recordRotateSize", DAEMON, REC, DYN, INT("bytes", 0, BYTES_MAX, "0"),
      "Another file when this one is so large; 0 = never." },
    { "recordRotateTime", DAEMON, REC, DYN, TIME("s", 0, 31536000 * SEC, "0"),
      "Another file so often; 0 = never. `rmdsctl rmdsrec rotate` begins one at once." },
    { "recordImages", DAEMON, REC, 0, TIME("s", 0, 86400 * SEC, "60"),
      "How often an image of each item that has changed is written; 0 = never." },
    { "recordBuffer", DAEMON, REC, 0, INT("bytes", 2 << 20, 4ll << 30, "64M"),
      "What may wait for the disk; when it is full, messages are counted and left out, and images "
      "follow." },
    { "recordSync", DAEMON, REC, 0, WORD("none|chunk|interval", "none"),
      "When to wait until data are on the disk: never, after each chunk, or every "
      "recordSyncInterval." },
    { "recordSyncInterval", DAEMON, REC, 0, TIME("s", 1 * MS, 86400 * SEC, "1"),
      "How often, with recordSync : interval." },
    { "recordLevel", DAEMON, REC, 0, INT("", 1, 19, "3"), "Level of the compression (zstd)." },
    { "recordDiskLow", DAEMON, REC, DYN, INT("bytes", 0, BYTES_MAX, "1G"),
      "With less than this left on the disk the recorder warns, before it is full; 0 = not." },
    { "recordUser", DAEMON, REC, 0, TEXT("rmds"), "User of the login at recordServer." },
    { "recordPasswordFile", DAEMON, REC, 0, PATH(""),
      "File whose first line is the password of the login." },
    { "recordPosition", DAEMON, REC, 0, TEXT("127.0.0.1/net"), "Position of the login." },
    { "recordApplicationId", DAEMON, REC, 0, TEXT("256"), "Application id of the login." },
    { "recordOpenWindow", DAEMON, REC, 0, INT("requests", 1, 1000000, "500"),
      "Requests under way at recordServer at most." },
    { "recordConnection", DAEMON, REC, 0, WORD("rssl|tls|rsocket", "rssl"),
      "How recordServer is reached: TCP, TLS, or RDMA." },
    { "tlsCertFile", DAEMON, REC, 0, PATH(""), "Certificate chain to show to recordServer, PEM." },
    { "tlsKeyFile", DAEMON, REC, 0, PATH(""), "Its private key, PEM." },
    { "tlsCaFile", DAEMON, REC, 0, PATH(""),
      "Authorities that recordServer is checked against, PEM." },

    /* ---- threads and memory ---- */
    { "mainThreadCpu", DAEMON, ALL, 0, CPUS,
      "CPUs of the control loop, which in rmdsrec also records; empty = not bound." },
    { "diskThreadCpu", DAEMON, REC, 0, CPUS,
      "CPUs of the thread that compresses and writes; empty = not bound." },
    { "writeThreadCpu", DAEMON, P2PS, INDEXED, CPUS,
      "CPUs of worker N (writeThreadCpu.0 is the first); without a number, of each." },
    { "itemThreadCpu", DAEMON, P2PS, INDEXED, CPUS,
      "Another name for writeThreadCpu: here a worker serves both clients and items." },
    { "sourceThreadCpu", DAEMON, SRC, INDEXED, CPUS,
      "CPUs of route loop N (sourceThreadCpu.0 is the first); without a number, of each." },
    { "rrcpThreadCpu", DAEMON | RRCP, RRCPD, 0, CPUS, "CPUs of rrcpd's net loop." },
    { "schedPolicy", DAEMON | RRCP, ALL, 0, WORD("other|fifo", "other"),
      "Scheduling policy of the threads; without the privilege a WARNING." },
    { "schedPriority", DAEMON | RRCP, ALL, 0, INT("", 0, 99, "0"), "Priority for fifo, 1 to 99." },
    { "nice", DAEMON, ALL, 0, INT("", -20, 19, "0"), "Niceness of the process." },
    { "numaNode", DAEMON, ALL, 0, INT("", -1, 255, "-1"),
      "NUMA node of the threads and their memory; -1 = not bound." },
    { "lockMemory", DAEMON, ALL, 0, BOOL("False"), "Keep all memory in RAM (mlockall)." },
    { "busyPoll", DAEMON | RRCP, ENGINES, 0, TIME("us", 0, 1 * SEC, "0"),
      "How long a loop looks for work before it sleeps, and SO_BUSY_POLL of its sockets; 0 = not "
      "at all." },
    { "eventMethod", DAEMON, P2PS | SRC | REC, 0, WORD("epoll|poll", "epoll"),
      "How loops wait. poll is for a library that is loaded in front of the kernel and knows only "
      "the plain calls for sockets: see kernel-bypass.md. It costs a look at every connection for "
      "each wake-up, and ten wake-ups a second." },
    { "traceSample", DAEMON, ENGINES, 0, INT("updates", 0, 1000000000, "0"),
      "Of so many updates one leaves time stamps on its way, for rmds bench latency --where; 0 = "
      "none." },
    { "memoryLimit", DAEMON, ALL, 0, INT("bytes", 0, BYTES_MAX, "0"),
      "Most memory of the daemon, divided among its parts at start, and the ceiling behind every "
      "limit that is 0 = none; when it is reached, new work is refused and open items keep "
      "updating. 0 = a part of the machine's memory or of the cgroup's limit: p2ps 40 %, "
      "src_dist 20 %, rrcpd and rmdsrec 10 %, so that one of each fits a host." },

    /* ---- log, statistics, places ---- */
    { "runDir", DAEMON, ALL, 0, PATH("/run/rmds"),
      "Folder in which each daemon has a folder of its own, with its pid file, its statistics "
      "and, of rrcpd, the attach socket; mode 0750, group rmds. Without a line, a user who may "
      "not write to /run/rmds gets $XDG_RUNTIME_DIR/openrmds, else /run/user/UID/openrmds or "
      "/tmp/openrmds-UID." },
    { "user", DAEMON, ALL, 0, TEXT("rmds"),
      "The user that a daemon becomes which root starts; without that user it needs -allow-root." },
    { "logDir", DAEMON | LOGGER, ALL, 0, PATH("/var/log/rmds"), "Folder of the log files." },
    { "logTarget", DAEMON | LOGGER, ALL, 0, WORDS("file|stderr|syslog|journal", "file"),
      "Where log lines go, comma separated: file, stderr, syslog, or journal, which is stderr "
      "with a priority for systemd in front of each line; -fg is stderr alone, -log FILE that "
      "file." },
    { "logLevel", DAEMON | LOGGER, ALL, DYN,
      WORD("EMERGENCY|ALERT|CRITICAL|ERROR|WARNING|NOTICE|INFO|DEBUG", "INFO"),
      "Least severe line that is written." },
    { "logFormat", DAEMON | LOGGER, ALL, 0, WORD("text|json", "text"),
      "Lines of the log file and of standard error as text, or as a JSON object each; the "
      "journal and syslog have fields of their own." },
    { "logMaxSize", DAEMON | LOGGER, ALL, 0, INT("bytes", 0, BYTES_MAX, "100M"),
      "A log file that grows over this is put aside; 0 = never." },
    { "logKeep", DAEMON | LOGGER, ALL, 0, INT("files", 1, 1000, "5"),
      "How many old log files are kept." },
    { "statusPort", DAEMON, ALL, 0, PORTNO(0, "0"),
      "TCP port of /metrics, JSON and the status page; 0 = none." },
    { "statusAddress", DAEMON, ALL, 0, ADDRESS("127.0.0.1"), "Address that port listens on." },
    { "statusPeers", DAEMON, ALL, DYN, LIST(""), "Status ports of other hosts, 16 host:port." },
    { "statusConnections", DAEMON, ALL, 0, INT("connections", 1, 1000, "8"),
      "Connections to statusPort at a time; when all are in use, the one idle longest is closed; "
      "if none is idle, the new one is refused." },
    { "statusRequestMax", DAEMON, ALL, 0, INT("bytes", 256, 65536, "8192"),
      "Longest request on statusPort, its headers included." },
    { "statusTimeout", DAEMON, ALL, 0, TIME("s", 100 * MS, 3600 * SEC, "10"),
      "How long a connection to statusPort may take to send a request, and to take the answer." },
    { "metricNames", DAEMON, ALL, DYN, WORD("new|both", "new"),
      "both: /metrics shows metrics also by the names that they had before they had base units, "
      "while dashboards are changed over." },
    { "metricClients", DAEMON, ALL, DYN, BOOL("True"),
      "False: /metrics has no series of each consumer and each provider, only their sums." },

    /* ---- tools/rmds ---- */
    { "startList", RMDS, MD_CONF_TOOLS, 0, LIST(""),
      "What 'tools/rmds up' starts, in this order: program[.network][.instance][@namespace]." },
};

const size_t md_conf_row_count = sizeof(md_conf_rows) / sizeof(md_conf_rows[0]);

const struct md_conf_row *md_conf_row_find(const char *name, enum md_conf_kind kind,
                                           unsigned programs)
{
    for (size_t i = 0; i < md_conf_row_count; i++)
        if ((md_conf_rows[i].kinds >> kind & 1) && (md_conf_rows[i].programs & programs) &&
            strcasecmp(md_conf_rows[i].name, name) == 0)
            return &md_conf_rows[i];
    return NULL;
}

unsigned md_conf_program_bit(const char *program)
{
    size_t length = strlen(program);
    const char *alias = path_alias(program, length);
    const char *name = alias ? alias : program;

    if (strcasecmp(name, "p2ps") == 0)
        return MD_CONF_P2PS;
    if (strcasecmp(name, "src_dist") == 0)
        return MD_CONF_SRC_DIST;
    if (strcasecmp(name, "rrcpd") == 0)
        return MD_CONF_RRCPD;
    if (strcasecmp(name, "rmdsrec") == 0)
        return MD_CONF_RMDSREC;
    return strcasecmp(name, "rmds") == 0 ? MD_CONF_TOOLS : 0;
}
