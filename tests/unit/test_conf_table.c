/* test_conf_table.c - every parameter our documents name is known, and says if it is heeded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "conf/conf.h"
#include "conf/table.h"

/* By the object that has them. What stands here may never become unknown. */
static const struct {
    enum md_conf_kind kind;
    unsigned programs;
    const char *names;
} promised[] = {
    { MD_CONF_DAEMON, MD_CONF_P2PS,
      "rsslPort portList allowRSSLConnections allowSSLConnections allowCompMode compressionType "
      "maxMounts itemLimit itemLimitPerMount aggregateItemLimit hashTableSize enableCache "
      "guaranteedOutputBuffers maxOutputBuffers poolSize numInputBuffers maxFragmentSize "
      "outputThresholdBreach outputThresholdOK slowTime maxOutputTime slowTimeout conflateMax "
      "tradeBacklog "
      "slowBacklog timedWrites flushInterval "
      "tcpNoDelay tcpSendBufSize tcpRecvBufSize rsslMsgPacking sslMsgPacking pingInterval "
      "disableHostLookup minimumOpenWindow rrmpProtocols sessionStatsWindow writeThreadCpu "
      "itemThreadCpu rrcpReadCpu dictionaryPath accessFile maxDecodedMsgSize workers holdLimit "
      "maxPosts networkList dictionaryLimit rebalance rebalanceRate failback serviceForget "
      "gapVerify "
      "instanceTimeout tlsPort "
      "tlsCertFile tlsKeyFile tlsCaFile tlsRequireClientCert tlsMinVersion attachTimeout" },
    { MD_CONF_DAEMON, MD_CONF_P2PS,
      "wsEnable wsPort wsPingTimeout wsMaxMsgSize wsMaxConnections defaultService "
      "expandEnumFields catchUnknownJsonKeys catchUnknownJsonFids authTokenName positionName "
      "applicationIdName postAckTimeout" },
    { MD_CONF_PORT, MD_CONF_P2PS,
      "pingTimeout minPingTimeout clientToServerPings serverToClientPings" },
    { MD_CONF_USER, MD_CONF_P2PS, "itemLimit" },
    { MD_CONF_SERVICE, MD_CONF_P2PS | MD_CONF_SRC_DIST, "network" },
    { MD_CONF_DAEMON, MD_CONF_SRC_DIST,
      "routeCount serviceList networkList itemLimit hashTableSize pingTimeout "
      "pingInterval "
      "tcpNoDelay "
      "tcpSendBufSize tcpRecvBufSize rsslMsgPacking maxFragmentSize maxDecodedMsgSize gapLog "
      "providerOpenWindow sourceThreadCpu filterThreadCpu rrcpReadCpu tlsCertFile tlsKeyFile "
      "filterFile fieldFilter updateTypeFilter conflateInterval conflateExempt "
      "conflateExemptFields "
      "tlsCaFile tlsRequireClientCert tlsMinVersion attachTimeout" },
    { MD_CONF_ROUTE, MD_CONF_SRC_DIST,
      "hostList network port sslMountVersion numIpcInputBuffers numIpcOutputBuffers encrypted "
      "pingTimeout "
      "tlsCertFile tlsKeyFile tlsCaFile tlsMinVersion" },
    { MD_CONF_BUS, MD_CONF_SRC_DIST,
      "serverPort rsocketServerPort network tlsServerPort guaranteedOutputBuffers numInputBuffers "
      "poolSize inputBias "
      "pingTimeout" },
    { MD_CONF_SERVICE, MD_CONF_SRC_DIST,
      "cacheLocation cacheType dictionaryDownload dataType rrmpFlushInterval serviceId serviceLoop "
      "closeLinger "
      "orphanLinger imageLinger mirrorGroup "
      "mirrorMode mirrorSequence sourcePriority loadFactor vendor "
      "delayedService delay delayDir delayBytes delayItems" },
    { MD_CONF_RRCP, MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD,
      "networkName multicastAddress multicastPort unicastPort portRoamRange interface "
      "secondInterface secondAddress transport peers rdmaDevice rdmaPort "
      "pathSkew packetTTL maxPacketSize maxMsgSize maxPktPoolSize "
      "pktPoolLimitHigh pktPoolLimitLow userQLimit inboundRing udpRecvBufSize udpSendBufSize "
      "usePointToPointData switchReorderFixEnabled reorderDelay reorderPackets retry ndata tdata "
      "nrreq trreq twait tbchold tpphold nmissing recoverTimeout peerTimeout fcTimeout hbMin hbMax "
      "rxWindow maxPeers maxJump maxDataRate maxRetransRate flowControl congestionControl "
      "authKeyFile peerAddresses packetSecurity packetCipher hsmInterface hsmMultAddress hsmPort "
      "hsmInterval "
      "tcpControlPort inProcess "
      "rrcpdInstance lossPct reorderPct delayUs faultSeed schedPolicy schedPriority" },
    { MD_CONF_RRCP, MD_CONF_RRCPD, "disconnectOnGaps rrcpThreadCpu" },
    { MD_CONF_DAEMON, MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD,
      "mainThreadCpu schedPolicy schedPriority nice numaNode lockMemory hugePages busyPoll "
      "memoryLimit statusConnections statusPort statusAddress runDir shmDir logDir logTarget "
      "logLevel logMaxSize "
      "logKeep" },
    { MD_CONF_LOGGER, MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD,
      "logDir logTarget logLevel logMaxSize logKeep" },
    { MD_CONF_SHMEM, MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD, "shmDir" },
    { MD_CONF_RMDS, MD_CONF_TOOLS, "startList" },
};

static void each_parameter_of_the_documents_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        const char *at = promised[i].names;

        while (*at) {
            size_t length = strcspn(at, " ");
            char name[64];

            snprintf(name, sizeof(name), "%.*s", (int)length, at);
            for (unsigned bit = 1; bit <= MD_CONF_TOOLS; bit <<= 1)
                if ((promised[i].programs & bit) &&
                    !md_conf_row_find(name, promised[i].kind, bit) &&
                    !md_conf_is_absent(name, 1u << promised[i].kind, bit))
                    fail_msg("%s is no parameter of program %u there", name, bit);
            at += length + (at[length] == ' ');
        }
    }
}

struct heard {
    unsigned not_in_this_version, others;
};

static void listen_to(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                      const char *text)
{
    struct heard *heard = arg;

    (void)file;
    (void)line;
    if (severity == MD_CONF_WARNING && strstr(text, ": not in this version (ignored)"))
        heard->not_in_this_version++;
    else
        heard->others++;
}

/* Some legal value for a row whose default is none. */
static const char *value_of(const struct md_conf_row *row)
{
    static const char *const some[] = {
        [MD_CONF_STRING] = "word",       [MD_CONF_LIST] = "1", [MD_CONF_PATH] = "/nowhere",
        [MD_CONF_ADDRESS] = "127.0.0.1", [MD_CONF_CPUS] = "0",
    };

    if (!row->fallback)
        return "of no type"; /* absent */
    if (strcmp(row->unit, "group") == 0)
        return "239.1.1.1";
    return *row->fallback ? row->fallback : some[row->type];
}

static struct heard load_twice(const char *program, const struct md_conf_row *row)
{
    struct heard heard = { 0 };
    const struct md_conf_options options = {
        .program = program, .node = "vega", .sink = listen_to, .sink_arg = &heard
    };
    struct md_conf *conf;
    char text[512];

    int length = snprintf(text, sizeof(text), "*%s : %s\nvega*%s : %s\n", row->name, value_of(row),
                          row->name, value_of(row));
    assert_int_equal(md_conf_load_text(&options, "f", text, (size_t)length, &conf), MD_OK);
    md_conf_destroy(conf);
    return heard;
}

/* Of two lines for it; and not at all in a program the row is not for. */
static void what_is_not_in_this_version_is_said_exactly_once(void **state)
{
    static const char *const programs[] = { "p2ps", "src_dist", "rrcpd", "rmdscnf" };

    (void)state;
    for (size_t i = 0; i < md_conf_absent_count; i++)
        for (size_t p = 0; p < 4; p++) {
            const struct md_conf_row *row = &md_conf_absent[i];
            bool is_for = p == 3 || row->programs & md_conf_program_bit(programs[p]);
            struct heard heard = load_twice(programs[p], row);

            if (heard.not_in_this_version != (is_for ? 1u : 0u) || heard.others)
                fail_msg("%s in %s: said %u times, and %u other things", row->name, programs[p],
                         heard.not_in_this_version, heard.others);
        }
}

static void what_is_in_this_version_is_not_said_to_be_absent(void **state)
{
    (void)state;
    for (size_t i = 0; i < md_conf_row_count; i++)
        assert_int_equal(load_twice("p2ps", &md_conf_rows[i]).not_in_this_version, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_parameter_of_the_documents_is_known),
        cmocka_unit_test(what_is_not_in_this_version_is_said_exactly_once),
        cmocka_unit_test(what_is_in_this_version_is_not_said_to_be_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
