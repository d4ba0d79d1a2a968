package io.perdure;

/** The code of a step that needs no inputs; otherwise as {@link Activity}. */
@FunctionalInterface
public interface PlainActivity {
    /**
     * Does the work.
     *
     * @param ctx facts of the claim, checkpoints, progress
     * @return as {@link Activity#run} returns it
     * @throws Exception the attempt failed
     */
    Object run(Context ctx) throws Exception;
}
