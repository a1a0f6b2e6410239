// CosmJS' client of CometBFT on the gateway as on the node.

import assert from "node:assert/strict";
import test from "node:test";
import { Comet38Client, connectComet, HttpBatchClient } from "@cosmjs/tendermint-rpc";
import { comparing, comparingErrors, known, pair } from "./pairs.mjs";

const connecting = pair("cosmoshub", (url) => connectComet(url));
const clients = { node: await connecting.node, gateway: await connecting.gateway };
const same = comparing(clients);
const fails = comparingErrors(clients);
const { sentAt, failedAt, first } = known.cosmoshub;

same("status", async (client) => (await client.status()).nodeInfo);
same("application", async (client) => (await client.abciInfo()).data);
same("health", (client) => client.health());
for (const height of [first, sentAt, failedAt]) {
  same(`block ${height}`, (client) => client.block(height));
  same(`results of block ${height}`, (client) => client.blockResults(height));
}
same("transaction", (client) => client.tx({ hash: Buffer.from(known.cosmoshub.hash, "hex") }), ({ height }) =>
  assert.equal(height, sentAt),
);
fails("a block of the future", (client) => client.block(10 ** 9), /must be less than or equal/);
fails("an unknown transaction", (client) => client.tx({ hash: new Uint8Array(32) }), /not found/);

test("one moment's requests are one batch", async () => {
  const batching = pair("cosmoshub", (url) => Comet38Client.create(new HttpBatchClient(url)));
  const reads = async (connecting) => {
    const client = await connecting;
    return Promise.all([client.block(sentAt), client.blockResults(sentAt), client.abciInfo().then(({ data }) => data)]);
  };
  assert.deepStrictEqual(await reads(batching.gateway), await reads(batching.node));
  for (const client of Object.values(batching)) (await client).disconnect();
});

test("what broadcasts and what asks a node's state by path is refused", async () => {
  const client = clients.gateway;
  await assert.rejects(client.broadcastTxSync({ tx: new Uint8Array(4) }), /-32601/);
  await assert.rejects(client.abciQuery({ path: "/store/bank/key", data: new Uint8Array(1) }), /-32601/);
});
