// Reads 50 balances in one call: npm run build && node dist/examples/batch.js
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { create } from "@bufbuild/protobuf";
import { BatchService, connect, GetBalanceRequestSchema, GetBalanceResponseSchema } from "../src/index.js";

const CHAINS = ["ethereum", "base", "arbitrum", "optimism", "polygon"];

const { WAYPOST_GRPC = "localhost:50051", WAYPOST_KEY = "local" } = process.env;
const waypost = connect(`http://${WAYPOST_GRPC}`, { key: WAYPOST_KEY });
const asked = Array.from({ length: 10 }, (_, account) => `0x${(account + 1).toString(16).padStart(40, "0")}`).flatMap(
  (address) => CHAINS.map((chain) => create(GetBalanceRequestSchema, { chain, address })),
);
const { results } = await waypost(BatchService).execute({
  requests: asked.map((request) => anyPack(GetBalanceRequestSchema, request)),
});
for (const [position, { outcome }] of results.entries()) {
  const { chain, address } = asked[position]!;
  let text = "no outcome";
  if (outcome.case === "error") text = outcome.value.message;
  if (outcome.case === "response") {
    const balance = anyUnpack(outcome.value, GetBalanceResponseSchema);
    text = `${balance?.balance} ${balance?.token}`;
  }
  console.log(chain.padEnd(9), address, text);
}
