/**
 * Waypost over JSON-RPC, for browsers and whatever has `fetch`:
 *
 *     const waypost = jsonRpc("https://gateway.example/demo/v1");
 *     const { data } = await waypost.getBalance({ chain: "ethereum", address: "0x..." });
 *     for await (const event of waypost.watchBlocks({ chain: "ethereum" })) console.log(event.blockNumber);
 */
import { Code } from "@connectrpc/connect";
import type { Operations, Watches } from "../gen/operations.js";
import { watchNames } from "../gen/watches.js";
import { type ErrorObject, failureOf, WaypostError } from "./errors.js";
import { parseJson, printJson } from "./json.js";
import { Sockets, type WebSocketClass } from "./sockets.js";
import { resumed, type StreamOptions } from "./streams.js";
import { Reason } from "../gen/waypost/v1/common_pb.js";

export type * from "../gen/operations.js";
export { WaypostError, reasonOf, type ReasonName } from "./errors.js";
export { Reason };
export type { StreamOptions } from "./streams.js";

/** A function for every operation and every stream; results keep integers beyond 2^53 as bigints. */
export type JsonRpcClient = OperationCalls & WatchCalls;

/** Streams go on by themselves where they break; all of a client share one WebSocket, open while there are any. */
type WatchCalls = {
  [Name in keyof Watches]: (
    params: Watches[Name]["params"],
    options?: StreamOptions,
  ) => AsyncGenerator<Watches[Name]["event"], void, undefined>;
};

type OperationCalls = {
  [Name in keyof Operations]: (
    ...params: object extends Operations[Name]["params"]
      ? [params?: Operations[Name]["params"]]
      : [params: Operations[Name]["params"]]
  ) => Promise<Operations[Name]["result"]>;
};

export interface JsonRpcOptions {
  /** Deadline of a call in milliseconds; 30 s. */
  timeoutMs?: number;
  /** How often a call that exceeds the quota is sent again after the time that the gateway asks for; 3. */
  retries?: number;
  /** Instead of the global `fetch`. */
  fetch?: typeof fetch;
  /** Instead of the global `WebSocket`, where there is none: Node.js has it from 22 on. */
  webSocket?: WebSocketClass;
}

/** Returns a client of the gateway at `url`, which holds the key: `https://HOST/KEY/v1`. */
export function jsonRpc(url: string, options: JsonRpcOptions = {}): JsonRpcClient {
  const sockets = new Sockets(url, options.webSocket, () => refusal(url, options));
  return new Proxy({} as JsonRpcClient, {
    get(_, name) {
      if (typeof name !== "string" || name === "then") return undefined;
      if (!watchNames.has(name)) return (params: object = {}) => call(url, name, params, options);
      return (params: object, chosen?: StreamOptions) =>
        resumed((cursor, signal) => sockets.watch(name, cursor ? { ...params, cursor } : params, signal), chosen);
    },
  });
}

const REFUSED = new Set([Reason.KEY_MISSING, Reason.KEY_INVALID, Reason.RATE_LIMITED]);

/** Returns why the gateway refuses the key at the moment; undefined where it does not. */
async function refusal(url: string, options: JsonRpcOptions): Promise<WaypostError | undefined> {
  const failure: unknown = await call(url, "getRegistryChains", {}, { ...options, retries: 0 }).catch((thrown: unknown) => thrown);
  return failure instanceof WaypostError && REFUSED.has(failure.reason) ? failure : undefined;
}

/** Returns the `result` of one call by the operation's name, also of published contract methods (`svc_...`). */
export async function call(url: string, method: string, params: object, options: JsonRpcOptions = {}): Promise<never> {
  const send = options.fetch ?? fetch;
  const signal = AbortSignal.timeout(options.timeoutMs ?? 30_000);
  for (let left = options.retries ?? 3; ; left--) {
    const failure = await attempt();
    if (!(failure instanceof WaypostError)) return failure.result as never;
    if (left <= 0 || failure.reason !== Reason.RATE_LIMITED || failure.retryAfterMs === undefined) throw failure;
    await pause(failure.retryAfterMs, signal);
  }

  async function attempt(): Promise<WaypostError | { result: unknown }> {
    const body = printJson({ jsonrpc: "2.0", id: 1, method, params });
    const response = await send(url, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
    const text = await response.text();
    let answer: { result?: unknown; error?: ErrorObject };
    try {
      answer = parseJson(text) as typeof answer;
    } catch (cause) {
      throw new WaypostError(`HTTP ${response.status} without JSON`, Reason.UNSPECIFIED, undefined, undefined, undefined, Code.Unknown, cause);
    }
    if (answer.error === undefined) return { result: answer.result };
    return failureOf(answer.error);
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
