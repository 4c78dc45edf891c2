/* BenchProvider.java - a provider on the ETA transport for `rmds bench peers`. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.PostMsg;
import com.refinitiv.eta.codec.RequestMsg;
import com.refinitiv.eta.codec.UpdateMsg;
import com.refinitiv.eta.transport.BindOptions;
import com.refinitiv.eta.transport.Server;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/*
 * BenchProvider PORT SERVICE; commands:
 *
 * rate N BURSTS TIMES   N updates a second in so many bursts a second, one of TIMES with the time
 * packed 0|1            whether updates share frames
 * streams               says "streams N": how many items are open, on all connections together
 * counts FILE           writes "NAME COUNT" for each open item, and says "counted GIVEN_UP SENT"
 * quit
 *
 * Updates go round over all open streams. A burst that finds no free buffer is continued later; what is over a second
 * late is given up and counted.
 */
public final class BenchProvider {
    private static final long BEHIND_MAX_NS = 1_000_000_000L;
    private static final int UPDATE_MAX = 256;
    private static final int IMAGE_MAX = 3000;

    private static final class Stream {
        Client client;
        int id;
        int domain;
        String name;
        long count;
        int place; /* in `streams` */
    }

    private static final class Client {
        final BenchWire wire;
        final Map<Integer, Stream> open = new HashMap<>();
        /* Requests that found no buffer: their images are sent when there is room. */
        final List<Stream> owed = new ArrayList<>();

        Client(BenchWire wire) {
            this.wire = wire;
        }
    }

    private final BenchAdmin admin;
    private final BenchContent content = new BenchContent();
    private final Server server;
    private final Selector selector = Selector.open();
    private final BenchCommands commands = new BenchCommands(selector);
    private final List<Client> clients = new ArrayList<>();
    private final List<Stream> streams = new ArrayList<>();
    private final UpdateMsg update = (UpdateMsg) CodecFactory.createMsg();
    private long rate;
    private long bursts = 1000;
    private long times = 1;
    private long startNs;
    private long made; /* of what has been due since startNs, given up ones included */
    private long sent;
    private long givenUp;
    private int next;
    private long seed = 88172645463325252L;
    private boolean isPacked;

    private BenchProvider(int port, String service) throws IOException {
        BindOptions options = Eta.bindOptions();
        options.serviceName(Integer.toString(port));
        options.guaranteedOutputBuffers(BenchWire.BUFFERS);
        options.maxOutputBuffers(2 * BenchWire.BUFFERS);
        server = Eta.bind(options);
        server.selectableChannel().register(selector, SelectionKey.OP_ACCEPT);
        admin = new BenchAdmin(service);
    }

    public static void main(String[] args) throws Exception {
        Eta.startUnlocked();
        BenchProvider provider = new BenchProvider(Integer.parseInt(args[0]), args[1]);
        BenchCommands.say("ready");
        provider.run();
    }

    private void run() throws IOException {
        for (; ; ) {
            String[] words = commands.next();
            if (words != null && !command(words)) return;
            boolean isBehind = burst();
            boolean isQueued = false;
            for (Client client : clients) {
                isQueued |= client.wire.flush();
                client.wire.ping();
            }
            clients.removeIf(this::isGone);
            if (isBehind && !isQueued) selector.selectNow();
            else selector.select(rate > 0 || isQueued || isShaking() ? 1 : 100);
            accept();
            for (Client client : clients) {
                if (client.wire.isOpen()) client.wire.read(msg -> take(client, msg));
                sendOwed(client);
            }
            selector.selectedKeys().clear();
        }
    }

    private boolean isShaking() {
        for (Client client : clients) if (!client.wire.link.isOpen()) return true;
        return false;
    }

    private boolean isGone(Client client) {
        if (!client.wire.isGone) return false;
        for (Stream stream : client.open.values()) remove(stream);
        client.wire.close();
        return true;
    }

    private void accept() throws IOException {
        Eta.Link link = Eta.accept(server, false);
        if (link == null) return;
        link.channel.selectableChannel().register(selector, SelectionKey.OP_READ);
        clients.add(new Client(new BenchWire(link)));
    }

    /* ---- commands ---- */

    private boolean command(String[] words) throws IOException {
        switch (words[0]) {
            case "quit":
                return false;
            case "rate":
                rate = Long.parseLong(words[1]);
                bursts = Long.parseLong(words[2]);
                times = Long.parseLong(words[3]);
                startNs = System.nanoTime();
                made = 0;
                break;
            case "packed":
                isPacked = words[1].equals("1");
                break;
            case "streams":
                BenchCommands.say("streams " + streams.size());
                break;
            case "counts":
                writeCounts(Path.of(words[1]));
                BenchCommands.say("counted " + givenUp + " " + sent);
                givenUp = 0;
                sent = 0;
                break;
            default:
                BenchCommands.say("no such command: " + words[0]);
        }
        return true;
    }

    private void writeCounts(Path path) throws IOException {
        Path part = Path.of(path + ".part");
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(part, StandardCharsets.US_ASCII))) {
            for (Stream stream : streams) out.println(stream.name + " " + stream.count);
        }
        Files.move(part, path);
    }

    /* ---- updates ---- */

    /* True: more is due, but the client's buffers are all in use, or the end of this turn has come. */
    private boolean burst() {
        if (rate == 0 || streams.isEmpty()) {
            startNs = System.nanoTime();
            made = 0;
            return false;
        }
        long elapsed = System.nanoTime() - startNs;
        long ticks = elapsed / (1_000_000_000L / bursts);
        long due = ticks * rate / bursts;
        long late = rate * BEHIND_MAX_NS / 1_000_000_000L;
        if (due - made > late) {
            givenUp += due - made - late;
            made = due - late;
        }
        while (made < due) {
            if (!sendNext()) return true;
            made++;
        }
        return false;
    }

    private boolean isStamped() {
        if (times <= 1) return true;
        seed ^= seed << 13;
        seed ^= seed >>> 7;
        seed ^= seed << 17;
        return Long.remainderUnsigned(seed, times) == 0;
    }

    private boolean sendNext() {
        if (next >= streams.size()) next = 0;
        Stream stream = streams.get(next);
        BenchWire wire = stream.client.wire;
        if (!wire.begin(UPDATE_MAX, isPacked)) {
            wire.flush();
            if (!wire.begin(UPDATE_MAX, isPacked)) return false;
        }
        next++;
        stream.count++;
        sent++;
        encodeUpdate(wire, stream, isStamped() ? BenchContent.nowUs() : 0);
        return true;
    }

    private void encodeUpdate(BenchWire wire, Stream stream, long us) {
        update.clear();
        update.msgClass(MsgClasses.UPDATE);
        update.domainType(stream.domain);
        update.streamId(stream.id);
        update.containerType(BenchContent.container(stream.domain));
        update.updateType(1);
        BenchWire.check(update.encodeInit(wire.out, 0));
        content.update(wire.out, stream.domain, stream.count, us);
        BenchWire.check(update.encodeComplete(wire.out, true));
        wire.end();
    }

    /* ---- what clients ask for ---- */

    private void take(Client client, Msg msg) {
        switch (msg.msgClass()) {
            case MsgClasses.REQUEST:
                request(client, (RequestMsg) msg);
                break;
            case MsgClasses.CLOSE:
                Stream closed = client.open.remove(msg.streamId());
                if (closed != null) remove(closed);
                break;
            case MsgClasses.POST:
                post(client, (PostMsg) msg);
                break;
            case MsgClasses.GENERIC:
                echo(client, msg);
                break;
            default: /* nothing is expected of others */
        }
    }

    private void remove(Stream stream) {
        Stream last = streams.remove(streams.size() - 1);
        if (last == stream) return;
        last.place = stream.place;
        streams.set(stream.place, last);
    }

    private void request(Client client, RequestMsg msg) {
        int domain = msg.domainType();
        if (domain != BenchContent.MARKET_PRICE && domain != BenchContent.MARKET_BY_ORDER) {
            admin.answer(client.wire, msg);
            return;
        }
        Stream stream = client.open.get(msg.streamId());
        if (stream == null) {
            stream = new Stream();
            stream.client = client;
            stream.id = msg.streamId();
            stream.domain = domain;
            stream.name = msg.msgKey().name().toString();
        }
        if (msg.checkStreaming() && client.open.put(stream.id, stream) == null) {
            stream.place = streams.size();
            streams.add(stream);
        }
        if (!msg.checkNoRefresh() && (!client.owed.isEmpty() || !image(client, stream))) client.owed.add(stream);
    }

    private void sendOwed(Client client) {
        int done = 0;
        while (done < client.owed.size() && image(client, client.owed.get(done))) done++;
        if (done > 0) client.owed.subList(0, done).clear();
    }

    /* False: no buffer is free. */
    private boolean image(Client client, Stream stream) {
        BenchWire wire = client.wire;
        if (!wire.begin(IMAGE_MAX, false)) return false;
        Buffer name = CodecFactory.createBuffer();
        name.data(stream.name);
        admin.startRefresh(wire, stream.id, stream.domain, BenchContent.container(stream.domain), name,
                client.open.get(stream.id) == stream);
        content.image(wire.out, stream.domain, stream.count);
        admin.finishRefresh(wire);
        return true;
    }

    /* Acknowledged; its content is nobody else's. */
    private void post(Client client, PostMsg msg) {
        if (msg.checkAck()) admin.acknowledge(client.wire, msg);
    }

    /* Back as it came. */
    private void echo(Client client, Msg msg) {
        content.decode(client.wire.in(), msg.containerType());
        admin.generic(client.wire, msg.streamId(), msg.domainType(), content, content.timeUs);
    }
}
