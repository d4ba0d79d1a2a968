package io.perdure;

import java.util.List;

/**
 * What the activity of a paging step returns: inputs of the next children, and where the page after it begins.
 *
 * @param children at most 1,000, in order
 * @param cursor the next attempt finds it in {@link Context#cursor}; null: this was the last page
 */
public record Page(List<?> children, Object cursor) {
    /**
     * The last page.
     *
     * @param children its children
     * @return what to return from the activity
     */
    public static Page last(List<?> children) {
        return new Page(children, null);
    }
}
