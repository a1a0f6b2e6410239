/** What can be called, read from the documents: operations, watches and published contract methods, searched and grouped. */
import type { Document, Method, Param, Schema, Watch } from "../../gateway/document.ts";

export type Kind = "call" | "watch" | "published";

export interface Operation {
  readonly name: string;
  readonly kind: Kind;
  readonly summary: string;
  readonly description: string;
  /** Name of the gRPC service without its package. */
  readonly service: string;
  readonly about: string;
  /** Units of a call, of operations with items of each item; undefined where the document does not say. */
  readonly cost: number | undefined;
  readonly takesItems: boolean;
  /** `/waypost.v1.AccountService/GetBalance`. */
  readonly grpc: string | undefined;
  readonly families: string | undefined;
  readonly chains: readonly string[] | undefined;
  readonly params: readonly Param[];
  /** Values that answer: what is needed, and what can be given. */
  readonly example: Readonly<Record<string, unknown>>;
  readonly fullExample: Readonly<Record<string, unknown>>;
  /** What the snippets take besides the parameters. */
  readonly python: string | undefined;
  readonly eventStream: string | undefined;
  readonly fixed: Readonly<Record<string, unknown>>;
  /** Words by which it is found, in lower case. */
  readonly words: Words;
}
interface Words {
  readonly name: string;
  readonly parts: readonly string[];
  readonly service: string;
  readonly params: readonly string[];
  readonly summary: string;
  readonly description: string;
}
export interface Group {
  readonly service: string;
  readonly about: string;
  readonly operations: readonly Operation[];
}

const ITEMS = "items";
const PLACE = /Chain families: ([^;]*); chains: ([^.]*)\./;
const EVERY_CHAIN = "all of the family";

/** Returns everything that a document lets one call. The watches of sockets stand for `subscribe` and `unsubscribe`. */
export function operationsOf(document: Document, { isPublished = false } = {}): Operation[] {
  const found: Operation[] = [];
  for (const method of document.methods) {
    if (method["x-transport"] !== "websocket") found.push(made(method, document, isPublished ? "published" : "call"));
    else
      for (const [name, watch] of Object.entries((method["x-watches"] ?? {}) as Record<string, Watch>))
        found.push(made(methodOf(name, watch, method), document, "watch"));
  }
  return found;
}

/** Returns a watch as a method: its parameters are the members of the one object that it takes. */
function methodOf(name: string, { params, example, ...watch }: Watch, subscribe: Method): Method {
  const required = new Set(params.required);
  const given = Object.entries(params.properties ?? {});
  return {
    ...watch,
    name,
    ...(subscribe.tags && { tags: subscribe.tags }),
    params: given.map(([member, schema]) => ({
      name: member,
      required: required.has(member),
      ...(schema.description !== undefined && { description: schema.description }),
      schema,
    })),
    // The first has what a watch needs, be it marked as required or not.
    examples: [pairing(example ?? {}), pairing(Object.fromEntries(given.flatMap(([member, { examples }]) => (examples?.length ? [[member, examples[0]]] : []))))],
  };
}

const pairing = (values: Readonly<Record<string, unknown>>) => ({ name: "", params: Object.entries(values).map(([name, value]) => ({ name, value })) });
const valuesOf = (example: Pairing | undefined) => Object.fromEntries((example?.params ?? []).map(({ name, value }) => [name, value]));
type Pairing = NonNullable<Method["examples"]>[number];

function made(method: Method, document: Document, kind: Kind): Operation {
  const tag = method.tags?.[0]?.$ref.split("/").pop() ?? "";
  const grpc = text(method["x-grpc"]);
  const service = document.components.tags[tag]?.name ?? (tag || (grpc?.split("/")[1]?.split(".").pop() ?? "Other"));
  const summary = method.summary ?? "";
  const whole = method.description ?? "";
  const place = PLACE.exec(whole);
  const families = method["x-families"];
  return {
    name: method.name,
    kind,
    summary,
    description: whole.replace(PLACE, "").trim(),
    service,
    about: document.components.tags[tag]?.description ?? "",
    cost: typeof method["x-cost"] === "number" ? method["x-cost"] : undefined,
    takesItems: method["x-items"] === true || (method.params.length === 1 && method.params[0]?.name === ITEMS),
    grpc,
    families: place?.[1] ?? (Array.isArray(families) ? families.filter((family) => family !== "chainless").join(", ") || undefined : undefined),
    chains: place?.[2] === undefined || place[2] === EVERY_CHAIN ? undefined : place[2].split(", "),
    params: method.params,
    example: valuesOf(method.examples?.[0]),
    fullExample: valuesOf(method.examples?.at(-1)),
    python: text(method["x-python"]),
    eventStream: text(method["x-event-stream"]),
    fixed: (method["x-grpc-with"] ?? {}) as Record<string, unknown>,
    words: {
      name: method.name.toLowerCase(),
      parts: parted(method.name),
      service: service.toLowerCase(),
      params: method.params.flatMap((param) => [param.name.toLowerCase(), ...inner(param.schema)]),
      summary: summary.toLowerCase(),
      description: whole.toLowerCase(),
    },
  };
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Returns the names of members one level below a parameter. */
function inner(schema: Schema): string[] {
  const list = schema.anyOf?.find((form) => form.type === "array") ?? schema;
  const one = Array.isArray(list.items) ? undefined : (list.items as Schema | undefined);
  return Object.keys(one?.properties ?? {}).map((name) => name.toLowerCase());
}

/** Returns the words of a name: `getNftErc1155Balance` has `get`, `nft`, `erc1155`, `balance`. */
const parted = (name: string): string[] =>
  name
    .split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .filter((part) => part !== "")
    .map((part) => part.toLowerCase());

/** Returns those in which every word of the query is found, best first; all in their order where it is empty. */
export function search(operations: readonly Operation[], query: string): Operation[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [...operations];
  const ranked: { operation: Operation; rank: number; place: number }[] = [];
  operations.forEach((operation, place) => {
    let rank = operation.words.name === words.join("") ? 200 : 0;
    for (const word of words) {
      const one = rankOf(operation.words, word);
      if (one === 0) return;
      rank += one;
    }
    ranked.push({ operation, rank, place });
  });
  // Of equals the shorter name says more of what was sought.
  ranked.sort((a, b) => b.rank - a.rank || a.operation.name.length - b.operation.name.length || a.place - b.place);
  return ranked.map(({ operation }) => operation);
}

function rankOf({ name, parts, service, params, summary, description }: Words, word: string): number {
  if (name === word) return 100;
  if (name.startsWith(word)) return 60;
  if (parts.includes(word)) return 50;
  if (parts.some((part) => part.startsWith(word))) return 40;
  if (name.includes(word)) return 30;
  if (service.startsWith(word)) return 20;
  if (summary.split(/[^a-z0-9]+/).some((part) => part.startsWith(word))) return 14;
  if (params.includes(word)) return 12;
  if (summary.includes(word) || service.includes(word)) return 8;
  if (params.some((param) => param.includes(word))) return 6;
  return description.includes(word) ? 3 : 0;
}

/** Returns the operations by service, groups in the order of their first one. */
export function grouped(operations: readonly Operation[]): Group[] {
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const members = groups.get(operation.service);
    if (members === undefined) groups.set(operation.service, [operation]);
    else members.push(operation);
  }
  return [...groups.values()].map((members) => ({
    service: (members[0] as Operation).service,
    about: (members[0] as Operation).about,
    operations: members,
  }));
}
