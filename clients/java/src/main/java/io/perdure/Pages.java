package io.perdure;

import com.google.protobuf.Message;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A list that comes in pages, each fetched when the one before has been used up. Every iteration begins anew.
 *
 * @param <T> what it lists
 */
public final class Pages<T> implements Iterable<T> {
    private final Function<String, Page<T>> fetch;

    /** One page, and the token of the next; empty: it is the last. */
    record Page<T>(List<T> items, String nextToken) {}

    Pages(Function<String, Page<T>> fetch) {
        this.fetch = fetch;
    }

    /** A list of messages as something else. */
    static <A extends Message, M, T> Pages<T> of(
            Function<String, A> call, Function<A, List<M>> items, Function<A, String> token, Function<M, T> item) {
        return new Pages<>(pageToken -> {
            A answer = call.apply(pageToken);
            return new Page<>(items.apply(answer).stream().map(item).toList(), token.apply(answer));
        });
    }

    /** {@return an iterator, whose methods ask the server and throw {@link PerdureException}} */
    @Override
    public Iterator<T> iterator() {
        return new Items();
    }

    /** {@return the items as a stream} */
    public Stream<T> stream() {
        return StreamSupport.stream(spliterator(), false);
    }

    /** {@return all items, whatever their number} */
    public List<T> toList() {
        return stream().toList();
    }

    private final class Items implements Iterator<T> {
        private final Deque<T> items = new ArrayDeque<>();
        private String token = "";
        private boolean last;

        @Override
        public boolean hasNext() {
            while (items.isEmpty() && !last) {
                Page<T> page = fetch.apply(token);
                items.addAll(page.items());
                token = page.nextToken();
                last = token.isEmpty();
            }
            return !items.isEmpty();
        }

        @Override
        public T next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the list has ended");
            }
            return items.poll();
        }
    }
}
