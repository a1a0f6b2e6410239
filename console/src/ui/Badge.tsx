import type { ComponentChildren } from "preact";

export type Tone = "good" | "warn" | "bad" | "idle" | "plain";

/** A short state: colour, and a mark that does not need it. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{MARKS[tone]}</span>
      {children}
    </span>
  );
}

const MARKS: Readonly<Record<Tone, string>> = { good: "●", warn: "▲", bad: "■", idle: "○", plain: "" };
