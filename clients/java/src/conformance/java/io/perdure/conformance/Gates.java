package io.perdure.conformance;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** Where activities hold, and who lets them go on. */
final class Gates {
    private final List<Gate> waiting = new ArrayList<>();
    private final Map<String, Integer> early = new HashMap<>();

    /** One activity that holds. */
    record Gate(String step, String key, CountDownLatch opened) {}

    /** A gate that opens by `go_on`; open already if one came early. */
    synchronized Gate hold(String step, String key) {
        Gate gate = new Gate(step, key, new CountDownLatch(1));
        for (String told : List.of(step + "/" + key, step + "/")) {
            if (early.getOrDefault(told, 0) > 0) {
                early.merge(told, -1, Integer::sum);
                gate.opened().countDown();
                return gate;
            }
        }
        waiting.add(gate);
        return gate;
    }

    /** Opens the oldest gate of the step (of this key, unless that is empty), or the next one. */
    synchronized void goOn(String step, String key) {
        for (Gate gate : waiting) {
            if (gate.step().equals(step) && (key.isEmpty() || gate.key().equals(key))) {
                waiting.remove(gate);
                gate.opened().countDown();
                return;
            }
        }
        early.merge(step + "/" + key, 1, Integer::sum);
    }

    synchronized void leave(Gate gate) {
        waiting.remove(gate);
    }
}
