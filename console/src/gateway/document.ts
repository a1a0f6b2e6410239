/** The OpenRPC documents: everything that the page knows of operations. */
import { parseExact } from "./exact.ts";
import { Failure } from "./failure.ts";
import { origin } from "./session.ts";

export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  /** One schema for every element, or one for each place. */
  readonly items?: Schema | readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly [member: `x-${string}`]: unknown;
}
export interface Param {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
}
export interface Method {
  readonly name: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly { readonly $ref: string }[];
  readonly params: readonly Param[];
  readonly examples?: readonly { readonly name: string; readonly params: readonly { readonly name: string; readonly value: unknown }[] }[];
  readonly "x-service"?: string;
  readonly "x-grpc"?: string;
  readonly "x-cost"?: number;
  readonly [member: `x-${string}`]: unknown;
}
/** What `x-watches` of `subscribe` says of one watch. */
export interface Watch {
  readonly summary?: string;
  readonly description?: string;
  readonly params: Schema;
  readonly example?: Readonly<Record<string, unknown>>;
  readonly [member: `x-${string}`]: unknown;
}
export interface Document {
  readonly methods: readonly Method[];
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly errors: Readonly<Record<string, { readonly code: number; readonly message: string }>>;
    readonly tags: Readonly<Record<string, { readonly name: string; readonly description?: string }>>;
  };
}

const documents = new Map<string, Promise<Document>>();

function load(path: string): Promise<Document> {
  let found = documents.get(path);
  if (found === undefined) {
    found = fetch(origin + path)
      .then(async (response) => {
        const read = parseExact(await response.text()) as Document;
        if (!response.ok) throw Failure.of((read as { error?: unknown }).error);
        return read;
      })
      .catch((error: unknown) => {
        documents.delete(path);
        throw Failure.from(error);
      });
    documents.set(path, found);
  }
  return found;
}

/** Returns the document of the operations, read once. Throws a Failure. */
export const operations = (): Promise<Document> => load("/openrpc.json");
/** Returns the document of the published contract methods, read once. Throws a Failure. */
export const published = (): Promise<Document> => load("/openrpc.json?apps=all");
