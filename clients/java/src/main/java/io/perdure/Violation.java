package io.perdure;

import java.io.Serializable;

/**
 * One field that is wrong.
 *
 * @param field path of the field, such as {@code definition.steps[1].needs}
 * @param description what is wrong with it, for people
 */
public record Violation(String field, String description) implements Serializable {
    private static final long serialVersionUID = 1L;
}
