/** Tokens of a collection: the ids that a form names, and what their documents say. Everything in a document is its author's word. */
import { printExact } from "../../gateway/exact.ts";

export const MOST_TOKENS = 12;
const MOST_ATTRIBUTES = 40;

export interface Metadata {
  readonly tokenId: string;
  readonly owner?: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly metadataError?: string;
}
export interface Attribute {
  readonly name: string;
  readonly value: string;
}

/** Returns the token ids of a list that commas or spaces part, each once; undefined where something in it is no number. */
export function idsOf(text: string): string[] | undefined {
  const ids = text.split(/[\s,;]+/).filter((id) => id !== "");
  return ids.every((id) => /^[0-9]{1,78}$/.test(id)) ? [...new Set(ids)] : undefined;
}

const written = (value: unknown): string => (typeof value === "string" ? value : printExact(value));

/** Returns the document's attributes: a list of `trait_type` and `value`, or an object; forty at most, with how many there are. */
export function attributesOf(document: Readonly<Record<string, unknown>>): { readonly shown: Attribute[]; readonly total: number } {
  const found = document["attributes"] ?? document["traits"] ?? document["properties"];
  let all: unknown[];
  if (Array.isArray(found)) all = found;
  else if (found !== null && typeof found === "object") all = Object.entries(found).map(([trait_type, value]) => ({ trait_type, value }));
  else return { shown: [], total: 0 };
  const shown = all.slice(0, MOST_ATTRIBUTES).map((one) => {
    if (one === null || typeof one !== "object" || !("value" in one)) return { name: "", value: written(one) };
    const name: unknown = "trait_type" in one ? one.trait_type : "name" in one ? one.name : "";
    return { name: written(name ?? ""), value: written(one.value) };
  });
  return { shown, total: all.length };
}

/** Returns the addresses that the document names for people to open. */
export function linksOf(document: Readonly<Record<string, unknown>>): Attribute[] {
  return ["image", "external_url"].flatMap((member) => {
    const value = document[member];
    return typeof value === "string" && value !== "" ? [{ name: member === "image" ? "Image" : "Page", value }] : [];
  });
}
