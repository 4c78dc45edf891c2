/* rrcp_peer.c - one engine that a program in another language talks to, line by line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "rrcp/rrcp.h"

/*
 * In, one line each:               out, then a line `done`:
 *      in GROUP HEX                     out GROUP HEX      a packet (GROUP 1: to the group)
 *      send SESSION UNICAST HEX         msg STREAM TOPIC HEX
 *      time NS                          event TYPE REASON
 */
#define LINE_MAX_BYTES 20000

static struct rrcp *engine;
static uint64_t now = 1000000000;
static int port;

static void print_events(void)
{
    struct backbone_event events[32];
    int count;

    while ((count = rrcp_event(engine, events, 32)) > 0)
        for (int i = 0; i < count; i++) {
            const struct backbone_event *e = &events[i];

            if (e->type == BACKBONE_MESSAGE) {
                printf("msg %c %u ", e->flags & BACKBONE_FLAG_UNICAST ? 'u' : 'm', e->topic);
                print_hex(e->bytes, e->length);
            } else {
                printf("event %u %u\n", e->type, e->reason);
            }
        }
}

static void print_packets(void)
{
    struct rrcp_packet packets[32];
    int count;

    while ((count = rrcp_output(engine, now, packets, 32)) > 0)
        for (int i = 0; i < count; i++) {
            printf("out %d ", packets[i].to ? 0 : 1);
            print_hex(packets[i].bytes, packets[i].length);
        }
}

static void input(const char *line)
{
    static const struct rrcp_address from = { .length = 2, .bytes = { 1, 2 } };
    uint8_t bytes[LINE_MAX_BYTES / 2];
    struct rrcp_arrival arrival = { .bytes = bytes, .from = &from, .is_group = line[0] == '1' };

    arrival.length = read_hex(line + 2, bytes, sizeof(bytes));
    rrcp_input(engine, now, &arrival, 1);
    print_events();
}

static void submit(const char *line)
{
    uint8_t bytes[LINE_MAX_BYTES / 2];
    char *end;
    struct rrcp_msg msg = { .bytes = bytes, .topic = 7 };

    msg.session = strtoull(line, &end, 16);
    msg.flags = end[1] == '1' ? RRCP_MSG_UNICAST : 0;
    msg.length = read_hex(end + 3, bytes, sizeof(bytes));
    if (rrcp_submit(engine, now, port, &msg) != 0)
        printf("refused\n");
}

static void pass_time(uint64_t until_ns)
{
    now = until_ns;
    rrcp_input(engine, now, NULL, 0);
    rrcp_tick(engine, now);
    print_packets();
    print_events();
}

int main(void)
{
    static char line[LINE_MAX_BYTES];
    struct rrcp_env env = { .take = lines_take, .give = lines_give, .seed = { 3, 4 } };
    const struct rrcp_user user = { .receives = true };
    struct rrcp_config config;

    rrcp_config_init(&config);
    config.network = "net1";
    config.node = "hosta.1.rrcpd";
    config.pool_packets = 1024;
    if (rrcp_create(&config, &env, &engine) != 0)
        return 1;
    port = rrcp_user_add(engine, &user);
    while (fgets(line, sizeof(line), stdin)) {
        if (strncmp(line, "in ", 3) == 0)
            input(line + 3);
        else if (strncmp(line, "send ", 5) == 0)
            submit(line + 5);
        else if (strncmp(line, "time ", 5) == 0)
            pass_time(strtoull(line + 5, NULL, 10));
        printf("done\n");
        fflush(stdout);
    }
    rrcp_destroy(engine);
    return 0;
}
