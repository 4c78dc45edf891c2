/* Peer.java - rssl_peer, or another program of ours, as a child process: its arguments, its lines, its end. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

final class Peer implements AutoCloseable {
    private final Process process;
    private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();

    Peer(String program, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(List.of(arguments));
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Thread reader = new Thread(this::readLines, "peer");
        reader.setDaemon(true);
        reader.start();
    }

    private void readLines() {
        try (BufferedReader in =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) lines.add(line);
        } catch (IOException e) {
            lines.add("cannot read: " + e);
        }
    }

    /* The next line that begins with `start`, others passed over. */
    String await(String start, int seconds) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() < end) {
            String line = lines.poll(100, TimeUnit.MILLISECONDS);
            if (line != null && line.startsWith(start)) return line;
        }
        throw new IllegalStateException("no line \"" + start + "...\" within " + seconds + " s");
    }

    /* The same if it is there already, else null. */
    String poll(String start) {
        for (String line = lines.poll(); line != null; line = lines.poll())
            if (line.startsWith(start)) return line;
        return null;
    }

    int port() throws InterruptedException {
        return Integer.parseInt(await("port ", 90).substring(5));
    }

    boolean isAlive() {
        return process.isAlive();
    }

    int exitCode(int seconds) throws InterruptedException {
        if (!process.waitFor(seconds, TimeUnit.SECONDS))
            throw new IllegalStateException("the peer does not end");
        return process.exitValue();
    }

    /* For a program that does not end with its input. */
    void kill() {
        process.destroyForcibly();
    }

    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(30, TimeUnit.SECONDS)) process.destroyForcibly();
        } catch (IOException | InterruptedException e) {
            process.destroyForcibly();
        }
    }
}
