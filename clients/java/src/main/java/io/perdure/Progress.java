package io.perdure;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How far an activity is.
 *
 * @param done how much is done
 * @param total of how much; null: unknown
 * @param unit of what, such as {@code pages}; may be empty
 * @param message for people; may be empty
 */
public record Progress(double done, Double total, String unit, String message) {
    /**
     * Done, of a known total.
     *
     * @param done how much is done
     * @param total of how much
     * @return the progress
     */
    public static Progress of(double done, double total) {
        return new Progress(done, total, "", "");
    }

    Map<String, Object> told() {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("done", plain(done));
        if (total != null) {
            told.put("total", plain(total));
        }
        if (!unit.isEmpty()) {
            told.put("unit", unit);
        }
        if (!message.isEmpty()) {
            told.put("message", message);
        }
        return told;
    }

    /** Whole numbers without a fraction, as other languages write them. */
    private static Object plain(double number) {
        return number == Math.rint(number) && Math.abs(number) < 1L << 53 ? (Object) (long) number : number;
    }
}
