// @solana/kit on the gateway as on the node.

import assert from "node:assert/strict";
import test from "node:test";
import { address, createSolanaRpc, fetchEncodedAccount, fetchEncodedAccounts, fetchJsonParsedAccount, signature } from "@solana/kit";
import { comparing, comparingErrors, known, pair } from "./pairs.mjs";

const clients = pair("solana", createSolanaRpc);
const same = comparing(clients);
const fails = comparingErrors(clients);
const { alice, untouched, usdc, tokenProgram, versioned, versionedSlot, failed, skipped } = known.solana;
const [owner, mint] = [address(alice), address(usdc)];

// The context names the slot of the moment.
const valueOf = async (request) => (await request.send()).value;

same("genesis", (rpc) => rpc.getGenesisHash().send());
same("version", (rpc) => rpc.getVersion().send());
same("health", (rpc) => rpc.getHealth().send());
same("epoch", async (rpc) => (await rpc.getEpochInfo().send()).slotsInEpoch);
same("first block", (rpc) => rpc.getFirstAvailableBlock().send());
same("rent", (rpc) => rpc.getMinimumBalanceForRentExemption(165n).send());
same("balance", (rpc) => valueOf(rpc.getBalance(owner)), (lamports) => assert.ok(lamports > 0n));
same("balance at a commitment", (rpc) => valueOf(rpc.getBalance(owner, { commitment: "finalized" })));
same("account", (rpc) => fetchEncodedAccount(rpc, mint), ({ exists }) => assert.ok(exists));
same("account that is not there", (rpc) => fetchEncodedAccount(rpc, address(untouched)), ({ exists }) => assert.ok(!exists));
same("accounts", (rpc) => fetchEncodedAccounts(rpc, [owner, mint, address(untouched)]));
same("parsed account", (rpc) => fetchJsonParsedAccount(rpc, mint));
same("supply", (rpc) => valueOf(rpc.getTokenSupply(mint)));
same("accounts of an owner, by mint", (rpc) => valueOf(rpc.getTokenAccountsByOwner(owner, { mint }, { encoding: "jsonParsed" })), (rows) =>
  assert.equal(rows.length, 3),
);
same("accounts of an owner, by program", (rpc) =>
  valueOf(rpc.getTokenAccountsByOwner(owner, { programId: address(tokenProgram) }, { encoding: "base64" })),
);
same("held in an account", async (rpc) => {
  const [{ pubkey }] = await valueOf(rpc.getTokenAccountsByOwner(owner, { mint }, { encoding: "base64" }));
  return valueOf(rpc.getTokenAccountBalance(pubkey));
});
same("transaction", (rpc) =>
  rpc.getTransaction(signature(versioned), { maxSupportedTransactionVersion: 0, encoding: "json" }).send(), (found) => assert.ok(found.slot),
);
same("parsed transaction that failed", (rpc) =>
  rpc.getTransaction(signature(failed), { maxSupportedTransactionVersion: 0, encoding: "jsonParsed" }).send(), (found) =>
  assert.ok(found.meta.err),
);
same("an unknown transaction is null", (rpc) =>
  rpc.getTransaction(signature(versioned.slice(0, -4) + "2222"), { maxSupportedTransactionVersion: 0, encoding: "json" }).send(), (found) =>
  assert.equal(found, null),
);
same("how transactions ended", (rpc) => valueOf(rpc.getSignatureStatuses([signature(versioned), signature(failed)], { searchTransactionHistory: true })));
same("signatures of an address", (rpc) => rpc.getSignaturesForAddress(owner, { limit: 3 }).send());
same("block", (rpc) =>
  rpc.getBlock(BigInt(versionedSlot), { maxSupportedTransactionVersion: 0, transactionDetails: "signatures", rewards: false }).send(),
);
same("time of a block", (rpc) => rpc.getBlockTime(BigInt(versionedSlot)).send());
same("slot and height", async (rpc) => [typeof (await rpc.getSlot().send()), typeof (await rpc.getBlockHeight().send())]);
same("newest blockhash", async (rpc) => Object.keys(await valueOf(rpc.getLatestBlockhash())));

fails("a skipped slot", (rpc) => rpc.getBlock(BigInt(skipped), { maxSupportedTransactionVersion: 0, transactionDetails: "none" }).send(), /-32007|-32009/);
fails("a slot of the future", (rpc) => rpc.getBlock(900_000_000n, { maxSupportedTransactionVersion: 0, transactionDetails: "none" }).send(), /-32004|-3/);
fails("a transaction of a version that is not taken", (rpc) => rpc.getTransaction(signature(versioned), { encoding: "json" }).send(), /-32015/);
fails("no token account", (rpc) => rpc.getTokenAccountBalance(owner).send(), /-32602/);

test("what writes is refused", async () => {
  await assert.rejects(clients.gateway.requestAirdrop(owner, 1n).send(), ({ context }) => context.__code === -32601);
  await assert.rejects(clients.gateway.sendTransaction("AA==", { encoding: "base64" }).send(), ({ context }) => context.__code === -32601);
});
