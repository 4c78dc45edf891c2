-- rssl.lua - Wireshark dissector for RSSL framing: handshake, frames, packing, fragments, pings.
-- SPDX-License-Identifier: Apache-2.0
--
--   wireshark -X lua_script:tools/wireshark/rssl.lua capture.pcap
--   tshark -X lua_script:tools/wireshark/rssl.lua -r capture.pcap -Y rssl -T fields -e rssl.kind
--
-- Ports 14002 and 14003 are taken for RSSL, and on any port what begins with a connection request; other
-- connections, whose beginning was not captured, with "Decode As", or -d tcp.port==PORT,rssl. Compressed payloads are shown as they are: the zlib stream runs through a
-- whole connection. The header of each message (class, domain, stream id) is shown; rwfdump shows the rest.

local rssl = Proto("rssl", "RSSL transport")

local compressions = { [0] = "none", [1] = "zlib", [2] = "LZ4" }
local versions = { [0x13] = "RIPC10", [0x14] = "RIPC11", [0x15] = "RIPC12", [0x16] = "RIPC13", [0x17] = "RIPC14" }
local classes = { [1] = "request", [2] = "refresh", [3] = "status", [4] = "update", [5] = "close", [6] = "ack",
                  [7] = "generic", [8] = "post" }
local domains = { [1] = "login", [4] = "source", [5] = "dictionary", [6] = "market price", [7] = "market by order",
                  [8] = "market by price", [9] = "market maker", [10] = "symbol list" }

local f = {
    length = ProtoField.uint16("rssl.length", "Length"),
    kind = ProtoField.string("rssl.kind", "Kind"),
    flags = ProtoField.uint8("rssl.flags", "Flags", base.HEX),
    ext = ProtoField.bool("rssl.flags.ext", "Extended flags follow", 8, nil, 0x01),
    data = ProtoField.bool("rssl.flags.data", "Uncompressed", 8, nil, 0x02),
    comp = ProtoField.bool("rssl.flags.comp", "Compressed", 8, nil, 0x04),
    split = ProtoField.bool("rssl.flags.split", "Goes on in the next compressed frame", 8, nil, 0x08),
    packed = ProtoField.bool("rssl.flags.packed", "Packed", 8, nil, 0x10),
    extflags = ProtoField.uint8("rssl.extflags", "Extended flags", base.HEX),
    total = ProtoField.uint32("rssl.fragment.total", "Length of the whole message"),
    fragment = ProtoField.uint16("rssl.fragment.id", "Fragment id"),
    payload = ProtoField.bytes("rssl.payload", "Payload"),
    version = ProtoField.uint32("rssl.version", "Connection version", base.HEX, versions),
    protocol = ProtoField.uint32("rssl.protocol", "Protocol version"),
    compression = ProtoField.uint16("rssl.compression", "Compression", base.DEC, compressions),
    offered = ProtoField.uint8("rssl.offered", "Compressions offered", base.HEX),
    ping = ProtoField.uint8("rssl.ping_timeout", "Ping timeout (s)"),
    size = ProtoField.uint16("rssl.max_user_msg_size", "Largest unfragmented message"),
    session = ProtoField.uint8("rssl.session", "Session flags", base.HEX),
    rwf = ProtoField.string("rssl.rwf", "RWF version"),
    host = ProtoField.string("rssl.host", "Host"),
    address = ProtoField.string("rssl.address", "Address"),
    component = ProtoField.string("rssl.component", "Component"),
    text = ProtoField.string("rssl.text", "Text"),
    msglength = ProtoField.uint16("rssl.msg.length", "Message length"),
    class = ProtoField.uint8("rssl.msg.class", "Class", base.DEC, classes),
    domain = ProtoField.uint8("rssl.msg.domain", "Domain", base.DEC, domains),
    stream = ProtoField.int32("rssl.msg.stream", "Stream id"),
}
for _, field in pairs(f) do
    table.insert(rssl.fields, field)
end

local bad_packing = ProtoExpert.new("rssl.bad_packing", "A packed length runs over the end of its frame",
                                    expert.group.MALFORMED, expert.severity.ERROR)
rssl.experts = { bad_packing }

-- What the handshake of a connection agreed on, by TCP stream; filled in the first pass.
local connections = {}
local tcp_stream = Field.new("tcp.stream")

function rssl.init()
    connections = {}
end

local function connection()
    local id = tcp_stream().value
    connections[id] = connections[id] or { id_size = 2 }
    return connections[id]
end

-- The start of a message: u16 header length, class in 5 bits, domain, stream id.
local function message(buf, tree, info)
    if buf:len() < 8 then
        return
    end
    local class = bit.band(buf(2, 1):uint(), 0x1f)
    local node = tree:add(rssl, buf, string.format("Message: %s, stream %d", classes[class] or class,
                                                   buf(4, 4):int()))
    node:add(f.class, buf(2, 1), class)
    node:add(f.domain, buf(3, 1))
    node:add(f.stream, buf(4, 4))
    info[#info + 1] = string.format("%s[%d]", classes[class] or class, buf(4, 4):int())
end

local function text_at(buf, at)
    local n = buf(at, 1):uint()
    return buf(at, n + 1), n > 0 and buf(at + 1, n):string() or "", at + 1 + n
end

local function request(buf, tree)
    local version = buf(3, 4):uint()
    tree:add(f.version, buf(3, 4))
    connection().id_size = version >= 0x16 and 2 or 1
    local b = buf(9, 1):uint()
    if b > 0 then
        tree:add(f.offered, buf(10, 1))
    end
    local at = 10 + b
    tree:add(f.ping, buf(at, 1))
    at = at + (version >= 0x15 and 3 or 2)
    tree:add(f.rwf, buf(at, 2), string.format("%d.%d", buf(at, 1):uint(), buf(at + 1, 1):uint()))
    local range, text
    range, text, at = text_at(buf, at + 2)
    tree:add(f.host, range, text)
    range, text, at = text_at(buf, at)
    tree:add(f.address, range, text)
    if version >= 0x16 and at + 1 < buf:len() then
        range, text = text_at(buf, at + 1)
        tree:add(f.component, range, text)
    end
    return "request " .. (versions[version] or "?")
end

local function ack(buf, tree)
    local protocol = buf(6, 4):uint()
    tree:add(f.protocol, buf(6, 4))
    tree:add(f.size, buf(10, 2))
    tree:add(f.session, buf(12, 1))
    tree:add(f.ping, buf(13, 1))
    tree:add(f.rwf, buf(14, 2), string.format("%d.%d", buf(14, 1):uint(), buf(15, 1):uint()))
    tree:add(f.compression, buf(16, 2))
    connection().id_size = protocol >= 8 and 2 or 1
    local at = 19
    if buf:len() > at + 2 and protocol >= 9 and buf(at, 1):uint() == 8 then
        at = at + 3 + buf(at + 2, 1):uint()
    end
    if protocol >= 8 and at + 1 < buf:len() then
        local range, text = text_at(buf, at + 1)
        tree:add(f.component, range, text)
    end
    return "ack, " .. (compressions[buf(16, 2):uint()] or "?")
end

local function packed(buf, tree, info)
    local at = 0
    while at + 2 <= buf:len() do
        local n = buf(at, 2):uint()
        if n == 0 then
            return
        end
        if at + 2 + n > buf:len() then
            tree:add_proto_expert_info(bad_packing)
            return
        end
        tree:add(f.msglength, buf(at, 2))
        message(buf(at + 2, n):tvb(), tree, info)
        at = at + 2 + n
    end
end

local function frame(buf, tree, info)
    local flags = buf(2, 1):uint()
    local at = 3
    local node = tree:add(f.flags, buf(2, 1))
    for _, name in ipairs({ "ext", "data", "comp", "split", "packed" }) do
        node:add(f[name], buf(2, 1))
    end
    local extended = 0
    if bit.band(flags, 1) ~= 0 and buf:len() > 3 then
        extended = buf(3, 1):uint()
        tree:add(f.extflags, buf(3, 1))
        at = 4
    end
    local kind = bit.band(flags, 0x10) ~= 0 and "packed" or "message"
    if bit.band(extended, 0x0c) ~= 0 then
        kind = bit.band(extended, 8) ~= 0 and "first fragment" or "fragment"
        if bit.band(extended, 8) ~= 0 then
            tree:add(f.total, buf(at, 4))
            at = at + 4
        end
        local size = connection().id_size
        tree:add(f.fragment, buf(at, size))
        at = at + size
    end
    local compressed = bit.band(flags, 4) ~= 0
    if at < buf:len() then
        local payload = buf(at)
        tree:add(f.payload, payload)
        if not compressed and kind == "packed" then
            packed(payload:tvb(), tree, info)
        elseif not compressed and kind ~= "fragment" then
            message(payload:tvb(), tree, info)
        end
    end
    return compressed and kind .. ", compressed" or kind
end

local function is_request(buf)
    return buf:len() >= 12 and buf(2, 1):uint() <= 1 and buf(3, 3):uint() == 0 and versions[buf(6, 1):uint()]
        and buf(8, 1):uint() <= buf:len() and buf(9, 1):uint() <= 2
end

local function one(tvb, pinfo, root)
    local buf = tvb
    local tree = root:add(rssl, buf(), "RSSL")
    tree:add(f.length, buf(0, 2))
    local info = {}
    local kind
    if buf:len() == 3 then
        kind = "ping"
    elseif is_request(buf) then
        kind = request(buf, tree)
    elseif buf:len() >= 19 and bit.band(buf(2, 1):uint(), 1) ~= 0 and buf(3, 1):uint() == 1 and buf(4, 2):uint() == 0x0a00 then
        kind = ack(buf, tree)
    elseif buf:len() >= 8 and buf(2, 2):uint() == 0x0102 and buf(4, 2):uint() == 0x0800 then
        kind = "nak"
        tree:add(f.text, buf(8), buf(8):stringz())
    elseif buf(2, 1):uint() == 8 then
        kind = "key"
    else
        kind = frame(buf, tree, info)
    end
    tree:add(f.kind, buf(0, 0), kind):set_generated()
    tree:append_text(", " .. kind)
    pinfo.cols.protocol = "RSSL"
    local line = kind .. (#info > 0 and " " .. table.concat(info, " ", 1, math.min(#info, 8)) or "")
        .. (#info > 8 and string.format(" +%d", #info - 8) or "")
    pinfo.cols.info:append((pinfo.private.rssl_seen and "; " or "") .. line)
    pinfo.private.rssl_seen = "1"
    return buf:len()
end

local function length_of(tvb, _, offset)
    return math.max(tvb(offset, 2):uint(), 2)
end

function rssl.dissector(tvb, pinfo, root)
    pinfo.cols.info:clear()
    dissect_tcp_pdus(tvb, root, 2, length_of, one)
    return tvb:len()
end

-- A whole connection request in one segment: its length, a version and a header length that fit. From it on the
-- connection is ours.
local function heuristic(tvb, pinfo, root)
    if not (is_request(tvb) and tvb(2, 1):uint() == 0 and tvb(0, 2):uint() == tvb:len()) then
        return false
    end
    pinfo.conversation = rssl
    rssl.dissector(tvb, pinfo, root)
    return true
end

rssl:register_heuristic("tcp", heuristic)
local ports = DissectorTable.get("tcp.port")
ports:add(14002, rssl)
ports:add(14003, rssl)
