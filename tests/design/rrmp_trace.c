/* rrmp_trace.c - one record of each type as it is encoded, and damaged ones with the verdict on
 * them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/prng.h"
#include "rrmp/key.h"
#include "rrmp/record.h"

/*
 *      record TYPE HEX name=value ...     value: a number, or x and bytes in hex
 *      key HEX name=value ...
 *      check ok|bad TYPE HEX
 */
static uint8_t bytes[1024];
static struct rrmp_record record;
static struct md_prng prng;

#define NUMBER(name) printf(" " #name "=%llu", (unsigned long long)u->name)

static void print_hex(const uint8_t *at, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", at[i]);
}

static void print_view(const char *name, struct rrmp_view view)
{
    printf(" %s=x", name);
    print_hex(view.bytes, view.length);
}

static struct rrmp_view text(const char *s)
{
    return (struct rrmp_view){ .bytes = (const uint8_t *)s, .length = strlen(s) };
}

static void damage(const uint8_t *whole, size_t length)
{
    static struct rrmp_record out;
    uint8_t copy[1024];

    for (int i = 0; i < 60; i++) {
        size_t cut = md_prng_below(&prng, 3) ? length : md_prng_below(&prng, (uint32_t)length);

        memcpy(copy, whole, length);
        for (uint32_t n = md_prng_below(&prng, 3); n > 0; n--)
            copy[md_prng_below(&prng, (uint32_t)length)] = (uint8_t)md_prng_u32(&prng);
        printf("check %s ", rrmp_record_decode(copy, cut, &out) == 0 ? "ok" : "bad");
        print_hex(copy, cut);
        printf("%s\n", cut ? "" : "-");
    }
}

/* Encodes `record` and begins its line; print its fields and end it. */
static void begin(uint8_t type, uint8_t flags)
{
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    record.header =
        (struct rrmp_header){ .type = type, .flags = flags, .svc = 0x1234, .svc_seq = 0x89abcdef };
    rrmp_record_encode(&wr, &record);
    if (!md_wr_ok(&wr))
        abort();
    size_t length = md_wr_length(&wr);
    damage(bytes, length);
    printf("record %s ", rrmp_type_name(type));
    print_hex(bytes, length);
    printf(" flags=%u svc=%u svc_seq=%u", flags, record.header.svc, record.header.svc_seq);
}

static void end(void)
{
    printf("\n");
    memset(&record, 0, sizeof(record));
}

static void instance_and_service(void)
{
    static const uint8_t rows[32] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 };
    uint8_t tlvs[64];
    struct md_wr wr = md_wr_init(tlvs, sizeof(tlvs));

    {
        struct rrmp_instance *u = &record.u.instance;
        *u = (struct rrmp_instance){ 0x0102030405060708, 9, 1000, 1, 77, 2, text("hosta"), rows };
        begin(RRMP_INSTANCE, 0);
        NUMBER(start_ms), NUMBER(beat), NUMBER(interval_ms), NUMBER(state), NUMBER(handles_high);
        NUMBER(service_count), print_view("name", u->name);
        end();
    }
    rrmp_tlv_put(&wr, RRMP_TLV_VENDOR, "abc", 3);
    rrmp_tlv_put(&wr, RRMP_TLV_QOS, "12345", 5);
    struct rrmp_service *u = &record.u.service;
    *u = (struct rrmp_service){
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2, text("NAME"), text("mir"), { tlvs, md_wr_length(&wr) }
    };
    begin(RRMP_SERVICE, 0);
    NUMBER(version), NUMBER(topic), NUMBER(id), NUMBER(state), NUMBER(priority), NUMBER(kind);
    NUMBER(image_from), NUMBER(load_factor), NUMBER(open_limit), NUMBER(open_window);
    NUMBER(features), NUMBER(tlv_count), print_view("name", u->name);
    print_view("mirror_group", u->mirror_group);
    end();
}

static void states(void)
{
    {
        struct rrmp_svcstate *u = &record.u.svcstate;
        *u = (struct rrmp_svcstate){ 10, 3, 2, 1, false, text("down") };
        begin(RRMP_SVCSTATE, 0);
        NUMBER(state), NUMBER(code), NUMBER(service_state), NUMBER(has_status);
        print_view("text", u->text), end();
    }
    {
        struct rrmp_group *u = &record.u.group;
        *u = (struct rrmp_group){ 500, 600, 10, 4, false, text("why") };
        begin(RRMP_GROUP, 0);
        NUMBER(group), NUMBER(merged_into), NUMBER(state), NUMBER(code);
        print_view("text", u->text), end();
    }
    struct rrmp_query *u = &record.u.query;
    u->what = 3;
    begin(RRMP_QUERY, 0);
    NUMBER(what), end();
}

static void requests(void)
{
    {
        struct rrmp_request *u = &record.u.request;
        *u = (struct rrmp_request){ .id = 1,
                                    .flags = 0xe3,
                                    .priority_class = 4,
                                    .priority_count = 5,
                                    .handle = 6,
                                    .key_hash = 7,
                                    .resume_seq = 8,
                                    .key = text("KEY"),
                                    .message = text("MSG"),
                                    .position = { .count = 9, .kept = 8, .digest = { 10, 11 } } };
        begin(RRMP_REQUEST, 0);
        NUMBER(id), NUMBER(priority_class), NUMBER(priority_count), NUMBER(handle);
        NUMBER(key_hash), NUMBER(resume_seq), print_view("key", u->key);
        printf(" request_flags=%u count=%u kept=%u", u->flags, u->position.count, u->position.kept);
        printf(" digest_low=%u digest_high=%u", (unsigned)u->position.digest[0],
               (unsigned)u->position.digest[1]);
        print_view("message", u->message), end();
    }
    {
        struct rrmp_close *u = &record.u.close;
        *u = (struct rrmp_close){ 1, 2, 3, 2, text("KEY") };
        begin(RRMP_CLOSE, 4);
        NUMBER(id), NUMBER(handle), NUMBER(key_hash), NUMBER(reason);
        print_view("key", u->key), end();
    }
    struct rrmp_post *u = &record.u.post;
    *u = (struct rrmp_post){ 1, 2, 1, 4, text("KEY"), text("POST") };
    begin(RRMP_POST, 0);
    NUMBER(id), NUMBER(handle), NUMBER(key_hash), print_view("key", u->key);
    print_view("message", u->message), end();
}

static void questions(void)
{
    static const uint8_t rows[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

    {
        struct rrmp_gapquery *u = &record.u.gapquery;
        *u = (struct rrmp_gapquery){ 1, 2, 3 };
        begin(RRMP_GAPQUERY, 0);
        NUMBER(first), NUMBER(last), NUMBER(id), end();
    }
    {
        struct rrmp_audit *u = &record.u.audit;
        *u = (struct rrmp_audit){ 1, 2, 3, 2, rows };
        begin(RRMP_AUDIT, 0);
        NUMBER(id), NUMBER(from), NUMBER(to), NUMBER(count), end();
    }
    {
        struct rrmp_sum *u = &record.u.sum;
        *u = (struct rrmp_sum){ 1, 2, 0x0102030405060708 };
        begin(RRMP_SUM, 0);
        NUMBER(newest_id), NUMBER(count), NUMBER(key_xor), end();
    }
    {
        struct rrmp_listreq *u = &record.u.listreq;
        *u = (struct rrmp_listreq){ 1, 2 };
        begin(RRMP_LISTREQ, 0);
        NUMBER(id), NUMBER(from), end();
    }
    struct rrmp_dictreq *u = &record.u.dictreq;
    *u = (struct rrmp_dictreq){ 1, 2, text("RWFFld") };
    begin(RRMP_DICTREQ, 0);
    NUMBER(id), NUMBER(filter), print_view("name", u->name), end();
}

static void images(void)
{
    {
        struct rrmp_bind *u = &record.u.bind;
        *u = (struct rrmp_bind){ 1, 2, 3, 4, 5, 6, 7, 8, text("KEY") };
        begin(RRMP_BIND, 0);
        NUMBER(handle), NUMBER(item_seq), NUMBER(key_hash), NUMBER(group), NUMBER(state);
        NUMBER(code), NUMBER(tag), NUMBER(session), print_view("key", u->key), end();
    }
    struct rrmp_image *u = &record.u.image;
    *u = (struct rrmp_image){ 1, 2, 3, 4, 5, 6, 0, 0x27, 7, 8, text("KEY"), text("REFRESH") };
    begin(RRMP_IMAGE, 0);
    NUMBER(handle), NUMBER(item_seq), NUMBER(key_hash), NUMBER(group), NUMBER(state);
    NUMBER(code), NUMBER(part), NUMBER(request_id), NUMBER(tag), print_view("key", u->key);
    print_view("message", u->message), end();
}

static void ticks(void)
{
    static const uint8_t types[] = { RRMP_UPDATE, RRMP_STATUS, RRMP_STATUS, RRMP_GENERIC,
                                     RRMP_GENERICUP };

    for (int i = 0; i < 5; i++) {
        struct rrmp_tick *u = &record.u.tick;
        *u = (struct rrmp_tick){ 1, 2, 300, text("TICK") };
        begin(types[i], i == 2 ? RRMP_FLAG_GROUP : 0);
        NUMBER(handle), NUMBER(item_seq);
        if (i == 2)
            NUMBER(group);
        print_view("message", u->message), end();
    }
    struct rrmp_unbind *u = &record.u.unbind;
    *u = (struct rrmp_unbind){ 1, 2, 3 };
    begin(RRMP_UNBIND, 0);
    NUMBER(handle), NUMBER(item_seq), NUMBER(reason), end();
}

static void answers(void)
{
    static const uint8_t rows[24] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

    {
        struct rrmp_refuse *u = &record.u.refuse;
        *u = (struct rrmp_refuse){ 1, 2, 3, 2, 5, 6, text("no") };
        begin(RRMP_REFUSE, 0);
        NUMBER(request_id), NUMBER(state), NUMBER(code), NUMBER(scope), NUMBER(wait_ms);
        NUMBER(key_hash), print_view("text", u->text), end();
    }
    {
        struct rrmp_ack *u = &record.u.ack;
        *u = (struct rrmp_ack){ 1, text("ACK") };
        begin(RRMP_ACK, 0);
        NUMBER(post_id), print_view("message", u->message), end();
    }
    {
        struct rrmp_gapitems *u = &record.u.gapitems;
        *u = (struct rrmp_gapitems){ 1, 2, 3, 4, 2, rows };
        begin(RRMP_GAPITEMS, 0);
        NUMBER(id), NUMBER(first), NUMBER(last), NUMBER(count), end();
    }
    struct rrmp_auditdiff *u = &record.u.auditdiff;
    *u = (struct rrmp_auditdiff){ 1, 2, rows };
    begin(RRMP_AUDITDIFF, 0);
    NUMBER(id), NUMBER(count), end();
}

static void the_rest(void)
{
    static const uint8_t list_keys[] = { 0, 3, 'K', 'E', 'Y', 0, 1, 'X' };

    {
        struct rrmp_replay *u = &record.u.replay;
        *u = (struct rrmp_replay){ 1, 2, 3, 5, 4, 6, 7, text("UPD") };
        begin(RRMP_REPLAY, 0);
        NUMBER(handle), NUMBER(item_seq), NUMBER(tag), NUMBER(part), NUMBER(request_id);
        NUMBER(key_hash), print_view("message", u->message), end();
    }
    {
        struct rrmp_listpart *u = &record.u.listpart;
        *u = (struct rrmp_listpart){ 1, 2, 2, { list_keys, sizeof(list_keys) } };
        begin(RRMP_LISTPART, 0);
        NUMBER(id), NUMBER(next), NUMBER(count), end();
    }
    struct rrmp_dictpart *u = &record.u.dictpart;
    *u = (struct rrmp_dictpart){ 1, 2, 1, text("RWFFld"), text("4.20"), text("REFRESH") };
    begin(RRMP_DICTPART, 0);
    NUMBER(request_id), NUMBER(part), print_view("name", u->name);
    print_view("version", u->version), print_view("message", u->message), end();
}

static void keys(void)
{
    for (unsigned i = 0; i < 8; i++) {
        struct rrmp_key key = { .domain = 6,
                                .members = (uint8_t)(RRMP_KEY_NAME | (i & 7) << 3),
                                .name_type = 2,
                                .qos = { 1, 2, 3, 4 },
                                .name = text("IBM.N"),
                                .filter = 5,
                                .identifier = 6,
                                .attributes_type = 7,
                                .attributes = text("attr") };
        struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

        rrmp_key_encode(&wr, &key);
        printf("key ");
        print_hex(bytes, md_wr_length(&wr));
        printf(" domain=6 members=%u name_type=2 qos=18 time_info=3 rate_info=4", key.members);
        print_view("name", key.name);
        printf("%s%s", i & 1 ? " filter=5" : "", i & 2 ? " identifier=6" : "");
        if (i & 4) {
            printf(" attributes_type=7");
            print_view("attributes", key.attributes);
        }
        printf("\n");
    }
}

int main(void)
{
    prng = md_prng_init(4711);
    instance_and_service();
    states();
    requests();
    questions();
    images();
    ticks();
    answers();
    the_rest();
    keys();
    return 0;
}
