/**
 * Waypost over gRPC, for Node.js:
 *
 *     const waypost = connect("http://localhost:50051", { key: "local" });
 *     const { balance } = await waypost(AccountService).getBalance({ chain: "ethereum", address: "0x..." });
 *
 * Browsers take `@waypost/client/jsonrpc`.
 */
import type { DescService } from "@bufbuild/protobuf";
import { type CallOptions, Code, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { setTimeout as sleep } from "node:timers/promises";
import { typed, WaypostError } from "./errors.js";
import { serviceConfig } from "../gen/service_config.js";
import { Reason } from "../gen/waypost/v1/common_pb.js";

export { WaypostError, reasonOf, type ReasonName } from "./errors.js";
export { pages } from "./paging.js";
export * from "../gen/services.js";

export interface Options {
  /** The API key that every call carries. */
  key?: string;
  /** Deadline of a call that sets none, in milliseconds; its operation's. */
  timeoutMs?: number;
  /** How often a call that fails is sent again after the time that the gateway asks for; 4. */
  retries?: number;
  /** Allows `http:` to other machines: the key travels readable. */
  plaintext?: boolean;
}

const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);
const [USUAL, ...OTHERS] = serviceConfig.methodConfig;
const RETRIES = USUAL.retryPolicy;
const DEADLINES = new Map(
  OTHERS.flatMap(({ name, timeout }) => name.map((one) => [`${one.service}/${one.method}`, milliseconds(timeout)])),
);
const LARGEST_ANSWER = 64 * 1024 * 1024;

/** Returns a function that gives the client of a service, over one connection to the gateway at `baseUrl`. */
export function connect(baseUrl: string, options: Options = {}): <S extends DescService>(service: S) => Client<S> {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "https:" && !LOCAL.has(hostname) && !options.plaintext) {
    throw new TypeError(`the key would travel readable to ${hostname}: use https:, or allow plaintext`);
  }
  const transport = createGrpcTransport({
    baseUrl,
    readMaxBytes: LARGEST_ANSWER,
    interceptors: [again(options.retries ?? RETRIES.maxAttempts - 1), authorise(options.key)],
  });
  return (service) => withDeadlines(service, createClient(service, transport), options.timeoutMs);
}

/** Gives calls without a deadline that of their operation. */
function withDeadlines<S extends DescService>(service: S, client: Client<S>, timeoutMs: number | undefined): Client<S> {
  const calls = service.methods.map(({ localName, name }) => {
    const deadline = timeoutMs ?? DEADLINES.get(`${service.typeName}/${name}`) ?? milliseconds(USUAL.timeout);
    const call = client[localName as keyof Client<S>] as (request: never, options?: CallOptions) => unknown;
    return [localName, (request: never, options?: CallOptions) => call(request, { timeoutMs: deadline, ...options })];
  });
  return Object.fromEntries(calls) as Client<S>;
}

function milliseconds(seconds: string): number {
  return Number.parseFloat(seconds) * 1000;
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
    for (let left = retries, backoff = milliseconds(RETRIES.initialBackoff); ; left--) {
      try {
        return await next(request);
      } catch (thrown) {
        const failure = typed(thrown);
        if (left <= 0 || !retriable(failure) || request.signal.aborted) throw failure;
        await sleep(failure.retryAfterMs ?? backoff * (0.8 + 0.4 * Math.random()), undefined, { signal: request.signal });
        backoff = Math.min(backoff * RETRIES.backoffMultiplier, milliseconds(RETRIES.maxBackoff));
      }
    }
  };
}

function retriable(failure: WaypostError): boolean {
  if (failure.reason === Reason.RATE_LIMITED) return failure.retryAfterMs !== undefined;
  return failure.code === Code.Unavailable && !failure.metadata.get("grpc-retry-pushback-ms")?.startsWith("-");
}
