package io.perdure;

import java.util.List;

/**
 * Return it from a step with branches: those that are taken, and the step's output. Steps on the others are SKIPPED.
 *
 * @param branches at least one name
 * @param output what dependants get; null: nothing
 */
public record Chosen(List<String> branches, Object output) {
    /**
     * Takes one branch, without an output.
     *
     * @param branch its name
     * @return what to return from the activity
     */
    public static Chosen branch(String branch) {
        return new Chosen(List.of(branch), null);
    }

    /**
     * The same choice with an output.
     *
     * @param value what dependants get
     * @return what to return from the activity
     */
    public Chosen withOutput(Object value) {
        return new Chosen(branches, value);
    }
}
