// RwfInterop.java - our codec and the Java library's on the same random messages.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * RwfInterop RWF_RANDOM RWF_VECTORS SEED COUNT
 *
 * <p>Half of the messages come from RWF_RANDOM, a program of ours that prints what our encoder made
 * of random content ("mode TAB hex"); half are made here with the library's encoder. The library's
 * decoder writes all of them down as vectors, and RWF_VECTORS, the runner of our codec, judges them:
 * our decoder must have read the same content, and our encoder must make the same bytes of it.
 */
public final class RwfInterop {
    private RwfInterop() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 4) {
            System.err.println("usage: RwfInterop RWF_RANDOM RWF_VECTORS SEED COUNT");
            System.exit(2);
        }
        int count = Integer.parseInt(args[3]);
        Path file = Files.createTempFile("rwf-interop", ".tsv");
        int failed = 0;
        int read;
        try {
            try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.US_ASCII))) {
                int[] ours = fromUs(args[0], args[2], count, out);
                read = ours[0];
                failed = ours[1];
                RwfGenerate generate = new RwfGenerate(Long.parseLong(args[2]));
                for (int i = 0; i < count; i++) {
                    byte[] bytes = generate.message();
                    failed += vector(out, "java-" + i, "min", bytes);
                }
            }
            System.out.println("seed " + args[2] + ": " + read + " messages of our encoder, " + count
                + " of the Java library's");
            Process judge = new ProcessBuilder(args[1], file.toString()).inheritIO().start();
            if (judge.waitFor() != 0) {
                Path kept = Path.of("rwf-interop-failed.tsv");
                Files.copy(file, kept, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
                System.out.println("FAIL: the vectors are in " + kept.toAbsolutePath());
                failed++;
            }
        } finally {
            Files.delete(file);
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    /** How many messages were read, and how many of them the library refused. */
    private static int[] fromUs(String program, String seed, int count, PrintWriter out) throws IOException,
        InterruptedException {
        Process random = new ProcessBuilder(program, seed, Integer.toString(count))
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        int read = 0;
        int failed = 0;
        try (BufferedReader in =
            new BufferedReader(new InputStreamReader(random.getInputStream(), StandardCharsets.US_ASCII))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] columns = line.split("\t");
                failed += vector(out, "ours-" + columns[0], columns[1], RwfGenerate.unhex(columns[2]));
                read++;
            }
        }
        if (random.waitFor() != 0 || read == 0) {
            System.out.println("FAIL: " + program + " made no messages");
            failed++;
        }
        return new int[] { read, failed };
    }

    private static int vector(PrintWriter out, String id, String mode, byte[] bytes) {
        String description;
        try {
            description = RwfDescribe.message(bytes);
        } catch (RwfDescribe.Refused e) {
            System.out.println("FAIL: " + id + ": the Java library: " + e.getMessage() + ": "
                + RwfGenerate.hex(bytes));
            return 1;
        }
        out.println(id + "\tmsg\t" + mode + "\t" + description + "\t" + RwfGenerate.hex(bytes));
        return 0;
    }
}
