import type { ComponentChildren } from "preact";
import type { Failure } from "../gateway/failure.ts";
import { Text } from "./Text.tsx";

/** What went wrong, in the gateway's own words; with a button where it can be tried again. */
export function FailureNotice({ failure, again, compact = false }: { failure: Failure; again?: () => void; compact?: boolean }) {
  return (
    <div class={compact ? "notice bad compact" : "notice bad"} role="alert">
      <strong>
        <Text>{failure.reason}</Text>
      </strong> <Text most={1000}>{failure.message}</Text>
      {!compact && failure.requestId !== undefined && (
        <span class="faint">
          {" "}
          request <Text mono>{failure.requestId}</Text>
        </span>
      )}
      {again && (
        <button type="button" class="small" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A remark; `tone` decides its colour. */
export function Notice({ children, tone = "plain" }: { children: ComponentChildren; tone?: "plain" | "warn" }) {
  return <div class={`notice ${tone}`}>{children}</div>;
}

/** What stands where something is being loaded. */
export const Loading = ({ what }: { what: string }) => (
  <p class="loading" role="status">
    Reading {what} …
  </p>
);
