/* FaultConsumer.java - a plain EMA consumer: the application that rmdsfault tests. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;

/**
 * The library in its default configuration, two items, a line for each image and state. It follows
 * a redirection, which the library leaves to its application, and ends with code 3 without a login.
 */
public final class FaultConsumer implements OmmConsumerClient {
    private static final int NO_LOGIN = 3;

    private final String service = System.getenv("RMDSFAULT_SERVICE");
    private OmmConsumer consumer;

    private FaultConsumer() {}

    private void open(String item) {
        consumer.registerClient(
                EmaFactory.createReqMsg().serviceName(service).name(item), this, item);
    }

    private void run() throws InterruptedException {
        String host = "127.0.0.1:" + System.getenv("RMDSFAULT_PORT");
        consumer =
                EmaFactory.createOmmConsumer(
                        EmaFactory.createOmmConsumerConfig().host(host).username("user"));
        open("A.N");
        open("B.N");
        while (true) Thread.sleep(1000); /* until rmdsfault ends it */
    }

    public static void main(String[] arguments) throws Exception {
        try {
            new FaultConsumer().run();
        } catch (OmmException e) {
            System.out.println("no login: " + e.getMessage());
            System.exit(NO_LOGIN);
        }
    }

    @Override
    public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
        System.out.println("image of " + event.closure() + ", " + msg.state());
    }

    @Override
    public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
        if (!msg.hasState()) return;
        System.out.println("state of " + event.closure() + ", " + msg.state());
        if (msg.state().streamState() == OmmState.StreamState.CLOSED_REDIRECTED && msg.hasName())
            open(msg.name());
    }

    @Override
    public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
        try {
            msg.payload().data().toString(); /* it looks at every field */
        } catch (RuntimeException e) {
            System.out.println("an update of " + event.closure() + " cannot be read: " + e);
        }
    }

    @Override
    public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
}
