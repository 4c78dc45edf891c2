/* request_data.c - see request_data.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "request_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct srcdist_request_data {
    uint32_t item;
    size_t length;
    uint8_t bytes[];
};

void srcdist_request_data_read(struct rrmp_view message, struct omm_item_request *request)
{
    struct rwf_msg msg;

    if (message.length == 0 ||
        rwf_msg_decode(rwf_bytes(message.bytes, message.length), &msg) != RWF_OK ||
        msg.msg_class != RWF_CLASS_REQUEST)
        return;
    request->container = msg.container;
    request->payload = msg.payload;
}

static uint32_t find(const struct srcdist_core *core, uint32_t item)
{
    uint32_t i = 0;

    while (i < core->request_data_count && core->request_data[i]->item != item)
        i++;
    return i;
}

int srcdist_request_data_keep(struct srcdist_core *core, uint32_t item, struct rrmp_view message)
{
    struct srcdist_request_data *data = NULL;

    if (core->request_data_count < SRCDIST_REQUEST_DATA_MAX &&
        message.length <= SRCDIST_REQUEST_DATA_LENGTH)
        data = malloc(sizeof(*data) + message.length);
    if (!data) {
        core->stats.request_data_refused++;
        return MD_ERR_FULL;
    }
    data->item = item;
    data->length = message.length;
    memcpy(data->bytes, message.bytes, message.length);
    core->request_data[core->request_data_count++] = data;
    return MD_OK;
}

struct rrmp_view srcdist_request_data_of(const struct srcdist_core *core, uint32_t item)
{
    uint32_t i = find(core, item);

    if (i == core->request_data_count)
        return (struct rrmp_view){ .bytes = NULL, .length = 0 };
    return (struct rrmp_view){ core->request_data[i]->bytes, core->request_data[i]->length };
}

void srcdist_request_data_give(struct srcdist_core *core, uint32_t item)
{
    uint32_t i = find(core, item);

    if (i == core->request_data_count)
        return;
    free(core->request_data[i]);
    core->request_data[i] = core->request_data[--core->request_data_count];
}

void srcdist_request_data_fini(struct srcdist_core *core)
{
    while (core->request_data_count > 0)
        free(core->request_data[--core->request_data_count]);
}
