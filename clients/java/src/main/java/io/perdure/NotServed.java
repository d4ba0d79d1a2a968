package io.perdure;

/**
 * A pool of a worker, or a step of it, is not served for now; the others are.
 *
 * @param pool its name: the type, or {@code type.step}
 * @param step the step; empty: the whole pool
 * @param error why, such as {@link ErrorReason#DEFINITION_MISMATCH}
 */
public record NotServed(String pool, String step, PerdureException error) {}
