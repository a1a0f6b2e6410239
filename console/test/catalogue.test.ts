import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document, Method } from "../src/gateway/document.ts";
import { grouped, operationsOf, search } from "../src/sections/operations/catalogue.ts";

const method = (name: string, service: string, summary: string, more: Partial<Method> = {}): Method => ({
  name,
  summary,
  tags: [{ $ref: `#/components/tags/${service}` }],
  "x-grpc": `/waypost.v1.${service}/${name}`,
  "x-cost": 1,
  params: [],
  ...more,
});
const tags = Object.fromEntries(["AccountService", "TokenService", "StreamService"].map((name) => [name, { name, description: `About ${name}.` }]));
const document = (methods: readonly Method[]): Document => ({ methods, components: { schemas: {}, errors: {}, tags } });
const text = { type: "string" };
const METHODS = [
  method("getBalance", "AccountService", "Returns the native balance of an account.", {
    description: "Use it for gas coins. Chain families: bitcoin, evm; chains: all of the family.",
    params: [{ name: "chain", required: true, schema: text }],
    examples: [{ name: "required parameters", params: [{ name: "chain", value: "base" }] }],
  }),
  method("getTokenBalance", "TokenService", "Returns how much of a token an account holds.", { description: "Chain families: evm; chains: ethereum, base." }),
  method("getTokens", "TokenService", "Lists tokens with a balance.", {
    params: [{ name: "items", schema: { anyOf: [{ type: "array", items: { type: "object", properties: { wallet: text } } }, text] } }],
  }),
  method("subscribe", "StreamService", "Begins.", {
    "x-transport": "websocket",
    "x-watches": {
      watchBlocks: {
        summary: "Sends blocks.",
        description: "Use it to follow a chain.",
        "x-grpc": "/waypost.v1.StreamService/WatchBlocks",
        "x-families": ["evm"],
        params: { type: "object", properties: { chain: { ...text, examples: ["ethereum"] }, cursor: text }, required: ["chain"] },
        example: { chain: "ethereum" },
      },
    },
  }),
  method("unsubscribe", "StreamService", "Ends.", { "x-transport": "websocket" }),
];
const names = (found: readonly { name: string }[]) => found.map(({ name }) => name);

test("everything in the document is an operation; watches stand for the methods of sockets", () => {
  const operations = operationsOf(document([...METHODS, method("getNewThing", "TokenService", "Added.")]));
  assert.deepEqual(names(operations), ["getBalance", "getTokenBalance", "getTokens", "watchBlocks", "getNewThing"]);
  const [balance, token, tokens, watch] = operations;
  assert.equal(balance?.families, "bitcoin, evm");
  assert.equal(balance?.chains, undefined);
  assert.equal(balance?.description, "Use it for gas coins.");
  assert.deepEqual(token?.chains, ["ethereum", "base"]);
  assert.deepEqual(balance?.example, { chain: "base" });
  assert.equal(tokens?.takesItems, true);
  assert.equal(watch?.kind, "watch");
  assert.equal(watch?.service, "StreamService");
  assert.deepEqual(
    watch?.params.map(({ name, required }) => [name, required]),
    [
      ["chain", true],
      ["cursor", false],
    ],
  );
  assert.deepEqual(watch?.example, { chain: "ethereum" });
});

test("a service that the document does not describe is a group of its own", () => {
  const [only] = operationsOf(document([{ name: "odd", params: [], "x-grpc": "/some.v1.OddService/Odd" }]));
  assert.equal(only?.service, "OddService");
  assert.equal(only?.cost, undefined);
});

test("names come before summaries, summaries before descriptions; every word must be found", () => {
  const operations = operationsOf(document(METHODS));
  assert.deepEqual(names(search(operations, "balance")), ["getBalance", "getTokenBalance", "getTokens"]);
  assert.deepEqual(names(search(operations, "token balance")), ["getTokenBalance", "getTokens"]);
  assert.deepEqual(names(search(operations, "getTokenBalance")), ["getTokenBalance"]);
  assert.deepEqual(names(search(operations, "  BLOCKS ")), ["watchBlocks"]);
  assert.deepEqual(names(search(operations, "wallet")), ["getTokens"]);
  assert.deepEqual(names(search(operations, "gas coins")), ["getBalance"]);
  assert.deepEqual(names(search(operations, "streamservice")), ["watchBlocks"]);
  assert.deepEqual(names(search(operations, "balance nothing")), []);
  assert.deepEqual(names(search(operations, "(*[")), []);
  assert.equal(search(operations, " ").length, operations.length);
});

test("groups come in the order of their best operation", () => {
  const groups = grouped(search(operationsOf(document(METHODS)), "get balance"));
  assert.deepEqual(
    groups.map(({ service, about, operations }) => [service, about, names(operations)]),
    [
      ["AccountService", "About AccountService.", ["getBalance"]],
      ["TokenService", "About TokenService.", ["getTokenBalance", "getTokens"]],
    ],
  );
});
