package dev.waypost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.waypost.v1.*;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.HashSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against the gateway of {@code make clients}; skipped without one. */
class GatewayTest {
    private ManagedChannel channel;

    private static String given(String name) {
        String value = System.getenv(name);
        assertTrue(value != null, name);
        return value;
    }

    private static long number(String name) {
        return Long.parseLong(given(name));
    }

    @BeforeEach
    void connect() {
        assumeTrue(System.getenv("WAYPOST_GRPC") != null, "no gateway: `make clients` serves one");
        channel = Waypost.connect(given("WAYPOST_GRPC"), given("WAYPOST_KEY"));
    }

    @AfterEach
    void close() {
        if (channel != null) {
            channel.shutdownNow();
        }
    }

    private static GetBalanceRequest balanceOf(String chain, String address) {
        return GetBalanceRequest.newBuilder().setChain(chain).setAddress(address).build();
    }

    @Test
    void readsABalance() {
        var accounts = AccountServiceGrpc.newBlockingStub(channel);
        var answer = Waypost.call(() -> accounts.getBalance(balanceOf("ethereum", given("WAYPOST_HOLDER"))));
        assertEquals(given("WAYPOST_BALANCE"), answer.getBalanceRaw());
    }

    @Test
    void failsWithReasonAndField() {
        var accounts = AccountServiceGrpc.newBlockingStub(channel);
        var failure = assertThrows(
                WaypostException.class,
                () -> Waypost.call(() -> accounts.getBalance(balanceOf("ethereum", "0x12"))));
        assertEquals(Reason.REASON_INVALID_ARGUMENT, failure.getReason());
        assertEquals("address", failure.getField().orElseThrow());
        assertEquals(Status.Code.INVALID_ARGUMENT, failure.getCode());
        assertTrue(failure.getRequestId().isPresent());
        failure = assertThrows(
                WaypostException.class,
                () -> Waypost.call(() -> accounts.getBalance(balanceOf("atlantis", "0x12"))));
        assertEquals(Reason.REASON_CHAIN_UNKNOWN, failure.getReason());
    }

    @Test
    void rowsFailByThemselves() {
        var item = GetBlockByNumberItem.newBuilder().setChain("ethereum");
        var request = GetBlockByNumberRequest.newBuilder()
                .addItems(item.setBlock(number("WAYPOST_LOGS_FROM")).build())
                .addItems(item.setBlock(1L << 40).build())
                .build();
        var blocks = BlockServiceGrpc.newBlockingStub(channel);
        var rows = Waypost.call(() -> blocks.getBlockByNumber(request)).getResultsList();
        assertEquals(GetBlockByNumberResult.OutcomeCase.VALUE, rows.get(0).getOutcomeCase());
        assertEquals(GetBlockByNumberResult.OutcomeCase.ERROR, rows.get(1).getOutcomeCase());
        assertEquals(Reason.REASON_NOT_FOUND, rows.get(1).getError().getReason());
    }

    @Test
    void walksThroughPages() {
        var logs = LogServiceGrpc.newBlockingStub(channel);
        var request = GetLogsRequest.newBuilder()
                .setChain("ethereum")
                .setAddress(given("WAYPOST_LOGS_ADDRESS"))
                .setFromBlock(number("WAYPOST_LOGS_FROM"))
                .setToBlock(number("WAYPOST_LOGS_TO"))
                .setPageSize(2)
                .build();
        var seen = new HashSet<String>();
        int pages = 0;
        for (var page : Pages.of(logs::getLogs, request)) {
            pages++;
            page.getLogsList().forEach(log -> seen.add(log.getTransactionHash() + ":" + log.getLogIndex()));
        }
        assertEquals(number("WAYPOST_LOGS_COUNT"), seen.size());
        assertTrue(pages > 1);
    }

    @Test
    void followsAChainAndGoesOnAtACursor() {
        var first = nextBlock("");
        var second = nextBlock(first.getCursor());
        assertEquals(first.getBlock().getHash(), second.getBlock().getParentHash());
    }

    /** Returns the next block that comes after the cursor's. */
    private WatchBlocksResponse nextBlock(String cursor) {
        var request = WatchBlocksRequest.newBuilder().setChain("base").setCursor(cursor).build();
        try (var ending = Context.current().withCancellation()) {
            return ending.wrap(() -> {
                var streams = StreamServiceGrpc.newBlockingStub(channel).withDeadlineAfter(Duration.ofSeconds(30));
                var events = streams.watchBlocks(request);
                while (true) {
                    var event = Waypost.call(0, events::next);
                    if (event.getKind() == EventKind.EVENT_KIND_ADDED && !event.getCursor().equals(cursor)) {
                        return event;
                    }
                }
            }).call();
        } catch (Exception failure) {
            throw new AssertionError(failure);
        }
    }

    @Test
    void streamsFailWithReasonAndField() {
        var request = WatchBlocksRequest.newBuilder().setChain("ethereum").setCursor("none").build();
        var events = StreamServiceGrpc.newBlockingStub(channel).watchBlocks(request);
        var failure = assertThrows(WaypostException.class, () -> Waypost.call(0, events::next));
        assertEquals(Reason.REASON_INVALID_ARGUMENT, failure.getReason());
        assertEquals("cursor", failure.getField().orElseThrow());
    }

    @Test
    void waitsWhereTheQuotaIsUsedUp() {
        var request = GetBlockHeightRequest.newBuilder().setChain("ethereum").build();
        // A channel of connect() waits already by itself, as the gateway's push-back says.
        var hasty = ManagedChannelBuilder.forTarget(given("WAYPOST_GRPC")).usePlaintext().disableRetry().build();
        var tight = Waypost.connect(given("WAYPOST_GRPC"), given("WAYPOST_TIGHT_KEY"));
        try {
            var headers = new Metadata();
            headers.put(Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER), given("WAYPOST_TIGHT_KEY"));
            var refused = BlockServiceGrpc.newBlockingStub(hasty)
                    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
            var failure = assertThrows(WaypostException.class, () -> {
                for (int call = 0; call < 50; call++) {
                    Waypost.call(0, () -> refused.getBlockHeight(request));
                }
            });
            assertEquals(Reason.REASON_RATE_LIMITED, failure.getReason());
            assertTrue(failure.getRetryAfter().orElseThrow().compareTo(Duration.ZERO) > 0);
            var blocks = BlockServiceGrpc.newBlockingStub(tight);
            for (int call = 0; call < 2; call++) {
                Waypost.call(() -> blocks.getBlockHeight(request));
            }
        } finally {
            hasty.shutdownNow();
            tight.shutdownNow();
        }
    }
}
