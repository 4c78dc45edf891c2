// Versions.java - shows that the libraries load, and which versions of the wire they speak.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.transport.Transport;

public final class Versions {
    private Versions() {}

    public static void main(String[] args) {
        String product = Transport.class.getPackage().getImplementationVersion();
        System.out.println("Java " + System.getProperty("java.version"));
        System.out.println("ETA " + (product == null ? "(version not in the jar)" : product));
        System.out.println("RWF " + Codec.majorVersion() + "." + Codec.minorVersion());
        if (Codec.majorVersion() != 14 || Codec.minorVersion() != 1) {
            System.out.println("FAIL: openrmds speaks RWF 14.1");
            System.exit(1);
        }
    }
}
