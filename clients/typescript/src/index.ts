/**
 * Waypost over gRPC, for Node.js:
 *
 *     const waypost = connect("http://localhost:50051", { key: "local" });
 *     const { balance } = await waypost(AccountService).getBalance({ chain: "ethereum", address: "0x..." });
 *
 * Browsers take `@waypost/client/jsonrpc`.
 */
import type { DescService } from "@bufbuild/protobuf";
import { Code, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { setTimeout as sleep } from "node:timers/promises";
import { typed, WaypostError } from "./errors.js";
import { Reason } from "../gen/waypost/v1/common_pb.js";

export { WaypostError, reasonOf, type ReasonName } from "./errors.js";
export { pages } from "./paging.js";
export * from "../gen/services.js";

export interface Options {
  /** The API key that every call carries. */
  key?: string;
  /** Deadline of a call that sets none, in milliseconds; 30 s. */
  timeoutMs?: number;
  /** How often a call that fails is sent again after the time that the gateway asks for; 3. */
  retries?: number;
  /** Allows `http:` to other machines: the key travels readable. */
  plaintext?: boolean;
}

const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);
const LARGEST_ANSWER = 64 * 1024 * 1024;

/** Returns a function that gives the client of a service, over one connection to the gateway at `baseUrl`. */
export function connect(baseUrl: string, options: Options = {}): <S extends DescService>(service: S) => Client<S> {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "https:" && !LOCAL.has(hostname) && !options.plaintext) {
    throw new TypeError(`the key would travel readable to ${hostname}: use https:, or allow plaintext`);
  }
  const transport = createGrpcTransport({
    baseUrl,
    defaultTimeoutMs: options.timeoutMs ?? 30_000,
    readMaxBytes: LARGEST_ANSWER,
    interceptors: [again(options.retries ?? 3), authorise(options.key)],
  });
  return (service) => createClient(service, transport);
}

function authorise(key: string | undefined): Interceptor {
  return (next) => (request) => {
    if (key !== undefined) request.header.set("x-api-key", key);
    return next(request);
  };
}

/** Makes failures typed, and sends calls again that the gateway could not answer or that exceeded the quota. */
function again(retries: number): Interceptor {
  return (next) => async (request) => {
    for (let left = retries, backoff = 100; ; left--, backoff *= 2) {
      try {
        return await next(request);
      } catch (thrown) {
        const failure = typed(thrown);
        if (left <= 0 || !retriable(failure) || request.signal.aborted) throw failure;
        await sleep(failure.retryAfterMs ?? backoff * (0.8 + 0.4 * Math.random()), undefined, { signal: request.signal });
      }
    }
  };
}

function retriable(failure: WaypostError): boolean {
  if (failure.reason === Reason.RATE_LIMITED) return failure.retryAfterMs !== undefined;
  return failure.code === Code.Unavailable;
}
