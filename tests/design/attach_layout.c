/* attach_layout.c - the structs in shared memory as the compiler lays them out: name offset size.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "attach/shm.h"

#define FIELD(type, field)                                                                         \
    printf(#type " " #field " %zu %zu\n", offsetof(struct type, field),                            \
           sizeof(((struct type *)0)->field))

static void print_socket(void)
{
    FIELD(attach_request, magic);
    FIELD(attach_request, version);
    FIELD(attach_request, kind);
    FIELD(attach_request, flags);
    FIELD(attach_request, outbound_bytes);
    FIELD(attach_request, zero);
    FIELD(attach_request, name);
    FIELD(attach_reply, magic);
    FIELD(attach_reply, version);
    FIELD(attach_reply, result);
    FIELD(attach_reply, port);
    FIELD(attach_reply, zero);
    FIELD(attach_reply, session);
    FIELD(attach_reply, inbound_bytes);
    FIELD(attach_reply, outbound_bytes);
    FIELD(attach_reply, flags);
    FIELD(attach_reply, why);
}

static void print_inbound(void)
{
    FIELD(attach_inbound_map, magic);
    FIELD(attach_inbound_map, version);
    FIELD(attach_inbound_map, data_offset);
    FIELD(attach_inbound_map, size);
    FIELD(attach_inbound_map, lag_max);
    FIELD(attach_inbound_map, session);
    FIELD(attach_inbound_map, message_max);
    FIELD(attach_inbound_map, claimed);
    FIELD(attach_inbound_map, written);
    FIELD(attach_inbound_map, table_version);
    FIELD(attach_inbound_map, table_position);
    FIELD(attach_inbound_map, table_count);
    FIELD(attach_inbound_map, rows);
    FIELD(attach_session_row, session);
    FIELD(attach_session_row, last_seq);
    FIELD(attach_session_row, messages);
    FIELD(attach_session_row, is_self);
    FIELD(attach_session_row, name_length);
    FIELD(attach_session_row, name);
    FIELD(attach_record, length);
    FIELD(attach_record, type);
    FIELD(attach_record, flags);
    FIELD(attach_record, session);
    FIELD(attach_record, seq);
    FIELD(attach_record, topic);
    FIELD(attach_record, src_port);
    FIELD(attach_record, dst_port);
    FIELD(attach_record, rx_ns);
    FIELD(attach_record_gap, first);
    FIELD(attach_record_gap, last);
    FIELD(attach_record_gap, count);
    FIELD(attach_record_gap, reason);
    FIELD(attach_record_gap, zero);
}

static void print_outbound(void)
{
    FIELD(attach_outbound_map, magic);
    FIELD(attach_outbound_map, size);
    FIELD(attach_outbound_map, head);
    FIELD(attach_outbound_map, tail);
    FIELD(attach_outbound_map, daemon_sleeps);
    FIELD(attach_outbound_map, reader_sleeps);
    FIELD(attach_outbound_map, producer_waits);
    FIELD(attach_outbound_map, cursor);
    FIELD(attach_outbound_record, length);
    FIELD(attach_outbound_record, type);
    FIELD(attach_outbound_record, flags);
    FIELD(attach_outbound_record, dst_session);
    FIELD(attach_outbound_record, topic);
    FIELD(attach_outbound_record, dst_port);
    FIELD(attach_outbound_record, zero);
}

int main(void)
{
    print_socket();
    print_inbound();
    print_outbound();
    return 0;
}
