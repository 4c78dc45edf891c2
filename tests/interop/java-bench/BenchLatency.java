/* BenchLatency.java - many latencies: counts per microsecond, and what is asked of them. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import java.util.Arrays;

/* Buckets of 1 us up to 100 ms, above that of 0.1 ms up to 10 s; what is longer counts as 10 s. */
final class BenchLatency {
    private static final int FINE = 100_000;
    private static final int COARSE = 99_000;
    private static final int STEP_US = 100;

    private final int[] counts = new int[FINE + COARSE];
    private long samples;
    private double sum;
    private long min;
    private long max;

    void clear() {
        Arrays.fill(counts, 0);
        samples = 0;
        sum = 0;
        min = Long.MAX_VALUE;
        max = 0;
    }

    void record(long us) {
        long value = Math.max(us, 0);
        int at = value < FINE ? (int) value : FINE + (int) Math.min((value - FINE) / STEP_US, COARSE - 1);
        counts[at]++;
        samples++;
        sum += value;
        min = Math.min(min, value);
        max = Math.max(max, value);
    }

    private long percentile(double share) {
        long wanted = (long) Math.ceil(share * samples);
        long seen = 0;
        for (int at = 0; at < counts.length; at++) {
            seen += counts[at];
            if (seen >= wanted && seen > 0) return at < FINE ? at : FINE + (long) (at - FINE) * STEP_US;
        }
        return max;
    }

    /* "null" without samples. */
    String json() {
        if (samples == 0) return "null";
        return String.format(
                "{\"samples\":%d,\"mean_us\":%.1f,\"min_us\":%d,\"p50_us\":%d,\"p90_us\":%d,\"p99_us\":%d,"
                        + "\"p999_us\":%d,\"max_us\":%d}",
                samples, sum / samples, min, percentile(0.5), percentile(0.9), percentile(0.99),
                percentile(0.999), max);
    }
}
