/* fuzz_rwf_directory.c - any bytes as a directory message: services whose names lie inside, or an
 * error. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "rmds/rwf.h"
#include "rmds/rwf_directory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rwf_msg msg = { .msg_class = RWF_CLASS_REFRESH,
                           .domain = RWF_DOMAIN_SOURCE,
                           .container = RWF_TYPE_MAP,
                           .payload = rwf_bytes(data, size) };
    struct rwf_msg whole;
    struct rwf_services services;
    struct rwf_service service;
    size_t count = 0;

    if (rwf_msg_decode(msg.payload, &whole) == RWF_OK && whole.domain == RWF_DOMAIN_SOURCE)
        msg = whole;
    int rc = rwf_services_start(&msg, &services);
    while (rc >= 0 && (rc = rwf_services_next(&services, &service)) > 0) {
        if (service.has_name && (service.name.data < data || service.name.length > size ||
                                 service.name.data + service.name.length > data + size))
            abort();
        if (++count > size)
            abort(); /* each service takes a byte at least */
    }
    (void)rwf_service_find(&msg, "RDFD", &service);
    return 0;
}
