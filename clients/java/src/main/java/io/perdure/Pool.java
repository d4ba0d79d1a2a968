package io.perdure;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** Slots of one pool, and what the server was told of them. Lives on the session's thread. */
final class Pool {
    final PoolPlan plan;
    /** Slots in use. */
    int running;
    /** Credit that the server has and has not spent; all of it ends with the stream. */
    int offered;
    /** Claims that came without a free slot, as can happen after errors. */
    final Deque<Held> waiting = new ArrayDeque<>();
    /** Step to step contract, as the server accepted or computed it. */
    final Map<String, String> contracts = new HashMap<>();

    Pool(PoolPlan plan) {
        this.plan = plan;
    }

    boolean hasRoom() {
        return running < plan.slots();
    }

    /** How many slots are free and not offered. */
    int missingCredit() {
        return Math.max(0, plan.slots() - running - waiting.size() - offered);
    }
}
