/* backbone_prices.c - opens items right on the backbone and prints their prices.
 *
 *     backbone_prices RUN-DIR NETWORK INSTANCE SERVICE ITEM...
 *     cc backbone_prices.c $(pkg-config --cflags --libs openrmds) -o backbone_prices
 *
 * rrcpd lets it do so with a rule: attachAccess : uid=NAME consume
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "rmds/backbone.h"
#include "rmds/rwf.h"

/* Some fields of the dictionary, all of type REAL. */
static const struct {
    int16_t id;
    const char *name;
} fields[] = { { 22, "BID" }, { 25, "ASK" }, { 6, "TRDPRC_1" }, { 32, "ACVOL_1" } };

static void print_fields(struct rwf_bytes payload)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_real real;
    char text[RWF_TEXT_MAX];
    int rc = rwf_field_list_decode(payload, NULL, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
            if (field.id == fields[i].id && rwf_real_decode(field.content, &real) == RWF_OK) {
                rwf_real_to_text(&real, text, sizeof(text));
                printf("  %s %s", fields[i].name, text);
            }
        }
    }
    printf(rc < 0 ? "  (broken)\n" : "\n");
}

/* Every event of every item comes here; `user` is the item's name. */
static void handle(const struct rmds_item_event *event)
{
    const char *name = event->user;
    char text[256];

    switch (event->kind) {
    case RMDS_ITEM_IMAGE:
    case RMDS_ITEM_UPDATE:
        printf("%s %s", name, event->kind == RMDS_ITEM_IMAGE ? "IMAGE" : "UPDATE");
        print_fields(event->message->payload);
        break;
    case RMDS_ITEM_STATE:
    case RMDS_ITEM_CLOSED:
        rwf_state_to_text(&event->state, text, sizeof(text));
        printf("%s: %s\n", name, text);
        break;
    case RMDS_ITEM_GENERIC:
        break;
    }
}

static void on_link(void *owner, bool is_up)
{
    (void)owner;
    printf(is_up ? "on the backbone\n" : "rrcpd is gone; trying again each second\n");
}

static void wait_for_more(const struct rmds_backbone *backbone)
{
    struct pollfd fd = { .fd = rmds_backbone_descriptor(backbone), .events = POLLIN };
    uint64_t deadline_ns = rmds_backbone_deadline(backbone), now_ns = rmds_now();
    struct timespec wait = { .tv_sec = 1 };

    if (deadline_ns < now_ns + 1000000000ull)
        wait =
            (struct timespec){ .tv_nsec = deadline_ns > now_ns ? (long)(deadline_ns - now_ns) : 0 };
    ppoll(&fd, 1, &wait, NULL);
}

int main(int argc, char **argv)
{
    struct rmds_backbone_options options;
    struct rmds_item_request request;
    struct rmds_backbone *backbone;
    struct rmds_item *item;

    if (argc < 6) {
        fprintf(stderr, "usage: backbone_prices RUN-DIR NETWORK INSTANCE SERVICE ITEM...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is written, also through a pipe */
    rmds_backbone_options_init(&options, sizeof(options));
    options.run_dir = argv[1];
    options.network = argv[2];
    options.instance = argv[3];
    options.name = "backbone_prices";
    options.on_link = on_link;
    int rc = rmds_backbone_open(&options, &backbone);
    rmds_item_request_init(&request, sizeof(request));
    request.service = argv[4];
    request.handle = handle;
    for (int i = 5; rc == 0 && i < argc; i++) {
        request.name = argv[i];
        request.user = argv[i];
        rc = rmds_item_open(backbone, &request, &item);
    }
    if (rc != 0) {
        fprintf(stderr, "backbone_prices: %s\n", rmds_error_text(rc));
        return 1;
    }
    for (;;) {
        while (rmds_backbone_turn(backbone, rmds_now()) > 0)
            ;
        wait_for_more(backbone);
    }
}
