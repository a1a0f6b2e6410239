/** Schemas -> fields of a form; what is typed -> params, and back. All that is typed is text: nothing is checked before it is sent. */
import type { Param, Schema } from "../../gateway/document.ts";
import { parseExact, printExact } from "../../gateway/exact.ts";

type Leaf = "text" | "integer" | "number" | "boolean" | "choice" | "chain" | "json" | "nothing";
export interface Field {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  /** `list` is text with an element a line; `rows` are objects with `members` each, `tuple` and `object` have them once. */
  readonly control: Leaf | "list" | "rows" | "tuple" | "object";
  readonly choices: readonly string[];
  readonly members: readonly Field[];
  readonly placeholder: string;
  /** Whether digits are sent as an integer, where text would do as well. */
  readonly isInteger: boolean;
  readonly most: number | undefined;
}
/** What a field holds: text; of `rows` and `tuple` an array, of `object` and a row an object. */
export type Value = string | readonly Value[] | { readonly [name: string]: Value };
export type Values = Readonly<Record<string, Value>>;

/** What cannot be sent at all, with the path of its field. */
export class Unsendable extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

const SLUG = "^[a-z0-9]+$";
const DEEPEST = 2;

/** Returns the fields of an operation's form. */
export const fieldsOf = (params: readonly Param[]): Field[] =>
  params
    .filter(({ schema }) => schema.maxItems !== 0)
    .map(({ name, schema, description, required }) => fieldOf(name, description === undefined ? schema : { ...schema, description }, required === true));

function fieldOf(name: string, given: Schema, isRequired: boolean, depth = 0): Field {
  const schema = formOf(given);
  const example = given.examples?.[0] ?? schema.examples?.[0] ?? given.default;
  const base = {
    name,
    description: given.description ?? schema.description ?? "",
    isRequired,
    choices: [],
    members: [],
    placeholder: typeof example === "object" || example === undefined ? "" : String(example),
    isInteger: typeof example === "number",
    most: schema.maxItems,
  };
  const types = typesOf(schema);
  if (schema.enum !== undefined) return { ...base, control: "choice", choices: schema.enum.map(String), isInteger: types.includes("integer") };
  if (types.includes("array")) return { ...base, ...listOf(schema, base.placeholder, example, depth) };
  if (types.includes("object") && schema.properties !== undefined && depth < DEEPEST)
    return { ...base, control: "object", members: membersOf(schema, depth) };
  if (types.includes("boolean")) return { ...base, control: "boolean", choices: ["true", "false"] };
  if (types.includes("string")) return { ...base, control: schema.pattern === SLUG && name === "chain" ? "chain" : "text" };
  if (types.includes("integer")) return { ...base, control: "integer", isInteger: true };
  if (types.includes("number")) return { ...base, control: "number" };
  if (types.includes("null")) return { ...base, control: "nothing" };
  return { ...base, control: "json", placeholder: example === undefined ? "" : printExact(example) };
}

/** Returns the list of what may also be text with commas, and what may be null without it. */
export function formOf(schema: Schema): Schema {
  const forms = (schema.anyOf ?? schema.oneOf ?? []).filter((form) => form.type !== "null");
  const form = forms.find((one) => one.type === "array") ?? forms[0];
  return form === undefined ? schema : formOf(form);
}

const typesOf = ({ type }: Schema): readonly string[] => (type === undefined ? [] : typeof type === "string" ? [type] : type);

const membersOf = (schema: Schema, depth: number): Field[] =>
  Object.entries(schema.properties ?? {}).map(([name, one]) => fieldOf(name, one, schema.required?.includes(name) === true, depth + 1));

function listOf({ items }: Schema, placeholder: string, example: unknown, depth: number): Partial<Field> & Pick<Field, "control"> {
  if (Array.isArray(items)) {
    if (depth >= DEEPEST) return { control: "json" };
    return { control: "tuple", members: (items as readonly Schema[]).map((one, place) => fieldOf(`[${place}]`, one, one.anyOf === undefined && one.type !== "null", depth + 1)) };
  }
  const one = fieldOf("", (items ?? {}) as Schema, true, depth + 1);
  if (one.control === "object") return { control: "rows", members: one.members };
  if (!["text", "chain", "integer", "number", "choice"].includes(one.control)) return { control: "json" };
  const shown = Array.isArray(example) ? example : [];
  return { control: "list", members: [{ ...one, isInteger: one.control === "integer" || typeof shown[0] === "number" }], placeholder: shown.map(String).join("\n") || placeholder };
}

/** Returns the value of a field in which nothing is typed; `rows` that are needed begin with one. */
export function blank(field: Field): Value {
  if (field.control === "rows") return field.isRequired ? [blankRow(field)] : [];
  if (field.control === "tuple") return field.members.map(blank);
  return field.control === "object" ? blankRow(field) : "";
}

/** Returns an empty row. */
export const blankRow = ({ members }: Field): Value => Object.fromEntries(members.map((member) => [member.name, blank(member)]));

/** Returns what a form shows for JSON. */
export function shown(field: Field, json: unknown): Value {
  if (json === undefined) return blank(field);
  const members = (json !== null && typeof json === "object" ? json : {}) as Readonly<Record<string, unknown>>;
  const rowOf = (row: unknown): Value =>
    Object.fromEntries(field.members.map((member) => [member.name, shown(member, (row as Record<string, unknown> | null)?.[member.name])]));
  switch (field.control) {
    case "rows":
      return Array.isArray(json) ? json.map(rowOf) : blank(field);
    case "tuple":
      return field.members.map((member, place) => shown(member, members[place]));
    case "object":
      return rowOf(members);
    case "list":
      return Array.isArray(json) ? json.map(String).join("\n") : String(json).split(",").join("\n");
    case "json":
      return printExact(json);
    default:
      return json === null ? "" : typeof json === "object" ? printExact(json) : String(json);
  }
}

/** Returns the params that are typed; what is empty is left out. Throws Unsendable for what is no JSON. */
export function paramsOf(fields: readonly Field[], values: Values): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const field of fields) {
    const value = jsonOf(field, values[field.name] ?? blank(field), field.name);
    if (value !== undefined) found[field.name] = value;
  }
  return found;
}

function jsonOf(field: Field, value: Value, path: string): unknown {
  if (typeof value === "string") return leafOf(field, value, path);
  if (!Array.isArray(value)) return rowJson(field.members, value as Values, path);
  if (field.control === "rows") return value.length === 0 ? undefined : value.map((row, place) => rowJson(field.members, row as Values, `${path}[${place}]`) ?? {});
  const elements = field.members.map((member, place) => jsonOf(member, value[place] ?? "", path + member.name));
  if (elements.every((one) => one === undefined) && (!field.isRequired || field.members.some(({ isRequired }) => isRequired))) return undefined;
  // What is left out keeps its place.
  return elements.map((one) => one ?? null);
}

function rowJson(members: readonly Field[], row: Values, path: string): Record<string, unknown> | undefined {
  const found: Record<string, unknown> = {};
  for (const member of members) {
    const value = jsonOf(member, row[member.name] ?? "", `${path}.${member.name}`);
    if (value !== undefined) found[member.name] = value;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

function leafOf(field: Field, text: string, path: string): unknown {
  if (field.control === "list") {
    const [element] = field.members;
    const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    return lines.length === 0 || element === undefined ? undefined : lines.map((line) => scalarOf(element, line));
  }
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (field.control !== "json") return scalarOf(field, trimmed);
  try {
    return parseExact(trimmed);
  } catch (error) {
    throw new Unsendable(path, `this is no JSON: ${(error as Error).message}`);
  }
}

const INTEGER = /^-?(0|[1-9][0-9]*)$/;
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/;

/** Returns text as what it is to be sent as; text that is no such thing goes as it is, for the gateway to say so. */
function scalarOf({ control, isInteger }: Field, text: string): unknown {
  if (isInteger && INTEGER.test(text)) {
    const value = Number(text);
    return Number.isSafeInteger(value) ? value : BigInt(text);
  }
  if (control === "number" && NUMBER.test(text)) return Number(text);
  if (control === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

/** Returns the paths of all fields that are typed into, as the gateway writes them: `items[0].address`. */
export function pathsOf(fields: readonly Field[], values: Values, within = ""): string[] {
  return fields.flatMap((field) => {
    const path = within + field.name;
    const value = values[field.name] ?? blank(field);
    if (field.control === "rows") return [path, ...(value as readonly Values[]).flatMap((row, place) => pathsOf(field.members, row, `${path}[${place}].`))];
    if (field.control === "tuple") return pathsOf(field.members, {}, path);
    if (field.control === "object") return pathsOf(field.members, value as Values, `${path}.`);
    return [path];
  });
}

/** Returns the path of the field that an error names, undefined where it names none that is shown. */
export function pathNamed(name: string, paths: readonly string[], takesItems: boolean): string | undefined {
  // Items may be params itself, and errors name them so.
  let path = takesItems ? name.replace(/^params(?=\[|$)/, "items") : name;
  for (;;) {
    const found = paths.find((one) => one === path) ?? paths.find((one) => one.startsWith(`${path}.`) || one.startsWith(`${path}[`));
    if (found !== undefined) return found;
    const shorter = path.replace(/(\.[^.[\]]*|\[[^\]]*\])$/, "");
    if (shorter === path || shorter === "") return undefined;
    path = shorter;
  }
}

const LONGEST = 2000;

/** Returns what a deep link holds: members by name, those that are needed also when they are empty. */
export function linkOf(fields: readonly Field[], values: Values): URLSearchParams {
  const link = new URLSearchParams();
  for (const field of fields) {
    const value = values[field.name] ?? blank(field);
    const text = typeof value === "string" ? (field.control === "list" ? joined(value) : value) : JSON.stringify(value);
    if (text.length > LONGEST) continue;
    if (field.isRequired || JSON.stringify(value) !== JSON.stringify(blank(field))) link.set(field.name, text);
  }
  return link;
}

const joined = (lines: string): string => (lines.includes(",") ? JSON.stringify(lines.split("\n")) : lines.replaceAll("\n", ","));

/** Returns what a deep link says; what it does not mention is as in the example where it is needed, else empty. */
export function valuesOf(fields: readonly Field[], link: URLSearchParams, example: Readonly<Record<string, unknown>> = {}): Values {
  const isGiven = fields.some(({ name }) => link.has(name));
  return Object.fromEntries(
    fields.map((field) => {
      const text = link.get(field.name);
      if (text !== null) return [field.name, linked(field, text)];
      return [field.name, field.isRequired || !isGiven ? shown(field, example[field.name]) : blank(field)];
    }),
  );
}

function linked(field: Field, text: string): Value {
  if (!["list", "rows", "tuple", "object"].includes(field.control)) return text;
  if (text === "") return field.control === "rows" ? [] : blank(field);
  try {
    const json = parseExact(text);
    if (json !== null && typeof json === "object") return shown(field, json);
  } catch {
    // a list with commas
  }
  return field.control === "list" ? text.split(",").join("\n") : blank(field);
}
