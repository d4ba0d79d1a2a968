package io.perdure;

/**
 * The code of a step: one method, run again from its top after a wait. It runs at least once per step.
 *
 * @param <N> what it needs: {@link Inputs}, or a record whose components are named {@code input} (the workflow's input) or after earlier steps. A
 *     component's type is what JSON is decoded to; {@code Optional} where a value may be absent, {@link Woken} for the output of a
 *     wait, {@link ValueOrFailure} where a dependency may have failed, {@link MapResult} for a map step, {@code byte[]} for binary
 */
@FunctionalInterface
public interface Activity<N> {
    /**
     * Does the work.
     *
     * @param ctx facts of the claim, checkpoints, progress
     * @param needs the inputs
     * @return the step's output (any value that JSON can hold, {@code byte[]}, or null for none), a {@link Wait}, a {@link Chosen}
     *     or a {@link Page}
     * @throws Exception the attempt failed, and is tried again by policy; throw a {@link FailureException} to choose its words
     */
    Object run(Context ctx, N needs) throws Exception;
}
