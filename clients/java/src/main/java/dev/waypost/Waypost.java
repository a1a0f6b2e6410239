package dev.waypost;

import com.google.gson.Gson;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Connects to a Waypost gateway over gRPC. The stubs of its services are in {@code dev.waypost.v1}:
 *
 * <pre>{@code
 * ManagedChannel channel = Waypost.connect("localhost:50051", "local");
 * var accounts = AccountServiceGrpc.newBlockingStub(channel);
 * var request = GetBalanceRequest.newBuilder().setChain("ethereum").setAddress("0x...").build();
 * String balance = Waypost.call(() -> accounts.getBalance(request)).getBalance();
 * }</pre>
 */
public final class Waypost {
    /** The size of the largest answer that a gateway sends, in bytes. */
    public static final int LARGEST_ANSWER = 64 << 20;

    private static final int WAITS = 3;
    private static final Set<String> LOCAL = Set.of("localhost", "127.0.0.1", "[::1]");
    private static final Metadata.Key<String> KEY = Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);

    private Waypost() {}

    /**
     * Returns a channel to the gateway at {@code target}, {@code host:port}, whose calls carry the key: over TLS, in
     * plaintext to this machine. Where the gateway cannot answer at the moment, calls are sent again as its service
     * config says, with the deadlines of that where they have none. Streams have no deadline, and who reads one opens it
     * again, at the cursor of the last event.
     */
    public static ManagedChannel connect(String target, String key) {
        String host = target.substring(0, Math.max(0, target.lastIndexOf(':')));
        return connect(target, key, LOCAL.contains(host));
    }

    /** Returns such a channel; {@code plaintext} lets the key travel readable. */
    public static ManagedChannel connect(String target, String key, boolean plaintext) {
        return Grpc.newChannelBuilder(
                        target, plaintext ? InsecureChannelCredentials.create() : TlsChannelCredentials.create())
                .maxInboundMessageSize(LARGEST_ANSWER)
                .defaultServiceConfig(serviceConfig())
                .enableRetry()
                // A stream whose connection is gone without a word ends.
                .keepAliveTime(45, TimeUnit.SECONDS)
                .keepAliveTimeout(15, TimeUnit.SECONDS)
                .intercept(new Authorisation(key))
                .build();
    }

    /**
     * Returns the answer of a call, which waits for as long as the gateway says, three times at most, where the key's
     * quota is used up. Throws {@link WaypostException} where it fails.
     */
    public static <T> T call(Supplier<T> call) {
        return call(WAITS, call);
    }

    /** Returns the answer of a call that waits so often. */
    public static <T> T call(int waits, Supplier<T> call) {
        for (int left = waits; ; left--) {
            try {
                return call.get();
            } catch (StatusRuntimeException thrown) {
                WaypostException failure = WaypostException.of(thrown);
                Duration wait = failure.waitForQuota().orElse(null);
                if (left <= 0 || wait == null) {
                    throw failure;
                }
                try {
                    Thread.sleep(wait.toMillis() + 1);
                } catch (InterruptedException interruption) {
                    Thread.currentThread().interrupt();
                    throw failure;
                }
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, ?> serviceConfig() {
        var resource = Objects.requireNonNull(Waypost.class.getResourceAsStream("service_config.json"));
        try (Reader reader = new InputStreamReader(resource, StandardCharsets.UTF_8)) {
            return new Gson().fromJson(reader, Map.class);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Adds the key to every call. */
    private static final class Authorisation extends CallCredentials implements ClientInterceptor {
        private final String key;

        Authorisation(String key) {
            this.key = Objects.requireNonNull(key);
        }

        @Override
        public <Q, A> ClientCall<Q, A> interceptCall(
                MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return next.newCall(method, options.withCallCredentials(this));
        }

        @Override
        public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
            Metadata headers = new Metadata();
            headers.put(KEY, key);
            applier.apply(headers);
        }
    }
}
