/* backbone_source.c - the source of service EXAMPLE, right on the backbone: any item that somebody
 * asks for, with an update each second; and a message of topic "example.clock" each second.
 *
 *     backbone_source RUN-DIR NETWORK INSTANCE
 *     cc backbone_source.c $(pkg-config --cflags --libs openrmds) -o backbone_source
 *
 * A thread of the library takes the turns; the main thread hands it work each second. rrcpd lets it
 * do so with a rule: attachAccess : uid=NAME publish=EXAMPLE topics=example.clock
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rmds/backbone.h"
#include "rmds/rwf.h"

#define BID       22 /* field ids of the dictionary */
#define ASK       25
#define ITEMS_MAX 100

struct source {
    struct rmds_backbone *backbone;
    struct rmds_offered *items[ITEMS_MAX];
    int item_count;
    int64_t price;
};

static struct rwf_bytes prices(uint8_t *bytes, size_t size, int64_t price)
{
    struct rwf_real bid = { .value = price, .hint = 12 }; /* hundredths */
    struct rwf_real ask = { .value = price + 5, .hint = 12 };
    struct rwf_encoder encoder;

    rwf_encoder_init(&encoder, bytes, size);
    rwf_field_list_start(&encoder, NULL);
    rwf_field_add_real(&encoder, BID, &bid);
    rwf_field_add_real(&encoder, ASK, &ask);
    rwf_field_list_finish(&encoder);
    return rwf_encoder_bytes(&encoder);
}

static bool on_open(void *owner, struct rmds_offered *item)
{
    struct source *source = owner;

    if (source->item_count == ITEMS_MAX)
        return false;
    source->items[source->item_count++] = item;
    printf("%s is wanted\n", rmds_offered_name(item));
    return true;
}

static void on_image(void *owner, struct rmds_offered *item)
{
    const struct source *source = owner;
    struct rmds_data data;
    uint8_t bytes[256];

    rmds_data_init(&data, sizeof(data));
    data.payload = prices(bytes, sizeof(bytes), source->price);
    rmds_offered_image(item, &data);
}

static void on_close(void *owner, struct rmds_offered *item)
{
    struct source *source = owner;

    for (int i = 0; i < source->item_count; i++)
        if (source->items[i] == item)
            source->items[i] = source->items[--source->item_count];
}

/* In the thread of the library. */
static void publish(void *argument)
{
    struct source *source = argument;
    struct rmds_data data;
    uint8_t bytes[256];
    char text[64];

    source->price++;
    rmds_data_init(&data, sizeof(data));
    data.payload = prices(bytes, sizeof(bytes), source->price);
    for (int i = 0; i < source->item_count; i++)
        rmds_offered_update(source->items[i], &data);
    snprintf(text, sizeof(text), "price %lld", (long long)source->price);
    rmds_topic_publish(source->backbone, "example.clock", text, strlen(text));
}

int main(int argc, char **argv)
{
    static struct source source = { .price = 10000 };
    struct rmds_backbone_options options;
    struct rmds_offer_options service;
    struct rmds_offer *offer;

    if (argc != 4) {
        fprintf(stderr, "usage: backbone_source RUN-DIR NETWORK INSTANCE\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    rmds_backbone_options_init(&options, sizeof(options));
    options.run_dir = argv[1];
    options.network = argv[2];
    options.instance = argv[3];
    options.name = "backbone_source";
    rmds_offer_options_init(&service, sizeof(service));
    service.service = "EXAMPLE";
    service.owner = &source;
    service.on_open = on_open;
    service.on_image = on_image;
    service.on_close = on_close;
    int rc = rmds_backbone_open(&options, &source.backbone);
    if (rc == 0)
        rc = rmds_offer_open(source.backbone, &service, &offer);
    if (rc == 0)
        rc = rmds_backbone_start(source.backbone);
    if (rc != 0) {
        fprintf(stderr, "backbone_source: %s\n", rmds_error_text(rc));
        return 1;
    }
    for (;;) {
        sleep(1);
        rmds_backbone_post(source.backbone, publish, &source);
    }
}
