/* foreign_source.c - foreign_source NETWORK RUN_DIR: a program that may offer RISK, and abuses it:
 * its items are of the domains of logins, directories and dictionaries, and have names of others.
 * It opens them itself, so that they are bound, prints "bound", and waits to be killed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>

#include "rmds/backbone.h"
#include "rmds/rwf.h"

#define COUNT 5u

static const struct {
    const char *name;
    uint8_t domain;
} wanted[COUNT] = {
    { "RDFD", RWF_DOMAIN_LOGIN },         { "RDFD", RWF_DOMAIN_SOURCE },
    { "RWFFld", RWF_DOMAIN_DICTIONARY },  { "RWFEnum", RWF_DOMAIN_DICTIONARY },
    { "RISK1", RWF_DOMAIN_MARKET_PRICE },
};

static unsigned images;

static void on_image(void *owner, struct rmds_offered *item)
{
    uint8_t payload[64];
    struct rwf_encoder enc;
    struct rmds_data data;

    (void)owner;
    rwf_encoder_init(&enc, payload, sizeof(payload));
    rwf_field_list_start(&enc, NULL);
    rwf_field_list_finish(&enc);
    rmds_data_init(&data, sizeof(data));
    data.payload = rwf_encoder_bytes(&enc);
    if (rmds_offered_image(item, &data) != 0)
        fprintf(stderr, "foreign_source: no image of %s\n", rmds_offered_name(item));
}

static void on_item(const struct rmds_item_event *event)
{
    if (event->kind == RMDS_ITEM_IMAGE && ++images == COUNT) {
        printf("bound\n");
        fflush(stdout);
    }
}

static bool open_all(struct rmds_backbone *source, struct rmds_backbone *consumer)
{
    static const uint8_t domains[] = { RWF_DOMAIN_LOGIN, RWF_DOMAIN_SOURCE, RWF_DOMAIN_DICTIONARY,
                                       RWF_DOMAIN_MARKET_PRICE };
    struct rmds_offer_options options;
    struct rmds_item_request request;
    struct rmds_offer *offer;
    struct rmds_offered *offered;
    struct rmds_item *item;

    rmds_offer_options_init(&options, sizeof(options));
    options.service = "RISK";
    options.is_broadcast = true;
    options.domains = domains;
    options.domain_count = sizeof(domains);
    options.on_image = on_image;
    if (rmds_offer_open(source, &options, &offer) != 0)
        return false;
    for (unsigned i = 0; i < COUNT; i++) {
        rmds_item_request_init(&request, sizeof(request));
        request.service = "RISK";
        request.name = wanted[i].name;
        request.domain = wanted[i].domain;
        request.handle = on_item;
        if (rmds_offer_add(offer, wanted[i].name, wanted[i].domain, &offered) != 0 ||
            rmds_item_open(consumer, &request, &item) != 0)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct rmds_backbone_options options;
    struct rmds_backbone *both[2];

    rmds_backbone_options_init(&options, sizeof(options));
    options.network = argc > 1 ? argv[1] : NULL;
    options.run_dir = argc > 2 ? argv[2] : NULL;
    options.name = "foreign_source";
    if (argc != 3 || rmds_backbone_open(&options, &both[0]) != 0 ||
        rmds_backbone_open(&options, &both[1]) != 0 || !open_all(both[0], both[1]))
        return 1;
    for (;;) {
        bool is_idle = true;
        for (int i = 0; i < 2; i++)
            is_idle = rmds_backbone_turn(both[i], rmds_now()) == 0 && is_idle;
        struct pollfd fds[2] = { { .fd = rmds_backbone_descriptor(both[0]), .events = POLLIN },
                                 { .fd = rmds_backbone_descriptor(both[1]), .events = POLLIN } };
        if (is_idle)
            (void)poll(fds, 2, 10);
    }
}
