/* rmds/rwf_directory.h - the services of a source directory: their names, ids and states. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_DIRECTORY_H
#define RMDS_RWF_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "rmds/rwf_container.h"
#include "rmds/rwf_message.h"

/*
 * A consumer asks for items by the id of their service, and that id is a matter of the server: the
 * directory (domain RWF_DOMAIN_SOURCE) says which name has which. Its refresh tells of all
 * services, its updates of those that change; either may leave out the name or the state.
 *
 *     if (rwf_service_find(&msg, "RDFD", &service) > 0)
 *         open_items(service.id);
 *
 * or all of them:
 *
 *     int rc = rwf_services_start(&msg, &services);
 *     while (rc >= 0 && (rc = rwf_services_next(&services, &service)) > 0)
 *         ...
 */

#define RWF_SERVICE_INFO  0x01u /* for the filter of a directory request: names */
#define RWF_SERVICE_STATE 0x02u

struct rwf_service {
    uint16_t id;
    bool is_deleted; /* the directory no longer has it; nothing else is known */
    bool has_name;
    bool has_state;
    bool is_up;            /* with has_state: a provider serves it */
    bool is_accepting;     /* with has_state: it takes requests */
    struct rwf_bytes name; /* points into the message */
};

struct rwf_services {
    struct rwf_map map;
};

/* A refresh or update of the directory; any other message has no services. */
int rwf_services_start(const struct rwf_msg *msg, struct rwf_services *services);
/* 1 and a service, 0 at the end, or an error. */
int rwf_services_next(struct rwf_services *services, struct rwf_service *service);

/* The service of that name: 1, or 0 if this message does not name it, or an error. */
int rwf_service_find(const struct rwf_msg *msg, const char *name, struct rwf_service *service);

#endif
