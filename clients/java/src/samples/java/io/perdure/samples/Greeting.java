package io.perdure.samples;

import io.perdure.Context;

/** An activity is a method, and is tested as one. */
public final class Greeting {
    record Needs(String input) {}

    static String greet(Context ctx, Needs in) {
        int count = ctx.save(ctx.checkpoint(Integer.class).orElse(0) + 1);
        return "hello " + ctx.frame(in.input()) + (count > 1 ? ", again" : "");
    }

    private Greeting() {}
}
