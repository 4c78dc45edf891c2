/* fuzz_httpd_request.c - any bytes are a request, part of one, or none; and no view leaves them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "httpd/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(struct md_slice view, const uint8_t *data, size_t size)
{
    if (view.length > 0 && (view.bytes < data || view.bytes + view.length > data + size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request request, again;
    int status = http_request_parse(data, size, &request);

    if (http_status_text(status)[0] == 0)
        abort();
    if (status != HTTP_OK)
        return 0;
    check_view(request.path, data, size);
    check_view(request.query, data, size);
    check_view(request.host, data, size);
    (void)http_host_is_literal(request.host);
    if (request.length == 0 || request.length > size || request.path.length == 0 ||
        request.path.bytes[0] != '/')
        abort();
    /* What stands behind a request cannot change it, and nothing less is one. */
    if (http_request_parse(data, request.length, &again) != HTTP_OK ||
        http_request_parse(data, request.length - 1, &again) != HTTP_INCOMPLETE)
        abort();
    return 0;
}
