/** Why a call has no result, in the gateway's words. `field` is the parameter that it names. */
export class Failure extends Error {
  readonly reason: string;
  readonly code: number;
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(message: string, reason: string, code = 0, data: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "Failure";
    this.reason = reason;
    this.code = code;
    this.data = data;
    this.field = typeof data["field"] === "string" ? data["field"] : undefined;
    this.retryAfterMs = typeof data["retryAfterMs"] === "number" ? data["retryAfterMs"] : undefined;
    this.requestId = typeof data["requestId"] === "string" ? data["requestId"] : undefined;
  }

  /** Returns the failure that a JSON-RPC error object describes. */
  static of(error: unknown): Failure {
    const { code, message, data } = (error ?? {}) as { code?: number; message?: string; data?: Record<string, unknown> };
    return new Failure(message ?? "the gateway failed", String(data?.["reason"] ?? "INTERNAL"), code ?? 0, data ?? {});
  }

  /** Returns anything thrown as a failure. */
  static from(thrown: unknown): Failure {
    return thrown instanceof Failure ? thrown : new Failure("the gateway cannot be reached", "UNREACHABLE");
  }
}
