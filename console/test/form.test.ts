import assert from "node:assert/strict";
import { test } from "node:test";
import type { Param, Schema } from "../src/gateway/document.ts";
import { fieldsOf, linkOf, paramsOf, pathNamed, pathsOf, shown, Unsendable, valuesOf, type Values } from "../src/sections/operations/form.ts";

const param = (name: string, schema: Schema, required = false): Param => ({ name, schema, required });
const text: Schema = { type: "string" };
const csv: Schema = { type: "string", description: "The same, separated by commas." };
const chain: Schema = { type: "string", pattern: "^[a-z0-9]+$" };
const item: Schema = { type: "object", properties: { chain, block: { type: "integer" } }, required: ["chain", "block"] };
const block: Schema = { type: ["string", "integer"], pattern: "^([0-9]+|latest)$", examples: [26050000], default: "latest" };

const roundTrip = (params: readonly Param[], given: Record<string, unknown>) => {
  const fields = fieldsOf(params);
  const values = Object.fromEntries(fields.map((field) => [field.name, shown(field, given[field.name])]));
  const linked = valuesOf(fields, new URLSearchParams(linkOf(fields, values).toString()));
  return [paramsOf(fields, values), paramsOf(fields, linked)];
};

test("every form of a schema is shown, read and linked as it was", () => {
  const cases: [Schema, unknown][] = [
    [text, "it's \"quoted\" & <b>, a=b\u202e"],
    [chain, "base"],
    [block, 26050001],
    [block, "latest"],
    [{ type: ["string", "integer"], examples: ["1"] }, "115792089237316195423570985008687907853269984665640564039457584007913129639935"],
    [{ type: "integer" }, 2n ** 60n],
    [{ type: "integer", enum: [500, 3000] }, 500],
    [{ type: "string", enum: ["hour", "day"] }, "day"],
    [{ type: "number" }, 1000000],
    [{ type: "number" }, 1.5e-7],
    [{ type: "boolean" }, false],
    [{ anyOf: [{ type: "array", items: text }, csv] }, ["0xa", "0xb"]],
    [{ anyOf: [{ type: "array", items: text }, csv] }, ["a,b", "c"]],
    [{ type: "array", items: { type: "integer" } }, [1, 2]],
    [{ anyOf: [{ type: "array", items: item }, csv] }, [{ chain: "base", block: 1 }, { chain: "bitcoin", block: 0 }]],
    [{ type: "array", items: [text, { type: "boolean" }, { type: ["string", "integer"] }] }, ["0xa", true, "7"]],
    [{ type: "array", items: [{ anyOf: [text, { type: "null" }] }, { type: "null" }] }, ["0xa", null]],
    [{ type: "object", properties: { inner: item, flag: { type: "boolean" } } }, { inner: { chain: "base", block: 5 }, flag: true }],
    [{}, [{ deep: [1, null, "x"] }]],
    [{}, "text that is JSON"],
  ];
  for (const [schema, value] of cases) for (const found of roundTrip([param("value", schema, true)], { value })) assert.deepEqual(found, { value });
});

test("what is empty is left out, places of lists are kept", () => {
  const fields = fieldsOf([
    param("chain", chain, true),
    param("list", { type: "array", items: text }),
    param("items", { type: "array", items: item }, true),
    param("args", { type: "array", items: [text, text] }, true),
    param("filters", { type: "array", items: [{ anyOf: [text, { type: "null" }] }, { type: "null" }] }, true),
    param("none", { type: "array", maxItems: 0 }),
  ]);
  assert.deepEqual(fields.map(({ name }) => name), ["chain", "list", "items", "args", "filters"]);
  const empty = valuesOf(fields, new URLSearchParams());
  assert.deepEqual(paramsOf(fields, empty), { items: [{}], filters: [null, null] });
  assert.deepEqual(paramsOf(fields, { ...empty, chain: "  ", list: "\n a \n\n", items: [], args: ["", "x"] }), { list: ["a"], args: [null, "x"], filters: [null, null] });
});

test("nothing is checked before it is sent, but broken JSON cannot be", () => {
  const fields = fieldsOf([param("number", { type: "number" }), param("block", { type: "integer" }), param("fee", { type: "integer", enum: [500] }), param("params", {})]);
  const typed: Values = { number: "1,5", block: "0x10", fee: "7", params: "" };
  assert.deepEqual(paramsOf(fields, typed), { number: "1,5", block: "0x10", fee: 7 });
  assert.throws(
    () => paramsOf(fields, { ...typed, params: "[1," }),
    (error) => error instanceof Unsendable && error.field === "params",
  );
});

test("a link says what it says; the rest is as in the example where it is needed", () => {
  const fields = fieldsOf([param("chain", chain, true), param("address", text, true), param("block", block)]);
  const example = { chain: "ethereum", address: "0xa", block: 1 };
  assert.deepEqual(valuesOf(fields, new URLSearchParams(), example), { chain: "ethereum", address: "0xa", block: "1" });
  assert.deepEqual(valuesOf(fields, new URLSearchParams("chain=base"), example), { chain: "base", address: "0xa", block: "" });
  const cleared = { chain: "base", address: "", block: "" };
  assert.equal(linkOf(fields, cleared).toString(), "chain=base&address=");
  assert.deepEqual(valuesOf(fields, linkOf(fields, cleared), example), cleared);
  assert.deepEqual(valuesOf(fieldsOf([param("list", { type: "array", items: text })]), new URLSearchParams("list=a,b")), { list: "a\nb" });
  assert.equal(linkOf(fields, { ...cleared, address: "a".repeat(3000) }).has("address"), false);
});

test("the field that an error names is found, or the nearest one around it", () => {
  const fields = fieldsOf([
    param("chain", chain, true),
    param("addresses", { anyOf: [{ type: "array", items: text }, csv] }),
    param("items", { type: "array", items: item }, true),
    param("args", { type: "array", items: [text] }),
    param("params", {}),
  ]);
  const paths = pathsOf(fields, { items: [{ chain: "", block: "" }, { chain: "", block: "" }] });
  assert.equal(pathNamed("chain", paths, false), "chain");
  assert.equal(pathNamed("addresses[3]", paths, false), "addresses");
  assert.equal(pathNamed("items[1].block", paths, false), "items[1].block");
  assert.equal(pathNamed("params[1].chain", paths, true), "items[1].chain");
  assert.equal(pathNamed("params[1].chain", paths, false), "params");
  assert.equal(pathNamed("items[7].chain", paths, false), "items");
  assert.equal(pathNamed("args", paths, false), "args[0]");
  assert.equal(pathNamed("args[0]", paths, false), "args[0]");
  assert.equal(pathNamed("unknown", paths, false), undefined);
});

test("forms know what is chosen, how many there may be and what they look like", () => {
  const [one, many, fee] = fieldsOf([
    param("chain", { ...chain, examples: ["base"] }, true),
    param("chains", { anyOf: [{ type: "array", items: chain, maxItems: 24 }, csv], examples: [["base", "linea"]] }),
    param("height", { ...block, examples: [] }),
  ]);
  assert.deepEqual([one?.control, one?.placeholder, one?.isRequired], ["chain", "base", true]);
  assert.deepEqual([many?.control, many?.placeholder, many?.most], ["list", "base\nlinea", 24]);
  assert.deepEqual([fee?.control, fee?.placeholder], ["text", "latest"]);
});
