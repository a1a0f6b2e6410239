/**
 * The page's address: `#/`, `#/operations?q=balance`, `#/getBalance?chain=base&address=...`. What comes first is a section's name, or
 * an operation's. It never holds the key.
 */
import { store } from "../store.ts";

export interface Route {
  readonly name: string;
  readonly query: URLSearchParams;
}

export const SECTIONS = ["chains", "operations", "wallet", "markets", "usage"] as const;
export type Section = (typeof SECTIONS)[number];

/** Returns the route of a hash; an empty one is that of the first section. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  let name = path;
  try {
    name = decodeURIComponent(path);
  } catch {
    // as it stands
  }
  return { name: name || SECTIONS[0], query: new URLSearchParams(query) };
}

/** Returns the hash of a route: `#/wallet?address=vitalik.eth`. Undefined and empty members are left out. */
export function hashOf(name: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const members = new URLSearchParams();
  for (const [member, value] of Object.entries(query)) if (value) members.set(member, value);
  const text = members.toString();
  return `#/${encodeURIComponent(name)}${text && `?${text}`}`;
}

export const route = store(routeOf(location.hash));
addEventListener("hashchange", () => route.set(routeOf(location.hash)));

/** Goes to a route; `replace` leaves no step behind in the history. */
export function go(hash: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, "", hash);
    route.set(routeOf(hash));
  } else location.hash = hash;
}
