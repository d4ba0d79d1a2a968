package io.perdure.samples;

import io.perdure.Client;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Failure;
import io.perdure.Run;
import io.perdure.Start;
import io.perdure.Worker;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * The fence: a number that rises with every round of a business key. Whoever comes with a lower one than is stored comes too late.
 *
 * <pre>
 * SQL      UPDATE orders SET address = :address, fence = :fence WHERE id = :key AND fence <= :fence
 * MongoDB  updateOne({_id: key, fence: {$lte: fence}}, {$set: {address: ..., fence: fence}})
 * </pre>
 *
 * {@code <=}, not {@code <}: the steps of one round share a fence, and an attempt that is made again must pass.
 */
public final class FenceRecipe {
    record Change(String address, boolean slow) {}

    record Needs(Change input) {}

    /** The shop's own table; one conditional write, as the statements above. */
    static final class Orders {
        record Row(String address, long fence) {}

        private final Map<String, Row> rows = new ConcurrentHashMap<>();

        void write(String key, String address, long fence) {
            Row stored = rows.merge(key, new Row(address, fence), (old, made) -> old.fence() <= made.fence() ? made : old);
            if (stored.fence() > fence) { // it will not become newer: not retried
                throw Failure.of("order.superseded", key + ": a newer round has written").notRetryable().exception();
            }
        }

        String address(String key) {
            return rows.get(key).address();
        }
    }

    static Definition definition(Orders orders, CountDownLatch begun, CountDownLatch newerHasWritten) {
        Definition move = Definition.of("move").version("1");
        move.step("write", Needs.class, (ctx, in) -> {
            if (in.input().slow()) {
                begun.countDown();
                waitThrough(newerHasWritten); // a long pause of the process, or of the network
            }
            return write(orders, ctx, in);
        });
        return move;
    }

    static String write(Orders orders, Context ctx, Needs in) {
        orders.write(ctx.businessKey(), in.input().address(), ctx.fence());
        return in.input().address();
    }

    public static void main(String[] args) throws InterruptedException {
        Orders orders = new Orders();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch newerHasWritten = new CountDownLatch(1);
        Definition move = definition(orders, begun, newerHasWritten);
        try (Client client = new Client(); Worker worker = client.worker(move).start()) {
            System.out.println(worker.workerId() + " works");
            client.start(move, "order-1", new Change("12 Harbour Street", true));
            begun.await();
            // The customer has changed the order: the round that runs is fenced at once, and a new one begins.
            Run second = client.start(Start.of(move, "order-1")
                    .input(new Change("3 Market Square", false))
                    .onOpen(Start.OnOpen.SUPERSEDE)
                    .onClosed(Start.OnClosed.NEW_ROUND));
            System.out.println(second.result(String.class));
            newerHasWritten.countDown(); // only now does the first round write, and is refused
        }
        System.out.println("stored: " + orders.address("order-1"));
    }

    /** As a process that was stopped: it does not even see that it should end. */
    private static void waitThrough(CountDownLatch latch) {
        boolean interrupted = false;
        while (latch.getCount() > 0) {
            try {
                latch.await();
            } catch (InterruptedException later) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private FenceRecipe() {}
}
