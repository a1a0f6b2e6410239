/** Calls over `POST /<ticket>/v1`, always as batches: their status is 200 whatever becomes of an item, which browsers do not log. */
import { parseExact, printExact } from "./exact.ts";
import { Failure } from "./failure.ts";
import { Pacing, pause } from "./pacing.ts";
import { addSpent, DEMO, key, origin } from "./session.ts";
import { drop, ticket, type Ticket } from "./tickets.ts";

export const MOST_ITEMS = 50;
/** Calls a second that sections make by themselves; those of a tab without a key go at the demo's pace. */
export const CALLS_A_SECOND = 10;
const DEMO_CALLS_A_SECOND = 1;
const MOST_TRIES = 3;

export type Params = Readonly<Record<string, unknown>> | readonly unknown[];
export interface Call {
  readonly method: string;
  readonly params?: Params;
}
/** What one call came to. */
export type Outcome<T = unknown> = { readonly ok: true; readonly data: T } | { readonly ok: false; readonly failure: Failure };
/** What is known of an HTTP answer besides its body. */
export interface Facts {
  readonly cost: number;
  readonly cache: string | undefined;
  readonly requestId: string | undefined;
  readonly milliseconds: number;
}

const pacing = new Pacing();

/** Posts the calls in one batch now; returns each one's outcome in their order. Throws a Failure where none was answered. */
export async function post(calls: readonly Call[], signal?: AbortSignal): Promise<{ outcomes: Outcome[]; facts: Facts; text: string }> {
  const body = printExact(calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params: params ?? {} })));
  const used = await ticket();
  let { answered, facts, text } = await send(used, body, signal);
  if (!Array.isArray(answered) && refusal(answered).reason === "KEY_INVALID" && drop(used))
    ({ answered, facts, text } = await send(await ticket(), body, signal));
  if (!Array.isArray(answered)) throw refusal(answered);
  const outcomes: Outcome[] = calls.map(() => ({ ok: false, failure: new Failure("the gateway did not answer this call", "INTERNAL") }));
  for (const item of answered as { id: number; result?: { data: unknown }; error?: unknown }[])
    if (item.id in outcomes)
      outcomes[item.id] = item.error === undefined ? { ok: true, data: item.result?.data } : { ok: false, failure: Failure.of(item.error) };
  return { outcomes, facts, text };
}

const refusal = (answered: unknown): Failure => Failure.of((answered as { error?: unknown } | null)?.error);

/** Sends a body once. Throws a Failure where no JSON is answered. */
async function send(used: Ticket, body: string, signal?: AbortSignal): Promise<{ answered: unknown; facts: Facts; text: string }> {
  signal?.throwIfAborted();
  const began = performance.now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${origin}/${used.text}/v1`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      ...(signal && { signal }),
    });
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw Failure.from(error);
  }
  const milliseconds = performance.now() - began;
  const cost = Number(response.headers.get("X-Waypost-Cost") ?? 0);
  addSpent(cost);
  const facts: Facts = {
    cost,
    cache: response.headers.get("X-Waypost-Cache") ?? undefined,
    requestId: response.headers.get("X-Request-Id") ?? undefined,
    milliseconds,
  };
  try {
    return { answered: parseExact(text), facts, text };
  } catch {
    throw new Failure(`the answer with status ${response.status} is no JSON`, "UNREACHABLE", response.status);
  }
}

/**
 * Makes calls in batches at the section's pace. `each` is called as their outcomes come, with the call's place. Those that are
 * over the quota are made again when the gateway says. Rejects only when the signal is aborted.
 */
export async function callAll(
  calls: readonly Call[],
  each: (outcome: Outcome, place: number) => void,
  { signal, most = CALLS_A_SECOND }: { signal?: AbortSignal; most?: number } = {},
): Promise<void> {
  const waiting = calls.map((call, place) => ({ call, place, tries: 0 }));
  while (waiting.length > 0) {
    const perSecond = key.get() === DEMO ? DEMO_CALLS_A_SECOND : CALLS_A_SECOND;
    const batch = waiting.splice(0, Math.min(most, perSecond, MOST_ITEMS));
    await pacing.wait(batch.length, perSecond, signal);
    let outcomes: Outcome[];
    try {
      ({ outcomes } = await post(
        batch.map(({ call }) => call),
        signal,
      ));
    } catch (error) {
      signal?.throwIfAborted();
      const failure = Failure.from(error);
      outcomes = batch.map(() => ({ ok: false, failure }));
    }
    let longest = 0;
    batch.forEach((item, index) => {
      const outcome = outcomes[index] as Outcome;
      const isOver = !outcome.ok && outcome.failure.reason === "RATE_LIMITED";
      if (isOver && ++item.tries < MOST_TRIES) {
        longest = Math.max(longest, outcome.failure.retryAfterMs ?? 1000);
        waiting.push(item);
      } else each(outcome, item.place);
    });
    if (longest > 0) await pause(longest, signal);
  }
}

/** Makes one call at the section's pace; returns its data. Throws a Failure. */
export async function call<T>(method: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  let found: Outcome | undefined;
  await callAll([{ method, params }], (outcome) => void (found = outcome), { ...(signal && { signal }) });
  if (found === undefined) throw new Failure("the gateway did not answer", "INTERNAL");
  if (!found.ok) throw found.failure;
  return found.data as T;
}
