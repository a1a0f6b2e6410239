// @solana/web3.js 1 on the gateway as on the node.

import assert from "node:assert/strict";
import test from "node:test";
import { Connection, Keypair, PublicKey, SendTransactionError, SystemProgram, Transaction } from "@solana/web3.js";
import { comparing, comparingErrors, known, pair } from "./pairs.mjs";

const clients = pair("solana", (url) => new Connection(url, "confirmed"));
const same = comparing(clients);
const fails = comparingErrors(clients);
const { alice, untouched, usdc, tokenProgram, versioned, versionedSlot, failed, skipped } = known.solana;
const [owner, mint, nobody] = [alice, usdc, untouched].map((text) => new PublicKey(text));
const versions = { maxSupportedTransactionVersion: 0 };

same("genesis", (connection) => connection.getGenesisHash());
same("version", (connection) => connection.getVersion());
same("rent", (connection) => connection.getMinimumBalanceForRentExemption(165));
same("epoch", async (connection) => (await connection.getEpochInfo()).slotsInEpoch);
same("first block", (connection) => connection.getFirstAvailableBlock());
same("balance", (connection) => connection.getBalance(owner), (lamports) => assert.ok(lamports > 0));
same("account", (connection) => connection.getAccountInfo(mint), (account) => assert.ok(account.data.length));
same("account that is not there", (connection) => connection.getAccountInfo(nobody), (account) => assert.equal(account, null));
same("parsed account", async (connection) => (await connection.getParsedAccountInfo(mint)).value);
same("accounts", (connection) => connection.getMultipleAccountsInfo([owner, mint, nobody]));
same("supply", async (connection) => (await connection.getTokenSupply(mint)).value);
same("accounts of an owner, by mint", async (connection) => (await connection.getTokenAccountsByOwner(owner, { mint })).value);
same("parsed accounts of an owner, by program", async (connection) =>
  (await connection.getParsedTokenAccountsByOwner(owner, { programId: new PublicKey(tokenProgram) })).value,
);
same("transaction", (connection) => connection.getTransaction(versioned, versions), (found) => assert.ok(found.slot));
same("transactions, as a batch", (connection) => connection.getTransactions([versioned, failed], versions), (found) =>
  assert.equal(found.length, 2),
);
same("how a transaction ended", async (connection) =>
  (await connection.getSignatureStatus(failed, { searchTransactionHistory: true })).value,
);
same("signatures of an address", (connection) => connection.getSignaturesForAddress(owner, { limit: 3 }));
same("block", (connection) => connection.getBlockSignatures(versionedSlot));
same("block without transactions", (connection) => connection.getBlock(versionedSlot, { ...versions, transactionDetails: "none", rewards: false }));
same("time of a block", (connection) => connection.getBlockTime(versionedSlot));
same("slot and height", async (connection) => [typeof (await connection.getSlot()), typeof (await connection.getBlockHeight())]);
same("newest blockhash", async (connection) => Object.keys(await connection.getLatestBlockhash()));

fails("a skipped slot", (connection) => connection.getBlock(skipped, { ...versions, transactionDetails: "none", rewards: false }), /-32007|-32009/);
fails("a transaction of a version that is not taken", (connection) => connection.getTransaction(versioned), /-32015/);
fails("no token account", (connection) => connection.getTokenAccountBalance(owner), /./);

test("what writes is refused", async () => {
  await assert.rejects(clients.gateway.requestAirdrop(owner, 1), /not (passed|allowed|found|on)|requestAirdrop/);
  const payer = Keypair.generate();
  const transaction = new Transaction({ feePayer: payer.publicKey, ...(await clients.gateway.getLatestBlockhash()) });
  transaction.add(SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: owner, lamports: 1 }));
  await assert.rejects(clients.gateway.sendTransaction(transaction, [payer], { skipPreflight: true }), SendTransactionError);
});
