import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { Document, Schema } from "../src/gateway/document.ts";
import { operationsOf, type Operation } from "../src/sections/operations/catalogue.ts";
import { LANGUAGES, messageOf, shell, snake, snippet } from "../src/sections/operations/snippets.ts";

const origin = "http://127.0.0.1:8080";
const text: Schema = { type: "string" };
const properties: Record<string, Schema> = {
  chain: text,
  from: { ...text, "x-grpc-name": "from_address" },
  groupBy: { type: "string", enum: ["day"], "x-grpc-values": { day: "USAGE_GROUP_DAY" } },
  height: { type: ["string", "integer"], "x-grpc-type": "integer", "x-grpc-values": { latest: -1 } },
  tokenIds: { anyOf: [{ type: "array", items: { type: ["string", "integer"], "x-grpc-type": "string" } }, text] },
  items: { anyOf: [{ type: "array", items: { type: "object", properties: { chain: text, blockHeight: { type: "integer" }, token: text } } }, text] },
  args: { "x-grpc-type": "json" },
};
const operation = (more: Record<string, unknown> = {}): Operation => {
  const params = Object.entries(properties).map(([name, schema]) => ({ name, schema }));
  const document: Document = {
    methods: [{ name: "getThing", params, "x-grpc": "/waypost.v1.ThingService/GetThing", "x-python": "things.get_thing", ...more }],
    components: { schemas: {}, errors: {}, tags: {} },
  };
  return operationsOf(document)[0] as Operation;
};
const HOSTILE = "it's $HOME `id` \"\\ ${x} %s\n\u202e\u{e0001}\u{1f600}";

/** Returns the arguments of a command as a shell sees them. */
const words = (command: string): string[] =>
  execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }; grpcurl() { printf '%s\\0' "$@"; }; WAYPOST_KEY=secret; ${command}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

test("any text survives the shell", () => {
  for (const value of [HOSTILE, "'", "''", "-d", "@file", "", "a b"]) assert.deepEqual(words(`curl ${shell(value)}`), [value]);
});

test("curl posts the params as they are", () => {
  const params = { chain: HOSTILE, items: [{ chain: "a" }], args: [2n ** 70n] };
  const [, url, , , , body] = words(snippet("curl", operation(), params, { origin }));
  assert.equal(url, `${origin}/secret/v1`);
  assert.equal(JSON.parse(body ?? "").params.chain, HOSTILE);
  assert.ok(body?.includes("1180591620717411303424"));
});

test("grpcurl has the message in the JSON form of protobuf", () => {
  const params = { chain: HOSTILE, from: "0xa", groupBy: "day", height: "latest", tokenIds: [1, "2"], items: [{ chain: "a", blockHeight: 5 }], args: ["x", null] };
  const message = { ...params, groupBy: "USAGE_GROUP_DAY", height: -1, tokenIds: ["1", "2"], args: { json: '["x",null]' } };
  assert.deepEqual(messageOf(operation(), params), message);
  assert.deepEqual(messageOf(operation(), { height: "0x10" }), { height: 16 });
  assert.deepEqual(messageOf(operation(), { height: "no number" }), { height: "no number" });
  const [plain, , key, , body, address, path] = words(snippet("grpcurl", operation({ "x-grpc-with": { method: "svc_a" } }), params, { origin }));
  assert.deepEqual([plain, key, address, path], ["-plaintext", "x-api-key: secret", "127.0.0.1:50051", "waypost.v1.ThingService/GetThing"]);
  assert.deepEqual(JSON.parse(body ?? ""), { method: "svc_a", ...message });
  assert.ok(!snippet("grpcurl", operation(), {}, { origin: "https://gateway.example" }).includes("-plaintext"));
});

test("Python has the client's own names and values", () => {
  const params = { chain: HOSTILE, from: "0xa", groupBy: "day", height: "latest", items: [{ chain: "a", blockHeight: 5 }], args: [true, null] };
  const written = snippet("Python", operation(), params, { origin });
  assert.ok(written.includes("client.things.get_thing("));
  for (const part of ['from_address="0xa"', 'group_by="day"', "height=-1", 'items=[{"chain": "a", "block_height": 5}]', "args=[True, None]", 'os.environ["WAYPOST_KEY"]'])
    assert.ok(written.includes(part), part);
  assert.ok(written.includes('"it\'s $HOME `id` \\"\\\\ ${x} %s\\n\\u202e\\U000e0001\u{1f600}"'));
  assert.ok(snippet("Python", operation(), {}, { origin: "http://gateway.example" }).includes("tls=False"));
  assert.equal(snake("getDexAV2Quote"), "get_dex_a_v2_quote");
});

test("TypeScript has the params as an object, beyond 2^53 as bigint", () => {
  const written = snippet("TypeScript", operation(), { chain: "a", "odd-name": 2n ** 60n }, { origin });
  assert.ok(written.includes('getThing({ chain: "a", "odd-name": 1152921504606846976n })'));
  assert.ok(written.includes('`http://127.0.0.1:8080/${process.env["WAYPOST_KEY"]}/v1`'));
  assert.ok(snippet("TypeScript", operation(), {}, { origin }).includes("waypost.getThing();"));
});

test("the key is a variable until it is given, and nothing that is hidden is written", () => {
  for (const language of LANGUAGES) {
    const written = snippet(language, operation(), { chain: HOSTILE }, { origin });
    assert.ok(written.includes("WAYPOST_KEY"), language);
    assert.ok(!/[\u202e\u{e0001}]/u.test(written), language);
    const shown = snippet(language, operation(), {}, { origin, key: "key_1-2" });
    assert.ok(shown.includes("key_1-2") && !shown.includes("WAYPOST_KEY"), language);
  }
});

test("watches are event streams with their parameters in the query", () => {
  const watch: Operation = { ...operation(), kind: "watch", name: "watchThing", eventStream: "/${key}/v1/stream/watchThing", python: "streams.watch_thing" };
  const params = { chain: "a b", tokenIds: ["0xa", "0xb"], items: [{ chain: "a", blockHeight: 5 }, { chain: "b", blockHeight: 6, token: "t" }] };
  assert.deepEqual(words(snippet("curl", watch, params, { origin })), [
    ...["-N", "-G", `${origin}/secret/v1/stream/watchThing`],
    ...["chain=a b", "tokenIds=0xa", "tokenIds=0xb", "items=a:5,b:6:t"].flatMap((member) => ["--data-urlencode", member]),
  ]);
  assert.ok(snippet("Python", watch, { chain: "a" }, { origin }).includes('for event in client.streams.watch_thing(chain="a"):'));
  assert.ok(snippet("TypeScript", watch, { chain: "a" }, { origin }).includes('for await (const event of waypost.watchThing({ chain: "a" }))'));
});
