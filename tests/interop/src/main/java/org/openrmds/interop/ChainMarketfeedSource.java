/* ChainMarketfeedSource.java - Marketfeed records that src_dist makes field lists of. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

public final class ChainMarketfeedSource {
    private ChainMarketfeedSource() {}

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        report.test(
                "with convertMarketfeed of src_dist nobody gets records",
                ChainMarketfeedSource::converted);
        report.end();
    }

    /* "native" is a user who gets records as they come, if there are any. */
    private static void converted() throws Exception {
        try (ChainProvider provider = new ChainProvider()) {
            provider.await("login", l -> l.startsWith("login"));
            ChainMarketfeed.awaitService();
            ChainKit.Consumer early = new ChainKit.Consumer("native");
            early.open("MF.C");
            check(early.awaitRefresh("MF.C").count() == 0, "the image is another one");
            provider.publish("MF.C", 200);
            early.awaitCounter("MF.C", 200, ChainKit.SECONDS);
            ChainKit.Consumer late = new ChainKit.Consumer();
            late.open("MF.C");
            check(late.awaitRefresh("MF.C").count() == 200, "the late image is another one");
            provider.publish("MF.C", 1);
            late.awaitCounter("MF.C", 201, ChainKit.SECONDS);
            check(provider.count(l -> l.equals("req MF.C")) == 1, "the image is not of a cache");
            ChainKit.chain("level", "src_dist src_dist.marketfeedIn 202");
            ChainKit.chain("level", "src_dist src_dist.marketfeedRefused 0");
            ChainKit.chain("level", "p2ps p2ps.worker.0.marketfeedIn 0");
            early.close();
            late.close();
        }
    }
}
