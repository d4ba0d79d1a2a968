package io.perdure.samples;

import io.perdure.Client;
import io.perdure.Condition;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Event;
import io.perdure.Retry;
import io.perdure.Run;
import io.perdure.Wait;
import io.perdure.Watch;
import io.perdure.Worker;
import io.perdure.Woken;
import java.time.Duration;
import java.util.Optional;

/** An order: charged once, approved by a person, shipped. Run `perdure dev`, then this program. */
public final class Quickstart {
    record Order(long cents) {}

    record ChargeNeeds(Order input) {} // components named `input` or after an earlier step are what the step needs

    record ShipNeeds(String charge, Woken<Boolean> approval) {}

    static Object charge(Context ctx, ChargeNeeds in) {
        Optional<String> payment = ctx.checkpoint(String.class);
        if (payment.isEmpty()) { // a payment is begun once, whatever dies: the key is the same in every attempt
            ctx.save("payment-" + ctx.idempotencyKey().substring(0, 8));
            return Wait.any(Condition.signal("paid"), Condition.after(Duration.ofSeconds(1))); // holds no worker; then run again from its top
        }
        return payment.get();
    }

    static String ship(Context ctx, ShipNeeds in) {
        ctx.frame("packing ");
        return in.charge() + ": " + (in.approval().value().orElse(false) ? "shipped" : "kept back");
    }

    static Definition definition() {
        Definition order = Definition.of("order").version("1");
        order.step("charge", ChargeNeeds.class, Quickstart::charge).retry(Retry.attempts(5));
        order.waitFor("approval", Condition.signal("approve"), Condition.after(Duration.ofDays(3))).after("charge");
        order.step("ship", ShipNeeds.class, Quickstart::ship);
        return order;
    }

    public static void main(String[] args) {
        Definition order = definition();
        try (Client client = new Client(); Worker worker = client.worker(order).slots("ship", 4).start()) {
            System.out.println(worker.workerId() + " works");
            Run run = client.start(order, "order-42", new Order(1999)); // once per key, however often it is called
            try (Watch watch = run.watch()) {
                for (Event event : watch) {
                    System.out.println(event);
                    if (event.waitsFor("approve")) {
                        run.signal("approve", true);
                    }
                }
            }
            System.out.println(run.result(String.class));
        }
    }

    private Quickstart() {}
}
