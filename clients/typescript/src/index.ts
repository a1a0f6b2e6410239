/**
 * Waypost over gRPC, for Node.js:
 *
 *     const waypost = connect("http://localhost:50051", { key: "local" });
 *     const { balance } = await waypost(AccountService).getBalance({ chain: "ethereum", address: "0x..." });
 *
 * Browsers take `@waypost/client/jsonrpc`.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type CallOptions, Code, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { setTimeout as sleep } from "node:timers/promises";
import { typed, WaypostError } from "./errors.js";
import { serviceConfig } from "../gen/service_config.js";
import { Reason } from "../gen/waypost/v1/common_pb.js";
import { resumed, type StreamOptions } from "./streams.js";

export { WaypostError, reasonOf, type ReasonName } from "./errors.js";
export { pages } from "./paging.js";
export type { StreamOptions } from "./streams.js";
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
    // A stream whose connection is gone without a word is noticed.
    pingIntervalMs: 45_000,
    interceptors: [again(options.retries ?? RETRIES.maxAttempts - 1), authorise(options.key)],
  });
  return (service) => completed(service, createClient(service, transport), options);
}

type Call = (request: object, options?: CallOptions & StreamOptions) => unknown;

/** Gives calls without a deadline that of their operation, and makes streams go on by themselves. */
function completed<S extends DescService>(service: S, client: Client<S>, options: Options): Client<S> {
  const calls = service.methods.map((method) => {
    const call = client[method.localName as keyof Client<S>] as Call;
    return [method.localName, method.methodKind === "server_streaming" ? stream(call, options) : limited(method, call, options)];
  });
  return Object.fromEntries(calls) as Client<S>;
}

function limited({ parent, name }: DescMethod, call: Call, { timeoutMs }: Options): Call {
  const deadline = timeoutMs ?? DEADLINES.get(`${parent.typeName}/${name}`) ?? milliseconds(USUAL.timeout);
  return (request, options) => call(request, { timeoutMs: deadline, ...options });
}

function stream(call: Call, { retries }: Options): Call {
  return (request, { timeoutMs, signal, ...options } = {}) => {
    const signals = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)];
    return resumed(
      (cursor, signal) => call(cursor ? { ...request, cursor } : request, { ...options, signal }) as AsyncIterable<object>,
      { retries, ...options, signal: AbortSignal.any(signals.filter((one) => one !== undefined)) },
    );
  };
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
    // Streams go on by themselves, at another place than they began.
    if (request.stream) return next(request);
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
