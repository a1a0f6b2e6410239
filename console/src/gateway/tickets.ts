/**
 * What stands in the key's place in addresses: browsers write the address of a load that fails into their console and keep it in
 * their lists, so that no address has the key itself. `local` and `demo` are no secrets and stand for themselves.
 */
import { parseExact } from "./exact.ts";
import { Failure } from "./failure.ts";
import { addSpent, DEMO, key, LOCAL, origin } from "./session.ts";

const ISSUED_AT = "/-/console/tickets";
/** A ticket is renewed when so much of its time is over. */
const USED = 2 / 3;

export interface Ticket {
  /** The key that it stands for. */
  readonly key: string;
  readonly text: string;
  /** Until when it is used, as `Date.now()` has it: a machine may sleep meanwhile. */
  readonly until: number;
}

let held: Ticket | undefined;
let asked: { readonly key: string; readonly ticket: Promise<Ticket> } | undefined;

/** Returns what to write in the place of the tab's key. Throws a Failure where the gateway does not know that key, or is away. */
export async function ticket(): Promise<Ticket> {
  const current = key.get();
  if (current === DEMO || current === LOCAL) return { key: current, text: current, until: Infinity };
  if (held?.key === current && Date.now() < held.until) return held;
  if (asked?.key !== current) {
    const asking = { key: current, ticket: issue(current) };
    asked = asking;
    void asking.ticket
      .then((issued) => void (held = issued))
      .catch(() => undefined)
      .finally(() => asked === asking && (asked = undefined));
  }
  return asked.ticket;
}

/** Forgets a ticket that may have ended before its time. Returns whether there will be another one: not where it is the key itself. */
export function drop(used: Ticket): boolean {
  if (held === used) held = undefined;
  return used.text !== used.key;
}

key.subscribe(() => (held = undefined));

async function issue(forKey: string): Promise<Ticket> {
  const began = Date.now();
  let answer: { ticket?: string; expiresIn?: number; error?: unknown };
  try {
    const response = await fetch(origin + ISSUED_AT, { method: "POST", headers: { Authorization: `Bearer ${forKey}` }, cache: "no-store" });
    addSpent(Number(response.headers.get("X-Waypost-Cost") ?? 0));
    answer = parseExact(await response.text()) as typeof answer;
  } catch (error) {
    throw Failure.from(error);
  }
  if (answer.ticket === undefined || answer.expiresIn === undefined) throw Failure.of(answer.error);
  return { key: forKey, text: answer.ticket, until: began + answer.expiresIn * 1000 * USED };
}
