package io.perdure.samples;

import io.perdure.Client;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Failure;
import io.perdure.HookFacts;
import io.perdure.Run;
import io.perdure.Step;
import io.perdure.Worker;
import io.perdure.WorkflowFailedException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A trip: flight, hotel, car. When the last one fails, what was booked is given back, newest first. */
public final class Saga {
    record Trip(String city) {}

    record Needs(Trip input) {}

    /** What was done, in order; a company's own systems in real life. */
    static final class Bookings {
        final List<String> log = new CopyOnWriteArrayList<>();

        String book(String what, Context ctx) {
            log.add("book " + what);
            return what + "-" + ctx.idempotencyKey().substring(0, 6); // the same in every attempt: booked once
        }

        Object cancel(Context ctx) {
            HookFacts facts = ctx.hook().orElseThrow();
            // In doubt, the booking may or may not be there: a cancel by its idempotency key suits both.
            log.add("cancel " + facts.compensates() + (facts.isInDoubt() ? ", if it is there" : ""));
            return null;
        }
    }

    static Definition definition(Bookings bookings) {
        Definition trip = Definition.of("trip").version("1");
        Step cancelFlight = trip.step("cancel_flight", bookings::cancel);
        Step cancelHotel = trip.step("cancel_hotel", bookings::cancel);
        Step tell = trip.step("tell", ctx -> bookings.log.add("tell: " + ctx.hook().orElseThrow().failure().orElseThrow().type()));
        Step flight = trip.step("flight", Needs.class, (ctx, in) -> bookings.book("flight to " + in.input().city(), ctx));
        Step hotel = trip.step("hotel", Needs.class, (ctx, in) -> bookings.book("hotel in " + in.input().city(), ctx));
        Step car = trip.step("car", Needs.class, (ctx, in) -> {
            throw Failure.of("car.none_left", "no car in " + in.input().city()).notRetryable().exception();
        });
        flight.compensateWith(cancelFlight);
        hotel.compensateWith(cancelHotel).after(flight);
        car.after(hotel);
        trip.output(car);
        return trip.hook(Definition.HookKind.FAILURE_FINALIZER, tell); // runs before FAILED is stored
    }

    public static void main(String[] args) {
        Bookings bookings = new Bookings();
        Definition trip = definition(bookings);
        try (Client client = new Client(); Worker worker = client.worker(trip).start()) {
            System.out.println(worker.workerId() + " works");
            Run run = client.start(trip, "trip-1", new Trip("Lisbon"));
            try {
                run.result(Object.class);
            } catch (WorkflowFailedException error) {
                System.out.println(error.step() + " failed with " + error.failure().type());
            }
            bookings.log.forEach(System.out::println);
        }
    }

    private Saga() {}
}
