/* absent.c - parameters that this version knows and does not heed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <strings.h>

#include "conf/table.h"

#define DAEMON  (1u << MD_CONF_DAEMON)
#define SERVICE (1u << MD_CONF_SERVICE)
#define RRCP    (1u << MD_CONF_RRCP)
#define SHMEM   (1u << MD_CONF_SHMEM)

#define P2PS    MD_CONF_P2PS
#define SRC     MD_CONF_SRC_DIST
#define ENGINES (MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD)
#define SSL     MD_CONF_SSL

/*
 * Parameters of features that are not in this version: files that have them load, with a warning.
 * The feature brings the row. name, objects, programs, SSL or 0, what is done instead.
 */
#define ABSENT(name_, kinds_, programs_, flags_, instead)                                          \
    {                                                                                              \
        .name = (name_), .kinds = (kinds_), .programs = (programs_), .flags = (flags_),            \
        .meaning = (instead)                                                                       \
    }

const struct md_conf_row md_conf_absent[] = {
    ABSENT("portList", DAEMON, P2PS, SSL, ""),
    ABSENT("allowSSLConnections", DAEMON, P2PS, SSL, ""),
    ABSENT("sslMsgPacking", DAEMON, P2PS, SSL, ""),
    ABSENT("postAckTimeout", DAEMON, P2PS, 0, ""),
    ABSENT("authTokenName", DAEMON, P2PS, 0, ""),
    ABSENT("positionName", DAEMON, P2PS, 0, ""),
    ABSENT("applicationIdName", DAEMON, P2PS, 0, ""),
    ABSENT("cacheType", SERVICE, SRC, SSL, ""),
    ABSENT("serviceLoop", SERVICE, SRC, 0, "A service is on the loop of its network."),
    ABSENT("tpphold", RRCP, ENGINES, 0, "Sent packets are kept until ndata says to give up."),
    ABSENT("hsmInterface", RRCP, ENGINES, 0, ""),
    ABSENT("hsmMultAddress", RRCP, ENGINES, 0, ""),
    ABSENT("hsmPort", RRCP, ENGINES, 0, ""),
    ABSENT("tcpControlPort", RRCP, ENGINES, 0, ""),
    ABSENT("filterThreadCpu", DAEMON, SRC, 0, ""),
    ABSENT("rrcpReadCpu", DAEMON, P2PS | SRC, 0, ""),
    ABSENT("hugePages", DAEMON, ENGINES, 0, ""),
    ABSENT("shmDir", DAEMON | SHMEM, ENGINES, 0, "The statistics stand in runDir."),
};

const size_t md_conf_absent_count = sizeof(md_conf_absent) / sizeof(md_conf_absent[0]);

bool md_conf_is_absent(const char *name, unsigned kinds, unsigned programs)
{
    for (size_t i = 0; i < md_conf_absent_count; i++)
        if ((md_conf_absent[i].kinds & kinds) && (md_conf_absent[i].programs & programs) &&
            strcasecmp(md_conf_absent[i].name, name) == 0)
            return true;
    return false;
}
