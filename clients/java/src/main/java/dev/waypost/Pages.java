package dev.waypost;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;

/**
 * The answers of a list operation, page by page: {@code for (var page : Pages.of(logs::getLogs, request))}. A page may
 * be empty although others follow. Iterating throws {@link WaypostException} where a call fails.
 */
public final class Pages<Q extends Message, A extends Message> implements Iterable<A> {
    private final Function<Q, A> call;
    private final Q request;
    private final FieldDescriptor token;

    private Pages(Function<Q, A> call, Q request) {
        this.call = call;
        this.request = request;
        token = request.getDescriptorForType().findFieldByName("page_token");
        if (token == null) {
            throw new IllegalArgumentException(request.getDescriptorForType().getName() + " has no pages");
        }
    }

    /** Returns the pages from the request's on. */
    public static <Q extends Message, A extends Message> Pages<Q, A> of(Function<Q, A> call, Q request) {
        return new Pages<>(call, request);
    }

    @Override
    public Iterator<A> iterator() {
        return new Iterator<>() {
            private Q next = request;

            @Override
            public boolean hasNext() {
                return next != null;
            }

            @Override
            public A next() {
                if (next == null) {
                    throw new NoSuchElementException();
                }
                Q asked = next;
                A page = Waypost.call(() -> call.apply(asked));
                next = following(asked, page);
                return page;
            }
        };
    }

    @SuppressWarnings("unchecked")
    private Q following(Q asked, A page) {
        String after = (String) page.getField(page.getDescriptorForType().findFieldByName("next_page_token"));
        return after.isEmpty() ? null : (Q) asked.toBuilder().setField(token, after).build();
    }
}
