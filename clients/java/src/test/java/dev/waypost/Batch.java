package dev.waypost;

import com.google.protobuf.Any;
import dev.waypost.v1.BatchServiceGrpc;
import dev.waypost.v1.ExecuteRequest;
import dev.waypost.v1.ExecuteResult;
import dev.waypost.v1.GetBalanceRequest;
import dev.waypost.v1.GetBalanceResponse;
import java.util.List;

/** Reads 50 balances in one call: {@code mvn test-compile exec:java}. */
public final class Batch {
    private static final List<String> CHAINS = List.of("ethereum", "base", "arbitrum", "optimism", "polygon");

    private Batch() {}

    public static void main(String[] arguments) throws Exception {
        var environ = System.getenv();
        var channel = Waypost.connect(
                environ.getOrDefault("WAYPOST_GRPC", "localhost:50051"), environ.getOrDefault("WAYPOST_KEY", "local"));
        var batch = ExecuteRequest.newBuilder();
        for (int account = 1; account <= 10; account++) {
            for (String chain : CHAINS) {
                batch.addRequests(Any.pack(GetBalanceRequest.newBuilder()
                        .setChain(chain)
                        .setAddress(String.format("0x%040x", account))
                        .build()));
            }
        }
        var client = BatchServiceGrpc.newBlockingStub(channel);
        var results = Waypost.call(() -> client.execute(batch.build())).getResultsList();
        for (int position = 0; position < results.size(); position++) {
            var asked = batch.getRequests(position).unpack(GetBalanceRequest.class);
            System.out.printf("%-9s %s %s%n", asked.getChain(), asked.getAddress(), outcome(results.get(position)));
        }
        channel.shutdownNow();
    }

    private static String outcome(ExecuteResult result) throws Exception {
        if (result.hasError()) {
            return result.getError().getMessage();
        }
        var balance = result.getResponse().unpack(GetBalanceResponse.class);
        return balance.getBalance() + " " + balance.getToken();
    }
}
