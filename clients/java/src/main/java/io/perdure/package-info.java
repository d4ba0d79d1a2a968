/**
 * Client and worker of Perdure, the durable workflow service.
 *
 * <p>{@link io.perdure.Client} starts and follows workflows; {@link io.perdure.Definition} says what steps a type has, and their code;
 * {@link io.perdure.Client#worker} runs it. Errors are {@link io.perdure.PerdureException}s. The stubs of the whole API are in
 * {@code io.perdure.v1}; call them by {@link io.perdure.Client#channel()} or {@link io.perdure.Client#call}.
 */
package io.perdure;
