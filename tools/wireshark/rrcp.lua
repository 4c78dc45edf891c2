-- rrcp.lua - Wireshark dissector for RRCP, the reliable multicast of the backbone: all ten packet types.
-- SPDX-License-Identifier: Apache-2.0
--
--   wireshark -X lua_script:tools/wireshark/rrcp.lua capture.pcap
--   tshark -X lua_script:tools/wireshark/rrcp.lua -r capture.pcap -Y 'rmds_rrcp.type == 5 || rmds_rrcp.retrans == 1'
--
-- UDP packets, and batches of them in one datagram, are known by magic, version and length, on any port; "Decode
-- As", or -d udp.port==PORT,rmds_rrcp, takes all of a port. Name your networks in the preferences (rmds_rrcp.networks, separated by blanks) to see names
-- instead of numbers. Tags are shown, not verified. Of the RRMP record in a message its type, service and number are
-- shown. Filters begin with rmds_rrcp: Wireshark knows another protocol that is called RRCP.

local rrcp = Proto("rmds_rrcp", "RRCP reliable multicast")

local HEADER, TRAILER, MAGIC = 24, 24, 0x5252
local types = { [1] = "DATA", [2] = "UDATA", [3] = "UACK", [4] = "BEACON", [5] = "NAK", [6] = "NCF", [7] = "BYE",
                [8] = "SOLICIT", [9] = "STATUS", [10] = "HSM", [11] = "SKIP" }
local least = { 40, 52, 56, 64, 44, 40, 33, 148, 68, 26, 48 }
local reasons = { [1] = "repair is coming", [2] = "not held", [3] = "busy" }
local records = { [1] = "INSTANCE", [2] = "SERVICE", [3] = "SVCSTATE", [4] = "GROUP", [5] = "QUERY", [16] = "REQUEST",
                  [17] = "CLOSE", [18] = "POST", [19] = "GENERICUP", [20] = "GAPQUERY", [21] = "AUDIT", [22] = "SUM",
                  [23] = "DICTREQ", [24] = "LISTREQ", [32] = "BIND", [33] = "IMAGE", [34] = "UPDATE", [35] = "STATUS", [36] = "GENERIC",
                  [37] = "UNBIND", [38] = "REFUSE", [39] = "ACK", [40] = "GAPITEMS", [41] = "AUDITDIFF",
                  [42] = "REPLAY", [43] = "DICTPART", [44] = "LISTPART" }
local tlvs = { [1] = "software version", [2] = "address of the second path", [3] = "longest message", [4] = "padding",
               [5] = "echo" }

local f = {
    magic = ProtoField.uint16("rmds_rrcp.magic", "Magic", base.HEX),
    version = ProtoField.uint8("rmds_rrcp.version", "Version", base.HEX),
    type = ProtoField.uint8("rmds_rrcp.type", "Type", base.DEC, types),
    flags = ProtoField.uint8("rmds_rrcp.flags", "Flags", base.HEX),
    retrans = ProtoField.bool("rmds_rrcp.retrans", "Sent again", 8, nil, 0x01),
    auth = ProtoField.bool("rmds_rrcp.auth", "Authenticated", 8, nil, 0x02),
    path = ProtoField.uint8("rmds_rrcp.path", "Path"),
    length = ProtoField.uint16("rmds_rrcp.length", "Length"),
    session = ProtoField.uint64("rmds_rrcp.session", "Session", base.HEX),
    network = ProtoField.uint32("rmds_rrcp.network", "Network", base.HEX),
    network_name = ProtoField.string("rmds_rrcp.network.name", "Network name"),
    clock = ProtoField.uint32("rmds_rrcp.clock", "Sender's clock (us)"),
    seq = ProtoField.uint64("rmds_rrcp.seq", "Sequence number"),
    held = ProtoField.uint32("rmds_rrcp.held", "Packets before it still held"),
    trail = ProtoField.uint64("rmds_rrcp.trail", "Lowest sequence number held"),
    incarnation = ProtoField.uint16("rmds_rrcp.incarnation", "Incarnation of the stream"),
    next = ProtoField.uint64("rmds_rrcp.next", "Next sequence number"),
    ack = ProtoField.uint64("rmds_rrcp.ack", "Received up to"),
    bitmap = ProtoField.uint64("rmds_rrcp.bitmap", "Received beyond", base.HEX),
    window = ProtoField.uint16("rmds_rrcp.window", "Free window"),
    reset = ProtoField.bool("rmds_rrcp.reset", "The stream is begun anew", 16, nil, 0x0001),
    chunks = ProtoField.uint16("rmds_rrcp.chunks", "Chunks"),
    first = ProtoField.uint16("rmds_rrcp.first_begin", "First chunk that begins a message, at"),
    target = ProtoField.uint64("rmds_rrcp.target", "Target session", base.HEX),
    echo = ProtoField.uint32("rmds_rrcp.echo", "Clock echoed (us)"),
    delay = ProtoField.uint32("rmds_rrcp.delay", "Held before the echo (us)"),
    start = ProtoField.absolute_time("rmds_rrcp.start", "Started"),
    beacon = ProtoField.uint32("rmds_rrcp.beacon", "Beacon number"),
    port = ProtoField.uint16("rmds_rrcp.port", "Unicast port"),
    state = ProtoField.uint16("rmds_rrcp.state", "State", base.HEX),
    over = ProtoField.bool("rmds_rrcp.state.over", "Over the high-water mark", 16, nil, 0x0001),
    leaving = ProtoField.bool("rmds_rrcp.state.leaving", "Leaving", 16, nil, 0x0002),
    nodata = ProtoField.bool("rmds_rrcp.state.no_data", "Has sent no data yet", 16, nil, 0x0004),
    flow = ProtoField.bool("rmds_rrcp.state.flow", "Waits for its slowest receiver", 16, nil, 0x0008),
    hold = ProtoField.uint32("rmds_rrcp.hold", "Holds packets for (ms)"),
    interval = ProtoField.uint16("rmds_rrcp.interval", "Next beacon within (ms)"),
    name = ProtoField.string("rmds_rrcp.name", "Node"),
    nonce = ProtoField.uint64("rmds_rrcp.nonce", "Nonce", base.HEX),
    tlv = ProtoField.string("rmds_rrcp.tlv", "Option"),
    attempt = ProtoField.uint16("rmds_rrcp.attempt", "Attempt"),
    range = ProtoField.string("rmds_rrcp.range", "Packets"),
    lost = ProtoField.uint32("rmds_rrcp.lost", "Lost"),
    repaired = ProtoField.uint32("rmds_rrcp.repaired", "Repaired"),
    pool = ProtoField.uint16("rmds_rrcp.pool", "Pool (%)"),
    highest = ProtoField.uint64("rmds_rrcp.highest", "Highest seen"),
    reason = ProtoField.uint8("rmds_rrcp.reason", "Reason", base.DEC),
    ncf = ProtoField.uint8("rmds_rrcp.ncf", "Reason", base.DEC, reasons),
    wait = ProtoField.uint16("rmds_rrcp.wait", "Wait (ms)"),
    value = ProtoField.string("rmds_rrcp.value", "Value"),
    chunk = ProtoField.none("rmds_rrcp.chunk", "Chunk"),
    size = ProtoField.uint16("rmds_rrcp.chunk.length", "Payload length"),
    cflags = ProtoField.uint8("rmds_rrcp.chunk.flags", "Chunk flags", base.HEX),
    begin = ProtoField.bool("rmds_rrcp.chunk.begin", "Begins a message", 8, nil, 0x80),
    ends = ProtoField.bool("rmds_rrcp.chunk.end", "Ends a message", 8, nil, 0x40),
    same = ProtoField.bool("rmds_rrcp.chunk.same", "Topic and ports as before", 8, nil, 0x20),
    directed = ProtoField.bool("rmds_rrcp.chunk.directed", "For one node", 8, nil, 0x10),
    topic = ProtoField.uint32("rmds_rrcp.chunk.topic", "Topic"),
    from = ProtoField.uint16("rmds_rrcp.chunk.from", "Source port"),
    to = ProtoField.uint16("rmds_rrcp.chunk.to", "Destination port"),
    destination = ProtoField.uint64("rmds_rrcp.chunk.destination", "Destination session", base.HEX),
    total = ProtoField.uint32("rmds_rrcp.chunk.total", "Length of the whole message"),
    payload = ProtoField.bytes("rmds_rrcp.chunk.payload", "Payload"),
    record = ProtoField.uint8("rmds_rrcp.rrmp.type", "RRMP record", base.DEC, records),
    service = ProtoField.uint16("rmds_rrcp.rrmp.svc", "Service index of the instance"),
    svcseq = ProtoField.uint32("rmds_rrcp.rrmp.seq", "Number in the service"),
    key = ProtoField.uint8("rmds_rrcp.key", "Key id"),
    algorithm = ProtoField.uint8("rmds_rrcp.algorithm", "Algorithm"),
    counter = ProtoField.uint64("rmds_rrcp.counter", "Counter"),
    tag = ProtoField.bytes("rmds_rrcp.tag", "Tag"),
}
for _, field in pairs(f) do
    table.insert(rrcp.fields, field)
end

local broken = ProtoExpert.new("rmds_rrcp.broken", "Lengths in the packet do not fit", expert.group.MALFORMED,
                               expert.severity.ERROR)
local version = ProtoExpert.new("rmds_rrcp.unknown", "Another version or type", expert.group.PROTOCOL, expert.severity.WARN)
local again = ProtoExpert.new("rmds_rrcp.repair", "A packet sent again", expert.group.SEQUENCE, expert.severity.NOTE)
local asked = ProtoExpert.new("rmds_rrcp.request", "A receiver misses packets", expert.group.SEQUENCE, expert.severity.NOTE)
rrcp.experts = { broken, version, again, asked }
rrcp.prefs.networks = Pref.string("Network names", "net1", "Names of networks, separated by blanks")

-- FNV-1a-32, as the packets carry the name. The product is made in halves: numbers here have 53 bits.
local function hash(name)
    local h = 2166136261
    for i = 1, #name do
        h = bit.bxor(h, name:byte(i)) % 4294967296
        local low, high = h % 65536, math.floor(h / 65536)
        h = (low * 16777619 + (high * 16777619 % 65536) * 65536) % 4294967296
    end
    return h
end

local function network_name(id)
    for name in rrcp.prefs.networks:gmatch("%S+") do
        if hash(name) == id then
            return name
        end
    end
end

local function ranges(buf, at, count, base_number, tree)
    local texts = {}
    for i = 0, count - 1 do
        if at + 8 * i + 8 > buf:len() then
            tree:add_proto_expert_info(broken)
            break
        end
        local first = base_number + buf(at + 8 * i, 4):uint()
        local n = buf(at + 8 * i + 4, 4):uint()
        texts[#texts + 1] = n == 1 and tostring(first) or string.format("%s..%s", tostring(first), tostring(first + (n - 1)))
        tree:add(f.range, buf(at + 8 * i, 8), texts[#texts])
    end
    return table.concat(texts, " ")
end

-- The head of an RRMP record, if it is one: other programs may use the network, too.
local function record(buf, node)
    if buf:len() < 8 or not records[buf(0, 1):uint()] or bit.rshift(buf(1, 1):uint(), 4) ~= 1 then
        return
    end
    node:append_text(", " .. records[buf(0, 1):uint()])
    node:add(f.record, buf(0, 1))
    node:add(f.service, buf(2, 2))
    node:add(f.svcseq, buf(4, 4))
end

-- The chunks up to the end.
local function chunks(buf, at, count, tree)
    for i = 1, count do
        if at + 4 > buf:len() then
            tree:add_proto_expert_info(broken)
            return
        end
        local n, flags, head = buf(at, 2):uint(), buf(at + 2, 1):uint(), 4
        local function has(mask)
            return bit.band(flags, mask) ~= 0
        end
        head = head + (has(0x20) and 0 or 8) + (has(0x10) and 8 or 0) + ((has(0x80) and not has(0x40)) and 4 or 0)
        if at + head + n > buf:len() then
            tree:add_proto_expert_info(broken)
            return
        end
        local node = tree:add(f.chunk, buf(at, head + n))
        node:set_text(string.format("Chunk %d: %d bytes", i, n))
        node:add(f.size, buf(at, 2))
        local bits = node:add(f.cflags, buf(at + 2, 1))
        for _, name in ipairs({ "begin", "ends", "same", "directed" }) do
            bits:add(f[name], buf(at + 2, 1))
        end
        at = at + 4
        if not has(0x20) then
            node:add(f.topic, buf(at, 4))
            node:add(f.from, buf(at + 4, 2))
            node:add(f.to, buf(at + 6, 2))
            at = at + 8
        end
        if has(0x10) then
            node:add(f.destination, buf(at, 8))
            at = at + 8
        end
        if has(0x80) and not has(0x40) then
            node:add(f.total, buf(at, 4))
            at = at + 4
        end
        if n > 0 then
            node:add(f.payload, buf(at, n))
            if has(0x80) then
                record(buf(at, n):tvb(), node)
            end
        end
        at = at + n
    end
    if at ~= buf:len() then
        tree:add_proto_expert_info(broken)
    end
end

-- The lower 48 bits count, the upper ones say which life of the stream it is.
local function unicast_seq(buf, at, field, tree)
    tree:add(f.incarnation, buf(at, 2))
    tree:add(field, buf(at + 2, 6), buf(at + 2, 6):uint64())
    return tostring(buf(at + 2, 6):uint64())
end

local body = {}

function body.DATA(buf, tree)
    local seq, held, count = buf(24, 8):uint64(), buf(32, 4):uint(), buf(36, 2):uint()
    tree:add(f.seq, buf(24, 8))
    tree:add(f.held, buf(32, 4))
    tree:add(f.trail, buf(24, 12), seq - held):set_generated()
    tree:add(f.chunks, buf(36, 2))
    tree:add(f.first, buf(38, 2))
    chunks(buf, 40, count, tree)
    return string.format("seq %s, %d chunk%s", tostring(seq), count, count == 1 and "" or "s")
end

function body.UDATA(buf, tree)
    local seq, count = unicast_seq(buf, 24, f.seq, tree), buf(48, 2):uint()
    tree:add(f.target, buf(32, 8))
    tree:add(f.ack, buf(40, 8))
    tree:add(f.chunks, buf(48, 2))
    tree:add(f.first, buf(50, 2))
    chunks(buf, 52, count, tree)
    return string.format("seq %s to %s, %d chunk%s", seq, tostring(buf(32, 8):uint64():tohex()), count,
                         count == 1 and "" or "s")
end

function body.UACK(buf, tree)
    tree:add(f.target, buf(24, 8))
    local next = unicast_seq(buf, 32, f.next, tree)
    tree:add(f.bitmap, buf(40, 8))
    tree:add(f.echo, buf(48, 4))
    tree:add(f.window, buf(52, 2))
    tree:add(f.reset, buf(54, 2))
    return "next " .. next .. (buf(54, 2):uint() % 2 == 1 and ", reset" or "")
end

function body.BEACON(buf, tree)
    tree:add(f.next, buf(24, 8))
    tree:add(f.trail, buf(32, 8))
    local ms = buf(40, 8):uint64():tonumber()
    tree:add(f.start, buf(40, 8), NSTime.new(math.floor(ms / 1000), ms % 1000 * 1000000))
    tree:add(f.beacon, buf(48, 4))
    tree:add(f.port, buf(52, 2))
    local state = tree:add(f.state, buf(54, 2))
    for _, name in ipairs({ "over", "leaving", "nodata", "flow" }) do
        state:add(f[name], buf(54, 2))
    end
    tree:add(f.hold, buf(56, 4))
    tree:add(f.interval, buf(60, 2))
    local n, at = buf(62, 1):uint(), 64
    if at + n > buf:len() then
        tree:add_proto_expert_info(broken)
        return "broken"
    end
    local name = n > 0 and buf(at, n):string() or ""
    if n > 0 then
        tree:add(f.name, buf(at, n))
    end
    at = at + math.floor((n + 3) / 4) * 4
    for _ = 1, buf(63, 1):uint() do
        if at + 2 > buf:len() or at + 2 + buf(at + 1, 1):uint() > buf:len() then
            tree:add_proto_expert_info(broken)
            break
        end
        local size = buf(at + 1, 1):uint()
        tree:add(f.tlv, buf(at, 2 + size), string.format("%s, %d bytes", tlvs[buf(at, 1):uint()] or "unknown", size))
        at = at + 2 + size
    end
    return string.format("%s, next %s, holds from %s", name, tostring(buf(24, 8):uint64()), tostring(buf(32, 8):uint64()))
end

function body.NAK(buf, tree)
    tree:add(f.target, buf(24, 8))
    tree:add(f.attempt, buf(42, 2))
    tree:add_proto_expert_info(asked)
    return string.format("to %s, attempt %d: %s", tostring(buf(24, 8):uint64():tohex()), buf(42, 2):uint(),
                         ranges(buf, 44, buf(40, 2):uint(), buf(32, 8):uint64(), tree))
end

function body.NCF(buf, tree)
    tree:add(f.ncf, buf(34, 1))
    tree:add(f.wait, buf(36, 2))
    return (reasons[buf(34, 1):uint()] or "?") .. ": " .. ranges(buf, 40, buf(32, 2):uint(), buf(24, 8):uint64(), tree)
end

function body.BYE(buf, tree)
    tree:add(f.next, buf(24, 8))
    tree:add(f.reason, buf(32, 1))
    return "next " .. tostring(buf(24, 8):uint64())
end

function body.SOLICIT(buf, tree)
    tree:add(f.target, buf(24, 8))
    tree:add(f.nonce, buf(32, 8))
    return "of " .. buf(24, 8):uint64():tohex()
end

function body.STATUS(buf, tree)
    tree:add(f.target, buf(24, 8))
    tree:add(f.next, buf(32, 8))
    tree:add(f.highest, buf(40, 8))
    tree:add(f.lost, buf(48, 4))
    tree:add(f.repaired, buf(52, 4))
    tree:add(f.echo, buf(56, 4))
    tree:add(f.delay, buf(60, 4))
    tree:add(f.pool, buf(64, 2))
    return string.format("next %s, highest %s, lost %d, repaired %d", tostring(buf(32, 8):uint64()),
                         tostring(buf(40, 8):uint64()), buf(48, 4):uint(), buf(52, 4):uint())
end

function body.SKIP(buf, tree)
    tree:add(f.target, buf(24, 8))
    return "to " .. buf(24, 8):uint64():tohex() .. ": " ..
           ranges(buf, 48, buf(44, 2):uint(), buf(32, 8):uint64(), tree)
end

function body.HSM(buf, tree)
    local count = buf(24, 2):uint()
    for i = 0, count - 1 do
        local at = 26 + 10 * i
        if at + 10 > buf:len() then
            tree:add_proto_expert_info(broken)
            break
        end
        tree:add(f.value, buf(at, 10), string.format("%d = %s", buf(at, 2):uint(), tostring(buf(at + 2, 8):uint64())))
    end
    return count .. " values"
end

local function head(buf, tree)
    tree:add(f.magic, buf(0, 2))
    tree:add(f.version, buf(2, 1))
    tree:add(f.type, buf(3, 1))
    local flags = tree:add(f.flags, buf(4, 1))
    flags:add(f.retrans, buf(4, 1))
    flags:add(f.auth, buf(4, 1))
    tree:add(f.path, buf(5, 1))
    tree:add(f.length, buf(6, 2))
    tree:add(f.session, buf(8, 8))
    tree:add(f.network, buf(16, 4))
    local name = network_name(buf(16, 4):uint())
    if name then
        tree:add(f.network_name, buf(16, 4), name):set_generated()
    end
    tree:add(f.clock, buf(20, 4))
end

local function trailer(buf, at, tree)
    tree:add(f.key, buf(at, 1))
    tree:add(f.algorithm, buf(at + 1, 1))
    tree:add(f.counter, buf(at + 2, 6), buf(at + 2, 6):uint64())
    tree:add(f.tag, buf(at + 8, 16))
end

local function packet(tvb, root)
    local tree = root:add(rrcp, tvb())
    if tvb:len() < HEADER or tvb(6, 2):uint() ~= tvb:len() then
        tree:add_proto_expert_info(broken)
        return "broken"
    end
    head(tvb, tree)
    local kind = tvb(3, 1):uint()
    local has_tag = bit.band(tvb(4, 1):uint(), 2) ~= 0
    local length = tvb:len() - (has_tag and TRAILER or 0)
    local name = types[kind]
    local text
    if not name or bit.rshift(tvb(2, 1):uint(), 4) ~= 1 then
        tree:add_proto_expert_info(version)
        text = string.format("type %d", kind)
    elseif length < least[kind] then
        tree:add_proto_expert_info(broken)
        text = name .. " broken"
    elseif bit.band(tvb(4, 1):uint(), 4) ~= 0 then
        text = name .. " encrypted"
    else
        text = name .. " " .. body[name](tvb(0, length):tvb(), tree)
    end
    if has_tag and length >= HEADER then
        trailer(tvb, length, tree)
    end
    if bit.band(tvb(4, 1):uint(), 1) ~= 0 then
        tree:add_proto_expert_info(again)
        text = text .. ", sent again"
    end
    tree:append_text(", " .. text)
    return text
end

-- Where segmentation is left to the device, a capture of this host has a batch of packets as one datagram. What is
-- behind a packet and does not begin as one belongs to it: its length is wrong.
local function end_of(tvb, at)
    local after = at + (tvb:len() - at >= HEADER and tvb(at + 6, 2):uint() or 0)
    if after < at + HEADER or after + 2 > tvb:len() or tvb(after, 2):uint() ~= MAGIC then
        return tvb:len()
    end
    return after
end

function rrcp.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "RRCP"
    local at, texts = 0, {}
    while at < tvb:len() do
        local after = end_of(tvb, at)
        texts[#texts + 1] = packet(tvb(at, after - at):tvb(), root)
        at = after
    end
    pinfo.cols.info = table.concat(texts, "; ", 1, math.min(#texts, 8))
        .. (#texts > 8 and string.format("; +%d", #texts - 8) or "")
    return tvb:len()
end

-- Packets from end to end.
local function heuristic(tvb, pinfo, root)
    local at = 0
    while at < tvb:len() do
        if tvb:len() - at < HEADER or tvb(at, 2):uint() ~= MAGIC or bit.rshift(tvb(at + 2, 1):uint(), 4) ~= 1 or
            tvb(at + 6, 2):uint() < HEADER or tvb(at + 6, 2):uint() > tvb:len() - at then
            return false
        end
        at = at + tvb(at + 6, 2):uint()
    end
    if at == 0 then
        return false
    end
    rrcp.dissector(tvb, pinfo, root)
    return true
end

rrcp:register_heuristic("udp", heuristic)
DissectorTable.get("udp.port"):add_for_decode_as(rrcp)
