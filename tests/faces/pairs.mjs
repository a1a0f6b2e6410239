// A client on a chain's own node and the same client on the gateway: what both answer to one read, side by side.
// WAYPOST_FACES (scripts/faces.py) has the addresses by chain and what is certain.

import assert from "node:assert/strict";
import test from "node:test";

const { base, keys, chains, known } = JSON.parse(process.env.WAYPOST_FACES);

export { known };

/** The gateway's address of a chain with another key: "wrong", or "tight", which has one unit a second. */
export function addressWith(key, chain) {
  return `${base}/${keys[key]}/rpc/${chain}`;
}

/** Wait until a condition holds. */
export async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Where a chain's node is, and the gateway's address for it. */
export function addresses(chain) {
  return chains[chain];
}

/** Both clients, each made of its address; `member` is "http" or "ws". */
export function pair(chain, make, member = "http") {
  const { node, gateway } = chains[chain];
  return { node: make(node[member]), gateway: make(gateway[member]) };
}

/** A text without the addresses, request ids and process times that differ from client to client. */
function neutral(text) {
  const urls = Object.values(chains).flatMap(({ node, gateway }) => [...Object.values(gateway), ...Object.values(node)]);
  return urls
    .toSorted((one, other) => other.length - one.length)
    .reduce((left, url) => left.replaceAll(`${url}/`, "<address>").replaceAll(url, "<address>"), text)
    .replaceAll(/"id": ?"?[0-9a-f-]+"?/g, '"id":0');
}

const TOLD = ["name", "code", "status", "data", "shortMessage", "reason", "revert", "baseError", "args", "context"];

// Of an error all that a program can decide by, down its causes.
function described(error) {
  if (!(error instanceof Error)) return error;
    const rest = Object.fromEntries(TOLD.filter((name) => error[name] !== undefined).map((name) => [name, error[name]]));
  if (rest.shortMessage) rest.shortMessage = neutral(rest.shortMessage);
  // ethers: a list that is a proxy, which equals no other.
  if (rest.revert) rest.revert = { ...rest.revert, args: [...rest.revert.args] };
  return { ...rest, message: neutral(error.message), cause: error.cause && described(error.cause) };
}

/** What a read ended with: {value} or {error}. */
export async function outcome(read, client) {
  try {
    return { value: await read(client) };
  } catch (error) {
    return { error: described(error) };
  }
}

/** Return a function that declares tests: a read gives on the gateway the value that it gives on the node. */
export function comparing(clients) {
  return (name, read, check = () => {}) =>
    test(name, async () => {
      const expected = await outcome(read, clients.node);
      assert.ok(!("error" in expected), `the node itself failed: ${expected.error?.message}`);
      check(expected.value);
      assert.deepStrictEqual(await outcome(read, clients.gateway), expected);
    });
}

/** The same for reads that fail: the client raises the same error, which has the text or passes the check. */
export function comparingErrors(clients) {
  return (name, read, wanted) =>
    test(name, async () => {
      const expected = await outcome(read, clients.node);
      assert.ok("error" in expected, "the node itself answered");
      if (wanted instanceof RegExp) assert.match(JSON.stringify(expected.error, written), wanted);
      assert.deepStrictEqual(await outcome(read, clients.gateway), expected);
    });
}

function written(_, value) {
  return typeof value === "bigint" ? String(value) : value;
}
