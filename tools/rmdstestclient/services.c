/* services.c - the services that the directory offers: for messages, and for -list services. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "omm/directory.h"
#include "tc.h"

void services_clear(struct services *services)
{
    services->count = services->more = 0;
    services->is_complete = false;
}

static struct offered *find(struct services *services, uint16_t id)
{
    for (size_t i = 0; i < services->count; i++) {
        if (services->list[i].id == id)
            return &services->list[i];
    }
    return NULL;
}

void services_note(struct services *services, const struct omm_service *service)
{
    struct offered *offered = find(services, service->id);

    if (service->action == RWF_MAP_DELETE) {
        if (offered)
            *offered = services->list[--services->count];
        return;
    }
    if (!offered) {
        if (services->count == OFFERED_MAX) {
            services->more++;
            return;
        }
        offered = &services->list[services->count++];
        *offered = (struct offered){ .id = service->id };
    }
    if (service->filters & OMM_FILTER_INFO) {
        snprintf(offered->name, sizeof(offered->name), "%.*s", (int)service->name.length,
                 (const char *)service->name.data);
        offered->domain_count = service->capability_count;
        memcpy(offered->domains, service->capabilities, service->capability_count);
    }
    if (service->filters & OMM_FILTER_STATE)
        offered->is_up = service->is_up;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct offered *)a)->name, ((const struct offered *)b)->name);
}

static void print_names(struct services *services, FILE *out)
{
    if (services->count == 0)
        fprintf(out, "there is none yet");
    else
        fprintf(out, services->count == 1 ? "there is: " : "there are: ");
    for (size_t i = 0; i < services->count; i++)
        fprintf(out, "%s%s%s", i ? ", " : "", services->list[i].name,
                services->list[i].is_up ? "" : " (down)");
    if (services->more)
        fprintf(out, " and %zu more", services->more);
}

void services_tell(struct conn *conn)
{
    struct tc *tc = conn->tc;
    struct services *services = &tc->offered;

    if (!services->is_complete)
        return;
    qsort(services->list, services->count, sizeof(services->list[0]), by_name);
    for (size_t i = 0; i < tc->service_count; i++) {
        if (conn->service_known[i] && services->is_missing[i]) {
            services->is_missing[i] = false;
            fprintf(stderr, "rmdstestclient: service %s is offered now\n", tc->services[i]);
        } else if (!conn->service_known[i] && !services->is_missing[i]) {
            services->is_missing[i] = true;
            fprintf(stderr, "rmdstestclient: service %s is not offered here; ", tc->services[i]);
            print_names(services, stderr);
            fprintf(stderr, "\n");
        }
    }
}

int services_print(struct services *services, FILE *out)
{
    if (!services->is_complete)
        return TC_NO_LOGIN;
    if (services->count == 0) {
        fprintf(stderr, "rmdstestclient: no service is offered\n");
        return TC_NOT_OPEN;
    }
    qsort(services->list, services->count, sizeof(services->list[0]), by_name);
    fprintf(out, "%-32s %5s  %-5s  %s\n", "SERVICE", "ID", "STATE", "DOMAINS");
    for (size_t i = 0; i < services->count; i++) {
        const struct offered *offered = &services->list[i];
        fprintf(out, "%-32s %5u  %-5s ", offered->name, offered->id,
                offered->is_up ? "up" : "down");
        for (uint8_t k = 0; k < offered->domain_count; k++)
            fprintf(out, " %s", rwf_domain_name(offered->domains[k]));
        fprintf(out, "\n");
    }
    if (services->more)
        fprintf(out, "and %zu more\n", services->more);
    return fflush(out) == 0 ? TC_OK : TC_FILE;
}
