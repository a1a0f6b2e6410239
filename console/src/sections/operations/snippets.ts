/** The same call in other languages. Texts of the document and of the user are quoted for each of them. */
import type { Schema } from "../../gateway/document.ts";
import { printExact } from "../../gateway/exact.ts";
import type { Operation } from "./catalogue.ts";
import { formOf } from "./form.ts";

export type Language = "curl" | "grpcurl" | "Python" | "TypeScript";
export const LANGUAGES: readonly Language[] = ["curl", "grpcurl", "Python", "TypeScript"];

export interface Place {
  /** The page's own origin: `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** Written in place of the variable that holds it. */
  readonly key?: string;
}
type Params = Readonly<Record<string, unknown>>;

export const GRPC_PORT = 50051;
const VARIABLE = "WAYPOST_KEY";
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];
const WIDTH = 96;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Returns the program or command. */
export function snippet(language: Language, operation: Operation, params: Params, place: Place): string {
  return WRITERS[language](operation, params, place);
}

const WRITERS: Readonly<Record<Language, (operation: Operation, params: Params, place: Place) => string>> = { curl, grpcurl, Python: python, TypeScript: typescript };

function curl({ name, kind, eventStream, params: described }: Operation, params: Params, { origin, key }: Place): string {
  const user = key ?? `$${VARIABLE}`;
  if (kind === "watch") {
    const path = (eventStream ?? `/\${key}/v1/stream/${name}`).split("${key}").map(inDoubleQuotes).join(user);
    const members = described.flatMap((param) => queryOf(param.schema, params[param.name]).map((text) => `--data-urlencode ${shell(`${param.name}=${text}`)}`));
    return [`curl -N -G "${inDoubleQuotes(origin)}${path}"`, ...members].join(" \\\n  ");
  }
  const body = { jsonrpc: "2.0", id: 1, method: name, params };
  return [`curl -s "${inDoubleQuotes(origin)}/${user}/v1"`, "-H 'Content-Type: application/json'", `-d ${shell(jsonLines(body))}`].join(" \\\n  ");
}

/** Returns a parameter as query members have it: lists are repeated, items text with colons. */
function queryOf(schema: Schema, value: unknown): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [String(value)];
  const { items } = formOf(schema);
  const names = Object.keys((items as Schema | undefined)?.properties ?? {});
  if (names.length === 0) return value.map(String);
  const rows = value.map((row) => names.map((name) => String((row as Params)[name] ?? "")).join(":").replace(/:+$/, ""));
  return rows.length === 0 ? [] : [rows.join(",")];
}

function grpcurl(operation: Operation, params: Params, { origin, key }: Place): string {
  const { protocol, hostname } = new URL(origin);
  return [
    `grpcurl ${protocol === "https:" ? "" : "-plaintext "}-H "x-api-key: ${key ?? `$${VARIABLE}`}"`,
    `-d ${shell(jsonLines({ ...operation.fixed, ...messageOf(operation, params) }))}`,
    `${shell(`${hostname}:${GRPC_PORT}`)} ${shell((operation.grpc ?? "").replace(/^\//, ""))}`,
  ].join(" \\\n  ");
}

/** Returns the request message in the JSON form of protobuf. */
export function messageOf({ params: described }: Operation, params: Params): Record<string, unknown> {
  const schemas = new Map(described.map(({ name, schema }) => [name, schema]));
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, messageValue(schemas.get(name) ?? {}, value)]));
}

function messageValue(given: Schema, value: unknown): unknown {
  const schema = { ...formOf(given), ...xMembers(given) };
  if (schema["x-grpc-type"] === "json") return { json: printExact(value) };
  return converted(schema, value, messageValue, (name) => name, true);
}

/** Returns a value whose texts, integers and words are those of the message; `named` gives the names of members of objects, `isWords` writes enums by their values' names. */
function converted(
  schema: Schema,
  value: unknown,
  each: (schema: Schema, value: unknown) => unknown,
  named: (name: string, schema: Schema) => string,
  isWords: boolean,
): unknown {
  if (Array.isArray(value)) return value.map((one) => each(Array.isArray(schema.items) ? {} : ((schema.items as Schema | undefined) ?? {}), one));
  if (value !== null && typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => {
        const member = schema.properties?.[name] ?? {};
        return [named(name, member), each(member, one)];
      }),
    );
  const words = schema["x-grpc-values"] as Readonly<Record<string, unknown>> | undefined;
  const type = schema["x-grpc-type"];
  if (words !== undefined && Object.hasOwn(words, String(value)) && (isWords || type === "integer")) return words[String(value)];
  if (type === "string" && value !== null) return String(value);
  if (type === "integer" && typeof value === "string" && /^([0-9]+|0x[0-9a-fA-F]+)$/.test(value)) {
    const whole = BigInt(value);
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
  return value;
}

const xMembers = (schema: Schema): Schema => Object.fromEntries(Object.entries(schema).filter(([name]) => name.startsWith("x-grpc-")));

function python({ kind, python: path, fixed, params: described, grpc }: Operation, params: Params, { origin, key }: Place): string {
  const { protocol, hostname } = new URL(origin);
  const schemas = new Map(described.map(({ name, schema }) => [name, schema]));
  const given = [
    ...Object.entries(fixed),
    ...Object.entries(params).map(([name, value]): [string, unknown] => [argument(name, schemas.get(name) ?? {}), pythonValue(schemas.get(name) ?? {}, value)]),
  ];
  const call = path ?? snake(grpc?.split("/").pop() ?? "");
  const secure = protocol === "https:" ? (LOCAL.includes(hostname) ? ", tls=True" : "") : LOCAL.includes(hostname) ? "" : ", tls=False";
  const user = key === undefined ? `os.environ["${VARIABLE}"]` : pythonText(key);
  const indent = "    ";
  const made = invocation(`client.${call}`, given.map(([name, value]) => `${name}=${pythonOf(value)}`), indent);
  return [
    ...(key === undefined ? ["import os", ""] : []),
    "from waypost import Waypost",
    "",
    `with Waypost(${pythonText(`${hostname}:${GRPC_PORT}`)}, key=${user}${secure}) as client:`,
    ...(kind === "watch" ? [`${indent}for event in ${made}:`, `${indent}${indent}print(event)`] : [`${indent}answer = ${made}`, `${indent}print(answer)`]),
  ].join("\n");
}

function pythonValue(given: Schema, value: unknown): unknown {
  const schema = { ...formOf(given), ...xMembers(given) };
  return schema["x-grpc-type"] === "json" ? value : converted(schema, value, pythonValue, argument, false);
}

const argument = (name: string, schema: Schema): string => (typeof schema["x-grpc-name"] === "string" ? schema["x-grpc-name"] : snake(name));

/** Returns a name as the Python client writes it: `getDexAV2Quote` becomes `get_dex_a_v2_quote`. */
export const snake = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=V[0-9])/g, "_").toLowerCase();

function invocation(name: string, given: readonly string[], indent: string): string {
  const line = `${name}(${given.join(", ")})`;
  if (line.length + indent.length <= WIDTH || given.length === 0) return line;
  return `${name}(\n${given.map((one) => `${indent}${indent}${one},\n`).join("")}${indent})`;
}

function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, one]) => `${pythonText(name)}: ${pythonOf(one)}`).join(", ")}}`;
  return String(value);
}

// Two escapes that stand for one character beyond U+FFFF are two characters in Python.
const pythonText = (text: string): string =>
  escaped(JSON.stringify(text), (point) => (point > 0xffff ? `\\U${point.toString(16).padStart(8, "0")}` : undefined));

function typescript({ name, kind }: Operation, params: Params, { origin, key }: Place): string {
  const user = key ?? `\${process.env["${VARIABLE}"]}`;
  const url = `\`${inTemplate(origin)}/${user}/v1\``;
  const given = typescriptOf(params);
  const shown = given === "{}" ? "" : given;
  if (kind === "published")
    return [
      'import { call } from "@waypost/client/jsonrpc";',
      "",
      `const { data } = await call(${url}, ${jsonText(name)}, ${given});`,
      "console.log(data);",
    ].join("\n");
  const member = IDENTIFIER.test(name) ? `.${name}` : `[${jsonText(name)}]`;
  const lines = ['import { jsonRpc } from "@waypost/client/jsonrpc";', "", `const waypost = jsonRpc(${url});`];
  if (kind === "watch") lines.push(`for await (const event of waypost${member}(${given})) console.log(event);`);
  else lines.push(`const { data } = await waypost${member}(${shown});`, "console.log(data);");
  return lines.join("\n");
}

const typescriptOf = (value: unknown): string => laid(value, { name: (name) => (IDENTIFIER.test(name) ? name : jsonText(name)), big: "n", last: "," });

interface Style {
  name(name: string): string;
  /** What follows an integer beyond 2^53, and the last member of several lines. */
  readonly big: string;
  readonly last: string;
}

/** Returns a value on one line where it is short, else a member a line. */
function laid(value: unknown, style: Style, indent = ""): string {
  if (typeof value === "bigint") return String(value) + style.big;
  if (value === null || typeof value !== "object") return jsonText(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value) ? value.map((one) => laid(one, style, inner)) : Object.entries(value).map(([name, one]) => `${style.name(name)}: ${laid(one, style, inner)}`);
  const [open, close, space] = Array.isArray(value) ? ["[", "]", ""] : ["{", "}", " "];
  if (parts.length === 0) return open + close;
  const line = `${open}${space}${parts.join(", ")}${space}${close}`;
  if (line.length + indent.length <= WIDTH - 24 && !line.includes("\n")) return line;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}${style.last}\n${indent}${close}`;
}

/** Returns JSON in which no character is hidden. */
const jsonText = (value: unknown): string => escaped(printExact(value));

const jsonLines = (value: unknown): string => laid(value, { name: jsonText, big: "", last: "" });

const HIDDEN = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function escaped(text: string, written: (point: number) => string | undefined = () => undefined): string {
  const units = (found: string) => Array.from({ length: found.length }, (_, place) => `\\u${found.charCodeAt(place).toString(16).padStart(4, "0")}`).join("");
  return text.replace(HIDDEN, (found) => written(found.codePointAt(0) ?? 0) ?? units(found));
}

/** Returns the text as one word of a shell. */
export const shell = (text: string): string => (/^[A-Za-z0-9_.:/=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
const inDoubleQuotes = (text: string): string => text.replace(/[\\"$`]/g, "\\$&");
const inTemplate = (text: string): string => text.replace(/[\\`]|\$(?=\{)/g, "\\$&");
