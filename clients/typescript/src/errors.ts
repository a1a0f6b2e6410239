import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, BadRequestSchema, RequestInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { Reason } from "../gen/waypost/v1/common_pb.js";

/** The name of a reason, as `ErrorInfo.reason` and `error.data.reason` have it: `"NOT_FOUND"`. */
export type ReasonName = keyof typeof Reason;

/** A node's own error object. */
export interface NodeError {
  code: number | null;
  message: string;
  data?: unknown;
}

/** The error object of a JSON-RPC answer. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: { reason?: string; field?: string; retryAfterMs?: number; requestId?: string; node?: NodeError };
}

/** A failure that the gateway answered with, or of the connection to it (then without a reason). */
export class WaypostError extends ConnectError {
  /** Connect recognises its errors by their name, which stays; these, by what they have more. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && "reason" in value && "retryAfterMs" in value;
  }

  constructor(
    /** What went wrong and what to change. */
    message: string,
    /** Stable; what a program decides by. UNSPECIFIED where no gateway answered, or a newer one. */
    readonly reason: Reason,
    /** The parameter that the failure is about, where it is about one. */
    readonly field: string | undefined,
    /** Milliseconds after which the same call may succeed, where the gateway says. */
    readonly retryAfterMs: number | undefined,
    /** What to quote to the operator. */
    readonly requestId: string | undefined,
    /** The status code of gRPC; Unknown over JSON-RPC. */
    code: Code,
    cause?: unknown,
    /** What a node said itself where it refused a call of its own: only over JSON-RPC. */
    readonly node?: NodeError,
  ) {
    super(message, code, cause instanceof ConnectError ? cause.metadata : undefined, undefined, cause);
  }
}

/** Returns the reason of a name; UNSPECIFIED of one that this client does not know. */
export function reasonOf(name: string | undefined): Reason {
  return name !== undefined && name in Reason ? Reason[name as ReasonName] : Reason.UNSPECIFIED;
}

/** Returns what a call threw as WaypostError. */
export function typed(thrown: unknown): WaypostError {
  if (thrown instanceof WaypostError) return thrown;
  const isLate = thrown instanceof Error && thrown.name === "TimeoutError";
  const error = isLate ? new ConnectError(thrown.message, Code.DeadlineExceeded) : ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema)[0];
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return new WaypostError(
    error.rawMessage,
    reasonOf(info?.reason),
    error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field,
    delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    error.findDetails(RequestInfoSchema)[0]?.requestId,
    error.code,
    thrown,
  );
}

/** Returns the failure that an error object of JSON-RPC states. */
export function failureOf({ message, data }: ErrorObject): WaypostError {
  return new WaypostError(message, reasonOf(data?.reason), data?.field, data?.retryAfterMs, data?.requestId, Code.Unknown, undefined, data?.node);
}
