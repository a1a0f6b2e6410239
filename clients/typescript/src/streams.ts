import { Code } from "@connectrpc/connect";
import { serviceConfig } from "../gen/service_config.js";
import { Reason } from "../gen/waypost/v1/common_pb.js";
import { EventKind } from "../gen/waypost/v1/stream_pb.js";
import { typed, WaypostError } from "./errors.js";
import { printJson } from "./json.js";

export interface StreamOptions {
  /** Ends the stream, which then throws. */
  signal?: AbortSignal | undefined;
  /** Milliseconds that a broken stream tries to go on; as long as it is read. */
  patienceMs?: number | undefined;
  /** How often a stream that does not begin is opened again; 4. */
  retries?: number | undefined;
}

/** An event of any stream, as a message or as JSON. */
interface Event {
  cursor?: string;
  kind?: EventKind | string;
  blockNumber?: bigint | number;
  blockHash?: string;
  item?: number;
}

const { maxAttempts, initialBackoff, backoffMultiplier } = serviceConfig.methodConfig[0].retryPolicy;
const FIRST_PAUSE = Number.parseFloat(initialBackoff) * 1000;
const LONGEST_PAUSE = 30_000;
const PASSING = new Set([
  Reason.UPSTREAM_UNAVAILABLE,
  Reason.PRICE_UNAVAILABLE,
  Reason.SLOW_CONSUMER,
  Reason.DEADLINE_EXCEEDED,
]);
/** What proxies, and connections that break, make of a stream that nothing is wrong with. */
const BROKEN = new Set([Code.Unavailable, Code.Internal, Code.Aborted, Code.Canceled, Code.DeadlineExceeded]);

/**
 * Yields the events of a stream and goes on where it was when it breaks: `open` begins it, at a cursor where there is
 * one. Throws what waiting does not help, and what breaks the stream before its first event.
 */
export async function* resumed<E extends object>(
  open: (cursor: string | undefined, signal: AbortSignal) => AsyncIterable<E>,
  { signal, patienceMs = Infinity, retries = maxAttempts - 1 }: StreamOptions = {},
): AsyncGenerator<E, void, undefined> {
  const position = new Position();
  let failures = 0;
  let failingSince: number | undefined;
  while (true) {
    const ending = new AbortController();
    const end = () => ending.abort(signal?.reason);
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end);
    const opened = Date.now();
    try {
      for await (const event of open(position.resume(), ending.signal)) {
        failingSince = undefined;
        if (!position.take(event)) continue;
        failures = 0;
        yield event;
      }
      return;
    } catch (thrown) {
      if (signal?.aborted) throw typed(signal.reason);
      const failure = typed(thrown);
      if (position.hasBegun && Date.now() - opened > LONGEST_PAUSE) failures = 0;
      const planned = Math.min(FIRST_PAUSE * backoffMultiplier ** failures++, LONGEST_PAUSE) * (0.5 + 0.5 * Math.random());
      // Many streams break at once where a gateway ends: they come back one after the other.
      const pause = Math.max(planned, (failure.retryAfterMs ?? 0) * (1 + 0.2 * Math.random()));
      failingSince ??= Date.now();
      const waited = Date.now() + pause - failingSince;
      if (!passes(failure) || (position.hasBegun ? waited > patienceMs : failures > retries)) throw failure;
      await sleep(pause, signal);
    } finally {
      signal?.removeEventListener("abort", end);
      ending.abort();
    }
  }
}

function passes(failure: WaypostError): boolean {
  if (failure.reason === Reason.RATE_LIMITED) return failure.retryAfterMs !== undefined;
  return failure.reason === Reason.UNSPECIFIED ? BROKEN.has(failure.code) : PASSING.has(failure.reason);
}

async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(typed(signal?.reason));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}

/** What of a stream was delivered: which events are new, and where it goes on. */
export class Position {
  hasBegun = false;
  #cursor: string | undefined;
  /** What was delivered of the newest block, and of the events without one the last. */
  #block: string | undefined;
  #number = 0n;
  #delivered = new Set<string>();
  #last = "";
  #mayRepeat = false;
  /** The newest value of each item, and the items not seen since the stream began anew. */
  #values = new Map<number, string>();
  #unseen = new Set<number>();

  /** Returns the cursor to go on with; none at the beginning, and for streams of values. */
  resume(): string | undefined {
    this.#mayRepeat = this.hasBegun;
    this.#unseen = new Set(this.#values.keys());
    return this.#cursor;
  }

  /** Returns whether an event is to be delivered, and not one that was; it counts as delivered. */
  take(event: Event): boolean {
    this.hasBegun = true;
    return event.cursor === undefined ? this.#takeValue(event) : this.#takeEvent(event);
  }

  #takeEvent(event: Event): boolean {
    const seen = printJson({ ...event, cursor: undefined, finality: undefined });
    this.#cursor = event.cursor || this.#cursor;
    switch (kindOf(event)) {
      case "ADDED": {
        const block = `${event.blockNumber}:${event.blockHash}`;
        if (block !== this.#block) {
          this.#forget(block);
          this.#number = BigInt(event.blockNumber ?? 0);
        } else if (this.#mayRepeat && this.#delivered.has(seen)) {
          return false;
        }
        this.#delivered.add(seen);
        break;
      }
      case "REMOVED":
        this.#forget(undefined);
        break;
      case "ROLLED_BACK":
        if (BigInt(event.blockNumber ?? 0) < this.#number) this.#forget(undefined);
        break;
      default:
        if (this.#mayRepeat && seen === this.#last) return false;
    }
    this.#last = seen;
    return true;
  }

  #forget(block: string | undefined): void {
    this.#block = block;
    this.#delivered.clear();
    this.#mayRepeat = false;
  }

  #takeValue(value: Event): boolean {
    const item = value.item ?? 0;
    const seen = printJson(timeless(value));
    const isRepeated = this.#unseen.delete(item) && this.#values.get(item) === seen;
    this.#values.set(item, seen);
    return !isRepeated;
  }
}

function kindOf({ kind }: Event): string | undefined {
  return typeof kind === "number" ? EventKind[kind] : kind;
}

/** Returns a value without when it was read, which is no change of it: a price's time and a balance's block. */
function timeless(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const moment = "raw" in value ? "blockNumber" : "lastUpdated";
  const left = Object.entries(value).filter(([name]) => name !== moment);
  return Object.fromEntries(left.map(([name, one]) => [name, timeless(one)]));
}
