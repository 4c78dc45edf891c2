/* BenchCommands.java - lines of standard input for a program with a selector. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentLinkedQueue;

/* A thread reads them and wakes the selector; the end of the input is the command "quit". */
final class BenchCommands {
    private final ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();

    BenchCommands(Selector selector) {
        Thread reader = new Thread(() -> read(selector), "commands");
        reader.setDaemon(true);
        reader.start();
    }

    private void read(Selector selector) {
        try (BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
                selector.wakeup();
            }
        } catch (IOException e) {
            lines.add("quit");
        }
        lines.add("quit");
        selector.wakeup();
    }

    /* The words of the next one, or null. */
    String[] next() {
        String line = lines.poll();
        return line == null ? null : line.trim().split("\\s+");
    }

    static void say(String text) {
        System.out.println(text);
        System.out.flush();
    }
}
